-- audit: reads the audit ledger of a project: its calls, and whether it was changed.

local attempt = require "runner.core.attempt"
local audit = require "runner.project.audit"
local errors = require "runner.core.errors"
local json = require "runner.json"
local ledger = require "runner.ledger"

local M = {}

local SHOWN = 20 -- problems
local NOTHING = ("0"):rep(64)

-- The ledger's path and its open file; nil: nothing has been written yet.
local function open()
	local project = attempt.project
	if not project.audit then
		errors.raise("AUDIT_DISABLED", "This project keeps no audit ledger", { side_effects = "none" })
	end
	local path = audit.path(project)
	if not path then
		errors.raise("AUDIT_UNAVAILABLE", "There is no directory for the audit ledger", { side_effects = "none" })
	end
	local file, why, errno = io.open(path, "rb")
	if not file and errno ~= 2 then
		errors.raise("AUDIT_UNAVAILABLE", "Can't read the audit ledger: " .. why, { side_effects = "none", context = { path = path } })
	end
	return path, file
end

local function problem_of(line, last)
	local body, hash = line:match '^(.*),"hash":"(%x+)"}\n$'
	if not body then
		return "it is no whole row"
	elseif ledger.digest(body) ~= hash then
		return "it was changed"
	elseif body:match '"prev":"(%x+)"$' ~= last then
		return "rows before it were removed, added or changed", hash
	end
	return nil, hash
end

---Is each row as it was written, and does each follow the one before it?
---@return {path: string, rows: integer, head: string?, problems: {line: integer, problem: string}[]}
function M.verify()
	local path, file = open()
	local out, last = { path = path, rows = 0, problems = json.array {} }, NOTHING
	for line in file and file:lines "L" or function() end do
		out.rows = out.rows + 1
		local problem, hash = problem_of(line, last)
		if problem and #out.problems < SHOWN then
			out.problems[#out.problems + 1] = { line = out.rows, problem = problem }
		end
		last = hash or last
	end
	if file then
		file:close()
	end
	out.head = out.rows > 0 and last or nil
	return out
end

local COPIED = { "command", "uid", "user", "cwd", "project", "args", "policy", "dry_run", "trace_id", "job", "danger_level",
	"exit_code", "code", "side_effects", "attempts", "duration_ms", "client", "decision", "by", "flag", "rule", "policy_file", "reason" }

local function take(call, row)
	for _, key in ipairs(COPIED) do
		if row[key] ~= nil and row[key] ~= json.null then
			call[key] = row[key]
		end
	end
	if row.event == "begin" then
		call.began = call.began or row.time
	elseif row.event == "decision" then
		call.decided = row.time
	else
		call.ended = row.time
	end
end

local function state_of(call)
	local never = call.decision and call.decision ~= "confirmed"
	return (call.ended or never) and (call.began and "ended" or "not_run") or "open"
end

---The calls, oldest first. One that has begun and not ended is "open": it runs, or nothing was left of
---it that could say how it ended.
---@return table[] calls, integer damaged lines that are no row
function M.calls()
	local _, file = open()
	local list, by_id, damaged = json.array {}, {}, 0
	for line in file and file:lines "L" or function() end do
		local row = json.decode(line)
		local id = type(row) == "table" and row.request_id
		if type(id) == "string" then
			local key = id .. tostring(row.job) -- a job has the ID of the call that made it
			local call = by_id[key]
			if not call then
				call = { request_id = id }
				list[#list + 1], by_id[key] = call, call
			end
			take(call, row)
		else
			damaged = damaged + 1
		end
	end
	if file then
		file:close()
	end
	for _, call in ipairs(list) do
		call.state = state_of(call)
	end
	return list, damaged
end

return M
