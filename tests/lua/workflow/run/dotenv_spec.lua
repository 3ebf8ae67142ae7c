-- Files of NAME=value lines, as `env_files` names them.

local dotenv = require "runner.core.dotenv"

-- text → name → value
local READS = {
	{ "A=1", { A = "1" } },
	{ "A=1\nB=2\n", { A = "1", B = "2" } },
	{ "\u{FEFF}A=1\r\nB=2\r\n", { A = "1", B = "2" } },
	{ "  export  A = 1  ", { A = "1" } },
	{ "export=1", { export = "1" } },
	{ "A=", { A = "" } },
	{ "A=\nB=2", { A = "", B = "2" } },
	{ "# c\n\n  # c\nA=1 # c", { A = "1" } },
	{ "A=#1", { A = "#1" } },
	{ "A= # c", { A = "" } },
	{ "A=a#b", { A = "a#b" } },
	{ "A=two words", { A = "two words" } },
	{ "A='it # $HOME \\n'", { A = "it # $HOME \\n" } },
	{ 'A="a\\nb\\t\\"c\\"\\\\\\$x"', { A = 'a\nb\t"c"\\$x' } },
	{ 'A="\\x"', { A = "\\x" } },
	{ 'A="line 1\nline 2"\nB=2', { A = "line 1\nline 2", B = "2" } },
	{ "A='line 1\nline 2' # c\nB=2", { A = "line 1\nline 2", B = "2" } },
	{ "A=$(touch x)`id`${B}", { A = "$(touch x)`id`${B}" } },
	{ 'A="$(touch x)"', { A = "$(touch x)" } },
	{ "A=a=b", { A = "a=b" } },
	{ "A=1\nA=2", { A = "2" } },
	{ "A=it's", { A = "it's" } },
	{ "", {} },
}

local function refusal(text)
	local ok, e = pcall(dotenv.parse, text, "prod.env")
	assert.is_false(ok)
	assert.are.equal("PRECONDITION", e.code)
	return e
end

describe("dotenv.parse", function()
	it("reads what people write in such files", function()
		for _, row in ipairs(READS) do
			assert.are.same(row[2], dotenv.parse(row[1], "x"), row[1])
		end
	end)

	it("names the file and the line of a mistake, and how to mend it", function()
		assert.are.equal("prod.env:2: this line is not NAME=value", refusal("A=1\nno value\n").message)
		assert.are.equal("prod.env:1: this line is not NAME=value", refusal("1A=2").message)
		assert.are.equal("prod.env:1: this line is not NAME=value", refusal("A: 2").message)
		assert.are.equal("prod.env:3: missing closing double quote", refusal('A=1\n\nB="x\ny').message)
		assert.are.equal("prod.env:1: missing closing single quote", refusal("B='x").message)
		assert.are.equal("prod.env:2: unexpected text after the closing quote", refusal("A=1\nB='x'y").message)
		assert.are.equal("prod.env:2: unexpected text after the closing quote", refusal("B='x\ny' z").message)
		assert.matches("^prod.env:1: unexpected NUL byte", refusal("A=\0").message)
		assert.matches("#", refusal("what").suggestion)
	end)

	it("never repeats the text of a line, which may be a secret", function()
		for _, text in ipairs { "hunter2", "A='hunter2", 'A="x" hunter2' } do
			local e = refusal(text)
			assert.is_nil(e.message:find("hunter2", 1, true))
			assert.is_nil((e.suggestion or ""):find("hunter2", 1, true))
		end
	end)
end)
