-- variables: what a file of another tool sets for all of its scripts: a text becomes one of `env`, and what has to be computed
-- a line in front of each script that asks for it. Pure.

local shell = require "runner.import.shell"
local tables = require "runner.core.tables"

local M = {}

---@class runner.import.Variable
---@field line integer
---@field export? boolean programs see it
---@field outer? boolean the caller's variable of that name goes before it
---@field is_local? boolean of one task
---@field list? string[] it has several, which are no text
---@field plain? string its value
---@field dq? string what a shell expands to it
---@field uses? string[] other variables in that

local PLAIN = "^[%w%s_./:@%+=,-]*$"

-- Names that stand in the environment of every program for something else.
local RESERVED = tables.set "PATH HOME USER SHELL PWD IFS ENV TERM LANG TMPDIR PS1 LOGNAME http_proxy https_proxy all_proxy no_proxy"

-- Programs obey these, which the tool of the file doesn't export.
local function is_reserved(name)
	return RESERVED[name] or name:find "^MAKE" or name:find "^GIT_" or name:find "^LD_" or name:find "^GREP_" or name:find "FLAGS$"
		or name:find "^PYTHON" or name:find "^NODE_" or name:find "^BASH_"
end

local function own(name)
	return (name:gsub("[^%w_]", "_"))
end

-- One that programs don't see there has a name in lower case here, which none of them obeys.
local function name_of(name, variable)
	return variable.own or variable.export and own(name) or own(name):lower()
end

local function give_names(all, taken)
	for name, variable in next, all do
		taken[own(name)] = (variable.export or own(name):lower() == own(name)) and true or taken[own(name)]
	end
	for _, name in ipairs(tables.sorted_keys(all)) do
		local wanted = name_of(name, all[name])
		while wanted ~= own(name) and taken[wanted] do
			wanted = wanted .. "_"
		end
		all[name].own, taken[wanted] = wanted, true
	end
end

---What stands for a variable: its text, where a shell would read something in that or it has no variable here, else its name.
---@param scope {used: string[]} gets the names that have to be set
---@param name string
---@param variable runner.import.Variable
---@return runner.import.Hole
function M.hole(scope, name, variable)
	if variable.failed or variable.list then
		return scope.fail(name) or { const = "" }
	elseif variable.plain and not (variable.is_set and variable.plain:find(PLAIN)) then
		return { const = variable.plain }
	elseif not variable.plain then
		scope.used[#scope.used + 1] = name
	end
	return { dq = ("${%s}"):format(name_of(name, variable)), text = variable.plain }
end

---Settle what each is.
---@param all table<string, runner.import.Variable>
---@param sheet runner.import.Sheet
---@param evaluate fun(scope: table, variable: runner.import.Variable): runner.import.Hole
---@param taken? table<string, true> names of arguments
function M.settle(all, sheet, evaluate, taken)
	local begun = {}
	give_names(all, taken or {})
	local function settle(name)
		local variable = all[name]
		if begun[name] or variable.list then
			return
		end
		begun[name] = true
		local scope = { used = {}, variables = all, sheet = sheet, find = function(other)
			if all[other] and other ~= name then
				settle(other)
			end
			return other ~= name and all[other] or nil
		end }
		function scope.fail(what)
			variable.failed = what
		end
		local value = evaluate(scope, variable)
		value = variable.failed and {} or value
		variable.uses, variable.plain, variable.dq = scope.used, value.const or value.text, not value.text and value.dq or nil
		if variable.failed then
			sheet:note(variable.line, name, ("left out, because of %s"):format(variable.failed))
		elseif variable.plain and not variable.outer
			and (variable.export or variable.plain:find(PLAIN) and not is_reserved(variable.own)) then
			variable.is_set = true
			sheet.env[variable.own] = variable.plain:gsub("%$", "$$")
		end
	end
	for _, name in ipairs(tables.sorted_keys(all)) do
		settle(name)
	end
end

---The lines that set the variables which a script asks for, each behind those that it asks for itself.
---@param all table<string, runner.import.Variable>
---@param used string[]
---@param except? table<string, true> those that it exports itself
---@return string[] lines
---@return string[] locals the same of its own, which come after them
function M.lines(all, used, except)
	local out, locals, exports, done = {}, {}, {}, tables.add({}, except or {})
	local function set(name)
		local variable = all[name]
		local dq = variable and (variable.dq or variable.outer and variable.plain and shell.dq(variable.plain))
		if done[name] or not dq then
			return
		end
		done[name] = true
		for _, other in ipairs(variable.uses) do
			set(other)
		end
		local as, list = name_of(name, variable), variable.is_local and locals or out
		list[#list + 1] = ('%s%s="%s"%s'):format(variable.outer and ('[ "${%s+x}" ] || '):format(as) or "", as, dq,
			dq:find "[$`]" and " || exit" or "")
		exports[#exports + 1] = variable.export and as or nil
	end
	for _, name in ipairs(tables.sorted_keys(all)) do
		if all[name].export then
			set(name)
		end
	end
	out[#out + 1] = exports[1] and "export " .. table.concat(exports, " ") or nil
	table.sort(used)
	for _, name in ipairs(used) do
		set(name)
	end
	return out, locals
end

---The way from a directory of a task to that of the file, as a word of a shell.
---@param cwd string
---@param root? string
---@return string
function M.way_up(cwd, root)
	return shell.single((cwd:gsub("[^/]+", "..")) .. (root and "/" .. root or ""))
end

---Lines that are computed in the directory of the file, in a script that has another one.
---@param lines string[]
---@param cwd? string of the script, below that of the file
---@param root? string that of the file
---@return string[]
function M.in_root(lines, cwd, root)
	if not cwd or not table.concat(lines):find "[$`]" then
		return lines
	end
	return table.move(lines, 1, #lines, 2, { ('_in="$PWD"; cd %s'):format(M.way_up(cwd, root)), [#lines + 2] = 'cd "$_in"' })
end

---Several texts and holes as one.
---@param parts (string|runner.import.Hole)[]
---@return runner.import.Hole
function M.joined(parts)
	local const, dq = "", ""
	for _, part in ipairs(parts) do
		local text = type(part) == "string" and part or part.const
		const = const and text and const .. text or nil
		dq = dq .. (text and shell.dq(text) or part.dq)
	end
	return const and { const = const } or { dq = dq }
end

return M
