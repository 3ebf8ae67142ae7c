-- The regular expression binding: the whole text matches, and nothing hangs.

local regex = require "runner.regex"

describe("regex.match", function()
	it("wants the whole text to match, anchors or not", function()
		assert.is_true(regex.match("[a-z]+", "abc"))
		assert.is_false(regex.match("[a-z]+", "abc1"))
		assert.is_false(regex.match("[a-z]+", "1abc"))
		assert.is_true(regex.match("^[a-z]+$", "abc"))
		assert.is_false(regex.match("^[a-z]+$", "abc\n"))
	end)

	it("anchors every alternative", function()
		assert.is_true(regex.match("a|ab", "ab"))
		assert.is_false(regex.match("a|b", "ab"))
	end)

	it("counts characters, not bytes", function()
		assert.is_true(regex.match(".{3}", "é€😀"))
		assert.is_true(regex.match("\\p{L}+", "Übung"))
		assert.is_false(regex.match("\\d+", "٣"))
	end)

	it("takes an empty text and NUL bytes for what they are", function()
		assert.is_true(regex.match("a*", ""))
		assert.is_false(regex.match("a+", ""))
		assert.is_false(regex.match("a", "a\0"))
	end)

	it("gives a pathological pattern up instead of hanging", function()
		local started = os.clock()
		local matched, message = regex.match("(a+)+[bc]", ("a"):rep(40) .. "d")
		assert.is_nil(matched)
		assert.matches("^too complex", message)
		assert.is_true(os.clock() - started < 2)
	end)

	it("says that a text is not valid UTF-8", function()
		local matched, message = regex.match(".*", "a\xff")
		assert.is_nil(matched)
		assert.matches("not valid UTF%-8", message)
	end)

	it("hands on what is wrong with a pattern", function()
		local matched, message = regex.match("(", "x")
		assert.is_nil(matched)
		assert.matches("^invalid regular expression: .* at offset 1$", message)
	end)

	it("stays right when many patterns have passed through its cache", function()
		for round = 1, 2 do
			for i = 1, 200 do
				assert.is_true(regex.match("x{" .. i .. "}", ("x"):rep(i)), round .. ": " .. i)
				assert.is_false(regex.match("x{" .. i .. "}", ("x"):rep(i + 1)))
			end
		end
		collectgarbage()
		assert.is_true(regex.match("x{200}", ("x"):rep(200)))
	end)

	it("keeps few of the patterns that have passed", function()
		local function used()
			collectgarbage()
			collectgarbage()
			return collectgarbage "count" -- KiB
		end
		local before = used()
		for i = 1, 5000 do
			regex.match("y{" .. i .. "}", "y")
		end
		assert.is_true(used() - before < 100, used() - before)
	end)

	it("raises for anything but text", function()
		assert.has_error(function() regex.match({}, "x") end)
		assert.has_error(function() regex.match("x") end)
	end)
end)

describe("regex.check", function()
	it("accepts a regular expression", function()
		assert.is_true(regex.check "^v?\\d+(\\.\\d+){2}$")
	end)

	for _, pattern in ipairs { "(", "[a-", "a{2,1}", "*", "(?<n", "\\", ("("):rep(100000), "\xff" } do
		it("says what is wrong with " .. pattern:sub(1, 8):gsub("[^%g]", "?"), function()
			local ok, message = regex.check(pattern)
			assert.is_nil(ok)
			assert.matches("regular expression", message)
		end)
	end
end)
