-- justfile: the recipes of a justfile. What just pastes into a script becomes a variable of it, set by env, by an argument, or
-- by a line in front of the script.

local sheets = require "runner.import.sheet"
local shell = require "runner.import.shell"
local expressions = require "runner.import.just_expressions"
local variables = require "runner.import.variables"

local M = {}

local NAME = "[%a_][%w_-]*"

-- --- the file, statement by statement --------------------------------------------------------------

local QUOTES = { "'''", '"""', "```", "'", '"', "`" }

-- Where a text or an expression in brackets is open at the end of a line, the next one belongs to it.
local function is_open(text)
	local depth, at = 0, 1
	while at <= #text do
		local from, found = text:find("[\\'\"`#(){}%[%]]", at), nil
		local c = from and text:sub(from, from)
		at = from and from + 1 or #text + 1
		for _, quote in ipairs(from and QUOTES or {}) do
			found = found or text:sub(from, from + #quote - 1) == quote and quote or nil
		end
		if found then
			at = from + #found
			while at <= #text and text:sub(at, at + #found - 1) ~= found do
				at = at + (found:find '"' and text:sub(at, at) == "\\" and 2 or 1)
			end
			if at > #text then
				return true
			end
			at = at + #found
		elseif c == "#" then
			at = text:find("\n", at, true) or #text + 1
		elseif c == "\\" and not text:find("[^ \t]", at) then
			return true
		elseif c and c ~= "\\" then
			depth = depth + (c:find "[({%[]" and 1 or -1)
		end
	end
	return depth > 0
end

---@class runner.import.Recipe
---@field name string
---@field line integer
---@field head string what follows the name
---@field body string[]
---@field doc? string
---@field attributes {name: string, value?: string, line: integer}[]
---@field quiet boolean

local function attributes_of(text, line, out)
	for name, value in (text .. ","):gmatch "%s*([%a-]+)%s*(%b())" do
		out[#out + 1] = { name = name, value = value:sub(2, -2), line = line }
	end
	for name in text:gsub("%b()", ""):gsub(":%s*['\"]?[^,]*", function(value)
		out[#out + 1] = { name = text:match "^%s*([%a-]+)", value = value:sub(2), line = line }
		return "="
	end):gsub("[%a-]+%s*=", ""):gmatch "[%a-]+" do
		local known
		for _, a in ipairs(out) do
			known = known or a.line == line and a.name == name
		end
		if not known then
			out[#out + 1] = { name = name, line = line }
		end
	end
	return out
end

local function body_line(lines, i)
	return lines[i] and (lines[i]:find "^[ \t]" or lines[i] == "" and body_line(lines, i + 1))
end

local STATEMENTS

-- What the file says: settings, variables, recipes.
local function parse(text, sheet)
	local lines = {}
	for line in (text:gsub("\r\n", "\n"):gsub("\n*$", "\n")):gmatch "([^\n]*)\n" do
		lines[#lines + 1] = line:find "^%s*$" and "" or line
	end
	local file = { settings = {}, variables = {}, recipes = {}, aliases = {}, sheet = sheet }
	local doc, attributes, i = nil, {}, 1
	while i <= #lines do
		local line, first = lines[i], i
		while is_open(line) and i < #lines and not line:find "^#" do
			i = i + 1
			line = line:gsub("\\%s*$", "") .. "\n" .. lines[i]
		end
		if line == "" then
			doc = nil
		elseif line:find "^#" then
			doc = line:match "^#+!?%s*(.-)%s*$"
		elseif line:find "^%[" then
			attributes = attributes_of(line:match "^%[(.*)%]" or "", first, attributes)
		else
			i = STATEMENTS(file, line, first, i, lines, doc, attributes)
			doc, attributes = nil, {}
		end
		i = i + 1
	end
	return file
end

function STATEMENTS(file, line, first, i, lines, doc, attributes)
	local sheet = file.sheet
	local setting, value = line:match "^set%s+([%w-]+)%s*:?=?%s*(.-)%s*$"
	local alias, of = line:match("^alias%s+(" .. NAME .. ")%s*:=%s*([%w_:-]+)")
	local export, variable, expression = line:match("^(%a*)%s*%f[%w_](" .. NAME .. ")%s*:=%s*(.*)$")
	local quiet, name, head = line:match("^(@?)(" .. NAME .. ")(.*)$")
	if setting and not line:find "^set%s*:=" then
		file.settings[setting] = { value = value == "" and "true" or value, line = first }
	elseif alias then
		file.aliases[#file.aliases + 1] = { name = alias, of = of, line = first, attributes = attributes }
	elseif variable and (export == "" or export == "export" or export == "eager" or export == "lazy") then
		file.variables[variable] = { source = expression, line = first, export = export == "export" }
	elseif line:find "^import%f[%W]" or line:find "^mod%f[%W]" or line:find "^unexport%s" or not name or not head:find ":" then
		sheet:note(first, line:match "^[^\n]*", "left out: copy it here, or import that file too")
	else
		local recipe = { name = name, line = first, head = head, body = {}, doc = doc, attributes = attributes, quiet = quiet == "@" }
		while body_line(lines, i + 1) do
			i = i + 1
			recipe.body[#recipe.body + 1] = lines[i]
		end
		file.recipes[#file.recipes + 1] = recipe
	end
	return i
end

-- --- parameters and dependencies -------------------------------------------------------------------

-- "a b='x' *rest: dep (other a) && after" → parameters, dependencies, those behind it
local function head_of(file, recipe)
	local params, deps, after, at, head = {}, {}, {}, 1, recipe.head
	while true do
		local export, name, rest
		local sign
		sign, export, name, rest = head:match("^%s*([*+]?)(%$?)(" .. NAME .. ")()", at)
		if not name then
			break
		end
		local param = { name = name, sign = sign, export = export == "$" }
		at = rest
		if head:find("^=", at) then
			param.default, at = expressions.value(head, at + 1)
		end
		params[#params + 1] = param
	end
	local list = deps
	at = head:match("^%s*:()", at) or #head + 1
	head = head:gsub("\n", " ")
	while at <= #head do
		local both = head:match("^%s*&&()", at)
		local name, rest = head:match("^%s*%(?%s*([%a_][%w_:-]*)()", at)
		if both then
			list, at = after, both
		elseif name then
			local dep = { name = name, args = {} }
			list[#list + 1], at = dep, rest
			if head:sub(1, rest - 1):find "%(%s*[%w_:-]+$" then
				while not head:find("^%s*%)", at) and at <= #head do
					dep.args[#dep.args + 1], at = expressions.expression(head, at)
				end
				at = (head:match("^%s*%)()", at) or #head + 1)
			end
		else
			break -- a comment
		end
	end
	return params, deps, after
end

local function words_of(file, recipe)
	return function(name)
		for _, param in ipairs(recipe.params) do
			if param.name == name then
				return param
			end
		end
		return file.variables[name]
	end
end

local function is_set(file, name)
	return file.settings[name] and file.settings[name].value ~= "false"
end

-- The arguments of a task: all of them have a place.
local function arguments(scope, recipe, task)
	local args, lines, reorders, own_names = {}, {}, {}, {}
	for _, param in ipairs(recipe.params) do
		local name = sheets.argument(param.name)
		local own = name:gsub("-", "_")
		while own_names[own] or scope.file.variables[own] and own ~= param.name do -- X x, a-b a_b
			name, own = name .. "_2", own .. "_2"
		end
		own_names[own] = true
		local row = { name, "string", positional = param.sign == "" or nil, variadic = param.sign ~= "" or nil }
		param.arg, param.variable = row, param.name:gsub("-", "_")
		local default = param.default and expressions.hole(scope, param.default)
		local text = default and (default.const or default.text)
		param.late = default and (param.sign ~= "" or not text) -- what the script alone has
		if param.sign == "+" and not default then
			row.required = true
		elseif param.sign ~= "" and default then -- as words, which just pastes; "$1" is all of them
			local word = default.const and shell.single(default.const) or '"$_rest"'
			local words = scope.positional and word or default.const or "$_rest"
			if words:find "[;&|<>()#\n]" and not scope.positional then
				scope.fail(("the default of %s"):format(param.name))
			end
			lines[#lines + 1] = default.const and ('[ "$#" -gt 0 ] || set -- %s'):format(words)
				or ('[ "$#" -gt 0 ] || { _rest="%s" || exit; set -- %s; }'):format(default.dq, words)
			param.splits = scope.positional
		elseif default and text and text ~= "" then
			row.default = text
		elseif default and not text then
			lines[#lines + 1] = ('[ -n "${%s:-}" ] || %s="%s"'):format(own, own, default.dq)
		elseif param.sign == "" and not param.default then
			row.required = true
		end
		if (param.export or is_set(scope.file, "export")) and (own ~= param.variable or param.sign ~= "") then
			lines[#lines + 1] = ('export %s="%s"'):format(param.variable, param.sign == "" and ("${%s}"):format(own) or "$*")
		end
		args[#args + 1] = row
		reorders[#reorders + 1] = param.sign == "" and ('"$%s"'):format(own) or '"$@"'
	end
	local last = recipe.params[#recipe.params]
	if scope.positional and last and (#recipe.params > 1 or last.sign == "" or last.splits) then
		if last.sign ~= "" then -- "$@" is all of them
			last.joined = "all_" .. last.arg[1]:gsub("-", "_")
			lines[#lines + 1] = ('%s="$*"'):format(last.joined)
		end
		lines[#lines + 1] = "set -- " .. table.concat(reorders, " ")
	end
	task.keys.args = args[1] and args or nil
	return lines
end

-- --- attributes and settings: the table --------------------------------------------------------------

-- A text that is put together from texts.
local function const_of(tree)
	local out = tree.kind == "const" and tree.text or nil
	for i, part in ipairs(not out and tree.kind ~= "format" and expressions.parts(tree) or {}) do
		local text = (i == 1 or out) and const_of(part)
		out = text and (out or "") .. text or nil
		if not out then
			break
		end
	end
	return out
end

local function said(value)
	return value and const_of((expressions.expression(value, 1))) or nil
end

-- "'uv', 'run'", or a list of them → words
local function words_said(value)
	local words, at = {}, 1
	value = (value or ""):gsub("^%s*%[(.*)%]%s*$", "%1")
	while value:find("%S", at) do
		local tree
		tree, at = expressions.expression(value, at)
		words[#words + 1] = const_of(tree) or "?"
		at = value:match("^%s*,()", at) or #value + 1
	end
	return words
end

local function foreign(...)
	local text = ...
	return function(scope, task, attribute)
		scope.file.sheet:note(attribute.line, ("[%s]"):format(attribute.name), text, task)
	end
end

local function elsewhere() end

---What an attribute does to its task; false: nothing that is different here.
M.attributes = {
	private = function(_, task)
		task.keys.hidden = true
	end,
	confirm = function(_, task, attribute) -- without a question that is known, it is ours
		task.keys.confirm = said(attribute.value) or ("Run '%s'?"):format(task.name)
	end,
	group = function(_, task, attribute)
		task.section = said(attribute.value) or task.section
	end,
	doc = function(_, task, attribute)
		task.keys.description = said(attribute.value) or task.keys.description
	end,
	["no-cd"] = function(_, task)
		task.keys.cwd = "caller"
	end,
	["working-directory"] = function(scope, task, attribute)
		task.keys.cwd = scope.directory(said(attribute.value), attribute.line, task)
	end,
	env = function(scope, task, attribute)
		local name, rest = expressions.expression(attribute.value or "", 1)
		local from = (attribute.value or ""):match("^%s*,()", rest)
		name = const_of(name)
		local hole = name and name:find "^[%a_][%w_]*$" and from and expressions.hole(scope, (expressions.expression(attribute.value, from)))
		if not hole then
			scope.fail "[env]"
		elseif hole.const and not scope.failed then
			task.keys.env = task.keys.env or {}
			task.keys.env[name] = hole.const:gsub("%$", "$$")
		elseif hole.dq then
			table.insert(scope.exported, ('%s="%s" || exit\nexport %s'):format(name, hole.dq, name))
		end
	end,
	arg = function(scope, task, attribute)
		local name = said(attribute.value)
		local function has(key)
			local at = (attribute.value or ""):match("%f[%w]" .. key .. "%s*=%s*()")
			local text = at and const_of((expressions.expression(attribute.value, at)))
			return text or at and scope.fail(("%s of [arg]"):format(key)) or nil
		end
		for _, param in ipairs(scope.recipe.params) do
			local row, pattern = param.arg, has "pattern"
			if param.name == name then
				row.description = has "help"
				row.pattern = pattern and ("^(?:%s)$"):format(pattern:gsub("^%^", ""):gsub("%$$", "")) or nil
				if (attribute.value or ""):find "%f[%w]long%f[%W]" or has "short" then
					row.positional, row.short = nil, has "short"
				end
				for _, key in ipairs { "value", "min", "max", "multiple", "flag" } do
					if attribute.value:gsub("(['\"]).-%1", ""):find("%f[%w]" .. key .. "%f[%W]") then
						scope.fail(("%s of [arg]"):format(key))
					end
				end
			end
		end
	end,
	script = elsewhere, parallel = elsewhere, shell = foreign "left out: its lines are run by the shell of the file",
	["no-quiet"] = elsewhere, ["no-exit-message"] = elsewhere, ["exit-message"] = elsewhere,
	["positional-arguments"] = elsewhere, linux = elsewhere, unix = elsewhere, metadata = elsewhere,
	continue = foreign "left out: a signal ends it",
	default = foreign "runner alone lists the tasks",
	extension = foreign "left out: a script has its interpreter in its first line",
}

local OTHER_SYSTEMS = { windows = true, macos = true, openbsd = true, freebsd = true, netbsd = true, dragonfly = true, android = true }

-- Settings that change nothing here; the others are read where they hold, or said.
local SAME = { quiet = true, export = true, ["positional-arguments"] = true, shell = true, ["windows-shell"] = true,
	["windows-powershell"] = true,
	["dotenv-load"] = true, ["dotenv-filename"] = true, ["dotenv-path"] = true, ["ignore-comments"] = true, unstable = true, tempdir = true,
	["working-directory"] = true, ["script-interpreter"] = true, ["no-exit-message"] = true, ["allow-duplicate-recipes"] = true,
	["allow-duplicate-variables"] = true }

-- `set shell := ["bash", "-uc"]` → "bash -eu"
local function interpreter(file)
	local set = file.settings.shell
	local words, has_e = words_said(set and set.value or "['sh', '-cu']"), false
	for i = #words, 2, -1 do
		local takes = words[i - 1]:find "^[-+]%a*[oO]$" -- what follows is its value
		has_e = has_e or takes and words[i] == "errexit" or not takes and words[i]:find "^%-%a*e" ~= nil
		words[i] = not takes and words[i]:find "^%-%a*c" and words[i]:gsub("c", "", 1) or words[i]
		if words[i] == "-" then
			table.remove(words, i)
		end
	end
	if not (words[1] or ""):match("[^/]*$"):find "sh$" or words[1]:find "[fp]w?i?sh$" or words[1]:find "powershell" then
		file.sheet:note(set.line, "set shell", ("%s reads all lines of a recipe at once here, and may go on behind a failure"):format(
			words[1]))
	elseif not has_e then
		local short = words[2] and words[2]:find "^%-%a*$" and table.remove(words, 2):sub(2) or ""
		table.insert(words, words[2] and words[2]:find "^%-%-" and 3 or 2, "-e" .. short) -- bash has its long options first
	end
	return table.concat(words, " ")
end

local function settings(file)
	local sheet = file.sheet
	for _, name in ipairs(require("runner.core.tables").sorted_keys(file.settings)) do
		if not SAME[name] then
			sheet:note(file.settings[name].line, "set " .. name, "left out")
		end
	end
	sheet.keys.interpreter = interpreter(file)
	local dotenv = file.settings["dotenv-path"] or file.settings["dotenv-filename"]
	local path = dotenv and said(dotenv.value)
	if path or is_set(file, "dotenv-load") then
		sheet:note((dotenv or file.settings["dotenv-load"]).line, "dotenv",
			("write `return { dotenv = %s }` into runner.lua, beside tasks.lua"):format(
			path and sheets.quoted(path) or "true"))
	end
	local directory = file.settings["working-directory"]
	local path_of = directory and said(directory.value)
	path_of = sheets.below(path_of)
	if directory and not path_of then
		file.problem = { line = directory.line, column = 1, message = "working-directory is no directory below this one" }
	end
	sheet.keys.cwd = path_of ~= "" and path_of or nil
end

-- --- a recipe ------------------------------------------------------------------------------------------

-- A text with {{ }} as parts.
local function parts_of(scope, text)
	local out, at = {}, 1
	while true do
		local from, to = text:find("{{", at, true)
		if not from then
			out[#out + 1] = text:sub(at)
			return out
		end
		out[#out + 1] = text:sub(at, from - 1)
		if text:sub(from, from + 3) == "{{{{" then
			out[#out + 1], at = "{{", from + 4
		else
			local tree, stop = expressions.expression(text, to + 1)
			local close = text:match("^%s*}}()", stop)
			if not close then
				scope.fail(("{{%s"):format(text:sub(to + 1, to + 20)))
				return out
			end
			local hole = expressions.hole(scope, tree)
			if scope.computed and (hole.dq or ""):find "%$%(" then -- its failure ends the script
				local name = ("_value_%d"):format(#scope.computed + 1)
				table.insert(scope.computed, ('%s="%s" || exit'):format(name, hole.dq))
				hole = { dq = ("${%s}"):format(name), bare = hole.bare and ('"$%s"'):format(name) or "$" .. name }
			end
			hole.source = text:sub(from, close - 1)
			out[#out + 1], at = hole, close
		end
	end
end

local function dedented(lines)
	local common
	for _, line in ipairs(lines) do
		local blanks = line:match "^[ \t]*"
		common = line == "" and common or common and (blanks:sub(1, #common) == common and common or blanks) or blanks
	end
	local out = {}
	for i, line in ipairs(lines) do
		out[i] = line:sub(#(common or "") + 1)
	end
	while out[#out] == "" do
		out[#out] = nil
	end
	return out
end

local function script_of(scope, lines, program)
	scope.computed = program:find "sh$" and (scope.computed or {}) or nil
	local parts = parts_of(scope, table.concat(lines, "\n"))
	local text, hole = shell[program:find "sh$" and "fill" or "fill_other"](parts, program)
	return text or scope.fail(hole.source) or ""
end

-- Each line in a shell of its own: "@" is not seen here, "-" passes over a failure.
local function linewise(scope, lines)
	local rows, i = {}, 1
	while i <= #lines do
		local line = lines[i]
		while line:find "\\$" and lines[i + 1] do
			i = i + 1
			line = line .. "\n" .. lines[i]
		end
		i = i + 1
		if line ~= "" and not (is_set(scope.file, "ignore-comments") and line:find "^#") then
			rows[#rows + 1] = line
		end
	end
	local out = {}
	for k, row in ipairs(rows) do
		local signs, line = row:match "^([@-]*)%s*(.*)$"
		line = scope.own_call(line)
		local before = #(scope.computed or {})
		local text = shell.own_shell(script_of(scope, { line }, "sh"), k == #rows, signs:find("-", 1, true) ~= nil, true)
		out[k] = table.concat(scope.computed, "\n", before + 1) .. (#scope.computed > before and "\n" or "") .. text
	end
	return table.concat(out, "\n")
end

local function prologue(scope, lines)
	local out, cwd, root = variables.lines(scope.file.variables, scope.used), scope.task.keys.cwd, scope.file.sheet.keys.cwd
	if cwd == "caller" and table.concat(out):find "[$`]" then
		scope.fail "[no-cd], where a variable is computed in the directory of the file"
	end
	out = variables.in_root(out, cwd, root)
	table.move(scope.exported, 1, #scope.exported, #out + 1, out)
	return table.move(lines, 1, #lines, #out + 1, out)
end

local function has(recipe, name)
	for _, attribute in ipairs(recipe.attributes) do
		if attribute.name == name then
			return attribute
		end
	end
end

local function body_of(scope, recipe, lines)
	local body = dedented(recipe.body)
	local named = has(recipe, "script")
	local by_file = scope.file.settings["script-interpreter"]
	local program = (body[1] or ""):match "^#!%s*(.*)$"
		or named and table.concat(words_said(named.value or by_file and by_file.value or "'sh', '-eu'"), " ")
	if program then
		for i, line in ipairs(body) do
			local indent, rest = line:match "^(%s*)(.*)$"
			body[i] = indent .. scope.own_call(rest)
		end
		local text = script_of(scope, body, (program:gsub("^%S*/env%s+%-?S?%s*", ""):match "^%S+" or "sh"):match "[^/]*$")
		local bang, rest = text:match "^(#![^\n]*\n?)(.*)$"
		lines = prologue(scope, lines)
		table.move(scope.computed or {}, 1, #(scope.computed or {}), #lines + 1, lines)
		if lines[1] and not program:find "sh%f[%W]" then
			scope.fail(lines[1]:match "[%a_][%w_]*")
		end
		return ((bang or ("#!/usr/bin/env -S %s\n"):format(program)) .. table.concat(lines, "\n") .. (lines[1] and "\n" or "") .. (rest or text))
	end
	local text = linewise(scope, body)
	lines = prologue(scope, lines)
	return body[1] and table.concat(lines, "\n") .. (lines[1] and "\n" or "") .. text or nil
end

local function scope_of(file, recipe, task)
	local scope = { file = file, recipe = recipe, task = task, used = {}, exported = {}, find = words_of(file, recipe),
		positional = is_set(file, "positional-arguments") or has(recipe, "positional-arguments") }
	function scope.fail(what)
		scope.failed = scope.failed or what
	end
	function scope.directory(path, line)
		path = sheets.below(path)
		if path then
			path = (file.sheet.keys.cwd and file.sheet.keys.cwd .. "/" or "") .. path
			return path:match "^(.-)/?$" ~= "" and path:match "^(.-)/?$" or nil
		end
		file.sheet:note(line, "working-directory", "left out: it is no directory below this one", task)
		scope.fail "working-directory"
	end
	function scope.own_call(line)
		return file.sheet:call_in(task, line, "just", function(name)
			return file.by_name[name] and file.by_name[name].task
		end)
	end
	return scope
end

-- A value that a dependency gets, as Lua; nil: a shell has to compute it. And as it is, where nothing is computed.
local function lua_of(scope, tree)
	local parts, own = expressions.parts(tree), tree.kind == "name" and scope.find(tree.name)
	if own and own.late then
		return scope.fail(("the default of %s, which others can't be given"):format(tree.name))
	end
	local hole = not (own and own.arg) and expressions.hole(scope, tree) or {}
	local const = hole.const or hole.text
	if const or not parts then
		return const and sheets.quoted(const) or own and own.arg and ("args[%q]"):format(own.arg[1]):gsub('%["([%a_][%w_]*)"%]', ".%1"), const
	end
	local out = {}
	for _, part in ipairs(parts) do
		local text = part.kind == "name" and scope.find(part.name) or {}
		text = not (text.sign and text.sign ~= "") and lua_of(scope, part)
		if not text then
			return nil
		end
		out[#out + 1] = text ~= '""' and text or nil
	end
	return table.concat(out, " .. ")
end

-- What a dependency is called with: by the names of the arguments.
local function call_of(scope, dep)
	local other = scope.file.by_name[dep.name]
	if not other then
		return scope.fail(("the dependency '%s'"):format(dep.name))
	end
	local lua, plain, rest, rest_plain = {}, { other.task.name }, {}, {}
	for i, tree in ipairs(dep.args) do
		local param = other.params[math.min(i, #other.params)]
		local value, const = lua_of(scope, tree)
		if not (param and value) then
			return scope.fail(("the dependency '%s', whose values are computed"):format(dep.name))
		elseif (const or ""):find "[\"'$;|&<>`]" or (const or ""):find "^%a%w*=" then
			scope.file.sheet:note(scope.recipe.line, dep.name, ("the value %s is a text for it, and no part of its script"):format(const),
				scope.task)
		end
		local own, name = tree.kind == "name" and scope.find(tree.name) or {}, param.arg[1]
		local whole = param.sign ~= "" and own.arg and own.sign ~= "" and i == #dep.args and not rest[1] and { arg = own.arg[1] } or nil
		const = const or whole or param.sign == "" and own.arg and (own.sign or "") == "" and { arg = own.arg[1] } or nil
		plain = const and plain or nil
		if param.sign ~= "" then
			rest[#rest + 1], rest_plain[#rest_plain + 1] = own.sign and own.sign ~= "" and ("table.unpack(%s)"):format(value) or value, const
			value, const = ("{ %s }"):format(table.concat(rest, ", ")), whole or rest_plain
		end
		lua[param.arg] = lua[param.arg] or #lua + 1
		lua[lua[param.arg]] = ("%s = %s"):format(name:find "^[%a_][%w_]*$" and name or ("[%q]"):format(name), value)
		if plain then
			plain[name] = const
		end
	end
	scope.file.sheet:calls(scope.task, other.task)
	return { name = other.task.name, args = lua, plain = plain and (dep.args[1] and plain or plain[1]) }
end

local function dependencies(scope, recipe)
	local lists, needs, keys = { {}, {} }, {}, scope.task.keys
	for k, list in ipairs { recipe.deps, recipe.after } do
		for _, dep in ipairs(list) do
			lists[k][#lists[k] + 1] = call_of(scope, dep)
		end
	end
	for i, call in ipairs(lists[1]) do
		needs[i] = #needs == i - 1 and call.plain or nil
	end
	local is_plain = #needs == #lists[1]
	if scope.failed then
		return
	elseif is_plain and needs[1] then
		keys[needs[2] and has(recipe, "parallel") and "parallel" or "needs"] = needs
	end
	if not is_plain or lists[2][1] then
		local steps = is_plain and {} or lists[1]
		steps[#steps + 1] = keys.shell and { shell = keys.shell }
		scope.file.sheet:sequence(scope.task, table.move(lists[2], 1, #lists[2], #steps + 1, steps))
	end
end

-- What it declares, which those that depend on it ask for.
local function declare(file, recipe)
	local scope = scope_of(file, recipe, recipe.task)
	recipe.scope, recipe.task.keys.description = scope, recipe.doc
	for _, attribute in ipairs(recipe.attributes) do
		if attribute.name ~= "arg" then
			(M.attributes[attribute.name] or foreign "left out")(scope, recipe.task, attribute)
		end
	end
	recipe.lines = arguments(scope, recipe, recipe.task)
	for _, attribute in ipairs(recipe.attributes) do
		if attribute.name == "arg" then
			M.attributes.arg(scope, recipe.task, attribute)
		end
	end
end

local function import(file, recipe)
	local task, sheet, scope = recipe.task, file.sheet, recipe.scope
	task.keys.shell = body_of(scope, recipe, recipe.lines)
	dependencies(scope, recipe)
	if not (task.keys.shell or task.keys.run or task.keys.needs or task.keys.parallel) then
		task.keys.shell = "true"
	end
	if scope.failed then
		sheet:note(recipe.line, recipe.name, ("not imported, because of %s"):format(scope.failed), task)
		table.move(recipe.body, 1, #recipe.body, #task.notes + 1, task.notes)
		for _, key in ipairs { "needs", "parallel", "run", "interpreter" } do
			task.keys[key] = nil
		end
		task.keys.shell = shell.refusal(recipe.name, sheet.from)
	end
end

-- --- the file ----------------------------------------------------------------------------------------------

local function is_for_others(recipe)
	local others, ours = false, false
	for _, attribute in ipairs(recipe.attributes) do
		others = others or OTHER_SYSTEMS[attribute.name]
		ours = ours or attribute.name == "linux" or attribute.name == "unix"
	end
	return others and not ours
end

-- `@just --list` is what runner alone does.
local function lists_only(recipe)
	local text = table.concat(recipe.body, " "):gsub("^[%s@]*", "")
	return text:find "^just%s.*%-%-list[%w%s=-]*$" or text:find "^just%s+%-l%s*$" or text:find "^{{%s*just_executable%(%)%s*}}.*%-%-list"
end

---@param text string
---@param _ string
---@param sheet runner.import.Sheet
function M.read(text, _, sheet)
	local file = parse(text, sheet)
	file.by_name = {}
	settings(file)
	if file.problem then
		return nil, file.problem
	end
	local last = {}
	for _, recipe in ipairs(file.recipes) do
		last[recipe.name] = not is_for_others(recipe) and recipe or last[recipe.name]
	end
	for _, recipe in ipairs(file.recipes) do
		recipe.params, recipe.deps, recipe.after = head_of(file, recipe)
		if last[recipe.name] ~= recipe and not is_for_others(recipe) then
			sheet:note(recipe.line, recipe.name, "left out: another one of that name follows")
		elseif is_for_others(recipe) then
			sheet:note(recipe.line, recipe.name, "left out: it is for another system")
		elseif lists_only(recipe) and not recipe.deps[1] then
			sheet:note(recipe.line, recipe.name, "left out: runner alone lists the tasks")
		else
			recipe.task = sheet:task(recipe.name, recipe.line)
			file.by_name[recipe.name] = recipe
		end
	end
	local taken = {}
	for _, recipe in ipairs(file.recipes) do
		for _, param in ipairs(recipe.params) do
			taken[sheets.argument(param.name):gsub("-", "_")] = true
		end
	end
	for _, variable in next, file.variables do
		variable.export = variable.export or is_set(file, "export")
	end
	variables.settle(file.variables, sheet, function(scope, variable)
		scope.file = file
		return expressions.hole(scope, (expressions.expression(variable.source, 1)))
	end, taken)
	for _, act in ipairs { declare, import } do
		for _, recipe in ipairs(file.recipes) do
			if recipe.task then
				act(file, recipe)
			end
		end
	end
	for _, alias in ipairs(file.aliases) do
		local recipe = file.by_name[alias.of]
		if recipe then
			sheet:alias(recipe.task, alias.name, alias.line)
		else
			sheet:note(alias.line, "alias " .. alias.name, "left out: it stands for nothing here")
		end
	end
	return sheet
end

return M
