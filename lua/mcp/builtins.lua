-- builtins: which built-in commands may be tools. What only reads how runs went is listed; what
-- runs files or code, or writes, needs --allow NAME; what serves or belongs to a person at a
-- terminal never is one. A built-in command that stands in neither list needs --allow.

local set_of = require("runner.core.set").of

local M = {}

---@type table<string, true>
local LISTED = set_of "job.list job.logs job.status job.wait workflow.list workflow.logs workflow.show workflow.stats workflow.wait"

---@type table<string, true>
local NEVER = set_of [[completion exec flame help manifest mcp.install mcp.serve mcp.tools mcp.validate new types workflow.new]]

---@param name string dot path, perhaps with "self." in front
---@return "always"|"allow"|"never"
function M.listing(name)
	name = name:gsub("^self%.", "")
	return LISTED[name] and "always" or NEVER[name] and "never" or "allow"
end

return M
