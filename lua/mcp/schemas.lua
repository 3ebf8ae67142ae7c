-- schemas: the JSON Schemas of a tool: of its arguments, and of the answer in structuredContent.
-- What a declaration holds is JSON Schema of draft 07 (payload_schema, output_schema); MCP reads
-- a schema without "$schema" as 2020-12. Both mean the same by every keyword that is written
-- here, so "$schema" is named only where a declaration uses what the later draft has changed.

local payload_schema = require "runner.tools.payload_schema"

local M = {}

local DRAFT_07 = "http://json-schema.org/draft-07/schema#"

-- Keywords of runner's own; other readers of schemas may refuse what they don't know.
local OWN = { high_entropy = true, ordered = true }

-- A copy that stands at `place` of a larger document: its local references begin there.
local function embed(schema, place, found)
	if type(schema) ~= "table" then
		return schema
	end
	local copy = setmetatable({}, getmetatable(schema)) -- an array keeps its mark
	for key, v in next, schema do
		if key == "$ref" and type(v) == "string" and v:sub(1, 1) == "#" then
			copy[key] = place .. v:sub(2)
		elseif key ~= "$schema" and key ~= "$id" and not OWN[key] then
			copy[key] = embed(v, place, found)
		end
	end
	if type(copy.items) == "table" and copy.items[1] ~= nil or copy.dependencies then
		found.draft_07 = true
	end
	return copy
end

-- "#/properties/a~1b": a JSON Pointer has ~ and / escaped.
local function pointer(name)
	return "#/properties/" .. name:gsub("~", "~0"):gsub("/", "~1")
end

-- What runner itself adds to the arguments of a tool, where the command has none of that name.
local ADDED = {
	dry_run = { when = function(command) return command.danger_level ~= "safe" end,
		schema = { type = "boolean", description = "Change nothing; say what would be done" } },
	limit = { when = function(command) return command.list end,
		schema = { type = "integer", minimum = 0, maximum = 1000000000, description = "At most this many items; 0: all" } },
	cursor = { when = function(command) return command.list end,
		schema = { type = "string", description = "Continue from meta.pagination.next_cursor of an earlier answer" } },
}

---The schema of a tool's arguments, and those of them that runner added.
---@param command table normal form
---@param config table of the project
---@return table schema
---@return table<string, true> added
function M.input(command, config)
	local schema, found, added = payload_schema.of(command, config), {}, {}
	for name, property in next, schema.properties do
		schema.properties[name] = embed(property, pointer(name), found)
	end
	for name, one in next, ADDED do
		if one.when(command) and schema.properties[name] == nil then
			schema.properties[name], added[name] = one.schema, true
		end
	end
	schema["$schema"] = found.draft_07 and DRAFT_07 or nil
	return schema, added
end

-- The result of a command, where it is one: no failure, no dry run, none that a warning says
-- breaks its schema (lua/output/checked.lua).
local RESULT = {
	properties = {
		ok = { const = true }, meta = { ["not"] = { required = { "dry_run" } } },
		warnings = { ["not"] = { contains = { properties = { code = { const = "OUTPUT_SCHEMA_MISMATCH" } }, required = { "code" } } } },
	},
}

---The schema of structuredContent, for a command that declares what it returns.
---@param command table normal form
---@return table?
function M.output(command)
	if not command.output_schema then
		return nil
	end
	local found = {}
	local data = embed(command.output_schema, "#/then/properties/data", found)
	return {
		["$schema"] = found.draft_07 and DRAFT_07 or nil, type = "object",
		properties = { ok = { type = "boolean" }, data = {}, error = { type = { "object", "null" } },
			warnings = { type = "array" }, meta = { type = "object" } },
		required = { "ok", "data", "error", "warnings", "meta" },
		["if"] = RESULT, ["then"] = { properties = { data = data } },
	}
end

return M
