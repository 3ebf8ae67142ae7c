-- fail: ctx:fail, which ends a run with an error code. Loaded when something has gone
-- wrong, and not before.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"

local M = {}

---Fail with a code of the registry or of the command's exit_codes. An ordinary,
---catchable error.
---@param _ runner.Context
---@param code string
---@param message? string
---@param fields? table retryable, retry_after_ms, retry_strategy, side_effects, suggestion, fix_required, context, data
function M.fail(_, code, message, fields)
	if not errors.well_formed(code) then
		error(("ctx:fail needs an error code like NOT_FOUND, not %s"):format(tostring(code)), 2)
	elseif type(fields or {}) ~= "table" then
		error(("ctx:fail: the fields are a table such as { retryable = true }, not a %s"):format(type(fields)), 2)
	end
	local e = errors.new(code, message, fields)
	for _, name in ipairs(fields and errors.refused(fields) or {}) do
		attempt.warn("FIELD_IGNORED", require("runner.declare.declaration").failure_problem(name, fields[name]))
		e[name] = nil
	end
	error(e, 0)
end

return M
