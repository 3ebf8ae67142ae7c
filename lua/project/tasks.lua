-- tasks: the file tasks.lua of a project, beside runner.lua: what it returns, read once for a call, and the tasks in it. A
-- command file goes before a task of its name, a task before a built-in command. The same of a command file that is a group
-- of commands. Loaded where there is such a file.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local host = require "runner.host"
local tasks = require "runner.declare.tasks"
local task_text = setmetatable({}, { __index = function(_, name) return require("runner.declare.task_text")[name] end })

local M = {}

local LIMIT = "1h" -- of a task that declares none, where no person can end it

local known = {} -- by path, whether it is only read, and the name of the task that was asked for; "": it is all of the file
local asked = {}

local function invalid(path, why, fix, text, key)
	local at = type(key) == "string" and text:find("%f[%w_]" .. key:gsub("%W", "%%%0") .. "%f[^%w_][\"']?%]?%s*=")
	local place = at and (":%d"):format(1 + select(2, text:sub(1, at - 1):gsub("\n", ""))) or ""
	return require("runner.project.load_failure").invalid_file(path, ("%s%s%s %s"):format(path, place, key ~= nil and ":" or "", why),
		{ fix_required = fix })
end

-- The names under which a task may stand that the words from `at` on begin with.
local function names_from(words, at)
	local names, name = {}, nil
	for i = at, math.min(#words, at + 3) do
		name = name and name .. " " .. words[i] or words[i]
		names[#names + 1] = name
	end
	return names, name
end

local function key_of(project, path, name)
	return ("%s\n%s%s"):format(path, project.unread and "?" or "", name or "")
end

-- What a file returns, or its problem; its text. `list`: "tasks", or of a command file "commands". With `words` it has the task
-- that these begin with from `at` on, and maybe no other.
local function read(project, path, list, words, at)
	local only, last = nil, nil
	if words then
		only, last = names_from(words, at)
	end
	local key, whole = key_of(project, path, last), key_of(project, path)
	local file = known[key] or known[whole]
	if only and not file then
		asked[whole] = (asked[whole] or 0) + 1
		key, only = asked[whole] > 2 and whole or key, asked[whole] <= 2 and only or nil -- who asks for many, loads it once
	end
	if not file then
		local lib = project.root .. "/lib/?"
		if package.path:sub(1, #lib) ~= lib then -- as of commands/
			package.path = ("%s.lua;%s/init.lua;%s"):format(lib, lib, package.path)
		end
		local value, problem, text, partial, all = project.read(path, list == "commands" and project.commands or nil, project.unread,
			list, only)
		text = text or host.source(path) or ""
		all = all or text
		local why, fix, about = tasks.problem(value, list)
		local name = why and value == nil and require("runner.declare.lua_mistakes").not_returned(all)
		fix = name and ("Write return %s as its last line"):format(name) or fix
		file = { value = value, path = path, problem = problem or why and invalid(path, why, fix, all, about), text = text, all = all,
			partial = partial, list = not (problem or why) and rawget(value, list) or nil, is_group = not problem and type(value) == "table"
				and rawget(value, "commands") ~= nil and rawget(value, "run") == nil and rawget(value, "shell") == nil }
		known[key] = file
	end
	return file
end

-- A policy says which folders are looked into.
local function is_out_of_reach(path)
	return attempt.policy and not attempt.policy.reaches(path)
end

local function read_tasks(project, words)
	return read(project, project.root .. "/tasks.lua", "tasks", words, 1)
end

-- Of a file that is not known, whether it seems to have a task: a call of that says what is wrong.
local function mentions(file, word)
	return file.all:find("%f[%w_-]" .. word:gsub("%W", "%%%0") .. "%f[^%w_-]") ~= nil
end

-- The tasks of a file that is read anew: a server makes many lists.
local function listed(project, file, group)
	local out, problem, fix, key = tasks.all(file.list or {})
	file.problem = file.problem or problem and invalid(file.path, problem, fix, file.text, key)
	project.problem = project.problem or file.problem
	local places = out[1] and task_text.places(file.text, group)
	for i, row in ipairs(out) do
		local name = group and group .. "." .. row.name or row.name
		local place = places[name] or {}
		out[i] = { name = name, path = file.path, task = true, order = place.order, section = place.section, group = group }
	end
	return problem and {} or out
end

---All tasks of tasks.lua, for lists.
---@param project table
---@return {name: string, path: string, task: true, order?: integer, section?: string}[] in no order
function M.list(project)
	local before = read_tasks(project)
	project.problem = project.problem ~= before.problem and project.problem or nil
	known = {}
	return listed(project, read_tasks(project))
end

-- May the text of a command file be that of a group?
local function seems_group(text)
	return text ~= nil and text:find "commands%s*=[^=]" ~= nil
end

---The commands of a command file, for lists.
---@param entry {name: string, path: string, folder: string}
---@param project table
---@return table[]? commands as M.list has them; nil: it is one command, or can't be read
function M.list_group(entry, project)
	for key in next, known do
		known[key] = key:sub(1, #entry.path + 1) ~= entry.path .. "\n" and known[key] or nil
	end
	if is_out_of_reach(entry.path) or not seems_group(host.source(entry.path, entry.folder)) then
		return nil
	end
	local file = read(project, entry.path, "commands")
	return file.is_group and listed(project, file, entry.name) or nil
end

---The task that words begin with.
---@param words string[]
---@param project table
---@return runner.Found?
function M.find(words, project)
	local file = words[1] and read_tasks(project, words)
	if not file then
		return nil
	elseif file.problem then
		project.problem = project.problem or not file.problem.unread and file.problem or nil
		return mentions(file, words[1]) and { name = words[1], path = file.path, words = 1, task = true } or nil
	end
	local task, last = tasks.find(file.list, words, 1, file.value)
	if task then -- M.read asks for it
		known[key_of(project, file.path, table.concat(words, " ", 1, last))] = file
	end
	return task and { name = table.concat(words, ".", 1, last), path = file.path, words = last, folder = project.commands,
		task = true } or nil
end

---What a command file stands for: the one of its commands that the words go on with, where it is a group.
---@param found runner.Found as of one command
---@param words string[]
---@param project table
---@param text string of its file
---@return runner.Found? nil: the words are those of the group
function M.find_in(found, words, project, text)
	if not seems_group(text) then
		return found
	end
	local file = is_out_of_reach(found.path) and {} or read(project, found.path, "commands", words, found.words + 1)
	if not file.is_group then
		found.folder = not (project.unread and (file.problem or file.partial)) and found.folder or nil -- it is looked up again
		return found
	end
	local task, last = tasks.find(file.list or {}, words, found.words + 1, file.value or {})
	last = file.problem and found.words or last -- the call says what is wrong
	if task then
		known[key_of(project, found.path, table.concat(words, " ", found.words + 1, last))] = file
	end
	return (task or file.problem) and { name = table.concat(words, ".", 1, last), path = found.path, words = last,
		folder = found.folder, task = true, group = found.name } or nil
end

-- A person at a terminal ends what takes too long. What a call needs has its limit.
local function limit_of(project)
	local launch = attempt.launch
	local own = (os.getenv "RUNNER_NEEDS" or ""):find "\n." or launch.person and not launch.job
	return not (project and project.timeout) and (own and "none" or LIMIT) or nil
end

local PLAIN = { string = true, number = true, boolean = true }

-- A value as a text, the same wherever it stands in its file; nil: it has a function or the like, whose text must be read.
local function spelt(v)
	if type(v) ~= "table" then
		return PLAIN[type(v)] and ("%q"):format(v)
	end
	local out = {}
	for key, item in next, v do
		local name, text = spelt(key), spelt(item)
		if not (name and text) then
			return nil
		end
		out[#out + 1] = ("[%s]=%s"):format(name, text)
	end
	table.sort(out)
	return "{" .. table.concat(out, ",") .. "}"
end

---The declaration of a task that was found, or of a command file that has a script, as loader.read gives it.
---@param found runner.Found
---@param project table
---@param value any of the command file
---@param text? string of it
---@return table? declaration
---@return runner.Error? problem
---@return string? text
---@return true? partial
function M.read(found, project, value, text)
	local words, at = command_line.name_words(found.name), found.group and #command_line.name_words(found.group) + 1 or 1
	local file = found.task and read(project, found.path, found.group and "commands" or "tasks", found.words and words, at) or { text = text }
	local task, all, _ = value, nil, nil
	if found.task and file.problem then
		return nil, file.problem
	elseif found.task then
		task, _, all = tasks.find(file.list, words, at, file.value)
	end
	if not task then
		return nil, require("runner.core.errors").new("COMMAND_NOT_FOUND",
			("%s has no task '%s'"):format(found.path, command_line.typed(found.name)), { phase = "validation" })
	end
	found.source = file.text
	if found.task and task.sources then -- a change of others is none of it
		found.own = spelt({ task, { all.env, all.cwd, all.interpreter } }) or task_text.only(file.all, found.name, found.group, true)
	end
	return tasks.declaration(task, all, { private = ("." .. found.name):find "%._" ~= nil or nil, timeout = limit_of(project),
		cwd = host.bundle() and "caller" or nil }), nil, -- the project of a program is a folder of its version
		file.text, file.partial
end

return M
