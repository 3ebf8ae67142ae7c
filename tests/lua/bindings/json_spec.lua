-- The JSON binding: what goes in comes out, and what can't be JSON is named.

local json = require "runner.json"

local function encode(value, opts)
	return (assert(json.encode(value, opts)))
end

describe("json.decode", function()
	it("reads every kind of value", function()
		assert.are.same({ a = 1, b = "x", c = true, d = false, e = 1.5 },
			json.decode '{"a":1,"b":"x","c":true,"d":false,"e":1.5}')
		assert.are.equal(json.null, json.decode "null")
		assert.are.equal("text", json.decode '"text"')
		assert.are.equal("é€😀", json.decode '"\\u00e9\\u20ac\\ud83d\\ude00"')
	end)

	it("keeps all 64 bits of an integer", function()
		assert.are.equal(9223372036854775807, json.decode "9223372036854775807")
		assert.are.equal(math.mininteger, json.decode "-9223372036854775808")
		assert.are.equal(1234567890123456789, json.decode('{"id":1234567890123456789}').id)
		assert.are.equal("integer", math.type(json.decode "3"))
		assert.are.equal("float", math.type(json.decode "3.0"))
	end)

	it("refuses an integer beyond 64 bits instead of rounding it", function()
		local value, message = json.decode "9223372036854775808"
		assert.is_nil(value)
		assert.matches("^line 1 column %d+: a number is too large", message)
	end)

	it("says where the text is wrong", function()
		local value, message = json.decode '{"a":1,\n  "b":x}'
		assert.is_nil(value)
		assert.matches("^line 2 column %d+: ", message)
	end)

	for name, text in pairs {
		["an empty text"] = "",
		["two values"] = "1 2",
		["a NUL byte"] = '"a\\u0000b"',
		["a NUL in a key"] = '{"a\\u0000b":1}',
		["invalid UTF-8"] = '"\xff"',
		["a lone surrogate"] = '"\\ud800"',
		["a trailing comma"] = "[1,]",
		["NaN"] = "NaN",
		["nesting without end"] = ("["):rep(100000),
	} do
		it("refuses " .. name, function()
			local value, message = json.decode(text)
			assert.is_nil(value)
			assert.matches("^line %d+ column %-?%d+: .", message)
		end)
	end

	it("raises for anything but text", function()
		assert.has_error(function() json.decode {} end)
	end)

	it("keeps [] and {} apart on the way through", function()
		for _, text in ipairs { "[]", "{}", '{"a":[],"b":{}}', "[[],{},[[]]]", "[null,1]" } do
			assert.are.equal(text, encode(json.decode(text)))
		end
	end)
end)

