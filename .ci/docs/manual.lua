-- manual: the generated parts of docs/runner.1: built-in commands, flags and variables. Part of .ci/docs/generate.lua.

local M = {}

-- Text for a line of mdoc, each sentence on one of its own.
local function prose(text)
	text = text:gsub("\\", "\\e"):gsub("%-%-", "\\-\\-"):gsub("%.%.%.", "\\&..."):gsub("([%.)]) (%u)", "%1\n%2")
	return (("\n" .. text):gsub("\n([.'])", "\n\\&%1"):sub(2):gsub("%.?$", "."))
end

local function list_of(items)
	return ".Bl -tag -width Ds\n" .. table.concat(items) .. ".El\n"
end

-- --- flags -----------------------------------------------------------------------------------

local function slot(row)
	local value = row.values and table.concat(row.values, " | ") or row.type
	return row.type == "boolean" and "" or " Ar " .. value
end

local function item(row, default)
	local short = row.short and " , Fl " .. row.short or ""
	return (".It Fl Fl %s%s%s\n%s\n"):format(row.flag, slot(row), short,
		prose(row.description .. (default and (" (%s)"):format(default) or "")))
end

---@param contract table lua/declare/contract.lua
---@return string
function M.flags(contract)
	local items = {}
	for i, row in ipairs(contract.rows()) do
		items[i] = item(row, require("runner.declare.flags").default(row))
	end
	return list_of(items)
end

local CONDITIONS = { mutating = "change something", destructive = "can destroy something" }

local function heading(when)
	local keys = when:gsub(" ", " or ")
	return ".Pp\nCommands that " .. (CONDITIONS[when] or "declare\n.Li " .. keys) .. "\nalso take:\n"
end

---@param contract table
---@return string
function M.conditional_flags(contract)
	local order, items = {}, {}
	for _, row in ipairs(contract.rows(nil, true)) do
		if row.when and not items[row.when] then
			order[#order + 1], items[row.when] = row.when, {}
		end
		if row.when then
			table.insert(items[row.when], item(row))
		end
	end
	for i, when in ipairs(order) do
		order[i] = heading(when) .. list_of(items[when])
	end
	return table.concat(order)
end

-- --- variables -------------------------------------------------------------------------------

---@param contract table
---@return string
function M.variables(contract)
	local items = {}
	for _, row in ipairs(contract.rows(nil, true)) do
		items[#items + 1] = row.env and (".It Ev %s\nUsed where\n.Fl Fl %s\nis not given.\n"):format(row.env, row.flag)
	end
	for _, row in ipairs(require("runner.declare.environment").rows) do
		items[#items + 1] = (".It Ev %s\n%s\n"):format(row.name, prose(row.description))
	end
	return list_of(items)
end

-- --- built-in commands -----------------------------------------------------------------------

local function synopsis(prefix, words)
	table.sort(words)
	return (".Nm\n%s.Cm %s\n.Op Ar arguments\n"):format(prefix, table.concat(words, " | "))
end

---@return string
function M.builtins()
	local builtins, groups, alone, order = require "runner.project.builtins", {}, {}, {}
	for _, name in ipairs(builtins.list()) do
		local group, word = name:match "^([^.]+)%.(.+)$"
		if group and not builtins.rows[name].hidden then
			order[#order + 1] = not groups[group] and group or nil
			groups[group] = groups[group] or {}
			table.insert(groups[group], word)
		elseif not group then
			alone[#alone + 1] = name
		end
	end
	for i, group in ipairs(order) do
		order[i] = synopsis(".Cm " .. group .. "\n", groups[group])
	end
	return synopsis(".Op Cm self\n", alone) .. table.concat(order)
end

return M
