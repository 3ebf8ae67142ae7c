-- arguments: the arguments of a declaration: the rules for one row and between rows, and
-- the normal form. Loaded when a command declares arguments. Like
-- lua/declare/command.lua it reports reasons, not messages.

local rules = require "runner.core.rules"
local values = require "runner.declare.values"

local M = {}

local length = rules.whole(0, math.maxinteger)
local types = rules.one_of("string", "path", "enum", "integer", "number", "boolean", "duration", "json", "array")

local function bound(v)
	return (type(v) == "string" or type(v) == "number" and v == v) and v or nil
end

local function enum_values(v)
	return type(v) == "function" and v or rules.list(v, 1, math.huge, rules.text)
end

local function code(v)
	return require("runner.core.errors").well_formed(v) and v or nil
end

local RULES = {
	name = rules.matching("^[a-z][a-z0-9_-]*$", 64), type = types, items = types, description = rules.text,
	required = rules.flag, default = rules.anything, values = enum_values, min = bound, max = bound,
	min_length = length, max_length = length, pattern = rules.text, positional = rules.flag,
	variadic = rules.flag, short = rules.matching("^%a$", 1), env = rules.matching("^[%a_][%w_]*$", 256),
	code = code, suggestion = rules.text, secret = rules.flag, [1] = "name", [2] = "type",
}
M.rules = RULES

-- Any other key.
setmetatable(RULES, { __index = function(_, key)
	return require("runner.declare.rare_arguments").rules[key]
end })

local NAMES = { "name", "type" } -- of a row's first two items

local NUMERIC, TEXTUAL = { integer = true, number = true, duration = true }, { string = true, path = true }

-- Which types a key is for.
local FOR = {
	values = { enum = true }, min = NUMERIC, max = NUMERIC, pattern = TEXTUAL,
	min_length = TEXTUAL, max_length = TEXTUAL,
}

local function check_keys(r, kind, fault)
	for key, kinds in next, FOR do
		local counts_items = r.type == "array" and key:find("length", 1, true)
		if r[key] ~= nil and not kinds[kind] and not counts_items then
			fault(key, "not_for_type", kind)
			r[key] = nil
		end
	end
	if kind == "enum" and not r.values then
		fault("values", "missing")
	end
end

-- "1s" is a string until the type is known; from here on it is seconds.
local function check_bounds(r, kind, fault)
	for _, key in ipairs({ "min", "max" }) do
		if r[key] ~= nil then
			local v = values.take[kind](r[key])
			if v == nil then
				fault(key, "bound", { value = r[key], kind = kind })
			end
			r[key] = v
		end
	end
	if r.min and r.max and r.min > r.max then
		fault("min", "above_max", r.max)
	elseif r.min_length and r.max_length and r.min_length > r.max_length then
		fault("min_length", "above_max", r.max_length)
	end
end

local function check_pattern(r, fault)
	if not r.pattern then
		return
	end
	local reason, message = require("runner.declare.rare_arguments").pattern_fault(r.pattern)
	if reason then
		fault("pattern", reason, message)
		r.pattern = nil
	end
end

local function check_default(r, kind, fault)
	if r.default == nil or type(r.default) == "function" or type(r.values) == "function"
		or kind == "enum" and not r.values then
		return
	end
	local accepted, why = values.accept(r, r.default, r.values)
	if why then
		fault("default", "default", { value = r.default, row = r })
	end
	r.default = accepted
end

-- { "files", "path", variadic = true } is a positional array of paths.
local function check_type(r, fault)
	if r.variadic and r.type and r.type ~= "array" then
		r.type, r.items = "array", r.type
	end
	if r.type == "array" and (r.items == nil or r.items == "array") then
		fault("items", "missing")
		r.items = "string"
	elseif r.type and r.type ~= "array" and r.items then
		fault("items", "not_for_type", r.type)
		r.items = nil
	end
	r.positional = r.positional or r.variadic
	r.variadic = r.positional and r.type == "array" or nil
	return r.items or r.type
