-- older: a result in the form of an older version of its command (--schema-version, REQ-O-014): what
-- run returns is checked as it is, then made into the older form. Loaded where a caller asks for one.

local attempt = require "runner.core.attempt"
local checked = require "runner.output.checked"

local M = {}

---Before `run`.
---@param a runner.Attempt with `older`, of lua/project/call_flags.lua
function M.open(a)
	local older = a.older
	attempt.warn("SCHEMA_DEPRECATED", ("The result has the form of version %s; the current one is %s"):format(older.version, older.current),
		{ requested_version = older.version, current_version = older.current })
	checked.then_shape(a.command, older.shape)
end

return M
