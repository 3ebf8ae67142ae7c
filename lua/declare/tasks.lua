-- tasks: many commands in one file (tasks.lua, or a command file that is a group of them), and commands whose work is a script
-- or one program. A task becomes the very
-- declaration that a command file returns, with what fits a task where it says nothing, so that whatever holds for one holds
-- for the other. Loaded for a task. lua/ctx/task.lua runs the scripts.

local command_line = require "runner.core.command_line"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

local WORDS = 4 -- of a name

local EXAMPLE = 'return { tasks = { build = { "Build it", shell = "make" } } }'

-- --- a task, or a group ------------------------------------------------------------------------

local SAYS = {
	[1] = "string", description = "string", desc = "string", shell = "string", cmd = "string", script = "string", run = "function",
}
local LISTS = { "needs", "parallel", "run", "cmds", "deps" }

-- What says what it does, or what to do; any other table holds tasks.
local function is_task(v)
	for key, kind in next, SAYS do
		if type(rawget(v, key)) == kind then
			return true
		end
	end
	for _, key in ipairs(LISTS) do
		local list = rawget(v, key)
		if rules.list(list, 1, math.huge, rules.anything) and type(list[1]) == "string" then
			return true
		end
	end
	return false
end

local function is_name(name)
	local count = 0
	for word in (type(name) == "string" and name or ""):gmatch "[^ ]+" do
		count = count + 1
		if not rules.is_command_word((word:gsub("^_", "", count == 1 and 1 or 0))) then
			return false
		end
	end
	return count > 0 and count <= WORDS and not name:find "^ " and not name:find " $" and not name:find "  "
end

-- --- the file ----------------------------------------------------------------------------------

local FILE = { env = true, cwd = true, interpreter = true }

local function shown(key)
	local text = type(key) == "string" and ("%q"):format(key) or tostring(key)
	return text:match '^"([%a_][%w_]*)"$' or ("[%s]"):format(text)
end

---What is wrong with the form of a file as a whole.
---@param file any what it returned
---@param list "tasks"|"commands" its key for them
---@return string? problem the rest of a sentence that begins with the file's path; with a key, a whole one
---@return string? fix
---@return any key that it is about
function M.problem(file, list)
	if type(file) ~= "table" then
		return ("returns %s"):format(file == nil and "nothing" or "no table"), ("Write %s"):format(EXAMPLE)
	end
	local odd
	for key in next, file do
		odd = not FILE[key] and key ~= list and (odd == nil or tostring(key) < tostring(odd)) and key or odd
	end
	if odd ~= nil and type(rawget(file, odd)) == "table" then
		local name, own = type(odd) == "string" and shown(odd) or "NAME", require("runner.declare.declaration_messages").show(rawget(file, odd))
		return ("task %s stands outside of %s"):format(name, list), ("Write return { %s = { %s = %s } }"):format(list, name,
			own:find "^{" and own or "{ … }"), odd
	elseif odd ~= nil then
		return ("has the key %s, which no file of tasks has"):format(shown(odd)), ("Its keys are %s, env, cwd and interpreter"):format(list)
	end
	if type(rawget(file, list)) ~= "table" then
		return "has no " .. list, ("Write %s"):format(EXAMPLE:gsub("tasks", list))
	end
end

local function wrong_task(name, v)
	if type(v) == "string" then
		return ("task '%s' is a text, and must be a table"):format(name), ('Write %s = { "What it does", shell = %q }'):format(shown(name), v)
	end
	return ("task '%s' is a %s, and no task"):format(name, type(v)), ('Write %s = { "What it does", shell = "…" }'):format(shown(name))
end

-- What a group says for all of its tasks, as the file does.
local function is_shared(key, v)
	local _, first = next(type(v) == "table" and v or {})
	return type(v) == "string" and (key == "cwd" or key == "interpreter")
		or key == "env" and type(v) == "table" and type(first) ~= "table"
end

-- Those of the file hold where the task, or its group, has none of its own.
local function merged(file, own)
	return type(own) == "table" and type(file) == "table" and tables.add(tables.add({}, file), own) or own or file
end

local function shared(above, group)
	local out = {}
	for _, key in ipairs { "cwd", "env", "interpreter" } do
		local own = rawget(group, key)
		out[key] = merged(above[key], is_shared(key, own) and own or nil)
	end
	return out
end

local walk

