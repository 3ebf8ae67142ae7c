-- discovery: what a declaration says for agents that choose and call commands, and the flags
-- that ask for it.

local rules = require "runner.core.rules"

-- Programs by name; "*" is any version.
local function versions(v)
	local out = {}
	for name, least in next, type(v) == "table" and v or {} do
		local is_version = type(least) == "string" and (least == "*" or least:find "^%d[%w.+-]*$")
		if not is_version or type(name) ~= "string" or name == "" or name:find "^%-" then
			return nil
		end
		out[name] = least
	end
	return next(out) and out or nil
end

---@type runner.Subject
return {
	keys = {
		output_schema = { manifest = "entry", expected = "a JSON Schema (draft 07) as a table",
			accept = function(v)
				return type(v) == "table" and require("runner.declare.output_schema").copy(v) or nil
			end,
			check = function(n, fault)
				local problem = n.output_schema and require("runner.declare.output_schema").fault(n.output_schema)
				if problem then
					fault("is no JSON Schema: " .. problem, "Correct the schema")
				end
			end },
		mcp = { accept = rules.flag, expected = "true or false", manifest = "schema" },
		aliases = { manifest = "entry", expected = 'a list of other names such as { "d", "ship" }', accept = function(v)
			return rules.list(v, 1, 20, function(name)
				return type(name) == "string" and rules.is_command_word(name) and name or nil
			end)
		end },
		introduced_in = { accept = rules.text, expected = "a version", manifest = "schema" },
		deprecated_in = { accept = rules.text, expected = "a version", manifest = "schema" },
		replacement = { accept = rules.text, expected = "the command to use instead", manifest = "schema",
			check = function(n, fault)
				if not n.deprecated_in then
					fault("needs deprecated_in", "Add deprecated_in = \"VERSION\"")
				end
			end },
		removed_in = { accept = rules.text, expected = "a version", manifest = "schema",
			check = function(n, fault)
				if not n.deprecated_in then
					fault("needs deprecated_in", "Add deprecated_in = \"VERSION\"")
				end
			end },
		primary_id_field = { accept = rules.text, expected = 'the name of a field such as "id"', manifest = "schema" },
		platform = { accept = rules.list_of(rules.text, 1), expected = 'a list such as { "linux" }', manifest = "entry" },
		required_tools = { accept = versions, expected = 'programs and versions such as { git = "2.30", jq = "*" }',
			manifest = "entry" },
	},
	flags = {
		{ name = "schema", type = "boolean", yields = true, section = "Help",
			description = "Print the command's arguments, exit codes and result as JSON; run nothing" },
		{ name = "show_config", type = "boolean", yields = true, section = "Help",
			description = "Print the settings of this call and where each comes from; run nothing" },
		{ name = "output_schema", type = "boolean", yields = true, section = "Help",
			description = "Print the JSON Schema of the command's result; run nothing" },
	},
}
