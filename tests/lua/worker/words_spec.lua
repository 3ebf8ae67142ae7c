-- Words of a command line in C, here as a table; tests/cli/many_arguments.bats has the views of argv.

local host = require "runner.host"

local function taken(...)
	local next, items = host.take_words(...)
	return { next, items }
end

describe("host.take_words", function()
	it("appends up to the first word that is no plain value", function()
		assert.same({ 3, { 7, 8 } }, taken(nil, { "7", "8", "-9", "10" }, 1, "integer", true))
		assert.same({ 5, { 1, 10 } }, taken({ 1 }, { "7", "8", "-9", "10" }, 4, "integer", true))
		assert.same({ 2, { "a" } }, taken(nil, { "a", "-b" }, 1, "string", true))
		assert.same({ 3, { "a", "-b" } }, taken(nil, { "a", "-b" }, 1, "string", false))
		assert.same({ 4, { "", "ü", "a\0b" } }, taken(nil, { "", "ü", "a\0b", "\xff" }, 1, "string", false))
		assert.same({ 2, { "a" } }, taken(nil, { "a", "" }, 1, "path", false))
		assert.same({ 2, { "a" } }, taken(nil, { "a", "a\0b" }, 1, "path", false))
	end)

	it("makes no table before there is a value", function()
		assert.same({ 1 }, taken(nil, { "x" }, 1, "integer", false))
		assert.same({ 2 }, taken(nil, { "7" }, 2, "integer", false))
		assert.same({ 1 }, taken(nil, { 7 }, 1, "integer", false)) -- not a word
	end)

	it("reads an integer as tonumber does, and leaves what would be a float", function()
		for _, text in ipairs { "0", "007", "9223372036854775807", ("0"):rep(40) .. "1" } do
			assert.same({ 2, { tonumber(text) } }, taken(nil, { text }, 1, "integer", false))
		end
		for _, text in ipairs { "", "-", "+7", "7.0", "1e3", "0x10", " 7", "7 ", "7\0", "9223372036854775808", "18446744073709551617",
			"99999999999999999999" } do
			assert.same({ 1 }, taken(nil, { text }, 1, "integer", false))
		end
	end)

	it("raises for what it can't take", function()
		for _, wrong in ipairs { { {}, "words", 1, "string" }, { {}, nil, 1, "string" }, { {}, io.stdout, 1, "string" },
			{ "items", {}, 1, "string" }, { {}, {}, 0, "string" }, { {}, {}, 1, "number" }, { {}, {}, 1 } } do
			assert.is_false(pcall(host.take_words, wrong[1], wrong[2], wrong[3], wrong[4], false))
		end
	end)
end)

describe("host.words_behind", function()
	it("is a new table of the words behind the first ones", function()
		local words = { "a", "b", "c" }
		assert.same({ "b", "c" }, host.words_behind(words, 1))
		assert.same({}, host.words_behind(words, 3))
		assert.same({ "a", "b", "c" }, words)
		for _, wrong in ipairs { { words, 4 }, { words, -1 }, { "abc", 1 }, { words } } do
			assert.is_false(pcall(host.words_behind, wrong[1], wrong[2]))
		end
	end)
end)
