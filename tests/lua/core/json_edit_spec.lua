-- One member of a JSON file is set, and every other byte stays.

local json = require "runner.json"
local json_edit = require "runner.core.json_edit"

local PATH = { "mcpServers", "mine" }

local function same_but(before, after)
	local value = json.decode(before)
	value.mcpServers = value.mcpServers or {}
	value.mcpServers.mine = { command = "x" }
	assert.same(value, json.decode(after))
end

describe("json_edit.set", function()
	it("sets the member and keeps all others", function()
		for _, text in ipairs { "{}", "{ }", "{\n}\n", '{"a":1}', '{"a":[1,{"b":"}"}],"c":"\\"{"}', '{"mcpServers":{}}',
			'{"mcpServers":{"other":{"command":"y","args":["{"]}}}',
			'{"mcpServers":{"mine":{"command":"old"},"z":1}}', '{"mcpServers" : {"mine":null} , "z" : -1.5e3}',
			'{"x":{"mcpServers":{"mine":1}},"n":true}',
			'{\n\t"mcpServers": {\n\t\t"other": {\n\t\t\t"command": "y"\n\t\t}\n\t},\n\t"theme": "dark"\n}\n',
			'{"mine":1,"\\u006dcpServers":{"mine":2}}',
			'  {"\\"mcpServers\\"":{},"a":"\\\\"}\n\n' } do
			local after = assert(json_edit.set(text, PATH, '{"command":"x"}'))
			same_but(text, after)
			assert.equal(after, json_edit.set(after, PATH, '{"command":"x"}'), "a second time changes nothing")
		end
	end)

	it("makes a new file", function()
		assert.equal('{\n  "mcpServers": {\n    "mine": {\n      "command": "x"\n    }\n  }\n}\n',
			json_edit.set("", PATH, '{\n  "command": "x"\n}'))
	end)

	it("keeps the indentation of the file", function()
		local text = '{\n\t"mcpServers": {\n\t\t"other": 1\n\t}\n}\n'
		assert.equal('{\n\t"mcpServers": {\n\t\t"other": 1,\n\t\t"mine": 2\n\t}\n}\n', json_edit.set(text, PATH, "2"))
	end)

	it("refuses what is no JSON object", function()
		for _, text in ipairs { "[]", "1", "{", "// comment\n{}", '{"a":1,}', '{"mcpServers":[]}', '{"mcpServers":1}', '{"mcpServers":null}',
			'{"mcpServers":{},"mcpServers":{}}', "null" } do
			local after, why = json_edit.set(text, PATH, "1")
			assert.is_nil(after, text)
			assert.equal("string", type(why))
		end
	end)
end)

describe("json_edit with comments", function()
	local WITH = { comments = true }

	it("sets a member where people wrote comments and commas behind the last one, and keeps them", function()
		for before, after in pairs {
			['{ // one\n  "a": 1 // note\n}\n'] = '{ // one\n  "a": 1, // note\n  "new": 2\n}\n',
			['{\n  "a": 1, // note\n}\n'] = '{\n  "a": 1, // note\n  "new": 2\n}\n',
			['{\n  "a": 1 /* x */, // note\n}\n'] = '{\n  "a": 1 /* x */, // note\n  "new": 2\n}\n',
			['{\n  "a": 1 /* x */ /* y\n z */\n}\n'] = '{\n  "a": 1,\n  "new": 2 /* x */ /* y\n z */\n}\n',
			['{\n  // nothing\n}'] = '{\n  // nothing\n  "new": 2\n}',
			['{"a": "// no, }" }'] = '{"a": "// no, }",\n  "new": 2 }',
			['{\n\t"a": [1, 2,]\n\t// last\n}'] = '{\n\t"a": [1, 2,],\n\t"new": 2\n\t// last\n}',
			['/* "new": 1 */ {\n"new": 1,}'] = '/* "new": 1 */ {\n"new": 2,}',
		} do
			assert.equal(after, json_edit.set(before, { "new" }, "2", WITH))
			assert.equal(2, json_edit.value(after, WITH).new)
			assert.equal(after, json_edit.set(after, { "new" }, "2", WITH))
		end
	end)

	it("adds an item to a list, on its line or on lines of their own", function()
		for before, after in pairs {
			['{"l": []}'] = '{"l": ["x"]}', ['{"l": [1, "]"]}'] = '{"l": [1, "]", "x"]}', ['{"l": [[1],]}'] = '{"l": [[1], "x",]}',
			['{\n  "l": [\n    1, // one\n    2 // two\n  ]\n}'] = '{\n  "l": [\n    1, // one\n    2, // two\n    "x"\n  ]\n}',
			['{\n  "l": [\n    // none\n  ]\n}'] = '{\n  "l": [\n    // none\n    "x"\n  ]\n}',
		} do
			assert.equal(after, json_edit.append(before, { "l" }, '"x"', WITH))
			local list = json_edit.value(after, WITH).l
			assert.equal("x", list[#list])
		end
	end)

	it("says why it can't add an item", function()
		for _, text in ipairs { "{}", '{"l": {}}', '{"l": 1}', "[]", "{" } do
			local after, why = json_edit.append(text, { "l" }, "1", WITH)
			assert.is_nil(after, text)
			assert.equal("string", type(why))
		end
	end)

	it("refuses what is no JSON object even so", function()
		for _, text in ipairs { "/* {} ", "// {}", "{ 'a': 1 }", '{"a": 1,,}', '{,}', '{"a', '{"a": 1 // }' } do
			local after, why = json_edit.set(text, { "a" }, "1", WITH)
			assert.is_nil(after, text)
			assert.equal("string", type(why))
		end
	end)
end)
