-- input_errors: the messages for what few calls have: arguments as JSON (--raw-payload,
-- --input-file), values of the type json, sizes, roots, and rules between arguments. Like
-- lua/declare/arg_words.lua, loaded only when something is wrong.

local arg_words = require "runner.declare.arg_words"
local flags = require "runner.declare.flags"
local json = require "runner.json"
local suggest = require "runner.core.suggest"

local M = {}

local correct, given, label = arg_words.correct, arg_words.given, arg_words.label

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
		fix_required = near and ("Rename '%s' to '%s'"):format(name, near) or ("Remove '%s' from the JSON"):format(name) }
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
		suggestion = "Run the command with --help to read what each is for", fix_required = ("Give %s"):format(listed(rows, "or")) }
end

return M
