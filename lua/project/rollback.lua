-- rollback: a failed run of a command that can undo what it did: --rollback-on-failure calls the
-- declaration's `rollback`, and the failure's data says what became of it. Loaded after a failure.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

-- The failure's own data, or a table for what is said here.
local function data_of(e)
	local data = attempt.wrap(e.data)
	return type(data) == "table" and data[1] == nil and data or {}
end

local function undo(a, e)
	local ok, raised, traceback, cancelled = host.protect(a.command.rollback, a.parsed.values, a.ctx, e)
	if cancelled and not ok then
		error("cancelled", 0)
	end
	return ok, not ok and errors.normalise(raised, traceback).message or nil
end

---Undo what a failed run did, where the caller wants it, and say so in its data.
---@param a runner.Attempt
---@param e runner.Error
---@return runner.Error
function M.conclude(a, e)
	local data, out = data_of(e), {}
	for key, v in next, data do
		out[key] = v
	end
	out.rollback_status = "not_attempted"
	if a.framework.rollback_on_failure then
		local done, why = undo(a, e)
		out.rollback_status, out.rollback_error = done and "completed" or "failed", why
	end
	e.data = out
	return e
end

return M
