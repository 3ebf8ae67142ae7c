-- typed_vars: variables of a workflow with a type, which are declared as the arguments of a command are: the same keys,
-- the same checks, the same messages. Loaded where a file has one.

local arguments = require "runner.declare.arguments"
local json = require "runner.json"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"
local yaml = require "runner.core.yaml.parser"

local M = {}

---The keys of a declaration, with the words of docs/workflows/variables.md; all but default as arguments have them.
M.keys = tables.set "type items description default values min max min_length max_length pattern suggestion schema within max_bytes"

local ELSEWHERE = { secret = "Put it under secrets: they are read again when a run is resumed, and stored nowhere",
	env = "Write default: ${env.NAME}", required = "A variable without a default is required" }

---Is it a declaration, and not a map that is a default?
---@param node runner.yaml.Node
---@return boolean
function M.is_one(node)
	local named = node.kind == "map" and node.keys.type
	if not named or named.node.kind ~= "text" then
		return false
	end
	for _, entry in ipairs(node.entries) do
		if not M.keys[entry.key] then
			return values.take[named.node.text] ~= nil or named.node.text == "array"
		end
	end
	return true
end

-- What is wrong with a key, as commands are told of it.
local function reporter(check, node, name)
	return function(_, prefix, key, reason, found)
		if key == "name" then
			return -- of flags, which a variable has none of
		end
		local entry = node.keys[key] or node
		found = check.hidden[1] and require("runner.core.mask").masker(check.hidden)(found) or found -- before it is cut
		local said, fix = require("runner.declare.declaration_messages").of({
			kind = "arg", key = key, reason = reason, found = found, prefix = name }, ("vars.%s.%s"):format(name, key or ""))
		fix = fix:gsub(" = ", ": ", 1):gsub(", or function.* end$", ""):gsub("{ (.-) }", "[%1]") -- as YAML has it
		check:add(entry.node and entry or node, said:gsub("argument('? ?)", "variable%1"), ELSEWHERE[key] or fix)
		return prefix
	end
end

---Has it a reference in it, so that its value isn't known here?
---@param value any
---@return boolean
function M.is_late(value)
	if type(value) ~= "table" then
		return type(value) == "string" and value:find("${", 1, true) ~= nil
	end
	for _, item in pairs(value) do
		if M.is_late(item) then
			return true
		end
	end
	return false
end

---@param check runner.workflow.Check
---@param name string
---@param node runner.yaml.Node that M.is_one
---@return table? row of lua/declare/arguments.lua; `late`: its default has ${env.NAME}, which is read when a run starts
function M.row(check, name, node)
	local declared, report, foreign = { name = "x" }, reporter(check, node, name), false
	for _, entry in ipairs(node.entries) do
		if entry.key == "default" and entry.node.kind == "null" then
			declared.default = nil -- as of a variable without a type
		elseif entry.node.kind == "null" then
			check:add(entry, ("vars.%s.%s has no value"):format(name, entry.key), "Give it one, or remove it")
		elseif M.keys[entry.key] then
			declared[entry.key] = yaml.value(entry.node)
		else
			foreign = true
			report("arg", nil, entry.key, "unknown", declared)
		end
	end
	local default, late = declared.default, M.is_late(declared.default)
	if late then
		declared.default = nil
	end
	local row = arguments.walk({ declared }, { danger_level = "safe" }, report)[1]
	if foreign or not row.type then
		return nil
	end
	if late then
		row.default, row.late = default, true
	end
	if type(row.default) == "table" and row.type == "array" then
		json.array(row.default) -- an empty list stays one
	end
	row.declared_in = "workflow file"
	row.name, row.flag, row.positional = name, "--var " .. name, true -- what messages call it
	return row
end

-- What a row refuses, as the caller of a command is told of it; a secret is not repeated, also not in part.
local function refused(row, value, why, from, mask)
	local text = type(value) == "string" and value or json.encode(value) or "a list, or a map"
	local problem
	if why == "length" and type(value) == "table" then
		problem = require("runner.declare.arg_errors").item_count(row, #value)
	else
		local shown = mask and mask(text) ~= text and setmetatable({ secret = true }, { __index = row }) or row
		problem = require("runner.declare.arg_errors").invalid(shown, text, why, from, row.values)
	end
	problem.field = "var"
	return problem
end

---A text that a caller gives.
---@param row table
---@param text string
---@param from "flag"|"default"|"payload"
---@param mask? fun(v: any): any
---@return any value, runner.Problem? problem
function M.read(row, text, from, mask)
	local value, why = require("runner.project.argv_parser").read(row, text, row.values)
	if why then
		return nil, refused(row, text, why, from, mask)
	end
	return value
end

-- The items of a list; those of a variable of the environment are separated by commas, as those of an argument are. Texts are read.
local function items_of(row, given)
	local texts, items = {}, json.array {}
	for item in (type(given) == "string" and given ~= "" and given .. "," or ""):gmatch "([^,]*)," do
		texts[#texts + 1] = item
	end
	for i, item in ipairs(type(given) == "table" and given or texts) do
		local read
		if type(item) == "string" and values.take[row.items](item) == nil then
			read = require("runner.project.argv_parser").read(row, item)
		end
		items[i] = read == nil and item or read
	end
	return items
end

---A value that a workflow gives to another one, a default, or the items of a list together; texts are read.
---@param row table
---@param value any
---@param from "flag"|"default"|"payload"
---@param mask? fun(v: any): any
---@return any value, runner.Problem? problem
function M.take(row, value, from, mask)
	if row.type ~= "array" and type(value) == "string" then
		return M.read(row, value, from, mask)
	elseif row.type == "array" and (json.is_array(value) or from == "default" and type(value) == "string") then
		value = items_of(row, value)
	end
	local taken, why = values.accept(row, value, row.values)
	if why then
		return nil, refused(row, value, why, from, mask)
	end
	return row.type == "array" and json.array(taken) or taken
end

---What people and programs are told of it.
---@param row table
---@return table
function M.shown(row)
	local out = { name = row.name, required = row.default == nil or nil, takes = require("runner.declare.arg_words").expected(row) }
	for key in pairs(M.keys) do
		if type(row[key]) ~= "function" then
			out[key] = row[key]
		end
	end
	return out
end

return M
