-- variables: what a file of another tool sets for all of its scripts: a text becomes one of `env`, and what has to be computed
-- a line in front of each script that asks for it. Pure.

local shell = require "runner.import.shell"
local tables = require "runner.core.tables"

local M = {}

---@class runner.import.Variable
---@field line integer
---@field export? boolean programs see it
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
	if variable.failed then
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
		if begun[name] then
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
		variable.uses, variable.plain, variable.dq = scope.used, value.const, value.dq
		if variable.failed then
			sheet:note(variable.line, name, ("left out, because of %s"):format(variable.failed))
		elseif variable.plain and (variable.export or variable.plain:find(PLAIN)) and (variable.export or not is_reserved(variable.own)) then
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
---@return string[]
function M.lines(all, used)
	local out, done = {}, {}
	local function set(name)
		local variable = all[name]
		if done[name] or not (variable and variable.dq) then
			return
		end
		done[name] = true
		for _, other in ipairs(variable.uses) do
			set(other)
		end
		local as = name_of(name, variable)
		out[#out + 1] = ('%s="%s"%s'):format(as, variable.dq, variable.dq:find "[$`]" and " || exit" or "")
		out[#out + 1] = variable.export and "export " .. as or nil
	end
	for _, name in ipairs(tables.sorted_keys(all)) do
		if all[name].export then
			set(name)
		end
	end
	table.sort(used)
	for _, name in ipairs(used) do
		set(name)
	end
	return out
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
