-- declaration: the words for what is wrong with a declaration: file, line, key,
-- what was found and what to write. Loaded only when lua/command.lua reported
-- something, and by lint. It decides nothing: the rules are lua/command.lua's.

local command = require "runner.command"
local command_args = require "runner.command_args"
local command_codes = require "runner.command_codes"
local errors = require "runner.errors"
local policy = require "runner.policy"
local suggest = require "runner.suggest"
local values = require "runner.values"

local M = {}

---@class runner.DeclarationProblem
---@field key string where it stands, "args.keep.min"
---@field line? integer as far as the source text tells
---@field message string file, line, key, what was found, what to write
---@field fix string what to write

-- --- what may be written --------------------------------------------------------

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

local EXPECT = {
	command = {
		description = 'one sentence, such as "Deploy a release to a target"',
		danger_level = '"safe", "mutating" or "destructive"',
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
		side_effects = '"none", "partial" or "complete"', retry_after_ms = "a whole number of ms ≥ 0",
		retry_strategy = '"immediate", "linear_backoff" or "exponential_backoff"', description = TEXT,
	},
	limits = {
		memory = 'a size such as "256MiB" (at least 1 MiB), or "none"',
		cpu = 'a duration of processor time such as "10s", or "none"',
		processes = "a whole number from 1 to 1000000", open_files = "a whole number from 16 to 1000000",
	},
	project = {
		name = TEXT, version = TEXT, commands = "a folder", exit_table = '"standard" or "classic"',
		timeout = LIMIT, attempt_timeout = LIMIT, idle_timeout = LIMIT, grace = LIMIT,
		config = "a table", retry = "a table such as { retries = 3 }",
	},
	example = { description = TEXT, command = 'a command line such as "runner deploy --target prod"' },
	failure = {
		retryable = 'true, false or "maybe"', retry_after_ms = "a number of ms ≥ 0",
		retry_strategy = '"immediate", "linear_backoff" or "exponential_backoff"',
		side_effects = '"none", "partial" or "complete"', suggestion = "a text", fix_required = "a text",
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
	local one = row.values and "one of its values" or require("runner.complaint").expected(row)
	return row.type == "array" and "a list, each item " .. one or one
end

local function unanchored(f)
	local presets = {}
	for name in next, require("runner.patterns").presets do
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

-- --- where it stands --------------------------------------------------------------

local function escape(word)
	return (word:gsub("%W", "%%%0"))
end

-- Where a word stands next: as a key (word =) or as quoted text, whichever comes
-- first; else anywhere. The outermost word is a key.
local function next_place(text, word, from, outermost)
	local w = escape(word)
	local key = text:find("%f[%w_]" .. w .. "%s*=[^=]", from)
	local quoted = text:find("[\"']" .. w .. "[\"']", from)
	if key and quoted and not outermost then
		return math.min(key, quoted)
	end
	return key or quoted or text:find("%f[%w_]" .. w .. "%f[^%w_]", from)
end

-- Line comments are blanked: they often show what the code does not say.
local function line_of(text, words)
	text = ("\n" .. text):gsub("\n%s*%-%-[^\n]*", function(comment)
		return comment:gsub("[^\n]", " ")
	end)
	local start = text:find("\nreturn%f[%W]") or 1
	local at
	for _, word in ipairs(words) do
		local found = next_place(text, word, at or start, not at)
		if not found then
			break
		end
		at = found
	end
	return at and select(2, text:sub(1, at):gsub("\n", ""))
end

local ABSENT = { missing = true, missing_code = true, timeout_entry = true }

local function words_of(f)
	local words = {}
	for word in (f.prefix or ""):gmatch("[^.]+") do
		words[#words + 1] = word
	end
	local by_place = type(f.key) ~= "string" or f.kind == "arg" and (f.key == "name" or f.key == "type")
	if not by_place and not ABSENT[f.reason] then
		words[#words + 1] = f.key
	end
	return words
end

-- --- all problems -------------------------------------------------------------------

local function worded(f, where)
	local found, fix = WORDS[f.reason](f)
	local key = type(f.key) == "string" and f.key or f.key ~= nil and "[" .. show(f.key) .. "]" or nil
	key = f.prefix and key and f.prefix .. "." .. key or f.prefix or key or ""
	local line = where.text and line_of(where.text, words_of(f))
	local place = line and where.path .. ":" .. line or where.path
	local message = ("%s: %s%s; %s"):format(place, key ~= "" and key .. " " or "", found, fix)
	return { key = key, line = line or nil, message = message, fix = fix }
end

-- The functions of an argument, asked with the project's config as a call does. What
-- they raise with a code of their own is for the caller to mend.
local function ask(row, config, report)
	local function fault(key, reason, found)
		report("arg", "args." .. row.name, key, reason, found)
	end
	local function asked(key, f, ...)
		local ok, given = pcall(f, ...)
		if not ok and given.code == "COMMAND_INVALID" then
			fault(key, "asked", given.message)
		end
		return ok, given
	end
	local ok, listed = asked("values", values.listed, row, config)
	local given = row.default
	if ok and type(given) == "function" then
		ok, given = asked("default", values.ask, row, "default", config)
	end
	if ok and given ~= nil and select(2, values.accept(row, given, listed)) then
		fault("default", "default", { value = given, row = row })
	end
end

local function collect(declaration, where, asking)
	local faults, seen = {}, {}
	local function report(kind, prefix, key, reason, found)
		local place = (prefix or "") .. "\0" .. tostring(key)
		if reason ~= "missing" or not seen[place] then
			faults[#faults + 1] = { kind = kind, prefix = prefix, key = key, reason = reason, found = found }
		end
		seen[place] = true
	end
	local ok, normal = pcall(command.walk, declaration, where, report)
	if not ok then
		report("command", nil, nil, "raised", normal)
	end
	for _, row in ipairs(asking and not faults[1] and normal.args or {}) do
		ask(row, where.config, report)
	end
	return faults
end

---Every problem of a declaration, in the order of the file as far as it is known.
---@param declaration any what the file returned
---@param where {path: string, name: string, text?: string, config?: table}
---@param asking? boolean call the functions of its arguments as well
---@return runner.DeclarationProblem[]
function M.problems(declaration, where, asking)
	local out = {}
	for i, fault in ipairs(collect(declaration, where, asking)) do
		out[i] = worded(fault, where)
	end
	table.sort(out, function(a, b)
		if (a.line or 0) ~= (b.line or 0) then
			return (a.line or 0) < (b.line or 0)
		elseif a.key ~= b.key then
			return a.key < b.key
		end
		return a.message < b.message
	end)
	return out
end

---All problems as one COMMAND_INVALID.
---@param declaration any
---@param where {path: string, name: string, text?: string, config?: table}
---@param raised? any what the walk raised, if it did
---@return runner.Error
function M.error(declaration, where, raised)
	local problems = M.problems(declaration, where)
	local first = problems[1] or worded({ kind = "command", reason = "raised", found = raised }, where)
	local rows, messages = {}, {}
	for i, p in ipairs(problems) do
		rows[i] = { field = p.key, code = "COMMAND_INVALID", message = p.message, fix_required = p.fix, line = p.line }
		messages[i] = p.message
	end
	local more = #problems > 1 and (" (and %d more)"):format(#problems - 1) or ""
	return errors.new("COMMAND_INVALID", first.message .. more, {
		phase = "validation", retryable = false, side_effects = "none", fix_required = first.fix,
		detail = #problems > 1 and table.concat(messages, "\n") or nil, errors = rows,
		context = { path = where.path, line = first.line },
	})
end

---A key of runner.lua that is unknown or refused, as COMMAND_INVALID.
---@param path string of runner.lua
---@param key any
---@param found any its value
---@param known table<string, any> the keys that runner.lua may have
---@param text? string of the file: for the line
---@return runner.Error
function M.project_problem(path, key, found, known, text)
	local f = { kind = "project", key = key, found = found, reason = known[key] and "refused" or "unknown" }
	RULES.project = known
	if f.reason == "refused" and key == "retry" then
		local _, message, wrong = policy.normalise(found)
		f = { kind = "retry", prefix = "retry", key = wrong, reason = "retry", found = message }
	end
	local p = worded(f, { path = path, text = text })
	return errors.new("COMMAND_INVALID", p.message, {
		phase = "validation", retryable = false, side_effects = "none", fix_required = p.fix,
		context = { path = path, line = p.line },
	})
end

---What ctx:fail was given that an error can't hold, in words.
---@param key any
---@param found any
---@return string
function M.failure_problem(key, found)
	local f = { kind = "failure", key = key, found = found, reason = RULES.failure[key] and "refused" or "unknown" }
	return worded(f, { path = "ctx:fail" }).message
end

---What works but looks doubtful: for lint.
---@param declaration any
---@param where {path: string, name: string, text?: string, config?: table}
---@return runner.DeclarationProblem[]
function M.doubts(declaration, where)
	return require("runner.doubts").find(declaration, where)
end

return M
