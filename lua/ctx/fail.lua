-- fail: ctx:fail, which ends a run with an error code. Loaded only when something
-- has gone wrong.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"

local M = {}

local OURS = { phase = true, retries_exhausted = true } -- a script doesn't say these

-- A command to be run as it stands has nothing to fill in (REQ-C-030).
local function has_placeholder(command)
	return type(command) == "string" and (command:find "<[%w _-]+>" or command:find "%$[%w_{(]") ~= nil
end

-- The names in what a script gave that its error can't hold, in order.
local function refused(fields)
	local out = {}
	for name, v in next, fields do
		local nothing = name == "errors" and type(v) == "table" and next(v) == nil
		if OURS[name] or not errors.fields[name] or errors.fields[name](v) == nil and not nothing
			or name == "fix_command" and has_placeholder(v) then
			out[#out + 1] = name
		end
	end
	table.sort(out, function(a, b)
		return tostring(a) < tostring(b)
	end)
	return out
end

---Fail with a code of the registry or of the command's exit_codes. An ordinary,
---catchable error.
---@param _ runner.Context
---@param code string
---@param message? string
---@param fields? table retryable, retry_after_ms, retry_strategy, side_effects, suggestion, fix_required, context, data
function M.fail(_, code, message, fields)
	if not errors.well_formed(code) then
		local misuse = require "runner.ctx.misuse"
		misuse.raise("ctx:fail", ("it needs an error code first, such as NOT_FOUND, not %s"):format(misuse.shown(code)),
			('Write ctx:fail("GENERAL_ERROR", %s)'):format(type(code) == "string" and misuse.shown(code) or '"what went wrong"'))
	elseif type(fields or {}) ~= "table" then
		require("runner.ctx.misuse").raise("ctx:fail", ("the fields are a table such as { retryable = true }, not a %s"):format(type(fields)))
	end
	local e = errors.new(code, message, fields)
	for _, name in ipairs(fields and refused(fields) or {}) do
		attempt.warn("FIELD_IGNORED", require("runner.declare.declaration").failure_problem(name, fields[name]))
		e[name] = nil
	end
	error(e, 0)
end

return M
