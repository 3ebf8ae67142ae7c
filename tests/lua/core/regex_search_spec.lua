-- regex_search: a pattern matches anywhere, and what can't be searched for is refused.

local regexes = require "runner.core.regexes"

describe("regex_search.found", function()
	it("matches in the middle of a text of several lines", function()
		assert.is_true(regexes.found("b+", "a\nxbbx\nc"))
		assert.is_true(regexes.found("", ""))
		assert.is_false(regexes.found("b", "a\nc"))
		assert.is_true(regexes.found("a\\z|c", "xc\nd"))
	end)

	it("takes anchors for those of the text, or of each line", function()
		assert.is_false(regexes.found("^b$", "a\nb\nc"))
		assert.is_true(regexes.found("^b$", "a\nb\nc", true))
		assert.is_true(regexes.found("^b$", "b"))
	end)

	it("gives a pathological pattern up, and takes no text that is not UTF-8", function()
		local started = os.clock()
		assert.is_false(regexes.found("(a+)+[bc]", ("a"):rep(10000) .. "d"))
		assert.is_true(os.clock() - started < 5)
		assert.is_false(regexes.found("a", "a\xff"))
	end)
end)

describe("regex_search.fault", function()
	it("is nil for what can be searched for", function()
		for _, pattern in ipairs { "", "a|b", "^(?i)a$", "(?x) a # comment\n", "(a)\\1", "\\Qa)(\\E" } do
			assert.is_nil(regexes.fault(pattern))
		end
	end)

	it("says what is wrong, of a pattern that only looks right inside of a group too", function()
		for _, pattern in ipairs { "(", ")(", "a)|(?:b", "[", "\\" } do
			assert.matches("^invalid regular expression: .* at offset %d+$", regexes.fault(pattern))
		end
		for _, pattern in ipairs { "(?x)a # comment", "(*UTF)a" } do
			assert.matches("can't stand in a group", regexes.fault(pattern), 1, true)
		end
	end)
end)
