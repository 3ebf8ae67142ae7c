-- audit: who called what, in a ledger that only grows (src/engine/ledger.h), where runner.lua
-- switches it on: a row before each attempt's `run`, written here, and one at the end of the call,
-- which the supervisor writes whatever ended it (src/supervisor/audit.c).

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local rules = require "runner.core.rules"

local M = {}

local ROW_MAX = 16384 -- bytes
local PATH_MAX = 4095
local SILENT = { completion = true, help = true, manifest = true, ["audit.list"] = true, ["audit.verify"] = true }

local KEYS = {
	path = function(v) return rules.text(v) and not v:find("\0", 1, true) and v or nil end,
	required = rules.flag, sync = rules.flag,
}

---The normal form of `audit` in runner.lua: a table, or false; nil: it is wrong.
---@param v any
---@return table|false|nil
function M.accept(v)
	if type(v) == "boolean" then
		return v and {}
	end
	local clean = type(v) == "table"
	local out = rules.accept(KEYS, "audit", v, nil, function()
		clean = false
	end)
	return clean and out or nil
end

---The file of a project's ledger; nil: there is no directory for it.
---@param project table with `audit`
---@return string?
function M.path(project)
	local given, state = project.audit.path, paths.state()
	local path = given and paths.declared(given, project.root or host.getcwd() or "/") or state and state .. "/audit.jsonl"
	return path and #path <= PATH_MAX and path or nil
end

-- --- a row ------------------------------------------------------------------------------

-- Secrets are *** by their declaration, and masked by their form.
local function arguments_of(a)
	local arguments = require("runner.core.confirmation").call().arguments
	arguments = a.mask and a.mask(arguments) or arguments
	local text = json.encode(arguments, { envelope = true }) or "{}"
	return require("runner.core.attempt").veil(arguments, text) or arguments, text
end

local function policies(a)
	local out = json.array {}
	for i, policy in ipairs(a.policy and a.policy.list or {}) do
		out[i] = policy.path
	end
	return out[1] and out or nil
end

local function row_of(a)
	local ledger, file = require "runner.ledger", a.command.path
	local arguments, text = arguments_of(a)
	local row = {
		event = "begin", time = host.rfc3339(host.wall_ms()), request_id = a.launch.request_id, command = a.name,
		attempt = a.launch.attempt, uid = fs.stat("/proc/self").uid, user = os.getenv "USER", pid = a.launch.supervisor,
		trace_id = a.launch.trace_id, job = a.launch.job, project = a.project.root, cwd = host.getcwd(),
		danger_level = a.command.danger_level, dry_run = a.dry_run or nil, policy = policies(a),
		file = file, file_sha256 = file and ledger.digest(fs.read(file) or "") or nil,
		args = arguments, args_sha256 = ledger.digest(text),
	}
	local encoded = json.encode(row, { envelope = true })
	if not encoded or #encoded > ROW_MAX then
		row.args, row.truncated = nil, true
		encoded = assert(json.encode(row, { envelope = true }))
	end
	return encoded
end

local function fail(a, why)
	local e = errors.new("AUDIT_UNAVAILABLE", "Can't record this call in the audit ledger: " .. why,
		{ phase = "validation", side_effects = "none", retryable = false, context = { path = M.path(a.project) } })
	if a.project.audit.required then
		error(e, 0)
	end
	require("runner.core.attempt").warn(e.code, e.message, e.context)
end

local function begin(a, path)
	if not path then
		return fail(a, "there is no directory for it: " .. paths.NO_STATE)
	end
	local ok, why = fs.mkdirs(path:match "^(.*)/" .. "/", 448) -- 0700
	if ok then
		ok, why = require("runner.ledger").append(path, row_of(a), a.project.audit.sync)
	end
	if not ok then
		fail(a, ("%s: %s"):format(path, why))
	end
end

---Have this call written down: its end from here on, and each beginning of `run`.
---@param a runner.Attempt
function M.note(a)
	local path, command = M.path(a.project), a.command or { name = a.name, path = a.found and a.found.path }
	if a.audit_begin or SILENT[command.name] and not command.path then
		return
	end
	if path then
		host.send("AUDIT", { text = path, rows = a.project.audit.sync and 1 or 0 }, true)
		host.send("META", { name = "audit_log_path", data = json.encode(path, { envelope = true }) }, true)
	end
	local begun, run = false, a.command and a.command.run
	function a.audit_begin()
		if not begun then
			begin(a, path)
			begun = true
		end
	end
	if run then
		a.command.run = function(...)
			a.audit_begin()
			return run(...)
		end
	end
end

return M
