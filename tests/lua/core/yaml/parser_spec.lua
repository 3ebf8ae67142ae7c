local json = require "runner.json"
local yaml = require "runner.core.yaml.parser"

-- The value as JSON; every text here is valid.
local function value(text)
	local root, problems = yaml.parse(text)
	assert.same({}, problems)
	return json.encode(yaml.value(root))
end

-- "line:column message" of every problem.
local function told(text)
	local _, problems = yaml.parse(text)
	local out = {}
	for i, p in ipairs(problems) do
		out[i] = ("%d:%d %s"):format(p.line, p.column, p.message)
	end
	return table.concat(out, "\n")
end

describe("yaml.parse", function()
	local VALUES = {
		{ "a: 1\nb: [x, 2.5, true]", '{"a":1,"b":["x",2.5,true]}' },
		{ "- a\n- - b\n  - c", '["a",["b","c"]]' },
		{ "retry: { max_attempts: 3, initial_delay: 2s }", '{"retry":{"initial_delay":"2s","max_attempts":3}}' },
		{ "a: 'it''s'\nb: \"x\\ty\\u00e9\"", '{"a":"it\'s","b":"x\\tyé"}' },
		{ "a: |\n  one\n   two\n\nb: |-\n  x\n", '{"a":"one\\n two\\n","b":"x"}' },
		{ "a: >\n  one\n  two\n\n  three\n", '{"a":"one two\\nthree\\n"}' },
		{ "a: one\n  two", '{"a":"one two"}' },
		{ "? a\n: b", '{"a":"b"}' },
		{ "1: x\ntrue: y\nnull: z", '{"1":"x","null":"z","true":"y"}' },
		{ "", "null" }, { "# nothing", "null" }, { "---\na: 1\n...", '{"a":1}' }, { "[]", "[]" }, { "{}", "{}" },
		{ "\239\187\191a: b", '{"a":"b"}' }, { "a: b\r\nc: d\r\n", '{"a":"b","c":"d"}' },
		{ "é: [ü, 日本]", '{"é":["ü","日本"]}' },
		{ "a: !!map {}\nb: !!seq []\nc: !!str 1\nd: ! 2\ne: !!float 3\nf: !!int 0x10",
			'{"a":{},"b":[],"c":"1","d":"2","e":3,"f":16}' },
	}
	for _, case in ipairs(VALUES) do
		it(("reads %q"):format(case[1]), function()
			assert.equal(case[2], value(case[1]))
		end)
	end

	it("takes scalars by the core schema of YAML 1.2", function()
		local core = {
			["~"] = "null", null = "null", Null = "null", NULL = "null", nULL = "text",
			["true"] = true, True = true, TRUE = true, ["false"] = false, tRue = "text",
			yes = "text", no = "text", on = "text", off = "text", Yes = "text", y = "text",
			["0"] = 0, ["-3"] = -3, ["+5"] = 5, ["017"] = 17, ["0o17"] = 15, ["0x1F"] = 31, ["0o8"] = "text",
			["0x"] = "text", ["-0x1"] = "text", ["1_000"] = "text", ["0b1"] = "text", ["1:30"] = "text",
			["9223372036854775807"] = math.maxinteger, ["-9223372036854775808"] = math.mininteger,
			["0x7FFFFFFFFFFFFFF"] = 0x7FFFFFFFFFFFFFF,
			["1.5"] = 1.5, ["1."] = 1.0, [".5"] = 0.5, ["-.5"] = -0.5, ["1e3"] = 1000.0, ["1E-2"] = 0.01, ["+1.5e+1"] = 15.0,
			["1.2.3"] = "text", ["."] = "text", ["-"] = "text", ["1e"] = "text", ["e3"] = "text", ["0x1p4"] = "text",
			[".inf"] = math.huge, ["-.INF"] = -math.huge, inf = "text", nan = "text",
			["2s"] = "text", ["2024-01-01"] = "text",
		}
		local plain = require("runner.core.yaml.scalar").plain
		for text, expected in pairs(core) do
			local kind, v = plain(text)
			if expected == "text" or expected == "null" then
				assert.same({ expected, expected == "text" and text or nil }, { kind, v }, text)
			else
				assert.same({ math.type(expected) or "boolean", expected }, { math.type(v) or kind, v }, text)
			end
		end
		local kind, nan = plain(".NaN")
		assert.is_true(kind == "number" and nan ~= nan)
	end)

	it("keeps the digits of an integer that 64 bits can't hold", function()
		assert.equal('["9223372036854775808","0xFFFFFFFFFFFFFFFFF","0o7777777777777777777777"]',
			value "[9223372036854775808, 0xFFFFFFFFFFFFFFFFF, 0o7777777777777777777777]")
	end)

	it("takes what is quoted as text", function()
		assert.equal('["1","true","null",""]', value "['1', \"true\", 'null', '']")
	end)

	it("takes what only looks like an escape for NUL as it is", function()
		assert.equal([[{"a":"\\0","b":"x\\0","c":"\\0"}]], value "a: \\0\nb: \"x\\\\0\"\nc: '\\0'")
	end)

	it("follows aliases, and merges maps by <<", function()
		assert.equal('{"a":[1,2],"b":[1,2]}', value "a: &x [1, 2]\nb: *x")
		assert.equal('{"a":{"x":1,"y":2},"b":{"x":1,"y":3},"c":{"x":1,"y":2,"z":4}}',
			value "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {x: 9, z: 4}]}")
		assert.equal('{"k":"v","x":"k"}', value "&a k: v\nx: *a")
		assert.equal('{"a":"x","b":{"x":1}}', value "a: &k x\nb: {*k : 1}")
		assert.equal('{"<<":1}', value "'<<': 1")
	end)

	it("knows where everything stands, in characters", function()
		local root = yaml.parse "é: ü\nlist:\n  - 'ä': |\n      x\n    b: [1, two]\n"
		local list = root.keys.list
		local item = list.node.items[1]
		local function at(node)
			return { node.line, node.column }
		end
		assert.same({ { 1, 4 }, { 2, 1 }, { 3, 3 }, { 3, 5 }, { 3, 10 }, { 5, 5 }, { 5, 12 } }, {
			at(root.keys["é"].node), at(list), at(list.node), at(item), at(item.keys["ä"].node), at(item.keys.b),
			at(item.keys.b.node.items[2]),
		})
	end)

	it("finds a place inside a scalar where it can be told", function()
		local text = "a: éxy\nb: 'éxy'\nc: |\n\n    éx\n     xy\nd: \"\\u00e9xy\"\ne: >\n  a\n  xy\n"
		local root, lines = yaml.parse(text), yaml.lines(text)
		local function place(key)
			local node = root.keys[key].node
			return { yaml.place(node, node.text:find("xy", 1, true), lines) }
		end
		assert.same({ { 1, 5 }, { 2, 6 }, { 6, 6 }, { 7, 4 }, { 8, 4 } },
			{ place "a", place "b", place "c", place "d", place "e" })
	end)
end)

