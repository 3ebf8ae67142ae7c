-- flag_errors: the messages for flags that a command hasn't got, or not where they stand, and
-- the flags that were probably meant. Loaded only when there is one.

local arg_errors = require "runner.declare.arg_errors"
local attempt = require "runner.core.attempt"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local command_line = require "runner.core.command_line"
local suggest = require "runner.core.suggest"
local is_option = require("runner.declare.values").is_option

local M = {}

local shown = arg_errors.shown

-- The flags that a misspelt one was probably meant for, nearest first; with their dashes.
-- `command` is the one whose flags of runner's own count; nil: none that a declaration switches on.
local function near_flags(spelt, rows, command)
	local candidates = {}
	for _, list in ipairs({ rows, contract.rows(command) }) do
		for _, row in ipairs(list) do
			candidates[#candidates + 1] = row.flag
			if row.type == "boolean" then
				candidates[#candidates + 1] = "no-" .. row.flag
			end
		end
	end
	local name = flags.spelling(spelt:gsub("^%-+", ""))
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

local function unknown_problem(spelt, near, negated, advice, way)
	spelt = shown(spelt)
	local suggestion, fix = "Run the command with --help to list its flags", "Use a flag that --help lists"
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
	local near = near_flags(spelt, rows, command)
	local advice, way = require("runner.declare.foreign_names").flag(spelt, value, command)
	if advice and not find_near(near, find, rows) then
		return nil, unknown_problem(spelt, near, nil, advice, way), false
	end
	local positive = spelt:match "^%-%-no%-(.+)$"
	local row = positive and find(positive)
	local negated = row and row.type ~= "boolean" and row or nil
	local meant = negated or near[1] and find(near[1]:sub(3)) or nil
	return meant, unknown_problem(spelt, near, negated), meant and meant.type ~= "boolean" and not negated and not has_value or false
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
		s.spare = (s.spare or 0) + (is_value and 1 or 0)
		return i
	end
	s.meant[meant] = true
	return takes_next and is_value and i + 1 or i
end

return M
