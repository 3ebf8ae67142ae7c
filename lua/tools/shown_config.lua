-- shown_config: what --show-config prints: the settings that a call would have, and where each
-- comes from. Values whose names say that they are secret are not shown.

local attempt = require "runner.core.attempt"
local contract = require "runner.declare.contract"
local host = require "runner.host"
local json = require "runner.json"
local sorted = require "runner.core.sorted"

local M = {}

local ORDER = { "cli-flags", "env-vars", "command", "files", "default" }
local DEPTH_MAX = 20

local function file_of(project)
	return "file:" .. (project.file or "runner.lua")
end

-- "environment" → "env:RUNNER_TIMEOUT"
local function source_of(row, from, project)
	if from == "environment" or from == "env" then
		return "env:" .. (row and (row.read_from or row.env) or "?")
	elseif from == "runner.lua" then
		return file_of(project)
	elseif from == "flag" then
		return "flag:--" .. row.flag
	end
	return from
end

local LIMITS = { "timeout", "attempt_timeout", "idle_timeout", "grace" }

local function add_limits(a, rows, add)
	for _, name in ipairs(LIMITS) do
		local ms = a.settled[name .. "_ms"]
		add(name, ms == 0 and "none" or host.duration_text(ms), source_of(rows[name], a.settled.sources[name], a.project))
	end
	local sources, policy = require "runner.project.retry_sources"(a.settled), a.settled.policy
	add("retries", policy.retries, source_of(rows.retries, sources.retries, a.project))
	add("retry_delay", host.duration_text(policy.delay_ms), source_of(rows.retry_delay, sources.delay, a.project))
end

-- Flags that were given, here or by a variable.
local function add_flags(a, rows, add)
	for _, name in ipairs(sorted.keys(a.framework)) do
		local row = rows[name]
		if row and name ~= "show_config" then
			local secret = row.source or host.secret_name(name)
			add(name, secret and "[REDACTED]" or a.framework[name], source_of(row, a.parsed.framework_given[name], a.project))
		end
	end
end

local function add_table(name, value, source, add, depth)
	if type(value) ~= "table" or json.is_array(value) or value[1] ~= nil or depth > DEPTH_MAX then
		local plain = type(value) == "function" and "function" or value
		return add(name, host.secret_name(name:match "[^.]*$") and "[REDACTED]" or plain, source)
	end
	for _, key in ipairs(sorted.keys(value)) do
		add_table(("%s.%s"):format(name, tostring(key)), value[key], source, add, depth + 1)
	end
end

local function add_policy(policy, add)
	local from = "policy:" .. table.concat(policy.files, ",")
	for _, key in ipairs(sorted.keys(policy)) do
		add("policy." .. key, policy[key], from)
	end
end

local FROM_FILE = { "name", "description", "version", "exit_table", "commands", "scopes", "config" }

-- Lists load nothing of a project that this user has run no command of.
local function tell_unread(a)
	local root, has_file = require("runner.project.locate").project_root()
	if has_file and not a.project.file and not a.settings and require("runner.project.catalog").is_unread(a.project) then
		attempt.warn("PROJECT_UNREAD", ("%s/runner.lua is not read: you have run no command of this project"):format(root),
			{ path = root .. "/runner.lua", fix_required = "Run one of its commands, or name one: COMMAND --show-config" })
	end
end

---@param a runner.Attempt
---@return {effective_config: table<string, any>, sources: table<string, string>, precedence_order: string[]}
function M.describe(a)
	local effective, sources, rows = {}, {}, {}
	tell_unread(a)
	local function add(name, value, source)
		effective[name], sources[name] = value, source
	end
	for _, row in ipairs(contract.rows(a.command)) do
		rows[row.name] = row
	end
	add("format", a.format, "default")
	add("exit_table", require("runner.project.plan").exit_table(a.project) or "standard", "default")
	for _, name in ipairs(a.project.file and FROM_FILE or {}) do
		if a.project[name] ~= nil then
			add_table(name, a.project[name], file_of(a.project), add, 0)
		end
	end
	if os.getenv "RUNNER_EXIT_TABLE" then
		add("exit_table", a.launch.exit_table, "env:RUNNER_EXIT_TABLE")
	end
	add_flags(a, rows, add)
	add_limits(a, rows, add)
	if a.policy then
		add_policy(require("runner.project.policy_forecast").describe(), add)
	end
	return { effective_config = effective, sources = sources, precedence_order = json.array(ORDER) }
end

return M
