-- dependencies: what a project needs besides its command files, as runner.lua lists it: programs
-- and services, each with the command that tells its version. The manifest publishes them,
-- `runner doctor` checks them.

local rules = require "runner.core.rules"

local M = {}

local VERSION = rules.matching("^%d[%w.+-]*$", 64)

local PARTS = {
	name = rules.text, check_command = rules.text, fix_command = rules.text, max_version = VERSION,
	min_version = function(v) return v == "*" and v or VERSION(v) end,
}

local function dependency(v)
	local clean = type(v) == "table"
	local out = rules.accept(PARTS, "dependencies", v, nil, function()
		clean = false
	end)
	if not (clean and out.name and out.min_version) or out.name:find "^%-" then
		return nil
	end
	out.check_command = out.check_command or out.name .. " --version"
	return out
end

---The list of a runner.lua in its normal form; nil: something in it is wrong.
---@param v any
---@return runner.Dependency[]?
function M.accept(v)
	return rules.list(v, 1, 1000, dependency)
end

return M
