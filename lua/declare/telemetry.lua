-- telemetry: whether a project exports the traces of its runs, as `telemetry` of runner.lua says.

local rules = require "runner.core.rules"

local M = {}

local PARTS = { content = rules.flag, file = rules.text, service_name = rules.text }

---true, false or a table, in the normal form; nil: something in it is wrong.
---@param v any
---@return runner.Telemetry|false|nil
function M.accept(v)
	if v == false then
		return false
	elseif type(v) ~= "table" then
		return v == true and { content = false } or nil
	end
	local clean = true
	local out = rules.accept(PARTS, "telemetry", v, nil, function()
		clean = false
	end)
	out.content = out.content or false
	return clean and out or nil
end

return M
