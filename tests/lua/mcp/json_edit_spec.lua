-- One member of a JSON file is set, and every other byte stays.

local json = require "runner.json"
local json_edit = require "runner.mcp.json_edit"

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
