-- speech: what an answer says of further calls, as a client of MCP makes them: a tool and its arguments in place of a command line.
-- What no tool of this server can do is said to be for a person. `fix_command` becomes `fix_call`, the params of tools/call; it is
-- computed under the rules of lua/project/repair.lua, and only its form changes here. Texts of commands lose nothing: a flag of
-- another program stays as it is.

local command_line = require "runner.core.command_line"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

local PROGRAM = "runner "
local TO_PERSON = "For a person at a terminal: "
local MOST_TEXT, MOST_LINE, BEFORE = 8192, 256, 40 -- bytes: of a text that is put into other words, of a command line in it, before a flag
local ONLY_PERSON, PREVIEW = "Only the person can confirm it", "; call it with dry_run to see what it would do"

-- What runner says at a terminal → here.
local OURS = {
	{ "[Pp]ass %-%-confirm%-destructive", ONLY_PERSON:lower() }, { "%-%-schema shows", "inputSchema shows" },
	{ "Run the command with %-%-help to", "Look at its inputSchema to" }, { "flag that %-%-help lists", "name that its inputSchema has" },
	{ ", or ask for more bytes with %-%-max%-bytes", "" }, { "the file of meta%.rest", "the resource of meta.rest" },
}
local CONFIRMING = { "%-%-confirm%-destructive", "%-%-yes%f[^%w-]", "%-%-live%f[^%w-]" }

-- Words before a flag that is spoken of, and not passed to some program.
local SPEAKS = tables.set [[pass give use add set write leave out or with and by without needs take takes missing both either only invalid
	correct the drop means longer runner command]]

-- --- a command line as a call ----------------------------------------------------------------

