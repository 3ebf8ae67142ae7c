-- tools: the commands of this project as tools of MCP. It loads command files, so it runs in
-- `runner mcp tools` alone, a process of its own, and never in the server.

local builtins = require "runner.mcp.builtins"
local catalog = require "runner.project.catalog"
local command_name = require "runner.core.command_name"
local host = require "runner.host"
local json = require "runner.json"
local schemas = require "runner.mcp.schemas"
local tool_names = require "runner.mcp.tool_names"

local M = {}

local NAME_MAX = 128 -- characters, by server/tools.mdx

---@class runner.mcp.Row a command that is, or could be, a tool
---@field command string dot path
---@field danger_level string
---@field listing "always"|"allow"|"never" "allow": only with --allow NAME
---@field reason? string why it is not always listed
---@field path? string its file
---@field secrets string[] arguments whose values are not shown
---@field added table<string, true> arguments that are runner's own: dry_run, limit, cursor
---@field safe_default boolean without --live it only says what it would do
---@field task? "any"|"long" it can be a task; "long": it may take longer than somebody would wait for it
---@field examples {description: string, command: string}[]
---@field tool table a Tool, as tools/list has it

-- --- whether it may be one ------------------------------------------------------------------

local NEVER, ALLOW = "never", "allow"

---@param command table normal form
---@param listed {name: string, builtin: boolean?}
---@return "always"|"allow"|"never" listing
---@return string? reason
local function listing(command, listed)
	local builtin = listed.builtin and builtins.listing(listed.name)
	if command.mcp == false then
		return NEVER, "it declares mcp = false"
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
	return "always"
end

-- --- one tool -------------------------------------------------------------------------------

local function annotations(command)
	local safe = command.danger_level == "safe"
	return { readOnlyHint = safe, destructiveHint = not safe and command.danger_level == "destructive" or nil }
end

local LONG_MS = 60000

-- May a call take longer than a client would wait? What only looks, and what waits for something
-- else that goes on, is no task.
local function task(command, listed, config)
	local limit_ms = command.timeout_ms or config.timeout or host.default "timeout_ms"
	if listed.builtin and builtins.listing(listed.name) == "always" then
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
function M.row(command, listed, config)
	local may, reason = listing(command, listed)
	local input, added = schemas.input(command, config)
	local words = command_name.typed(listed.name)
	return {
		command = listed.name, danger_level = command.danger_level, listing = may, reason = reason, path = listed.path,
		secrets = secrets(command), added = added, safe_default = command.safe_default or false,
		examples = examples(command), task = task(command, listed, config),
		tool = { name = listed.name, title = words, description = command.description, inputSchema = input,
			outputSchema = schemas.output(command), annotations = annotations(command),
			_meta = { ["runner/command"] = words, ["runner/danger_level"] = command.danger_level } },
	}
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
			out[#out + 1] = command and M.row(command, listed, project.config) or nil
		end
	end
	tool_names.give(out)
	return out
end

return M
