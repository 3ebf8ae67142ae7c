-- retention: how long a project keeps the runs of its workflows, as `retention` of runner.lua says.

local rules = require "runner.core.rules"

local M = {}

local PARTS = {
	older_than = function(v)
		local ms = rules.duration(v)
		return ms ~= 0 and ms or nil
	end,
	max_size = function(v) return rules.size(v, 0) end,
	keep = rules.whole(0, 1000000000),
	failed = rules.flag, interrupted = rules.flag,
}

---The table of a runner.lua in its normal form; nil: something in it is wrong, or nothing says which runs go.
---@param v any
---@return runner.workflow.Keeping?
function M.accept(v)
	local clean = type(v) == "table"
	local out = rules.accept(PARTS, "retention", v, nil, function()
		clean = false
	end)
	if not clean or not (out.older_than or out.max_size or out.keep) then
		return nil
	end
	out.older_than_ms, out.older_than = out.older_than, nil
	return out
end

return M
