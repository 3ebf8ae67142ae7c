-- project_schema: the JSON Schema (draft 07) of what runner.lua returns, but for its functions, which JSON
-- can't hold. It is made of the annotations (lua/types/runner.lua), as the reference is; what types
-- don't say is added here. tests/lua/tools/project_schema_spec.lua compares it with the checks.

local annotations = require "runner.tools.annotations"
local executors = require "runner.declare.executors"
local host = require "runner.host"
local json = require "runner.json"
local json_shapes = require "runner.declare.json_shapes"
local portable_schema = require "runner.core.portable_schema"
local tables = require "runner.core.tables"

local M = {}

local SIMPLE = { string = "string", number = "number", integer = "integer", boolean = "boolean" }

local function required(...)
	return { required = json.array { ... } }
end

-- --- what types don't say ------------------------------------------------------------------------

local CONFIRMS = "(--confirm-destructive|--live|--yes|-y)"

local function alias()
	return { anyOf = json.array { { type = "string", pattern = "\\S",
		["not"] = { pattern = ("^\\s*-|(^|\\s)%s(=|\\s|$)"):format(CONFIRMS) } },
		{ type = "array", minItems = 1, maxItems = 100,
			items = { type = "string", pattern = "\\S", ["not"] = { pattern = ("^%s(=|$)"):format(CONFIRMS) } } } } }
end

local VERSION = { type = "string", pattern = "^[0-9][A-Za-z0-9_.+-]*$", maxLength = 64 }

local HOST = "^(\\[[0-9A-Fa-fx:.]+\\]|[!\"$&'()+,0-9;<=>A-Z^_`a-z{|}~-][!\"$&'()+,.0-9;<=>A-Z^_`a-z{|}~-]*)(:0*[1-9][0-9]{0,4})?$"
local RATE = "^0*([1-9][0-9]{0,3}|10000)\\s*/\\s*(s|sec|second|m|min|minute|h|hour|d|day|0*[1-9][0-9]*(ms|s|m|h|d)?)$"

-- "Class.field" → its schema, instead of what its type says.
local FIELDS = {
	["Project.description"] = json_shapes.text,
	["Project.commands"] = function() return { type = "string", minLength = 1 } end,
	["Project.changelog"] = function() return { type = "string", minLength = 1 } end,
	["Project.scopes"] = function() return { type = "array", items = json_shapes.text() } end,
	["Project.aliases"] = function()
		return { type = "object", propertyNames = { pattern = "^[A-Za-z0-9][A-Za-z0-9_-]*$", maxLength = 64 }, additionalProperties = alias() }
	end,
	["Project.dotenv"] = function()
		return { anyOf = json.array { { const = true }, json_shapes.text(),
			{ type = "array", minItems = 1, maxItems = 20, items = json_shapes.text() } } }
	end,
	["Project.notify"] = function()
		return { anyOf = json.array { json_shapes.text(), { type = "array", minItems = 1, maxItems = 100, items = json_shapes.text() } } }
	end,
	["Project.contexts"] = function() return { type = "object", additionalProperties = { ["$ref"] = "#/definitions/Context" } } end,
	["Project.hosts"] = function()
		return { type = "object", minProperties = 1, propertyNames = { pattern = HOST, maxLength = 300 },
			additionalProperties = { ["$ref"] = "#/definitions/HostLimits" } }
	end,
	["HostLimits.rate"] = function() return { type = "string", pattern = RATE } end,
	["Breaker.failures"] = function() return { type = "integer", minimum = 1, maximum = 1000 } end,
	["Breaker.window"] = function() return json_shapes.duration(true) end,
	["Breaker.pause"] = function() return json_shapes.duration(true) end,
	["Project.executors"] = function()
		return { type = "object", propertyNames = { pattern = "^[A-Za-z][A-Za-z0-9_-]*$", ["not"] = { const = "none" } },
			additionalProperties = { ["$ref"] = "#/definitions/ExecutorSettings" } }
	end,
	["Project.dependencies"] = function()
		return { type = "array", minItems = 1, maxItems = 1000, items = { ["$ref"] = "#/definitions/Dependency" } }
	end,
	["Project.audit.path"] = json_shapes.text, ["TelemetrySettings.file"] = json_shapes.text,
	["TelemetrySettings.service_name"] = json_shapes.text,
	["Retention.older_than"] = function() return json_shapes.duration(true) end,
	["Retention.max_size"] = json_shapes.size,
	["Retention.keep"] = function() return { type = "integer", minimum = 0, maximum = 1000000000 } end,
	["Dependency.name"] = function() return { type = "string", pattern = "\\S", ["not"] = { pattern = "^-" } } end,
	["Dependency.check_command"] = json_shapes.text, ["Dependency.fix_command"] = json_shapes.text,
	["Dependency.min_version"] = function() return { anyOf = json.array { { const = "*" }, VERSION } } end,
	["Dependency.max_version"] = function() return VERSION end,
	["Retry.retries"] = function() return { type = "integer", minimum = 0, maximum = host.bound "retries" } end,
	["Retry.delays"] = function()
		return { type = "array", minItems = 1, maxItems = host.bound "delays", items = json_shapes.duration() }
	end,
	["Retry.on"] = function() return { type = "array", minItems = 1, maxItems = 100, items = json_shapes.code() } end,
	["Retry.jitter"] = function()
		return { anyOf = json.array { { type = "number", minimum = 0, maximum = 1 },
			json_shapes.enum { "full", "equal", "decorrelated", "none" } } }
	end,
	["Retry.seed"] = function() return { type = "integer", minimum = 0 } end,
}

