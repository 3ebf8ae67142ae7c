-- cancellation: the end of a run for good, whichever process executes it: its processes, with proof, and what it has placed on executors.

local errors = require "runner.core.errors"
local host = require "runner.host"
local owner = require "runner.state.owner"

local M = {}

local WAIT_MS, LOOK_MS = 15000, 50
local SIGNAL = 'kill -TERM "$1"; kill -CONT "$1"' -- a run stopped by Ctrl+Z has to continue to end

-- Whom to signal: the supervisor of the process that holds the run. The pid in the store
-- may be reused by now: a process that resumes a run writes its own a little later.
local function supervisor_of(db, id, holder)
	local pid = math.tointeger(db:find(id).owner)
	return pid and pid > 1 and owner.is_child(holder, pid) and pid or nil
end

local function raise_stuck(id, pid)
	errors.raise("UNAVAILABLE", ("Process %d, which executes %s, has not ended"):format(pid, id),
		{ retryable = true, suggestion = "Try again; its steps may need more time to stop" })
end

-- Its supervisor ends it as Ctrl+C would: no process is left, and the store is updated.
local function end_owner(ctx, db, id)
	local give_up, signalled = host.now() + WAIT_MS, nil
	for holder in function() return db:owner(id) end do
		local pid = supervisor_of(db, id, holder)
		if pid and pid ~= signalled then
			ctx:run { "/bin/sh", "-c", SIGNAL, "sh", tostring(pid), ok_statuses = { 0, 1 } } -- 1: it is gone already
			signalled = pid
		elseif host.now() > give_up then
			raise_stuck(id, signalled or holder)
		end
		host.sleep(LOOK_MS)
	end
end

-- What it has placed on executors, and has left there; no other process watches it now.
local function end_elsewhere(db, id)
	if db:all_units(id)[1] then
		local placed = require "runner.workflow.run.placed"
		placed.check_ended(placed.end_all { id = id, db = db, failures = {} }, "runner workflow cancel " .. id)
	end
end

---End a run. One that has ended by itself meanwhile stays as it is. Raises UNAVAILABLE where something of it may still run.
---@param ctx runner.Context
---@param db runner.workflow.Store
---@param id string
---@return string state "cancelled", or "completed"
---@return boolean changed
function M.run(ctx, db, id)
	end_owner(ctx, db, id)
	local _ <close> = db:own(id)
	end_elsewhere(db, id)
	local state = db:find(id).state
	if state == "completed" or state == "cancelled" then
		return state, false
	end
	db:set_run(id, { state = "cancelled", code = "CANCELLED", message = "The run was cancelled" })
	return "cancelled", true
end

return M
