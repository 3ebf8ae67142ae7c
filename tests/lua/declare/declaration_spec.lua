local declaration = require "runner.declare.declaration"
local lint = require "runner.declare.lint"

local function problems(text)
	return declaration.problems(assert(load(text))(), { path = "commands/x.lua", name = "x", text = text })
end

local function warnings(text)
	local out = {}
	local value = text:find("return", 1, true) and load(text) and select(2, pcall(load(text))) or nil
	for _, p in ipairs(lint.find(value, { path = "commands/x.lua", name = "x", text = text })) do
		out[#out + 1] = p.key .. (p.line and ":" .. p.line or "")
	end
	return table.concat(out, " ")
end

local WRONG = [[
-- timeout = "5x": only a comment
local unused = { timeout = "5x" }
return {
	description = "x",
	danger_level = "mutating",
	args = {
		{ "timeout", "duration", min = "1x" },
		{ "keep", "integer",
			min = 5, max = 1 },
	},
	timeout = "5x",
	retry = { retries = -1, delay = "x", bogus = 1 },
	exit_codes = {
		TIMEOUT = { code = 80 },
		LOCKED = { code = 10, retryable = "yes" },
	},
	steps = { "a", "a" },
}
]]

describe("declaration.problems", function()
	it("names every problem with the line where it stands", function()
		local found = {}
		for i, p in ipairs(problems(WRONG)) do
			found[i] = (p.line or "-") .. " " .. p.key
		end
		assert.same({
			"- run", "7 args.timeout.min", "7 args.timeout.name", "9 args.keep.min",
			"11 timeout", "12 retry.bogus", "12 retry.delay", "12 retry.retries", "14 exit_codes.TIMEOUT",
			"14 exit_codes.TIMEOUT.code", "15 exit_codes.LOCKED.code", "15 exit_codes.LOCKED.retryable", "15 exit_codes.LOCKED.side_effects",
			"17 steps",
		}, found)
	end)

	it("puts what is missing before what stands on the first line", function()
		local found = {}
		for i, p in ipairs(problems 'return { aaa = 1, zzz = 2, description = 5, timeout = "5x" }') do
			found[i] = (p.line or "-") .. " " .. p.key
		end
		assert.same({ "- danger_level", "- run", "1 aaa", "1 description", "1 timeout", "1 zzz" }, found)
	end)

	it("names a refused item in the middle of a list", function()
		local found = problems 'return { description = "x", danger_level = "safe", run = print, columns = { "a", 5, "c" } }'
		assert.equal("columns", found[1] and found[1].key)
	end)

	it("says file, line, key, what was found and what to write", function()
		for _, p in ipairs(problems(WRONG)) do
			assert.truthy(p.message:find("^commands/x%.lua:"), p.message)
			assert.truthy(p.message:find(p.key:match "^args%.([^.]+)%.name$" or p.key, 1, true), p.message)
			assert.truthy(#p.fix > 5 and p.message:sub(-#p.fix) == p.fix, p.message)
		end
		assert.equal('commands/x.lua:11: timeout is "5x". Write a duration such as "500ms", "2s", "5m", a number of '
			.. 'seconds, or "none"', problems(WRONG)[5].message)
	end)

	it("names the key of a table that makes it no list", function()
		local found = problems 'return { description = "x", danger_level = "safe", run = print, args = { target = {} } }'
		assert.truthy(found[1].message:find('args has the key "target", which is not a list item. Write a list', 1, true),
			found[1].message)
		found = problems 'return { description = "x", danger_level = "safe", run = print, columns = { "a", [4] = "b" } }'
		assert.truthy(found[1].message:find("columns has the key 4, which is not a list item", 1, true), found[1].message)
	end)

	it("points from max_attempts to retries, which counts one less", function()
		local found = problems 'return { description = "x", danger_level = "safe", run = print, retry = { retries = 1, max_attempts = 3 } }'
		assert.equal("commands/x.lua:1: unknown key 'retry.max_attempts'. Use retries: it counts the attempts after the first",
			found[1].message)
	end)

	it("finds nothing in a valid declaration", function()
		assert.same({}, problems [[return { description = "x", danger_level = "safe", run = function() end }]])
	end)

	it("does without the source text", function()
		local list = declaration.problems({ run = 1 }, { path = "p.lua", name = "p" })
		assert.equal(3, #list)
		assert.is_nil(list[1].line)
	end)

	it("shows long and odd values in one line", function()
		local long = { description = "d", danger_level = ("x\n"):rep(1000), run = print, [{}] = 1, [true] = {} }
		for _, p in ipairs(declaration.problems(long, { path = "p.lua", name = "p" })) do
			assert.is_true(#p.message < 500, p.message)
			assert.is_nil(p.message:find("\n", 1, true))
			assert.is_nil(p.message:find("0x", 1, true), p.message)
		end
	end)
end)

describe("declaration.error", function()
	it("carries the first problem, the count and all the rest", function()
		local value = assert(load(WRONG))()
		local e = declaration.error(value, { path = "commands/x.lua", name = "x", text = WRONG })
		assert.equal("COMMAND_INVALID", e.code)
		assert.truthy(e.message:find("(and 13 more)", 1, true), e.message)
		assert.equal(14, #e.errors)
		assert.equal(11, e.errors[5].line)
		assert.truthy(e.fix_required)
		assert.equal("commands/x.lua", e.context.path)
	end)
end)

describe("declaration.project_problem", function()
	local known = { timeout = true, retry = true, name = true }

	it("reports an unknown key of runner.lua, a wrong value and a wrong retry", function()
		local function message(key, found)
			local e = declaration.project_problem("runner.lua", key, found, known)
			assert.equal("COMMAND_INVALID", e.code)
			return e.message
		end
		assert.equal("runner.lua: unknown key 'timout'. Rename 'timout' to 'timeout'", message("timout", 1))
		assert.truthy(message("timeout", "x"):find('timeout is "x". Write a duration', 1, true))
		assert.truthy(message("retry", {}):find("retry has no bound", 1, true))
		assert.truthy(message("retry", 5):find("retry is 5", 1, true))
		assert.truthy(message(1, 5):find("unknown key [1]", 1, true))
	end)
end)

describe("lint.find", function()
	it("names the ways around the supervisor, with their lines", function()
		assert.equal("os.execute:2 io.popen:3 os.exit:3", warnings "local function f()\n\tos.execute('x')\n\tio.popen 'y' os . exit()\nend\n")
	end)

	it("does not take comments and quoted texts for code", function()
		assert.equal("", warnings [==[
-- os.execute("x")
--[[ io.popen
os.exit ]]
local a = "os.execute" local b = 'it\'s os.exit' local c = [[
print("x") os.exit]]
local myos = {} local x = myos.exit, a.os.exit
]==])
	end)

	it("names effects at the top level, not those inside of functions", function()
		assert.equal("print:1 io.open:2 os.remove:7", warnings [[
print("loading")
local f = io.open("x")
local function run()
	print "fine"
	os.remove("y")
end
os.remove("y")
]])
		assert.equal("", warnings "local getenv = os.getenv('X')\nlocal now = os.time()\nlocal p = print\n")
	end)

	it("names retryable beside partial", function()
		local text = [[return { examples = { {} }, exit_codes = { B = { retryable = true, side_effects = "partial" },
			A = { retryable = true, side_effects = "partial" }, C = { retryable = true, side_effects = "none" } } }]]
		assert.equal("exit_codes.A exit_codes.B", warnings(text))
	end)

	it("advises to write there what the manifest's schema takes", function()
		local row = { code = 80, retryable = true, side_effects = "partial", description = "Cut off" }
		local fix = lint.find({ examples = { {} }, exit_codes = { OWN = row } }, { path = "x.lua", name = "x", text = "" })[1].fix
		local advised = 0
		for key, value in fix:gmatch '([%a_]+) = "?(%a+)' do
			local changed = { description = "Cut off", retryable = true, side_effects = "partial" }
			changed[key] = value ~= "false" and value
			assert.is_nil(require("runner.conformance.documents").problems("exit-code-entry", changed, 1))
			advised = advised + 1
		end
		assert.equal(2, advised)
	end)

	it("names what help would miss", function()
		assert.equal("examples", warnings "return { }")
		assert.equal("", warnings "return { hidden = true }")
		assert.equal("args.a args.b", warnings [[return { hidden = true, args = { { "a", "string" },
			{ "b", "string", description = "d", required = true, default = "x" } } }]])
	end)

	it("survives any text and any value", function()
		for _, text in ipairs({ "", "\"", "--", "--[[", "[[", "[==[ ]]", "'\\", "\0\255", ("-"):rep(1000) }) do
			lint.find(nil, { path = "x.lua", name = "x", text = text })
		end
		lint.find({ args = { 1, {} }, exit_codes = { 1, A = 2 }, retry = 3, examples = 4 },
			{ path = "x.lua", name = "x" })
	end)
end)
