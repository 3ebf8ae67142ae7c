-- large_value: a value of a step's result that is not in memory: an output that is kept in a file,
-- or one that was cut and therefore can't be used. lua/workflow/expr/variables.lua asks
-- here whenever a value is read; lua/workflow/run/outputs.lua makes them.

local errors = require "runner.core.errors"
local fs = require "runner.fs"

local M = {}

local MIB = 1 << 20

---@class runner.workflow.LargeValue
---@field step string key of the step whose output it is
---@field bytes integer of the whole output
---@field file string? where all of it is
---@field cut integer? bytes that are missing
---@field why string? what kept it from being stored whole
---@field get (fun(text: string?): any)? what its value is; default: the text
local LargeValue = {}
LargeValue.__index = LargeValue
LargeValue.__name = "runner.workflow.LargeValue"

---@param fields table as the class has them
---@return runner.workflow.LargeValue
function M.new(fields)
	return setmetatable(fields, LargeValue)
end

---What f(…) returns. If it raises, and `begun`: an earlier process had the value, and the store has not: a failure of what uses it.
---@param begun boolean?
---@param f function
---@return any
function M.known(begun, f, ...)
	local ok, value = pcall(f, ...)
	if ok then
		return value
	elseif not begun or type(value) == "userdata" then
		error(value, 0)
	end
	local e = errors.normalise(value)
	return M.new { step = "", bytes = 0, get = function()
		errors.raise(e.code, e.message, { suggestion = e.suggestion })
	end }
end

---@param v any
---@return boolean
function M.is(v)
	return getmetatable(v) == LargeValue
end

-- The limit to suggest, in MiB: twice what it takes, since the next output may be longer.
local function enough(bytes)
	local mib = 2
	while mib * MIB < bytes * 2 do
		mib = mib * 2
	end
	return ("%dM"):format(mib)
end

-- The one place that refuses an output which isn't whole.
local function raise_cut(value)
	errors.raise("PRECONDITION", ("The output of step %s was cut: %d of its %d bytes are missing%s"):format(value.step,
		value.cut, value.bytes, value.why and " (" .. value.why .. ")" or ""), {
		suggestion = ("Set capture_limit: %s on step %s; or give it output_file, and loop over foreach: { file: … }. Resume can't bring "
			.. "back what was cut: find out what its steps have done before you start the workflow again"):format(enough(value.bytes), value.step),
		context = { cut_step = value.step },
	})
end

local function read(value)
	local text, message = fs.read(value.file)
	if not text then
		errors.raise("PRECONDITION", ("The output of step %s is kept in a file that can't be read: %s"):format(value.step,
			message), { suggestion = "Make the file readable again, then resume the run", context = { cut_step = value.step } })
	end
	return text
end

---The file that holds all of it. Raises PRECONDITION for an output that was cut.
---@param value runner.workflow.LargeValue
---@return string? path
function M.file(value)
	return value.cut and raise_cut(value) or value.file
end

---A value with all its parts. Raises PRECONDITION where one is an output that was cut, or isn't known any more.
---@param v any
---@return any v
function M.whole(v)
	for key, part in next, type(v) == "table" and v or {} do
		if M.is(part) then
			v[key] = M.value(part)
		else
			M.whole(part)
		end
	end
	return v
end

---A value as it is used. Raises PRECONDITION for an output that was cut, and names its step.
---@param v any
---@return any
function M.value(v)
	if getmetatable(v) ~= LargeValue then
		return v
	end
	local text = M.file(v) and read(v)
	if v.get then
		return v.get(text)
	end
	return text
end

return M
