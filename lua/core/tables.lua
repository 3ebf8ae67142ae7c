-- tables: sets of names, keys in a stable order, and tables that are checked entry by entry.

local rules = require "runner.core.rules"

local M = {}

---A set of names that the source writes as one text.
---@param names string separated by blanks
---@return table<string, true>
function M.set(names)
	local set = {}
	for name in names:gmatch "%S+" do
		set[name] = true
	end
	return set
end

---@param into table gets all members of the other one
---@param from? table
---@return table into
function M.add(into, from)
	for name, v in next, from or {} do
		into[name] = v
	end
	return into
end

---The keys of a table in a stable order.
---@param t table<string, any>
---@return string[] keys
function M.sorted_keys(t)
	local keys = {}
	for key in pairs(t) do
		keys[#keys + 1] = key
	end
	table.sort(keys)
	return keys
end

---The string keys of a table and of what it inherits (__index), each once, sorted.
---@param t any
---@return string[] keys
function M.inherited_keys(t)
	local all = {}
	while type(t) == "table" do
		for key in next, t do
			all[key] = type(key) == "string" or nil
		end
		t = (getmetatable(t) or {}).__index
	end
	return M.sorted_keys(all)
end

---What is kept of a table (of aliases, contexts, hosts); nil: it is none, or an entry of it is wrong.
---@param v any
---@param accept fun(key: any, value: any): any, any what to keep, nil: it is wrong; and under which key, default the same
---@return table<any, any>?
function M.mapped(v, accept)
	local out = {}
	for key, value in next, type(v) == "table" and v or { false } do
		local kept, name = accept(key, value)
		name = name == nil and key or name
		if kept == nil or out[name] ~= nil then
			return nil
		end
		out[name] = kept
	end
	return out
end

---The normal form of a table whose keys have rules (rules.accept); nil: it is none, or something in it is wrong.
---@param parts table<string, fun(v: any): any>
---@param v any
---@return table?
function M.accepted(parts, v)
	local clean = true
	local out = rules.accept(parts, "", v, nil, function()
		clean = false
	end)
	return clean and out or nil
end

return M
