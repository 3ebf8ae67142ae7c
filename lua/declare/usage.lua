-- usage: how a command is called, with all that a caller needs to write the call: on one line, at a command line or as the JSON of
-- exec and MCP, and what each argument means. Errors that name no whole call have it (lua/project/usages.lua). Pure, but for
-- functions of a declaration that list values.

local arg_words = require "runner.declare.arg_words"
local command_line = require "runner.core.command_line"
local computed = require "runner.declare.computed"
local contract = require "runner.declare.contract"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

M.MOST = 1200 -- bytes of all lines
local MOST_LINE, MOST_SAID, MOST_VALUES = 500, 100, 150 -- bytes: of one line, of a description, of listed values

local CONFIRMS = tables.set "confirm_destructive live" -- which no error offers

---Lines that have room.
---@class runner.UsageLines
---@field left integer bytes

---@return runner.UsageLines
function M.lines()
	return { left = M.MOST }
end

---@param lines runner.UsageLines
---@param text string
---@return boolean had it room?
function M.add(lines, text)
	local fits = #text <= lines.left
	if fits then
		lines[#lines + 1], lines.left = text, lines.left - #text
	end
	return fits
end

---@param text? string
---@return string? its first words
function M.said(text)
	return text and (visible.shorten(text, MOST_SAID):gsub("%s+", " "))
end

-- Its values, where they have room.
local function listed(values, quote)
	local shown = {}
	for i, value in ipairs(values or {}) do
		shown[i] = quote:format(tostring(value))
	end
	local text = table.concat(shown, "|")
	return shown[1] and #text <= MOST_VALUES and text or nil
end

local function values_of(row, config)
	local ok, list = pcall(computed.listed, row, config)
	return ok and not row.secret and list or nil
end

-- --- at a command line --------------------------------------------------------------------------

local function option(row, config)
	local text = (row.short and "-" .. row.short .. "|" or "") .. (row.default == true and "--no-" or "--") .. row.flag
	if row.type ~= "boolean" then
		text = ("%s %s"):format(text, listed(values_of(row, config), "%s") or arg_words.placeholder(row))
	end
	return (row.required and "%s%s" or "[%s]%s"):format(text, row.type == "array" and "..." or "")
end

local function slot(row, config)
	local text, values = arg_words.slot(row), listed(values_of(row, config), "%s")
	return values and ("%s: %s%s"):format(text:sub(1, -2), values, text:sub(-1)) or text
end

-- Its own arguments, the places first, and what its declaration switches on.
local function rows_of(command, all)
	local rows = {}
	for _, kind in ipairs { "positional", "option" } do
		arg_words.each_kind(command.args, function(row, of)
			rows[#rows + 1] = kind == of and row or nil
		end)
	end
	for _, row in ipairs(contract.rows(command)) do
		rows[#rows + 1] = (row.name == "dry_run" or all and contract.belongs(row, command) and not CONFIRMS[row.name]
			and row.source ~= "env") and row or nil
	end
	return rows
end

-- "runner pipeline trigger <name> [-b|--branch <string>] [-n|--dry-run]"
local function line(command, config, all)
	local words = { "runner", command_line.typed(command.name) }
	for _, row in ipairs(rows_of(command, all)) do
		words[#words + 1] = arg_words.is_hidden(row) and arg_words.hidden(row) or row.positional and slot(row, config) or option(row, config)
	end
	words[#words + 1] = command.arguments and "[arguments of the other program]" or nil
	local text = table.concat(words, " ")
	return #text <= MOST_LINE and text or arg_words.usage(command)
end

-- --- as JSON ------------------------------------------------------------------------------------

---@class runner.UsageMember
---@field name string
---@field required? boolean
---@field kind string
---@field values? any[]
---@field is_list boolean
---@field description? string

-- The arguments of a command as members of an object.
local function members(command, config)
	local out = {}
	for i, row in ipairs(command.args) do
		out[i] = { name = row.name, required = row.required, kind = row.items or row.type, values = values_of(row, config),
			is_list = row.type == "array", description = row.description }
	end
	return out
end

---The properties of a tool's inputSchema as such members.
---@param schema table
---@return runner.UsageMember[]
function M.of_schema(schema)
	local out, required = {}, tables.set(table.concat(schema.required or {}, " "))
	for _, name in ipairs(tables.sorted_keys(schema.properties or {})) do
		local property = schema.properties[name]
		local holder = property.items or property
		table.insert(out, required[name] and 1 or #out + 1, { name = name, required = required[name], values = holder.enum,
			kind = type(holder.type) == "string" and holder.type or type(holder.type) == "table" and holder.type[1] or "json",
			is_list = property.type == "array", description = property.description })
	end
	return out
end

---@param list runner.UsageMember[]
---@param first? string a member in front of them
---@return string '{"name": <string>, "branch"?: <string>, "priority"?: "low"|"high"}'
function M.object(list, first)
	local out = { first }
	for _, one in ipairs(list) do
		local text = listed(one.values, '"%s"') or ("<%s>"):format(one.kind)
		out[#out + 1] = ('"%s"%s: %s'):format(one.name, one.required and "" or "?", one.is_list and ("[%s, …]"):format(text) or text)
	end
	return ("{%s}"):format(table.concat(out, ", "))
end

-- --- with what each argument means --------------------------------------------------------------

---One call, and what its arguments mean.
---@param call string
---@param list {term?: string, name?: string, description?: string, default?: any}[] one of the first two
---@return string[]
function M.explained(call, list)
	local out = M.lines()
	M.add(out, call)
	for _, one in ipairs(list) do
		local default = one.default ~= nil and type(one.default) ~= "table" and ("default %s"):format(tostring(one.default)) or nil
		local text = M.said(one.description and default and ("%s (%s)"):format(one.description, default) or one.description or default)
		if text then
			M.add(out, ("%s: %s"):format(one.term or one.name, text))
		end
	end
	out.left = nil
	return out
end

---How a command is called, on one line: at a command line, or as a request of exec.
---@param command table normal form
---@param config? table
---@param is_json? boolean
---@param all? boolean all flags that its declaration switches on
---@return string
function M.call(command, config, is_json, all)
	return is_json and M.object(members(command, config), ('"_cmd": "%s"'):format(command_line.typed(command.name)))
		or line(command, config, all)
end

---How a command is called, and what its arguments mean.
---@param command table normal form
---@param config? table
---@param is_json boolean
---@return string[]
function M.of_command(command, config, is_json)
	local list = {}
	for i, row in ipairs(command.args) do
		list[i] = { term = is_json and row.name or row.positional and row.flag or "--" .. row.flag, description = row.description,
			default = row.type ~= "boolean" and computed.default(row) or nil }
	end
	return M.explained(M.call(command, config, is_json, true), list)
end

-- --- tools of MCP ----------------------------------------------------------------------------------

-- A tool's name and its arguments; as one of `call` where all tools are called by that.
local function tool_call(tool, list, is_progressive)
	local object = M.object(list)
	return is_progressive and ('call {"name": "%s", "arguments": %s}'):format(tool.name, object) or ("%s %s"):format(tool.name, object)
end

---How tools of MCP are called, the likeliest first, in as many bytes as there are for that.
---@param tools table[] as tools/list has them
---@param is_progressive? boolean
---@return string[]
function M.of_tools(tools, is_progressive)
	local out = M.lines()
	for _, tool in ipairs(tools) do
		if not M.add(out, ("%s  # %s"):format(tool_call(tool, M.of_schema(tool.inputSchema), is_progressive), M.said(tool.description))) then
			break
		end
	end
	out.left = nil
	return out
end

---How a tool is called, and what its arguments mean.
---@param tool table
---@param is_progressive? boolean
---@return string[]
function M.of_tool(tool, is_progressive)
	local list = M.of_schema(tool.inputSchema)
	return M.explained(tool_call(tool, list, is_progressive), list)
end

return M
