-- argv_parser: what a caller gives: tokens → values of rows, and runner's own flags (lua/declare/flags.lua, and
-- lua/declare/contract.lua for a flag that it has not), which variables may give, too. A part of
-- lua/project/args.lua, loaded where there are tokens or such variables.

local attempt = require "runner.core.attempt"
local flags = require "runner.declare.flags"
local values = require "runner.declare.values"

local M = {}

local MAX_PROBLEMS = 100

local is_option, values_of = values.is_option, values.of

local BOOLEANS = {
	["true"] = true, yes = true, on = true, ["1"] = true,
	["false"] = false, no = false, off = false, ["0"] = false,
}

---@type table<string, fun(text: string): any> how a type reads its text, where not as it takes a value; nil: it can't
M.reads = {
	boolean = function(text) return BOOLEANS[text] end,
	integer = function(text)
		local n = text:find("^[+-]?%d+$") and tonumber(text)
		return math.type(n) == "integer" and n or nil
	end,
	number = function(text)
		return text:find("^[%d.eE+-]+$") and values.take.number(tonumber(text)) or nil
	end,
	json = function(text) return (require("runner.core.lenient_json").decode(text)) end,
}

---Read a text by its row: the value as `run` gets it (durations in seconds).
---@param row table normalised
---@param text string
---@param list? string[] the values that the row allows
---@return any? value, string? reason
function M.read(row, text, list)
	if not utf8.len(text) then
		return nil, "utf8"
	end
	local kind = row.items or row.type
	if kind == "path" and attempt.place.stands then
		text = require("runner.core.paths").from(attempt.place.stands, text)
	end
	return values.check(row, (M.reads[kind] or values.take[kind])(text), list)
end

-- A flag of runner's own; the rare ones only for who calls them.
local function find_ours(name, ...)
	local row, negated = flags.find(name)
	if row then
		return row, negated
	end
	return require("runner.declare.contract").find(name, ...)
end

-- The row that `--name` sets, and whether it is its `--no-` form. In front of the
-- command's name, runner's own flag of that name is meant.
local function find(s, name)
	local row, negated = flags.find_in(s.flag, name)
	if row and not s.in_front then
		return row, negated
	end
	local ours, no = find_ours(name, s.opts.command, s.in_front)
	if ours then
		return ours, no
	end
	return row, negated
end

local function find_short(s, letter)
	local row = s.short[letter]
	return not s.in_front and row or flags.by_short[letter] or find_ours("-" .. letter, s.opts.command, s.in_front) or row
end

-- Where the values of `row` came from; runner's own flags may share names with arguments.
local function given_for(s, row)
	return row.section and s.framework_given or s.given
end

-- Of more than MAX_PROBLEMS, only the number is kept.
local function add_problem(s, kind, ...)
	s.count = s.count + 1
	if s.count <= MAX_PROBLEMS then
		s.problems[s.count] = require("runner.declare.arg_errors")[kind](...)
	end
end

