-- arg_errors: the messages for wrong arguments: what was found, which values are valid,
-- and what to correct. Loaded only when an argument is wrong; lua/project/args.lua
-- decides which.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local suggest = require "runner.core.suggest"
local arg_words = require "runner.declare.arg_words"
local flags = require "runner.declare.flags"
local json = require "runner.json"

local M = {}

local correct, given, label, range, shown = arg_words.correct, arg_words.given, arg_words.label, arg_words.range, arg_words.shown
local noun = arg_words.noun

M.expected, M.shown = arg_words.expected, arg_words.shown

---@class runner.Problem
---@field field string name of the argument, or the flag as it was written
---@field code string
---@field message string
---@field value? any as given
---@field suggestion? string
---@field fix_required? string

-- "Valid values: …" exactly, then what was probably meant.
local function valid_values(text, values)
	if not values[1] then
		return "No valid values are configured"
	end
	local words = "Valid values: " .. table.concat(values, ", ")
	local near, other = table.unpack(text and not text:find "^%s*[!^~-]" and suggest.nearest(text, values, 2) or {})
	local is_even = other and (tostring(other):sub(1, #text) == text
		or suggest.distance(text:lower(), tostring(other):lower()) <= suggest.distance(text:lower(), tostring(near):lower()))
	return near and not is_even and ("%s. Did you mean '%s'?"):format(words, near) or words
end

-- The caller may have meant runner's own flag of that name.
local function other_flag(row)
	local shared = not row.section and not (attempt.call or {}).is_call and flags.by_flag[row.flag]
	return shared and ("; runner's own flag is --runner-%s here"):format(row.flag) or ""
end

-- " such as --n 3", of a number on the command line.
local function example(row, from)
	local kind = row.type
	if from ~= "flag" or (attempt.call or {}).is_call or kind ~= "integer" and kind ~= "number" or row.positional then
		return ""
	end
	local value = math.max(math.min(3, row.max or 3), row.min or 3)
	return (", such as %s %s"):format(label(row), math.tointeger(value) or value)
end

local function advice(row, text, values, from)
	local words = row.suggestion or values and valid_values(text, values) or "Give " .. M.expected(row) .. example(row, from)
	return text and words .. other_flag(row) or words
end

local FROM = { env = " in %s", default = " (its default)" }

-- Reasons that have a message of their own.
local function rare(row, why)
	return why == "type" and (row.items or row.type) == "json" and "json"
		or (why == "schema" or why == "outside" or why == "bytes" or why == "list") and why or nil
end

-- --- what a model invents where a name or a path is asked for (REQ-F-045) -------------------

local IDENTIFIERS = { alphanumeric_id = true, uuid = true, semver = true }

-- By the patterns of lower-case text that give it away; for what is no path, too.
local PLACEHOLDERS = {
	{ "path_traversal", "%.%.[/\\]", "%.%.%%2f", "%.%.%%5c", "%%2e%%2e", "^%.%.$", "/%.%.$" },
	{ "percent_encoded_shell", "%%3b", "%%7c", "%%26", "%%60", "%%24", "%%0a", "%%0d" },
	{ "percent_encoded_separator", "%%2[f5e]", "%%5c", "%%40", "%%3%d", "%%[46][1-6]" },
}
local PLACEHOLDER_IDENTIFIER = { { "query_string", "[?&]" }, { "fragment", "#" } }

---What gives a value away as invented: rejected_pattern of the error; nil: nothing.
---@param row table
---@param text string
---@return string?
local function placeholder(row, text)
	local lists = { (IDENTIFIERS[row.pattern] or row.pattern == "filepath") and PLACEHOLDERS or {},
		IDENTIFIERS[row.pattern] and PLACEHOLDER_IDENTIFIER or {} }
	for _, list in ipairs(lists) do
		for _, kind in ipairs(list) do
			for i = 2, #kind do
				if text:lower():find(kind[i]) then
					return kind[1]
				end
			end
		end
	end
end

-- --- the problem ------------------------------------------------------------------------

---A value that its row rejects.
---@param row table
---@param text string as given
---@param why "type"|"values"|"range"|"length"|"pattern"|"regex"|"utf8"|"schema"|"outside"|"bytes"|"list"
---@param from runner.From
---@param values? string[]
---@return runner.Problem
function M.invalid(row, text, why, from, values)
	local where = (FROM[from] or ""):format(row.read_from or row.env)
	local subject = from == "flag" and label(row) or noun(row)
	local message
	if rare(row, why) then
		return M[rare(row, why)](row, text, from)
	elseif why == "values" then
		message = ("Unknown %s '%s'%s"):format(noun(row), given(row, text), where)
	elseif why == "utf8" then
		message = ("Invalid %s '%s'%s: it is not valid UTF-8"):format(subject, given(row, text), where)
	elseif why == "regex" then
		message = ("Invalid %s '%s'%s: matching it took too long"):format(subject, given(row, text), where)
	else
		message = ("Invalid %s '%s'%s: expected %s"):format(subject, given(row, text), where, M.expected(row))
	end
	local pattern = why == "pattern" and not row.secret and placeholder(row, text) or nil
	return {
		field = row.name, code = row.code or pattern and "INVALID_AGENT_INPUT" or "INVALID_ARGUMENT", message = message,
		value = given(row, text), rejected_pattern = pattern,
		suggestion = advice(row, not row.secret and text or nil, values, from), fix_required = correct(row, from),
	}
end

---A whole list in JSON for one item.
---@param row table
---@param text string
---@return runner.Problem
function M.list(row, text)
	local flag = row.positional and noun(row) or "--" .. row.flag
	return {
		field = row.name, code = "INVALID_ARGUMENT", value = given(row, text),
		message = ("Invalid %s '%s': a list in JSON, where each item is given by itself"):format(flag, given(row, text)),
		suggestion = ("Give %s once for each item; one that looks so is given by --raw-payload"):format(flag),
		fix_required = ("Give %s once for each item"):format(flag),
	}
end

local MOST_NAMED = 6 -- values that the fix repeats

-- " dev, staging or prod", where the values are few.
local function one_of(values)
	local n = values and #values or 0
	if n == 0 or n > MOST_NAMED then
		return ""
	end
	return " " .. table.concat(values, ", ", 1, n - 1) .. (n > 1 and " or " or "") .. values[n]
end

---@param row table
---@param values? string[]
---@return runner.Problem
function M.missing(row, values)
	local variables = arg_words.variables(row)
	local env = variables[1] and (" (or set %s)"):format(table.concat(variables, " or ")) or ""
	return {
		field = row.name, code = "MISSING_ARGUMENT", message = ("Missing argument %s%s"):format(label(row), not (row.suggestion or values)
			and ", which takes " .. M.expected(row) or ""),
		suggestion = (row.suggestion or values) and advice(row, nil, values) or ("%s takes %s"):format(label(row), M.expected(row)),
		fix_required = ("Give %s%s%s"):format(arg_words.given_by(row), one_of(values), env),
	}
end

---@param row table
---@param spelt string the flag as written
---@param text? string the token after it
---@param values? string[]
---@return runner.Problem
function M.no_value(row, spelt, text, values)
	local hint = row.suggestion or advice(row, nil, values)
	if text and text ~= "--" then
		hint = ("%s; write a value that begins with '-' as --%s=%s"):format(hint, row.flag, given(row, text))
	end
	return {
		field = row.name, code = "MISSING_ARGUMENT", message = ("Flag %s needs a value"):format(spelt),
		suggestion = hint, fix_required = ("Give a value after %s"):format(spelt),
	}
end

---@param row table
---@param name string "no-force"
---@param text string the value it was given
---@return runner.Problem
function M.negated(row, name, text)
	return {
		field = row.name, code = "INVALID_ARGUMENT", message = ("Flag --%s takes no value"):format(name),
		value = given(row, text), suggestion = ("Write --%s or --%s"):format(row.flag, name),
		fix_required = correct(row, "flag"),
	}
end

---@param row table
---@param first string
---@param second string
---@return runner.Problem
function M.conflict(row, first, second)
	return {
		field = row.name, code = "CONFLICTING_VALUES", value = given(row, second),
		message = ("%s was given twice with different values: '%s' and '%s'"):format(label(row), given(row, first),
			given(row, second)),
		suggestion = ("Give %s once"):format(label(row)), fix_required = ("Give %s once"):format(label(row)),
	}
end

---@param row table an array
---@param n integer how many items were given
---@return runner.Problem
function M.item_count(row, n)
	local words = range(row.min_length, row.max_length, " values"):gsub("^ from", ""):gsub("^ of", "")
	return {
		field = row.name, code = row.code or "INVALID_ARGUMENT", value = n,
		message = ("%s was given %d %s, expected%s"):format(label(row), n, n == 1 and "value" or "values", words),
		suggestion = row.suggestion or "Give" .. words, fix_required = correct(row, "flag"),
	}
end

-- What a value may have been meant for: flags of the command that take one, and were not given.
local function could_be_of(from)
	local out = {}
	for _, row in ipairs(attempt.command and attempt.command.args or {}) do
		local takes = row.type ~= "boolean" and not row.positional and from[row.name] ~= "flag"
		out[#out + 1] = takes and "--" .. row.flag or nil
	end
	return out
end

-- What a word that is one too many may be: a flag behind "--", or the rest of a flag's value.
local function part_of(word, argv)
	local at, dashes
	for i, token in ipairs(argv) do
		at, dashes = at or token == word and i or nil, dashes or not at and token == "--"
	end
	if dashes and word:find "^%-" then
		return "Leave out the '--': what follows it is taken for a value, not for a flag"
	end
	local flag = at and (argv[at - 2] or ""):match "^%-%-?(%a[%w-]*)$"
	for _, row in ipairs(flag and attempt.command and attempt.command.args or {}) do
		if (row.flag == flag or row.short == flag) and row.type ~= "boolean" and not row.positional then
			local kind = row.items or row.type
			return kind == "string" and ("Put the value of %s in quotes if it has several words"):format(label(row))
				or ("The value of %s is one word: %s"):format(label(row), row.values and "one of those listed" or M.expected(row))
		end
	end
end

---Positionals that no row takes. A value that has lost its flag is never advised away: without it a call might do more.
---@param excess string[]
---@param slots table[] positional rows
---@param from table<string, runner.From> where the values of other arguments come from, by name
---@return runner.Problem
function M.excess(excess, slots, from)
	local names = {}
	for i, row in ipairs(slots) do
		names[i] = "<" .. row.flag .. ">"
	end
	local more, first = #excess > 1 and (" and %d more"):format(#excess - 1) or "", shown(excess[1])
	local name = require("runner.core.command_line").typed((attempt.command or {}).name or "this command")
	local argv, words = require("runner.core.tool").typed((attempt.call or {}).argv or {}), 1 + select(2, name:gsub(" ", ""))
	local meant, part = could_be_of(from), part_of(excess[1], argv)
	local is_all = attempt.command and #argv == words + #excess and not names[1] and not meant[1] and not attempt.call.is_call
	local flags_of = table.concat(meant, ", ", 1, math.min(#meant, 6))
	return {
		field = "arguments", code = "INVALID_ARGUMENT", value = first,
		message = ("Unexpected argument '%s'%s: %s takes %s"):format(first, more, name,
			names[1] and "only " .. table.concat(names, " ")
				or attempt.command and attempt.command.args[1] and "no arguments without the name of a flag" or "no arguments"),
		suggestion = is_all and "Write runner " .. name or part
			or not meant[1] and ("Leave out '%s'%s"):format(first, more)
			or not meant[2] and not excess[2] and ("Write %s '%s'"):format(flags_of, first)
			or (excess[2] and "Put a value of several words in quotes; or say which flag '%s' belongs to: %s"
				or "Say which flag '%s' belongs to: %s"):format(first, flags_of),
		fix_required = part or meant[1] and "Give each value the name of its flag" or "Remove the unexpected arguments",
	}
end

local SETTINGS = {
	RUNNER_EXIT_TABLE = "standard or classic", RUNNER_LOAD_TIMEOUT = "a duration such as 500ms, 2s, 5m or 1h",
	RUNNER_MAX_OUTPUT_BYTES = "a size of at least 4KiB, such as 32KiB",
	RUNNER_MAX_STDIN_BYTES = "a size such as 1MiB", RUNNER_SEED = "a whole number of at least 0",
}

---A variable of runner's own that holds what it doesn't take.
---@param name string
---@param text string
---@return runner.Problem
function M.setting(name, text)
	return {
		field = name, code = "INVALID_ARGUMENT", value = shown(text),
		message = ("Invalid %s '%s': expected %s"):format(name, shown(text), SETTINGS[name]),
		suggestion = ("Set %s to %s, or unset it"):format(name, SETTINGS[name]),
		fix_required = ("Correct the environment variable %s before retrying"):format(name),
	}
end

---The last problem of a list that was cut short.
---@param n integer
---@return runner.Problem
function M.more(n)
	return { field = "arguments", code = "VALIDATION_ERROR", message = ("There are %d more problems"):format(n),
		fix_required = "Correct the arguments before retrying", value = n }
end

-- How many there are, those included that M.more stands for.
local function count(problems)
	local last = problems[#problems]
	return #problems + (last.field == "arguments" and last.code == "VALIDATION_ERROR" and last.value - 1 or 0)
end

-- A code that the command declares for this problem leads. A registry code stays in
-- `errors`: callers branch on VALIDATION_ERROR, and exit 2 promises that nothing was
-- touched, which a code with another exit number would not.
local LEADING = { COMMAND_NOT_FOUND = true, FIELD_TOO_LARGE = true, INVALID_AGENT_INPUT = true, INVALID_CURSOR = true,
	INVALID_JSON = true, STREAMING_NOT_SUPPORTED = true }

local function error_code(code)
	local known = code == "SUCCESS" or require("runner.host").registry_code(code)
	return (not known or LEADING[code]) and code or "VALIDATION_ERROR"
end

-- The file that all problems are in, where each names a line of it.
local function file_of(problems)
	local file = problems[1].value
	for _, problem in ipairs(problems) do
		if not problem.line or problem.value ~= file then
			return nil
		end
	end
	return type(file) == "string" and file or nil
end

local function summary(problems)
	local file = file_of(problems)
	return ("%d problems %s"):format(count(problems), file and "in " .. file or "with the arguments"),
		file and "Fix " .. file or "Correct the arguments before retrying"
end

---All problems as one error, to save round trips. A single problem gives the error its
---message, its suggestion, and a code of the command's own (docs/design.md#argument-errors).
---@param problems runner.Problem[]
---@return runner.Error
function M.error(problems)
	local one = #problems == 1 and problems[1]
	local message, fix = summary(problems)
	return errors.new(one and error_code(one.code) or "VALIDATION_ERROR", one and one.message or message, {
		phase = "validation", retryable = false, side_effects = "none", errors = problems,
		suggestion = one and one.suggestion or nil, fix_required = one and one.fix_required or fix,
		rejected_pattern = one and one.rejected_pattern or nil, input_value = one and one.rejected_pattern and one.value or nil,
		corrected_input = one and one.corrected_input or nil,
	})
end

-- The messages for what few calls have: arguments as JSON (--raw-payload,
-- --input-file), values of the type json, sizes, roots, and rules between arguments. Like
-- lua/declare/arg_words.lua, loaded only when something is wrong.

-- --- values -----------------------------------------------------------------------------

---A text that is no JSON.
---@param row table
---@param text string
---@param from runner.From
---@return runner.Problem
function M.json(row, text, from)
	local _, why, proposal = require("runner.core.lenient_json").decode(text)
	return {
		field = row.name, code = "INVALID_JSON", message = ("Invalid %s: it is not JSON (%s)"):format(arg_words.noun(row), why or "null"),
		value = given(row, text), corrected_input = proposal, fix_required = correct(row, from),
		suggestion = proposal and "Did you mean " .. arg_words.shown(proposal) .. "?" or row.suggestion or "Give JSON",
	}
end

---A JSON value that its row's schema rejects.
---@param row table
---@param text string
---@param from runner.From
---@return runner.Problem
function M.schema(row, text, from)
	local json_schema = require "runner.core.json_schema"
	local problem = json_schema.problems(row.schema, (require("runner.core.lenient_json").decode(text)))[1]
	local said = problem and json_schema.text(problem) or "its schema rejects it"
	return { field = row.name, code = row.code or "INVALID_ARGUMENT", message = ("Invalid %s: %s"):format(arg_words.noun(row), said),
		value = given(row, text), suggestion = row.suggestion or "--schema shows what is valid",
		fix_required = correct(row, from) }
end

---A path that leaves the directory that its row declares.
---@param row table
---@param text string
---@param from runner.From
---@return runner.Problem
function M.outside(row, text, from)
	return { field = row.name, code = row.code or "INVALID_AGENT_INPUT", value = given(row, text), rejected_pattern = "outside_root",
		message = ("Invalid %s '%s': it leads out of the directory %s"):format(arg_words.noun(row), given(row, text), row.within),
		suggestion = row.suggestion or ("Give a path in %s"):format(row.within), fix_required = correct(row, from) }
end

---A text of too many bytes.
---@param row table
---@param text string
---@param from runner.From
---@return runner.Problem
function M.bytes(row, text, from)
	local words = ("%d bytes, expected at most %d"):format(#text, row.max_bytes)
	return { field = row.name, code = row.code or "FIELD_TOO_LARGE", value = #text,
		message = ("%s has %s"):format(label(row), words), suggestion = row.suggestion or "Give a shorter text",
		fix_required = correct(row, from) }
end

-- --- arguments as JSON --------------------------------------------------------------------

---A text that holds no JSON object of arguments. What it says is repeated nowhere: it may hold
---secrets.
---@param source string "--raw-payload"
---@param text string
---@param secrets? boolean
---@return runner.Problem
function M.no_object(source, text, secrets)
	local value, why, proposal = require("runner.core.lenient_json").decode(text)
	if why then
		why = secrets and why:gsub(" near .*$", "") or why
		return { field = source, code = "INVALID_JSON", message = ("%s is not JSON: %s"):format(source, why),
			corrected_input = not secrets and proposal or nil,
			suggestion = not secrets and proposal and "Did you mean " .. arg_words.shown(proposal) .. "?" or nil,
			fix_required = "Give one JSON object, as {\"NAME\": VALUE}" }
	end
	local kind = type(value) == "table" and "a list" or value == json.null and "null" or "a " .. type(value)
	return { field = source, code = "INVALID_ARGUMENT", message = ("%s holds %s, expected a JSON object"):format(source, kind),
		suggestion = "Give the arguments by name, as {\"NAME\": VALUE}", fix_required = "Give one JSON object, as {\"NAME\": VALUE}" }
end

---A key that is no argument.
---@param source string
---@param key string
---@param rows table[]
---@param command table normal form
---@return runner.Problem
function M.unknown_key(source, key, rows, command)
	local names = arg_words.is_over_mcp() and arg_words.added(command) or {}
	for i, row in ipairs(rows) do
		table.insert(names, i, row.name)
	end
	local name = arg_words.shown(key)
	local near = suggest.nearest(key:gsub("-", "_"), names, 1)[1]
	local flag = not near and source ~= "arguments" and flags.find(flags.spelling(key)) -- a client gives none
	local words = near and ("Did you mean '%s'?"):format(near) or flag and ("Give --%s as a flag, beside %s"):format(flag.flag, source)
		or names[1] and "Arguments are: " .. table.concat(names, ", ") or "This command takes no arguments"
	return { field = name, code = "UNKNOWN_FLAG", message = ("Unknown argument '%s' in %s"):format(name, source), suggestion = words,
		fix_required = near and ("Rename '%s' to '%s'"):format(name, near) or flag and ("Move '%s' out of the JSON"):format(name)
			or names[1] and "Use an argument that is declared" or "Use a command that takes arguments" }
end

---An argument that is given in both ways, or by two names.
---@param source string
---@param row table
---@param how string "on the command line"
---@return runner.Problem
function M.twice(source, row, how)
	return { field = row.name, code = "CONFLICTING_VALUES", message = ("%s was given both %s and in %s"):format(label(row), how, source),
		suggestion = "Give all arguments in one way", fix_required = ("Give %s once"):format(label(row)) }
end

---`-` for a second value: there is one stdin.
---@param row table
---@param first table the row that has it
---@return runner.Problem
function M.piped_twice(row, first)
	local fix = "Read one value from stdin"
	return { field = row.name, code = "CONFLICTING_VALUES", value = "-", suggestion = fix, fix_required = fix,
		message = first == row and ("%s - was given twice: there is one stdin"):format(label(row))
			or ("%s and %s can't both be read from stdin"):format(label(first), label(row)) }
end

-- --- rules between arguments --------------------------------------------------------------

-- "--a, --b or --c"
local function listed(rows, word)
	local names = {}
	for i, row in ipairs(rows) do
		names[i] = label(row)
	end
	local last = table.remove(names)
	return names[1] and ("%s %s %s"):format(table.concat(names, ", "), word, last) or last
end

---An argument that another one's value makes necessary.
---@param row table
---@param because table the other row
---@param value any
---@return runner.Problem
function M.needed(row, because, value)
	local words = ("%s %s"):format(label(because), given(because, tostring(value)))
	return { field = row.name, code = "MISSING_ARGUMENT", message = ("Missing argument %s: %s needs it"):format(label(row), words),
		suggestion = row.suggestion or "Give " .. arg_words.expected(row), fix_required = ("Give %s"):format(label(row)) }
end

---Arguments that exclude each other.
---@param rows table[]
---@return runner.Problem
function M.exclusive(rows)
	return { field = rows[#rows].name, code = "CONFLICTING_VALUES", message = ("%s exclude each other"):format(listed(rows, "and")),
		suggestion = "Give one of them", fix_required = ("Give only %s"):format(listed(rows, "or")) }
end

---None of several was given.
---@param rows table[]
---@return runner.Problem
function M.none_of(rows)
	return { field = rows[1].name, code = "MISSING_ARGUMENT", message = ("Missing argument: %s is needed"):format(listed(rows, "or")),
		suggestion = "Give the one that is meant", fix_required = ("Give %s"):format(listed(rows, "or")) }
end

return M
