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

	local function random_key()
		local bytes = {}
		for i = 1, math.random(0, 10) do
			bytes[i] = string.char(math.random(0x61, 0x63))
		end
		return table.concat(bytes)
	end

	it("sorts however many keys there are, and whatever is in them", function()
		for round = 1, 400 do
			local value, keys, expected = {}, {}, {}
			for _ = 1, round % 40 + 1 do
				local key = random_key() .. (round % 3 == 0 and ("é"):rep(math.random(0, 1)) or "")
				if not value[key] then
					value[key], keys[#keys + 1] = { key }, key
				end
			end
			table.sort(keys)
			for i, key in ipairs(keys) do
				expected[i] = ('"%s":["%s"]'):format(key, key)
			end
			assert.are.equal("{" .. table.concat(expected, ",") .. "}", encode(value))
		end
	end)

	it("sorts hundreds of keys: shared beginnings, long tails, bytes of every kind", function()
		local makers = {
			function(i) return "key number " .. i end,
			function(i) return ("user:%05d:"):format(i % 3) .. random_key() .. i end, -- equal for longer than a word
			function(i) return ("x"):rep(i) end,
			function(i) return utf8.char(0x100 + (i * 7919) % 0xd000) .. (i % 5 == 0 and "" or random_key()) end,
			function(i) return ("%d"):format(i * 7919 % 1000):reverse() end,
		}
		for which, make in ipairs(makers) do
			for _, count in ipairs { 17, 255, 256, 257, 700 } do
				local value, keys, expected = {}, {}, {}
				for i = 1, count do
					local key = make(i)
					if not value[key] then
						value[key], keys[#keys + 1] = i, key
					end
				end
				table.sort(keys)
				for i, key in ipairs(keys) do
					expected[i] = ('"%s":%d'):format(key, value[key])
				end
				assert.are.equal("{" .. table.concat(expected, ",") .. "}", encode(value), which .. " " .. count)
			end
		end
	end)

	it("finds two keys that become one among hundreds", function()
		local value = { ["same\27"] = 1, ["same"] = 2 }
		for i = 1, 300 do
			value["key " .. i] = i
		end
		local text, message = json.encode(value, { envelope = true })
		assert.is_nil(text)
		assert.are.equal('data has two keys that both become "same" when cleaned: rename one', message)
	end)

	it("keeps large and small objects apart that are inside each other", function()
		local value, text = 0, "0"
		for level = 1, 60 do
			local members, outer = {}, {}
			for i = 1, level % 20 + 1 do
				local key = ("%02d%s"):format(i, level % 7 == 0 and "ü" or "")
				outer[key] = i == 2 and value or i
				members[i] = ('"%s":%s'):format(key, i == 2 and text or i)
			end
			value, text = { outer }, "[{" .. table.concat(members, ",") .. "}]"
		end
		assert.are.equal(text, encode(value))
	end)

	it("sorts a key that had to be repaired where its written form belongs", function()
		assert.are.equal('{"a":2,"b":1}', (json.encode({ ["\27b"] = 1, a = 2 }, { envelope = true })))
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

	it("leaves the text in a buffer for functions of ours, and says the same of it", function()
		local may_hold_secrets = require("runner.host").may_hold_secrets
		local value = { token = "ghp_0123", list = { 0 / 0, 1 } }
		local buffer, message, notes = json.encode(value, { buffer = true })
		assert.are.equal("userdata", type(buffer))
		assert.is_nil(message)
		assert.are.same({ nonfinite = 1, repaired = 0 }, notes)
		assert.is_true(may_hold_secrets(buffer))
		assert.is_true(may_hold_secrets(encode(value)))
		assert.is_false(may_hold_secrets(json.encode({ ("x"):rep(100000) }, { buffer = true })))
		assert.are.same({ nil, "data.f is a function, which JSON can't hold", "INVALID_RESULT" },
			{ json.encode({ f = print }, { buffer = true }) })
		assert.has_error(function() may_hold_secrets(io.stdout) end)
		buffer = json.encode({ token = "ghp_0123" }, { buffer = true })
		for i = 1, 10 do -- texts that are written later get memory of their own
			assert.are.equal('["' .. ("x"):rep(i * 1000) .. '"]', encode { ("x"):rep(i * 1000) })
			assert.is_true(may_hold_secrets(buffer))
			assert.is_false(may_hold_secrets(json.encode({ i }, { buffer = true })))
		end
		assert.has_error(function() may_hold_secrets {} end)
		for _, wrong in ipairs { 42, io.stdout, {} } do -- a script can ask for a buffer, too
			assert.has_error(function() getmetatable(buffer).__gc(wrong) end)
		end
		for _ = 1, 2 do
			getmetatable(buffer).__gc(buffer)
		end
		assert.is_false(may_hold_secrets(buffer))
	end)

	it("cleans the strings and keys of an envelope, and counts the repairs", function()
		local text, _, notes = json.encode({ ["k\xff"] = "a\0b\27[31mc\r\n\u{9b}" }, { envelope = true })
		assert.are.equal('{"k\u{FFFD}":"a\u{FFFD}bc\\n"}', text)
		assert.are.equal(5, notes.repaired)
	end)

	it("keeps all that JSON can carry in data, and counts what it can't", function()
		local all = {}
		for code = 1, 0x2100 do
			all[code] = utf8.char(code)
		end
		local value = { [table.concat(all)] = table.concat(all), ["\27"] = "\r\n\u{9b}31m\u{202e}\u{10ffff}" }
		local text, _, notes = json.encode(value, {})
		assert.are.equal(0, notes.repaired)
		assert.is_nil(text:find "[%c\127]")
		assert.are.same(value, json.decode(text))
		text, _, notes = json.encode({ ["k\xff"] = "a\0b\27[31mc" }, {})
		assert.are.equal('{"k\u{FFFD}":"a\u{FFFD}b\\u001b[31mc"}', text)
		assert.are.equal(2, notes.repaired)
	end)

	it("counts once in an array whose items a walk does not meet in their order", function()
		local text, _, notes = json.encode({ 0 / 0, "a\0b", [4] = 1, [3] = 2 }, {})
		assert.are.equal('[null,"a\u{FFFD}b",2,1]', text)
		assert.are.same({ nonfinite = 1, repaired = 1 }, notes)
	end)

	it("writes each item once, however deep such arrays are in each other", function()
		local value, text = 0, "0"
		for _ = 1, 100 do
			value = { [9] = 1, [1] = value, [3] = 3, [2] = 2, [4] = 4, [5] = 5 }
			value[9] = nil -- a walk meets 1 3 4 5 2
			text = "[" .. text .. ",2,3,4,5]"
		end
		assert.equal(text, json.encode(value)) -- or it doubles the time at each level
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

	it("counts an empty table as a level, too", function()
		local function around(empty, depth)
			for _ = 1, depth do
				empty = { empty }
			end
			return empty
		end
		assert.are.equal(("["):rep(127) .. "{}" .. ("]"):rep(127), encode(around({}, 127)))
		for _, empty in ipairs { {}, json.array {} } do
			assert.matches("is nested more than 128 levels deep$", (select(2, json.encode(around(empty, 128)))))
		end
	end)

	it("finds a cycle wherever it begins, and however long it is", function()
		for before = 0, 60 do
			for _, length in ipairs { 1, 2, 7, 30 } do
				local first = {}
				local value = first
				for _ = 2, length do
					value = { x = value }
				end
				first.x = value
				for _ = 1, before do
					value = { value, 1 }
				end
				assert.matches("refers back to data.*; JSON can't hold cycles$", (select(2, json.encode(value))))
			end
		end
	end)

	it("raises or says so when Lua's stack is full", function()
		local wide = {}
		for i = 1, 16 do
			wide[("k%02d"):format(i)] = i
		end
		local deep = wide
		for _ = 1, 120 do
			deep = { k = deep, a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7 }
		end
		local function encode_above(...) -- luacheck: no unused args
			local text, message, code = json.encode(deep)
			return text, message, code
		end
		local refused = 0
		assert.is_string((encode_above(1)))
		for n = 998000, 999000, 500 do
			local ok, text, message, code = pcall(function()
				return encode_above(table.unpack({}, 1, n))
			end)
			if ok and not text then
				refused = refused + 1
				assert.are.same({ "not enough memory to write JSON", "MEMORY_LIMIT" }, { message, code })
			end
		end
		assert.is_true(refused > 0)
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

describe("shorten", function()
	it("cuts the longest tails, and says which; nothing that is no JSON or can't be cut", function()
		local text = json.encode { rows = { ("x"):rep(500), "y" }, n = 1 }
		local cut, cuts = json.shorten(text, 200)
		assert.is_true(#cut <= 200 and json.decode(cut).n == 1)
		assert.same({ { field = "rows.0", items = false, before = 500, after = cuts[1].after } }, { cuts[1] })
		assert.is_nil(json.shorten("{", 200))
		assert.is_nil(json.shorten('{"n":1}', 3))
		assert.same({ text, {} }, { json.shorten(text, 10000) })
	end)
end)