describe("json.encode", function()
	it("sorts the keys by their bytes, at every level", function()
		assert.are.equal('{"B":2,"a":1,"ab":{"x":1,"y":2},"b":3}', encode { b = 3, a = 1, B = 2, ab = { y = 2, x = 1 } })
	end)

	it("sorts a key that had to be repaired where its written form belongs", function()
		assert.are.equal('{"a":2,"b":1}', encode { ["\27b"] = 1, a = 2 })
	end)

	it("refuses two keys that would be written as one", function()
		local text, message, code = json.encode { list = { { ["k\255"] = 1, ["k\254"] = 2 } } }
		assert.is_nil(text)
		assert.are.equal("INVALID_RESULT", code)
		assert.are.equal('data.list[1] has two keys that both become "k\u{FFFD}" when cleaned: rename one', message)
	end)

	it("is the same text for the same data, however it was built", function()
		local one, two = {}, {}
		for i = 1, 200 do
			one["k" .. i] = { i, { n = i } }
			two["k" .. 201 - i] = { 201 - i, { n = 201 - i } }
		end
		assert.are.equal(encode(one), encode(two))
		assert.are.same(one, json.decode(encode(one)))
	end)

	it("keeps integers exact and floats floats", function()
		assert.are.equal("[9223372036854775807,-9223372036854775808,1.0,0.1]",
			encode { math.maxinteger, math.mininteger, 1.0, 0.1 })
	end)

	it("writes nil, null and booleans", function()
		assert.are.equal("null", encode(nil))
		assert.are.equal("[null,true,false]", encode { json.null, true, false })
	end)

	it("writes an empty table as an object and a marked one as an array", function()
		assert.are.equal("{}", encode {})
		assert.are.equal("[]", encode(json.array {}))
		assert.are.equal("[]", encode(json.array()))
		assert.are.equal("[1]", encode(json.array { 1 }))
	end)

	it("writes NaN and infinities as null and counts them", function()
		local text, message, notes = json.encode({ 0 / 0, 1 / 0, -1 / 0, 1 }, {})
		assert.are.equal("[null,null,null,1]", text)
		assert.is_nil(message)
		assert.are.same({ nonfinite = 3, repaired = 0 }, notes)
	end)

	it("repairs strings and keys that are no clean text, and counts the repairs", function()
		local text, _, notes = json.encode({ ["k\xff"] = "a\0b\27[31mc" }, {})
		assert.are.equal('{"k\u{FFFD}":"a\u{FFFD}bc"}', text)
		assert.is_true(notes.repaired >= 2)
	end)

	it("returns the text alone when no options are given", function()
		assert.are.equal(1, select("#", json.encode { 1 }))
	end)

	it("names the path to what JSON can't hold", function()
		local cases = {
			["data.items[3].fn is a function, which JSON can't hold"] = { items = { 1, 2, { fn = print } } },
			["data is a thread, which JSON can't hold"] = coroutine.create(print),
			["data.f is a userdata, which JSON can't hold"] = { f = io.stdout },
			['data["a b"].c is a function, which JSON can\'t hold'] = { ["a b"] = { c = print } },
		}
		for expected, value in pairs(cases) do
			local text, message, code = json.encode(value)
			assert.is_nil(text)
			assert.are.equal(expected, message)
			assert.are.equal("INVALID_RESULT", code)
		end
	end)

	it("calls the whole by the name it is given", function()
		assert.are.equal("context.x is a function, which JSON can't hold",
			select(2, json.encode({ x = print }, { name = "context" })))
	end)

	it("refuses sparse arrays, mixed keys and keys that are no strings", function()
		for _, value in ipairs {
			{ a = { 1, 2, x = 3 } }, { a = { [1] = 1, [3] = 3 } }, { a = { [2] = 1 } }, { a = { [0] = 1 } },
			{ a = { [1.5] = 1 } }, { a = { [true] = 1 } }, { a = { [2 ^ 53] = 1, x = 1 } },
			{ a = json.array { x = 1 } },
		} do
			local text, message, code = json.encode(value)
			assert.is_nil(text)
			assert.matches("^data%.a ", message)
			assert.are.equal("INVALID_RESULT", code)
		end
	end)

	it("refuses a table inside itself, and names both places", function()
		local outer = { name = "x", inner = {} }
		outer.inner.back = outer
		local text, message = json.encode(outer)
		assert.is_nil(text)
		assert.are.equal("data.inner.back refers back to data; JSON can't hold cycles", message)
	end)

	it("writes a table that is used twice, but not inside itself, twice", function()
		local shared = { 1 }
		assert.are.equal('{"a":[1],"b":[1]}', encode { a = shared, b = shared })
	end)

	local function nested(depth)
		local value = 1
		for _ = 1, depth do
			value = { value }
		end
		return value
	end

	it("goes 128 levels deep and no deeper", function()
		assert.are.equal(("["):rep(128) .. "1" .. ("]"):rep(128), encode(nested(128)))
		local text, message, code = json.encode(nested(129))
		assert.is_nil(text)
		assert.matches("is nested more than 128 levels deep$", message)
		assert.are.equal("INVALID_RESULT", code)
	end)

	it("stops at the size it is given", function()
		assert.are.equal('"12345678"', encode("12345678", { max = 10 }))
		for _, value in ipairs { "123456789", { "1234", "1234" }, { a = "12345678" } } do
			local text, message, code = json.encode(value, { max = 10 })
			assert.is_nil(text)
			assert.matches("^data is larger than 10 bytes", message)
			assert.are.equal("OUTPUT_TOO_LARGE", code)
		end
	end)

	it("stops early when a small value unfolds into a huge text", function()
		local value = "x"
		for _ = 1, 100 do
			value = { value, value }
		end
		local started = os.clock()
		assert.are.equal("OUTPUT_TOO_LARGE", select(3, json.encode(value, { max = 1 << 20 })))
		assert.is_true(os.clock() - started < 2)
	end)

	it("calls no metamethod", function()
		local trap = function()
			error "called"
		end
		local value = setmetatable({ a = 1 }, { __index = trap, __pairs = trap, __len = trap, __tostring = trap })
		assert.are.equal('{"a":1}', encode(value))
	end)

	it("writes 10 MB well under a second", function()
		local rows = {}
		for i = 1, 100000 do
			rows[i] = { id = i, name = "row number " .. i, ratio = i / 7, tags = { "one", "two" }, ok = true }
		end
		local started = os.clock()
		local text = encode { rows = rows }
		local took = os.clock() - started
		assert.is_true(#text > 9e6)
		assert.is_true(took < 2, "took " .. took .. " s")
	end)
end)

describe("the memory of what json.decode reads", function()
	local function code_of(text, options)
		return (select(3, json.decode(text, options)))
	end

	it("is bounded, whatever it is made of", function()
		local options = { memory = 1 << 20 }
		for _, text in ipairs { "[" .. ("[],"):rep(6000) .. "1]", "[" .. ("{},"):rep(6000) .. "1]", "[" .. ("1,"):rep(17000) .. "1]",
			"[" .. ("null,"):rep(17000) .. "1]", '"' .. ("x"):rep(1100000) .. '"', '["' .. ("\\n"):rep(600000) .. '"]',
			'{"a":[' .. ('{"b":1},'):rep(5000) .. "1]}" } do
			local value, why, code = json.decode(text, options)
			assert.same({ nil, "its values would take more than 1 MiB of memory", "TOO_LARGE" }, { value, why, code }, text:sub(1, 20))
			assert.is_truthy(json.weight(text) > 1 << 20)
		end
		for _, text in ipairs { "[" .. ("[],"):rep(1000) .. "1]", "[" .. ("1,"):rep(10000) .. "1]", '"' .. ("[{,:"):rep(100000) .. '"',
			(" "):rep(3 << 20) .. "1", '["\\"[[[[[[[[[[", 1]' } do
			assert.is_nil(code_of(text, options), text:sub(1, 20))
		end
	end)

	it("is at most half a GiB by default", function()
		assert.equal("TOO_LARGE", code_of("[" .. ("[],"):rep(3000000) .. "1]"))
		assert.equal(8000, #json.decode("[" .. ("[],"):rep(7999) .. "1]"))
	end)

	it("is counted for texts that are no JSON, too", function()
		for _, text in ipairs { "", '"', '"\\', "[", '{"a', "\0\0", '"\\"' } do
			assert.is_true(json.weight(text) < 1200)
			assert.is_truthy(select(2, json.decode(text, { memory = 1 })))
		end
	end)

	it("is a positive number of bytes", function()
		for _, wrong in ipairs { 0, -1, 1.5, "x", {} } do
			assert.has_error(function() json.decode("1", { memory = wrong }) end)
		end
		assert.has_error(function() json.weight {} end)
	end)
end)

describe("json.array and json.is_array", function()
	it("marks the table itself", function()
		local t = {}
		assert.are.equal(t, json.array(t))
		assert.is_true(json.is_array(t))
	end)

	it("tells arrays from objects and scalars", function()
		assert.is_true(json.is_array { 1 })
		assert.is_true(json.is_array(json.decode "[]"))
		assert.is_false(json.is_array {})
		assert.is_false(json.is_array { a = 1 })
		assert.is_false(json.is_array "text")
		assert.is_false(json.is_array(json.null))
	end)

	it("refuses what is no plain table", function()
		assert.has_error(function() json.array "x" end)
		assert.has_error(function() json.array(setmetatable({}, {})) end)
	end)
end)
