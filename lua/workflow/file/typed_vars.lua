-- typed_vars: variables of a workflow with a type, which are declared as the arguments of a command are: the same keys,
-- the same checks, the same messages. Loaded where a file has one.

local arguments = require "runner.declare.arguments"
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
		local said, fix = require("runner.declare.declaration_messages").of({ kind = "arg", key = key, reason = reason, found = found },
			("vars.%s.%s"):format(name, key or ""))
		fix = fix:gsub("^(Add %S+) = ", "%1: "):gsub(", or function.* end$", ""):gsub("{ (.-) }", "[%1]") -- as YAML has it
		check:add(entry.node and entry or node, said, ELSEWHERE[key] or fix)
		return prefix
	end
end

---@param check runner.workflow.Check
---@param name string
---@param node runner.yaml.Node that M.is_one
---@return table? row of lua/declare/arguments.lua; its default may be a text with ${env.NAME}, which is read when a run starts
function M.row(check, name, node)
	local declared, report, foreign = { name = "x" }, reporter(check, node, name), false
	for _, entry in ipairs(node.entries) do
		if M.keys[entry.key] then
			declared[entry.key] = yaml.value(entry.node)
		else
			foreign = true
			report("arg", nil, entry.key, "unknown", declared)
		end
	end
	local default = declared.default
	local late = type(default) == "string" and default:find("${", 1, true)
	if late then
		declared.default = nil
	end
	local row = arguments.walk({ declared }, { danger_level = "safe" }, report)[1]
	if foreign or not row.type then
		return nil
	end
	if late then
		row.default = default
	end
	row.name, row.flag, row.positional = name, "--var " .. name, true -- what messages call it
	return row
end

-- What a row refuses, as the caller of a command is told of it.
local function refused(kind, ...)
	local problem = require("runner.declare.arg_errors")[kind](...)
	problem.field = "var"
	return problem
end

---A text that somebody gives.
---@param row table
---@param text string
---@param from "flag"|"default"
---@return any value, runner.Problem? problem
function M.read(row, text, from)
	local value, why = require("runner.project.argv_parser").read(row, text, row.values)
	if why then
		return nil, refused("invalid", row, text, why, from, row.values)
	end
	return value
end

---A value that a workflow gives to another one, a default, or the items of a list together; texts are read.
---@param row table
---@param value any
---@param from "flag"|"default"
---@return any value, runner.Problem? problem
function M.take(row, value, from)
	if type(value) == "string" and row.type ~= "array" then
		return M.read(row, value, from)
	end
	local taken, why = values.accept(row, value, row.values)
	if why == "length" and type(value) == "table" then
		return nil, refused("item_count", row, #value)
	elseif why then
		return nil, refused("invalid", row, type(value) == "table" and "a list, or a map" or tostring(value), why, from, row.values)
	end
	return taken
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
