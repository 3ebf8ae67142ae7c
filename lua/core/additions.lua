-- additions: members that ctx puts beside those of the result: open_url, background_pid …
-- Loaded when there are any.

local attempt = require "runner.core.attempt"
local json = require "runner.json"

local M = {}

---The result with them. A member of the author's goes before one of ours; a list has no place
---for members, so that a warning has them.
---@param data any as attempt.wrap leaves it
---@return any
function M.to(data)
	local additions = attempt.additions
	if type(data) == "table" and (data[1] ~= nil or json.is_array(data)) then
		attempt.warn("RESULT_IS_LIST", "The result is a list, so that it can't have further members; they are in context", additions)
		return data
	end
	local out = {}
	for key, v in pairs(additions) do
		out[key] = v
	end
	for key, v in pairs(type(data) == "table" and data or {}) do
		out[key] = v
	end
	return out
end

return M
