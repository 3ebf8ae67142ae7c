-- tools: the commands of this project as tools of MCP. It loads command files, so it runs in
-- `runner mcp tools` alone, a process of its own, and never in the server.

local arg_words = require "runner.declare.arg_words"
local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local contract = require "runner.declare.contract"
local host = require "runner.host"
local json = require "runner.json"
local listings = require "runner.mcp.listing"
local payload_schema = require "runner.tools.payload_schema"
local portable_schema = require "runner.core.portable_schema"
local tables = require "runner.core.tables"

local M = {}

local NAME_MAX = 128 -- characters, by server/tools.mdx

---@class runner.mcp.Row a command that is, or could be, a tool
---@field command string dot path
---@field danger_level string of one that a policy has asked for: destructive
---@field asked? string its own danger level, where a policy has a person asked before it
---@field listing "always"|"job"|"builtin"|"allow"|"never" "builtin": only with --builtin; "allow": only with --allow NAME
---@field reason? string why it is not always listed
---@field path? string its file
---@field secrets string[] arguments whose values are not shown
---@field places string[] arguments that have no flag on a command line
---@field added table<string, true> arguments that are runner's own: dry_run, limit, cursor
---@field safe_default boolean without --live it only says what it would do
---@field task? "any"|"long" it can be a task; "long": it may take longer than a client would wait for it
---@field examples {description: string, command: string}[]
---@field keywords? string[] what else a client may search for
---@field role? "prompt"|"resource" it is no tool but that
---@field uri? string of a resource, with {NAME} for arguments
---@field mime_type? string of a resource
---@field arguments? {name: string, description: string?, required: boolean?}[] of a prompt
---@field tool table a Tool, as tools/list has it

-- --- whether it may be one ------------------------------------------------------------------

local NEVER, ALLOW = "never", "allow"

---@param command table normal form
---@param listed {name: string, builtin: boolean?}
---@return "always"|"job"|"builtin"|"allow"|"never" listing
---@return string? reason
local function listing(command, listed)
	local builtin = listed.builtin and listings.of_builtin(listed.name)
	if command.mcp == false then
		return NEVER, "it declares mcp = false"
	elseif command.mcp and command.mcp ~= true then
		return NEVER, "it is a prompt or a resource"
	elseif command.requires_person then
		return NEVER, "only a person may run it"
	elseif command.raw then
		return NEVER, "its stdout belongs to another program"
	elseif builtin == NEVER then
		return NEVER, "it is for people and for shells"
	elseif command.danger_level == "destructive" then
		return ALLOW, "it is destructive"
	elseif builtin == ALLOW then
		return ALLOW, "it runs files or code, or writes"
	end
	return builtin or "always", builtin == "builtin" and "it is runner's own: --builtin lists it" or nil
end

-- --- its schemas -----------------------------------------------------------------------

-- MCP reads a schema without "$schema" as 2020-12, and clients give it to validators of many languages:
-- lua/core/portable_schema.lua writes what all of them take.

-- What runner itself adds to the arguments of a tool.
local ADDED = {
	dry_run = { type = "boolean", description = "Change nothing; say what would be done" },
	limit = { type = "integer", minimum = 0, maximum = contract.find("limit").max, description = "At most this many items; 0: all" },
	cursor = { type = "string", description = "Continue from meta.pagination.next_cursor of an earlier answer" },
}

-- The schema of a tool's arguments, and those of them that runner added.
---@param command table normal form
---@param config table of the project
---@return table schema
---@return table<string, true> added
local function input_schema(command, config)
	local schema, added = payload_schema.of(command, config), {}
	for _, name in ipairs(arg_words.added(command)) do
		schema.properties[name], added[name] = ADDED[name], true
	end
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

-- The schema of structuredContent, for a command that declares what it returns.
---@param command table normal form
---@return table?
local function output_schema(command)
	if not command.output_schema then
		return nil
	end
	return {
		type = "object",
		properties = { ok = { type = "boolean" }, data = {}, error = { type = { "object", "null" } },
			warnings = { type = "array" }, meta = { type = "object" } },
		required = { "ok", "data", "error", "warnings", "meta" },
		["if"] = RESULT, ["then"] = { properties = { data = portable_schema.of(command.output_schema, "#/then/properties/data") } },
	}
end

-- --- prompts and resources ------------------------------------------------------------------

