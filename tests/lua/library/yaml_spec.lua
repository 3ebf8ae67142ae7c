-- runner.yaml, runner.toml and runner.hash.

local needs = dofile "tests/lua/lib/needs.lua" (_ENV)
local hash = require "runner.library.hash"
local json = require "json"
local toml = require "runner.library.toml"
local yaml = require "runner.library.yaml"

local function refused(f, ...)
	local ok, raised = pcall(f, ...)
	assert.is_false(ok, tostring((...)))
	assert.equal("PRECONDITION", raised.code, tostring(raised))
	return raised.message
end

describe("runner.yaml", function()
	it("reads what workflow files may have, and says where a text is wrong", function()
		assert.same({ a = { 1, 2.5, true }, b = "yes", c = json.null }, yaml.decode "a: [1, 2.5, true]\nb: yes\nc:\n")
		assert.is_true(json.is_array(yaml.decode "[]"))
		assert.truthy(refused(yaml.decode, "a: 1\na: 2\n", "x.yaml"):find("^x%.yaml:2:1: duplicate key 'a'"))
		refused(yaml.decode, "a: [1")
		refused(yaml.decode, "--- 1\n--- 2\n")
		refused(yaml.decode, "\xff")
	end)

	it("writes what reads back the same", function()
		local odd = { "yes", "12:30", "0x1f", "1e3", ".5", "", " ", "# no", "- x", "a: b", "é 中", "~", "null", "true", "x\n", "\nx\n", " x\ny",
			"x\n\n\n", "tab\tx\ny", "a\rb", "\u{85}\u{2028}", "'\"", "1_000", "=", "<<", "2020-01-01", "!x", "&a", "*a", "%x", "@x", "trailing ",
			("long "):rep(60), "a\n b\n", "\127", "\u{FEFF}x", "x: |\n y", "---", "...", "? x", "\u{1F600}" }
		for _, text in ipairs(odd) do
			assert.same({ [text] = text }, yaml.decode(yaml.encode { [text] = text }), ("%q"):format(text))
			assert.same({ { text } }, yaml.decode(yaml.encode { { text } }), ("%q"):format(text))
		end
		local value = { list = json.array {}, map = {}, n = 9007199254740993, f = 0.1, g = 1e300, h = 1.0, inf = math.huge, neg = -math.huge,
			deep = { { { a = { false } } } }, none = json.null }
		local back = yaml.decode(yaml.encode(value))
		assert.same(value, back)
		assert.is_true(json.is_array(back.list))
		assert.equal("float", math.type(back.h))
		assert.equal("a: 1\nb:\n- x\n", yaml.encode { b = { "x" }, a = 1 })
	end)

	it("refuses what YAML can't hold", function()
		refused(yaml.encode, "\xff")
		refused(yaml.encode, "a\0b")
		assert.is_false(pcall(yaml.encode, print))
		assert.is_false(pcall(yaml.encode, { [true] = 1 }))
		assert.is_false(pcall(yaml.encode, { "one", a = 1 }))
		local circle = {}
		circle.circle = circle
		assert.is_false(pcall(yaml.encode, circle))
	end)
end)

