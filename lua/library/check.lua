-- check: what the modules for scripts demand of their arguments. A wrong type is a bug of the
-- script, so the error is a plain one with the script's own line (INTERNAL_ERROR); text that
-- can't be read is PRECONDITION.

local errors = require "runner.core.errors"
local raised = require "runner.core.raised"

local M = {}

---Raise a wrong use, at the script's line.
---@param what string "path.join"
---@param message string
function M.misuse(what, message)
	error(("%s%s: %s"):format(raised.call_site "library/", what, message), 0)
end

---@param what string "path.join"
---@param n integer which argument
---@param value any
---@param kind string as `type` names it
function M.kind(what, n, value, kind)
	if type(value) ~= kind then
		M.misuse(what, ("argument %d must be a %s, not %s"):format(n, kind, value == nil and "nil" or "a " .. type(value)))
	end
end

---@param what string "path.join"
---@param ... any arguments that must be strings
function M.strings(what, ...)
	for n = 1, select("#", ...) do
		M.kind(what, n, (select(n, ...)), "string")
	end
end

---Raise PRECONDITION: a text is not what it should be.
---@param message string
---@param fields? table
function M.refuse(message, fields)
	errors.raise("PRECONDITION", message, fields)
end

return M
