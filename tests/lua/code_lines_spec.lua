-- How tests/proof counts the product's lines of code.

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
local code_lines = dofile(ROOT .. "tests/lua/lib/code_lines.lua")

describe("lines of code", function()
	it("are those of Lua without blank lines and comments", function()
		assert.equal(2, code_lines.of_lua "-- head\n\nlocal a = 1 -- why\n\t-- a comment\n  \nreturn a")
		assert.equal(0, code_lines.of_lua "")
	end)

	it("are those of C without blank lines and comments, also long ones", function()
		assert.equal(3, code_lines.of_c "/* one\n * two\n */\nint f(void)\n{ /* here */\n\n\t/* alone */\n}\n")
	end)

	it("of all the product are what its files have", function()
		local n = code_lines.all(ROOT)
		assert.is_true(n > 50000 and n < 100000, tostring(n))
	end)
end)
