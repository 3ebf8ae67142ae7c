-- schema: the JSON Schema (draft 07) of workflow files, for editors. It is made of the rows that check a
-- file (keys.lua, retry.lua: what each reader takes is noted in values.shapes) and of the words
-- of the reference (key_descriptions.lua). It accepts every file that `runner workflow check` accepts; what it
-- can't say, such as which names are known in `${…}`, only check says. Loaded by runner types.

local executors = require "runner.declare.executors"
local json = require "runner.json"
local json_shapes = require "runner.declare.json_shapes"
local key_descriptions = require "runner.workflow.file.key_descriptions"
local keys = require "runner.workflow.file.keys"
local portable_schema = require "runner.core.portable_schema"
local retry = require "runner.workflow.file.retry"
local tables = require "runner.core.tables"
local typed_vars = require "runner.workflow.file.typed_vars"
local values = require "runner.workflow.file.values"
local variables = require "runner.workflow.expr.variables"

local M = {}

local STEP, STEPS = { ["$ref"] = "#/definitions/step" }, { ["$ref"] = "#/definitions/steps" }
local SOME_STEPS = { ["$ref"] = "#/definitions/some_steps" }
local CHECK = { ["$ref"] = "#/definitions/check" }
local NAME = "^[A-Za-z_][A-Za-z0-9_-]*$"

local function any_of(...)
	return { anyOf = json.array { ... } }
end

-- --- what a reader takes ---------------------------------------------------------------------

local shape_of -- readers are made of readers

local function list_of(item, least)
	return { type = "array", items = item, minItems = least }
end

local function map_of(pattern, item, least)
	return { type = "object", minProperties = least, additionalProperties = false,
		patternProperties = { [json_shapes.regex(pattern)] = item } }
end

