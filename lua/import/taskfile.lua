-- taskfile: the tasks of a Taskfile.yml. A template stands for a variable: of the environment, of an argument, or of a line in
-- front of the script.

local sheets = require "runner.import.sheet"
local shell = require "runner.import.shell"
local tables = require "runner.core.tables"
local variables = require "runner.import.variables"
local yaml = require "runner.core.yaml.parser"

local M = {}

-- --- nodes -------------------------------------------------------------------------------------------

local NONE = { kind = "null", line = 0 }

local function of(node, key)
	return node.keys and node.keys[key] and node.keys[key].node or NONE
end

-- A list, or the one thing in its place.
local function items(node)
	return node.items or node.kind ~= "null" and { node } or {}
end

local function texts(node)
	local out = {}
	for _, item in ipairs(items(node)) do
		out[#out + 1] = item.text
	end
	return out
end

-- --- templates ---------------------------------------------------------------------------------------

local FUNCTIONS = { OS = "$(uname -s | tr A-Z a-z)", ARCH = "$(uname -m | sed 's/x86_64/amd64/;s/aarch64/arm64/')",
	numCPU = "$(getconf _NPROCESSORS_ONLN)" }
local FILTERS = { trim = [=[$(printf %%s "%s" | sed 's/^[[:space:]]*//;s/[[:space:]]*$//')]=], lower = [[$(printf %%s "%s" | tr A-Z a-z)]],
	upper = [[$(printf %%s "%s" | tr a-z A-Z)]], toLower = [[$(printf %%s "%s" | tr A-Z a-z)]], toUpper = [[$(printf %%s "%s" | tr a-z A-Z)]],
	base = '$(basename "%s")', osBase = '$(basename "%s")', dir = '$(dirname "%s")', osDir = '$(dirname "%s")' }

local function of_name(scope, name)
	if name == "ROOT_DIR" or name == "TASKFILE_DIR" then
		return variables.hole(scope, "ROOT_DIR", scope.variables.ROOT_DIR)
	elseif name == "TASK" and scope.task then
		return { const = scope.task.theirs }
	end
	local found = scope.find(name)
	if found and found.loop then
		return { dq = ("${%s}"):format(name) }
	elseif found and found.arg then
		return found.arg.variadic and { dq = "$*", bare = '"$@"' } or { dq = ("${%s}"):format(found.arg[1]) }
	elseif found then
		return variables.hole(scope, name, found)
	end
	if scope.sheet then -- of the file: what nothing sets is the caller's
		return { dq = ("${%s-}"):format(name) }
	end
	return scope.fail(("{{.%s}}"):format(name)) or { const = "" }
end

local conditional

-- What stands for the inside of {{ }}.
local function expression(scope, text)
	text = text:gsub("^%-%s", ""):gsub("%s%-$", ""):gsub("^%s+", ""):gsub("%s+$", "")
	local name, default = text:match "^%.([%a_][%w_]*)%s*|%s*default%s+(.+)$"
	if not name then
		default, name = text:match "^default%s+(\"[^\"]*\")%s+%.([%a_][%w_]*)$"
		if not name then
			default, name = text:match "^default%s+(%S+)%s+%.([%a_][%w_]*)$"
		end
	end
	local of_value, yes, no = text:match '^(.-)%s*|%s*ternary%s+"([^"]*)"%s+"([^"]*)"$'
	if of_value and of_value:find "^empty%s" then
		return conditional(scope, of_value:sub(7), no, yes)
	elseif of_value then
		return conditional(scope, of_value, yes, no)
	end
	local value = text:match '^"([^"]*)"$' or text:match "^`([^`]*)`$" or text:match "^%-?%d+$"
	local first, filter = text:match "^(.-)%s*|%s*(%a+)$"
	if value then
		return { const = value }
	elseif first and FILTERS[filter] then -- of all that is in front of it
		return { dq = FILTERS[filter]:format((shell.inner(expression(scope, first)))) }
	elseif name then
		local hole, other, found = of_name(scope, name), expression(scope, default), scope.find(name)
		if hole.const or hole.text then
			return not (found and found.falsy) and (hole.const or hole.text) ~= "" and hole or other
		end
		local variable = hole.dq == "$*" and "*" or hole.dq:match "^%${([%w_]+)%-?}$"
		return variable and { dq = ("${%s:-%s}"):format(variable, shell.braced(other)) }
			or scope.fail(("{{%s}}"):format(text)) or { const = "" }
	elseif text:find "^%.[%a_][%w_]*$" then
		return of_name(scope, text:sub(2))
	elseif FUNCTIONS[text] then
		return { dq = FUNCTIONS[text] }
	elseif text == "exeExt" then
		return { const = "" }
	elseif first and (filter == "quote" or filter == "q" or filter == "shellQuote") then
		local hole = expression(scope, first)
		local dq = shell.inner(hole)
		return { dq = dq, bare = hole.bare or ('"%s"'):format(dq) }
	end
	return scope.fail(("{{%s}}"):format(text)) or { const = "" }
end

local value

-- {{if .X}}a{{else}}b{{end}}, {{if eq .X "y"}}…
function conditional(scope, condition, yes, no)
	local name, other = condition:match "^%.([%a_][%w_]*)$", nil
	if not name then
		name, other = condition:match '^eq%s+%.([%a_][%w_]*)%s+"([^"]*)"$'
	end
	if not name then
		return scope.fail(("{{if %s}}"):format(condition)) or { const = "" }
	end
	local found = scope.find(name)
	if found and found.falsy and not other then
		return value(scope, no)
	end
	local test = ('%s"%s"%s'):format(other and "" or "-n ", shell.inner(of_name(scope, name)), other
		and (' = "%s"'):format(shell.dq(other)) or "")
	return { dq = ('$(if [ %s ]; then printf %%s "%s"; else printf %%s "%s"; fi)'):format(test, shell.inner(value(scope, yes)),
		shell.inner(value(scope, no))) }
end

local parts_of
function parts_of(scope, text)
	local before, condition, yes, rest = text:match "^(.-){{%-?%s*if%s+([^}]-)%s*%-?}}(.-){{%-?%s*end%s*%-?}}(.*)$"
	if before and not before:find "{{%-?%s*range" then
		local no
		yes, no = (yes .. "{{else}}"):match "^(.-){{%-?%s*else%s*%-?}}(.-)%f[{\0]"
		local out, hole = parts_of(scope, before), conditional(scope, condition, yes, no or "")
		hole.source = "{{if}}"
		out[#out + 1] = hole
		local more = parts_of(scope, rest)
		return table.move(more, 1, #more, #out + 1, out)
	end
	local out, at = {}, 1
	for plain, inside, stop in text:gmatch "(.-){{(.-)}}()" do
		local hole = expression(scope, inside)
		out[#out + 1] = plain
		out[#out + 1] = { const = hole.const, dq = hole.dq, bare = hole.bare, text = hole.text, source = ("{{%s}}"):format(inside) }
		at = stop
	end
	out[#out + 1] = text:sub(at)
	return out
end

local function script(scope, text)
	local filled, hole = shell.fill(parts_of(scope, text))
	return filled or scope.fail(hole.source) or ""
end

function value(scope, text)
	return variables.joined(parts_of(scope, text))
end

-- What a script may say only to bash.
local function is_bash(text)
	return text:find "%[%[%s" or text:find "<%(" or text:find "%f[%w]source%s" or text:find "=%(" or text:find "<<<"
		or text:find "%${[%w_]+[/^,:]?[/^,]"
		or text:find "pipefail" or text:find "%f[%w]function%s" or text:find "{[%w]+,[%w,]*}" or text:find "&>" or text:find "%f[%w]shopt%s"
end

-- --- variables ---------------------------------------------------------------------------------------

local function variable(node, line)
	local only = node.keys and #node.entries == 1
	if node.items and #texts(node) == #node.items then
		return { line = line, list = texts(node) }
	elseif node.text or node.kind == "null" then
		return { line = line, text = node.text or "", falsy = node.value == false or node.value == 0 }
	elseif only and (of(node, "sh").text or of(node, "value").text) then
		return { line = line, sh = of(node, "sh").text, text = of(node, "value").text }
	end
	return { line = line, odd = "its form" }
end

local function read_variables(node, out, export)
	for _, entry in ipairs(node.entries or {}) do
		local v = variable(entry.node, entry.line)
		v.export, v.outer, out[entry.key] = export, export, v
	end
	return out
end

local function evaluate(scope, v)
	if v.root then
		return { dq = v.root }
	elseif v.sh then
		return { dq = ("$(%s)"):format(script(scope, v.sh)) }
	elseif v.text then
		return value(scope, v.text)
	end
	return scope.fail(v.odd or "a list") or { const = "" }
end

-- --- a command of a task -----------------------------------------------------------------------------

local function is_for_us(node)
	for _, name in ipairs(texts(node)) do
		if name:find "^linux" or name:find "^amd64" or name:find "^arm64" then
			return true
		end
	end
	return node.kind == "null"
end

-- A text that is pasted, as words; nil: a shell would read more in it.
local function words_of(text)
	local words, quoted = {}, {}
	for word in text:gmatch "%S+" do
		words[#words + 1], quoted[#quoted + 1] = word, sheets.quoted(word)
	end
	return not text:find "[^%w%s_./:@%%+=,-]" and words or nil, ("{ %s }"):format(table.concat(quoted, ", "))
end

-- The values of a call, as Lua, and as they are if none is computed.
local function call_of(scope, name, vars, line)
	local other = scope.file.by_name[name:gsub("^:", "")]
	if not other then
		return scope.fail(("the task '%s'"):format(name))
	end
	local lua, plain, set = {}, { other.task.name }, {}
	for _, entry in ipairs(vars.entries or {}) do
		local arg = other.args[entry.key]
		set[entry.key] = true
		local name_of = (entry.node.text or ""):match "^{{%s*%.([%a_][%w_]*)%s*}}$"
		local own = name_of and scope.args[name_of]
		local hole = own and {} or entry.node.text and value(scope, entry.node.text) or {}
		local const = hole.const or hole.text
		local words, list = words_of(arg and arg.variadic and const or "|")
		if arg and (not (own or const) or arg.variadic and not (own and own.variadic or words)) then
			scope.fail(("the value of %s for '%s'"):format(entry.key, name))
		elseif own and scope.row.late[name_of] then
			scope.fail(("%s, whose default only the script has, for '%s'"):format(name_of, name))
		elseif own and own.variadic and not arg.variadic then
			lua[#lua + 1], plain = ("%s = table.concat(args.%s or {}, \" \")"):format(arg[1], own[1]), nil
		elseif arg then -- which that task asks for
			lua[#lua + 1] = ("%s = %s"):format(arg[1], own and "args." .. own[1] or words and list or sheets.quoted(const))
			if plain then
				plain[arg[1]] = own and { arg = own[1] } or words or const
			end
		end
	end
	for _, key in ipairs(tables.sorted_keys(other.args)) do -- what the caller gives reaches every task there
		local own, arg = scope.args[key], other.args[key]
		if not set[key] and scope.row.hands[key] and own and own.variadic == arg.variadic then
			lua[#lua + 1] = ("%s = args.%s"):format(arg[1], own[1])
			if plain then
				plain[arg[1]] = { arg = own[1] }
			end
		elseif not set[key] and own == nil and scope.row.hides[key] then
			scope.file.sheet:note(line, key, ("what the caller gives as this reaches '%s' there, and doesn't here"):format(name), scope.task)
		end
	end
	scope.file.sheet:calls(scope.task, other.task)
	return { name = other.task.name, args = lua, plain = plain and (lua[1] and plain or plain[1]), line = line }
end

local function constants(scope, list, count)
	local words = {}
	for _, text in ipairs(list) do
		local hole = value(scope, text)
		words[#words + 1] = hole.const or hole.text
	end
	return #words == count and words or nil
end

-- The words of a `for`; nil: they are known to the script alone, as `expanded`.
local function loop_of(scope, node)
	if node.items then
		return constants(scope, texts(node), #node.items), "ITEM"
	end
	local from = of(node, "var").text
	local found = from and scope.find(from)
	local as, split = of(node, "as").text or "ITEM", of(node, "split").text
	split = split ~= "" and split or nil
	if found and found.list then
		return constants(scope, found.list, #found.list), as
	elseif found and found.plain then
		local words, rest = {}, found.plain .. (split or " ")
		for word in rest:gmatch(split and "(.-)" .. split:gsub("%W", "%%%0") or "%S+") do
			words[#words + 1] = word
		end
		return words, as
	elseif found and not (split and #split > 1) then
		local hole = of_name(scope, from)
		return nil, as, split and ("$(printf %%s \"%s\" | tr %s '\\n')"):format(shell.inner(hole), shell.single(split)) or hole.const or hole.dq
	end
	return nil, as
end

local function add_script(scope, segments, text)
	local last = segments[#segments]
	if not (last and last.lines) then
		last = { lines = {} }
		segments[#segments + 1] = last
	end
	scope.text = scope.text .. "\n" .. text
	table.insert(last.lines, text)
end

local function with_condition(scope, node, text)
	local condition = of(node, "if").text
	return condition and ("if %s; then\n%s\nfi"):format(script(scope, condition), text) or text
end

local function call_only(scope, node)
	if of(node, "if") ~= NONE or of(node, "ignore_error") ~= NONE then
		scope.fail "a call of a task with if or ignore_error"
	end
end

local add_command

local function add_loop(scope, segments, node)
	local words, as, expanded = loop_of(scope, of(node, "for"))
	local inner = of(node, "task").text
	if inner then
		call_only(scope, node)
	end
	if inner and words then
		for _, word in ipairs(words) do
			local find = scope.find
			scope.find = function(name)
				return name == as and { plain = word } or find(name)
			end
			segments[#segments + 1] = call_of(scope, inner, of(node, "vars"), node.line)
			scope.find = find
		end
	elseif of(node, "cmd").text and (words or expanded) then
		local quoted = {}
		for i, word in ipairs(words or {}) do
			quoted[i] = word:find "[^%w_./:@%%+=,-]" and shell.single(word) or word
		end
		local find = scope.find
		scope.find = function(name)
			return name == as and { loop = true } or find(name)
		end
		local text = with_condition(scope, node, script(scope, of(node, "cmd").text))
		scope.find = find
		add_script(scope, segments, ("for %s in %s; do\n(\n%s\n)%s\ndone"):format(as, words and table.concat(quoted, " ") or expanded, text,
			(of(node, "ignore_error").value or scope.ignored) and " || true" or ""))
	else
		scope.fail "for"
	end
end

local function note_others(scope, node, known)
	for _, entry in ipairs(node.entries or {}) do
		if not known[entry.key] then
			scope.file.sheet:note(entry.line, entry.key, "left out", scope.task)
		end
	end
end

-- Keys of a command, and of a call among commands or dependencies.
local OF_COMMAND = tables.set "cmd for if ignore_error platforms silent"
local OF_DEFER = tables.set "defer silent platforms"
local OF_CALL = tables.set "task for vars if ignore_error platforms silent"

function add_command(scope, segments, node)
	local text = node.text or of(node, "cmd").text
	note_others(scope, node, of(node, "task").text and OF_CALL or of(node, "defer") ~= NONE and OF_DEFER or OF_COMMAND)
	if not is_for_us(of(node, "platforms")) then
		scope.file.sheet:note(node.line, scope.task.theirs, "a command for another system is left out", scope.task)
	elseif of(node, "for") ~= NONE then
		add_loop(scope, segments, node)
	elseif of(node, "task").text then
		call_only(scope, node)
		segments[#segments + 1] = call_of(scope, of(node, "task").text, of(node, "vars"), node.line)
	elseif of(node, "defer").text then
		scope.deferred = script(scope, of(node, "defer").text) .. (scope.deferred and "\n" .. scope.deferred or "")
		add_script(scope, segments, "trap " .. shell.single(scope.deferred) .. " EXIT")
		scope.has_trap = true
	elseif text then
		local line = script(scope, text):gsub("%s+$", "")
		line = scope.file.sheet:call_in(scope.task, line, "task", function(name)
			return scope.file.by_name[name] and scope.file.by_name[name].task
		end)
		line = with_condition(scope, node, line)
		local ignored = of(node, "ignore_error").value or scope.ignored
		add_script(scope, segments, shell.own_shell(line, false, ignored))
	else
		scope.fail(node.keys and node.entries[1] and node.entries[1].key or "a command")
	end
end

-- --- keys: the table -----------------------------------------------------------------------------------

local function left(key)
	return function(scope, node)
		scope.file.sheet:note(node.line, key, "left out", scope.task)
	end
end

local function nothing() end

local LETTERS = { allexport = "a", errexit = "e", noexec = "n", noglob = "f", nounset = "u", xtrace = "x" }

-- `set` of a file or a task.
local function options(into, sheet, node, task)
	for _, name in ipairs(texts(node)) do
		local letter = LETTERS[name] or #name == 1 and ("aenfux"):match(name)
		into.pipefail = into.pipefail or name == "pipefail"
		into.letters = (into.letters or "") .. (letter and not (into.letters or ""):find(letter) and letter ~= "e" and letter or "")
		if not letter and name ~= "pipefail" then
			sheet:note(node.line, "set", ("%s: left out"):format(name), task)
		end
	end
end

local function patterns(scope, node, key)
	local out = {}
	for _, item in ipairs(items(node)) do
		local hole = item.text and value(scope, item.text) or {}
		local text = hole.const or hole.text
		if not text or text:find "^/" or ("/" .. text):find "/%.%./" or text:find "[${]" then
			scope.file.sheet:note(node.line, key, "left out: a pattern is one of files below this folder; the task is run each time", scope.task)
			scope.task.keys.sources, scope.no_sources = nil, true
			return
		end
		out[#out + 1] = text:gsub("^%./", "")
	end
	scope.task.keys[key] = out[1] and out or nil
end

---What a key of a task does, before its commands are read.
M.task = {
	desc = function(scope, node)
		scope.task.keys.description = (node.text or ""):match "^[^\n]+"
	end,
	summary = function(scope, node)
		scope.task.keys.description = scope.task.keys.description or (node.text or ""):match "^[^\n]+"
	end,
	internal = function(scope, node)
		scope.task.keys.hidden = node.value == true or nil
	end,
	interactive = function(scope, node)
		scope.task.keys.interactive = node.value == true or nil
	end,
	prompt = function(scope, node)
		scope.task.keys.confirm = table.concat(texts(node), " ")
	end,
	dir = function(scope, node)
		local hole = value(scope, node.text or "")
		local path = sheets.below(hole.const or hole.text)
		if path then
			scope.task.keys.cwd = path ~= "" and path or nil
		else
			scope.cd = ('cd "%s"'):format(shell.inner(hole))
		end
	end,
	sources = patterns, generates = patterns,
	status = function(scope, node)
		local lines = {}
		for i, text in ipairs(texts(node)) do
			lines[i] = ("(\n%s\n)"):format(script(scope, text))
		end
		scope.status = table.concat(lines, "\n")
	end,
	preconditions = function(scope, node)
		for _, item in ipairs(items(node)) do
			local text, message = item.text or of(item, "sh").text or "false", of(item, "msg").text
			scope.guards[#scope.guards + 1] = ("( %s\n) || { echo \"%s\" >&2; exit 1; }"):format(script(scope, text),
				shell.inner(value(scope, message or ("precondition not met: " .. text))))
		end
	end,
	["if"] = function(scope, node)
		scope.has_if = true
		scope.guards[#scope.guards + 1] = ("( %s\n) || exit 0"):format(script(scope, node.text or "true"))
	end,
	ignore_error = function(scope, node)
		scope.ignored = node.value
	end,
	env = function(scope, node)
		local all = read_variables(node, {})
		for _, name in ipairs(tables.sorted_keys(all)) do -- where the caller has none of that name
			local dq, own = shell.inner(evaluate(scope, all[name])), name:gsub("[^%w_]", "_")
			scope.exports[name] = true
			scope.exported[#scope.exported + 1] = ('[ "${%s+x}" ] || %s="%s"%s\nexport %s'):format(own, own, dq,
				dq:find "[$`]" and " || exit" or "", own)
		end
	end,
	method = function(scope, node)
		scope.no_sources = scope.no_sources or node.text == "none"
		if node.text ~= "none" and node.text ~= "checksum" then
			scope.file.sheet:note(node.line, "method", "contents are compared", scope.task)
		end
	end,
	run = function(scope, node)
		scope.file.sheet:note(node.line, "run", ("not %s here: what is needed runs once in a call, what commands call each time"):format(
			node.text or "so"), scope.task)
	end,
	failfast = function(scope, node)
		if node.value == false then
			scope.file.sheet:note(node.line, "failfast", "the first dependency that fails ends the others", scope.task)
		end
	end,
	set = function(scope, node)
		options(scope, scope.file.sheet, node, scope.task)
	end,
	requires = function(scope, node)
		note_others(scope, node, { vars = true })
		for _, item in ipairs(items(of(node, "vars"))) do
			note_others(scope, item, { name = true, enum = of(item, "enum").items and true or nil })
		end
	end,
	dotenv = function(scope, node)
		scope.file.sheet:note(node.line, "dotenv", ("write `return { dotenv = { \"%s\" } }` into runner.lua, for all tasks"):format(
			table.concat(texts(node), '", "')), scope.task)
	end,
	cmds = nothing, cmd = nothing, deps = nothing, vars = nothing, aliases = nothing, platforms = nothing, silent = nothing,
	label = nothing, prefix = nothing, -- what it is called while it runs
	watch = left "watch", shopt = left "shopt",
}

-- In this order, whatever that of the file is.
local FIRST = { "dir", "env", "desc" }

-- --- a task --------------------------------------------------------------------------------------------

-- Names in templates.
local function names_in(node, out)
	if node.text then
		for inside in node.text:gmatch "{{(.-)}}" do
			for name in (" " .. inside):gmatch "[%s(]%.([%a_][%w_]*)" do
				out[#out + 1] = name
			end
		end
	end
	for _, entry in ipairs(node.entries or {}) do
		names_in(entry.node, out)
	end
	for _, item in ipairs(node.items or {}) do
		names_in(item, out)
	end
	return out
end

local SPECIAL = { ROOT_DIR = true, TASKFILE_DIR = true, TASK = true, ITEM = true, KEY = true, MATCH = true,
	USER_WORKING_DIR = true, TASKFILE = true,
	ROOT_TASKFILE = true, CHECKSUM = true, TIMESTAMP = true, EXIT_CODE = true, TASK_VERSION = true, TASK_EXE = true,
		ALIAS = true, CLI_FORCE = true,
	CLI_SILENT = true, CLI_VERBOSE = true, CLI_ARGS_LIST = true, TASK_DIR = true, CLI_OFFLINE = true, CLI_ASSUME_YES = true,
		OS = true, ARCH = true }

-- Does a variable of a task begin with what its caller gives?
local function is_default(node, name)
	return (node.text or of(node, "sh").text or ""):find("{{[^}]*%." .. name .. "%f[%W]") ~= nil
end

-- Which variables the caller gives: those that are required, that another task gives, and that nothing sets.
local function arguments(file, row, given)
	local node, args = row.node, {}
	local function add(name, more)
		args[name] = args[name] or { (sheets.argument(name):gsub("-", "_")), "string" }
		for key, v in pairs(more or {}) do
			args[name][key] = v
		end
	end
	for _, item in ipairs(items(of(of(node, "requires"), "vars"))) do
		local values = texts(of(item, "enum"))
		add(item.text or of(item, "name").text or "x", { required = true, [2] = values[1] and "enum" or nil, values = values[1]
			and values or nil })
	end
	local locals = of(node, "vars")
	for name in pairs(given[row.name] or {}) do
		add(name)
	end
	for _, name in ipairs(names_in(node, {})) do
		if name == "CLI_ARGS" then
			row.cli = true
		elseif not SPECIAL[name] and not file.variables[name] and not row.loops[name] then
			add(name, { env = not (args[name] and args[name].required) and name or nil })
		end
	end
	for name in next, locals.keys or {} do -- one that the task sets goes before what it is given
		args[name] = is_default(of(locals, name), name) and args[name] or nil
	end
	args.CLI_ARGS = row.cli and { "args", "string", variadic = true } or nil
	row.args, row.hands, row.hides, row.late = args, {}, {}, {}
end

local function calls_of(node, out)
	local to = of(node, "task").text
	out[#out + 1] = to and { to = to:gsub("^:", ""), vars = of(node, "vars").keys or {} } or nil
	for _, key in ipairs { "deps", "cmds", "cmd" } do
		for _, item in ipairs(items(of(node, key))) do
			calls_of(item, out)
		end
	end
	return out
end

-- What the caller gives reaches every task there: each asks for what those that it calls ask for.
local function hand_on(file, rows)
	local is_done
	local function ask(row, name, arg)
		if row.hands[name] or row.hides[name] or file.variables[name] then
			return
		elseif of(of(row.node, "vars"), name) ~= NONE and not row.args[name] then
			row.hides[name] = true
			return
		end
		row.hands[name], is_done = true, false
		row.args[name] = row.args[name] or tables.add({}, arg)
	end
	repeat
		is_done = true
		for _, row in ipairs(rows) do
			for _, call in ipairs(row.calls) do
				for name, arg in next, file.by_name[call.to] and file.by_name[call.to].args or {} do
					if not call.vars[name] then
						ask(row, name, arg)
					end
				end
			end
		end
	until is_done
end

local function in_order(args)
	local order = {}
	for _, arg in next, args do
		order[#order + 1] = arg
	end
	table.sort(order, function(a, b)
		return not a.variadic and (b.variadic or a[1] < b[1]) or false
	end)
	return order[1] and order or nil
end

local function scope_of(file, row)
	local scope = { file = file, row = row, task = row.task, args = row.args, used = {}, first = {}, guards = {}, exported = {},
		exports = {}, text = "", variables = {} }
	for name, v in pairs(file.variables) do
		scope.variables[name] = v
	end
	function scope.fail(what)
		scope.failed = scope.failed or what
	end
	function scope.find(name)
		return row.args[name] and { arg = row.args[name] } or scope.variables[name]
	end
	for name, v in pairs(read_variables(of(row.node, "vars"), {})) do
		if row.args[name] and not v.text then
			scope.fail(("%s, which is computed of itself"):format(name))
		elseif row.args[name] then -- what the caller doesn't give
			local own = row.args[name][1]
			local hole = value(scope, v.text)
			if not row.args[name].required and (hole.dq or hole.const ~= "") then
				local default = (hole.dq or ""):match("^%${" .. own .. ":%-([^}]*)}$") or hole.dq or shell.dq(hole.const)
				if default:find "[$`\\]" or row.hands[name] then -- what it hands on is what it is given
					row.late[name] = true
					table.insert(scope.first, ('[ -n "${%s:-}" ] || %s="%s"'):format(own, own, default))
				else
					row.args[name].default = default
				end
			end
		else
			scope.variables[name] = v
			v.is_local = true
		end
	end
	local names = {}
	for name, v in pairs(scope.variables) do
		names[#names + 1] = v.is_local and name or nil
	end
	table.sort(names)
	for _ = 1, 3 do -- each behind those that it asks for
		for _, name in ipairs(names) do
			local v = scope.variables[name]
			local used = {}
			local inner = setmetatable({ used = used, fail = function(what) v.failed = what end }, { __index = scope })
			v.failed = not v.list and v.odd or nil
			local hole = v.list and {} or evaluate(inner, v)
			v.plain, v.dq, v.uses = not v.failed and hole.const or nil, not v.failed and hole.dq or nil, used
		end
	end
	for _, name in ipairs(names) do
		if scope.variables[name].failed then
			scope.variables[name] = nil
		end
	end
	for name, arg in pairs(row.args) do
		local global = file.variables[name]
		if global and not scope.variables[name].is_local and not arg.required then
			table.insert(scope.first, ('[ -n "${%s:-}" ] || %s="%s"'):format(arg[1], arg[1], global.plain and shell.dq(global.plain) or global.dq))
			scope.used[#scope.used + 1] = not global.plain and name or nil
		end
	end
	return scope
end

local function apply_keys(scope, node)
	for _, key in ipairs(FIRST) do
		if node.keys and node.keys[key] then
			M.task[key](scope, of(node, key), key)
		end
	end
	scope.no_sources = scope.file.no_sources and of(node, "method") == NONE
	for _, entry in ipairs(node.entries or {}) do
		if entry.key ~= FIRST[1] and entry.key ~= FIRST[2] then
			(M.task[entry.key] or left(entry.key))(scope, entry.node, entry.key)
		end
	end
	local keys = scope.task.keys
	if scope.no_sources or not keys.sources then
		keys.sources, keys.generates = nil, nil
	end
end

-- What its `deps` are, as needs.
local function dependencies(scope, node)
	local needs = {}
	for _, dep in ipairs(items(of(node, "deps"))) do
		local call = of(dep, "for") == NONE and call_of(scope, dep.text or of(dep, "task").text or "?", of(dep, "vars"), dep.line)
		needs[#needs + 1] = call and call.plain or nil
		note_others(scope, dep, OF_CALL)
		if of(dep, "if") ~= NONE or of(dep, "ignore_error") ~= NONE then
			scope.fail "a dependency with if or ignore_error"
		end
		if not (call and call.plain) then
			scope.fail "a dependency whose values are computed"
		end
	end
	return needs
end

-- The lines in front of each of its scripts: what prepares them, which stands in front of `status`, too, and its guards.
local function head_of(scope, cwd)
	local first, locals = variables.lines(scope.variables, scope.used, scope.exports)
	first = variables.in_root(first, cwd)
	first[#first + 1] = scope.cd
	for _, list in ipairs { locals, scope.exported, scope.first } do
		table.move(list, 1, #list, #first + 1, first)
	end
	local prepared = table.concat(first, "\n") .. (first[1] and "\n" or "")
	return prepared, prepared .. table.concat(scope.guards, "\n") .. (scope.guards[1] and "\n" or "")
end

-- nil: any shell does
local function interpreter_of(file, scope, lines)
	local letters = "e" .. (file.letters or "") .. (scope.letters or ""):gsub("[" .. (file.letters or "") .. "e]", "")
	return (scope.pipefail or file.pipefail) and ("bash -%so pipefail"):format(letters)
		or is_bash(scope.text .. lines) and "bash -" .. letters or letters ~= "e" and "sh -" .. letters or nil
end

-- The commands that call tasks in front of one script are what it needs: as needs, and what is left.
local function needed_first(needs, segments)
	local calls = {}
	for i, segment in ipairs(segments) do
		calls[i] = not needs[1] and #calls == i - 1 and segment.plain or nil
	end
	if calls[1] and not calls[2] and (#calls == #segments or #calls == #segments - 1 and segments[#segments].shell) then
		return calls, { segments[#calls + 1] }
	end
	return needs, segments
end

local function refuse(file, row, why)
	file.sheet:note(row.line, row.name, ("not imported, because of %s"):format(why), row.task)
	for _, key in ipairs { "needs", "parallel", "run", "interpreter", "status", "sources", "generates" } do
		row.task.keys[key] = nil
	end
	row.task.keys.shell = shell.refusal(row.name, file.sheet.from)
end

local function import(file, row)
	local task, node, keys = row.task, row.node, row.task.keys
	local scope, segments, scripts = scope_of(file, row), {}, 0
	keys.args = in_order(row.args)
	apply_keys(scope, node)
	local needs, runs = dependencies(scope, node), of(node, "cmds") ~= NONE and of(node, "cmds") or of(node, "cmd") ~= NONE and of(node, "cmd")
		or not node.keys and node or NONE
	for _, item in ipairs(items(runs)) do
		add_command(scope, segments, item)
	end
	local prepared, lines = head_of(scope, keys.cwd)
	for _, segment in ipairs(segments) do
		if segment.lines then
			scripts, segment.shell = scripts + 1, lines .. table.concat(segment.lines, "\n")
		end
	end
	if scope.has_trap and scripts > 1 then
		scope.fail "defer, with tasks between the commands"
	end
	local guarded = scope.guards[1] or scope.status or keys.sources or scope.ignored
	if scripts < #segments and guarded or scope.has_if and needs[1] then
		scope.fail "a condition in front of calls of tasks"
	end
	if not segments[1] and (scope.cd or scope.first[1] or scope.guards[1]) then
		segments[1] = { shell = lines }
	end
	needs, segments = needed_first(needs, segments)
	keys.parallel, keys.needs = needs[2] and needs or nil, not needs[2] and needs[1] and needs or nil
	keys.status = scope.status and scope.status ~= "" and (prepared .. scope.status) or nil
	keys.interpreter = interpreter_of(file, scope, lines)
	if #segments == 1 and segments[1].shell then
		keys.shell = segments[1].shell
	elseif segments[1] and not scope.failed then
		file.sheet:sequence(task, segments)
	elseif not needs[1] then
		keys.shell = "true"
	end
	keys.interpreter = keys.shell and keys.interpreter
	if scope.failed then
		refuse(file, row, scope.failed)
	end
end

-- --- the file --------------------------------------------------------------------------------------------

-- Which variables tasks give to others; names that a `for` gives.
local function calls_in(node, given)
	local to = of(node, "task").text
	if to and of(node, "vars").entries then
		to = to:gsub("^:", "")
		given[to] = given[to] or {}
		for _, entry in ipairs(of(node, "vars").entries) do
			given[to][entry.key] = true
		end
	end
	for _, entry in ipairs(node.entries or {}) do
		calls_in(entry.node, given)
	end
	for _, item in ipairs(node.items or {}) do
		calls_in(item, given)
	end
end

local function loops_in(node, out)
	local as = of(of(node, "for"), "as").text
	out[as or "ITEM"] = true
	for _, item in ipairs(items(of(node, "cmds"))) do
		if item.keys then
			loops_in(item, out)
		end
	end
	return out
end

-- Keys of a file that are read where they hold, or are of how it looks while it runs.
local FILE = tables.set "version tasks vars env output silent interval"
local FILE_AS_TASK = tables.set "dotenv set run method"

---@param text string
---@param path string
---@param sheet runner.import.Sheet
function M.read(text, path, sheet)
	local root, problems = yaml.parse(text)
	if not (root and of(root, "tasks").entries) then
		return nil, problems[1] or { line = 1, column = 1,
			message = root and of(root, "includes") ~= NONE and "it has no tasks of its own: import the files that it includes"
				or "it has no tasks" }
	end
	if problems[1] then
		return nil, problems[1]
	end
	local file = { sheet = sheet, by_name = {}, variables = read_variables(of(root, "vars"), {}), path = path }
	read_variables(of(root, "env"), file.variables, true)
	file.variables.ROOT_DIR = { line = 1, root = "$PWD" }
	for _, entry in ipairs(root.entries) do
		if entry.key == "includes" then
			for _, inner in ipairs(entry.node.entries or {}) do
				sheet:note(inner.line, "includes." .. inner.key, "left out: import that file too")
			end
		elseif FILE_AS_TASK[entry.key] then
			file.file = file
			M.task[entry.key](file, entry.node)
		elseif not FILE[entry.key] then
			sheet:note(entry.line, entry.key, "left out")
		end
	end
	variables.settle(file.variables, sheet, evaluate)
	local given, rows = {}, {}
	calls_in(of(root, "tasks"), given)
	for _, entry in ipairs(of(root, "tasks").entries) do
		local listed = of(entry.node, "cmds")
		local only = listed.items and #listed.items == 1 and (listed.items[1].text or "") or ""
		if entry.key:find "%*" then
			sheet:note(entry.line, entry.key, "left out: write a task with an argument")
		elseif not is_for_us(of(entry.node, "platforms")) then
			sheet:note(entry.line, entry.key, "left out: it is for another system")
		elseif only:find "^task %-%-list" or only:find "^task %-l" or only:find "^task %-a$" then
			sheet:note(entry.line, entry.key, "left out: runner alone lists the tasks")
		else
			local row = { name = entry.key, line = entry.line, node = entry.node, task = sheet:task(entry.key, entry.line),
				loops = loops_in(entry.node, {}) }
			rows[#rows + 1], file.by_name[entry.key] = row, row
			arguments(file, row, given)
			row.calls = calls_of(entry.node, {})
			for _, dep in ipairs(texts(of(entry.node, "deps"))) do
				table.insert(row.calls, { to = dep:gsub("^:", ""), vars = {} })
			end
		end
	end
	hand_on(file, rows)
	for _, row in ipairs(rows) do
		import(file, row)
	end
	for _, row in ipairs(rows) do
		for _, alias in ipairs(texts(of(row.node, "aliases"))) do
			sheet:alias(row.task, alias, row.line)
		end
	end
	return sheet
end

return M
