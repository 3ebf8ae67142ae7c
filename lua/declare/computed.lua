-- computed: what functions of a declaration give: defaults, and lists of values. Loaded where a row has one, and
-- where anything is told of its values.

local errors = require "runner.core.errors"
local rules = require "runner.core.rules"

local M = {}

---Call a function of the declaration with the project's config. If it raises, the file
---is to blame, not the call, unless it raised an error with a code.
---@param row table
---@param key "default"|"values"
---@param config? table
---@return any
function M.value(row, key, config)
	local ok, given = pcall(row[key], config or {})
	if ok then
		return given
	end
	local e = errors.normalise(given)
	if e.code == "INTERNAL_ERROR" then
		e = errors.new("COMMAND_INVALID", ("%s of argument '%s' raised an error: %s"):format(key, row.name, e.message))
	end
	e.phase = "validation"
	error(e, 0)
end

---The values of an enum row; a function is called.
---@param row table
---@param config? table
---@return string[]?
function M.listed(row, config)
	local values = row.values
	if type(values) == "function" then
		values = rules.list(M.value(row, "values", config), 0, math.huge, function(v)
			return type(v) == "string" and v or nil
		end)
		if not values then
			errors.raise("COMMAND_INVALID",
				("values of argument '%s' must return a list of strings"):format(row.name), { phase = "validation" })
		end
	end
	return values
end

return M
