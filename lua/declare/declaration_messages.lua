-- declaration_messages: the text for each fault in a declaration: what was found, and
-- how to fix it. Loaded by lua/declare/declaration.lua. It checks nothing itself.

local command = require "runner.declare.command"
local command_args = require "runner.declare.arguments"
local command_codes = require "runner.declare.codes"
local contract = require "runner.declare.contract"
local errors = require "runner.core.errors"
local json = require "runner.json"
local policy = require "runner.declare.policy"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local suggest = require "runner.core.suggest"

local M = {}

-- --- what may be written --------------------------------------------------------

-- The keys of each kind of table; `project` comes from lua/project/project.lua.
local RULES = {
	command = command.rules.command, limits = require("runner.declare.throttle").rules, example = command.rules.example,
	arg = command_args.rules, exit_code = command_codes.rules, retry = policy.keys, failure = {},
}
for name in next, errors.fields do
	RULES.failure[name] = name ~= "phase" and name ~= "retries_exhausted" and errors.fields[name] or nil
end

-- Keys that others use for the same thing, and what to write here.
local NEEDS, SHELL = 'use needs = { "build" }', "use shell = 'make'"
local INSTEAD = {
	command = { depends = NEEDS, deps = NEEDS, dependencies = NEEDS, depends_on = NEEDS, cmd = SHELL, cmds = SHELL, command = SHELL,
		script = SHELL, desc = 'use description = "What it does"',
		dir = 'use cwd = "web"', silent = "use quiet = true", vars = 'use env = { NAME = "value" }', params = "use args" },
	retry = { max_attempts = "use retries: it counts the attempts after the first" },
}

local TEXT, BOOLEAN, LENGTH = "a non-empty string", "true or false", "a whole number ≥ 0"
local LIMIT = 'a duration such as "500ms", "2s", "5m", a number of seconds, or "none"'
local ITEMS = '"string", "path", "enum", "integer", "number", "boolean", "duration" or "json"'
local TYPES = '"array", ' .. ITEMS
local BOUND = 'a number (for a duration also a string such as "2s")'

M.rules = RULES