-- A value has arrived for `row`. `from` is "flag", "positional" or "env".
local function put(s, row, value, text, from)
	local into = row.section and s.framework or s.values
	local name, given = row.name, given_for(s, row)
	given[name], s.rare = given[name] or from, s.rare or row.rare
	if row.type == "array" then
		into[name] = into[name] or {}
		into[name][#into[name] + 1] = value
	elseif into[name] == nil then
		into[name], s.texts[row] = value, text
	elseif into[name] ~= value and s.texts[row] and s.texts[row] ~= text then
		add_problem(s, "conflict", row, s.texts[row], text)
		s.texts[row] = nil -- once is enough
	end
end

-- A text has arrived for `row`. A `-` may stand for the lines of stdin (lua/project/stdin_arguments.lua).
local function take(s, row, text, from)
	if text == "-" and row.pipe_compatible and require("runner.project.stdin_arguments").take_dash(s, row, from, take, add_problem) then
		return
	end
	local list = values_of(s, row)
	local value, why = M.read(row, text, list)
	if row.type == "array" and row.items ~= "json" and text:find '^%[%s*".*%]$' then
		why = "list" -- all of them in one: no item looks so
	end
	if why then
		local given = given_for(s, row)
		given[row.name] = given[row.name] or from
		add_problem(s, "invalid", row, text, why, from, list)
	else
		put(s, row, value, text, from)
	end
end

-- The value of an option is the next token. Both return the index of the
-- last token that was used.
local function take_next(s, row, tokens, i, spelt)
	local text = tokens[i + 1]
	if text == nil or is_option(text) then
		local given = given_for(s, row)
		given[row.name] = given[row.name] or "flag"
		add_problem(s, "no_value", row, spelt, text, values_of(s, row))
		return row.secret and text and i + 1 or i -- it may be the value: it is never repeated
	end
	take(s, row, text, "flag")
	return i + 1
end

local function unknown(s, tokens, i, spelt, has_value)
	return require("runner.declare.flag_errors").pass(s, tokens, i, spelt, has_value, find, MAX_PROBLEMS)
end

local function long(s, tokens, i)
	local name, equals, text = tokens[i]:match("^%-%-([^=]*)(=?)(.*)$")
	local row, negated = find(s, name)
	if not row then
		return unknown(s, tokens, i, "--" .. name, equals ~= "")
	elseif negated and equals ~= "" then
		add_problem(s, "negated", row, name, text)
	elseif equals ~= "" then
		take(s, row, text, "flag")
	elseif row.type == "boolean" then
		put(s, row, not negated, "--" .. name, "flag")
	else
		return take_next(s, row, tokens, i, "--" .. name)
	end
	return i
end

-- "-n5", "-n=5", "-n 5", "-abc" and "-a=no" for booleans.
local function short(s, tokens, i)
	local token = tokens[i]
	for at = 2, #token do
		local letter = token:sub(at, at)
		local row = find_short(s, letter)
		if not row then
			local spelt = (at == 2 or not letter:find("%w")) and token:match("^[^=]*") or "-" .. letter
			return unknown(s, tokens, i, spelt, token:find("=", 1, true))
		elseif row.type == "boolean" and token:sub(at + 1, at + 1) ~= "=" then
			put(s, row, true, "-" .. letter, "flag")
		elseif at < #token then
			take(s, row, (token:sub(at + 1):gsub("^=", "")), "flag")
			return i
		else
			return take_next(s, row, tokens, i, "-" .. letter)
		end
	end
	return i
end

-- Returns the index of the last token that was taken: this one.
local function positional(s, tokens, i)
	local row = s.slots[s.slot]
	if not row then
		s.excess[#s.excess + 1] = tokens[i]
		return i
	end
	if row.type ~= "array" then
		s.slot = s.slot + 1
	end
	take(s, row, tokens[i], "positional")
	return i
end

---Take the tokens of a call. Behind the first positional of a strict command nothing is an option (REQ-C-027); of one of ours,
---that is the first word of the call which it is given.
---@param s table the state of a parse (lua/project/args.lua)
---@param tokens string[]
function M.read_tokens(s, tokens)
	local command = s.opts.command or {}
	local i, options, strict = 1, true, command.option_placement == "strict" and (command.path and 1 or #s.slots)
	local take_positional = #tokens > 100 and require "runner.project.bulk_words" or positional
	while i <= #tokens do
		local token = tokens[i]
		s.in_front = i <= (s.opts.in_front or 0)
		if not options or not is_option(token) then
			options = options and not (strict and s.slot >= strict)
			i = take_positional(s, tokens, i, options, positional)
		elseif token == "--" then
			options = false
		else
			i = (token:sub(1, 2) == "--" and long or short)(s, tokens, i)
		end
		i = i + 1
	end
end

---The index of the last token of runner's own flag at i, in front of a command's words or (with `has_words`)
---between them; nil: it is none.
---@param token string the one at i
---@param i integer
---@param has_words any
---@return integer?
function M.last_of(token, i, has_words)
	local name, equals = token:match("^%-%-([^=]+)(=?)")
	local row = name and (has_words and flags.find or find_ours)(name) or flags.by_short[token:match("^%-(%a)$")]
		or not has_words and find_ours(token)
	return row and (row.type ~= "boolean" and equals ~= "=" and i + 1 or i)
end

M.add_problem, M.take = add_problem, take

return M