-- What holds between the fields of a class.
local BETWEEN = {
	HostLimits = function(schema)
		schema.minProperties = 1
	end,
	Retention = function(schema)
		schema.anyOf = json.array { required "older_than", required "max_size", required "keep" }
	end,
	Retry = function(schema)
		schema.anyOf = json.array { required "retries", required "delays",
			{ required = json.array { "max_delay" }, properties = { max_delay = { ["not"] = { pattern = "^(none|[0.]+(ms|s|m|h|d)?)$" },
				exclusiveMinimum = 0 } } } }
		schema.allOf = json.array {
			{ ["if"] = required("delays", "strategy"), ["then"] = { properties = { strategy = { const = "custom" } } } },
			{ ["if"] = { required = json.array { "strategy" }, properties = { strategy = { const = "custom" } } }, ["then"] = required "delays" },
		}
	end,
	ExecutorSettings = function(schema)
		local rows = executors.schema()
		for key, property in next, schema.properties do
			local own = { description = property.description } -- rows share their schemas
			tables.add(own, rows[key])
			schema.properties[key] = own
		end
		schema.allOf = executors.schema_between()
	end,
}

-- --- types -------------------------------------------------------------------------------------

local schema_of -- types hold types

-- "{path?: string, sync?: boolean}"
local function literal(inside, path, definitions)
	local properties, needed = {}, {}
	for _, part in ipairs(annotations.split(inside, ",")) do
		local name, optional, kind = part:match "^%s*([%w_]+)(%??): (.+)$"
		local special = FIELDS[path .. "." .. name]
		properties[name] = special and special() or schema_of(kind, path .. "." .. name, definitions)
		needed[#needed + 1] = optional == "" and name or nil
	end
	return { type = "object", properties = properties, required = needed[1] and json.array(needed) or nil, additionalProperties = false }
end

-- A class of ours, which gets a definition.
local function class(name, definitions)
	if not definitions[name] then
		definitions[name] = true
		definitions[name] = M.class(name, definitions)
	end
	return { ["$ref"] = "#/definitions/" .. name }
end

local function one(kind, path, definitions)
	kind = kind:gsub("%?$", "")
	local item, fields, value = kind:match "^(.*)%[%]$", kind:match "^{(.*)}$", kind:match "^table<string, (.*)>$"
	if kind:find "^fun%(" then
		return nil
	elseif item then
		return { type = "array", items = schema_of(item, path, definitions) }
	elseif fields then
		return literal(fields, path, definitions)
	elseif value then
		return { type = "object", additionalProperties = schema_of(value, path, definitions) }
	elseif kind == "table" then
		return { type = json.array { "object", "array" } }
	elseif kind == "runner.Duration" then
		return json_shapes.duration()
	end
	local ours = kind:match "^runner%.(%w+)$"
	return ours and class(ours, definitions) or { type = assert(SIMPLE[kind], kind) }
end

-- Words are one enumeration, what is left is any of the others; nil: only functions.
function schema_of(kind, path, definitions)
	local list, enum = json.array {}, {}
	for _, part in ipairs(annotations.split(kind, "|")) do
		local word = part:match '^"(.*)"$'
		if word then
			enum[#enum + 1] = word
		else
			list[#list + 1] = one(part, path, definitions)
		end
	end
	list[#list + 1] = enum[1] and json_shapes.enum(enum) or nil
	return list[2] and { anyOf = list } or list[1]
end

local function describe(schema, field)
	if schema["$ref"] then
		schema = { allOf = json.array { schema } }
	end
	local about = json_shapes.plain(field.meaning)
	if field.type:find "Duration" then
		about = ("%s%sA duration: 500ms, 2s, 5m, 1h, a number of seconds, or none"):format(about, about ~= "" and "; " or "")
	end
	schema.description = about ~= "" and about or field.name
	schema.default = about:match 'default "([^"]+)"' or about:match "default (%d+%a*)$"
	return schema
end

---The schema of a class.
---@param name string "Project", without "runner."
---@param definitions table gets those of the classes that it speaks of
---@return table
function M.class(name, definitions)
	local properties, needed = {}, {}
	for _, field in ipairs(assert(annotations.fields(annotations.files.runner, "runner." .. name), name)) do
		local path = name .. "." .. field.name
		local special = FIELDS[path]
		local schema = special and special() or schema_of(field.type, path, definitions)
		properties[field.name] = schema and describe(schema, field)
		needed[#needed + 1] = not field.optional and field.name or nil
	end
	local schema = { type = "object", properties = properties, required = needed[1] and json.array(needed) or nil,
		additionalProperties = false }
	if BETWEEN[name] then
		BETWEEN[name](schema)
	end
	return schema
end

---The schema of runner.lua's data, as a value for runner.json.
---@return table
function M.schema()
	local definitions = {}
	for _, name in ipairs { "ExecutorSettings", "Dependency", "HostLimits" } do
		class(name, definitions)
	end
	local context = M.class("Project", definitions)
	context.properties.contexts = nil
	definitions.Context = context
	local out = M.class("Project", definitions)
	out.title = "A project of runner"
	out.description = "The settings that runner.lua returns, without its functions."
	out.definitions = definitions
	return portable_schema.published(out)
end

return M