-- A name that can stand in ${…}, which isn't one of these.
local function name(taken)
	local reserved = {}
	for _, set in ipairs { variables.groups, variables.loop, taken or {} } do
		for _, word in ipairs(tables.sorted_keys(set)) do
			reserved[#reserved + 1] = word
		end
	end
	return { type = json.array { "string", "boolean" }, pattern = NAME, ["not"] = { enum = json.array(reserved) } }
end

-- An object by its rows, with nothing else in it. No field has two spellings.
local function object(rows, property)
	local properties, by_field, all = {}, {}, {}
	for _, key in ipairs(tables.sorted_keys(rows)) do
		local field = rows[key][2] or key
		properties[key] = property(key, rows[key])
		for _, other in ipairs(by_field[field] or {}) do
			all[#all + 1] = { ["not"] = { required = json.array { other, key } } }
		end
		by_field[field] = by_field[field] or {}
		table.insert(by_field[field], key)
	end
	return { type = "object", properties = properties, additionalProperties = false, allOf = all[1] and json.array(all) or nil }
end

local function by_reader(_, row)
	return shape_of(row[1])
end

local function retry_on(rule_rows, classes)
	local rule = object(rule_rows, by_reader)
	rule.anyOf = json.array { { required = json.array { "exit" } }, { required = json.array { "stderr" } },
		{ required = json.array { "pattern" } } }
	local class = any_of(json_shapes.enum(tables.sorted_keys(classes)), json_shapes.code())
	return any_of(rule, class, list_of(rule, 1), list_of(class, 1))
end

local PATH = "^\\$?((\\.?N|\\[N\\]|\\[\"N\"\\]|\\['N'\\])(\\.N|\\[N\\]|\\[\"N\"\\]|\\['N'\\])*)?$"
local WORD = "([A-Za-z0-9][A-Za-z0-9_-]{0,63}|\\S*\\$\\{[^}]*\\}\\S*|\\S*\\$\\{\\S*)"

local SHAPES = {
	any_text = json_shapes.scalar, duration = json_shapes.duration, size = json_shapes.size, code = json_shapes.code, name = name,
	text = function() return json_shapes.scalar(false) end,
	boolean = function() return { type = "boolean" } end,
	allowance = function(most)
		return any_of({ type = "integer", minimum = 0, maximum = most }, { type = "string", pattern = "^([0-9]|[1-9][0-9]|100)%$" })
	end,
	number = function() return { type = "number" } end,
	json_schema = function() return { type = "object", minProperties = 1 } end,
	sort = function() return { type = "string", pattern = "^item[A-Za-z0-9_.-]*\\s*([aA][sS][cC]|[dD][eE][sS][cC])?$" } end,
	json_path = function() return { type = "string", pattern = (PATH:gsub("N", "([A-Za-z0-9_-]+|\\*)")) } end,
	only_true = function() return { const = true } end,
	threshold = function(pattern, read) return any_of(shape_of(read), map_of(pattern, shape_of(read), 1)) end,
	whole = function(least, most) return { type = "integer", minimum = least, maximum = most } end,
	dollars = function() return { type = "number", exclusiveMinimum = 0, maximum = 1000000000 } end,
	seconds = function() return { type = "number", minimum = 0, maximum = 315360000 } end,
	choice = function(choices) return json_shapes.enum(tables.sorted_keys(choices)) end,
	strategy = json_shapes.enum,
	list = function(read, least) return any_of(shape_of(read), list_of(shape_of(read), least)) end,
	map = function(pattern, read) return map_of(pattern, shape_of(read)) end,
	capture = function() return any_of({ type = "boolean" }, name()) end,
	hook = function(rows)
		local map = object(rows, by_reader)
		map.required = json.array { "shell" }
		return any_of(json_shapes.scalar(false), map)
	end,
	words = function()
		local all = { type = json.array { "string", "integer", "boolean" }, minimum = 0,
			pattern = ("^\\s*%s(\\s+%s)*\\s*$"):format(WORD, WORD) }
		return any_of(all, list_of(all, 1))
	end,
	arguments = function(item, pattern, value) return any_of(list_of(shape_of(item)), map_of(pattern, shape_of(value))) end,
	side_by_side = function(most) return any_of({ type = "integer", minimum = 1, maximum = most }, { type = "boolean" }) end,
	factor = function() return { type = "number", minimum = 0, maximum = 1 } end,
	jitter = function()
		return any_of({ type = "number", minimum = 0, maximum = 1 }, { type = "boolean" },
			json_shapes.enum { "full", "equal", "decorrelated", "none" })
	end,
	delays = function(most)
		return { type = "array", items = json_shapes.duration(), minItems = 1, maxItems = most }
	end,
	retry_on = retry_on,
	confined_path = function()
		local out = json_shapes.scalar(false)
		out["not"] = { type = "string", pattern = "\\$\\{|(^|/)\\.\\.(/|$)" }
		return out
	end,
	confined_network = function(rows)
		local map = object(rows, by_reader)
		map.required = json.array { "ports" }
		return any_of({ const = false }, map)
	end,
	resources = function(rows)
		local map = object(rows, by_reader)
		map.minProperties = 1
		return map
	end,
	confine = function(rows)
		local map = object(rows, by_reader)
		map.anyOf = json.array {}
		for i, key in ipairs { "write", "read", "network", "capabilities" } do
			map.anyOf[i] = { required = json.array { key } }
		end
		return any_of({ const = false }, map)
	end,
	executor = function(key) return executors.schema()[key] end,
}

function shape_of(reader)
	local shape = assert(values.shapes[reader], "a reader has no shape")
	return SHAPES[shape[1]](table.unpack(shape, 2))
end

-- --- values that hold keys again ---------------------------------------------------------------

local function ref(definition)
	return { ["$ref"] = "#/definitions/" .. definition }
end

-- A map with steps and more.
local function block(rows)
	local out = object(rows, function(key, row)
		return values.shapes[row[1]][1] == "node" and SOME_STEPS or by_reader(key, row)
	end)
	out.minProperties = 1
	return out
end

local function secrets()
	local from = object(keys.secret, by_reader)
	from.oneOf = json.array { { required = json.array { "env" } }, { required = json.array { "file" } } }
	local named = { type = json.array { "string", "boolean" }, pattern = json_shapes.regex(keys.env_name) }
	return any_of(map_of(keys.env_name, any_of(json_shapes.scalar(false), from)), list_of(named), named)
end

-- A map with the name of a type is the declaration of one, as commands have them for their arguments.
local function vars()
	local types = json_shapes.enum { "string", "path", "enum", "integer", "number", "boolean", "duration", "json", "array" }
	local bound, length = { type = json.array { "number", "string" } }, { type = "integer", minimum = 0 }
	local row = { type = types, items = types, values = list_of({ type = "string" }, 1), min = bound, max = bound, min_length = length,
		max_length = length, schema = { type = "object" }, max_bytes = bound }
	for key in pairs(typed_vars.keys) do
		row[key] = row[key] or key == "default" and {} or { type = "string", minLength = 1 }
	end
	return { type = "object", propertyNames = name(), additionalProperties = {
		["if"] = { type = "object", required = json.array { "type" }, properties = { type = types } },
		["then"] = { properties = row, additionalProperties = false } } }
end

local function items()
	local file = object(keys.items, by_reader)
	file.required = json.array { "file" }
	return any_of({ type = "array" }, { type = "string", pattern = "\\$\\{" }, file)
end

local function approve()
	local map = block(keys.approve)
	map.required = json.array { "message" }
	map.allOf = json.array { { ["if"] = { required = json.array { "default" } }, ["then"] = { required = json.array { "timeout" } } } }
	return any_of(json_shapes.scalar(false), map)
end

local function repair()
	local out = block(keys.repair)
	out.anyOf = json.array { { required = json.array { "steps" } }, { required = json.array { "commands" } } }
	return any_of(SOME_STEPS, out)
end

local function worktree()
	local map = block(keys.worktree)
	map.minProperties = nil
	map.properties.merge = any_of({ const = true }, SOME_STEPS)
	return any_of({ const = true }, map)
end

-- A check can only run again where there is one.
local function again_rule()
	local again = { type = "object", required = json.array { "again" }, properties = { again = { const = "check" } } }
	return { ["if"] = { required = json.array { "repair" }, properties = { repair = again } },
		["then"] = { required = json.array { "check" } } }
end

-- Keys whose value is a node to their reader, by their fields.
local NODES = {
	steps = function() return SOME_STEPS end, finally = function() return SOME_STEPS end, on = json_shapes.text,
	on_failure = function() return any_of(json_shapes.enum { "fail", "continue" }, SOME_STEPS, block(keys.on_failure)) end,
	on_success = function() return any_of(SOME_STEPS, block(keys.on_success)) end,
	check = function() return any_of(CHECK, list_of(CHECK, 1)) end, repair = repair, worktree = worktree,
	vars = vars, secrets = secrets,
	retry = function() return any_of({ type = "boolean" }, ref "retry") end, claude = function() return ref "claude" end,
	concurrency = function() return ref "concurrency" end,
	executors = function()
		return { type = "object", propertyNames = { pattern = json_shapes.regex(executors.NAME), ["not"] = { const = executors.NOWHERE } },
			additionalProperties = ref "executor" }
	end,
	items = items, approve = approve, given = function() return { type = "object", propertyNames = name() } end,
	outputs = function() return map_of(keys.member, json_shapes.scalar()) end,
}

-- --- words -----------------------------------------------------------------------------------

local BOOLEANS = { ["true"] = true, ["false"] = false }

-- A default that is a value, and not a sentence about one.
local function set_default(schema, cell)
	local text = cell:match "^`([%w_-]+)`$" or cell:match "^%d+%.?%d*%a*$"
	if BOOLEANS[cell] ~= nil then
		schema.default = BOOLEANS[cell]
	elseif text then
		schema.default = tonumber(text) or text
	end
end

local DURATION = "A duration: 500ms, 2s, 5m, 1h, a number of seconds, or none."

-- What an editor shows of a key: its meaning, its unit, its default.
local function paragraphs(key, word)
	local main, kind, default, meaning = table.unpack(word)
	local of_other = key ~= main and ("As `%s`%s: "):format(main, key:find "_secs$" and ", in seconds" or "") or ""
	local out = { of_other .. json_shapes.plain(meaning) .. "." }
	if kind:find "duration" and of_other == "" then
		out[#out + 1] = DURATION
	end
	if default ~= "" and not default:find "required" then
		out[#out + 1] = ("Default: %s."):format(json_shapes.plain(default))
	end
	return table.concat(out, "\n\n")
end

-- How the words of one section of key_descriptions.lua describe its keys, other spellings of them too.
local function described(list, rows)
	local by_field = {}
	for _, word in ipairs(key_descriptions[list]) do
		local row = rows[word[1]]
		by_field[row and row[2] or word[1]] = word
	end
	return function(key, row, schema)
		local word = by_field[row[2] or key]
		if word then
			schema.description = paragraphs(key, word)
			set_default(schema, key == word[1] and word[3] or "")
		end
		return schema
	end
end

local function copy(schema)
	return tables.add({}, schema)
end

-- The definitions of a section's keys, "SECTION.KEY", with the words of a list in key_descriptions.lua.
local function define(definitions, section, rows, list)
	local describe = described(list or section, rows)
	for _, key in ipairs(tables.sorted_keys(rows)) do
		local row = rows[key]
		local is_node = values.shapes[row[1]][1] == "node"
		local schema = is_node and assert(NODES[row[2] or key], key)() or shape_of(row[1])
		if schema["$ref"] then
			schema = { allOf = json.array { schema } }
		end
		definitions[section .. "." .. key] = describe(key, row, copy(schema))
	end
end

-- Keys that become flags of the claude program have their words in rows of their own.
local function describe_flags(definitions, section)
	for _, row in ipairs(require("runner.workflow.expr.claude_keys").rows) do
		local definition = definitions[("%s.%s"):format(section, row.key)]
		definition.description = ("%s.\n\nThe flag %s."):format(row.meaning, row.flag)
	end
end

-- --- the whole -------------------------------------------------------------------------------

local function section_object(section, rows)
	return object(rows, function(key)
		return ref(section .. "." .. key)
	end)
end

local function retry_rules(schema)
	local all = schema.allOf or json.array {}
	all[#all + 1] = { ["if"] = { required = json.array { "delays", "strategy" } },
		["then"] = { properties = { strategy = { const = "custom" } } } }
	all[#all + 1] = { ["if"] = { required = json.array { "jitter", "jitter_factor" } },
		["then"] = { properties = { jitter = { type = "boolean" } } } }
	all[#all + 1] = { ["if"] = { required = json.array { "delays", "backoff" } },
		["then"] = { properties = { backoff = { const = "custom" } } } }
	schema.allOf = all
	return schema
end

local function kind_of_step(kind, definitions)
	local section_of = {}
	for _, section in ipairs { "any", "process" } do
		for key in pairs(keys[section]) do
			section_of[key] = section
		end
	end
	local own = keys.own[kind]
	local section = kind == "workflow" and "inner" or kind -- the file has that name
	define(definitions, section, own, key_descriptions[section] and kind ~= "claude" and section or "kinds")
	local out = object(keys.step[kind], function(key)
		return ref(("%s.%s"):format(own[key] and section or section_of[key], key))
	end)
	if out.properties.repair then
		out.allOf = out.allOf or json.array {}
		table.insert(out.allOf, ref "again")
	end
	out.title = keys.articles[kind]:gsub("^an? ", "") .. ""
	out.required = json.array(kind == "foreach" and { "foreach", "do" } or { kind })
	return out
end

local function define_steps(definitions)
	local alternatives = {}
	for _, kind in ipairs(keys.kinds) do
		definitions["step." .. kind] = kind_of_step(kind, definitions)
		alternatives[#alternatives + 1] = kind ~= "commit" and ref("step." .. kind) or nil
	end
	definitions.again = again_rule()
	definitions.check = any_of(STEP, ref "step.commit")
	describe_flags(definitions, "claude")
	definitions["parallel.parallel"] = copy(definitions["parallel.parallel"])
	definitions["parallel.parallel"].allOf = json.array { STEPS }
	definitions["step"] = { type = "object", anyOf = json.array(alternatives) }
	definitions.steps = list_of(STEP, 1)
	definitions.some_steps = any_of(STEP, STEPS)
end

local function workflow(definitions)
	define(definitions, "workflow", keys.workflow)
	for _, key in ipairs { "commands", "steps" } do
		definitions["workflow." .. key].allOf = json.array { STEPS }
	end
	local out = section_object("workflow", keys.workflow)
	out.anyOf = json.array { { required = json.array { "commands" } }, { required = json.array { "steps" } } }
	return out
end

---The schema, as a value for runner.json.
---@return table
function M.schema()
	local definitions = {}
	define(definitions, "any", keys.any)
	define(definitions, "process", keys.process)
	define_steps(definitions)
	define(definitions, "retry", retry.keys)
	definitions.retry = retry_rules(section_object("retry", retry.keys))
	define(definitions, "workflow.claude", keys.claude, "claude")
	describe_flags(definitions, "workflow.claude")
	definitions.claude = section_object("workflow.claude", keys.claude)
	define(definitions, "workflow.concurrency", keys.concurrency, "concurrency")
	definitions.concurrency = section_object("workflow.concurrency", keys.concurrency)
	definitions.concurrency.required = json.array { "key" }
	define(definitions, "executor", keys.executor)
	definitions.executor = section_object("executor", keys.executor)
	definitions.executor.allOf = executors.schema_between()
	local out = workflow(definitions)
	out.title = "A workflow of runner"
	out.description = "Steps that runner retries and takes up again after a crash."
	out.definitions = definitions
	return portable_schema.published(out)
end

return M
