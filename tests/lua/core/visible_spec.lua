-- Characters that hide something, and the arguments that a person is shown.

local json = require "runner.json"
local visible = require "runner.core.visible"

describe("a text that a person or a model reads", function()
	it("has no character that hides or turns others around", function()
		for _, range in ipairs { { 0x80, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E },
			{ 0x2060, 0x206F }, { 0x3164, 0x3164 }, { 0xFE00, 0xFE0F }, { 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 }, { 0xFFF9, 0xFFFB },
			{ 0xE0000, 0xE007F }, { 0xE0100, 0xE01EF } } do
			for code = range[1], range[2] do
				local text = "a" .. utf8.char(code) .. "é"
				local wanted = ("a[U+%04X]é"):format(code)
				assert.equal(wanted, visible.text(text))
				assert.same({ [wanted] = { wanted } }, visible.value { [text] = { text } })
				assert.same({ id = text, result = { text = wanted } }, json.decode(visible.encode { id = text, result = { text = text } }))
			end
		end
	end)

	it("keeps every other character, and an emoji of several", function()
		for _, text in ipairs { "plain", "é – … „ü“ 日本語 ！ﾊﾟ", "👩\u{200D}🚀",
			"👩\u{1F3FD}\u{200D}💻", "❤\u{FE0F}\u{200D}🔥", "1\u{FE0F}\u{20E3}", "🇩🇪" } do
			assert.equal(text, visible.text(text))
		end
		assert.equal("a[U+200D]🚀", visible.text "a\u{200D}🚀")
		assert.equal("👩[U+200D]a", visible.text "👩\u{200D}a")
		assert.equal("👩[U+200B]🚀", visible.text "👩\u{200B}🚀")
		assert.equal("a\u{20}[U+FE0F]", visible.text "a \u{FE0F}")
		assert.equal("\xff", visible.text "\xff")
	end)
end)

describe("the arguments that a person is asked about", function()
	it("are each shown, cut by themselves, the largest last", function()
		local lines = visible.argument_lines { path = "/etc/shadow", note = ("a"):rep(5000), all = true,
			deep = { filler = ("b"):rep(9000), target = "prod" } }
		assert.equal(4, #lines)
		assert.equal('  all: true', lines[1])
		assert.equal('  path: "/etc/shadow"', lines[2])
		assert.matches("^  note: \"a+ … %(4%d%d%d more bytes are not shown%)$", lines[3])
		assert.matches('^  deep: .*filler.*8800 more bytes.*"target":"prod"', lines[4])
	end)

	it("are all there where there are many", function()
		local arguments = {}
		for i = 1, 300 do
			arguments[("x%03d"):format(i)] = ("y"):rep(1000)
		end
		arguments.path = "/etc"
		local lines = visible.argument_lines(arguments)
		assert.equal(301, #lines)
		assert.equal('  path: "/etc"', lines[1])
		assert.is_true(#table.concat(lines) < 50000)
	end)

	it("can't imitate a line or another argument", function()
		local lines = visible.argument_lines { ["a\n  path"] = "x\n  path: \"/tmp\"\u{202E}" }
		assert.same({ '  a   path: "x\\n  path: \\"/tmp\\"[U+202E]"' }, lines)
	end)
end)
