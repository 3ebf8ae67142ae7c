-- flag_errors: the messages for flags that a command hasn't got, or not where they stand, and
-- the flags that were probably meant; and what people type out of habit with other tools, and what does that here. Loaded
-- only when there is one.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local suggest = require "runner.core.suggest"
local arg_errors = require "runner.declare.arg_errors"
local arg_words = require "runner.declare.arg_words"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"

local M = {}

-- What people type out of habit with other tools, and what does that here. Loaded where a
-- name or a flag is unknown.

local LIST = "Run 'runner' to list the commands"
local NEW = "To create a command: runner new NAME"
local PLAN = "To see what a call would do: runner COMMAND --plan"
local HERE = "runner doctor checks this machine, runner status shows what is kept on it"

-- The first word of a call → advice
local WORDS = {
	list = LIST, ls = LIST, commands = LIST, tasks = LIST, targets = LIST, all = LIST,
	init = NEW, create = NEW, generate = NEW,
	version = "For the version: runner --version",
	plan = PLAN, ["dry-run"] = PLAN, preview = PLAN,
	check = "runner lint checks command files, runner doctor this machine",
	validate = "runner lint checks command files, runner workflow check a workflow",
	info = HERE, env = "For the variables that runner reads: runner help environment",
	config = "For the settings of a call: runner COMMAND --show-config",
	docs = "For help: runner help COMMAND", man = "For help: runner help COMMAND", usage = "For help: runner help COMMAND",
	ps = "For what runs in the background: runner job list", jobs = "For what runs in the background: runner job list",
	runs = "For the runs of workflows: runner workflow list", workflows = "For the runs of workflows: runner workflow list",
	logs = "runner workflow logs ID, runner job logs ID",
	resume = "To go on with the run of a workflow: runner workflow resume ID",
	completions = "For completion in your shell: runner completion bash, zsh or fish",
	autocomplete = "For completion in your shell: runner completion bash, zsh or fish",
}

-- What stands in front of a command's name elsewhere.
M.RUN = { run = true, call = true, start = true, ["do"] = true, invoke = true }

---@param words string[] of the call; none of them names a command
---@return string? advice
function M.word(words)
	return WORDS[words[1]]
end

local function use(flag)
	return { ("Use %s"):format(flag) }
end

local EITHER = use "--yes; behind the name of a destructive command, --confirm-destructive"
local CONFIRM, JSON, QUIET, NEVER_ASK = use "--yes", use "--format json", use "--quiet", use "--non-interactive"
local ALL = { LIST, "Leave the flag out" }
local WITHOUT = { "--plan prints the limits and delays and runs nothing; a command that declares dry_run = true takes --dry-run",
	"Use --plan" }

-- A flag as it is typed → what does that here, and the fix if it is not the same
local FLAGS = {
	["--json"] = JSON, ["-j"] = JSON, ["--yaml"] = JSON, ["--table"] = use "--format table",
	["--tsv"] = use "--format tsv", ["--csv"] = use "--format tsv", ["--jsonl"] = use "--format jsonl",
	["--dry-run"] = WITHOUT, ["--dryrun"] = WITHOUT, ["--simulate"] = WITHOUT, ["--what-if"] = WITHOUT, ["-n"] = WITHOUT,
	["--silent"] = QUIET, ["-q"] = QUIET, ["-s"] = QUIET, ["-v"] = use "--verbose, or --version", ["-vv"] = use "--debug",
	["-y"] = CONFIRM, ["--assume-yes"] = CONFIRM, ["--force"] = CONFIRM, ["-f"] = CONFIRM, ["--auto-approve"] = CONFIRM,
	["--no-input"] = NEVER_ASK, ["--batch"] = NEVER_ASK, ["--no-interaction"] = NEVER_ASK,
	["--trace"] = use "--debug", ["-o"] = use "--output FILE",
	["--color"] = use "--no-color, or NO_COLOR", ["--colour"] = use "--no-color, or NO_COLOR",
	["--list"] = ALL, ["-l"] = ALL, ["--all"] = ALL, ["-a"] = ALL, ["-C"] = use "--cwd DIR in front of the command's name",
	["--profile"] = use "--context NAME in front of the command's name",
	["--chdir"] = use "--cwd DIR in front of the command's name", ["--usage"] = use "--help", ["-?"] = use "--help",
	["--background"] = use "--detach", ["--bg"] = use "--detach", ["--retry"] = use "--retries N",
	["--show"] = { "runner help NAME --show prints a task as it is written", "Write runner help NAME --show" },
	["--watch"] = use "runner watch -- COMMAND", ["-w"] = use "runner watch -- COMMAND",
}

local FORMAT_FLAGS = { ["-o"] = true, ["-O"] = true, ["-f"] = true, ["--out"] = true, ["--output-format"] = true, ["--as"] = true }
local FORMATS = { yaml = "json", yml = "json", csv = "tsv", text = "plain", wide = "table" } -- those of other tools

