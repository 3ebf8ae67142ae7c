-- idempotency_keys: the calls that were made with an idempotency key, in the table `keys` of the run
-- database. A row is committed before the command runs, so a call that finds it knows: it is
-- running, it has ended, or that is unknown (docs/design.md#idempotency-keys). It stores no secret:
-- arguments and data arrive masked.

local errors = require "runner.core.errors"
local fs = require "runner.fs"

local M = {}

local KEPT_MS = 24 * 3600 * 1000

---@class runner.KeyId
---@field user integer
---@field project string the project's directory
---@field command string
---@field key string

-- --- owners ---------------------------------------------------------------------------------

-- Fields of /proc/PID/stat after the name: state, and start, which tells a reused pid.
local function stat_of(pid)
	local stat = fs.read(("/proc/%d/stat"):format(pid))
	local rest = stat and stat:match "%) (.*)$"
	if not rest then
		return nil
	end
	local fields = {}
	for field in rest:gmatch "%S+" do
		fields[#fields + 1] = field
	end
	return fields[1], fields[20]
end

-- This boot and this pid namespace: elsewhere, a pid says nothing.
local function world()
	return (fs.read "/proc/sys/kernel/random/boot_id" or "?"):match "%S*" .. " " .. (fs.readlink "/proc/self/ns/pid" or "?")
end

---A process, told from every other.
---@param pid integer
---@return string
function M.owner(pid)
	local _, start = stat_of(pid)
	return ("%d %s %s"):format(pid, start or "?", world())
end

---@param owner string as M.owner gives it
---@return boolean
function M.is_alive(owner)
	local pid, start, where = owner:match "^(%d+) (%S+) (.*)$"
	if where ~= world() then
		return false
	end
	local state, now = stat_of(math.tointeger(tonumber(pid)))
	return state ~= nil and state ~= "Z" and state ~= "X" and now == start
end

-- --- what a row means -------------------------------------------------------------------------

local function context_of(row)
	return { idempotency_key = row.key, first_request_id = row.request_id, first_call_ms = row.created_ms }
end

local function raise_conflict(row)
	errors.raise("CONFLICT", ("The idempotency key '%s' was used with other arguments"):format(row.key), {
		context = context_of(row),
		suggestion = "Repeat the call with the arguments that it had, or use a new key if another call is meant", side_effects = "none" })
end

local function raise_running(row)
	local context = context_of(row)
	context.owner_pid = math.tointeger(tonumber(row.owner:match "^%d+"))
	errors.raise("LOCK_HELD", ("A call with the idempotency key '%s' is still running"):format(row.key),
		{ context = context, side_effects = "none" })
end

local function raise_doubt(row)
	errors.raise("IN_DOUBT", ("A call with the idempotency key '%s' began and did not finish: nobody knows what it did")
		:format(row.key), { context = context_of(row), retryable = false, side_effects = "none",
		suggestion = "Find out what it did; only if it did nothing, make the call again with a new key" })
end

-- --- the table ----------------------------------------------------------------------------------

local WHERE = "user = ? AND project = ? AND command = ? AND key = ?"

local function forget_old(db, now)
	db:run("DELETE FROM keys WHERE state != 'running' AND created_ms < ?", now - KEPT_MS)
end

local function own(db, id, call)
	db:run("REPLACE INTO keys (user, project, command, key, state, created_ms, owner, request_id, arguments) "
		.. "VALUES (?, ?, ?, ?, 'running', ?, ?, ?, ?)",
		id.user, id.project, id.command, id.key, call.now_ms, call.owner, call.request_id, call.arguments)
end

-- The row of a call that has ended; nil: this call owns the key now.
local function take(db, id, call)
	forget_old(db, call.now_ms)
	local row = db:row("SELECT * FROM keys WHERE " .. WHERE, id.user, id.project, id.command, id.key)
	local free = row and row.state == "free" and (row.owner == call.owner or not M.is_alive(row.owner))
	if not row or free or row.owner == call.owner and row.state == "running" then
		return own(db, id, call)
	elseif row.arguments ~= call.arguments then
		raise_conflict(row)
	elseif row.state == "done" then
		return row
	elseif M.is_alive(row.owner) then
		raise_running(row)
	elseif call.resumes then
		return own(db, id, call)
	end
	raise_doubt(row)
end

---Take the key for this call, or find what it had as its answer. Raises CONFLICT (other
---arguments), LOCK_HELD (it is running) and IN_DOUBT (its owner died, or it failed after it
---had changed something).
---@param db runner.workflow.Database
---@param id runner.KeyId
---@param call {owner: string, arguments: string, request_id: string, now_ms: integer, resumes: boolean?} resumes: what a dead owner did
---is known
---@return {data: string}? row of a call that has ended; nil: run it
function M.take(db, id, call)
	return db:write(take, db, id, call)
end

---Record how the call has ended, if the key is still this owner's.
---@param db runner.workflow.Database
---@param id runner.KeyId
---@param owner string
---@param state "done"|"free" free: nothing was changed, so the key may be used again
---@param data? string JSON
function M.finish(db, id, owner, state, data)
	db:write(function()
		db:run("UPDATE keys SET state = ?, data = ? WHERE owner = ? AND " .. WHERE, state, data, owner, id.user, id.project,
			id.command, id.key)
	end)
end

return M
