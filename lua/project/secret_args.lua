-- secret_args: arguments declared secret: their values leave the worker in no frame. Loaded
-- if a command declares one.

local attempt = require "runner.core.attempt"

local M = {}

local function add(list, value)
	if type(value) == "table" then
		for _, item in ipairs(value) do
			add(list, item)
		end
	elseif type(value) == "string" or type(value) == "number" then
		list[#list + 1] = tostring(value)
	end
end

---Hide the values of secret rows from here on.
---@param rows table[] normalised
---@param values table<string, any>
function M.hide(rows, values)
	local list = {}
	for _, row in ipairs(rows) do
		if row.secret then
			add(list, values[row.name])
		end
	end
	attempt.mask = require("runner.core.mask").guard(list)
end

return M
