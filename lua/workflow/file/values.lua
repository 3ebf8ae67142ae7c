-- values: readers of single values of a workflow file. Each takes the check, the
-- node and the name of its key, and returns the value, or nil after reporting what
-- is wrong and what to write. They know no keys.

local amounts = require "runner.core.amounts"
local check_of = require "runner.workflow.file.check"
local names = require "runner.workflow.file.names"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

---@alias runner.workflow.Reader fun(check: runner.workflow.Check, node: runner.yaml.Node, name: string): any

local SHOWN = 60 -- characters of a value that are repeated

---What a reader takes, for lua/workflow/file/schema.lua: the name of a shape, and its numbers, words or readers.
---@type table<runner.workflow.Reader, any[]>
M.shapes = setmetatable({}, { __mode = "k" })

---Note what a reader takes.
---@param reader runner.workflow.Reader
---@param ... any the name of a shape, and what belongs to it
---@return runner.workflow.Reader reader
function M.shaped(reader, ...)
	M.shapes[reader] = { ... }
	return reader
end

M.DURATION = "a duration such as 500ms, 2s, 5m or 1h, or a number of seconds"

---A value as messages show it.
---@param node runner.yaml.Node
---@return string
function M.shown(node)
	if node.kind == "null" then
		return "empty"
	elseif not node.text then
		return (next(node.items or node.entries) and "a " or "an empty ") .. node.kind
	end
	local text = require("runner.core.visible").shorten(node.text, SHOWN)
	return node.kind == "text" and ("'%s'"):format(text:gsub("\n.*", "…")) or text
end

---Report that a value is rejected.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string
---@param expected string "a whole number from 1 to 64"
---@param suggestion? string
function M.refuse(check, node, name, expected, suggestion)
	check:add(node, ("%s is %s: write %s"):format(name, M.shown(node), expected), suggestion)
end

---Any scalar but null, as written: 8080 and true are texts here.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return string?
function M.any_text(check, node, name)
	if node.text and node.kind ~= "null" then
		return node.text
	end
	M.refuse(check, node, name, node.kind == "null" and "a string ('' for an empty one)" or "a string")
end
M.shaped(M.any_text, "any_text")

---A text that is not blank.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return string?
function M.text(check, node, name)
	if node.text and node.kind ~= "null" and node.text:find("%S") then
		return node.text
	end
	M.refuse(check, node, name, "a string")
end
M.shaped(M.text, "text")

local SPOKEN = { yes = "true", on = "true", y = "true", no = "false", off = "false", n = "false" }

---true or false; YAML 1.1's other spellings get a hint.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return boolean?
function M.boolean(check, node, name)
	if node.kind == "boolean" then
		return node.value
	end
	local meant = node.text and (SPOKEN[node.text:lower()]
		or node.kind == "text" and rules.one_of("true", "false")(node.text))
	M.refuse(check, node, name, "true or false", meant and ("Write %s: %s"):format(name, meant) or nil)
end
M.shaped(M.boolean, "boolean")

---@param least integer
---@param most integer
---@return runner.workflow.Reader
function M.whole(least, most)
	local expected = ("a whole number from %d to %d"):format(least, most)
	return M.shaped(function(check, node, name)
		local n = (node.kind == "integer" or node.kind == "number") and math.tointeger(node.value)
		if n and n >= least and n <= most then
			return n
		end
		M.refuse(check, node, name, expected)
	end, "whole", least, most)
end

---Milliseconds; 0 for "none".
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return integer?
function M.duration(check, node, name)
	local ms = node.value ~= nil and rules.duration(node.value)
	if ms then
		return ms
	end
	M.refuse(check, node, name, M.DURATION)
end
M.shaped(M.duration, "duration")

---Micro-dollars from an amount in dollars.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return integer?
function M.dollars(check, node, name)
	local micros = (node.kind == "integer" or node.kind == "number") and amounts.micros(node.value)
	if micros and micros > 0 then
		return micros
	end
	local meant = node.kind == "text" and node.text:match "^%s*%$?%s*(%d+%.?%d*)%s*%$?%s*$"
	M.refuse(check, node, name, "an amount in US dollars above 0, such as 0.50", meant and ("Write %s: %s"):format(name, meant) or nil)
end
M.shaped(M.dollars, "dollars")

---A number.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return number?
function M.number(check, node, name)
	if (node.kind == "integer" or node.kind == "number") and math.abs(node.value) < math.huge then
		return node.value
	end
	M.refuse(check, node, name, "a number")
end
M.shaped(M.number, "number")

---Bytes; math.huge for "none" and 0.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return number?
function M.size(check, node, name)
	local bytes = node.text and node.kind ~= "null" and require("runner.core.amounts").size(node.text, 0)
	if bytes then
		return bytes > 0 and bytes or math.huge
	end
	M.refuse(check, node, name, 'a size such as 500K, 64MiB or 1G, a number of bytes, or none')