-- `-o json`, `-o yaml`: a format, and no file.
local function format_of(spelt, value)
	local ours = FORMATS[value]
	for _, name in ipairs(FORMAT_FLAGS[spelt] and require("runner.declare.flags").by_flag.format.values or {}) do
		ours = name == value and name or ours
	end
	return FORMAT_FLAGS[spelt] and ours and use("--format " .. ours)
end

-- `-j 4`, `-j4`, as make has it
local function at_once(count)
	local call = ("runner + -j %s NAME + NAME"):format(count)
	return { "Several run at once as " .. call, "Write " .. call }
end

-- `-f Makefile`, as make and just have it: the file of another tool, and no yes.
local function file_of(spelt, value)
	local call = spelt == "-f" and value and (value:find "[./]" or value:lower():find "file$")
		and "runner init --from " .. require("runner.core.command_line").quoted(value)
	return call and { call .. " writes a tasks.lua from it", "Write " .. call }
end

-- What confirms a call of the command; in front of its name it is not known yet.
local function confirming(command)
	return (not command or command.name == "help") and EITHER
		or command.danger_level == "destructive" and use "--confirm-destructive" or CONFIRM
end

---@param spelt string with its dashes, without a value
---@param value? string that it has, or that stands after it
---@param command? table normal form
---@return string? advice, string? fix
function M.flag(spelt, value, command)
	local count = (spelt == "-j" and value or spelt:match "^%-j(%d+)$" or ""):match "^%d+$"
	local row = value and format_of(spelt, value) or count and at_once(count) or file_of(spelt, value) or FLAGS[spelt]
	row = row == CONFIRM and confirming(command) or row
	if row and not (row == ALL and command and command.name and command.name ~= "help") then
		return row[1], row[2] or row[1]
	end
end

local is_option = require("runner.declare.values").is_option

local shown = arg_errors.shown

local NUMBERS = { integer = tonumber, number = tonumber, duration = require("runner.core.rules").duration }

-- May a row take the value that a flag was given?
local function fits(row, value)
	return not (value and NUMBERS[row.type]) or NUMBERS[row.type](value) ~= nil
end

local SLIP = 2 -- letters that are missing at the end of a flag of runner's own

