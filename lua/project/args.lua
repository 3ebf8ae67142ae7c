-- args: argv → values and problems. Loaded in every worker. It parses tokens by the
-- normalised rows of lua/declare/command.lua and by runner's own flags (lua/declare/flags.lua, and
-- lua/declare/contract.lua for a flag that neither has), and collects
-- every problem; the messages are in lua/declare/arg_errors.lua and flag_errors.lua. It has no side effects.

local flags = require "runner.declare.flags"
local values = require "runner.declare.values"

local M = {}

local MAX_PROBLEMS = 100
local MAX_WORDS = 16 -- a command path is shorter

-- --- the state of one parse ---------------------------------------------------

local function new_state(rows, opts)
	local s = {
		rows = rows, opts = opts, flag = {}, short = {}, slots = {}, slot = 1, meant = {}, excess = {},
		texts = {}, lists = {}, count = 0, values = {}, framework = {}, given = {}, framework_given = {}, problems = {},
	}
	for _, row in ipairs(rows) do
		s.flag[row.flag] = row
		if row.short then
			s.short[row.short] = row
		end
		if row.positional then
			s.slots[#s.slots + 1] = row
		end
	end
	return s
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
	local row, ours = s.short[letter], flags.by_short[letter]
	return s.in_front and ours or row or ours
end

-- Where the values of `row` came from; runner's own flags may share names with arguments.
local function given_for(s, row)
	return row.section and s.framework_given or s.given
end

local function add_problem(s, kind, ...)
	s.count = s.count + 1
	if s.count <= MAX_PROBLEMS then
		s.problems[s.count] = require("runner.declare.arg_errors")[kind](...)
	end
end

local function values_of(s, row)
	if row.values and not s.lists[row] then
		s.lists[row] = values.listed(row, s.opts.config)
	end
	return s.lists[row]
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

-- A text has arrived for `row`. A `-` may stand for the lines of stdin (lua/project/piped.lua).
local function take(s, row, text, from)
	if text == "-" and row.pipe_compatible and require("runner.project.piped").take(s, row, from, take, add_problem) then
		return
	end
	local list = values_of(s, row)
	local value, why = values.read(row, text, list)
	if why then
		local given = given_for(s, row)
		given[row.name] = given[row.name] or from
		add_problem(s, "invalid", row, text, why, from, list)
	else
		put(s, row, value, text, from)
	end
end

-- "-5", "-0.5" and "-1e3" are values, and so is "-" alone.
local function is_option(token)
	return token:find("^%-.") and not token:find("^%-%.?%d")
end

-- The value of an option is the next token. Both return the index of the
-- last token that was used.
local function take_next(s, row, tokens, i, spelt)
	local text = tokens[i + 1]
	if text == nil or is_option(text) then
		local given = given_for(s, row)
		given[row.name] = given[row.name] or "flag"
		add_problem(s, "no_value", row, spelt, text, values_of(s, row))
		return row.secret and text and i + 1 or i -- it may be the value: nobody repeats it
	end
	take(s, row, text, "flag")
	return i + 1
end

-- An unknown flag. If it was probably meant for one that takes a value, the
-- next token is that value, and its row isn't reported as missing too.
local function unknown(s, tokens, i, spelt, has_value)
	if s.count >= MAX_PROBLEMS then
		s.count = s.count + 1
		return i
	end
	local meant, problem, takes_next = require("runner.declare.flag_errors").unknown(spelt, has_value, s.rows,
		s.opts.command, function(name)
			return find(s, name)
		end)
	s.count = s.count + 1
	s.problems[s.count] = problem
	if not meant then
		return i
	end
	s.meant[meant] = true
	local text = tokens[i + 1]
	return takes_next and text and not is_option(text) and i + 1 or i
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

local function positional(s, token)
	local row = s.slots[s.slot]
	if not row then
		s.excess[#s.excess + 1] = token
		return
	end
	if row.type ~= "array" then
		s.slot = s.slot + 1
	end
	take(s, row, token, "positional")
end

-- Behind the first positional of a strict command nothing is an option (REQ-C-027).
local function read_tokens(s, tokens)
	local i, options, strict = 1, true, s.opts.command and s.opts.command.option_placement == "strict"
	while i <= #tokens do
		local token = tokens[i]
		s.in_front = i <= (s.opts.in_front or 0)
		if not options or not is_option(token) then
			positional(s, token)
			options = options and not strict
		elseif token == "--" then
			options = false
		else
			i = (token:sub(1, 2) == "--" and long or short)(s, tokens, i)
		end
		i = i + 1
	end
end

-- --- values that were not given ---------------------------------------------------------

-- An empty variable counts as not set. Items of an array are separated by commas.
local function from_environment(s, row)
	local text = row.env and (s.opts.getenv or os.getenv)(row.env)
	if not text or text == "" then
		text = row.env_fallbacks and require("runner.declare.rare_arguments").fallback(row, s.opts.getenv)
	end
	if not text then
		return false
	elseif row.type ~= "array" then
		take(s, row, text, "env")
	else
		for item in (text .. ","):gmatch("([^,]*),") do
			take(s, row, item, "env")
		end
	end
	return true
end

local function from_default(s, row)
	local value = row.default
	if type(value) == "function" then
		value = values.compute(row, "default", s.opts.config)
	end
	if value == nil then
		return false
	end
	local accepted, why = values.accept(row, value, values_of(s, row))
	if why then
		local shown = type(value) == "table" and "a list" or tostring(value)
		add_problem(s, "invalid", row, shown, why, "default", values_of(s, row))
	end
	s.values[row.name], s.given[row.name] = accepted, "default"
	return true
end

local function fill(s, row)
	if s.given[row.name] or from_environment(s, row) or from_default(s, row) then
		return
	elseif row.required and not s.meant[row] then
		add_problem(s, "missing", row, values_of(s, row))
	elseif row.type == "boolean" then
		s.values[row.name] = false
	elseif row.type == "array" then
		s.values[row.name] = {}
	end
end

-- An empty list must stay one when a script returns it.
local function keep_list(s, row)
	local items = row.type == "array" and s.values[row.name]
	if items and not items[1] then
		require("runner.json").array(items)
	end
end

-- Variables that are not a flag's, and have a rule of their own.
local SETTINGS = { "RUNNER_EXIT_TABLE", "RUNNER_LOAD_TIMEOUT", "RUNNER_SEED" }

local function check_settings(s)
	for _, name in ipairs(SETTINGS) do
		local text = (s.opts.getenv or os.getenv)(name)
		if text and text ~= "" and not require("runner.declare.environment").accepts(name, text) then
			add_problem(s, "setting", name, text)
		end
	end
end

local function finish(s)
	local command = s.opts.command
	local rare = command and (s.opts.payload or s.framework.raw_payload or command.requires) and require "runner.project.payload"
	if rare then
		rare.take(s, add_problem, values_of)
	end
	for _, row in ipairs(s.rows) do
		fill(s, row)
		keep_list(s, row)
		local items = row.type == "array" and s.given[row.name] and s.values[row.name]
		if items and s.given[row.name] ~= "default" and values.length(row, #items) then
			add_problem(s, "item_count", row, #items)
		end
	end
	if rare then
		rare.check_rules(s, add_problem)
	end
	for _, row in ipairs(flags.rows) do
		if not s.framework_given[row.name] then
			from_environment(s, row)
		end
	end
	check_settings(s)
	if s.excess[1] then
		add_problem(s, "excess", s.excess, s.slots)
	end
	if s.count > MAX_PROBLEMS then
		s.problems[#s.problems + 1] = require("runner.declare.arg_errors").more(s.count - MAX_PROBLEMS)
	end
end

---@alias runner.From "flag"|"positional"|"payload"|"env"|"default"

---@class runner.Parsed
---@field values table<string, any> of the command's arguments
---@field framework table<string, any> of runner's own flags
---@field given table<string, runner.From> where each value came from
---@field framework_given table<string, runner.From>
---@field problems runner.Problem[]
---@field rare? true one of runner's rare flags was given

---Parse the tokens after the command's words. Options may appear anywhere before
---`--`, runner's own included. Durations are seconds, exact to the ms; a
---boolean that was not given is false, an array {}. The first `in_front` tokens stood in
---front of the command's name. A command's arguments may come as one JSON object in place of
---flags: in --raw-payload, or in `payload`, the text that --input-file names. `lines` are those of
---stdin, for a value `-`; without them it has no value yet, and `framework.piped` is its row.
---@param rows table[] normalised rows (command.check)
---@param tokens string[]
---@param opts? {config?: table, command?: table, in_front?: integer, payload?: string, lines?: string[], getenv?: function}
---@return runner.Parsed
function M.parse(rows, tokens, opts)
	local s = new_state(rows, opts or {})
	read_tokens(s, tokens)
	finish(s)
	return { values = s.values, framework = s.framework, given = s.given, framework_given = s.framework_given,
		problems = s.problems, rare = s.rare }
end

---The leading words of argv, which name the command and may go on with its
---positionals. Framework flags (with their values) before and between them are
---skipped (between them, only those of lua/declare/flags.lua); any other option, or `--`, ends
---the scan.
---@param argv string[] without argv[0]
---@return {index: integer, word: string}[]
function M.command_words(argv)
	local words, i = {}, 1
	while argv[i] and #words < MAX_WORDS do
		local token = argv[i]
		if not is_option(token) then
			words[#words + 1] = { index = i, word = token }
		else
			local name, equals = token:match("^%-%-([^=]+)(=?)")
			local row = name and (words[1] and flags.find or find_ours)(name) or flags.by_short[token:match("^%-(%a)$")]
			if not row then
				break
			elseif row.type ~= "boolean" and equals ~= "=" then
				i = i + 1
			end
		end
		i = i + 1
	end
	return words
end

return M
