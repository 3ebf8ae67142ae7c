-- runner.core.globs: patterns of paths.

local globs = require "runner.core.globs"

local function matches(pattern, path, dots)
	for _, one in ipairs(globs.expand(pattern)) do
		if globs.matches(globs.parts(one), globs.names(path), dots) then
			return true
		end
	end
	return false
end

describe("a pattern of paths", function()
	it("stands for names, for what is inside one, and for any directories", function()
		for _, row in ipairs {
			{ "a/b", "a/b", true }, { "a/b", "a/c", false }, { "a", "a/b", false }, { "a/b", "a", false },
			{ "*.c", "x.c", true }, { "*.c", "d/x.c", false }, { "d/*.c", "d/x.c", true }, { "a?c", "abc", true }, { "a?c", "aäc", true },
			{ "**/*.c", "x.c", true }, { "**/*.c", "a/b/x.c", true }, { "a/**", "a/b/c", true }, { "a/**", "b/a", false },
			{ "a/**/z", "a/z", true }, { "a/**/z", "a/b/c/z", true }, { "**/b/**/d", "a/b/c/d", true }, { "**/b/**/d", "a/c/d", false },
			{ "{src,lib}/*.{c,h}", "lib/x.h", true }, { "{src,lib}/*.{c,h}", "doc/x.h", false }, { "[ab]x", "bx", true }, { "[!ab]x", "bx", false },
			{ "./a", "a", true }, { "a.c", "abc", false }, { "%a+", "%a+", true }, { "[", "[", true },
		} do
			assert.equal(row[3], matches(row[1], row[2]), row[1] .. " and " .. row[2])
		end
	end)

	it("names what begins with a dot only where it does so itself, or is told to", function()
		assert.is_false(matches("*", ".env"))
		assert.is_true(matches(".*", ".env"))
		assert.is_false(matches("**/*.c", ".git/x.c"))
		assert.is_true(matches("**/*.c", ".git/x.c", true))
		assert.is_true(matches("**", ".git/x", true))
	end)

	it("says below which directories something may match", function()
		for _, row in ipairs { { "*.c", "", true }, { "*.c", "d", false }, { "src/*.c", "src", true }, { "src/*.c", "lib", false },
			{ "src/*.c", "src/d", false },
			{ "src/**", "src/d/e", true }, { "**/x", "a/b", true } } do
			assert.equal(row[3], globs.leads(globs.parts(row[1]), globs.names(row[2])), row[1] .. " below " .. row[2])
		end
	end)

	it("with many stars takes no time to fail", function()
		assert.is_false(matches("**/a/**/a/**/a/**/b", ("a/"):rep(24) .. "c"))
		assert.is_false(matches(("**/"):rep(50) .. "b", ("a/"):rep(50) .. "c"))
	end)
end)
