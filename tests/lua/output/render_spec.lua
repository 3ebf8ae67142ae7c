-- Rendering: the same data is the same text, for people and for pipes.

local json = require "runner.json"
local render = require "runner.output.render"

-- Of a command whose result is its rows, if it is a list; `rows` names a member.
local function text(data, format, columns, rows)
	return (render.text(data, format, { columns = columns, rows = rows or true }))
end

local function lines(...)
	return table.concat({ ... }, "\n") .. "\n"
end

local PEOPLE = json.array {
	{ name = "ann", age = 7, town = "Ulm" },
	{ name = "Bertram", age = 42 },
}

describe("render as text", function()
	it("writes nothing for nothing", function()
		assert.are.equal("", text(nil, "text"))
		assert.are.equal("", text(json.null, "text"))
	end)

	it("writes a scalar as it is", function()
		assert.are.equal("hello\n", text("hello", "text"))
		assert.are.equal("one\ntwo\n", text("one\ntwo\n", "text"))
		assert.are.equal("3\n", text(3, "text"))
		assert.are.equal("3\n", text(3.0, "text"))
		assert.are.equal("0.1\n", text(0.1, "text"))
		assert.are.equal("false\n", text(false, "text"))
	end)

	it("has nothing for what JSON has no number for, and every digit where programs read", function()
		for _, format in ipairs { "text", "tsv", "plain", "table" } do
			local out = text(json.array { { n = 0 / 0, m = 1 / 0, o = "x" } }, format)
			assert.is_nil(out:find("nan", 1, true) or out:find("inf", 1, true), format)
		end
		local numbers = json.array { { a = 0.1 + 0.2, b = 2 ^ 63, c = 1 / 3, d = 0.1, e = 1e15, f = 5e-324, g = 3.0 } }
		assert.are.equal("0.3", text(0.1 + 0.2, "text"):sub(1, -2))
		local row = text(numbers, "plain"):sub(1, -2)
		local read = {}
		for word in row:gmatch("[^\t]+") do
			read[#read + 1] = tonumber(word)
		end
		assert.are.same({ 0.1 + 0.2, 2 ^ 63, 1 / 3, 0.1, 1e15, 5e-324, 3 }, read)
		assert.truthy(row:find("\t0.1\t", 1, true) and row:find("\t3$"))
	end)

	it("counts the columns that a terminal shows", function()
		assert.are.equal(lines("n     v", "日本  1", "ab    2", "e\u{301}     3"), text(json.array {
			{ n = "日本", v = "1" }, { n = "ab", v = "2" }, { n = "e\u{301}", v = "3" } }, "table"))
	end)

	it("writes a row for an object without keys, and for nothing", function()
		assert.are.same({ "\n\n", "\n", "-\n", "{}\n" },
			{ text({}, "tsv"), text({}, "plain"), text({}, "table"), text({}, "jsonl") })
		assert.are.same({ "value\n\n", "\n", "value\n-\n", '{"value":null}\n' },
			{ text(nil, "tsv"), text(nil, "plain"), text(json.null, "table"), text(nil, "jsonl") })
	end)

	it("aligns the values of an object, sorted by key", function()
		assert.are.equal(lines("effect:  updated", "release: v1", "target:  prod"),
			text({ target = "prod", release = "v1", effect = "updated" }, "text"))
	end)

	it("puts declared columns first and the others behind them", function()
		assert.are.equal(lines("target:  prod", "release: v1", "effect:  updated"),
			text({ target = "prod", release = "v1", effect = "updated" }, "text", { "target", "release", "none" }))
	end)

	it("writes a list of flat objects as a table, numbers to the right", function()
		assert.are.equal(lines("name     age  town", "ann        7  Ulm", "Bertram   42  -"), text(PEOPLE, "text"))
	end)

	it("writes lists of scalars one a line, and inside objects in one", function()
		assert.are.equal(lines("a", "2"), text({ "a", 2 }, "text"))
		assert.are.equal(lines("empty: -", "list:  a, b", "none:  -"),
			text({ list = { "a", "b" }, none = json.null, empty = json.array {} }, "text"))
	end)

	it("indents what needs lines of its own", function()
		assert.are.equal(lines("count: 2", "inner:", "  deep: yes", "notes:", "  one", "  two", "people:",
			"  name     age  town", "  ann        7  Ulm", "  Bertram   42  -"),
			text({ count = 2, people = PEOPLE, inner = { deep = "yes" }, notes = "one\ntwo" }, "text"))
	end)

	it("writes nested lists as compact JSON", function()
		assert.are.equal(lines('{"a":[1]}', "2"), text({ { a = { 1 } }, 2 }, "text"))
	end)

	it("counts characters, not bytes, when it aligns", function()
		assert.are.equal(lines("k   v", "ä   1", "éé  2"), text({ { k = "ä", v = "1" }, { k = "éé", v = "2" } }, "text"))
	end)
end)

describe("a table for a person at a terminal", function()
	local function fitted(data, limit, columns)
		return (render.text(data, "table", { columns = columns, rows = true }, limit))
	end

	it("cuts the longest cells with an ellipsis, and no number", function()
		assert.are.equal(lines("name         n  town", "a very l…  123  Ulm am R…"),
			fitted({ { name = "a very long name", n = 123, town = "Ulm am Rhein" } }, 25))
		assert.are.equal(lines("name              n  town", "a very long name  1  Ulm"),
			fitted({ { name = "a very long name", n = 1, town = "Ulm" } }, 80))
	end)

	it("measures wide and combining characters", function()
		assert.are.equal(lines("k         v", "日本語…   aaaaaaaa"), fitted({ { k = "日本語日本語", v = "aaaaaaaa" } }, 18))
		assert.are.equal(lines("k", ("e\u{301}"):rep(7) .. "…"), fitted({ { k = ("e\u{301}"):rep(20) } }, 8))
	end)

	it("becomes a record a row where even that is too wide", function()
		local row, expected = {}, {}
		for i = 1, 12 do
			row[("c%02d"):format(i)] = "value " .. i
			expected[i] = ("c%02d: value %d"):format(i, i)
		end
		assert.are.equal(table.concat(expected, "\n") .. "\n", fitted({ row }, 40))
		assert.are.equal(table.concat(expected, "\n") .. "\n\n" .. table.concat(expected, "\n") .. "\n", fitted({ row, row }, 40))
		for line in fitted({ row }, 120):gmatch "[^\n]+" do
			assert.is_true(#line <= 120)
		end
	end)

	it("has declared columns first and in order, then names and states, and long texts at the end", function()
		local row = { alpha = "-", message = "-", state = "-", name = "-", id = "-", zone = "-" }
		assert.are.equal("zone  id  name  state  alpha  message\n", fitted({ row }, 80, { "zone" }):match "^[^\n]*\n")
	end)

	it("says times as people do, where all of a column are times", function()
		local at = os.date("!%Y-%m-%dT%H:%M:%SZ", os.time() - 3 * 3600 - 60)
		assert.are.equal(lines("name  at", "a     3h ago", "b     -"),
			fitted({ { name = "a", at = at }, { name = "b", at = json.null } }, 80, { "name" }))
		assert.is_truthy(fitted({ { at = at }, { at = "never" } }, 80):find(at, 1, true))
		assert.is_truthy(fitted({ { at = "2026-13-01T00:00:00Z" } }, 80):find("2026-13-01", 1, true))
		assert.is_truthy(text({ { at = at } }, "table"):find(at, 1, true))
	end)
end)

describe("the widths of characters", function()
	it("are those with which the supervisor measures", function()
		local function ranges(path)
			local file <close> = assert(io.open(path))
			local out = {}
			for first, last in file:read("a"):gmatch "{ (0x%x+), (0x%x+) }" do
				out[#out + 1] = first .. "-" .. last
			end
			return table.concat(out, " ")
		end
		assert.are.equal(ranges "src/supervisor/columns.c", ranges "lua/output/layout.lua")
	end)
end)

describe("render as table", function()
	it("shows rows under the union of their keys", function()
		assert.are.equal(lines("name     age  town", "ann        7  Ulm", "Bertram   42  -"),
			text(PEOPLE, "table", { "name" }))
	end)

	it("has the rows in the member that the declaration names, and in no other", function()
		local expected, data = text(PEOPLE, "table"), { people = PEOPLE, items = { 1 }, total = 2 }
		assert.are.equal(expected, text(data, "table", nil, "people"))
		assert.are.equal(lines("value", "    1"), text(data, "table", nil, "items"))
		assert.are.equal(expected, (render.text({ items = PEOPLE }, "table", { list = true })))
		assert.are.equal(expected, (render.text(PEOPLE, "table", { list = true })))
	end)

	it("takes a result without such a declaration for one row, whatever is in it", function()
		for _, data in ipairs { { a = { { x = 1 } } }, { items = json.array {} }, { a = { 1 }, b = { 2 } }, { a = json.array {} } } do
			assert.are.equal(json.encode(data) .. "\n", (render.text(data, "jsonl")))
			assert.are.equal(1, (select(2, render.text(data, "tsv"))))
		end
		assert.are.equal('{"value":[]}\n', (render.text(json.array {}, "jsonl")))
		assert.are.equal('{"value":[1]}\n', (render.text({ 1 }, "jsonl")))
	end)

	it("has the columns that are always there, though no row has them", function()
		local decl = { columns = { "z", "name" }, always = { "z", "b" }, rows = true }
		assert.are.equal(lines("z\tname\ta\tb", "\tx\t1\t"), (render.text({ { a = 1, name = "x" } }, "tsv", decl)))
		assert.are.equal(lines("\tx\t1\t"), (render.text({ { a = 1, name = "x" } }, "plain", decl)))
	end)

	it("keeps a cell on one line", function()
		assert.are.equal(lines("k", "a b c"), text({ k = "a\nb\tc" }, "table"))
	end)

	it("shows the declared columns of an empty list", function()
		assert.are.equal("a  b\n", text(json.array {}, "table", { "a", "b" }))
		assert.are.equal("", text(json.array {}, "table"))
	end)
end)

describe("render for pipes", function()
	it("writes tsv with a header and escapes", function()
		assert.are.equal(lines("k\tn", "a\\tb\\nc\\\\d\t1", "\t"),
			text({ { k = "a\tb\nc\\d", n = 1 }, { k = json.null } }, "tsv"))
	end)

	it("gives scalars the column value", function()
		assert.are.equal(lines("value", "a", "2"), text({ "a", 2 }, "tsv"))
		assert.are.equal(lines("value", "x"), text("x", "tsv"))
	end)

	it("writes nested values into a field as compact JSON", function()
		assert.are.equal(lines("k\tl", '{"b":1}\t[1,2]'), text({ { k = { b = 1 }, l = { 1, 2 } } }, "tsv"))
	end)

	it("writes plain values without header or decoration", function()
		assert.are.equal(lines("a", "2"), text({ "a", 2 }, "plain"))
		assert.are.equal(lines("7\tann\tUlm", "42\tBertram\t"), text(PEOPLE, "plain"))
		assert.are.equal(lines("one", "two"), text("one\ntwo", "plain"))
		assert.are.equal(lines("v1"), text({ release = "v1" }, "plain"))
	end)

	it("writes one JSON text a line", function()
		assert.are.equal(lines('{"age":7,"name":"ann","town":"Ulm"}', '{"age":42,"name":"Bertram"}'),
			text({ items = PEOPLE }, "jsonl", nil, "items"))
		assert.are.equal(lines '{"a":1}', text({ a = 1 }, "jsonl"))
		assert.are.equal(lines('{"value":"a\\nb"}', '{"value":null}'), text({ "a\nb", json.null }, "jsonl"))
		assert.are.equal("", text(json.array {}, "jsonl"))
	end)

	it("counts rows", function()
		for _, case in ipairs {
			{ 2, PEOPLE }, { 2, { items = PEOPLE }, "items" }, { 1, { a = 1 } }, { 1, nil }, { 0, json.array {} }, { 1, "x" },
		} do
			for _, format in ipairs { "table", "tsv", "plain", "jsonl" } do
				assert.are.equal(case[1], (select(2, render.text(case[2], format, { rows = case[3] or true }))), format)
			end
		end
		assert.are.equal(2, (select(2, render.text(PEOPLE, "text"))))
	end)
end)

describe("render", function()
	it("lets no control character through, in values or keys", function()
		local bad = { ["k\27[2J\a"] = "a\27]0;title\7b\0c\27[31md\r\8", list = { "\27[1mx" } }
		for _, format in ipairs { "text", "table", "tsv", "plain", "jsonl" } do
			local out = text({ bad }, format) .. text(bad, format)
			assert.is_nil(out:find "[%z\1-\8\11-\31\127]", format)
			assert.is_nil(out:find("title", 1, true), format)
		end
	end)

	it("is deterministic", function()
		for _, format in ipairs { "text", "table", "tsv", "plain", "jsonl" } do
			local one, two = {}, {}
			for i = 1, 50 do
				one["k" .. i], two["k" .. 51 - i] = i, 51 - i
			end
			assert.are.equal(text({ one }, format), text({ two }, format))
		end
	end)
end)
