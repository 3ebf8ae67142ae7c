-- json_schema: every keyword, with a value that keeps it and one that breaks it.

local json = require "runner.json"
local json_schema = require "runner.core.json_schema"

local function problems(schema, value, others)
	local texts = {}
	local decoded, syntax = json.decode(schema)
	assert.is_nil(syntax)
	for i, problem in ipairs(json_schema.problems(decoded, json.decode(value), others)) do
		texts[i] = json_schema.text(problem)
	end
	return texts
end

-- schema, valid values, invalid values
local ROWS = {
	{ '{"type":"integer"}', { "1", "1.0", "-3" }, { "1.5", '"1"', "null", "true", "[]" } },
	{ '{"type":"number"}', { "1", "1.5" }, { '"1"' } },
	{ '{"type":["string","null"]}', { '"x"', "null" }, { "1", "{}" } },
	{ '{"type":"array"}', { "[]", "[1]" }, { "{}" } },
	{ '{"type":"object"}', { "{}" }, { "[]" } },
	{ '{"enum":[1,"a",[1],{"b":null}]}', { "1", '"a"', "[1]", '{"b":null}' }, { "2", "[]", '{"b":1}', '{"b":null,"c":1}' } },
	{ '{"const":{"a":[1,2]}}', { '{"a":[1,2]}' }, { '{"a":[2,1]}', '{"a":[1,2,3]}' } },
	{ '{"required":["a"]}', { '{"a":null}', "[]" }, { "{}", '{"b":1}' } },
	{ '{"properties":{"a":{"type":"string"}}}', { "{}", '{"a":"x"}', '{"b":1}' }, { '{"a":1}' } },
	{ '{"properties":{"a":true},"additionalProperties":false}', { "{}", '{"a":1}' }, { '{"b":1}' } },
	{ '{"additionalProperties":{"type":"integer"}}', { '{"x":1}' }, { '{"x":"1"}' } },
	{ '{"patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}', { '{"x-a":1}' }, { '{"x-a":"1"}', '{"ax-":1}' } },
	{ '{"propertyNames":{"pattern":"^[a-z]+$"}}', { '{"abc":1}' }, { '{"aBc":1}' } },
	{ '{"minProperties":1,"maxProperties":2}', { '{"a":1}', '{"a":1,"b":1}' }, { "{}", '{"a":1,"b":1,"c":1}' } },
	{ '{"dependencies":{"a":["b"],"c":{"required":["d"]}}}', { '{"b":1}', '{"a":1,"b":1}' }, { '{"a":1}', '{"c":1}' } },
	{ '{"items":{"type":"integer"}}', { "[]", "[1,2]" }, { '[1,"2"]' } },
	{ '{"items":[{"type":"integer"},{"type":"string"}]}', { '[1,"2",null]', "[1]" }, { '["1"]' } },
	{ '{"items":false}', { "[]" }, { "[1]" } },
	{ '{"contains":{"const":3}}', { "[1,3]" }, { "[]", "[1]" } },
	{ '{"minItems":1,"maxItems":2}', { "[1]", "[1,2]" }, { "[]", "[1,2,3]" } },
	{ '{"uniqueItems":true}', { '[1,"1",[1]]' }, { "[1,1]", '[{"a":1},{"a":1}]' } },
	{ '{"minLength":2,"maxLength":3}', { '"äöü"', '"ab"' }, { '"a"', '"abcd"' } },
	{ '{"pattern":"b+"}', { '"abc"', '"a\\nb"' }, { '"ac"' } },
	{ '{"pattern":"^a$|^b$"}', { '"a"', '"b"' }, { '"ab"', '"xa"' } },
	{ '{"format":"date-time"}', { '"2026-11-22T13:45:00Z"', '"2026-11-22T13:45:00.123+02:00"', "1" },
		{ '"2026-11-22"', '"2026-13-22T13:45:00Z"', '"2026-11-22T25:45:00Z"', '"2026-11-22T13:45:00"' } },
	{ '{"minimum":1,"maximum":3}', { "1", "3" }, { "0", "4" } },
	{ '{"exclusiveMinimum":1,"exclusiveMaximum":3}', { "2" }, { "1", "3" } },
	{ '{"multipleOf":0.5}', { "1", "1.5" }, { "1.2" } },
	{ '{"allOf":[{"minimum":1},{"maximum":3}]}', { "2" }, { "0", "4" } },
	{ '{"anyOf":[{"type":"string"},{"minimum":3}]}', { '"x"', "3" }, { "1" } },
	{ '{"oneOf":[{"minimum":1},{"maximum":3}]}', { "0", "4" }, { "2" } },
	{ '{"not":{"type":"string"}}', { "1" }, { '"x"' } },
	{ '{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}', { '{"a":1,"b":1}', '{"c":1}' },
		{ '{"a":1}', "{}" } },
	{ '{"definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}', { '{"a":1}' }, { '{"a":"1"}' } },
	{ '{"definitions":{"a/b":{"type":"integer"}},"$ref":"#/definitions/a~1b"}', { "1" }, { '"1"' } },
	{ "true", { "1", "null" }, {} },
	{ "false", {}, { "1", "null" } },
}

describe("json_schema", function()
	it("takes what keeps a schema and refuses what breaks it", function()
		for _, row in ipairs(ROWS) do
			for _, value in ipairs(row[2]) do
				assert.same({}, problems(row[1], value), row[1] .. " " .. value)
			end
			for _, value in ipairs(row[3]) do
				assert.is_truthy(problems(row[1], value)[1], row[1] .. " " .. value)
			end
		end
	end)

	it("names the place and what is wrong there", function()
		assert.same({ 'a/1/b: must be string, is integer' },
			problems('{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}', '{"a":[{},{"b":1}]}'))
		assert.same({ '<root>: "b" is missing' }, problems('{"required":["b"]}', "{}"))
		assert.same({ 'meta: "x" is not allowed' },
			problems('{"properties":{"meta":{"additionalProperties":false}}}', '{"meta":{"x":1}}'))
	end)

	it("reports the alternative that came closest", function()
		assert.same({ 'a: must be integer, is string' },
			problems('{"oneOf":[{"type":"null"},{"properties":{"a":{"type":"integer"}}}]}', '{"a":"1"}'))
	end)

	it("follows references to other schemas, and those within them", function()
		local function others(file)
			return file == "entry.json" and json.decode '{"$ref":"#/definitions/n","definitions":{"n":{"type":"integer"}}}' or nil
		end
		assert.same({}, problems('{"items":{"$ref":"entry.json"}}', "[1]", others))
		assert.same({ "0: must be integer, is string" }, problems('{"items":{"$ref":"entry.json"}}', '["1"]', others))
		assert.same({ "<root>: the schema refers to nowhere.json, which doesn't exist" },
			problems('{"$ref":"nowhere.json"}', "1", others))
	end)

	it("ends on a schema that refers to itself", function()
		assert.same({ "<root>: is nested too deeply to be checked" }, problems('{"$ref":"#"}', "1"))
		local tree = '{"properties":{"child":{"$ref":"#"}},"required":["name"]}'
		assert.same({ 'child/child: "name" is missing' }, problems(tree, '{"name":1,"child":{"name":1,"child":{}}}'))
	end)
end)
