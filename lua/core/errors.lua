-- errors: the library's error object, and the conversion of any raised value into one.
-- Loaded in every worker. Exit numbers and default hints are in the registry
-- (src/common/codes.def).

local rules = require "runner.core.rules"

local M = {}

---What a duration is, for messages.
M.DURATION = 'a duration such as "500ms", "2s" or "5m", or a number of seconds'

---The values of an enumeration of src/common/names.def, for messages: "a", "b" or "c".
---@param name string "danger_level"
---@return string
function M.enumeration(name)
	local values = require("runner.host").names(name)
	return '"' .. table.concat(values, '", "', 1, #values - 1) .. '" or "' .. values[#values] .. '"'
end

---@class runner.Error
---@field code string error code, `^[A-Z][A-Z0-9_]+$`
---@field message string
---@field retryable? boolean|"maybe" is it safe to repeat the identical call?
---@field retry_after_ms? integer
---@field retry_strategy? "immediate"|"linear_backoff"|"exponential_backoff"
---@field retries_exhausted? integer
---@field side_effects? "none"|"partial"|"complete"
---@field phase? string
---@field fix_required? string
---@field fix_command? string
---@field suggestion? string
---@field detail? string
---@field errors? table[]
---@field context? table
---@field redirect? table
---@field exit_code? integer of the answer that this one repeats (lua/jobs/answer.lua)
---@field data? any
local Error = {}
Error.__index = Error
Error.__name = "runner.Error"
M.Error = Error

function Error.__tostring(e)
	return tostring(e.code) .. ": " .. tostring(e.message)
end

local text = rules.of_type "string"

local function count(v)
	local n = type(v) == "number" and v >= 0 and v < 2 ^ 53 and math.ceil(v)
	return n or nil
end

-- A list of problems, a table each; an empty one is dropped.
local function rows(v)
	if type(v) ~= "table" or type(v[1]) ~= "table" then
		return nil
	end
	for _, row in ipairs(v) do
		if type(row) ~= "table" then
			return nil
		end
	end
	return v
end

-- Facts by name.
local function facts(v)
	return type(v) == "table" and v[1] == nil and v or nil
end

-- What a field may hold: a function giving the value to keep, or nil to drop it.
local FIELDS = {
	retryable = rules.one_of(true, false, "maybe"),
	retry_after_ms = count,
	retry_strategy = rules.named "retry_strategy",
	retries_exhausted = count,
	side_effects = rules.named "side_effects",
	phase = text,
	fix_required = text,
	fix_command = text,
	suggestion = text,
	detail = text,
	errors = rows,
	context = facts,
	redirect = function(v) return v ~= nil and require("runner.core.raised").redirect(v) or nil end,
	data = rules.anything,
}
M.fields = FIELDS

-- Members of an error that few errors have; they travel on their own (lua/project/failure.lua).
M.extra = {
	cause = text, docs_url = text, conflict_id = text, expires_at = text, refresh_command = text,
	required_permission = text, input_value = text, rejected_pattern = text, corrected_input = text, network_context = facts,
	auth_methods = rows, alternatives = rows,
}
for name, accept in next, M.extra do
	FIELDS[name] = accept
end

---Is `name` shaped like an error code: `^[A-Z][A-Z0-9_]+$`, at most 64 bytes?
---@param name any
---@return boolean
function M.well_formed(name)
	return type(name) == "string" and #name <= 64 and name:find("^[A-Z][A-Z0-9_]+$") ~= nil
end

---Make an error object, without raising it. Unknown fields are dropped, and so are
---values that the wire format forbids (retryable = "often"): the registry's default
---applies instead.
---@param code string
---@param message? string default: the code
---@param fields? table
---@return runner.Error
function M.new(code, message, fields)
	local e = { code = code, message = message == nil and code or tostring(message) }
	for name, accept in next, FIELDS do
		e[name] = accept(fields and fields[name])
	end
	return setmetatable(e, Error)
end

---@param v any
---@return boolean
function M.is(v)
	return getmetatable(v) == Error
end

---Raise an error object: catchable by pcall like any other.
---@param code string
---@param message? string
---@param fields? table
---@param level? integer stack level whose position becomes `detail` (1: the caller of raise); default: none
function M.raise(code, message, fields, level)
	local e = M.new(code, message, fields)
	local at = level and not e.detail and debug.getinfo(level + 1, "Sl")
	if at and at.currentline > 0 then
		e.detail = at.short_src .. ":" .. at.currentline
	end
	error(e, 0)
end

-- May raise itself: __index and __tostring belong to the script that made the value.
local function convert(raised, traceback)
	local kind = type(raised)
	if kind == "table" and M.well_formed(raised.code) then
		local e = M.new(raised.code, raised.message, raised)
		e.exit_code = M.is(raised) and raised.exit_code or nil
		return e
	elseif raised == "not enough memory" then
		return M.new("MEMORY_LIMIT", "The command ran out of memory", { detail = traceback })
	end
	local message, fields = raised, {}
	if kind ~= "string" or raised:find("module '", 1, true) or raised:find("attempt to ", 1, true) then
		message, fields = require("runner.core.raised").describe(raised)
	end
	fields.detail = fields.detail and traceback and fields.detail .. "\n" .. traceback or fields.detail or traceback
	return M.new("INTERNAL_ERROR", message, fields)
end

---The error object for any raised value; never raises. A string becomes
---INTERNAL_ERROR with its `file:line` kept and the traceback as detail; a table
---with a well-formed `code` becomes an error of that code.
---@param raised any
---@param traceback? string
---@return runner.Error
function M.normalise(raised, traceback)
	local ok, e = pcall(convert, raised, traceback)
	if ok then
		local launch = traceback and require("runner.core.attempt").launch
		e.place = launch and launch.stderr_is_tty
			and require("runner.core.raised").source_line(traceback) or nil
		return e
	end
	return M.new("INTERNAL_ERROR", "The command raised a " .. type(raised) .. " that can't be converted to a string",
		{ detail = traceback })
end

return M
