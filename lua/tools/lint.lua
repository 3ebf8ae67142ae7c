-- lint: the problems and warnings of command files and of runner.lua, as rows (the rules are in
-- lua/declare/declaration.lua and lua/declare/lint.lua); and the examples of declarations, run as a caller would
-- type them, but as dry runs where the command changes something. An example that the command refuses is a problem; one
-- that fails for another reason, such as a server that is not there, is a warning.

local catalog = require "runner.project.catalog"
local declaration = require "runner.declare.declaration"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local lint = require "runner.declare.lint"
local locate = require "runner.project.locate"
local command_line = require "runner.core.command_line"
local tables = require "runner.core.tables"

local M = {}

---@class runner.Finding
---@field file string relative to the working directory where it lies below
---@field line? integer
---@field key? string
---@field message string
---@field fix? string

---A path as the reader would write it.
---@param path string
---@return string
function M.shown(path)
	local here = (host.getcwd() or "") .. "/"
	return path:sub(1, #here) == here and path:sub(#here + 1) or path
end

local function replace_plain(text, from, to)
	local at = text:find(from, 1, true)
	return at and text:sub(1, at - 1) .. to .. text:sub(at + #from) or text
end

-- An error of the loader, as rows.
local function of_error(e, path)
	local shown, rows = M.shown(path), {}
	for i, row in ipairs(e.errors or {}) do
		rows[i] = { file = shown, line = row.line, key = row.field, message = replace_plain(row.message, path, shown),
			fix = row.fix_required }
	end
	if not rows[1] then
		local line = e.message:match(":(%d+): ")
		rows[1] = { file = shown, line = math.tointeger(tonumber(line or "")), fix = e.fix_required,
			message = replace_plain(e.message, path, shown) }
	end
	return rows
end

local function of_list(list, shown, into)
	for _, p in ipairs(list) do
		into[#into + 1] = { file = shown, line = p.line, key = p.key ~= "" and p.key or nil, message = p.message,
			fix = p.fix }
	end
end

local function has_argument(value, name)
	for _, row in ipairs(type(value.args) == "table" and value.args or {}) do
		if type(row) == "table" and (row.name or row[1]) == name then
			return true
		end
	end
	return value.arguments ~= nil
end

-- A command that another one needs is there, takes what it is given, and asks a person only where that one does.
local function look_at_need(need, own, project, report)
	local args, words = tables.add({}, need), command_line.name_words((need[1]:gsub("[. ]+", ".")))
	args[1] = nil
	local found = locate.find(words, project)
	if not found or found.words ~= #words then
		return report("problems", ("names '%s', which is no command"):format(need[1]), "Run 'runner' to list the commands")
	end
	local value = found.path and catalog.read(found, project)
	for _, name in ipairs(type(value) == "table" and tables.sorted_keys(args) or {}) do
		if not has_argument(value, name) then
			report("problems", ("gives '%s' the argument '%s', which it doesn't have"):format(need[1], name), "Remove it")
		end
	end
	if type(value) == "table" and value.danger_level == "destructive" and own.danger_level ~= "destructive" then
		report("warnings", ("names '%s', which is destructive, so that the call is refused"):format(need[1]),
			'Write danger_level = "destructive"')
	elseif type(value) == "table" and value.danger_level == "mutating" and own.danger_level == "safe" then
		report("warnings", ("names '%s', which changes something, and this command says that it is safe"):format(need[1]),
			'Write danger_level = "mutating"')
	end
end

local function look_at_needs(value, project, shown, out)
	for _, key in ipairs { "needs", "parallel" } do
		for _, need in ipairs(value[key] or {}) do
			look_at_need(type(need) == "string" and { need } or need, value, project, function(list, what, fix)
				of_list({ { key = key, fix = fix, message = ("%s: %s %s. %s"):format(shown, key, what, fix) } }, shown, out[list])
			end)
		end
	end
end

---Check one command file. A file that is gone is a problem, unless it was only `listed`.
---@param found runner.Found
---@param project table
---@param out {problems: runner.Finding[], warnings: runner.Finding[]} what is found is added
---@return any declaration what the file returned; nil: it can't be loaded
function M.command(found, project, out)
	local value, problem, text, partial = catalog.read(found, project)
	if problem and found.listed and catalog.is_gone(found) then
		return
	elseif problem then
		table.move(of_error(problem, found.path), 1, 100, #out.problems + 1, out.problems)
		return nil
	end
	text = found.task and require("runner.declare.task_text").only(text, found.name, found.group) or text
	local where = { path = M.shown(found.path), name = found.name, text = text, config = project.config }
	local problems = catalog.guarded(declaration.problems, value, where, true)
	if partial and problems[1] then
		table.move(of_error(require("runner.project.inert").partial(found.path), found.path), 1, 100, #out.problems + 1, out.problems)
		return nil
	end
	of_list(problems, where.path, out.problems)
	if not problems[1] then
		look_at_needs(value, project, where.path, out)
	end
	of_list(lint.problems(value, where), where.path, out.problems)
	of_list(lint.find(value, where), where.path, out.warnings)
	return value
end

---Files of the project that never run, since a built-in has their name.
---@param project table
---@param out {problems: runner.Finding[]}
function M.shadowed(project, out)
	for _, name in ipairs(tables.sorted_keys(locate.fixed)) do
		local path = ("%s/%s.lua"):format(project.commands or "", name)
		local folder = path:match("^(.*)%.lua$")
		path = not host.probe(path) and host.probe(folder) and folder or path
		if host.probe(path) then
			local file, fix = M.shown(path), "Rename the file"
			out.problems[#out.problems + 1] = { file = file, fix = fix,
				message = ("%s: '%s' is a built-in command, so this file is never run. %s"):format(file, name, fix) }
		end
	end
end

---Aliases of which one never holds, since something else has the name.
---@param project table
---@param out {problems: runner.Finding[]}
function M.aliases(project, out)
	for _, conflict in ipairs(require("runner.project.aliases").conflicts(project)) do
		local file, fix = M.shown(conflict.second), "Choose another alias"
		out.problems[#out.problems + 1] = { file = file, key = "aliases", fix = fix,
			message = ("%s: the alias '%s' is a name of %s already. %s"):format(file, conflict.name,
				conflict.first:sub(1, 1) == "/" and M.shown(conflict.first) or conflict.first, fix) }
	end
end

---The problems of runner.lua.
---@param project table with `problem` when it has one
---@param out {problems: runner.Finding[]}
function M.project(project, out)
	if project.problem then
		local about = project.problem.context or {}
		local path = about.path or about.file or project.file or "runner.lua"
		table.move(of_error(project.problem, path), 1, 100, #out.problems + 1, out.problems)
	end
end

local TIMEOUT = "30s"

-- Failures that are the file's own fault.
local FAULTS = { INTERNAL_ERROR = true, COMMAND_CRASHED = true, INVALID_RESULT = true, UNDECLARED_EXIT_CODE = true,
	OUTPUT_SCHEMA_MISMATCH = true }

local function run(ctx, words)
	local argv = { fs.readlink "/proc/self/exe" or "runner", check = false, timeout = TIMEOUT,
		env = { RUNNER_DRY_RUN = "1", RUNNER_FORMAT = "json", RUNNER_RETRIES = "0" } }
	table.move(words, 2, #words, 2, argv)
	return ctx:run(argv)
end

local function answer_of(result)
	local envelope = json.decode(result.stdout)
	local e = type(envelope) == "table" and type(envelope.error) == "table" and envelope.error or {}
	return tostring(e.code or ("exit code %s"):format(result.status or result.signal)), e.message and ": " .. e.message or ""
end

local function judge(ctx, example, shown, i, out)
	local function add(list, message, fix)
		list[#list + 1] = { file = shown, key = ("examples.%d"):format(i), fix = fix, message = ("%s: example %d, '%s', %s. %s"):format(
			shown, i, example.command, message, fix) }
	end
	local words = command_line.split(example.command)
	if not words or words[1] ~= "runner" then
		return add(out.warnings, "needs a shell, and was not run", "Write a plain call: runner COMMAND ARGUMENTS")
	end
	out.examples = out.examples + 1
	local result = run(ctx, words)
	if result.ok then
		return
	end
	local code, message = answer_of(result)
	if result.timed_out then
		add(out.warnings, ("was ended after %s"):format(TIMEOUT), "Write one that ends")
	elseif result.status == 2 or FAULTS[code] or not result.status then
		add(out.problems, ("fails with %s%s"):format(code, message), "Correct the example, or the command")
	else
		add(out.warnings, ("failed here with %s%s"):format(code, message), "Run it where it can succeed")
	end
end

---Run the examples of a command.
---@param ctx runner.Context
---@param value any what the file returned
---@param shown string path of the file, for messages
---@param out {problems: runner.Finding[], warnings: runner.Finding[], examples: integer} what is found is added
function M.examples(ctx, value, shown, out)
	local list = type(value) == "table" and value.examples
	for i, example in ipairs(type(list) == "table" and list or {}) do
		if type(example) == "table" and type(example.command) == "string" then
			judge(ctx, example, shown, i, out)
		end
	end
end

return M
