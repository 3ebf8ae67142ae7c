-- computed: what functions of a declaration give: defaults, and lists of values. Loaded where a row has one, and
-- where anything is told of its values.

local errors = require "runner.core.errors"
local rules = require "runner.core.rules"

local M = {}

---Functions of a project whose files are not run (lua/project/inert.lua): what they give is not known.
---@type table<function, true>
M.uncalled = setmetatable({}, { __mode = "k" })

---What would have been called: the last row whose function gives it.
---@type {values?: table, default?: table}
M.unasked = {}

local has_warned

---Say that the values of the row, and of others like it, are not known. Else nothing, or anything, would be taken for them.
---@param row table
function M.warn_uncalled(row)
	if not has_warned then
		require("runner.core.attempt").warn("VALUES_UNREAD", ("The values of '%s', and of other arguments whose values a function gives, "
			.. "are not known: no command of this project has run for you, so its files were read and not run"):format(row.name))
	end
	has_warned = true
end

---Call a function of the declaration with the project's config. If it raises, the file
---is to blame, not the call, unless it raised an error with a code.
---@param row table
---@param key "default"|"values"
---@param config? table
---@return any
function M.value(row, key, config)
	M.unasked[key] = M.uncalled[row[key]] and row or M.unasked[key]
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

---The values of an enum row; a function is called. nil: there are none, or they are not known.
---@param row table
---@param config? table
---@return string[]?
function M.listed(row, config)
	local values = row.values
	if M.uncalled[values] then
		M.unasked.values = row
		return nil
	elseif type(values) == "function" then
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

---The default of an argument. A function's value depends on the run, and a secret's on who reads the file.
---@param row table normalised
---@return any nil: none that can be shown
function M.default(row)
	local v = row.default
	if row.default_key then
		return require("runner.declare.flags").default(row)
	elseif v == nil or type(v) == "function" or row.secret then
		return nil
	elseif row.type == "duration" then
		return require("runner.host").duration_text(rules.milliseconds(v))
	end
	return row.type == "array" and require("runner.json").array(table.move(v, 1, #v, 1, {})) or v
end

return M
