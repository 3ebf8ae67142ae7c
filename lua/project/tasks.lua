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

local known = {} -- by path, and whether it is only read

local function invalid(path, why, fix, text, key)
	local at = type(key) == "string" and text:find("%f[%w_]" .. key:gsub("%W", "%%%0") .. "%f[^%w_][\"']?%]?%s*=")
	local place = at and (":%d"):format(1 + select(2, text:sub(1, at - 1):gsub("\n", ""))) or ""
	return require("runner.project.load_failure").invalid_file(path, ("%s%s%s %s"):format(path, place, key ~= nil and ":" or "", why),
		{ fix_required = fix })
end

-- What a file returns, or its problem; its text. `list`: "tasks", or of a command file "commands".
local function read(project, path, list)
	local key = path .. (project.unread and "?" or "")
	local file = known[key]
	if not file then
		local lib = project.root .. "/lib/?"
		if package.path:sub(1, #lib) ~= lib then -- as of commands/
			package.path = ("%s.lua;%s/init.lua;%s"):format(lib, lib, package.path)
		end
		local value, problem, text, partial = project.read(path, list == "commands" and project.commands or nil, project.unread)
		text = text or host.source(path) or ""
		local why, fix, about = tasks.problem(value, list)
		local name = why and value == nil and require("runner.declare.lua_mistakes").not_returned(text)
		fix = name and ("Write return %s as its last line"):format(name) or fix
		file = { value = value, path = path, problem = problem or why and invalid(path, why, fix, text, about), text = text,
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

local function read_tasks(project)
	return read(project, project.root .. "/tasks.lua", "tasks")
end

-- Of a file that is not known, whether it seems to have a task: a call of that says what is wrong.
local function mentions(file, word)
	return file.text:find("%f[%w_-]" .. word:gsub("%W", "%%%0") .. "%f[^%w_-]") ~= nil
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
	known[entry.path], known[entry.path .. "?"] = nil, nil
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
	local file = words[1] and read_tasks(project)
	if not file then
		return nil
	elseif file.problem then
		project.problem = project.problem or not file.problem.unread and file.problem or nil
		return mentions(file, words[1]) and { name = words[1], path = file.path, words = 1, task = true } or nil
	end
	local task, last = tasks.find(file.list, words, 1, file.value)
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
	local file = is_out_of_reach(found.path) and {} or read(project, found.path, "commands")
	if not file.is_group then
		found.folder = not (project.unread and (file.problem or file.partial)) and found.folder or nil -- it is looked up again
		return found
	end
	local task, last = tasks.find(file.list or {}, words, found.words + 1, file.value or {})
	last = file.problem and found.words or last -- the call says what is wrong
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
	local file = found.task and read(project, found.path, found.group and "commands" or "tasks") or { text = text }
	local task, all, _ = value, nil, nil
	if found.task and file.problem then
		return nil, file.problem
	elseif found.task then
		local at = found.group and #command_line.name_words(found.group) + 1 or 1
		task, _, all = tasks.find(file.list, command_line.name_words(found.name), at, file.value)
	end
	if not task then
		return nil, require("runner.core.errors").new("COMMAND_NOT_FOUND",
			("%s has no task '%s'"):format(found.path, command_line.typed(found.name)), { phase = "validation" })
	end
	found.source = file.text
	if found.task and task.sources then -- a change of others is none of it
		found.own = spelt({ task, { all.env, all.cwd, all.interpreter } }) or task_text.only(file.text, found.name, found.group, true)
	end
	return tasks.declaration(task, all, { private = ("." .. found.name):find "%._" ~= nil or nil, timeout = limit_of(project),
		cwd = host.bundle() and "caller" or nil }), nil, -- the project of a program is a folder of its version
		file.text, file.partial
end

return M
