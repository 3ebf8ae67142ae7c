-- held: a value of a step's result that is not in memory: an output that is kept in a file,
-- or one that was cut and therefore can't be used. lua/workflow/expr/variables.lua asks
-- here whenever a value is read; lua/workflow/run/outputs.lua makes them.

local errors = require "runner.core.errors"
local fs = require "runner.fs"

local M = {}

local MIB = 1 << 20

---@class runner.workflow.Held
---@field step string key of the step whose output it is
---@field bytes integer of the whole output
---@field file string? where all of it is
---@field cut integer? bytes that are missing
---@field why string? what kept it from being stored whole
---@field get (fun(text: string?): any)? what its value is; default: the text
local Held = {}
Held.__index = Held
Held.__name = "runner.workflow.Held"

---@param fields table as the class has them
---@return runner.workflow.Held
function M.new(fields)
	return setmetatable(fields, Held)
end

---@param v any
---@return boolean
function M.is(v)
	return getmetatable(v) == Held
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
local function raise_cut(held)
	errors.raise("PRECONDITION", ("The output of step %s was cut: %d of its %d bytes are missing%s"):format(held.step,
		held.cut, held.bytes, held.why and " (" .. held.why .. ")" or ""), {
		suggestion = ("Set capture_limit: %s on step %s; or give it output_file, and loop over foreach: { file: … }. Then start "
			.. "the workflow again: resume can't bring back what was cut"):format(enough(held.bytes), held.step),
		context = { cut_step = held.step },
	})
end

local function read(held)
	local text, message = fs.read(held.file)
	if not text then
		errors.raise("PRECONDITION", ("The output of step %s is kept in a file that can't be read: %s"):format(held.step,
			message), { suggestion = "Start the workflow again", context = { cut_step = held.step } })
	end
	return text
end

---The file that holds all of it. Raises PRECONDITION for an output that was cut.
---@param held runner.workflow.Held
---@return string? path
function M.file(held)
	return held.cut and raise_cut(held) or held.file
end

---Raise PRECONDITION where a part of a value is an output that was cut.
---@param v any
---@return any v
function M.whole(v)
	for _, part in next, type(v) == "table" and v or {} do
		if M.is(part) then
			M.file(part)
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
	if getmetatable(v) ~= Held then
		return v
	end
	local text = M.file(v) and read(v)
	if v.get then
		return v.get(text)
	end
	return text
end

return M
