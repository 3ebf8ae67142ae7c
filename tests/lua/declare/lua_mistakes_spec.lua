local mistakes = require "runner.declare.lua_mistakes"

-- In a coroutine, since busted takes for an error of the test what overflows the stack of `load`.
local function found(text)
	return coroutine.wrap(function()
		local _, message = load(text, "@commands/x.lua", "t", {})
		return mistakes.find(text, assert(message, "it is Lua"):match "^[^\n]*")
	end)()
end

describe("a file that is no Lua", function()
	it("is told its mistake, where it is sure", function()
		local cases = {
			{ '{ description = "X" }', 1, "return is missing in front of the {", 'Write return { description = "X" }' },
			{ 'local a = 1\n{ a }\n', 2, "return is missing in front of the {", "Write return { a }" },
			{ '#! x\n{ "a" }', nil },
			{ 'return {\n\tx = { "X" }\n\ty = 1,\n}', 2, "a comma is missing at the end of the line", 'Write x = { "X" },' },
			{ 'return {\n\tx = "a", -- , no\n\tz = "b" -- why\n\ty = 1,\n}', 3, "a comma is missing at the end of the line", 'Write z = "b",' },
			{ 'return { "a" "b" }', 1, 'a comma is missing behind "a"', 'Write "a", "b"' },
			{ 'return { x = [[\n\techo ]]\n\ty = 1 }', 2, "a comma is missing at the end of the line", "Write echo ]]," },
			{ 'return {\n\tx = { "X",\n\ty = 1,\n}', nil },
			{ 'return { run = function()\n\tif a then\nend }', 2, "the if of this line has no end",
				"Write end in a line of its own, above line 3" },
			{ 'return { run = function()\n\tfor i = 1, 2 do\n\t\tf()\nend }', 2, "the for of this line has no end",
				"Write end in a line of its own, above line 4" },
			{ 'local function f()\n\treturn 1\nreturn f', 1, "the function of this line has no end",
				"Write end in a line of its own, above line 3" },
			{ 'return { run = function() return 1 }', 1, "the function of this line has no end", "Write end in front of }" },
			{ 'if a = 1 then end', 1, "Lua has no = here", "Write ==: if a == 1 then end" },
			{ 'if a != 1 then end', 1, "Lua has no != here", "Write ~=: if a ~= 1 then end" },
			{ 'local a = b && c', 1, "Lua has no && here", "Write and: local a = b and c" },
			{ 'local a = b || c', 1, "Lua has no || here", "Write or: local a = b or c" },
			{ 'return { port: 80 }', 1, "Lua has no : here", 'Write =: return { port = 80 }' },
			{ 'local y\nreturn { name: y, b = 1 }', 2, "Lua has no : here", 'Write =: return { name = y, b = 1 }' },
			{ 'return { name: "x" }', 1, "Lua has no : here", 'Write =: return { name = "x" }' },
			{ 'return { x = [[\n\tif [[ -f x ]]; then echo; fi ]] }', 2,
				"the text that begins with [[ in line 1 ends at this ]], in the middle of it",
				"Write [ … ] for a test, since sh has no [[ … ]]; to keep ]] in a text, begin it with [=[ in line 1 and end it with ]=]" },
			{ 'let x = 1\nreturn { x }', 1, "Lua has no let", "Write local: local x = 1" },
			{ 'return {\n# a note\n}', 2, "Lua has no #", "Write --: -- a note" },
			{ 'return {\n\ta = 1, // a note\n}', 2, "Lua has no //", "Write --: a = 1, -- a note" },
			{ 'return {\n\tx = y\n\tz = 1 }', 2, "a comma is missing at the end of the line", "Write x = y," },
			{ 'return { db drop = 1 }', nil }, { 'return { x = "echo "hi" there" }', nil }, { "return { x = 'it's' }", nil },
			{ 'return { x = "grep "x" f" }', nil }, { 'return { x = a b }', nil }, { 'return { x = #t y }', nil }, { 'return { x = "a" b }', nil },
			{ 'return { x = "make\n}', nil }, { 'return { x = }', nil }, { "return {", nil }, { "end", nil }, { "x = = 1", nil }, { "for", nil },
		}
		for _, case in ipairs(cases) do
			assert.same({ table.unpack(case, 2, 4) }, { found(case[1]) }, case[1])
		end
	end)

	it("may end anywhere, and hold anything", function()
		local text = 'return { x = "a\\"b", --[==[ c ]==]\n\ty = [[ d ]], function() if a then end end, z = \'e\\\'f\' }'
		for last = 0, #text do
			for _, more in ipairs { "", "\\", '"\\', "'", "[[", "--[[", "\0", "\255", "}", "\n{", "end" } do
				local broken = text:sub(1, last) .. more
				local _, message = load(broken, "@x.lua", "t", {})
				mistakes.find(broken, message or "")
				mistakes.not_returned(broken)
			end
		end
	end)

	it("is read in a bounded time", function()
		local clock = os.clock()
		found("return {" .. ("x = { 1 } y = { 2 } "):rep(3000) .. "}")
		found(("{"):rep(60000))
		found("return {" .. ("x = 1 y\n= 1,"):rep(5000) .. "}")
		assert.is_nil(found("return {" .. ("x = 1,\n"):rep(20000) .. "y = 1 z = 2 }"))
		assert.truthy(os.clock() - clock < 15)
	end)
end)

describe("a file that returns nothing", function()
	it("is told which table it has made, if it is one", function()
		local cases = {
			{ 'local x = { description = "X" }', "x" }, { "local M = {}\nfunction M.run() end\n", "M" },
			{ "local a = {}\nlocal b = { tasks = {} }", "b" }, { "local a = {}\nlocal b = {}", nil }, { "x = { tasks = {} }", nil },
			{ "local function f() local t = {} end", nil }, { "", nil }, { "local", nil }, { "local x =", nil },
		}
		for _, case in ipairs(cases) do
			assert.equal(case[2], (mistakes.not_returned(case[1])), case[1])
		end
	end)
end)