local EXPECT = {
	command = {
		description = 'one sentence, such as "Deploy a release to a target"',
		danger_level = errors.enumeration "danger_level",
		args = 'a list of arguments such as { { "target", "string", required = true } }',
		timeout = LIMIT, attempt_timeout = LIMIT, idle_timeout = LIMIT, grace = LIMIT,
		exit_codes = "a table such as { CONFLICT = { retryable = true } }", steps = 'a list of names such as { "validate", "upload" }',
		validate = "function(args) … end", run = "function(args, ctx) … end", cleanup = "function(ctx) … end",
		interactive = BOOLEAN, hidden = BOOLEAN,
		columns = 'a list of column names such as { "name", "size" }', limits = 'a table such as { memory = "256MiB" }',
		examples = 'a list such as { { description = "…", command = "runner …" } }', schema_version = '"1.0"',
		required_scopes = "a list of strings",
	},
	arg = {
		name = 'a name such as "target" or "dry_run": lower-case letters, digits, _ and -', type = TYPES,
		items = ITEMS, description = TEXT, required = BOOLEAN,
		values = 'a list of strings such as { "prod", "dev" }, or function(config) … end', min = BOUND, max = BOUND,
		min_length = LENGTH, max_length = LENGTH, pattern = 'a regular expression such as "^[a-z]+$", or the name of a preset',
		positional = BOOLEAN, variadic = BOOLEAN, short = "one letter",
		env = 'the name of an environment variable such as "DEPLOY_TARGET"', code = 'an error code such as "INVALID_TARGET"',
		suggestion = TEXT, default = "a value", secret = BOOLEAN, pipe_compatible = BOOLEAN, max_bytes = 'a size such as "4KiB", or bytes',
		env_fallbacks = 'a list of variables such as { "TOKEN" }',
		within = 'a directory such as "site"', schema = "a JSON Schema (draft 07) as a table",
	},
	exit_code = {
		code = "a number from 79 to 125", retryable = 'true, false or "maybe"',
		side_effects = errors.enumeration "side_effects", retry_after_ms = "a whole number of ms ≥ 0",
		retry_strategy = errors.enumeration "retry_strategy", description = TEXT,
	},
	limits = {
		memory = 'a size such as "256MiB" (at least 1 MiB), or "none"',
		cpu = 'a duration of processor time such as "10s", or "none"',
		processes = "a whole number from 1 to 1000000", open_files = "a whole number from 16 to 1000000",
	},
	project = {
		name = TEXT, description = TEXT, version = TEXT, commands = "a folder", changelog = "a JSON file",
		audit = "true, or a table { path, required, sync }: a path, true or false, true or false",
		scopes = "a list of strings, or a function that returns one",
		exit_table = errors.enumeration "exit_table",
		timeout = LIMIT, attempt_timeout = LIMIT, idle_timeout = LIMIT, grace = LIMIT,
		aliases = 'words by name such as { dp = "deploy --target prod" }, quoted as for a shell, without what only a shell reads, '
			.. 'none of them a confirmation (--confirm-destructive, --live, --yes)',
		hosts = require("runner.declare.throttle").HOSTS,
		dotenv = 'true, or paths such as { ".env", ".env.local" }',
		before = "a function(ctx, call)", after = "a function(ctx, call)",
		groups = "hooks by the name of the group such as { db = { before = function(ctx, call) … end } }",
		contexts = 'settings by name such as { prod = { config = { host = "a" } } }', config = "a table",
		telemetry = 'true, false or { content = true, file = "traces.jsonl", service_name = "deploys" } with what is needed of it',
		retention = '{ older_than = "30d" }, with max_size = "1GiB", keep = 100, failed = true, interrupted = true as needed',
		notify = 'a text for a shell such as "call-ada >log", or the words of a program such as { "call-somebody", "--urgent" }',
		executors = 'executors by name such as { cluster = { kind = "slurm", directory = "~/runner" } } (docs/scale.md)',
		dependencies = 'a list such as { { name = "git", min_version = "2.30" } }, with check_command, max_version and fix_command if needed',
		retry = "a table such as { retries = 3 }",
	},
	example = { description = TEXT, command = 'a command line such as "runner deploy --target prod"' },
	failure = {
		retryable = 'true, false or "maybe"', retry_after_ms = "a number of ms ≥ 0",
		retry_strategy = errors.enumeration "retry_strategy",
		side_effects = errors.enumeration "side_effects", suggestion = "a string", fix_required = "a string",
		fix_command = "a command line without placeholders", detail = "a string",
		errors = 'a list such as { { field = "target", message = "…" } }',
		context = "a table of facts such as { pid = 5 }",
		cause = "a string", docs_url = "a string", conflict_id = "a string", expires_at = "a string",
		refresh_command = "a string", required_permission = "a string",
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
	return v ~= v and "not a number" or plain and tostring(v) or v == json.null and "null" or "a " .. type(v)
end

M.show = show

---What a key of runner.lua takes.
---@param key string
---@return string
function M.project(key)
	return EXPECT.project[key]
end

local function expected(f)
	local row = f.kind == "command" and contract.key(f.key)
	return row and row.expected or EXPECT[f.kind] and EXPECT[f.kind][f.key] or "something else"
end

-- A key of a table that should be a list: { name = "x" }, or a gap.
local function odd_key(t)
	local count, odd = 0, {}
	for _ in next, t do
		count = count + 1
	end
	for key in next, t do
		if math.type(key) ~= "integer" or key < 1 or key > count then
			odd[#odd + 1] = show(key)
		end
	end
	table.sort(odd)
	return odd[1]
end

local function wants_list(f)
	return type(f.found) == "table" and expected(f):find "^a list" ~= nil
end

-- A text of the author's as the words of a program.
local function words_of(line)
	local words = {}
	for word in line:gmatch "%S+" do
		words[#words + 1] = show(word)
	end
	return ("{ %s }"):format(table.concat(words, ", "))
end

-- Of the keys that say what is to be done, what the author probably meant.
local function work_refused(f)
	if f.kind == "command" and f.key == "run" then
		local line = type(f.found) == "string" and f.found:find "^%s*[%w_./-]+[%w_./ -]*$" and f.found or "make"
		return ("is %s, and must be a function"):format(show(f.found)),
			("write run = function(args, ctx) ctx:run%s end, or shell = %s in its place"):format(words_of(line), show(line))
	elseif f.kind == "command" and f.key == "shell" and rules.list(f.found, 1, SHOWN_ITEMS, rules.text) then
		local script = table.concat(f.found, " && ")
		script = script:find "[\n;#]" and ("[[\n%s ]]"):format(table.concat(f.found, "\n")) or show(script)
		return "is a list, and takes one text", ("write shell = %s"):format(script)
	end
end

-- What other languages call a type.
local FOREIGN_TYPES = { str = "string", text = "string", int = "integer", bool = "boolean", flag = "boolean",
	switch = "boolean", float = "number", double = "number", file = "path", dir = "path", directory = "path", list = "array",
	choice = "enum", time = "duration", object = "json" }

local function type_refused(f)
	local name = type(f.found) == "string" and f.kind == "arg" and f.key == "type" and f.found:lower()
	local types = { "array", "string", "path", "enum", "integer", "number", "boolean", "duration", "json" }
	local meant = name and (FOREIGN_TYPES[name] or suggest.nearest(name, types, 1)[1])
	if meant then
		return ("the type of argument '%s' is %s"):format(f.prefix:match "[^.]*$", show(f.found)), ("write %q"):format(meant), true
	end
end

local function refused(f)
	local found, fix, names_key = type_refused(f)
	if not found then
		found, fix = work_refused(f)
	end
	if found then
		return found, fix, names_key
	end
	local key = wants_list(f) and odd_key(f.found)
	if key then
		return ("has the key %s, which is not a list item"):format(key), "write " .. expected(f)
	end
	return "is " .. show(f.found), "write " .. expected(f)
end

-- --- reasons → found, fix ---------------------------------------------------------

-- Without the rare ones for a list that a person reads.
local function known_keys(kind, everyday)
	local keys = kind == "command" and not everyday and contract.keys()
		or kind == "arg" and not everyday and tables.sorted_keys(require("runner.declare.rare_arguments").rules) or {}
	for key, rule in next, RULES[kind] do
		if type(key) == "string" and type(rule) ~= "string" then
			keys[#keys + 1] = key
		end
	end
	table.sort(keys)
	return keys
end

-- The same with what the author has written, where it is texts.
local function as_written(instead, found)
	local list = type(found) == "string" and { found } or found
	if rules.list(list, 1, SHOWN_ITEMS, rules.text) then
		local text = instead:find "shell" and show(table.concat(list, "\n")) or instead:find "needs" and show(list)
		return text and instead:gsub("=.*$", function() return "= " .. text end) or instead
	end
	return instead
end

-- The third value: the clause names the key itself.
local function unknown(f, path)
	if f.task and f.kind == "command" and type(f.found) == "string" and math.type(f.key) == "integer" then
		return ("task '%s' has a second text"):format(f.task), ("write shell = %s"):format(show(f.found)), true
	end
	local near = suggest.nearest(tostring(f.key), known_keys(f.kind), 1)[1]
	local instead = (INSTEAD[f.kind] or {})[f.key]
	local fix = instead and as_written(instead, f.found) or near and ("rename '%s' to '%s'"):format(f.key, near)
		or "remove it, or use one of " .. table.concat(known_keys(f.kind, true), ", ")
	return ("unknown key %s"):format(type(f.key) == "string" and "'" .. path .. "'" or path), fix, true
end

-- Keys of a task that is written anew, and those that every task has.
local ANEW = { "description", "shell", "needs", "cwd", "quiet", "env" }
local PLAIN = tables.set "task danger_level exit_codes timeout hidden interpreter run"

---A task whose keys are those of another tool, with ours: "x = { "X", shell = "make" }".
---@param name string of the task, with a blank between its words
---@param declared table
---@return string? nil: it has what can't be said in a line
---@return string[]? keys that are none
function M.anew(name, declared)
	local out, keys = {}, {}
	for key, v in next, declared do
		local instead = INSTEAD.command[key]
		local ours = instead and instead:match "^use (%a+) = "
		if ours and ours ~= "env" and out[ours] == nil then
			out[ours] = type(v) == "table" and ours == "shell" and rules.list(v, 1, SHOWN_ITEMS, rules.text) and table.concat(v, " && ")
				or type(v) == "table" and ours == "needs" and v or type(v) ~= "table" and v or nil
			keys[#keys + 1] = ("'%s'"):format(key)
		elseif key == "description" or key == "shell" or key == "needs" then
			out[key] = v
		end
		if not (ours and out[ours] ~= nil or out[key] ~= nil or PLAIN[key] or key == "cwd" and v == "project") then
			return nil
		end
	end
	local words = {}
	for _, key in ipairs(ANEW) do
		local text = out[key] ~= nil and show(out[key])
		if text == "a table" or text and #text > 80 then
			return nil
		end
		words[#words + 1] = text and (key == "description" and text or key .. " = " .. text) or nil
	end
	table.sort(keys)
	name = name:match "[^ ]*$"
	return out.description and (out.shell or out.needs) and keys[2] and ("%s = { %s }"):format(
		name:find "^[%a_][%w_]*$" and name or ("[%q]"):format(name), table.concat(words, ", ")) or nil, keys
end

local function missing_code(f)
	local host = require "runner.host"
	local near = suggest.nearest(f.found, (host.registry_names()), 1)[1]
	local fix = "add code = 79 (to 125), retryable and side_effects"
	return "is not in the registry and has no code of its own",
		near and ("rename it to '%s', or %s"):format(near, fix) or fix
end

local function whole_table(f)
	local name = f.kind == "command" and f.found == nil and f.text and require("runner.declare.lua_mistakes").not_returned(f.text)
	if name then
		return "the file returns nothing", ("write return %s as its last line"):format(name)
	elseif f.kind == "command" then
		return ("the file returned %s"):format(show(f.found)), "return a table: return { description = …, "
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
	for name in next, require("runner.declare.rare_arguments").presets do
		presets[#presets + 1] = name
	end
	table.sort(presets)
	local near = suggest.nearest(f.found, presets, 1)[1]
	return ("is %s, which also matches a part of a value"):format(show(f.found)),
		("anchor it: pattern = %s"):format(show("^" .. f.found:gsub("^%^", ""):gsub("%$$", "") .. "$"))
			.. (near and (", or use the preset '%s'"):format(near) or "")
end

-- What a task lacks.
local OF_TASK = {
	description = { "doesn't say what it does", 'begin it with a text: { "What it does", shell = "…" }' },
	run = { "has nothing to do" },
}

-- A task of one text: what it is to do was taken for what it does, or is missing.
local function without_work(f)
	local text, name = f.declared and rawget(f.declared, "description"), f.task:match "[^ ]*$"
	name = name:find "^[%a_][%w_]*$" and name or ("[%q]"):format(name)
	if type(text) ~= "string" or text:find "\n" then
		return ("task '%s' has nothing to do"):format(f.task), ('write %s = { "What it does", shell = "make" }'):format(name)
	elseif text:find "^[%l./][^%u]*$" and not text:find "%.$" then
		return ("task '%s' has nothing to do: %s was taken for its description"):format(f.task, show(text)),
			('write %s = { "What it does", shell = %s }'):format(name, show(text))
	end
	return ("task '%s' has nothing to do"):format(f.task),
		('write %s = { %s, shell = "make" }, with your own command in place of make'):format(name, show(text))
end

local WORDS = {
	table = whole_table,
	unknown = unknown,
	refused = refused,
	missing = function(f)
		local of_task = f.task and f.kind == "command" and OF_TASK[f.key]
		if of_task and f.key == "run" then
			local found, fix = without_work(f)
			return found, fix, true
		elseif f.kind == "arg" and f.key == "type" and f.prefix then
			local name = f.prefix:match "[^.]*$"
			return ("argument '%s' has no type"):format(name), ('write { %q, "string" } if it is a text'):format(name), true
		elseif of_task then
			return ("task '%s' %s"):format(f.task, of_task[1]), of_task[2], true
		end
		return "is missing", ("add %s = %s"):format(f.key, expected(f))
	end,
	not_for_type = function(f)
		return ("does not apply to type '%s'"):format(f.found), "remove it, or change the type"
	end,
	not_for_secret = function()
		return "does not apply to a secret", "remove it: --NAME-from-file reads a secret"
	end,
	above_max = function(f)
		return "is greater than the maximum, " .. tostring(f.found), "lower it, or raise the maximum"
	end,
	unanchored = unanchored,
	schema = function(f) return "is no JSON Schema: " .. f.found, "correct the schema" end,
	no_regex = function(f) return "is " .. f.found, "fix the regular expression" end,
	default = function(f)
		return ("is %s, which the argument's own rules reject"):format(show(f.found.value)), "write " .. takes(f.found.row)
	end,
	bound = function(f)
		return "is " .. show(f.found.value), "write " .. BOUNDS[f.found.kind]
	end,
	call_failed = function(f) return "failed: " .. f.found, "fix the function" end,
	names_twice = function(f)
		return ("is %s, but the row begins with %s"):format(show(f.found.name), show(f.found.first)), "remove one of them"
	end,
	owned = function(f)
		if f.kind == "arg" and f.key == "name" and type(f.found) == "string" then
			local name = f.prefix:match "[^.]*$"
			return ("an argument can't be named %s: %s"):format(name, f.found:find "^runner" and "names that begin so are runner's own"
				or ("runner has a flag --%s of its own"):format(f.found)), ("write another name, such as %q"):format("my_" .. name), true
		end
		local flag = type(f.found) == "table" and "-" .. f.found.short or "--" .. f.found
		return ("is taken by runner's own flag %s"):format(flag), "choose another " .. f.key
	end,
	claimed = function(f)
		return ("is already taken by argument '%s'"):format(f.found), "choose another " .. f.key
	end,
	after_variadic = function(f)
		return ("comes after the variadic argument '%s', which takes everything that follows"):format(f.found),
			("move it before '%s'"):format(f.found)
	end,
	after_optional = function(f)
		return ("comes after the optional positional '%s'"):format(f.found),
			("make '%s' required, or move it after this argument"):format(f.found)
	end,
	taken = function(f) return ("is already used by %s"):format(f.found), "choose another number from 79 to 125" end,
	fixed = function(f)
		return ("is %s, but the registry already defines the number of this code"):format(show(f.found)), "remove code"
	end,
	missing_code = missing_code,
	code_name = function()
		return "is not a valid code name", "write it in capitals, such as LOCKED: ^[A-Z][A-Z0-9_]+$"
	end,
	on_unknown = function(f)
		local near = suggest.nearest(f.found, (require("runner.host").registry_names()), 1)[1]
		return ("lists %s, which is neither in the registry nor in exit_codes"):format(f.found),
			near and ("replace it with '%s', or declare it in exit_codes"):format(near) or "declare it in exit_codes, or remove it"
	end,
	timeout_entry = function(f)
		return ("is missing, but a %s command that times out may have done half of its work"):format(f.found),
			(f.declared and rawget(f.declared, "exit_codes") and "add to exit_codes: %s" or "write exit_codes = { %s }, beside danger_level"):format(
				'TIMEOUT = { retryable = false, side_effects = "partial" }')
	end,
	timeout_open = function(f)
		return ("must set both retryable and side_effects in a %s command"):format(f.found),
			'write TIMEOUT = { retryable = false, side_effects = "partial" }, or whatever is true of this command'
	end,
	unbounded = function()
		return "never ends: max_delay needs a timeout, and timeout is \"none\"", "add retries = 3, or a timeout"
	end,
	retry = function(f, path)
		if f.key ~= nil and not policy.keys[f.key] then
			return unknown(f, path)
		end
		local found, fix = f.found:match("^(.*): (.*)$")
		return (found or f.found):gsub("^retry[%w_.]* ", ""), fix or "write retry = { retries = 3 }"
	end,
	contract = function(f) return f.found[1], f.found[2] end,
	step_twice = function(f) return ("lists step %s twice"):format(show(f.found)), "give each step a unique name" end,
	raised = function(f) return "can't be read: " .. tostring(f.found), "return a plain table" end,
}

---@param f {kind: string, prefix?: string, key: any, reason: string, found: any} a fault
---@param path string of the key, "args.keep.min"; "" for the file itself
---@return string found a clause: "timeout is 5, …"
---@return string fix a sentence without its full stop
function M.of(f, path)
	local found, fix, names_key = WORDS[f.reason](f, path)
	local subject = path ~= "" and not names_key and path .. " " or ""
	return subject .. found, (fix:gsub("^%l", string.upper))
end

return M
