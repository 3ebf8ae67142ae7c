-- declaration_messages: what is wrong with a declaration, in words: reason → what was
-- found and what to write. Loaded by lua/declare/declaration.lua. It decides nothing.

local command = require "runner.declare.command"
local command_args = require "runner.declare.arguments"
local command_codes = require "runner.declare.codes"
local enumeration = require "runner.core.enumeration"
local errors = require "runner.core.errors"
local policy = require "runner.declare.policy"
local suggest = require "runner.core.suggest"

local M = {}

-- --- what may be written --------------------------------------------------------

-- What may stand in each kind of table; `project` is lua/project/project.lua's.
local RULES = {
	command = command.rules.command, limits = command.rules.limits, example = command.rules.example,
	arg = command_args.rules, exit_code = command_codes.rules, retry = policy.keys, failure = {},
}
for name in next, errors.fields do
	RULES.failure[name] = name ~= "phase" and name ~= "retries_exhausted" and errors.fields[name] or nil
end

local WHAT = {
	project = "runner.lua",
	command = "a command", limits = "limits", example = "an example", arg = "an argument",
	exit_code = "an exit code", retry = "retry", failure = "an error",
}

local TEXT, BOOLEAN, LENGTH = "a text that is not empty", "true or false", "a whole number ≥ 0"
local LIMIT = 'a duration such as "500ms", "2s", "5m", a number of seconds, or "none"'
local ITEMS = '"string", "path", "enum", "integer", "number", "boolean" or "duration"'
local TYPES = '"array", ' .. ITEMS
local BOUND = 'a number (for a duration also text such as "2s")'

M.rules = RULES

local EXPECT = {
	command = {
		description = 'one sentence, such as "Deploy a release to a target"',
		danger_level = enumeration.text "danger_level",
		args = 'a list of arguments such as { { "target", "string", required = true } }',
		timeout = LIMIT, attempt_timeout = LIMIT, idle_timeout = LIMIT, grace = LIMIT,
		exit_codes = "a table of codes by name", steps = 'a list of names such as { "validate", "upload" }',
		validate = "function(args) … end", run = "function(args, ctx) … end", cleanup = "function(ctx) … end",
		stdin = BOOLEAN, interactive = BOOLEAN, hidden = BOOLEAN,
		columns = 'a list of column names such as { "name", "size" }', limits = 'a table such as { memory = "256MiB" }',
		examples = 'a list such as { { description = "…", command = "runner …" } }', schema_version = '"1.0"',
		required_scopes = "a list of texts",
	},
	arg = {
		name = 'a name such as "target" or "dry_run": lower-case letters, digits, _ and -', type = TYPES,
		items = ITEMS, description = TEXT, required = BOOLEAN,
		values = 'a list of texts such as { "prod", "dev" }, or function(config) … end', min = BOUND, max = BOUND,
		min_length = LENGTH, max_length = LENGTH, pattern = 'a regular expression such as "^[a-z]+$", or a preset',
		positional = BOOLEAN, variadic = BOOLEAN, short = "one letter",
		env = 'the name of a variable such as "DEPLOY_TARGET"', code = 'an error code such as "INVALID_TARGET"',
		suggestion = TEXT, default = "a value",
	},
	exit_code = {
		code = "a number from 79 to 125", retryable = 'true, false or "maybe"',
		side_effects = enumeration.text "side_effects", retry_after_ms = "a whole number of ms ≥ 0",
		retry_strategy = enumeration.text "retry_strategy", description = TEXT,
	},
	limits = {
		memory = 'a size such as "256MiB" (at least 1 MiB), or "none"',
		cpu = 'a duration of processor time such as "10s", or "none"',
		processes = "a whole number from 1 to 1000000", open_files = "a whole number from 16 to 1000000",
	},
	project = {
		name = TEXT, version = TEXT, commands = "a folder", exit_table = enumeration.text "exit_table",
		timeout = LIMIT, attempt_timeout = LIMIT, idle_timeout = LIMIT, grace = LIMIT,
		config = "a table", retry = "a table such as { retries = 3 }",
	},
	example = { description = TEXT, command = 'a command line such as "runner deploy --target prod"' },
	failure = {
		retryable = 'true, false or "maybe"', retry_after_ms = "a number of ms ≥ 0",
		retry_strategy = enumeration.text "retry_strategy",
		side_effects = enumeration.text "side_effects", suggestion = "a text", fix_required = "a text",
		fix_command = "a text", detail = "a text", errors = 'a list such as { { field = "target", message = "…" } }',
		context = "a table of facts such as { pid = 5 }",
	},
}

