-- variables: `${path}` in the texts of a workflow: finding references, looking them
-- up in a scope, substituting values. Runs in the worker. A value never becomes
-- part of a shell text: a reference to an environment variable takes its place,
-- quoted as lua/workflow/expr/quoting.lua says.

local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
local tables = require "runner.core.tables"

local M = {}

local MAX_VALUE = command_line.MAX - 63 -- bytes of one environment entry, with room for its name

---@class runner.workflow.Reference
---@field name string "steps.build.output"
---@field offset integer of its `$` in the text, 1-based
---@field source string as written, "${steps.build.output}"
---@field operator boolean? a shell expansion such as `${name:-word}`; source is then its beginning, "${name"

---@class runner.workflow.Template
---@field text string
---@field shell boolean
---@field [integer] string|runner.workflow.Reference

---@class runner.workflow.Scope
---@field vars table<string, any>?
---@field steps table<string, {output: string?, data: any, status: integer?, ok: boolean?}>?
---@field shell table?
---@field claude table?
---@field runner table?
---@field captures table<string, any>? names that steps capture
---@field item any
---@field item_index integer?
---@field choosing boolean? a `where`: what an item lacks is null, and has no order
---@field attempt table? of a check or a repair: what became of its step
---@field check table? of a repair: what became of the check
---@field worktree {path: string, branch: string, base: string, into: string}? the innermost one that it is inside of
---@field cwd string? where steps run then
---@field run {id: string, name: string}?
---@field env fun(name: string): string?

-- --- finding ---------------------------------------------------------------------

local LITERAL = "write $${ for a literal '${'"

---Is it a path: names and numbers with dots between, the first one a name?
---@param path string
---@return boolean
function M.is_path(path)
	return path:find("^[%a_][%w_.-]*$") ~= nil and not path:find("..", 1, true) and path:sub(-1) ~= "."
end

-- `${name:-word}` and the like are left to the shell, unless `name` is ours.
local function shell_expansion(text, at)
	local name = text:match("^%${([%a_][%w_]*)[^%w_.}-]", at)
	if name then
		return { name = name, offset = at, source = "${" .. name, operator = true }, at + 2 + #name
	end
	return "${", at + 2
end

-- What starts at the `${` at `at`: a part and where the text continues | nil, message.
local function reference(text, at, shell)
	local path = text:match("^%${([^}\n]*)}", at)
	if path and M.is_path(path) then
		return { name = path, offset = at, source = "${" .. path .. "}" }, at + #path + 3
	elseif shell then
		return shell_expansion(text, at)
	elseif not path then
		return nil, "unclosed '${': write ${name}; " .. LITERAL
	end
	return nil, ("'${%s}' is not a variable: write names of letters, digits, _ and -, separated by dots; %s")
		:format(path, LITERAL)
end

local function add(template, part)
	local n = #template
	if type(part) == "string" and type(template[n]) == "string" then
		template[n] = template[n] .. part
	elseif part ~= "" then
		template[n + 1] = part
	end
end

---Parse a text with `${path}` in it; `$${` is a literal `${`. With `shell`, what
---isn't a path (`${HOME:-/}`, `${#x}`) is left to the shell.
---@param text string
---@param opts? {shell?: boolean}
---@return runner.workflow.Template? template, string? message, integer? offset
function M.parse(text, opts)
	local template = { text = text, shell = opts ~= nil and opts.shell == true }
	local from = 1
	while true do
		local at = text:find("${", from, true)
		if not at then
			break
		end
		if text:sub(at - 1, at - 1) == "$" and at > from then
			add(template, text:sub(from, at - 2) .. "${")
			from = at + 2
		else
			add(template, text:sub(from, at - 1))
			local part, rest = reference(text, at, template.shell)
			if not part then
				return nil, rest, at
			end
			add(template, part)
			from = rest
		end
	end
	add(template, text:sub(from))
	return template
end

