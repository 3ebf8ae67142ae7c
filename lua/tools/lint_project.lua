-- lint_project: what no file shows by itself: files that are no commands, aliases that stand for nothing, commands that need
-- each other, and what shellcheck says of scripts, where it is installed.

local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local fs = require "runner.fs"
local json = require "runner.json"
local lint = require "runner.tools.lint"
local locate = require "runner.project.locate"
local rules = require "runner.core.rules"
local script_text = require "runner.declare.script"
local tables = require "runner.core.tables"

local M = {}

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
			add(out.warnings, lint.shown(path), { message = ("this file is no command, since '%s' is no name of one"):format(word),
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
function M.aliases(project, out)
	for _, name in ipairs(tables.sorted_keys(project.aliases or {})) do
		local words = project.aliases[name]
		if not locate.find(words, project) and not catalog.list_below(project, words[1])[1] then
			add(out.problems, lint.shown(project.file), { key = "aliases", fix = "Run 'runner' to list the commands",
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
			add(out.problems, lint.shown(by_name[name].found.path), { key = "needs", fix = "Remove one of these from needs",
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
		add(out.warnings, lint.shown(found.path), { key = "shell", line = first and first + math.tointeger(comment.line) - 1 or nil,
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
