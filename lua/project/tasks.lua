-- tasks: the file tasks.lua of a project, beside runner.lua: what it returns, read once for a call, and the tasks in it. A
-- command file goes before a task of its name, a task before a built-in command. Loaded where there is such a file, and no
-- command file has the name.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local host = require "runner.host"
local tasks = require "runner.declare.tasks"
local task_text = setmetatable({}, { __index = function(_, name) return require("runner.declare.task_text")[name] end })

local M = {}

local LIMIT = "1h" -- of a task that declares none, where no person can end it

local known = {} -- by path, and whether it is only read

local function invalid(path, why, fix)
	return require("runner.project.load_failure").invalid_file(path, ("%s %s"):format(path, why), { fix_required = fix })
end

-- What the file returns, or its problem; its text.
local function read(project)
	local path = project.root .. "/tasks.lua"
	local key = path .. (project.unread and "?" or "")
	local file = known[key]
	if not file then
		local lib = project.root .. "/lib/?"
		if package.path:sub(1, #lib) ~= lib then -- as of commands/
			package.path = ("%s.lua;%s/init.lua;%s"):format(lib, lib, package.path)
		end
		local value, problem, text, partial = project.read(path, nil, project.unread)
		file = { value = value, problem = problem, text = text or host.source(path) or "", partial = partial }
		local why, fix = tasks.problem(value)
		file.problem = problem or why and invalid(path, why, fix)
		known[key], file.path = file, path
	end
	return file
end

-- Of a file that is not known, whether it seems to have a task: a call of that says what is wrong.
local function mentions(file, word)
	return file.text:find("%f[%w_-]" .. word:gsub("%W", "%%%0") .. "%f[^%w_-]") ~= nil
end

---All tasks, for lists. The file is read anew: a server makes many.
---@param project table
---@return {name: string, path: string, task: true, order?: integer, section?: string}[] in no order
function M.list(project)
	local before = read(project)
	project.problem = project.problem ~= before.problem and project.problem or nil
	known = {}
	local file, out = read(project), {}
	if not file.problem then
		local problem, fix
		out, problem, fix = tasks.all(file.value)
		file.problem = problem and invalid(file.path, problem, fix)
	end
	project.problem = project.problem or file.problem
	local places = out[1] and task_text.places(file.text)
	for i, row in ipairs(out) do
		local place = places[row.name] or {}
		out[i] = { name = row.name, path = file.path, task = true, order = place.order, section = place.section }
	end
	return out
end

---The task that words begin with.
---@param words string[]
---@param project table
---@return runner.Found?
function M.find(words, project)
	local file = words[1] and read(project)
	if not file then
		return nil
	elseif file.problem then
		project.problem = project.problem or not file.problem.unread and file.problem or nil
		return mentions(file, words[1]) and { name = words[1], path = file.path, words = 1, task = true } or nil
	end
	local task, last = tasks.find(file.value, words)
	return task and { name = table.concat(words, ".", 1, last), path = file.path, words = last, folder = project.commands, task = true } or nil
end

-- A person at a terminal ends what takes too long. What a call needs has its limit.
local function limit_of(project)
	local launch = attempt.launch
	local own = os.getenv "RUNNER_NEEDS" or launch.person and not launch.job
	return not (project and project.timeout) and (own and "none" or LIMIT) or nil
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
	local file = found.task and read(project) or { text = text }
	local task, all, _ = value, nil, nil
	if found.task and file.problem then
		return nil, file.problem
	elseif found.task then
		task, _, all = tasks.find(file.value, command_line.name_words(found.name))
	end
	if not task then
		return nil, require("runner.core.errors").new("COMMAND_NOT_FOUND",
			("%s has no task '%s'"):format(found.path, command_line.typed(found.name)), { phase = "validation" })
	end
	found.source = file.text
	found.own = found.task and task.sources and task_text.only(file.text, found.name, true) or nil -- a change of others is none of it
	return tasks.declaration(task, all, { private = found.name:find "^_" ~= nil or nil, timeout = limit_of(project),
		cwd = host.bundle() and "caller" or nil }), nil, -- the project of a program is a folder of its version
		file.text, file.partial
end

return M
