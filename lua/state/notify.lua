-- notify: the program of a project that calls somebody when a call begins to wait for a person (`notify` of runner.lua). It is told which
-- one, and ends soon, or is ended. What becomes of it changes nothing but a warning.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local process = require "runner.process"

local M = {}

local LIMIT_MS, GRACE_MS, OUTPUT = 5000, 500, 4096

local function supervise(handle, limit_ms, grace_ms)
	local set, late = process.set { handle }, false
	set:limit(limit_ms)
	while true do
		local kind, text = set:wait(false, true)
		if kind == "done" then
			return late
		elseif kind ~= "line" then
			late = text or true
			set:stop(grace_ms)
		end
	end
end

-- Why nobody was called; nil: the program said that it did.
local function run(argv, row)
	local call = json.decode(row.call)
	call.words, call.env = nil, nil
	local about = assert(json.encode({ approval = row.id, message = row.message, shown = row.shown, subject = row.subject,
		instance = os.getenv "RUNNER_INSTANCE_ID", project = row.project,
		deadline = host.rfc3339(row.deadline_ms), call = call }, { envelope = true }))
	local left = math.max(0, host.remaining() or math.huge) -- of the call, which says afterwards that it waits
	local limit_ms, grace_ms = math.floor(math.min(LIMIT_MS, left / 2)), math.floor(math.min(GRACE_MS, left / 8))
	local handle <close>, why = process.start { argv = argv, env = { "RUNNER_APPROVAL=" .. row.id }, stdin = about .. "\n",
		capture = true, cap = OUTPUT, cwd = row.project ~= "" and row.project or nil, grace_ms = grace_ms }
	if not handle then
		return tostring(why)
	end
	local late, result = supervise(handle, limit_ms, grace_ms), handle:result()
	if late then
		return ("it took longer than %s"):format(host.duration_text(limit_ms))
	elseif result.status ~= 0 then
		return "it exited with " .. (result.status or result.signal) -- what it wrote is not for the caller
	end
end

---Call somebody. Raises a cancellation alone.
---@param row table of the call that waits
---@return boolean called
function M.call(row)
	local ok, why, _, cancelled = host.protect(run, attempt.project.notify, row)
	if not ok and cancelled then
		error("cancelled", 0)
	elseif why then
		attempt.warn("NOTIFY_FAILED", ("notify of the project could not call anybody about %s: %s"):format(row.id,
			host.clean(ok and why or require("runner.core.errors").normalise(why).message)), { approval = row.id })
	end
	return ok and not why
end

return M
