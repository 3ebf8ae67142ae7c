-- lock: ctx:lock, one holder at a time between processes. Loaded on first use.
-- The lock itself is the system's (runner.fs: flock), so it ends with the
-- process of the attempt, however that ends; there is nothing to clean up.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local attempt = require "runner.core.attempt"
local paths = require "runner.core.paths"
local retry_budget = require "runner.core.retry_budget"

local M = {}

local WAIT_DEFAULT_MS = 10000
local SLICE_FIRST_MS, SLICE_MOST_MS = 100, 1000
local MARGIN_MS = 100 -- the answer "held" must come before the deadline does

-- Handles of this attempt, by path. They stay here, so that the collector does
-- not release a lock whose handle the script didn't keep.
local held = {}

---@class runner.Lock
---@field path string the lock file
local Lock = {}
Lock.__index = Lock
Lock.__name = "runner.Lock"

---Release the lock. Idempotent. The end of the attempt does it as well.
function Lock:release()
	local handle = rawget(self, "_handle")
	if handle then
		self._handle = nil
		held[self.path] = nil
		handle:release()
	end
end

Lock.__close = Lock.release

local LONGEST = 200 -- bytes of a file name, without ".lock"

-- --- where ---------------------------------------------------------------------

local function default_path(name)
	local dir, why = require("runner.core.own_state").locks()
	return dir and ("%s/%s.lock"):format(dir, paths.file_name(name, LONGEST))
		or errors.raise("PRECONDITION", ("No place for the lock '%s': %s"):format(name, why),
			{ suggestion = "Set XDG_STATE_HOME to a directory you may write to, or give ctx:lock a `path`" })
end

-- --- options ---------------------------------------------------------------------

local KNOWN = {
	wait = function() return true end, -- wait_ms_of looks
	shared = function(v) return type(v) == "boolean" end,
	path = function(v) return type(v) == "string" and v ~= "" end,
	code = errors.well_formed,
}

local function misused(...)
	require("runner.ctx.misuse").raise("ctx:lock", ...)
end

local function wait_ms_of(wait)
	if wait == nil then
		return WAIT_DEFAULT_MS
	end
	return require("runner.core.rules").duration(wait) or require("runner.ctx.misuse").duration("ctx:lock", "wait", wait)
end

local function read_options(name, opts)
	if type(name) ~= "string" or name == "" then
		misused("it needs a name, such as the target that it protects", 'Write ctx:lock("name", { wait = "10s" })')
	end
	if type(opts) ~= "table" then
		misused(('the options are a table such as { wait = "10s" }, not a %s'):format(type(opts)))
	end
	for key, value in next, opts do
		if not KNOWN[key] then
			require("runner.ctx.misuse").unknown("ctx:lock", key, require("runner.core.tables").sorted_keys(KNOWN))
		elseif not KNOWN[key](value) then
			misused(("%s = %s is invalid"):format(key, tostring(value)))
		end
	end
	return {
		name = name, path = opts.path or default_path(name), linked = not opts.path, -- in our folder a command that is confined may add names
		shared = opts.shared and true or false,
		wait_ms = wait_ms_of(opts.wait), code = opts.code or "LOCK_HELD",
	}
end

-- --- waiting -----------------------------------------------------------------------

-- ms that may pass until we must answer.
local function time_left(lock, started)
	local left = lock.wait_ms - (host.now() - started)
	local until_deadline = host.remaining()
	return until_deadline and math.min(left, until_deadline - MARGIN_MS) or left
end

-- Each slice is one repetition (meta.retries, --retries); within it the worker
-- sleeps until the holder lets go, so that a freed lock is taken at once.
local function wait_for(lock)
	local started, slice = host.now(), math.max(retry_budget.delay_ms() or SLICE_FIRST_MS, 1)
	local most = math.max(slice, SLICE_MOST_MS)
	local handle, why, about = fs.lock(lock.path, { shared = lock.shared, linked = lock.linked })
	while why == "held" and retry_budget.budget() ~= 0 do
		local left = time_left(lock, started)
		if left < 1 then
			break
		end
		retry_budget.note()
		handle, why, about = fs.lock(lock.path,
			{ shared = lock.shared, linked = lock.linked, wait_ms = math.floor(math.min(slice, left)) })
		slice = math.min(slice * 2, most)
	end
	return handle, why, about
end

-- Our own wait does not count as idle. Cancellation passes through, and then it doesn't matter.
local function take(lock)
	if attempt.trace then
		attempt.trace(("ctx:lock %s, %s"):format(lock.name, lock.path))
	end
	host.hold(1)
	local handle, why, about = wait_for(lock)
	host.hold(-1)
	return handle, why, about
end

-- --- failures ------------------------------------------------------------------------

local function age_text(ms)
	return ms < 1000 and "less than a second" or host.duration_text(ms // 1000 * 1000)
end

local function raise_held(lock, holder)
	local by = holder.pid and ("by process %d for %s"):format(holder.pid, age_text(holder.age_ms))
		or "by another process"
	errors.raise(lock.code, ("The lock '%s' is held %s"):format(lock.name, by),
		{ context = { lock_file = lock.path, holder_pid = holder.pid, holder_age_ms = holder.age_ms } })
end

local function raise_own(lock)
	errors.raise(lock.code, ("The lock '%s' is held by this very command: release it before taking it again")
		:format(lock.name), { retryable = false, context = { lock_file = lock.path } })
end

local CODES = { EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOENT = "PRECONDITION", ELOOP = "PRECONDITION", ENOTDIR = "PRECONDITION", EISDIR = "PRECONDITION" }

local function raise_unusable(lock, message, name)
	errors.raise(CODES[name] or "UNAVAILABLE", ("Can't use the lock file: %s"):format(message),
		{ suggestion = "Give ctx:lock a `path` that you may write to", context = { lock_file = lock.path } })
end

---Take the lock `name`, or raise LOCK_HELD. It is held until release(), or to
---the end of the attempt (`cleanup` included). Waits up to `wait`, which
---`--retries 0` switches off, and never past the attempt's own deadline.
---@param _ table ctx
---@param name string
---@param opts? {wait?: string|number, shared?: boolean, path?: string, code?: string} wait: default "10s"
---@return runner.Lock
function M.lock(_, name, opts)
	local lock = read_options(name, opts or {})
	local own = held[lock.path]
	if own and not (own.shared and lock.shared) then
		raise_own(lock)
	end
	local handle, why, about = take(lock)
	if not handle then
		if why == "held" then
			raise_held(lock, about)
		end
		raise_unusable(lock, why, about)
	end
	local made = setmetatable({ path = lock.path, shared = lock.shared, _handle = handle }, Lock)
	held[lock.path] = made
	return made
end

return M