describe("a text that is not YAML", function()
	local WRONG = {
		{ "a:\n\t- b", "2:1 tab in the indentation: YAML is indented with spaces" },
		{ "a:\n  b: 1\n\tc: 2", "3:1 tab in the indentation" },
		{ "a: |\n  x\n\ty\nb: 1", "3:1 tab in the indentation" },
		{ "a: b: c", "1:5 unexpected ':'" },
		{ "- a\n b: c", "2:3 unexpected ':': fix the indentation" },
		{ "a: - b", "1:4 a list can't start here" },
		{ "a: ? b", "1:4 unexpected '?'" },
		{ "a: 'x\nb: 2", "1:4 this quote is never closed" },
		{ "a: \"\\q\"", "1:5 unknown escape" },
		{ "a: \"\\xZZ\"", "needs more hex digits" },
		{ "a: \"\\uD800\"", "names a character that does not exist" },
		{ "a: [1,", "2:1 missing value, or unclosed '[' or '{'" },
		{ "a: [b\nc: d", "expected ',' or ']' in a list opened with '['" },
		{ "a: {b: 1\nc: 2", "expected ',' or '}' in a map opened with '{'" },
		{ "[a]]", "1:4 this line does not belong to anything above it" },
		{ "  a: 1\n b: 2", "2:2 this line does not belong to anything above it" },
		{ "- a\nb: c", "2:1 wrong indentation: every '- ' of a list" },
		{ "a:\n  - b\n c: 1", "3:2 wrong indentation: this line belongs neither" },
		{ "a: 1\nb\nc: 2", "missing ':' after a key" },
		{ "a: `x`", "1:4 a string can't start with '`': quote it" },
		{ "a: @x", "1:4 a string can't start with '@': quote it" },
		{ "a: %x", "1:4 a string can't start with '%': quote it" },
		{ "a: !b!c d", "a string that starts with '!' is a YAML tag: quote it" },
		{ "a: & b", "an anchor '&' or alias '*' needs a name" },
		{ "a: |0\n x", "the digit after '|' or '>' must be from 1 to 9" },
		{ "a: |5x\n  b", "nothing may follow '|' or '>' on its line" },
		{ "%YAML 3.0\n---\na", "unsupported YAML version" },
		{ "%YAML 9\n", "invalid YAML: " },
		{ "a: 1\n---\nb: 2", "2:1 a second document starts here" },
		{ "a: *nope", "1:4 alias *nope: no anchor &nope comes before it" },
		{ "a: &x [*x]", "1:8 alias *x is inside its own anchor" },
		{ "a: b\nc: \255", "2:4 invalid UTF-8" }, { "\255\254a\0", "1:1 invalid UTF-8" },
		{ "a: é\0", "1:5 a control character (0x00)" }, { "a: \27[0m", "1:4 a control character (0x1B)" },
		{ "a: x\194\128", "1:5 a control character (0x80)" }, { "é\239\191\191", "1:2 a control character (0xFFFF)" },
	}
	for _, case in ipairs(WRONG) do
		it(("is explained: %q"):format(case[1]), function()
			local root = yaml.parse(case[1])
			assert.is_nil(root)
			assert.truthy(told(case[1]):find(case[2], 1, true), told(case[1]))
		end)
	end

	it("is parsed on where possible, and all problems are reported", function()
		local text = "a: 1\nb: 2\na: 3\nc: {<<: 5}\n[1]: 2\nd: !!int x\ne: !mine y\nf: !mine {}\n"
		assert.equal(table.concat({
			"3:1 duplicate key 'a': the first is on line 1", "4:5 << merges maps: write <<: *anchor, or a list of such aliases",
			"5:1 a key must be a string, not a list", '6:4 tag !!int does not match "x": remove it',
			'7:4 tag !mine does not match "y": remove it', "8:4 unknown tag !mine: remove it",
		}, "\n"), told(text))
		assert.equal(1, yaml.parse(text).keys.a.node.value)
	end)

	it("contains no NUL byte: what follows its escape would be lost", function()
		local message = "%s an escape for the NUL byte, which no string can contain: remove it"
		assert.equal(message:format "2:4", told "a: \"é\\n\"\nb: \"x\\0y\"")
		assert.equal(message:format "1:1", told "\"k\\x00\": 1")
		assert.equal(message:format "1:4", told "a: \"\n  \\U00000000\"")
		assert.equal(message:format "1:4", told "\239\187\191a: \"\\u0000\"")
	end)

	it("tells keys merged by << from duplicate keys", function()
		assert.equal("", told "a: &a {x: 1}\nb: {x: 2, <<: *a}")
		assert.equal("1:14 duplicate key 'x': the first is on line 1", told "b: {x: 2, y, x: 3}")
	end)

	it("is bounded in depth, alone and through aliases", function()
		assert.equal("", told(("["):rep(64) .. ("]"):rep(64)))
		assert.equal("1:65 nested more than 64 levels deep", told(("["):rep(65)))
		local deep = ("- "):rep(1) .. "&a " .. ("["):rep(40) .. ("]"):rep(40) .. "\n- " .. ("["):rep(30) .. "*a" .. ("]"):rep(30)
		assert.equal("2:33 nested more than 64 levels deep", told(deep))
	end)

	it("is bounded in what its aliases repeat", function()
		local lines = { "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]" }
		for i = 1, 9 do
			lines[i + 1] = ("a%d: &a%d [%s]"):format(i, i, ("*a%d, "):format(i - 1):rep(10))
		end
		local started = os.clock()
		assert.truthy(told(table.concat(lines, "\n")):find("aliases expand to more than 100000 values", 1, true))
		assert.is_true(os.clock() - started < 1)
	end)

	it("is bounded in size", function()
		assert.equal("", told("a: " .. ("x"):rep((4 << 20) - 3)))
		assert.equal("1:1 the text is larger than 4 MiB, the limit", told("a: " .. ("x"):rep((4 << 20) - 2)))
	end)

	it("never breaks the reader, whatever the bytes are", function()
		math.randomseed(7)
		local pieces = { "a", ": ", "- ", "\n", "  ", "\t", "[", "]", "{", "}", ",", "&x ", "*x", "'", '"', "|", ">", "#", "?",
			"!", "%", "<<", "\\", "---\n", "...\n", "1", "~", "é", "\255", "\0" }
		for _ = 1, 3000 do
			local text = {}
			for i = 1, math.random(1, 14) do
				text[i] = pieces[math.random(#pieces)]
			end
			local root, problems = yaml.parse(table.concat(text))
			assert.is_true(root ~= nil or #problems > 0)
			for _, p in ipairs(problems) do
				assert.is_true(p.line >= 1 and p.column >= 1 and #p.message > 0)
			end
		end
	end)
end)

describe("the parser's module", function()
	local RUN = "dofile(os.getenv 'INIT'); %s local root = require('runner.core.yaml.parser').parse 'a: 1'; print(root.keys.a.node.value)"
	local init = debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "init.lua"

	local function lua(prelude)
		local code = RUN:format(prelude):gsub("'", "'\\''")
		local pipe = io.popen(("INIT='%s' lua5.4 -e '%s' 2>&1"):format(init, code))
		local out = pipe:read "a"
		pipe:close()
		return out
	end

	it("is found whatever package.path, package.loaded and preload say", function()
		assert.equal("1\n", lua "package.path = './?.lua'; package.loaded.yaml = {}; package.preload.yaml = error;")
	end)

	it("is taken from absolute paths only", function()
		assert.truthy(lua "package.cpath = './?.so;lib/?.so';":find("PRECONDITION: YAML needs the Lua module 'yaml'", 1, true))
	end)

	it("is asked for by name where it is missing", function()
		local out = lua [[package.cpath = "/nowhere/?.so"; local p = require("runner.core.yaml.parser").parse
			local ok, e = pcall(p, "a"); print(ok, e.code, e.suggestion);]]
		assert.truthy(out:find("false\tPRECONDITION\tapt-get install lua-yaml\n", 1, true), out)
	end)
end)

describe("a long text", function()
	it("of 1,000 steps is read in well under 100 ms of processor time", function()
		local text = "commands:\n" .. ('  - shell: "true"\n'):rep(1000)
		local best = math.huge
		for _ = 1, 5 do
			local started = os.clock()
			yaml.parse(text)
			best = math.min(best, os.clock() - started)
		end
		assert.is_true(best < 0.1, best)
	end)
end)
