-- sheet: a tasks.lua on its way: the tasks that an importer has read from a file of another tool, what could not be said,
-- and all of it as text. Names that runner doesn't take become others here, and that is said.

local command_line = require "runner.core.command_line"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local rules = require "runner.core.rules"
local shell = require "runner.import.shell"
local tables = require "runner.core.tables"
local tasks = require "runner.declare.tasks"

local M = {}

---@class runner.import.Note
---@field line integer of the source
---@field key string what it is about
---@field reason string

---@class runner.import.Task
---@field name string ours: words with blanks
---@field line integer of the source
---@field notes string[] comments above it
---@field section? string
---@field keys table<string, any> of the task; `lua` is text that stands as it is

---@class runner.import.Sheet
---@field from string the name of the file
---@field tasks runner.import.Task[]
---@field notes runner.import.Note[]
---@field head string[] comments above all
---@field env table<string, string>
---@field keys table<string, any> of the file
---@field taken table<string, any> names of ours that are known to be in use, with what has them
---@field names table<string, string> theirs → ours
---@field is_fixed fun(word: string): boolean
local Sheet = {}
Sheet.__index = Sheet

---@param from string
---@param names {is_fixed: (fun(word: string): boolean), is_builtin: (fun(name: string): boolean)} those of runner
---@return runner.import.Sheet
function M.new(from, names)
	return setmetatable({ from = from, tasks = {}, notes = {}, head = {}, env = {}, keys = {}, taken = {}, names = {},
		told = {}, called = {}, typed = {}, own = names }, Sheet)
end

---Say, in the answer and beside the task, what is not as it was.
---@param line integer
---@param key string
---@param reason string
---@param task? runner.import.Task
function Sheet:note(line, key, reason, task)
	table.insert(self.notes, { line = line, key = key, reason = reason })
	table.insert(task and task.notes or self.head, ("%s: %s"):format(key, reason))
end

---The same, once for the file.
---@param line integer
---@param key string
---@param reason string
function Sheet:once(line, key, reason)
	if not self.told[key .. reason] then
		self.told[key .. reason] = true
		self:note(line, key, reason)
	end
end

-- --- names -------------------------------------------------------------------------------------

