-- enumeration: the values of an enumeration of src/common/names.def, for messages.

local host = require "runner.host"

local M = {}

---Its values as a message lists them: "a", "b" or "c".
---@param name string "danger_level"
---@return string
function M.text(name)
	local values = host.names(name)
	return '"' .. table.concat(values, '", "', 1, #values - 1) .. '" or "' .. values[#values] .. '"'
end

return M
