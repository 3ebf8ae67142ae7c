-- runner.text, runner.time and runner.codec.

local codec = require "runner.library.codec"
local text = require "runner.library.text"
local time = require "runner.library.time"

local function refused(f, ...)
	local ok, raised = pcall(f, ...)
	assert.is_false(ok)
	assert.equal("PRECONDITION", raised.code)
	return raised.message
end

describe("runner.text", function()
	it("splits by a plain separator, or by blanks", function()
		assert.same({ "a", "", "b" }, text.split("a..b", "."))
		assert.same({ "a", "b" }, text.split "  a \n b ")
		assert.same({}, text.split "  ")
		assert.same({ "" }, text.split("", ","))
		assert.same({ "a", "b,c" }, text.split("a,b,c", ",", 2))
		assert.is_false(pcall(text.split, "a", ""))
	end)

	it("trims, and takes lines of either ending", function()
		assert.equal("a b", text.trim "\t a b \n")
		assert.same({ "a", "", "b" }, text.lines "a\r\n\nb\n")
		assert.same({}, text.lines "")
		assert.same({ "" }, text.lines "\n")
	end)

	it("wraps and measures by columns, not bytes", function()
		assert.equal("ein\nlanger\nText", text.wrap("ein langer Text", 6))
		assert.equal("  中文\n  字", text.wrap("中文 字", 7, 2))
		assert.equal(4, text.width "中文")
	end)

	it("dedents by what all lines share, and indents", function()
		assert.equal("a\n  b\n\nc\n", text.dedent "\n\t\ta\n\t\t  b\n\n\t\tc\n")
		assert.equal("a\n b", text.dedent "a\n b")
		assert.equal("  a\n\n  b", text.indent("a\n\nb", 2))
		assert.equal("> a", text.indent("a", "> "))
	end)

	it("fills templates, and refuses what has no value", function()
		assert.equal("Hello Ada, 3 of 1 $ ${x}", text.template("Hello ${name}, ${ n } of ${a.b.1} $$ $${x}",
			{ name = "Ada", n = 3, a = { b = { 1 } } }))
		assert.equal("100% $x", text.template("100% $x", {}))
		assert.equal("%1 ${a}", text.template("${v}", { v = "%1 ${a}" }))
		assert.equal("false", text.template("${f}", { f = false }))
		assert.truthy(refused(text.template, "${nope}", {}):find("${nope}", 1, true))
		assert.truthy(refused(text.template, "${a.b}", { a = 1 }):find("${a.b}", 1, true))
		assert.truthy(refused(text.template, "a ${b", { b = 1 }):find("without a }", 1, true))
		assert.truthy(refused(text.template, "${t}", { t = {} }):find("not a table", 1, true))
	end)
end)

describe("runner.time", function()
	it("reads ISO 8601, as UTC without an offset", function()
		for written, wanted in pairs { ["1970-01-01"] = 0, ["2026-11-21T12:56:34Z"] = 1795265794, ["2026-11-21 12:56"] = 1795265760,
			["2026-11-21T14:56:34+02:00"] = 1795265794, ["2026-11-21t12:56:34.25z"] = 1795265794.25,
			["2000-02-29"] = 951782400,
			["1969-12-31T23:59:59Z"] = -1, ["2026-11-21T12:56:34,5-0000"] = 1795265794.5, ["0001-01-01"] = -62135596800 } do
			assert.equal(wanted, time.parse(written), written)
		end
	end)

	it("refuses what is no time", function()
		for _, written in ipairs { "", "today", "2026-13-01", "2026-02-29", "1900-02-29", "2026-1-1", "2026-01-01T24:00", "2026-01-01T",
			"2026-01-01T10:60", "2026-01-01T10:00+24:00", "2026-01-01T10", "2026-01-01T10:00:00Zx", "2026-01-01\0", "99999-01-01",
			"2026-01-01T10:00.5" } do
			refused(time.parse, written)
		end
	end)

	it("writes what it reads, whatever the day", function()
		for at = -2208988800, 4102444800, 86400 * 97 + 3607 do
			assert.equal(at, time.parse(time.format(at)))
		end
		assert.equal("1970-01-01T00:00:01.500Z", time.format(1.5))
		assert.equal("1970", time.format(0, "%Y"))
		assert.is_false(pcall(time.format, math.huge))
		assert.is_false(pcall(time.format, "0"))
		assert.truthy(time.now() > 1700000000)
	end)

	it("reads durations of both kinds", function()
		for written, wanted in pairs { ["500ms"] = 0.5, ["2s"] = 2, ["1h"] = 3600, PT1H30M = 5400, P1DT2S = 86402, P2D = 172800,
			["PT0.5S"] = 0.5 } do
			assert.equal(wanted, time.duration(written), written)
		end
		for _, written in ipairs { "", "none", "P", "PT", "P1DT", "1 fortnight", "PT1M1H", "P1H", "-2s" } do
			local ok, raised = pcall(time.duration, written)
			assert.is_false(ok)
			assert.equal("INVALID_ARGUMENT", raised.code)
		end
		assert.equal("1.5s", time.duration_text(1.5))
	end)
end)

