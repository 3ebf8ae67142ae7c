-- Search: questions in plain words find the command that is meant.

local root = debug.getinfo(1, "S").source:match "^@(.*)tests/lua/"
local commands = dofile(root .. "tests/search/commands.lua")
local compact_help = require "runner.tools.compact_help"
local search = require "runner.core.search"

local FIRST = 3 -- where the right one must be

-- Of 104 questions that were looked at while the words were written, and of 103 that were not: never lower these.
local LOOKED_AT, HELD_OUT = 100, 101
local LATEST, LATER, OTHERS = 194, 180, 177 -- of 201, 210 and 200 (tests/search/commands.lua)

local function texts()
	local out = {}
	for i, one in ipairs(commands.list()) do
		local properties = {}
		for _, arg in ipairs(one.args) do
			properties[arg.name] = { description = arg.description, enum = arg.values }
		end
		out[i] = compact_help.search_text { name = one.name, description = one.description, schema = { properties = properties } }
	end
	return out
end

local function names(list, question)
	local out = {}
	for i, place in ipairs(search.rank(list, question)) do
		out[i] = list[place].name
	end
	return out
end

local function is_found(list, asked)
	local found = names(list, asked.question)
	for i = 1, FIRST do
		if asked.names[found[i] or ""] then
			return true
		end
	end
	return false, found
end

describe("search", function()
	it("has the right one of 307 commands among the first three for at least 80 % of 200 plain questions", function()
		local list, right, missed, asked = texts(), { 0, 0 }, {}, commands.questions()
		assert.is_true(#list >= 300 and #asked >= 200)
		for i, one in ipairs(asked) do
			local ok, found = is_found(list, one)
			local half = 2 - i % 2
			right[half] = right[half] + (ok and 1 or 0)
			missed[#missed + 1] = not ok and half == 1 and ("%s: %s"):format(one.question, table.concat(found, ", ", 1, FIRST)) or nil
		end
		assert.is_true(right[1] >= LOOKED_AT, ("%d; missed: %s"):format(right[1], table.concat(missed, "\n")))
		assert.is_true(right[2] >= HELD_OUT, tostring(right[2]))
		assert.is_true(HELD_OUT / (#asked // 2) >= 0.8)
	end)

	it("has it for 201 plain questions and for 210 that don't name what they want, and something for every one", function()
		local list = texts()
		for file, least in pairs { ["latest.txt"] = LATEST, ["later.txt"] = LATER, ["others.txt"] = OTHERS,
			["questions.txt"] = LOOKED_AT + HELD_OUT } do
			local right = 0
			for _, one in ipairs(commands.questions(file)) do
				local ok, found = is_found(list, one)
				right = right + (ok and 1 or 0)
				assert.is_true(ok or found[1] ~= nil, one.question)
			end
			assert.is_true(right >= least, ("%s: %d"):format(file, right))
		end
	end)

	it("knows verbs with their particles, also apart, and what people say in place of a word", function()
		local list = {}
		for i, name in ipairs { "login", "logs", "service scale", "service disable", "service enable", "backup", "alert silence", "user remove",
			"service rollback", "service stop", "service start", "report", "order list" } do
			list[i] = { name = name, description = "Do it" }
		end
		for question, name in pairs { ["increase capacity"] = "service scale", ["authenticate"] = "login", ["log in"] = "login",
			["save a copy"] = "backup", ["turn off the service"] = "service disable", ["turn the service off"] = "service disable",
			["switch it on"] = "service enable", ["get rid of a user"] = "user remove", ["stop notifications"] = "alert silence",
			["stop the notifications"] = "alert silence", ["shut down the service"] = "service stop", ["bring the service up"] = "service start",
			["roll the service back"] = "service rollback", ["go back to the old version"] = "service rollback" } do
			assert.equal(name, names(list, question)[1], question)
		end
		for _, question in ipairs { ("turn off "):rep(20000), ("turn "):rep(50000) } do
			names(list, question) -- soon
		end
	end)

	it("asks for no word, and takes other forms, other words, misspellings and parts", function()
		local list = { { name = "db drop", description = "Drop a database" }, { name = "service deploy", description = "Deploy a service" },
			{ name = "host list", description = "List machines", keywords = "inventory-of-iron" } }
		for question, name in pairs { ["deploy service 7 to staging"] = "service deploy", ["removing databases"] = "db drop",
			["rm db"] = "db drop", ["delpoy"] = "service deploy", ["iron"] = "host list", ["the SERVERS"] = "host list",
			["roll out"] = "service deploy", ["mach"] = "host list", ["DROP!"] = "db drop" } do
			assert.equal(name, names(list, question)[1], question)
		end
	end)

	it("finds nothing where there is nothing, whatever bytes are asked for", function()
		local list = { { name = "db drop", description = "Drop a database" } }
		for _, question in ipairs { "", " ", "%a+", "zzzzqqq", "\0\255\n", "the of", ("x"):rep(100000) } do
			assert.same({}, names(list, question))
		end
		assert.same({}, search.rank({}, "drop"))
	end)

	it("counts a keyword like a word of the name, and values of arguments less", function()
		local list = { { name = "a", description = "x", more = "amber" }, { name = "b", description = "x", keywords = "amber" } }
		assert.same({ "b" }, { names(list, "amber")[1] })
		list[2].keywords = nil
		assert.same({ "a" }, names(list, "amber"))
	end)

	it("keeps the order of equals, and leaves out what fits far less", function()
		local list = {}
		for i = 1, 70 do
			list[i] = { name = "service-" .. i, description = "Restart the service number " .. i }
		end
		assert.same({ "service-17" }, names(list, "SERVICE 17"))
		assert.equal(70, #names(list, "service"))
		assert.equal("service-1", names(list, "service")[1])
	end)
end)