local function arguments(command, input)
	local out, required = json.array {}, tables.set(table.concat(input.required or {}, " "))
	for _, row in ipairs(command.args) do
		out[#out + 1] = input.properties[row.name] and { name = row.name, description = row.description, required = required[row.name] } or nil
	end
	return out
end

-- What a command is in place of a tool.
local function add_role(row, command, input)
	local role = not (command.requires_person or command.raw) and command.mcp
	if role == "prompt" then
		row.role, row.arguments = role, arguments(command, input)
	elseif type(role) == "table" then
		row.role, row.uri, row.mime_type = "resource", role.resource, role.mime_type
	end
	return row
end

-- --- one tool -------------------------------------------------------------------------------

local CHANGES = { mutating = false, destructive = true }

-- Where the author says that a call that was cut off may be made again, a second one changes nothing more.
local function is_repeatable(command)
	for _, code in ipairs(command.exit_codes) do
		if code.name == "TIMEOUT" then
			return code.retryable == "true"
		end
	end
end

-- What isn't said is the worst that clients have to expect: destructive, not to be repeated, in touch with the world.
local function annotations(command)
	local safe = command.danger_level == "safe"
	return { readOnlyHint = safe, destructiveHint = CHANGES[command.danger_level],
		idempotentHint = not safe and is_repeatable(command) or nil, openWorldHint = command.has_network_io }
end

local LONG_MS = 60000

-- May a call take longer than a client would wait? What only looks, and what waits for something
-- else that goes on, is no task.
local function task(command, listed, config)
	local limit_ms = command.timeout_ms or config.timeout or host.default "timeout_ms"
	if listed.builtin and listings.of_builtin(listed.name) ~= ALLOW then
		return nil
	elseif command.async or (command.interruption or {}).detach or limit_ms == 0 or limit_ms > LONG_MS then
		return "long"
	end
	return "any"
end

local function secrets(command)
	local out = json.array {}
	for _, row in ipairs(command.args) do
		out[#out + 1] = row.secret and row.name or nil
	end
	return out
end

-- The arguments that stand in places on a command line.
local function places(command)
	local out = json.array {}
	for _, row in ipairs(command.args) do
		out[#out + 1] = row.positional and row.name or nil
	end
	return out
end

local function examples(command)
	local out = json.array {}
	for i, example in ipairs(command.examples or {}) do
		out[i] = { description = example.description or command.description, command = example.command }
	end
	return out
end

---One command as a row.
---@param command table normal form
---@param listed {name: string, path: string?, builtin: boolean?}
---@param config table of the project
---@return runner.mcp.Row
local function row_of(command, listed, config)
	local may, reason = listing(command, listed)
	local input, added = input_schema(command, config)
	local words = command_line.typed(listed.name)
	local asked = attempt.policy and require("runner.project.caller_policy").asks(listed.name, listed.path)
	return add_role({
		command = listed.name, danger_level = asked and "destructive" or command.danger_level, asked = asked and command.danger_level or nil,
		listing = may, reason = reason, path = listed.path,
		secrets = secrets(command), places = places(command), added = added, safe_default = command.safe_default or false,
		examples = examples(command), keywords = command.keywords, task = task(command, listed, config),
		tool = { name = listed.name, title = words, description = command.description, inputSchema = input,
			outputSchema = output_schema(command), annotations = annotations(command),
			_meta = { ["runner/command"] = words, ["runner/danger_level"] = command.danger_level } },
	}, command, input)
end

-- --- all ------------------------------------------------------------------------------------

local function has(list, name)
	for _, v in ipairs(list or {}) do
		if v == name then
			return true
		end
	end
	return false
end

---Every command that can be called here, as rows in the order of their names.
---@param project table
---@param options? { only?: string[], on_read?: fun(name: string) } only: read the files of these commands, and no other;
---  on_read: called before each file is read
---@return runner.mcp.Row[]
function M.rows(project, options)
	local out, only = json.array {}, options and options.only
	for _, listed in ipairs(catalog.list(project)) do
		if #listed.name <= NAME_MAX and not (only and listed.path and not has(only, listed.name)) then
			if options and options.on_read then
				options.on_read(listed.name)
			end
			local command = catalog.load_listed(listed, project)
			out[#out + 1] = command and row_of(command, listed, project.config) or nil
		end
	end
	listings.give_names(out)
	return out
end


return M
