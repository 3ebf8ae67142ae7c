-- Conditions of `when:`: what they mean, and that nonsense is refused before a run.

local condition = require "runner.workflow.expr.condition"
local json = require "runner.json"

local SCOPE = {
	vars = { release = "1.4.0", n = 3, text = "7", yes = true, no = "false", empty = "", zero = "0", prod = "prod",
		list = json.array { 1 }, none = json.array {}, null_ = json.null },
	steps = { test = { output = "ok", status = 0, ok = true, data = { count = 12 } } },
	shell = { output = "10", status = 1 }, item = "b", item_index = 1,
	env = function(name) return name == "CI" and "1" or nil end,
}

local function eval(text)
	return condition.eval(assert(condition.parse(text)), SCOPE)
end

local TRUE = {
	"true", "!false", "not false", "1", "'x'", "yes", "prod", "list", "!none", "!no", "!empty", "!zero", "!null", "not null_",
	"release == '1.4.0'", 'release == "1.4.0"', "${release} == '1.4.0'", "release != 'x'", "n == 3", "n == 3.0", "n == '3'",
	"text == 7", "text > 6", "shell.output > 9", "'10' > '9'", "'b' > 'a'", "'10a' < '9'", "n >= 3 && n <= 3", "n < 4 and n > 2",
	"no == false", "yes == true", "yes == 'true'", "null == null", "null_ == null", "empty != null", "'' == ''",
	"steps.test.ok", "steps.test.status == 0", "steps.test.data.count == 12", "${steps.test.output} == 'ok'",
	"steps.test.data.missing == null", "steps.other.output == null", "!steps.other.ok", "claude.output == null",
	"env.CI == 1", "env.NOT_SET == null", "!env.NOT_SET", "item == 'b' and item_index == 1",
	"false or true", "true || false && false", "(true or false) and true", "not (true and false)", "!(false)", "!!true",
	"not not true", "not n == 4", "!no == true", "'${release}-rc' == '1.4.0-rc'", "\"${item}\" == 'b'", "'$${x}' == '$' or true",
	[['it\'s' == "it's"]], [["a\nb" == "a\nb"]], "'a' == 'a'", "-1 < 0", "+1 == 1", ".5 == 0.5", "1e3 == 1000", "1.50 == 1.5",
	"n==3", "  n\n== 3 ", "yes&&prod", "9007199254740993 > 9007199254740992",
}

local FALSE = {
	"false", "0", "''", "null", "no", "empty", "zero", "none", "!yes", "not yes", "n == 4", "n != 3", "n < 3", "n > 3",
	"release == '1.4'", "null == ''", "null == false", "null_ == 0", "yes and no", "no or empty", "'B' == 'b'", "true == 1",
	"steps.other.ok", "env.NOT_SET", "false and nothing_here", "!true == true",
}

-- text → offset of the mistake, and what the message has
local WRONG = {
	{ "", 1, "missing" }, { "   ", 4, "missing" }, { "a =", 3, "==" }, { "a = b", 3, "==" }, { "a & b", 3, "&&" },
	{ "a | b", 3, "||" }, { "(a", 1, "unclosed" }, { "a)", 2, "operator" }, { "a b", 3, "operator" }, { "a ==", 5, "missing" },
	{ "== a", 1, "missing value before '=='" }, { "a == b == c", 8, "chain" }, { "1 < 2 < 3", 7, "chain" }, { "'abc", 1, "never closed" },
	{ "a == 1.2.3", 6, "quote" }, { "a == 1x", 6, "quote" }, { "${a b}", 1, "${name}" }, { "${a", 1, "${name}" }, { "$a", 1, "${name}" },
	{ "a..b == 1", 1, "quote" }, { "a == #", 6, "quote" }, { "and", 1, "missing" }, { "a and", 6, "missing" },
	{ "not", 4, "missing" }, { "'${' == 1", 1, "unclosed" }, { "a == \u{e9}", 6, "\u{e9}" }, { "a, b", 2, "," },
	{ ("("):rep(101) .. "a" .. (")"):rep(101), 101, "nested" }, { ("!"):rep(101) .. "a", 101, "nested" },
}

describe("a condition", function()
	it("holds", function()
		for _, text in ipairs(TRUE) do
			assert.is_true(eval(text), text)
		end
	end)

	it("does not hold", function()
		for _, text in ipairs(FALSE) do
			assert.is_false(eval(text), text)
		end
	end)

	it("is refused with the place of the mistake", function()
		for _, row in ipairs(WRONG) do
			local ast, message, offset = condition.parse(row[1])
			assert.is_nil(ast, row[1])
			assert.is_truthy(message:find(row[3], 1, row[3]:sub(1, 1) == "$"), row[1] .. ": " .. message)
			assert.are.equal(row[2], offset, row[1])
		end
	end)

	it("names the variables it uses", function()
		local names = {}
		for _, found in ipairs(condition.names(assert(condition.parse "a == 'x${b.c}' and not (${d} < e)"))) do
			names[#names + 1] = found.name .. "@" .. found.offset
		end
		assert.are.same({ "a@1", "b.c@6", "d@25", "e@32" }, names)
	end)

	it("with an unknown variable raises, and says how a text is written", function()
		for _, text in ipairs { "relase == 1", "${relase} == 1", "release == stable" } do
			local ok, e = pcall(eval, text)
			assert.is_false(ok)
			assert.are.equal("PRECONDITION", e.code)
		end
		local _, e = pcall(eval, "release == stable")
		assert.matches("Quote", e.suggestion)
		_, e = pcall(eval, "${relase} == 1")
		assert.matches("'release'", e.suggestion)
	end)

	it("with things that have no order raises", function()
		for _, text in ipairs { "list < 1", "null < 1", "'a' < 1", "true > false" } do
			local ok, e = pcall(eval, text)
			assert.is_false(ok)
			assert.are.equal("PRECONDITION", e.code)
			assert.matches("no order", e.message)
		end
	end)

	it("takes what an item lacks as null, which has no order, where items are chosen", function()
		local scope = setmetatable({ item = { n = 3, deep = {} }, choosing = true }, { __index = SCOPE })
		local function chosen(text)
			return condition.eval(assert(condition.parse(text)), scope)
		end
		for _, text in ipairs { "item.n >= 3", "item.x >= 3 or item.n == 3", "item.x == null", "item.deep.x.y == null", "!item.x",
			"not item.x < 3" } do
			assert.is_true(chosen(text), text)
		end
		for _, text in ipairs { "item.x >= 3", "item.x < 3", "3 > item.deep.x", "item.x", "item.x and item.n == 3" } do
			assert.is_false(chosen(text), text)
		end
		assert.is_false(pcall(chosen, "other > 3"))
		assert.is_false(pcall(eval, "item.x > 3"))
	end)

	it("never runs anything and always comes to an end", function()
		math.randomseed(3)
		local words = { "a", "(", ")", "==", "!", "&&", "or", "not", "'x'", "${n}", "1", "<", "$", "'", "\\", "\0", "\xff", "=", " ", "null" }
		for _ = 1, 3000 do
			local out = {}
			for i = 1, math.random(0, 12) do
				out[i] = words[math.random(#words)]
			end
			local text = table.concat(out, math.random(2) == 1 and " " or "")
			local ast, message, offset = condition.parse(text)
			assert.is_true(ast ~= nil or type(message) == "string" and offset >= 1 and offset <= #text + 1, text)
			local ok, e = pcall(condition.eval, ast or { kind = "value", value = 1 }, SCOPE)
			assert.is_true(ok or e.code == "PRECONDITION", text)
		end
	end)
end)