end
M.shaped(M.size, "size")

---Milliseconds from a number of seconds: the keys that end in _secs.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of the key
---@return integer?
function M.seconds(check, node, name)
	local numeric = node.kind == "integer" or node.kind == "number"
	local ms = numeric and rules.duration(node.value)
	if ms then
		return ms
	end
	local meant = node.kind == "text" and rules.duration(node.value)
	M.refuse(check, node, name, "a number of seconds",
		meant and ("Write %s: %s"):format(name:gsub("_secs$", ""), node.text) or nil)
end
M.shaped(M.seconds, "seconds")

---One of the keys of `choices`; gives its value.
---@param choices table<string, any>
---@param expected string
---@return runner.workflow.Reader
function M.choice(choices, expected)
	return M.shaped(function(check, node, name)
		local value = node.text and node.kind ~= "null" and choices[node.text]
		if value ~= nil and value ~= false then
			return value
		end
		M.refuse(check, node, name, expected, node.text and check_of.meant(node.text, tables.sorted_keys(choices)))
	end, "choice", choices)
end

---@param mode "value"|"shell"
---@param read? runner.workflow.Reader what the text has to be; default: any text
---@return runner.workflow.Reader
function M.template(mode, read)
	read = read or M.any_text
	return M.shaped(function(check, node, name)
		local text = read(check, node, name)
		if text then
			names.template(check, node, mode)
		end
		return text
	end, table.unpack(M.shapes[read]))
end

---A list of what `read` takes; a single one stands for a list of it.
---@param read runner.workflow.Reader
---@return runner.workflow.Reader
function M.list_of(read)
	return M.shaped(function(check, node, name)
		if node.kind == "null" then
			return M.refuse(check, node, name, "a list")
		end
		local out = {}
		for i, item in ipairs(node.kind == "list" and node.items or { node }) do
			out[#out + 1] = read(check, item, node.kind == "list" and ("%s[%d]"):format(name, i) or name)
		end
		return out
	end, "list", read)
end

---A map from names that match `pattern` to what `read` takes.
---@param pattern string
---@param expected string the words for such a name
---@param read runner.workflow.Reader
---@return runner.workflow.Reader
function M.map_of(pattern, expected, read)
	return M.shaped(function(check, node, name)
		if node.kind ~= "map" then
			return M.refuse(check, node, name, "a map of names and values")
		end
		local out = {}
		for _, entry in ipairs(node.entries) do
			if entry.key:find(pattern) then
				out[entry.key] = read(check, entry.node, ("%s.%s"):format(name, entry.key))
			else
				check:add(entry, ("'%s' is not a valid name in %s: use %s"):format(entry.key, name, expected))
			end
		end
		return out
	end, "map", pattern, read)
end

---The value itself, unread.
---@param _ runner.workflow.Check
---@param node runner.yaml.Node
---@return runner.yaml.Node
function M.node(_, node)
	return node
end
M.shaped(M.node, "node")

-- An unknown key; `elsewhere` says where some of them belong.
local function unknown(check, entry, rows, what, elsewhere)
	local hint = elsewhere and elsewhere(entry.key)
	if hint then
		return check:add(entry, ("'%s' is not a key of %s: %s"):format(entry.key, what, hint))
	end
	local candidates = tables.sorted_keys(rows)
	check:add(entry, ("unknown key '%s' in %s"):format(entry.key, what),
		check_of.meant(entry.key, candidates) or "Valid keys: " .. table.concat(candidates, ", "))
end

---Read a map by its rows: key → { reader, field }; several keys may be spellings
---of one field.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param rows table<string, {[1]: function, [2]: string?}>
---@param what string "a shell step"
---@param elsewhere? fun(key: string): string?
---@return table<string, any>? values by field, table<string, runner.yaml.Entry>? entries by field
function M.fields(check, node, rows, what, elsewhere)
	if node.kind ~= "map" then
		check:add(node, ("%s must be a map, not %s"):format(what, M.shown(node)))
		return nil
	end
	local values, entries = {}, {}
	for _, entry in ipairs(node.entries) do
		local row = rows[entry.key]
		local field = row and (row[2] or entry.key)
		if not row then
			unknown(check, entry, rows, what, elsewhere)
		elseif not entries[field] then
			entries[field] = entry
			values[field] = row[1](check, entry.node, entry.key)
		elseif not entry.merged then
			check:add(entry, ("'%s' and '%s' (line %d) mean the same: remove one of them"):format(entry.key,
				entries[field].key, entries[field].line))
		end
	end
	return values, entries
end

return M
