-- Patterns and schemas as readers of other languages take them. tests/cli/tool_schemas.bats asks these readers.

local json = require "runner.json"
local portable_schema = require "runner.core.portable_schema"
local regex = require "runner.regex"
local regexes = require "runner.core.regexes"

local TRANSLATED = {
	{ [[^\d{3}\.\w+\s$]], [[^[0-9]{3}\.[A-Za-z0-9_]+[\t\n\x0b\f\r ]$]] },
	{ "^a|b$", "^(?:a|b)$" },
	{ "^[^/?#%.[:space:][:cntrl:]]$", [[^[^/?#%.\t\n\x0b\f\r \x00-\x1f\x7f]$]] },
	{ "^a.b$", [[^a[^\n]b$]] },
	{ "^[]a-]+$", [[^[\]a\-]+$]] },
	{ "^(?<year>[0-9]{4})$", "^(?:[0-9]{4})$" },
	{ [[^\x41\x{e9}\-\/$]], "^Aé-/$" },
	{ [[^x\$]], [[^x\$$]] },
	{ "^a{b}$", [[^a\{b\}$]] },
}
local LEFT_OUT = { "^(?=a)a$", "^(?!b)a$", "^(?<=a)b$", "^(?>a)$", "^(?i)a$", "^(a)\\1$", "^(?<n>a)\\k<n>$", "^\\p{L}$",
	"^a\\b$", "^\\h$", "^\\R$",
	"^a++$", "^a{1001}$", "^(?:a{100}){11}$", "^[[:^alpha:]]$",
	"^[\\S]$", "^(?#c)a$", "(*UTF)a", "^\\Qa\\E$", "^\\Aa\\z$", "^(?R)?$", "^\\cA$", "^a$b$", "^x|^+b$",
	"^(?:^*a)$", "^x|^?b$", "^x|^{2}b$" }

describe("a pattern for other readers", function()
	it("is spelled so that ECMAScript, Python and RE2 mean the same", function()
		for _, pair in ipairs(TRANSLATED) do
			assert.same({ pair[1], pair[2] }, { pair[1], regexes.whole(pair[1]) })
		end
	end)

	it("is none where one of them lacks what it has", function()
		for _, pattern in ipairs(LEFT_OUT) do
			local text, why = regexes.whole(pattern)
			assert.same({ pattern, nil, "string" }, { pattern, text, type(why) })
		end
		assert.is_nil(regexes.search "\xff")
	end)

	it("means to us what it was made of, and is made of itself", function()
		for _, pair in ipairs(TRANSLATED) do
			for _, value in ipairs { "", "a", "b", "ab", "123.ab ", "123.é ", "]", "-", "2026", "Aé-/", "x$",
				"a{b}", "a\nb", "axb", "\u{85}", " " } do
				assert.same({ pair[1], value, regex.match(pair[1], value) == true }, { pair[1], value, regex.match(pair[2], value) == true })
			end
			assert.equal(pair[2], (regexes.whole(pair[2])))
		end
	end)
end)

describe("a schema for other readers", function()
	it("keeps what a name or a value says, and drops keywords that are ours", function()
		local schema = { type = "object", ordered = true, ["$schema"] = "http://json-schema.org/draft-07/schema#", properties = {
			pattern = { type = "string", pattern = [[\d]] }, ["$id"] = { const = { ["$id"] = 1, pattern = "(?=x)" } },
			pair = { items = json.array { { type = "string" }, true } } } }
		local out, lost = portable_schema.of(schema)
		assert.is_nil(lost)
		assert.same({ type = "object", properties = { pattern = { type = "string", pattern = "[0-9]" },
			["$id"] = { const = { ["$id"] = 1, pattern = "(?=x)" } }, pair = { prefixItems = { { type = "string" }, true } } } }, out)
		assert.equal([[\d]], schema.properties.pattern.pattern)
	end)

	it("has its references where it stands, and nothing beside them", function()
		local schema = { properties = { a = { ["$ref"] = "#/definitions/x", minLength = 3, description = "d" } } }
		local out = portable_schema.of(schema, "#/properties/v")
		assert.same({ ["$ref"] = "#/properties/v/definitions/x", description = "d" }, out.properties.a)
	end)

	it("leaves out a pattern that can't be translated, and says so", function()
		local out, lost = portable_schema.of { type = "string", pattern = "(?=a)b", maxLength = 3 }
		assert.is_string(lost)
		assert.same({ "string", 3, nil }, { out.type, out.maxLength, out.pattern })
		assert.matches("left out", out["$comment"])
	end)

	it("takes no less than before without the pattern", function()
		local bad = { pattern = "(?=a)b" }
		for _, case in ipairs {
			{ { ["not"] = bad, type = "string" }, { type = "string" } },
			{ { ["if"] = bad, ["then"] = { minLength = 1 }, ["else"] = { minLength = 2 } }, {} },
			{ { oneOf = json.array { bad, { type = "number" } } }, {} },
			{ { patternProperties = { ["(?=a)b"] = true, ["^c"] = true }, additionalProperties = false },
				{ patternProperties = { ["^c"] = true } } },
			{ { ["not"] = { ["$ref"] = "#/definitions/b" }, definitions = { b = bad } }, { definitions = { b = {} } } },
		} do
			local out = portable_schema.of(case[1])
			local function bare(v)
				local copy = {}
				for key, value in next, v do
					copy[key] = key ~= "$comment" and (type(value) == "table" and bare(value) or value) or nil
				end
				return copy
			end
			assert.same(case[2], bare(out))
		end
	end)

	it("is what editors get: every pattern there is one that all readers know", function()
		local function walk(v, visit)
			for key, value in next, v do
				if key == "pattern" and type(value) == "string" then
					visit(value)
				elseif type(value) == "table" then
					walk(value, visit)
				end
			end
		end
		local count = 0
		for _, name in ipairs { "runner.tools.project_schema", "runner.workflow.file.schema" } do
			walk(require(name).schema(), function(pattern)
				count = count + 1
				assert.equal(pattern, (regexes.search(pattern)))
			end)
		end
		assert.is_true(count > 100)
	end)
end)