local function add(prefix, key, v, depth, out)
	local name = prefix .. key:gsub(" ", ".")
	if not is_task(v) then
		return walk(v, name .. ".", depth + 1, out)
	end
	out[#out + 1] = { name = name, task = v }
end

function walk(list, prefix, depth, out)
	for key, v in next, list do
		local problem, fix, about
		if not is_name(key) then
			problem, fix = ("%s is no name of a task"):format(shown(key)),
				"Write words of letters, digits, _ and -, with a blank between those of a group"
		elseif depth > 1 and is_shared(key, v) then
			problem = nil
		elseif type(v) ~= "table" or depth > WORDS then
			problem, fix = wrong_task(key, v)
		else
			problem, fix, about = add(prefix, key, v, depth, out)
		end
		if problem then
			return problem, fix, about or key
		end
	end
end

---All tasks of a list.
---@param list table
---@return {name: string, task: table}[] tasks by dot path, in no order
---@return string? problem
---@return string? fix
---@return any key that it is about
function M.all(list)
	local out = {}
	return out, walk(list, "", 1, out)
end

---The task that words name.
---@param list table
---@param words string[]
---@param at integer its first word
---@param all table what holds for all of the list: env, cwd, interpreter
---@return table? task
---@return integer? last of its words
---@return table? all what the file and its groups say for all of theirs
function M.find(list, words, at, all)
	for count = math.min(#words - at + 1, WORDS), 1, -1 do
		local v = rawget(list, table.concat(words, " ", at, at + count - 1))
		if type(v) == "table" and is_task(v) then
			return v, at + count - 1, all
		elseif type(v) == "table" then
			local task, last, own = M.find(v, words, at + count, shared(all, v))
			if task then
				return task, last, own
			end
		end
	end
end

-- --- the declaration ---------------------------------------------------------------------------

local function run(values, ctx)
	return ctx:_task(values)
end

M.run = run

local function codes(declared)
	if declared ~= nil and type(declared) ~= "table" then
		return declared
	end
	local out = { TIMEOUT = { retryable = false, side_effects = "partial" } }
	return tables.add(out, declared)
end

---The declaration that a task is.
---@param task table
---@param file? table what holds for all tasks of its file or group: env, cwd, interpreter
---@param more {private?: boolean, timeout?: string, cwd?: string} `timeout`, `cwd`: where it says nothing
---@return table
function M.declaration(task, file, more)
	local out = tables.add({}, task)
	if out.description == nil then
		out.description, out[1] = out[1], nil
	end
	if type(out.run) == "table" then
		out.program, out.run = out.run, nil
	end
	if out.run == nil and (out.shell or out.program or out.needs or out.parallel) then
		out.run = run
	end
	out.task = true
	out.danger_level = out.danger_level or out.confirm and "destructive" or "mutating"
	out.exit_codes = out.danger_level ~= "safe" and codes(out.exit_codes) or out.exit_codes
	out.env = merged(file and file.env, out.env)
	out.cwd = out.cwd or file and file.cwd or more.cwd or "project"
	out.interpreter = out.interpreter or out.shell and file and file.interpreter or nil
	out.hidden = out.hidden == nil and more.private or out.hidden
	if out.timeout == nil then
		out.timeout = more.timeout
	end
	if type(out.retry) == "table" and out.retry.on == nil and out.run == run then
		out.retry = tables.add({ on = { "SUBPROCESS_FAILED" } }, out.retry) -- which its author says may be run again
	end
	return out
end

-- --- what its arguments may be -----------------------------------------------------------------

-- Names of variables in lower case that programs obey.
local OBEYED = tables.set "http_proxy https_proxy ftp_proxy rsync_proxy all_proxy no_proxy"

---The variable that holds an argument.
---@param name string
---@return string
function M.variable(name)
	return (name:gsub("-", "_"))
end

---Is it a name that a program takes for an order?
---@param name any
---@return boolean
function M.is_obeyed(name)
	return type(name) == "string" and OBEYED[M.variable(name)] or false
end

---The value of an argument as text; nil: it has none, or is a list of its own.
---@param row table
---@param value any
---@return string?
function M.text(row, value)
	if value == nil then
		return ""
	elseif row.variadic then
		return nil
	elseif type(value) == "boolean" then
		return value and "true" or ""
	elseif type(value) == "table" then
		return (require("runner.json").encode(value))
	end
	return tostring(math.type(value) == "float" and math.tointeger(value) or value)
end

---The arguments that no program can be given.
---@param command table normal form
---@param values table
---@param problems table[] gets them
function M.check(command, values, problems)
	for _, row in ipairs(command.args) do
		local value = values[row.name]
		for _, item in ipairs(row.variadic and value or { M.text(row, value) }) do
			local text = tostring(item)
			local why = command_line.has_nul(text) and "has a NUL byte, which no program can be given"
				or #text + #row.name + 1 > command_line.MAX and ("is longer than a program can be given (%d bytes)"):format(command_line.MAX)
			if why then
				problems[#problems + 1] = { field = row.name, code = "INVALID_ARGUMENT", message = ("'%s' %s"):format(row.name, why) }
				break
			end
		end
	end
end

return M
