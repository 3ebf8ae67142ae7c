-- lint: the problems and warnings of command files and of runner.lua, as rows (the rules are in
-- lua/declare/declaration.lua and lua/declare/lint.lua); and the examples of declarations, run as a caller would
-- type them, but as dry runs where the command changes something. An example that the command refuses is a problem; one
-- that fails for another reason, such as a server that is not there, is a warning. And what no file shows by itself: files
-- that are no commands, aliases that stand for nothing, commands that need each other.

local command_line = require "runner.core.command_line"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local declaration = require "runner.declare.declaration"
local lint = require "runner.declare.lint"
local script_text = require "runner.declare.script"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local catalog = require "runner.project.catalog"
local locate = require "runner.project.locate"

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

-- What no file shows by itself: files that are no commands, aliases that stand for nothing, commands that need
-- each other, and what shellcheck says of scripts, where it is installed.

local function add(list, file, row)
	row.file, row.message = file, ("%s%s: %s. %s"):format(file, row.line and ":" .. row.line or "", row.message, row.fix)
	list[#list + 1] = row
end

-- --- files ---------------------------------------------------------------------------------------

local MAX_DEPTH = 4 -- of folders of commands

local function look_into(dir, depth, out)
	for _, name in ipairs(fs.list(dir) or {}) do
		local path, word = dir .. "/" .. name, name:match "^(.*)%.lua$"
		if word and not rules.is_command_word(word) and not word:find "^[_.]" then
			local better = word:gsub("[^%w_-]+", "-"):gsub("^%-+", "")
			add(out.warnings, M.shown(path), { message = ("this file is no command, since '%s' is no name of one"):format(word),
				fix = ("Rename it to %s.lua%s"):format(better, word:find "^[%w_-]+%.[%w_.-]+$"
					and (", or %s.lua for one of a group"):format((word:gsub("%.", "/"))) or "") })
		elseif not word and depth < MAX_DEPTH and not name:find "^[_.]" and (fs.lstat(path) or {}).type == "directory" then
			look_into(path, depth + 1, out)
		end
	end
end

---Files beside the commands that can't be called.
---@param project table
---@param out {warnings: runner.Finding[]}
function M.ignored(project, out)
	if project.root then
		look_into(project.commands, 1, out)
	end
end

-- --- names ---------------------------------------------------------------------------------------

---Aliases of runner.lua that stand for no command.
---@param project table
---@param out {problems: runner.Finding[]}
function M.idle_aliases(project, out)
	for _, name in ipairs(tables.sorted_keys(project.aliases or {})) do
		local words = project.aliases[name]
		if not locate.find(words, project) and not catalog.list_below(project, words[1])[1] then
			add(out.problems, M.shown(project.file), { key = "aliases", fix = "Run 'runner' to list the commands",
				message = ("the alias '%s' stands for '%s', which is no command"):format(name, words[1]) })
		end
	end
end

local function needed_by(value)
	local names = {}
	for _, key in ipairs { "needs", "parallel" } do
		for _, need in ipairs(type(value[key]) == "table" and value[key] or {}) do
			need = type(need) == "table" and need[1] or need
			names[#names + 1] = type(need) == "string" and table.concat(command_line.name_words((need:gsub("[. ]+", "."))), ".") or nil
		end
	end
	return names
end

---Commands that need each other, so that none of them can run.
---@param declared {found: runner.Found, value: table}[]
---@param out {problems: runner.Finding[]}
function M.circles(declared, out)
	local by_name, seen = {}, {}
	for _, one in ipairs(declared) do
		by_name[one.found.name] = one
	end
	local function visit(name, chain, at)
		if at[name] then
			local circle = table.move(chain, at[name], #chain, 1, {})
			circle[#circle + 1] = name
			for i, word in ipairs(circle) do
				circle[i] = command_line.typed(word)
			end
			add(out.problems, M.shown(by_name[name].found.path), { key = "needs", fix = "Remove one of these from needs",
				message = ("'%s' needs itself: %s"):format(circle[1], table.concat(circle, " → ")) })
		elseif by_name[name] and not seen[name] then
			chain[#chain + 1], at[name] = name, #chain + 1
			for _, other in ipairs(needed_by(by_name[name].value)) do
				visit(other, chain, at)
			end
			chain[#chain], at[name], seen[name] = nil, nil, true
		end
	end
	for _, one in ipairs(declared) do
		visit(one.found.name, {}, {})
	end
end

-- --- scripts -------------------------------------------------------------------------------------

local DIALECTS = tables.set "sh bash dash ksh"
local AT_ONCE = 200 -- files of a call
-- Arguments are variables that no line assigns, and there is no first line where /bin/sh runs it; other files are not here.
local LEFT_OUT = "SC1090,SC1091,SC2148,SC2154"

-- What runs it: "sh", "bash"; nil: what shellcheck doesn't know.
local function dialect(value)
	local first, second = value.shell:match "^%s*#![ \t]*(%S+)[ \t]*(%S*)"
	local words = value.interpreter or "sh"
	local program = first and (first:find "/env$" and second or first) or type(words) == "table" and words[1] or tostring(words):match "%S+"
	local name = program:match "[^/]*$"
	return DIALECTS[name] and name or nil
end

local function ask(ctx, kind, scripts, out)
	local call = { "shellcheck", "--norc", "-f", "json1", "-S", "warning", "-e", LEFT_OUT, "-s", kind, check = false, timeout = "5m" }
	local by_path = {}
	for i, script in ipairs(scripts) do
		local path = ("%s/script-%s-%d"):format(ctx.tempdir, kind, i)
		ctx.fs.write(path, (script.value.shell:find "^%s*#!" and "" or "set -e; ") .. script_text.dedented(script.value.shell))
		by_path[path], call[#call + 1] = script, path
	end
	local answer = json.decode(ctx:run(call).stdout)
	for _, comment in ipairs(type(answer) == "table" and type(answer.comments) == "table" and answer.comments or {}) do
		local found = by_path[comment.file].found
		local first = found.source and script_text.line_of(found.source, by_path[comment.file].value.shell, found)
		add(out.warnings, M.shown(found.path), { key = "shell", line = first and first + math.tointeger(comment.line) - 1 or nil,
			message = ("shell of '%s': %s"):format(command_line.typed(found.name), (tostring(comment.message):gsub("%.$", ""))),
			fix = ("Correct it, or write # shellcheck disable=SC%d above it"):format(math.tointeger(comment.code)) })
	end
end

---What shellcheck says of scripts of a shell; nothing where it is not installed.
---@param ctx runner.Context
---@param declared {found: runner.Found, value: table}[]
---@param out {warnings: runner.Finding[]}
function M.scripts(ctx, declared, out)
	local by_kind = {}
	for _, one in ipairs(declared) do
		local kind = type(one.value.shell) == "string" and dialect(one.value)
		if kind then
			by_kind[kind] = by_kind[kind] or {}
			table.insert(by_kind[kind], one)
		end
	end
	if next(by_kind) == nil or not ctx:run{ "shellcheck", "--version", check = false }.ok then
		return
	end
	for _, kind in ipairs(tables.sorted_keys(by_kind)) do
		for first = 1, #by_kind[kind], AT_ONCE do
			ask(ctx, kind, table.move(by_kind[kind], first, math.min(first + AT_ONCE - 1, #by_kind[kind]), 1, {}), out)
		end
	end
end

return M
