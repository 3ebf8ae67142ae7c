-- lint: the problems and warnings of command files and of runner.lua, as rows. Loaded by
-- `runner lint` alone. It loads files and runs nothing else of them; the rules are in
-- lua/declare/declaration.lua and lua/declare/lint_rules.lua.

local catalog = require "runner.project.catalog"
local declaration = require "runner.declare.declaration"
local host = require "runner.host"
local lint_rules = require "runner.declare.lint_rules"
local locate = require "runner.project.locate"
local sorted = require "runner.core.sorted"

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

---Check one command file. A file that is gone is a problem, unless it was only `listed`.
---@param found runner.Found
---@param config table
---@param out {problems: runner.Finding[], warnings: runner.Finding[]} what is found is added
---@return any declaration what the file returned; nil: it can't be loaded
function M.command(found, config, out)
	local value, problem, text = catalog.read(found)
	if problem and found.listed and catalog.is_gone(found) then
		return
	elseif problem then
		table.move(of_error(problem, found.path), 1, 100, #out.problems + 1, out.problems)
		return nil
	end
	local where = { path = M.shown(found.path), name = found.name, text = text, config = config }
	of_list(catalog.guarded(declaration.problems, value, where, true), where.path, out.problems)
	of_list(lint_rules.problems(value, where), where.path, out.problems)
	of_list(lint_rules.find(value, where), where.path, out.warnings)
	return value
end

---Files of the project that never run, since a built-in has their name.
---@param project table
---@param out {problems: runner.Finding[]}
function M.shadowed(project, out)
	for _, name in ipairs(sorted.keys(locate.fixed)) do
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
	for _, conflict in ipairs(require("runner.project.alias_names").conflicts(project)) do
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

return M
