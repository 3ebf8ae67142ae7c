local args = require "runner.project.args"
local command = require "runner.declare.command"
local bulk_words = require "runner.project.bulk_words"

local TOKENS = { "a", "b/c", "ü", "", "-", "-5", "--",
	"--keep", "--keep=3", "-n7", "-f", "--nosuch",
	"\xff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xe2\x82", "\u{10FFFF}", "a\0b",
	"--format", "json", "7", "+7", "007", "0x10", " 7",
	"1e3", "7.0", "9223372036854775807", "9223372036854775808", "99999999999999999999" }

local function normal(items, more, placement)
	local row = { "items", "array", items = items, positional = true }
	for key, value in pairs(more or {}) do
		row[key] = value
	end
	return assert(command.normal({ description = "x", danger_level = "safe", run = print, option_placement = placement, args = {
		{ "first", "string", positional = true }, { "keep", "integer", short = "n" }, { "force", "boolean", short = "f" }, row,
	} }, { path = "commands/x.lua", name = "x" }))
end

local function parse(declared, tokens)
	return args.parse(declared.args, tokens, { command = declared, lines = { "from", "stdin" } })
end

-- The same, each token for itself.
local function one_by_one(declared, tokens)
	package.loaded["runner.project.bulk_words"] = function(state, all, i, _, one) return one(state, all, i) end
	local parsed = parse(declared, tokens)
	package.loaded["runner.project.bulk_words"] = bulk_words
	return parsed
end

local function comparable(parsed)
	for _, problem in ipairs(parsed.problems) do
		setmetatable(problem, nil)
	end
	return parsed
end

describe("many arguments", function()
	it("are read as each of them would be", function()
		math.randomseed(14)
		for _, declared in ipairs { normal "string", normal "path", normal "integer", normal("string", { pattern = "^[a-z]*$" }),
			normal("string", { pipe_compatible = true }), normal("enum", { values = { "a", "7" } }), normal("string", { max_length = 90 }),
			normal("string", nil, "strict"), normal("path", nil, "strict"), normal("integer", nil, "strict"),
			normal("integer", { min = 50 }), normal "number" } do
			local plain = declared.args[4].items:find "^[in]" and "" or "w"
			for _ = 1, 12 do
				local tokens = {}
				for i = 1, 101 + math.random(40) do
					tokens[i] = math.random() < 0.9 and plain .. i or TOKENS[math.random(#TOKENS)]
				end
				assert.same(comparable(one_by_one(declared, tokens)), comparable(parse(declared, tokens)))
			end
		end
	end)

	it("of which some are options are all there, in their order", function()
		local tokens = { "first" }
		for i = 1, 500 do
			tokens[#tokens + 1] = "w" .. i
		end
		table.insert(tokens, 300, "--keep=3")
		table.insert(tokens, 200, "-5")
		local parsed = parse(normal "string", tokens)
		assert.same({}, parsed.problems)
		assert.equal(501, #parsed.values.items)
		assert.same({ "w1", "w198", "-5", "w199", "w500" }, { parsed.values.items[1], parsed.values.items[198], parsed.values.items[199],
			parsed.values.items[200], parsed.values.items[501] })
		assert.equal(3, parsed.values.keep)
		assert.same({ first = "positional", items = "positional", keep = "flag" }, parsed.given)
	end)

	it("take the same few steps each", function()
		for kind, plain in pairs { path = "w", integer = "" } do
			local steps, tokens = 0, {}
			for i = 1, 10000 do
				tokens[i] = plain .. i
			end
			local declared = normal(kind)
			debug.sethook(function() steps = steps + 1 end, "", 1000)
			parse(declared, tokens)
			debug.sethook()
			assert.is_true(steps <= 1000, steps .. "000 steps of the virtual machine for 10,000 arguments")
		end
	end)
end)
