-- owner: the process that executes a run: the one that holds the lock (flock) on
-- runs/ID.lock next to the database. The lock ends when its holder does, however that
-- dies, and when the last of its steps is gone: their shepherds hold it too. Releasing
-- the lock removes the file, and who takes one removes those of dead holders, so that
-- none is left.

local waiting = require "runner.core.waiting"
local errors = require "runner.core.errors"
local failures = require "runner.state.failures"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local PROBE_MS = 250 -- a check takes the lock for an instant
local ORPHANS_MS = 10000 -- the grace of a step whose runner was killed

---@class runner.workflow.Ownership
---@field path string
local Ownership = {}
Ownership.__index = Ownership

---Release the run. Idempotent. Closing the store and the end of the process do it too.
function Ownership:release()
	local handle = self._handle
	if handle then
		self._handle = nil
		fs.unlink(self.path) -- still locked: a process that waits for this file sees that it is gone
		handle:release()
	end
end

Ownership.__close = Ownership.release

-- One file name for each id: anything but plain characters becomes %XX.
local function lock_path(dir, id)
	local plain = require("runner.core.encoding").percent(id, "%w._-")
	return ("%s/runs/%s.lock"):format(dir, #plain > 200 and plain:sub(1, 180) .. host.digest(id) or plain)
end

local function raise_held(id, path, holder)
	errors.raise("LOCK_HELD", ("Run %s is in use by another process%s")
		:format(id, holder.pid and (" (%d)"):format(holder.pid) or ""), {
			retryable = false, suggestion = ("Wait for it to end, or stop it: runner workflow cancel %s"):format(id),
			context = { run = id, owner_pid = holder.pid, lock_file = path },
		})
end

---The lock, for a step's shepherd to hold until the step's tree is gone.
---@return userdata? lock of runner.fs
function Ownership:handle()
	return self._handle
end

-- Its KILL is pending: nothing runs in it any more (proc(5); one bit for each signal, from 1).
local function is_killed(pid)
	local status = fs.read(("/proc/%d/status"):format(pid)) or ""
	for bits in status:gmatch "\nS[ih][gd]Pnd:%s*(%x+)" do
		if tonumber(bits, 16) & 0x100 ~= 0 then
			return true
		end
	end
	return false
end

-- A zombie is dead too, and so is a process that exits (PF_EXITING of the kernel's
-- linux/sched.h): on a busy machine it may take a second to give up its memory, and its
-- files after that.
local function is_dead(pid)
	local stat = fs.read(("/proc/%d/stat"):format(pid))
	local state, flags = (stat or ""):match "^.*%) (%S) %S+ %S+ %S+ %S+ %S+ (%d+) "
	return not stat or state == "Z" or state == "X" or math.tointeger(flags or 0) & 4 ~= 0 or is_killed(pid)
end

-- The shepherds of a dead owner soon end its steps. A new holder locks the file before
-- it writes its pid: until then the file names the previous one.
local function take_lock(path)
	local give_up = host.now() + ORPHANS_MS
	local handle, why, about
	repeat
		handle, why, about = fs.lock(path, { wait_ms = PROBE_MS })
	until why ~= "held" or not (about.pid and is_dead(about.pid)) or host.now() > give_up
	return handle, why, about
end

-- A file whose lock can be had has no holder: a process that waits for it sees that it is gone.
local function remove_free(path)
	local handle = fs.lock(path)
	if handle then
		fs.unlink(path)
		handle:release()
	end
end

local function remove_stale(dir, own)
	for _, name in ipairs(fs.list(dir .. "/runs") or {}) do
		local path = ("%s/runs/%s"):format(dir, name)
		if path ~= own and name:find "%.lock$" then
			remove_free(path)
		end
	end
	if fs.stat(dir .. "/runs.lock") then
		remove_free(dir .. "/runs.lock")
	end
end

---Take the run for this process, or raise LOCK_HELD.
---@param database runner.workflow.Database
---@param dir string
---@param id string
---@return runner.workflow.Ownership
function M.take(database, dir, id)
	local path = lock_path(dir, id)
	local ok, message, name = fs.mkdirs(dir .. "/runs", 448)
	if not ok then
		failures.raise(database.path, message, name)
	end
	local handle, why, about = take_lock(path)
	if why == "held" then
		raise_held(id, path, about)
	elseif not handle then
		failures.raise(database.path, why, about)
	end
	remove_stale(dir, path)
	return setmetatable({ path = path, _handle = handle }, Ownership)
end

---The pid of the live process that holds the run; nil when none does.
---@param dir string
---@param id string
---@return integer?
function M.holder(dir, id)
	local about = fs.locked(lock_path(dir, id))
	return about and (about.pid or 0)
end

---Wait until no process holds the run, or until `also` says so, at most this long. Nothing is
---locked and nothing is left, so that we are in no other process's way.
---@param dir string
---@param id string
---@param ms integer
---@param also? fun(): boolean
---@param ... string files, one of which changes before `also` has another answer
---@return boolean free no process holds it; false: the time is over, or `also` says so
function M.wait(dir, id, ms, also, ...)
	local path = lock_path(dir, id)
	return waiting.for_change(ms, function()
		return not fs.locked(path) and "free" or also and also() and "also"
	end, path, ...) == "free"
end

---Is a process one that has started this one, or what it was started by?
---@param pid integer
---@return boolean
function M.is_above(pid)
	local at = math.tointeger(tonumber((fs.readlink "/proc/self")))
	while at and at > 1 and at ~= pid do
		at = math.tointeger(tonumber(((fs.read(("/proc/%d/stat"):format(at)) or ""):match "^.*%) %S (%d+)")))
	end
	return at == pid
end

---Is a process the child of another? True where that is unknown.
---@param pid integer
---@param parent integer
---@return boolean
function M.is_child(pid, parent)
	local stat = fs.read(("/proc/%d/stat"):format(pid))
	if stat then
		return stat:match "%) %S (%d+) [^)]*$" == tostring(parent)
	end
	return not fs.stat "/proc/self/stat"
end

return M