---The variables of a template, in order. `operator`: see Reference.
---@param template runner.workflow.Template
---@return runner.workflow.Reference[]
function M.names(template)
	local out = {}
	for _, part in ipairs(template) do
		if type(part) == "table" then
			out[#out + 1] = part
		end
	end
	return out
end

-- --- looking up ------------------------------------------------------------------------

---The kinds of steps that run a program, in the order of messages; `${KIND.…}` is of the last step of that kind.
M.kinds = { "claude", "shell", "runner" }
---First names of dotted paths that aren't variables; they mean nothing alone.
M.groups = tables.set("steps run env " .. table.concat(M.kinds, " "))
---Names that exist only inside a `foreach`.
M.loop = { item = true, item_index = true }
---First names of dotted paths inside a check, a repair or a worktree; elsewhere they may be variables.
M.guarded = { attempt = true, check = true, worktree = true }

local function segments(path)
	local out = {}
	for segment in path:gmatch("[^.]+") do
		out[#out + 1] = segment
	end
	return out
end

local function member(v, key)
	if type(v) ~= "table" then
		return nil
	elseif json.is_array(v) then
		local n = math.tointeger(tonumber(key))
		return n and v[n + 1]
	end
	return v[key]
end

-- Until 0.2 the structured output of a claude step was a member of its data. `of`: the result.
local function is_old_name(keys, i, v, of)
	local kind = (getmetatable(of) or {}).kind
	return keys[i] == "structured_output" and keys[i - 1] == "data" and type(v) == "table" and v.is_error == nil
		and (kind == nil or kind == "claude")
end

-- The value, or nil with the table and the key that is missing in it. `raw`: the last one
-- may be held outside memory.
local function walk(v, keys, raw)
	local of
	for i, key in ipairs(keys) do
		local next_v = member(v, key)
		if next_v == nil and is_old_name(keys, i, v, of) then
			next_v = v
		end
		of = v
		if not (raw and i == #keys) then
			next_v = large_value.value(next_v)
		end
		if next_v == nil then
			return nil, v, key
		end
		v = next_v
	end
	return v
end

---The names, numbers from 0 and `*` of a path into JSON such as $.items[*].name.
---@param text string
---@return string[]? path nil: it is none
function M.json_path(text)
	local dotted = text:gsub("^%$", ""):gsub("%[(['\"]?)([%w_*-]+)%1]", ".%2"):gsub("^%.", "")
	local path = segments(dotted)
	for _, name in ipairs(path) do
		if name ~= "*" and not name:find "^[%w_-]+$" then
			return nil
		end
	end
	return table.concat(path, ".") == dotted and path or nil
end

---Is it a dotted path that starts with the name of a group, and so can't be a variable of the workflow?
---@param scope runner.workflow.Scope
---@param path string
---@return boolean
function M.is_of_group(scope, path)
	local head = path:match "^([^.]+)%."
	return head ~= nil and (M.groups[head] or M.guarded[head] and scope[head] ~= nil) or false
end

local function find(scope, path, raw)
	local keys = segments(path)
	local head = keys[1]
	if #keys > 1 and head == "env" then
		return scope.env and scope.env(path:sub(5))
	elseif M.is_of_group(scope, path) or M.loop[head] then
		return walk(scope, keys, raw)
	end
	return walk(scope.vars or {}, keys, raw)
end

---The value of a path. Lists count from 0. A null counts as found. Raises PRECONDITION for
---an output that was cut.
---@param scope runner.workflow.Scope
---@param path string
---@return any value, boolean found
function M.lookup(scope, path)
	local v = large_value.whole(find(scope, path))
	return v, v ~= nil
end

-- (inner scopes inherit from outer ones)
local function advice(scope, path)
	local head = path:match "^[^.]+"
	local _, place, key = find(scope, path)
	local near = key and require("runner.core.suggest").nearest(key, tables.inherited_keys(place), 1)[1]
	if near then
		return ("Did you mean '%s'?"):format(near)
	elseif head == "env" then
		return ("Set the environment variable %s"):format(path:sub(5))
	elseif M.loop[head] then
		return ("Use ${%s} inside a foreach"):format(head)
	elseif M.groups[head] then
		local known = tables.inherited_keys(place)
		return known[1] and "Available: " .. table.concat(known, ", ") or "A step must run before its result can be used"
	end
	return ("Pass --var %s=VALUE, or set it under vars"):format(head)
end

---Raise PRECONDITION for a variable that has no value.
---@param scope runner.workflow.Scope
---@param path string
function M.unknown(scope, path)
	errors.raise("PRECONDITION", ("The variable ${%s} has no value"):format(path), { suggestion = advice(scope, path) })
end

local function required(scope, path)
	local v, found = M.lookup(scope, path)
	if not found then
		M.unknown(scope, path)
	end
	return v
end

-- --- substituting ------------------------------------------------------------------------

local function number_text(v)
	local n = math.tointeger(v)
	return n and ("%d"):format(n) or json.encode(v)
end

---A value as text: strings as they are, whole numbers without ".0", all else JSON.
---@param v any
---@return string
function M.text(v)
	if type(v) == "string" then
		return v
	elseif type(v) == "number" then
		return number_text(v)
	end
	return assert(json.encode(v))
end

-- Takes a text or a template.
local function compiled(template, opts)
	if type(template) ~= "string" then
		return template
	end
	local made, message, offset = M.parse(template, opts)
	if not made then
		errors.raise("PRECONDITION", ("%s (at byte %d)"):format(message, offset))
	end
	return made
end

---The text with all values substituted. Raises PRECONDITION for an unknown variable.
---@param template runner.workflow.Template|string
---@param scope runner.workflow.Scope
---@return string
function M.expand(template, scope)
	local out = {}
	for i, part in ipairs(compiled(template)) do
		out[i] = type(part) == "string" and part or M.text(required(scope, part.name))
	end
	return table.concat(out)
end

---The value itself where the template is one variable and nothing else, else the text.
---@param template runner.workflow.Template|string
---@param scope runner.workflow.Scope
---@return any
function M.value(template, scope)
	template = compiled(template)
	if #template == 1 and type(template[1]) == "table" then
		return required(scope, template[1].name)
	end
	return M.expand(template, scope)
end

---The file of a value that is kept in one, where the template is one variable and nothing
---else. Raises PRECONDITION for an output that was cut.
---@param template string
---@param scope runner.workflow.Scope
---@return string? path
function M.file(template, scope)
	local made = compiled(template)
	if #made ~= 1 or type(made[1]) ~= "table" then
		return nil
	end
	local v = find(scope, made[1].name, true)
	return large_value.is(v) and not v.get and large_value.file(v) or nil
end

-- --- shell texts ------------------------------------------------------------------------

-- How a reference is written in each place.
local FORMS = {
	bare = '"${%s}"', double = "${%s}", single = "'\"${%s}\"'", here = "${%s}", comment = "${%s}", arithmetic = "${%s}",
}

local function refuse(part, why, suggestion)
	errors.raise("PRECONDITION", ("%s %s"):format(part.source, why), { suggestion = suggestion })
end

-- A shell may execute what arithmetic contains, so only numbers go there.
local function check_place(part, place, text)
	if place == "here_quoted" then
		refuse(part, "is in a here-document with a quoted delimiter, where the shell expands nothing",
			"Remove the quotes around the delimiter, or write $${ for a literal '${'")
	elseif place == "arithmetic" and not text:find("^%-?%d+$") then
		refuse(part, "is used in arithmetic and is not a whole number", "Give the variable a whole number")
	elseif command_line.has_nul(text) then
		refuse(part, "contains a NUL byte, which a program argument can't contain", "Pass the value in a file")
	elseif #text > MAX_VALUE then
		refuse(part, ("is %d bytes long; the system passes at most %d to a program in one piece"):format(#text, MAX_VALUE),
			part.name:find "%.output$" and ("Pass its path, ${%s_path}, and read the file"):format(part.name)
			or "Write it to a file (output_file) and read the file")
	end
end

-- Is it ours, or the shell's own (`${HOME}`)? A dotted or loop name is always ours, and
-- so is one that a step captures, also where that step was skipped.
local function is_ours(scope, part)
	local _, found = M.lookup(scope, part.name)
	local must_be = part.name:find(".", 1, true) or M.loop[part.name] or scope.captures and scope.captures[part.name]
	if not found and must_be then
		M.unknown(scope, part.name)
	elseif found and part.operator then
		refuse(part, "is a workflow variable: shell operators don't apply to it",
			("Write ${%s}, and put its default under vars"):format(part.name))
	end
	return found
end

local function reference_to(scope, part, place, env)
	if place == "escaped" or not is_ours(scope, part) then
		return part.source
	end
	local text = M.text(M.lookup(scope, part.name))
	check_place(part, place, text)
	env.names[part.name] = env.names[part.name] or "RUNNER_VALUE_" .. env.n + 1
	local name = env.names[part.name]
	if not env.values[name] then
		env.n, env.values[name] = env.n + 1, text
	end
	return FORMS[place]:format(name)
end

---A shell text in which references to environment variables replace values, quoted
---for their place, and those variables. An unknown plain name is left to the shell;
---an unknown dotted one raises PRECONDITION.
---@param template runner.workflow.Template|string
---@param scope runner.workflow.Scope
---@return string script, table<string, string> env
function M.shell(template, scope)
	template = compiled(template, { shell = true })
	local places = require("runner.workflow.expr.quoting").places(template)
	local env = { n = 0, names = {}, values = {} }
	local out = {}
	for i, part in ipairs(template) do
		out[i] = type(part) == "string" and part or reference_to(scope, part, places[i], env)
	end
	return table.concat(out), env.values
end

return M
