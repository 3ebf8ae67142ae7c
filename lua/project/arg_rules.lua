-- arg_rules: the rules between arguments that a command declares in `requires` (REQ-C-026). A
-- part of lua/project/args.lua, loaded where there are any.

local values = require "runner.declare.values"

local M = {}

local function row_of(s, flag)
	return s.flag[flag]
end

-- A default, and a false that was given, are not there. A secret may come by flags of its own.
local function is_present(s, flag)
	local row = row_of(s, flag)
	local from = s.given[row.name]
	return from ~= nil and from ~= "default" and s.values[row.name] ~= false
		or row.secret and (s.framework[row.name .. "_from_env"] or s.framework[row.name .. "_from_file"]) ~= nil
end

local function present(s, names)
	local out = {}
	for _, flag in ipairs(names) do
		out[#out + 1] = is_present(s, flag) and row_of(s, flag) or nil
	end
	return out
end

-- Was one of them probably meant by something that could not be read?
local function is_meant(s, names)
	for _, flag in ipairs(names) do
		if s.meant[row_of(s, flag)] then
			return true
		end
	end
	return false
end

local function rows_of(s, names)
	local out = {}
	for i, flag in ipairs(names) do
		out[i] = row_of(s, flag)
	end
	return out
end

-- Does an argument have this value, or contain it?
local function has_value(s, row, wanted)
	local value = s.values[row.name]
	for _, item in ipairs(row.type == "array" and value or { value }) do
		if item == wanted or item ~= nil and item == values.accept(setmetatable({ type = row.items or row.type }, { __index = row }), wanted) then
			return true
		end
	end
	return false
end

-- --- one rule of each shape ---------------------------------------------------------------

local function check_required(s, rule, add)
	local row = row_of(s, rule.if_flag)
	if not has_value(s, row, rule.if_value) then
		return
	end
	for _, flag in ipairs(rule.then_required) do
		if not is_present(s, flag) and not is_meant(s, { flag }) then
			add(s, "needed", row_of(s, flag), row, rule.if_value)
		end
	end
end

local function check_prohibited(s, rule, add)
	if is_present(s, rule.if_flag) then
		for _, row in ipairs(present(s, rule.prohibited)) do
			add(s, "exclusive", { row_of(s, rule.if_flag), row })
		end
	end
end

local function apply_default(s, rule, add)
	local row = row_of(s, rule.target_flag)
	local from = s.given[row.name]
	if is_present(s, rule.if_flag) or from ~= nil and from ~= "default" then
		return
	end
	local value, why = values.accept(row, rule.default, row.values and require("runner.declare.computed").listed(row, s.opts.config))
	if why then
		return add(s, "invalid", row, tostring(rule.default), why, "default")
	end
	s.values[row.name], s.given[row.name] = value, "default"
end

local function check_any(s, names, add)
	if not present(s, names)[1] and not is_meant(s, names) then
		add(s, "none_of", rows_of(s, names))
	end
end

local function check_one(s, names, add)
	local found = present(s, names)
	if found[2] then
		add(s, "exclusive", found)
	else
		check_any(s, names, add)
	end
end

---Apply the rules in their order.
---@param s table state of args.parse, with the values of this call
---@param add fun(s: table, kind: string, ...) adds a problem
function M.apply(s, add)
	for _, rule in ipairs(s.opts.command.requires) do
		if rule.then_required then
			check_required(s, rule, add)
		elseif rule.prohibited then
			check_prohibited(s, rule, add)
		elseif rule.target_flag then
			apply_default(s, rule, add)
		elseif rule.any_of then
			check_any(s, rule.any_of, add)
		else
			check_one(s, rule.one_of, add)
		end
	end
end

return M