describe("runner.codec", function()
	local all = {}
	for i = 0, 255 do all[i + 1] = string.char(i) end
	all = table.concat(all)

	it("takes every byte there and back", function()
		for n = 0, 256 do
			local bytes = all:sub(1, n)
			assert.equal(bytes, codec.base64_decode(codec.base64_encode(bytes)))
			assert.equal(bytes, codec.base64_decode(codec.base64url_encode(bytes)))
			assert.equal(bytes, codec.hex_decode(codec.hex_encode(bytes)))
			assert.equal(bytes, codec.url_decode(codec.url_encode(bytes)))
		end
		assert.equal("Zm8=", codec.base64_encode "fo")
		assert.equal("fo", codec.base64_decode "Zm\n8")
		assert.equal("a%20b%2F~", codec.url_encode "a b/~")
	end)

	it("refuses what isn't it", function()
		refused(codec.base64_decode, "a")
		refused(codec.base64_decode, "ab?d")
		refused(codec.hex_decode, "abc")
		refused(codec.hex_decode, "zz")
		refused(codec.url_decode, "100%")
		refused(codec.url_decode, "%g0")
	end)

	it("reads CSV: quotes, line breaks in cells, either line ending, empty cells", function()
		assert.same({ { "a", "b" }, { "1", 'x "y"\r\nz' } }, codec.csv_decode 'a,b\r\n1,"x ""y""\r\nz"\r\n')
		assert.same({ { "a", "" }, { "", "" } }, codec.csv_decode "a,\n,")
		assert.same({ { "", "" } }, codec.csv_decode '"",""\n')
		assert.same({}, codec.csv_decode "")
		assert.same({ { "a;b", "c" } }, codec.csv_decode("a;b\tc", { separator = "\t" }))
		assert.same({ { a = "1", b = "2" } }, codec.csv_decode("a,b\n1,2", { header = true }))
		assert.same({ { "a", "b" } }, codec.csv_decode "\u{FEFF}a,b")
		assert.same({ { "a", "b\r" } }, codec.csv_decode 'a,"b\r"\r\n')
	end)

	it("refuses CSV that it would have to guess", function()
		assert.truthy(refused(codec.csv_decode, 'a,b\n1,"2'):find("line 2", 1, true))
		refused(codec.csv_decode, 'a"b')
		refused(codec.csv_decode, '"a"b')
		assert.truthy(refused(codec.csv_decode, "a,b\n1\n"):find("1 cells, not 2", 1, true))
		refused(codec.csv_decode, "a,a\n1,2", { header = true })
		assert.is_false(pcall(codec.csv_decode, "a", { separator = "--" }))
	end)

	it("writes CSV that reads back the same", function()
		local records = { { "a", "b,c", 'd "e"', " f", "g\nh", "\r" }, { "", "1", "x", "y", "z", "é" } }
		assert.same(records, codec.csv_decode(codec.csv_encode(records)))
		assert.equal("n,v\nx,1\ny,\n", codec.csv_encode({ { n = "x", v = 1 }, { n = "y" } }, { columns = { "n", "v" } }))
		assert.is_false(pcall(codec.csv_encode, { { {} } }))
	end)

	it("reads dotenv as workflows do", function()
		assert.same({ A = "1", B = "x\ny" }, codec.dotenv_decode 'export A=1\nB="x\\ny"\n')
		assert.truthy(refused(codec.dotenv_decode, "oops", "x.env"):find("x.env:1", 1, true))
	end)
end)