local SHOWN_ITEMS = 4
local show

-- { 1, "a" }: a short table of plain values; any other is "a table".
local function show_table(t)
	local items, names = {}, {}
	for key, v in next, t do
		if type(v) == "table" or #items + #names == SHOWN_ITEMS then
			return "a table"
		elseif math.type(key) == "integer" and key == #items + 1 then
			items[key] = show(v)
		else
			names[#names + 1] = (type(key) == "string" and key or "[" .. show(key) .. "]") .. " = " .. show(v)
		end
	end
	table.sort(names)
	table.move(names, 1, #names, #items + 1, items)
	return items[1] and "{ " .. table.concat(items, ", ") .. " }" or "{}"
end

function show(v)
	if type(v) == "table" then
		return show_table(v)
	elseif type(v) == "string" then
		return (("%q"):format(#v > 80 and v:sub(1, 80) .. "…" or v):gsub("\\\n", "\\n"))
	end
	local plain = v == nil or type(v) == "number" or type(v) == "boolean"
	return v ~= v and "not a number" or plain and tostring(v) or "a " .. type(v)
end

M.show = show

local function expected(f)
	return EXPECT[f.kind] and EXPECT[f.kind][f.key] or "something else"
end

-- --- reasons → found, fix ---------------------------------------------------------

local function known_keys(kind)
	local keys = {}
	for key, rule in next, RULES[kind] do
		if type(key) == "string" and type(rule) ~= "string" then
			keys[#keys + 1] = key
		end
	end
	table.sort(keys)
	return keys
end

local function unknown(f)
	local keys = known_keys(f.kind)
	local near = suggest.nearest(tostring(f.key), keys, 1)[1]
	return ("is no key of %s"):format(WHAT[f.kind]),
		near and ("did you mean '%s'?"):format(near) or "leave it out, or use one of " .. table.concat(keys, ", ")
end

local function missing_code(f)
	local host = require "runner.host"
	local near = suggest.nearest(f.found, (host.registry_names()), 1)[1]
	local fix = 'write code = 79 (to 125) with retryable and side_effects beside it'
	return "is neither in the registry nor has a number of its own",
		near and ("%s, or did you mean '%s'?"):format(fix, near) or fix
end

local function whole_table(f)
	if f.kind == "command" then
		return ("returned %s"):format(show(f.found)), "return a table: return { description = …, "
			.. 'danger_level = "safe", run = function(args, ctx) … end }'
	end
	local example = { arg = '{ "target", "string" }', exit_code = '{ code = 79, retryable = true, side_effects = "none" }',
		limits = '{ memory = "256MiB" }', example = '{ description = "…", command = "runner …" }' }
	return "is " .. show(f.found), "write a table such as " .. example[f.kind]
end

local BOUNDS = { integer = "a whole number", number = "a number",
	duration = 'a duration such as "2s", or a number of seconds' }

-- What the default of a row may be.
local function takes(row)
	local one = row.values and "one of its values" or require("runner.declare.arg_errors").expected(row)
	return row.type == "array" and "a list, each item " .. one or one
end

local function unanchored(f)
	local presets = {}
	for name in next, require("runner.declare.patterns").presets do
		presets[#presets + 1] = name
	end
	table.sort(presets)
	local near = suggest.nearest(f.found, presets, 1)[1]
	return ("is %s, which may match a part only"):format(show(f.found)),
		("write pattern = %s"):format(show("^" .. f.found:gsub("^%^", ""):gsub("%$$", "") .. "$"))
			.. (near and (", or did you mean the preset '%s'?"):format(near) or "")
end

local WORDS = {
	table = whole_table,
	unknown = unknown,
	refused = function(f) return "is " .. show(f.found), "write " .. expected(f) end,
	missing = function(f) return "is missing", ("write %s = %s"):format(f.key, expected(f)) end,
	not_for_type = function(f)
		return ("does not apply to the type %s"):format(f.found), "leave it out, or change the type"
	end,
	above_max = function(f)
		return "is above its maximum " .. tostring(f.found), "write a smaller one, or raise the maximum"
	end,
	unanchored = unanchored,
	no_regex = function(f) return "is " .. f.found, "correct the regular expression" end,
	default = function(f)
		return ("is %s, which the argument itself refuses"):format(show(f.found.value)), "write " .. takes(f.found.row)
	end,
	bound = function(f)
		return "is " .. show(f.found.value), "write " .. BOUNDS[f.found.kind]
	end,
	asked = function(f) return "can't be asked: " .. f.found, "mend the function" end,
	names_twice = function(f)
		return ("is %s, but the row begins with %s"):format(show(f.found.name), show(f.found.first)), "leave one of them out"
	end,
	owned = function(f)
		local flag = type(f.found) == "table" and "-" .. f.found.short or "--" .. f.found
		return ("belongs to the framework's flag %s"):format(flag), "choose another " .. f.key
	end,
	claimed = function(f)
		return ("is already taken by the argument '%s'"):format(f.found), "choose another " .. f.key
	end,
	after_variadic = function(f)
		return ("stands after the variadic '%s', which takes all that follow"):format(f.found),
			("move it before '%s'"):format(f.found)
	end,
	after_optional = function(f)
		return ("stands after the optional positional '%s'"):format(f.found),
			("make '%s' required, or move it behind"):format(f.found)
	end,
	taken = function(f) return ("is already the number of %s"):format(f.found), "choose another number from 79 to 125" end,
	fixed = function(f)
		return ("is %s, but the registry gives this code its number"):format(show(f.found)), "leave code out"
	end,
	missing_code = missing_code,
	code_name = function()
		return "is no name of a code", "write a name in capitals such as LOCKED: ^[A-Z][A-Z0-9_]+$"
	end,
	on_unknown = function(f)
		local near = suggest.nearest(f.found, (require("runner.host").registry_names()), 1)[1]
		return ("names %s, which is neither in the registry nor in exit_codes"):format(f.found),
			near and ("did you mean '%s'?"):format(near) or "declare it in exit_codes, or leave it out"
	end,
	timeout_entry = function(f)
		return ("is missing, and a %s command that runs out of time may have done half its work"):format(f.found),
			'write in exit_codes: TIMEOUT = { retryable = false, side_effects = "partial" },'
	end,
	timeout_open = function(f)
		return ("must say both retryable and side_effects in a %s command"):format(f.found),
			'write TIMEOUT = { retryable = false, side_effects = "partial" }, or what is true of this command'
	end,
	unbounded = function()
		return "has no bound: max_delay bounds nothing when timeout is \"none\"", "write retries = 3, or a timeout"
	end,
	retry = function(f)
		if f.key ~= nil and not policy.keys[f.key] then
			return unknown(f)
		end
		local found, fix = f.found:match("^(.*): (.*)$")
		return (found or f.found):gsub("^retry[%w_.]* ", ""), fix or "write retry = { retries = 3 }"
	end,
	step_twice = function(f) return ("names the step %s twice"):format(show(f.found)), "give each step its own name" end,
	raised = function(f) return "can't be read: " .. tostring(f.found), "return a plain table" end,
}

---@param f {kind: string, prefix?: string, key: any, reason: string, found: any} a fault
---@return string found, string fix
function M.of(f)
	return WORDS[f.reason](f)
end

return M