end

-- The spellings of lua/declare/flags.lua, which few arguments have.
-- generated: spellings
local OURS = " attempt-timeout debug format grace help idle-timeout instance-id no-color non-interactive output plan quiet retries"
	.. " retry-delay timeout verbose version warnings-as-errors yes "
-- end

local function is_ours(name)
	return OURS:find(" " .. name .. " ", 1, true)
end

-- Runner's own flag that a spelling would hide. A safe command with everyday keys alone
-- switches none on.
local function hidden_by(spelling, command)
	local row = (is_ours(spelling) or is_ours((spelling:gsub("^no%-", "")))) and require("runner.declare.flags").find(spelling)
	if not row and (command.danger_level ~= "safe" or command.contract) then
		row = require("runner.declare.contract").switched_on(spelling, command)
	end
	return row and not row.yields or spelling:find("^runner%-") ~= nil
end

-- A spelling on the command line belongs to one row, and to the framework only where it yields.
local function claim(r, claimed, command, fault)
	local spellings = { r.flag, r.type == "boolean" and "no-" .. r.flag or nil }
	for _, spelling in ipairs(spellings) do
		if hidden_by(spelling, command) then
			fault("name", "owned", spelling)
		elseif claimed[spelling] then
			fault("name", "claimed", claimed[spelling])
		end
		claimed[spelling] = r.name
	end
	if r.short then
		local ours = require("runner.declare.flags").by_short[r.short]
		local other = ours and not ours.yields and ours or claimed["-" .. r.short]
		if other then
			fault("short", other == ours and "owned" or "claimed", other)
		end
		claimed["-" .. r.short] = r.name
	end
end

-- Which token goes where must not depend on how many there are.
local function check_place(r, places, fault)
	if not r.positional then
		return
	elseif places.variadic then
		fault("positional", "after_variadic", places.variadic)
	elseif r.required and places.optional then
		fault("required", "after_optional", places.optional)
	end
	places.variadic = places.variadic or r.variadic and r.name
	places.optional = places.optional or not r.required and r.name
end

local function walk_arg(declared, i, claimed, places, command, report)
	local name = type(declared) == "table" and (declared.name or declared[1])
	local prefix = "args." .. (type(name) == "string" and name or i)
	local r = rules.accept(RULES, "arg", declared, prefix, report)
	local function fault(key, reason, found)
		report("arg", prefix, key, reason, found)
	end
	if type(declared) ~= "table" then
		return nil
	end
	for _, key in ipairs(NAMES) do
		if declared[key] == nil and declared[key == "name" and 1 or 2] == nil then
			fault(key, "missing")
		end
	end
	for place, key in ipairs(NAMES) do
		if declared[key] ~= nil and declared[place] ~= nil then
			fault(key, "names_twice", { name = declared[key], first = declared[place] })
		end
	end
	local kind = check_type(r, fault)
	if kind then
		check_keys(r, kind, fault)
		check_bounds(r, kind, fault)
		check_pattern(r, fault)
		r.rare = (r.pattern or r.schema or r.within or r.max_bytes) and true
		if r.rare or r.pipe_compatible or kind == "json" then
			require("runner.declare.rare_arguments").check(r, kind, fault)
		end
		check_default(r, kind, fault)
	end
	if r.name then
		r.flag = rules.spelling(r.name)
		claim(r, claimed, command, fault)
		check_place(r, places, fault)
	end
	return r
end

---Walk the list of arguments.
---@param list any[] as declared
---@param command table what is known of the declaration, normalised
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
---@return table[] rows normalised
---@return boolean? secrets is one of them secret?
function M.walk(list, command, report)
	local rows, claimed, places, secrets = {}, {}, {}, nil
	for i, declared in ipairs(list) do
		local row = walk_arg(declared, i, claimed, places, command, report)
		rows[#rows + 1], secrets = row, secrets or row and row.secret
	end
	return rows, secrets
end

return M