describe("runner.toml", function()
	it("reads every kind of value", function()
		assert.same({
			title = "T", n = { 1, -17, 1000, 255, 493, 214, 0 }, f = { 1.0, -0.01, 5e22, 6.626e-34, 1e6 }, yes = true, no = false,
			text = 'a\tb "c" é \u{1F600}', raw = [[C:\x]], many = "one\ntwo three", lit = "no \\ escape\n'quoted'",
			quotes = 'say ""hi""', day = "1979-05-27", at = "1979-05-27T07:32:00.999-07:00", space = "1979-05-27 07:32:00Z", clock = "07:32:00",
		}, toml.decode [==[
title = "T" # comment
n = [1, -17, 1_000, 0xff, 0o755, 0b1101_0110, +0,]
f = [ 1.0, -0.01,
  5e+22, # inside
  6.626e-34, 1e6 ]
yes = true
no = false
text = "a\tb \"c\" \u00e9 \U0001F600"
raw = 'C:\x'
many = """
one
two \
   three"""
lit = '''
no \ escape
'quoted''''
quotes = """say ""hi"""""
day = 1979-05-27
at = 1979-05-27T07:32:00.999-07:00
space = 1979-05-27 07:32:00Z
clock = 07:32:00
]==])
		assert.equal(math.huge, toml.decode("x = inf").x)
		local nan = toml.decode("x = -nan").x
		assert.is_true(nan ~= nan)
		assert.equal(math.mininteger, toml.decode("x = -9223372036854775808").x)
		assert.is_true(json.is_array(toml.decode("x = []").x))
	end)

	it("reads tables of every kind", function()
		assert.same({
			owner = { name = "x", dob = { year = 1 } }, a = { b = { c = { d = 1 } } }, ["quoted key"] = { ["ʎ"] = 1, [""] = 2 },
			fruits = { { name = "apple", physical = { color = "red" }, varieties = { { n = 1 }, { n = 2 } } }, { name = "banana" } },
			point = { x = 1, y = { z = { 2 } } }, empty = {}, ["1"] = { ["2"] = 3 }, fruit = { apple = { color = 1, texture = { smooth = true } } },
		}, toml.decode [==[
1.2 = 3
point = { x = 1, y.z = [2] }
empty = {}
[owner]
name = "x"
dob.year = 1
[a.b.c]
d = 1
[a.b] # a super-table may come later
["quoted key"]
"ʎ" = 1
'' = 2
[[fruits]]
name = "apple"
[fruits.physical]
color = "red"
[[fruits.varieties]]
n = 1
[[fruits.varieties]]
n = 2
[[fruits]]
name = "banana"
[fruit]
apple.color = 1
[fruit.apple.texture]
smooth = true
]==])
		assert.same({ a = 1, b = 2 }, toml.decode "\u{FEFF}a = 1\r\nb = 2")
		assert.same({}, toml.decode "")
	end)

	-- (most are toml-test's invalid cases, in short)
	it("refuses what TOML 1.0 forbids, with the line", function()
		assert.truthy(refused(toml.decode, "a = 1\na = 2", "x.toml"):find("^x%.toml:2: 'a' is there already"))
		for _, text in ipairs {
			"a", "a =", "= 1", "a = 1 b = 2", "a.b = 1\na = 2", "a = 1\na.b = 2", "[a]\n[a]", "a = {}\n[a]",
			"[a]\nb = 1\n[a.b]", "[[a]]\n[a]",
			"[a]\n[[a]]", "a = [1]\n[[a]]", "a.b = 1\n[a]", "[a.b.c]\nz = 9\n[a]\nb.c.t = 1", "a = {b = 1}\na.c = 2",
			"a = {b = 1}\n[a.c]",
			"a = [{b = 1}]\n[a.c]", "a = {b = 1,}", "a = {b = 1\n}", "a = {b = 1, b = 2}", "a = {b = 1 c = 2}", "a = [1 2]",
			"a = [1", "a = [,1]", "[a", "[a]]",
			"[[a]", "[ [a]]", "[]", "[a.]", "a..b = 1", ".a = 1", "a b = 1", 'a = "x', 'a = "x\ny"', "a = 'x\ny'", 'a = """x',
			"a = '''x",
			'a = "\\q"', 'a = "\\ud800"', 'a = "\\U00110000"', 'a = "\\u12"', 'a = "\\x41"', 'a = "\1"', "a = 'x\127'", "# \0",
			"a = 1 # \8", 'a = """\0"""', "a = 01",
			"a = 1_", "a = _1", "a = 1__2", "a = 1_e5", "a = 1e_5", "a = .5", "a = 5.", "a = 5.e1", "a = 1.e+", "a = 0x",
			"a = 0xg", "a = -0x1", "a = 0X1", "a = 0o8", "a = 0b2",
			"a = 0x_1", "a = 9223372036854775808", "a = 0x8000000000000000", "a = 0o1000000000000000000000", "a = 00.5",
			"a = True", "a = INF", "a = nan1", "a = yes",
			"a = 1979-13-01", "a = 1979-02-30", "a = 1979-05-27T", "a = 1979-05-27T25:00:00", "a = 1979-05-27T07:32",
			"a = 07:32", "a = 24:00:00", "a = 79-05-27", "a = 1979-5-27",
			"a = 1979-05-27T07:32:00+0100", "a = 1979-05-27T07:32:00,5", "a = 1\rb = 2", "a = \xff", "\xff = 1", "a = 'x' 'y'",
			'"""a""" = 1', "a = 1\n\n[a]\n", "a = {}}", "a = []]",
			"[a] b = 1", "a = 1 [b]", "a\n= 1", "a = \n1", 'a = """x""""""',
		} do
			refused(toml.decode, text)
		end
		refused(toml.decode, "a = " .. ("["):rep(100))
	end)
end)

describe("runner.hash", function()
	it("knows the published answers", needs "md" or function()
		assert.equal("900150983cd24fb0d6963f7d28e17f72", hash.text("abc", "md5"))
		assert.equal("a9993e364706816aba3e25717850c26c9cd0d89d", hash.text("abc", "sha1"))
		assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hash.text "abc")
		assert.equal("cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
			hash.text("abc", "sha384"))
		assert.equal("cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
			.. "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e", hash.text("", "sha512"))
	end)

	-- RFC 4231, test cases 2 and 6; RFC 2202, test case 2
	it("makes HMACs as the RFCs do", needs "md" or function()
		assert.equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", hash.hmac("Jefe", "what do ya want for nothing?"))
		assert.equal("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
			hash.hmac(("\xaa"):rep(131), "Test Using Larger Than Block-Size Key - Hash Key First"))
		assert.equal("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79", hash.hmac("Jefe", "what do ya want for nothing?", "sha1"))
	end)

	it("reads a file of any size, and says which one it can't", needs "md" or function()
		local name = os.tmpname()
		local file = assert(io.open(name, "wb"))
		file:write(("x\0y"):rep(100000)):close()
		assert.equal(hash.text(("x\0y"):rep(100000), "sha512"), hash.file(name, "sha512"))
		os.remove(name)
		local _, raised = pcall(hash.file, name)
		assert.equal("NOT_FOUND", raised.code)
		assert.truthy(raised.message:find(name, 1, true))
	end)

	it("compares without telling where, and refuses other algorithms", function()
		assert.is_true(hash.equal("ab", "ab"))
		assert.is_false(hash.equal("ab", "ac"))
		assert.is_false(hash.equal("ab", "abc"))
		assert.is_true(hash.equal("", ""))
		assert.is_false(pcall(hash.text, "x", "crc32"))
	end)
end)
