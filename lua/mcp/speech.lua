-- speech: what an answer says of further calls, as a client of MCP makes them: a tool and its arguments in place of a command line.
-- What no tool of this server can do is said to be for a person. `fix_command` becomes `fix_call`, the params of tools/call; it is
-- computed under the rules of lua/project/repair.lua, and only its form changes here. Texts that a command of the project has written
-- stay as they are, but for a hint that is a command line of runner's, or has one in quotes.

local command_line = require "runner.core.command_line"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"
local usage = require "runner.declare.usage"

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
-- Codes that runner gives the answer of a project's command itself, in its own words; limits, whose advice alone is its own.
local RAISED = tables.set [[INPUT_REQUIRED EDITOR_REQUIRED NO_TTY CONFIRMATION_REQUIRED PERSON_REQUIRED INVALID_CURSOR INCOMPLETE
	OUTPUT_TOO_LARGE APPROVAL_PENDING WARNINGS_AS_ERRORS LIST_TRUNCATED FIELDS_LEFT_OUT]]
local LIMITS = tables.set "TIMEOUT STALLED"
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
		if arguments[name] ~= nil then
			return false -- given twice
		end
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

-- A text that is a command line and nothing else, as a call; false: no tool can do it, or all of it; nil: it is none of runner's.
local function whole_line(server, text)
	local words = #text <= MOST_LINE and text:sub(1, #PROGRAM) == PROGRAM and command_line.split(text:sub(#PROGRAM + 1))
	if not words or not command_of(server.outside.rows(false), words) then
		return nil
	end
	local call = not text:find "[,.:!?]%f[%s\0]" and M.call(server, text)
	return call and spelt(call) or false
end

-- The tool that is named in the middle of a sentence, and where its name ends; false: it is none of the tools.
local function named_tool(server, text, at)
	local words = {}
	for word in text:match("^[%w .-]*", at + #PROGRAM):sub(1, MOST_LINE):gmatch "[%w-]+" do
		words[#words + 1] = word
	end
	local row, n = command_of(server.outside.rows(false), words)
	local tool = row and command_of(server:rows(false), { row.command })
	return row and (tool and tool.tool.name or false), row and text:match(("[%w-]+[ .]+"):rep(n) .. "[%w-]+()", at)
end

-- The command line that stands apart at a place of a text: in quotes, or, in runner's own, behind a colon. nil: it is in a sentence.
local function line_apart(text, at, is_ours)
	local quote = text:sub(at - 1, at - 1):match "['\"`]"
	if quote and at > 1 then
		return text:match("^[^" .. quote .. "]*%f[" .. quote .. "]", at)
	elseif is_ours and (at == 1 or text:find("^[:,] ", at - 2)) then
		return text:sub(at, (text:match("^.-()[;,.]%f[%s\0]", at) or #text + 1) - 1)
	end
end

local function with_calls(server, text, is_ours, is_hint)
	local out, from, is_said = {}, 1, true
	for at in text:gmatch "%f[%w]()runner %l" do
		local line = at >= from and is_hint and line_apart(text, at, is_ours)
		local said, last = line and whole_line(server, line), line and at + #line
		if not said and is_ours and at >= from and not (said == false and line:find "%-%-") then
			said, last = named_tool(server, text, at)
		end
		is_said = is_said and said ~= false
		if said then
			out[#out + 1] = text:sub(from, at - 1) .. (at == 1 and line and "Call " or "") .. said
			from = last
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

-- A text as it is said here, and whether all of it can be. What a command says of other programs stays as it is.
local function spoken(server, row, text, is_ours, is_hint)
	if #text > MOST_TEXT or not is_ours and not is_hint then
		return text, true
	end
	local call
	if is_hint and not (is_ours and text:find "[,.:] ") then
		call = whole_line(server, text)
	end
	if call ~= nil then
		return "Call " .. tostring(call), call ~= false
	end
	for _, pair in ipairs(is_ours and OURS or {}) do
		text = text:gsub(pair[1], pair[2])
	end
	local with, calls_said = with_calls(server, text, is_ours, is_hint)
	if not is_ours then
		return with, calls_said
	end
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
---@param is_theirs? boolean a command has written it, and not runner
---@return any
function M.hint(server, row, text, is_theirs)
	if type(text) ~= "string" then
		return text
	end
	local out, is_said = spoken(server, row, text, not is_theirs, true)
	if is_said then
		return out
	elseif confirms(text) then
		return ONLY_PERSON .. (named(row, "dry_run") and PREVIEW or "")
	end
	return TO_PERSON .. text
end

-- --- an answer ------------------------------------------------------------------------------------

-- A problem of an answer: of a command's own texts only command lines are said otherwise. A message says no call.
local function of_problem(server, row, problem, is_theirs)
	local hint, code = problem.suggestion, tostring(problem.code)
	local is_limit = LIMITS[code] and type(hint) == "string" and hint:find "%-%-[%l-]*timeout"
	is_theirs = is_theirs and not RAISED[code]
	if type(problem.message) == "string" then
		problem.message = (spoken(server, row, problem.message, not is_theirs))
	end
	problem.suggestion = M.hint(server, row, hint, is_theirs and not is_limit)
	problem.fix_required = M.hint(server, row, problem.fix_required,
		is_theirs and problem.fix_required ~= (host.registry_code(code) or {}).hint)
end

local function of_error(server, row, e, own)
	local is_theirs = row and row.path and e.phase ~= "validation"
	of_problem(server, row, e, is_theirs)
	for _, problem in ipairs(type(e.errors) == "table" and e.errors or {}) do
		of_problem(server, row, problem, is_theirs)
	end
	if row and type(e.context) == "table" and e.context.usage and e.phase == "validation" then
		e.context.usage = json.array(usage.of_tool(row.tool, server.settings.progressive))
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
		of_problem(server, row, warning, row and row.path)
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
