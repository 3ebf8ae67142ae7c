-- entry: one command as data, in the form of the manifest of the CLI Agent Spec: its flags,
-- positional arguments, exit codes and declared properties. The manifest, --schema and help
-- as JSON are made of it.

local arg_errors = require "runner.declare.arg_errors"
local arg_words = require "runner.declare.arg_words"
local contract = require "runner.declare.contract"
local help_exit_codes = require "runner.tools.help_exit_codes"
local host = require "runner.host"
local json = require "runner.json"
local rare_arguments = require "runner.declare.rare_arguments"
local regexes = require "runner.core.regexes"
local portable_schema = require "runner.core.portable_schema"
local computed = require "runner.declare.computed"

local M = {}

local DESCRIPTION_MAX = 120 -- characters of an exit code's, by the schema

-- Our types as those of the schema; durations and paths are texts.
local TYPES = { duration = "string", path = "string", json = "string" }

-- --- arguments -----------------------------------------------------------------------------

-- A declaration's own function may fail; the manifest must not.
local function listed(row, config)
	if computed.uncalled[row.values] then
		computed.warn_uncalled(row) -- that it takes any text is not said of it
	end
	local ok, list = pcall(computed.listed, row, config)
	return ok and list and list[1] and json.array(table.move(list, 1, #list, 1, {})) or nil
end

local BOUNDED = { integer = { "min", "max" }, number = { "min", "max" }, string = { "min_length", "max_length" },
	path = { "min_length", "max_length" } }

-- What the other keys can't say: a range, the length of a text, the form of a duration, and the
-- pattern of what has no key for one.
local function limits_of(row)
	local kind = row.items or row.type
	if kind == "json" then
		return "JSON"
	end
	local first, last = table.unpack(BOUNDED[kind] or {})
	local lengths_are_items = row.type == "array" and first == "min_length"
	local bounded = first and not lengths_are_items and (row[first] or row[last])
	local has_no_key = row.pattern and (row.positional or row.items
		or not rare_arguments.presets[row.pattern] and not regexes.whole(row.pattern))
	return (kind == "duration" or bounded or has_no_key) and arg_errors.expected(row) or nil
end

---The description of an argument, with what its type leaves open.
---@param row table normalised
---@return string
function M.meaning(row)
	local limits = limits_of(row)
	return row.description and limits and ("%s (%s)"):format(row.description, limits) or row.description or limits or ""
end

local function type_of(kind, choices)
	return kind == "enum" and not choices and "string" or TYPES[kind] or kind
end

local function array_schema(row, choices)
	local kind = row.items
	return { type = "array", minItems = row.min_length, maxItems = row.max_length,
		items = { type = kind == "enum" and "string" or TYPES[kind] or kind, enum = choices, minimum = row.min, maximum = row.max } }
end

---A FlagEntry of the manifest.
-- In the order in which they count.
local function variables_of(row)
	local out = {}
	for i, name in ipairs(arg_words.variables(row)) do
		out[i] = { name = name }
	end
	return out[1] and json.array(out) or nil
end

---@param row table normalised, of an argument or of runner's own flags
---@param config table of the project
---@return table
function M.flag(row, config)
	local choices = row.values and listed(row, config)
	local pattern = row.type ~= "array" and row.pattern or nil
	local preset = pattern and rare_arguments.presets[pattern] and pattern
	local schema = row.schema and portable_schema.of(row.schema)
	return {
		type = type_of(row.type, choices), required = row.required or false, description = M.meaning(row),
		default = computed.default(row), short = row.short, env_vars = variables_of(row),
		enum_values = row.type == "enum" and choices or nil, schema = row.type == "array" and array_schema(row, choices) or schema,
		pattern = not preset and pattern and regexes.whole(pattern) or nil, pattern_type = preset,
	}
end

---A PositionalEntry of the manifest.
---@param row table normalised
---@param config table of the project
---@return table
function M.positional(row, config)
	local choices = row.values and listed(row, config)
	local kind = row.items or row.type
	if kind == "boolean" then
		kind, choices = "enum", json.array { "true", "false" }
	end
	return { name = row.flag, type = type_of(kind, choices), required = row.required or false, description = M.meaning(row),
		enum_values = choices, variadic = row.variadic }
end

---The arguments of a command: flags by name (without the dashes), those that its declaration
---switches on included; positional ones in order.
---@param command table normal form
---@param config table of the project
---@return table<string, table> flags, table[] positionals
function M.arguments(command, config)
	local by_name, positionals = {}, {}
	for _, row in ipairs(contract.rows(command)) do
		if contract.belongs(row, command) then
			by_name[row.flag] = M.flag(row, config)
		end
	end
	if command.list and by_name.limit then
		by_name.limit.default = command.default_limit or require("runner.output.list").DEFAULT_LIMIT
	end
	for _, row in ipairs(command.args) do
		if row.positional then
			positionals[#positionals + 1] = M.positional(row, config)
		else
			by_name[row.flag] = M.flag(row, config)
		end
	end
	return by_name, positionals
end

-- --- exit codes ------------------------------------------------------------------------------

local BOOLEANS = { ["true"] = true, ["false"] = false } -- "maybe" stays what it is

local function cut(text)
	local stop = utf8.offset(text, DESCRIPTION_MAX + 1)
	return stop and stop <= #text and text:sub(1, utf8.offset(text, DESCRIPTION_MAX) - 1) .. "…" or text
end

local function exit_entry(row)
	local retryable = BOOLEANS[row.hints.retryable]
	if retryable == nil then
		retryable = row.hints.retryable
	end
	return { name = row.name, description = cut(row.description), retryable = retryable,
		side_effects = row.hints.side_effects }
end

local SUCCESS = { name = "SUCCESS", description = "Done as intended", retryable = false, side_effects = "complete" }

-- The name of a number is that of the registry; error codes that share it come after it.
local function goes_before(a, b)
	local known_a, known_b = host.registry_code(a.name), host.registry_code(b.name)
	local first_a, first_b = known_a and known_a.entry == a.name, known_b and known_b.entry == b.name
	if first_a ~= first_b then
		return first_a
	end
	return a.name < b.name
end

local made = setmetatable({}, { __mode = "k" }) ---@type table<runner.ExitRow[], table> rows that many commands share

---The exit codes of a command by number, as the manifest has them. "maybe" and a retry after
---partial effects are published as they are declared (docs/reference/manifest.md). `error_codes`
---are those that share a number, sorted but for the first.
---@param rows runner.ExitRow[]
---@return table<string, table>
function M.exit_codes(rows)
	if made[rows] then
		return made[rows]
	end
	table.sort(rows, goes_before)
	local out = { ["0"] = SUCCESS }
	for _, row in ipairs(rows) do
		local key = tostring(row.number)
		local first = out[key]
		out[key] = first or exit_entry(row)
		if first then
			first.error_codes = first.error_codes or json.array { first.name }
			table.insert(first.error_codes, row.name)
		end
	end
	made[rows] = out
	return out
end

-- --- one command -----------------------------------------------------------------------------

local function secret_variables(command)
	local out = {}
	for _, row in ipairs(command.args) do
		local names = row.secret and arg_words.variables(row) or {}
		table.move(names, 1, #names, #out + 1, out)
	end
	return out[1] and json.array(out) or nil
end

local function examples_of(command)
	local out = {}
	for i, example in ipairs(command.examples or {}) do
		out[i] = { description = example.description or command.description, command = example.command }
	end
	return out[1] and json.array(out) or nil
end

---Add the rare keys of a declaration that an agent reads here.
---@param command table normal form
---@param places table<string, true> "entry", "schema"
---@param out table
function M.add_declared(command, places, out)
	for _, key in ipairs(command.contract and contract.keys() or {}) do
		if command[key] ~= nil and places[contract.key(key).manifest] then
			out[key] = command[key]
		end
	end
end

-- What it reads; the keys are those of the schema.
local function stdin_of(declared)
	if type(declared) ~= "table" then
		return declared and { mode = "buffered" } or nil
	end
	return { mode = "buffered", max_bytes = declared.max_bytes or 65536 }
end

---A CommandEntry of the manifest.
---@param command table normal form
---@param about {settled: table, config: table, exit_table?: string}
---@return table
function M.command(command, about)
	local by_name, positionals = M.arguments(command, about.config)
	local out = {
		description = command.description, danger_level = command.danger_level,
		required_scopes = json.array(command.required_scopes or {}),
		flags = by_name, positionals = positionals[1] and json.array(positionals) or nil,
		exit_codes = M.exit_codes(help_exit_codes.rows(command, about.settled, about.exit_table)),
		examples = examples_of(command), steps = command.steps and json.array(command.steps) or nil,
		stdin = stdin_of(command.stdin), interactive = command.interactive or nil,
		secret_env_vars = secret_variables(command), builtin = not command.path or nil,
	}
	M.add_declared(command, { entry = true }, out)
	out.output_schema = out.output_schema and portable_schema.of(out.output_schema) or nil
	out.job_descriptor_schema = command.async and require("runner.declare.json_shapes").job_descriptor or nil
	return out
end

local function lowest_version(command)
	local lowest
	for _, row in next, command.older_versions or {} do
		lowest = (not lowest or tonumber(row.version) < tonumber(lowest)) and row.version or lowest
	end
	return lowest
end

---A command for --schema: its entry, with everything else that it declares.
---@param command table normal form
---@param about {settled: table, config: table, exit_table?: string}
---@return table
function M.schema(command, about)
	local out = M.command(command, about)
	out.command, out.parameters, out.flags = command.name, out.flags, nil
	out.output_schema = out.output_schema or {}
	out.requires_confirmation = command.danger_level == "destructive" and not command.safe_default or nil
	out.schema_version, out.min_schema_version = command.schema_version, lowest_version(command)
	out.raw_payload_schema = require("runner.tools.payload_schema").of(command, about.config)
	if type(command.stdin) == "table" then
		out.stdin.type, out.stdin.required, out.stdin.schema = command.stdin.type, command.stdin.required,
			command.stdin.schema and portable_schema.of(command.stdin.schema) or nil
	end
	M.add_declared(command, { schema = true }, out)
	return out
end

return M