-- The command that the words begin with, and how many of them are its name.
local function command_of(rows, words)
	for n = math.min(#words, 8), 1, -1 do
		local name = table.concat(words, ".", 1, n)
		for _, row in ipairs(rows or {}) do
			if row.command == name then
				return row, n
			end
		end
	end
end

local function value_of(schema, text)
	local kind = schema.type
	if kind == "integer" or kind == "number" then
		return math.tointeger(tonumber(text)) or kind == "number" and tonumber(text) or nil
	elseif kind == "boolean" then
		return ({ ["true"] = true, ["false"] = false })[text]
	end
	return kind == "object" and json.decode(text) or kind ~= "object" and text or nil
end

-- Give an argument its value: true, where there is such an argument and it takes it.
local function put(row, arguments, name, text)
	local schema = name and (row.tool.inputSchema.properties or {})[name]
	if not schema or text == nil then
		return false
	elseif schema.type ~= "array" then
		arguments[name] = value_of(schema, text)
		return arguments[name] ~= nil
	end
	local value = value_of(schema.items or {}, text)
	arguments[name] = arguments[name] or json.array {}
	table.insert(arguments[name], value)
	return value ~= nil
end

-- The argument that a flag sets.
local function named(row, flag)
	local properties = row and row.tool.inputSchema.properties or {}
	return properties[flag] and flag or properties[flag:gsub("-", "_")] and flag:gsub("-", "_") or nil
end

-- One option; how many words it has. nil: the tool takes none such.
local function option(row, arguments, word, after)
	local flag, value = word:match "^%-%-([%w_-]+)=?(.*)$"
	local name, has_value = named(row, flag or ""), word:find("=", 1, true)
	local denied = not name and named(row, (flag or ""):match "^no%-(.*)$" or "")
	if not has_value and name and row.tool.inputSchema.properties[name].type == "boolean" then
		return put(row, arguments, name, "true") and 1
	elseif not has_value and denied then
		return put(row, arguments, denied, "false") and 1
	end
	return put(row, arguments, name, has_value and value or after) and (has_value and 1 or 2)
end

local function arguments_of(row, words, first)
	local arguments, place, i = {}, 1, first
	while words[i] do
		local name, used = (row.places or {})[place], 1
		if words[i]:find "^%-%D" then
			used = option(row, arguments, words[i], words[i + 1])
		elseif put(row, arguments, name, words[i]) then
			place = row.tool.inputSchema.properties[name].type == "array" and place or place + 1
		else
			used = nil
		end
		if not used then
			return nil
		end
		i = i + used
	end
	return arguments
end

---The call of a tool that a command line makes; nil: there is none, or it says more than one can say.
---@param server runner.mcp.Server
---@param line string
---@return {name: string, arguments: table}?
function M.call(server, line)
	local words = line:sub(1, #PROGRAM) == PROGRAM and command_line.split(line:sub(#PROGRAM + 1))
	local row, n = command_of(words and server:rows(false), words or {})
	local arguments = row and arguments_of(row, words, n + 1)
	if not arguments then
		return nil
	elseif server.settings.progressive then
		return { name = "call", arguments = { name = row.tool.name, arguments = arguments } }
	end
	return { name = row.tool.name, arguments = arguments }
end

-- --- a text -------------------------------------------------------------------------------------

local function spelt(call)
	return next(call.arguments) and call.name .. " " .. json.encode(call.arguments) or call.name
end

-- The command line at the beginning of a text as a call, and what follows it; false: it is none of a tool.
local function spoken_call(server, text)
	local line = text:sub(1, MOST_LINE):match "^[^\n;'\"()]*"
	local rest = text:sub(#line + 1)
	local words = {}
	for word in line:sub(#PROGRAM + 1):gmatch "[%w-]+" do
		words[#words + 1] = word
	end
	if not command_of(server.outside.rows(false), words) then
		return nil
	end
	while #line > #PROGRAM do
		local call = M.call(server, line)
		if call then
			return spelt(call), rest
		end
		local shorter = line:match "^(.-)[%s,.:]+[^%s]*$" or ""
		rest, line = line:sub(#shorter + 1) .. rest, shorter
	end
	return false
end

local function with_calls(server, text)
	local out, from, is_said = {}, 1, true
	for at in text:gmatch "%f[%w]()runner %l" do
		local call, rest = nil, nil
		if at >= from then
			call, rest = spoken_call(server, text:sub(at))
		end
		is_said = is_said and call ~= false
		if call then
			out[#out + 1] = text:sub(from, at - 1) .. call
			from = #text - #rest + 1
		end
	end
	return table.concat(out) .. text:sub(from), is_said
end

local function with_names(row, text)
	local is_said = true
	local out = text:gsub("()%-%-(%l[%w-]*)", function(at, flag)
		local before = text:sub(math.max(at - BEFORE, 1), at - 1):match "(%a+)[%s'\"]*$"
		local name = named(row, flag)
		if before and not SPEAKS[before:lower()] or name then
			return not (before and not SPEAKS[before:lower()]) and name or nil
		elseif flags.find(flag) or contract.find(flag) then
			is_said = false
		end
	end)
	return out, is_said
end

-- A text as it is said here, and whether all of it can be.
local function spoken(server, row, text)
	if #text > MOST_TEXT then
		return text, true
	end
	for _, pair in ipairs(OURS) do
		text = text:gsub(pair[1], pair[2])
	end
	local with, calls_said = with_calls(server, text)
	with = calls_said and text:find "^runner %l[^:;]*$" and with ~= text and "Call " .. with or with
	local out, names_said = with_names(row, with)
	return out, calls_said and names_said
end

local function confirms(text)
	for _, pattern in ipairs(CONFIRMING) do
		if text:find(pattern) then
			return true
		end
	end
	return false
end

---A hint: what to do next. What no call here can do is for a person.
---@param server runner.mcp.Server
---@param row? runner.mcp.Row
---@param text any
---@return any
function M.hint(server, row, text)
	if type(text) ~= "string" then
		return text
	end
	local out, is_said = spoken(server, row, text)
	if is_said then
		return out
	elseif confirms(text) then
		return ONLY_PERSON .. (named(row, "dry_run") and PREVIEW or "")
	end
	return TO_PERSON .. text
end

local function message(server, row, text)
	return type(text) == "string" and (spoken(server, row, text)) or text
end

-- --- an answer ------------------------------------------------------------------------------------

local function of_problem(server, row, problem)
	problem.message = message(server, row, problem.message)
	problem.suggestion, problem.fix_required = M.hint(server, row, problem.suggestion), M.hint(server, row, problem.fix_required)
end

local function of_error(server, row, e, own)
	of_problem(server, row, e)
	for _, problem in ipairs(type(e.errors) == "table" and e.errors or {}) do
		of_problem(server, row, problem)
	end
	for _, way in ipairs(type(e.alternatives) == "table" and e.alternatives or {}) do
		way.flag = type(way.flag) == "string" and way.flag:gsub("^%-%-", ""):gsub("-", "_") or way.flag
	end
	for _, name in ipairs { "fix_command", "refresh_command" } do
		local line = e[name]
		if type(line) == "string" and line:sub(1, #PROGRAM) == PROGRAM then
			local call = (own or e.phase ~= "validation") and M.call(server, line) or nil
			if call and name == "fix_command" then
				tables.add(server.settings.progressive and call.arguments.arguments or call.arguments, own)
			end
			e[name:gsub("_command", "_call")], e[name] = call, nil
			e.suggestion = e.suggestion or not call and e.phase ~= "validation" and TO_PERSON .. line or nil
		end
	end
end

-- Members of runner's own data that say how to go on: wait_command → wait_call.
local function of_data(server, data)
	for _, name in ipairs(tables.sorted_keys(data)) do
		local line = type(name) == "string" and name:find "_command$" and data[name]
		if type(line) == "string" and line:sub(1, #PROGRAM) == PROGRAM then
			data[name:gsub("_command$", "_call")], data[name] = M.call(server, line), nil
		end
	end
end

---@param server runner.mcp.Server
---@param row? runner.mcp.Row the tool that has answered
---@param envelope table
---@param own? table arguments of runner's own that the call had
---@return table envelope the same
function M.of(server, row, envelope, own)
	local e, meta = envelope.error, envelope.meta
	if type(e) == "table" then
		of_error(server, row, e, own)
	end
	for _, warning in ipairs(type(envelope.warnings) == "table" and envelope.warnings or {}) do
		of_problem(server, row, warning)
	end
	if type(meta) == "table" and type(meta.truncation_hint) == "string" then
		local call = M.call(server, meta.truncation_hint)
		meta.truncation_hint = call and spelt(call) or nil
	end
	local is_ours = not (row and row.path) or type(e) == "table" and e.code == "INCOMPLETE"
	if is_ours and type(envelope.data) == "table" and not json.is_array(envelope.data) then
		of_data(server, envelope.data)
	end
	return envelope
end

---The same of a task that has ended, whose own arguments are not known any more.
---@param server runner.mcp.Server
---@param task runner.mcp.Task
---@return runner.mcp.Task task the same
function M.of_task(server, task)
	local row = command_of(task.envelope and server:rows(false), { task.command })
	if task.envelope then
		M.of(server, row, task.envelope)
	end
	return task
end

return M