-- The flags that a misspelt one was probably meant for, nearest first; with their dashes.
-- `command` is the one whose flags of runner's own count; nil: none that a declaration switches on.
local function near_flags(spelt, rows, command, value)
	local candidates, name = {}, flags.spelling(spelt:gsub("^%-+", ""))
	for _, list in ipairs({ rows, contract.rows(command) }) do
		for _, row in ipairs(list) do
			local is_begun = row.flag:sub(1, #name) == name and #row.flag > #name + SLIP -- "--max" begins "--max-bytes", and means something else
			candidates[#candidates + 1] = (list == rows or fits(row, value) and not is_begun) and row.flag or nil
			if row.type == "boolean" then
				candidates[#candidates + 1] = "no-" .. row.flag
			end
		end
	end
	local near, word = {}, name:match "^no%-(.+)$"
	for _, flag in ipairs(#name > 1 and suggest.nearest(name, candidates) or {}) do -- a "no-" alone makes none alike
		if not word or suggest.nearest(word, { flag:match "^no%-(.+)$" or flag })[1] then
			near[#near + 1] = "--" .. flag
		end
	end
	return near
end

-- Is one of the command's own flags probably meant?
local function find_near(near, find, rows)
	local row = near[1] and find(near[1]:sub(3))
	if row and row.when then
		return true -- the declaration switches it on
	end
	for _, own in ipairs(row and rows or {}) do
		if own == row then
			return true
		end
	end
	return false
end

local MOST_LISTED = 12

-- The flags that there are.
local function flags_of(rows)
	local out = {}
	for _, row in ipairs(rows) do
		out[#out + 1] = not row.positional and "--" .. row.flag or nil
	end
	local text = table.concat(out, ", ", 1, math.min(#out, MOST_LISTED))
	return out[1] and ("Its flags are %s%s"):format(text, out[MOST_LISTED + 1] and " …" or "")
		or "It has no flags but those of every command: runner help flags"
end

local function unknown_problem(spelt, near, negated, advice, way, rows)
	spelt = shown(spelt)
	local suggestion, fix = flags_of(rows or {}), "Use a flag that --help lists"
	if advice then
		return { field = spelt, code = "UNKNOWN_FLAG", message = ("Unknown flag '%s'"):format(spelt), suggestion = advice,
			fix_required = way }
	elseif negated then
		suggestion = ("--%s takes %s; only booleans have --no-"):format(negated.flag, arg_errors.expected(negated))
		fix = ("Remove '%s'"):format(spelt)
	elseif near[1] then
		suggestion = ("Did you mean '%s'?"):format(table.concat(near, "' or '"))
		fix = ("Rename '%s' to '%s'"):format(spelt, near[1])
	end
	return {
		field = spelt, code = "UNKNOWN_FLAG", message = ("Unknown flag '%s'"):format(spelt), suggestion = suggestion,
		fix_required = fix,
	}
end

-- This call with the flag, and its value, in front of the command's name; nil: its words may be secrets.
local function call_with_front(spelt, words, command)
	local argv = require("runner.core.tool").typed(attempt.call.argv)
	if attempt.call.stdin_words or command and command.secrets then
		return nil
	end
	for i = #argv, 1, -1 do
		local word = argv[i]
		if word == spelt or word:sub(1, #spelt + 1) == spelt .. "=" then
			local last = math.min(i + words - 1, #argv)
			local moved = table.move(argv, i, last, 2, { "runner" })
			table.move(argv, 1, i - 1, #moved + 1, moved)
			return command_line.line(table.move(argv, last + 1, #argv, #moved + 1, moved))
		end
	end
end

local function misplaced_problem(spelt, words, command)
	local fix = ("Put %s in front of the command's name"):format(shown(spelt))
	return { field = shown(spelt), code = "UNKNOWN_FLAG", message = ("Flag '%s' decides where the command is looked for"):format(shown(spelt)),
		suggestion = call_with_front(spelt, words, command) or fix, fix_required = fix }
end

local function no_stream_problem(spelt, command)
	local fix = ("Leave %s out: the result comes when the command has ended"):format(spelt)
	return { field = "stream", code = "STREAMING_NOT_SUPPORTED", suggestion = fix, fix_required = fix,
		message = ("'%s' does not stream: its declaration has no streams"):format(require("runner.core.command_line").typed(command.name)) }
end

---@param spelt string
---@param has_value any was it written --flag=value?
---@param value? string its value, or what stands after it
---@param rows table[] of the command
---@param command? table
---@param find fun(name: string): table?, boolean? the row that `--name` sets
---@return table? meant the row it was meant for
---@return runner.Problem
---@return boolean takes_next is the next token probably its value?
function M.unknown(spelt, has_value, value, rows, command, find)
	local misplaced = contract.find(spelt:match "^%-%-(.*)$" or "")
	if misplaced and misplaced.front then
		local takes_next = misplaced.type ~= "boolean" and not has_value
		return misplaced, misplaced_problem(spelt, takes_next and 2 or 1, command), takes_next
	end
	if command and command.name and (spelt == "--stream" or spelt == "--no-stream") then
		return nil, no_stream_problem(spelt, command), false
	end
	local near = near_flags(spelt, rows, command, value)
	local advice, way = M.flag(spelt, value, command)
	if advice and not find_near(near, find, rows) then
		return nil, unknown_problem(spelt, near, nil, advice, way), false
	end
	local positive = spelt:match "^%-%-no%-(.+)$"
	local row = positive and find(positive)
	local negated = row and row.type ~= "boolean" and row or nil
	local meant = negated or near[1] and find(near[1]:sub(3)) or nil
	local problem = unknown_problem(spelt, near, negated, nil, nil, rows)
	if meant and not negated and arg_words.is_hidden(meant) then
		problem.fix_required = "Give " .. arg_words.given_by(meant)
		problem.suggestion = problem.fix_required
	elseif meant and not negated and not fits(meant, value) then
		problem.suggestion = ("%s It takes %s"):format(problem.suggestion, arg_errors.expected(meant))
	end
	return meant, problem,
		meant and meant.type ~= "boolean" and not negated and not has_value or false
end

-- Does a flag of other tools take no value?
local function is_switch(spelt)
	local row = FLAGS[spelt]
	return row == CONFIRM or row == NEVER_ASK or row == WITHOUT or row == QUIET or row == JSON
end

---An unknown flag at i. If it was probably meant for one that takes a value, the next token is that value, and its row
---isn't reported as missing too.
---@param s table the state of a parse (lua/project/args.lua)
---@param tokens string[]
---@param i integer
---@param spelt string
---@param has_value any was it written --flag=value?
---@param find fun(s: table, name: string): table?, boolean? the row that `--name` sets
---@param most integer of more problems, only the number is kept
---@return integer last index of the last token that was used
function M.pass(s, tokens, i, spelt, has_value, find, most)
	s.count = s.count + 1
	if s.count > most then
		return i
	end
	local text = tokens[i + 1]
	local is_value = not has_value and text and not is_option(text)
	local value = has_value and tokens[i]:match "=(.*)$" or is_value and text or nil
	local meant, problem, takes_next = M.unknown(spelt, has_value, value, s.rows, s.opts.command, function(name)
		return find(s, name)
	end)
	s.problems[s.count] = problem
	if not meant then
		s.spare = s.spare or {}
		s.spare[#s.spare + 1] = is_value and not is_switch(spelt) and text or nil
		return i
	end
	s.meant[meant] = true
	return takes_next and is_value and i + 1 or i
end

---The words that no row takes, without those that were probably values of unknown flags: one such has taken a place, or is among them.
---@param s table the state of a parse
---@return string[]
function M.beside(s)
	local excess = table.move(s.excess, 1, #s.excess, 1, {})
	for _, text in ipairs(s.spare) do
		local at = 1
		for i, word in ipairs(excess) do
			at = word == text and i or at
		end
		table.remove(excess, at)
	end
	return excess
end

return M