-- Words of letters, digits, _ and -; ":" is between those of a group.
local function as_name(name)
	local words = {}
	for word in name:gsub("^%.%f[%w_]", "_"):gmatch "[^:%s]+" do
		words[#words + 1] = word:gsub("[^%w_-]", "-"):gsub(words[1] and "^[_-]+" or "^%-+", ""):gsub("^_[_-]+", "_"):gsub("^_$", "")
	end
	while #words > 4 do
		words[4] = words[4] .. "-" .. table.remove(words, 5)
	end
	local joined = table.concat(words, " "):gsub("  +", " "):gsub("^ ", ""):gsub(" $", "")
	return joined ~= "" and joined or "task"
end

---A task of this name in their file.
---@param theirs string
---@param line integer
---@return runner.import.Task
function Sheet:task(theirs, line)
	local name = as_name(theirs)
	local task = { line = line, notes = {}, keys = {}, theirs = theirs }
	local first = name:match "^%S+"
	if self.own.is_fixed(first) then
		name = first .. "-task" .. name:sub(#first + 1)
		self:note(line, theirs, ("it is '%s' here, since runner %s is a command of runner's own"):format(name, first), task)
	elseif self.own.is_builtin(name) then
		self:note(line, theirs, ("runner %s is this task; the command of runner's own is runner self %s"):format(name, name), task)
	elseif name ~= theirs:gsub(":", " ") then
		self:note(line, theirs, ("it is '%s' here"):format(name), task)
	end
	local wanted, count = name, 1
	while self.taken[name] do
		count = count + 1
		name = ("%s-%d"):format(wanted, count)
	end
	if count > 1 then
		self:note(line, theirs, ("another task has that name: it is '%s' here"):format(name), task)
	end
	task.name, self.taken[name] = name, task
	self.names[theirs] = self.names[theirs] or name
	table.insert(self.tasks, task)
	return task
end

---Other names of a task: single words that nothing else has. Call it when all tasks are known.
---@param task runner.import.Task
---@param alias string
---@param line integer
function Sheet:alias(task, alias, line)
	local group = false
	for _, other in ipairs(self.tasks) do
		group = group or other.name:match "^%S+" == alias
	end
	if rules.is_command_word(alias) and not self.own.is_fixed(alias) and self.own.is_builtin(alias) and not self.taken[alias] then
		local own = self:task(alias, line) -- runner's own would run
		own.keys.needs = not task.keys.args and { task.name } or nil
		own.keys.shell = task.keys.args and shell.refusal(alias, self.from) or nil
		self:calls(own, task)
		return
	end
	if not rules.is_command_word(alias) or self.own.is_fixed(alias) or self.taken[alias] or group then
		self:note(line, alias, ("left out: it can't be another name of '%s'"):format(task.name), task)
		return
	end
	self.taken[alias] = task
	task.keys.aliases = task.keys.aliases or {}
	table.insert(task.keys.aliases, alias)
end

---The name of an argument here, which is that of its variable but for "-".
---@param theirs string
---@return string
function M.argument(theirs)
	local name = theirs:lower():gsub("^[^a-z]+", ""):gsub("[^%w_-]", "_")
	name = name == "" and "value" or name
	local spelling = rules.spelling(name)
	local row = flags.find(spelling) or contract.find(spelling)
	return (row and not row.yields or tasks.is_obeyed(name) or spelling:find "^runner%-" or spelling:find "^no%-") and name .. "_arg" or name
end

---A directory below that of the file, without what says nothing; nil: it is none.
---@param path? string
---@return string?
function M.below(path)
	local words = {}
	for word in (path or ""):gmatch "[^/]+" do
		words[#words + 1] = word ~= "." and word or nil
	end
	local out = "/" .. table.concat(words, "/") .. "/"
	return path and not path:find "^/" and not out:find "/%.%./" and out:sub(2, -2) or nil
end

-- --- tasks one after the other ---------------------------------------------------------------------

---@class runner.import.Step a call of another task, or a script
---@field name? string ours
---@field args? string[] as Lua: `key = value`
---@field plain? string|table the same as one of `needs`, where nothing of it is computed
---@field shell? string

---A task runs another: what that asks a person is asked in front of all.
---@param task runner.import.Task
---@param other runner.import.Task
function Sheet:calls(task, other)
	self.called[#self.called + 1] = { task, other }
end

local function settle_questions(sheet)
	local is_done
	repeat
		is_done = true
		for _, pair in ipairs(sheet.called) do
			local own, other = pair[1].keys, pair[2].keys
			if other.confirm and not own.confirm then
				own.confirm, is_done = other.confirm, false
			end
		end
	until is_done
	for _, row in ipairs(sheet.typed) do
		if row.other.keys.confirm then
			sheet:note(row.task.line, "runner " .. row.other.name, "it asks to be confirmed, which the script can't do", row.task)
		end
	end
end

---A line of a script that is a call of the tool itself, as one of ours: of a name alone, and nothing that could be an option.
---@param task runner.import.Task
---@param line string
---@param program string
---@param find fun(name: string): runner.import.Task?
---@return string
function Sheet:call_in(task, line, program, find)
	local name = line:match("^" .. program .. "%s+([%w_][%w_:-]*)%s*$")
	local other = name and find(name)
	if other then
		self.typed[#self.typed + 1] = { task = task, other = other }
		return "runner " .. other.name
	elseif not self.told[task] and line:find("%f[%w_./-]" .. program .. "%f[%s\0]") and not line:find "^%s*echo%s" then
		self.told[task] = true
		self:note(task.line, program, ("a call of %s in the script is left as it is"):format(program), task)
	end
	return line
end

local MOVED = { "interpreter", "cwd", "env", "sources", "generates", "status", "quiet", "interactive" }

---What a task does, one after the other (tasks of `needs` run at once): a script in the midst of calls is a task of its own.
---@param task runner.import.Task
---@param steps runner.import.Step[]
function Sheet:sequence(task, steps)
	local keys, lines, count, at = task.keys, {}, 0, 1
	while self.tasks[at] ~= task do
		at = at + 1
	end
	task.steps = steps
	for _, step in ipairs(steps) do
		local args = step.args and step.args[1] and ("{ %s }"):format(table.concat(step.args, ", "))
		if step.shell then
			count = count + 1
			step.name, args = ("_%s%s"):format(task.name, count > 1 and "-" .. count or ""), keys.args and "args"
			while self.taken[step.name] do
				step.name = step.name .. "-"
			end
			local inner = { name = step.name, line = task.line, notes = {}, section = task.section,
				keys = { description = ("A script of '%s'"):format(task.name), args = keys.args, shell = step.shell } }
			for _, key in ipairs(MOVED) do
				inner.keys[key] = keys[key]
			end
			step.plain = keys.args and { step.name } or step.name
			for _, arg in ipairs(keys.args or {}) do
				step.plain[arg[1]] = { arg = arg[1] }
			end
			self.taken[step.name] = inner
			table.insert(self.tasks, at, inner)
			at = at + 1
		end
		lines[#lines + 1] = ("\t\t\tctx:call(%s%s)\n"):format(M.quoted(step.name), args and ", " .. args or "")
	end
	for _, key in ipairs(MOVED) do
		keys[key] = nil
	end
	local body = table.concat(lines)
	keys.shell, keys.run = nil, { lua = ("function(%s, ctx)\n%s\t\tend"):format(body:find "%f[%w]args%f[%W]" and "args" or "_", body) }
end

-- --- as text -----------------------------------------------------------------------------------

local function long(text, indent)
	local level = ""
	while text:find("]" .. level .. "]", 1, true) or text:find("]" .. level .. "$") do
		level = level .. "="
	end
	if not text:find "\n" then
		return ("[%s[%s]%s]"):format(level, text, level)
	end
	local lines = (text:gsub("\n+$", "") .. "\n"):gsub("([^\n]*)\n", function(line)
		return "\n" .. (line ~= "" and indent .. line or "")
	end)
	return ("[%s[%s\n%s]%s]"):format(level, lines, indent, level)
end

---A text as Lua reads it.
---@param text string
---@param indent? string of a text of several lines
---@return string
function M.quoted(text, indent)
	if text:find "[%z\1-\8\11-\31\127]" or text:find "\n" and not indent then
		return (("%q"):format(text):gsub("\\\n", "\\n"))
	elseif not text:find '["\\\n]' then
		return ('"%s"'):format(text)
	elseif not text:find "['\\\n]" then
		return ("'%s'"):format(text)
	end
	return long(text, indent or "")
end

local ORDER = { "description", "danger_level", "confirm", "aliases", "hidden", "interactive", "stdin", "needs", "parallel", "args",
	"env", "cwd", "sources",
	"generates", "status", "quiet", "interpreter", "run", "shell", "positional", "variadic", "required", "values", "default" }
local RANK = {}
for i, key in ipairs(ORDER) do
	RANK[key] = i
end

local value_text

local function key_text(key)
	return type(key) == "string" and (key:find "^[%a_][%w_]*$" and load("local " .. key) and key .. " = " or ("[%s] = "):format(M.quoted(key)))
		or ""
end

local function sorted(map)
	local keys = tables.sorted_keys(map)
	table.sort(keys, function(a, b)
		local first, second = RANK[a] or 100, RANK[b] or 100
		return first < second or first == second and a < b
	end)
	return keys
end

function value_text(v, indent)
	if type(v) == "string" then
		return M.quoted(v, indent)
	elseif type(v) ~= "table" then
		return tostring(v)
	elseif v.lua then
		return v.lua
	end
	local out = {}
	for _, item in ipairs(v) do
		out[#out + 1] = value_text(item, indent)
	end
	local named = {}
	for key in next, v do
		named[key] = math.type(key) ~= "integer" or nil
	end
	for _, key in ipairs(sorted(named)) do
		out[#out + 1] = key_text(key) .. value_text(v[key], indent)
	end
	return #out > 0 and ("{ %s }"):format(table.concat(out, ", ")) or "{}"
end

-- What asks to be confirmed among the steps of a task is confirmed with that only as a need of it: each has to be one, and another.
local function settle_steps(sheet, task)
	local keys, asks, seen = task.keys, nil, {}
	for _, step in ipairs(task.steps or {}) do
		asks = asks or sheet.taken[step.name].keys.confirm and step.name
	end
	if not (asks and keys.run) then
		return
	end
	local needs, problem = table.move(keys.needs or {}, 1, #(keys.needs or {}), 1, {}), keys.parallel and "tasks at once"
	for _, step in ipairs(task.steps) do
		problem = problem or not step.plain and "a value that is computed"
		needs[#needs + 1] = step.plain
	end
	for _, need in ipairs(needs) do
		local text = value_text(need, "")
		problem, seen[text] = problem or seen[text] and "what runs twice", true
	end
	keys.run, keys.needs, keys.parallel = nil, not problem and needs or nil, nil
	if problem then
		sheet:note(task.line, task.theirs, ("not imported: it runs '%s', which asks to be confirmed, beside %s"):format(asks, problem), task)
		keys.shell = shell.refusal(task.theirs, sheet.from)
	end
end

-- What a script asks a person, or takes from its caller, as far as it says so itself.
local function settle_input(keys)
	local text = "\n" .. (keys.shell or "")
	if text:find "^\n%s*#!" and not text:match "^[^\n]*\n[^\n]*":find "sh%f[%W]" then
		return
	end
	for line in text:gmatch "[^\n]+" do
		local asks = line:match "^[%s({]*read%s(.*)$" or line:match "^%s*IFS=%S*%s+read%s(.*)$" or line:match "[;&{(]%s*read%s(.*)$"
			or line:match "%f[%w]then%s+read%s(.*)$"
		keys.interactive = keys.interactive or asks and not asks:find "<" or nil
		local reads = line:find "/dev/stdin" or line:find "%$%(cat%)" or line:find "^[%s({]*cat%s*[|>]"
		keys.stdin = keys.stdin or reads and not line:find "[<#]" or nil
	end
	keys.stdin = not keys.interactive and keys.stdin or nil
end

local function add_comments(out, indent, comments)
	for _, comment in ipairs(comments) do
		for line in comment:gmatch "[^\n]+" do
			out[#out + 1] = ("%s-- %s"):format(indent, (line:gsub("[%c\127]", " "))) -- a CR ends a comment
		end
	end
end

local function add_task(out, task)
	local room = #task.keys.description
	local text = ("\t%s{ %s,"):format(key_text(task.name), M.quoted(task.keys.description))
	if task.notes[1] then
		local comments = {}
		add_comments(comments, "\t\t", task.notes)
		text, room = text .. "\n" .. table.concat(comments, "\n"), 1000
	end
	for _, key in ipairs(sorted(task.keys)) do
		local value = key ~= "description" and key_text(key) .. value_text(task.keys[key], "\t\t\t")
		if value then
			local first = #value:match "^[^\n]*"
			room = room + first
			text = text .. (room > 100 and "\n\t\t" or " ") .. value .. ","
			room = room > 100 and first or room
		end
	end
	out[#out + 1] = text:gsub(",$", "") .. (text:find ",$" and " }," or "\n\t},") -- behind a comment
end

---The file.
---@return string
function Sheet:text()
	settle_questions(self)
	for _, task in ipairs(self.tasks) do
		settle_steps(self, task)
		settle_input(task.keys)
	end
	local out = { ("-- Tasks, from %s: runner NAME runs one, runner help NAME describes it."):format((self.from:gsub("[%c\127]", " "))) }
	add_comments(out, "", self.head)
	out[#out + 1] = self.code
	out[#out + 1] = "return {"
	for _, key in ipairs(sorted(self.keys)) do
		out[#out + 1] = ("\t%s%s,"):format(key_text(key), value_text(self.keys[key], "\t\t"))
	end
	local names = tables.sorted_keys(self.env)
	for i, name in ipairs(names) do
		out[#out + 1] = (i == 1 and "\tenv = {\n" or "") .. ("\t\t%s%s,"):format(key_text(name), M.quoted(self.env[name]))
			.. (i == #names and "\n\t}," or "")
	end
	out[#out + 1] = "\ttasks = {"
	local sections, order = {}, {}
	for _, task in ipairs(self.tasks) do
		local section = task.section or ""
		if not sections[section] then
			sections[section] = {}
			order[#order + 1] = section
		end
		table.insert(sections[section], task)
	end
	table.sort(order, function(a, b)
		return a == "" and b ~= ""
	end)
	for _, section in ipairs(order) do
		if section ~= "" then
			out[#out + 1] = ""
			out[#out + 1] = "\t-- " .. section:gsub("%s+", " ")
		end
		for _, task in ipairs(sections[section]) do
			task.keys.description = task.keys.description or command_line.typed(task.name)
			add_task(out, task)
		end
	end
	out[#out + 1] = "\t},\n}\n"
	return table.concat(out, "\n")
end

return M
