-- project: the settings of a project (runner.lua), checked. Loaded where there is one.

local host = require "runner.host"
local rules = require "runner.core.rules"

local M = {}

-- key of runner.lua → its normal form, nil when wrong
local PROJECT = {
	name = function(v) return type(v) == "string" and v or nil end,
	description = function(v) return rules.text(v) and v or nil end,
	version = function(v) return type(v) == "string" and v or nil end,
	commands = function(v) return type(v) == "string" and v ~= "" and v or nil end,
	changelog = function(v) return type(v) == "string" and v ~= "" and v or nil end,
	exit_table = rules.named "exit_table",
	scopes = function(v) return type(v) == "function" and v or rules.list(v, 0, math.huge, rules.text) end,
	config = function(v) return type(v) == "table" and v or nil end,
	dependencies = function(v) return require("runner.declare.project_keys").dependencies(v) end,
	telemetry = function(v) return require("runner.declare.project_keys").telemetry(v) end,
	retention = function(v) return require("runner.declare.project_keys").retention(v) end,
	notify = function(v) return require("runner.declare.project_keys").notify(v) end,
	executors = function(v) return require("runner.declare.executors").accept(v) end,
	audit = function(v) return require("runner.project.audit").accept(v) end,
	aliases = function(v) return require("runner.declare.project_keys").aliases(v) end,
	hosts = function(v) return require("runner.declare.throttle").hosts(v) end,
	dotenv = function(v) return require("runner.project.dotenv").accept(v) end,
	before = rules.of_type "function",
	after = rules.of_type "function",
	groups = function(v) return require("runner.declare.project_keys").groups(v) end,
	retry = function(v) return type(v) == "table" and require("runner.declare.policy").normalise(v) and v or nil end,
}
for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
	PROJECT[name] = function(v) return rules.duration(v) end
end

-- Each context holds any of the other keys, in their normal form; one that is wrong spoils it.
local function settings_of(v)
	return require("runner.core.tables").mapped(v, function(key, value)
		local accept = key ~= "contexts" and PROJECT[key]
		return accept and accept(value) or nil
	end)
end

function PROJECT.contexts(v)
	return require("runner.core.tables").mapped(v, function(name, settings)
		return type(name) == "string" and settings_of(settings) or nil
	end)
end

M.keys = PROJECT ---@type table<string, fun(v: any): any>

-- All wrong keys of runner.lua as one error: the message of the first, all in errors.
local function project_problem(path, wrong, value, text)
	local first, rows = nil, {}
	table.sort(wrong, function(a, b)
		return tostring(a) < tostring(b)
	end)
	for i, key in ipairs(wrong) do
		local e = require("runner.declare.declaration").project_problem(path, key, value[key], PROJECT, text)
		rows[i] = { field = tostring(key), code = e.code, message = e.message, fix_required = e.fix_required,
			line = e.context.line }
		first = first or e
	end
	first.errors = rows
	return first
end

-- The context whose settings lie over those of the file.
local function context_of(path)
	local settings = require("runner.core.attempt").place.settings or {}
	return settings.context and (settings.of == nil or settings.of == path) and "\0" .. settings.context or ""
end

---Tell the caller which settings a run has (REQ-F-028).
---@param path string of the file
---@param text string
function M.announce(path, text)
	local encode = require("runner.json").encode
	host.send("META", { name = "config_sources", data = encode({ path }, { envelope = true }) }, true)
	host.send("META", { name = "effective_config_hash", data = encode(host.digest(text .. context_of(path))) }, true)
end

-- What a project has to say of each call, once its command is known.
local function look(a)
	local project, mask = a.project, nil
	if project.scopes then
		require("runner.project.credential_scopes").look(a.command, project)
	end
	if project.audit then
		require("runner.project.audit").note(a)
	end
	if project.telemetry and a.command.path then -- built-in ones trace what they start
		mask = require("runner.telemetry.call").note(a)
	end
	return { wrapper = (project.before or project.after or project.groups) and "runner.ctx.wrappers", mask = mask }
end

---The settings of a runner.lua, checked.
---@param value any what the file returned
---@param text string of the file
---@param path string of the file
---@param project table gets its settings, in their normal form
---@return runner.Error? problem
function M.read(value, text, path, project)
	if type(value) ~= "table" then
		return require("runner.project.load_failure").invalid_file(path, path .. " must return a table",
			{ fix_required = "Write return { … } with the project's settings, or remove the file" })
	end
	local wrong = {}
	project.look = not project.unread and look or nil
	for key, v in pairs(value) do
		local accept = PROJECT[key]
		project[key] = accept and accept(v)
		if project[key] == nil then
			wrong[#wrong + 1] = key
		end
	end
	if project.name and select(2, host.bundle()) then
		require("runner.project.tool_name").settle(project)
	end
	return wrong[1] ~= nil and project_problem(path, wrong, value, text)
		or project.dotenv and not project.unread and require("runner.project.dotenv").apply(project.dotenv, path) or nil
end

return M
