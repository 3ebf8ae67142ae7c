-- args: argv → values and problems. Loaded in every worker. It knows the normalised rows of
-- lua/declare/command.lua and their defaults; lua/project/argv_parser.lua, loaded where something is given, knows
-- tokens and runner's own flags. It collects every problem; the messages are in lua/declare/arg_errors.lua and
-- flag_errors.lua. It has no side effects.

local host = require "runner.host"
local values = require "runner.declare.values"

local M = {}

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

local function caller()
	return require "runner.project.argv_parser"
end

local function add_problem(...)
	caller().add_problem(...)
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
		caller().take(s, row, text, "env")
	else
		for item in (text .. ","):gmatch("([^,]*),") do
			caller().take(s, row, item, "env")
		end
	end
	return true
end

local function from_default(s, row)
	local value = row.default
	if type(value) == "function" then
		value = require("runner.declare.computed").value(row, "default", s.opts.config)
	end
	if value == nil then
		return false
	end
	local accepted, why = values.accept(row, value, values.of(s, row))
	if why then
		local shown = type(value) == "table" and "a list" or tostring(value)
		add_problem(s, "invalid", row, shown, why, "default", values.of(s, row))
	end
	s.values[row.name], s.given[row.name] = accepted, "default"
	return true
end

local function fill(s, row)
	if s.given[row.name] or from_environment(s, row) or from_default(s, row) then
		return
	elseif row.required and not s.meant[row] then
		add_problem(s, "missing", row, values.of(s, row))
	elseif row.type == "boolean" then
		s.values[row.name] = false
	elseif row.type == "array" then
		s.values[row.name] = {}
	end
end

local function finish(s)
	local command = s.opts.command
	local rare = command and (s.opts.payload or s.framework.raw_payload or command.requires) and require "runner.project.payload"
	if rare then
		rare.take(s, add_problem, values.of)
	end
	for _, row in ipairs(s.rows) do
		fill(s, row)
		local items, given = row.type == "array" and s.values[row.name], s.given[row.name]
		if items and not items[1] then
			require("runner.json").array(items) -- an empty list must stay one when a script returns it
		end
		if items and given and given ~= "default" and values.length(row, #items) then
			add_problem(s, "item_count", row, #items)
		end
	end
	if rare then
		rare.check_rules(s, add_problem)
	end
	if s.opts.getenv or host.is_configured() then
		require("runner.project.flag_variables").read(s, from_environment, add_problem)
	end
	local excess = s.spare and require("runner.declare.flag_errors").beside(s) or s.excess
	if excess[1] then
		add_problem(s, "excess", excess, s.slots, s.given)
	end
	if s.count > #s.problems then
		s.problems[#s.problems + 1] = require("runner.declare.arg_errors").more(s.count - #s.problems)
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
	if tokens[1] then
		caller().read_tokens(s, tokens)
	end
	finish(s)
	return { values = s.values, framework = s.framework, given = s.given, framework_given = s.framework_given,
		problems = s.problems, rare = s.rare }
end

---The leading words of argv, which name the command and may go on with its
---positionals. Framework flags (with their values) before and between them are
---skipped (between them, only those of lua/declare/flags.lua); any other option, or `--`, ends
---the scan.
---@param argv string[] without argv[0]
---@return string[] words, integer[] places of each in argv
function M.command_words(argv)
	local names, places, i = {}, {}, 1
	while argv[i] and #names < MAX_WORDS do
		local token = argv[i]
		if not values.is_option(token) then
			names[#names + 1] = token
			places[#names] = i
		else
			i = caller().last_of(token, i, names[1])
			if not i then
				break
			end
		end
		i = i + 1
	end
	return names, places
end

return M
