-- audit: who called what, in a ledger that only grows (src/engine/ledger.h), where runner.lua
-- switches it on: a row before each attempt's `run`, written here, and one at the end of the call,
-- which the supervisor writes whatever ended it (src/supervisor/audit.c).

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local rules = require "runner.core.rules"
local scope = require "runner.core.scope"
local tables = require "runner.core.tables"

local M = {}

local ROW_MAX = 16384 -- bytes
local PATH_MAX = 4095
local SILENT = { completion = true, help = true, manifest = true, several = true, ["audit.list"] = true, ["audit.verify"] = true }

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
	return tables.accepted(KEYS, v)
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

-- Of a call that is checked, its command alone: only its declaration says what of the rest is secret.
local function checked(a, words)
	local found = words[1] and require("runner.project.locate").find(require("runner.project.args").command_words(words), a.project)
	return { found and command_line.typed(found.name) or words[1] and "***" }
end

-- Secrets are *** by their declaration, and masked by their form.
local function arguments_of(a)
	local arguments = require("runner.core.confirmation").call().arguments
	if a.name == "policy.check" and not a.found.path then
		arguments.call = json.array(checked(a, arguments.call or {}))
	end
	arguments = a.mask and a.mask(arguments) or arguments
	local text = json.encode(arguments, { envelope = true }) or "{}"
	return attempt.veil(arguments, text) or arguments, text
end

local function policies(a)
	local out = json.array {}
	for i, policy in ipairs(a.policy and a.policy.list or {}) do
		out[i] = policy.path
	end
	return out[1] and out or nil
end

-- A place in the ledger before which this call has no row: a search for its rows from the end on stops there. Not
-- in the rows of another attempt.
local from ---@type integer?

-- Where its last rows are, of which one may be taken back.
local function near_end(path)
	return math.max(((fs.stat(path) or {}).size or 0) - 4 * ROW_MAX, 0)
end

-- A row of this process: whose it is, and where.
local function row_of(event, request_id, fields)
	local uid, user = require("runner.ledger").user()
	local row = { event = event, time = host.rfc3339(host.wall_ms()), request_id = request_id, uid = uid, user = user,
		login_uid = scope.login_uid(uid), project = scope.project(), cwd = host.getcwd(), subject = scope.subject(),
		client = scope.client(), from = from }
	return tables.add(row, fields)
end

local function begin_of(a)
	local ledger, file = require "runner.ledger", a.command.path
	local arguments, text = arguments_of(a)
	return row_of("begin", a.launch.request_id, { command = a.name, attempt = a.launch.attempt, pid = a.launch.supervisor,
		trace_id = a.launch.trace_id, job = a.launch.job, danger_level = a.command.danger_level, dry_run = a.dry_run or nil,
		policy = policies(a), file = file, file_sha256 = file and ledger.digest(fs.read(file) or "") or nil,
		args = arguments, args_sha256 = ledger.digest(text) })
end

local function encoded(row)
	local text = json.encode(row, { envelope = true })
	if not text or #text > ROW_MAX then
		row.args, row.truncated = nil, true
		text = assert(json.encode(row, { envelope = true }))
	end
	return text
end

---@return boolean ok
---@return string? why
local function append(project, row)
	local path = M.path(project)
	if not path then
		return false, "there is no directory for it: " .. paths.NO_STATE
	end
	local ok, why = fs.check_way(path)
	if ok then
		ok, why = require("runner.ledger").append(path, encoded(row), project.audit.sync)
	end
	return ok and true or false, why and ("%s: %s"):format(path, why)
end

-- The problem of a call whose row can't be written, where it must be; else a warning.
local function problem_of(a, why)
	local e = errors.new("AUDIT_UNAVAILABLE", "Can't record this call in the audit ledger: " .. why,
		{ phase = "validation", side_effects = "none", retryable = false, context = { path = M.path(a.project) } })
	if a.project.audit.required then
		return e
	end
	attempt.warn(e.code, e.message, e.context)
end

local noted, begun = false, false

---Write the row of this attempt, once, if the call is written down. Raises AUDIT_UNAVAILABLE.
---@param a runner.Attempt
function M.begin(a)
	if not noted or begun then
		return
	end
	local ok, why = append(a.project, begin_of(a))
	local problem = not ok and problem_of(a, why)
	if problem then
		error(problem, 0)
	end
	begun = true
end

-- Who agreed to this call, or did not (lua/core/confirmation.lua). Its beginning and its end are rows of their own.
local function decide(a, decision, by)
	if a.launch.job and by.by ~= "default" then
		return nil -- it was made before the job
	end
	by.decision, by.command, by.attempt, by.pid, by.trace_id = decision, a.name, a.launch.attempt, a.launch.supervisor, a.launch.trace_id
	by.danger_level, by.args = a.command and a.command.danger_level, a.command and a.parsed and arguments_of(a) or nil
	local ok, why = append(a.project, row_of("decision", a.launch.request_id, by))
	return not ok and problem_of(a, why) or nil
end

---The same of a call that a server did not make.
---@param project table
---@param request_id string
---@param fields table
---@return string? problem
function M.record(project, request_id, fields)
	if project and project.audit then
		local row = row_of("decision", request_id, fields)
		row.from = request_id == attempt.launch.request_id and from or near_end(M.path(project) or "")
		local ok, why = append(project, row)
		return not ok and why or nil
	end
end

---Have this call written down: its end from here on, and each beginning of `run`.
---@param a runner.Attempt
function M.note(a)
	local path, command = M.path(a.project), a.command or { name = a.name, path = a.found and a.found.path }
	if noted or attempt.policy and attempt.policy.checks or SILENT[command.name] and not command.path then
		return
	end
	if path and fs.check_way(path, 448) then -- 0700
		from = near_end(path)
		host.send("AUDIT", { text = path, name = scope.project(), message = scope.subject(), context = json.encode(scope.client()),
			rows = a.project.audit.sync and 1 or 0, max_bytes = from }, true)
		from = a.launch.attempt == 1 and from or nil
		host.send("META", { name = "audit_log_path", data = json.encode(path, { envelope = true }) }, true)
	end
	noted = true
	require("runner.core.confirmation").record_with(function(decision, by)
		return decide(a, decision, by)
	end)
	if a.command then
		attempt.around("run", function(run, ...)
			M.begin(a)
			return run(...)
		end)
	end
end

return M
