-- host.only: a file of tasks without those that a call doesn't name (src/worker/only.c).

local host = require "runner.host"

local function only(text, ...)
	return host.only(text, "tasks", { ... })
end

local function count(list)
	local n = 0
	for _ in next, list do
		n = n + 1
	end
	return n
end

-- What `return` gives, with the line of each function in place of it; calls of note are counted.
local calls

local function value_of(text)
	local function note()
		calls = calls + 1
		return "noted"
	end
	local chunk = assert(load(text, "=text", "t", { note = note }))
	calls = 0
	local function lines(v)
		if type(v) == "function" then
			return "line " .. debug.getinfo(v, "S").linedefined
		elseif type(v) ~= "table" then
			return v
		end
		local out = {}
		for key, item in next, v do
			out[key] = lines(item)
		end
		return out
	end
	return lines(chunk()), calls
end

describe("host.only", function()
	local TASKS = {
		'a = { "A", shell = "echo \\"a\\" \\\\" }',
		"b = { 'B', shell = [[\n\techo }, { ]]\n\t}",
		'["c d"] = { "C", args = { { "x", "string", default = "}" }, { "n", "integer", min = -1 } } }',
		'c = { e = { "E", shell = "e" }, f = { "F", run = function(a, b) if a then return { b, "}" } end end } }',
		'g = { "G", run = function(args, ctx)\n\tfor i = 1, 3 do repeat local x = [==[ ]] end ]==] until x end\n'
			.. '\twhile false do end return 1, 2\n\tend }',
		'h = { "H", shell = note() }',
		'i = { "I", shell = note "x" .. "y" }',
		'j = { "J", env = { A = "1", ["B"] = [[2]] }, -- with } and "\n\tquiet = true; needs = { "a", { "b", x = 1 } } }',
		"k = function() return 1, 2 end",
		'[ [[l]] ] = { "L", shell = "l" }',
		'["m\\\\n"] = { "M", shell = "m" }',
		'_n = { "N", shell = "a" .. "b" .. [[\nc]], run = { "x", "y" } }',
		'o = { note { 1 }, shell = (note)("x") }',
		'["p"] = note[[x]]',
	}

	it("leaves out what nobody names, and nothing that is seen", function()
		math.randomseed(7)
		for round = 1, 400 do
			local chosen, seps = {}, { ",", ";", ",\n", ",\n\n\t-- section\n", " , --[[ long } ]]\n" }
			for _, task in ipairs(TASKS) do
				if math.random() < 0.6 then
					table.insert(chosen, math.random(#chosen + 1), task)
				end
			end
			local parts = { "local x = { y = function() return { 1 } end }\nif x.z then return { tasks = {} } end\n",
				"return { env = { A = note() },\n\ttasks = {\n" }
			for i, task in ipairs(chosen) do
				parts[#parts + 1] = task .. (i < #chosen and seps[math.random(#seps)] or ({ "", ",", "\n", " -- end }\n" })[math.random(4)])
			end
			parts[#parts + 1] = "},\n\tcwd = 'x' }" .. ({ "", ";", "\n-- end\n" })[math.random(3)]
			local text = table.concat(parts)
			local whole, called = value_of(text)
			for name, task in next, whole.tasks do
				local words = name:match "^(%S+) " and { name:match "^(%S+)", name } or { name }
				local cut = only(text, table.unpack(words))
				local own, own_called = value_of(cut)
				assert.same(task, own.tasks[name], ("round %d, %s"):format(round, name))
				assert.equal(called, own_called)
				assert.same(whole.env, own.env)
				assert.equal(whole.cwd, own.cwd)
				assert.equal(select(2, text:gsub("\n", "")), select(2, cut:gsub("\n", "")))
				for other, value in next, own.tasks do
					assert.same(whole.tasks[other], value)
				end
			end
		end
	end)

	it("leaves nothing of a thousand but the one", function()
		local parts = {}
		for i = 1, 1000 do
			parts[i] = ('\tt%d = { "T", args = { { "n", "string" } }, shell = [[\n\t\techo "%d" ]] },\n'):format(i, i)
		end
		local text = "return { tasks = {\n" .. table.concat(parts) .. "} }\n"
		assert.equal(1, count(value_of(only(text, "t500")).tasks))
		assert.equal(0, count(value_of(only(text, "lint")).tasks))
		assert.is_true(#only(text, "t500") < 8000)
	end)

	it("leaves a file alone whose form it doesn't know", function()
		for _, text in ipairs {
			'local t = { a = { "A" } }\nreturn { tasks = t }',
			'return make { tasks = { a = { "A" } } }',
			'return { tasks = { a = { "A" } } } or 1',
			'return { ["tasks"] = { a = { "A" } } }',
			'return { tasks = { a = { "A" } }, tasks = { b = { "B" } } }',
			'return { tasks = { a = { "A" }',
			'return { tasks = { a = { "A" } } }; x = 1',
			'return setmetatable({ tasks = { a = { "A" } } }, {})',
			"",
			"return",
			"return {",
			'return { tasks = { a = { "A\n" } } }',
			'return { tasks = { a = { "A" }, b = function( } }',
			"return { tasks = { a = { [[ } } }",
			'return { tasks = { a = { "A" } b = { "B" } } }',
			"\0",
			"return { tasks = { [",
			'return { tasks = { a = { "A", run = function() if x then end } } }',
			"--[[",
			"return { tasks = 1 }",
			'return { tasks = { a = { "A" } }.b }',
		} do
			assert.equal(text, only(text, "b"))
		end
	end)
end)

describe("host.lines", function()
	it("counts those that end before a byte", function()
		assert.equal(0, host.lines("a\nb", 2))
		assert.equal(1, host.lines("a\nb", 3))
		assert.equal(2, host.lines("\n\n", 99))
		assert.equal(0, host.lines("\n\n", 0))
	end)
end)
