-- quoting: in what quoting context of a shell text is each variable, and where are its
-- pipes? Pure; follows the quoting rules of POSIX sh (2.2, 2.6, 2.7.4) as dash and bash
-- do. It executes nothing and replaces nothing. A wrong answer may split a word; since
-- only references to environment variables are substituted, no value is ever executed. Shells that have these rules, and their
-- command lines, are listed here too.

local M = {}

local HOLE = "\1" -- replaces a variable while scanning; an ordinary character to the shell

---@alias runner.workflow.Place "bare"|"double"|"single"|"here"|"here_quoted"|"arithmetic"|"comment"|"escaped"

---@class runner.workflow.Scan
---@field text string
---@field at integer
---@field stop integer last byte to look at
---@field holes table<integer, integer> byte → part
---@field places table<integer, runner.workflow.Place> part → place
---@field begins table<integer, integer[]> part → where the commands begin that it is in, the innermost first
---@field level table the list of commands that is read
---@field pipes integer[] bytes of the first | of each pipeline that may hide a failure
---@field pending {word: string, quoted: boolean, tabs: boolean}[] here-documents that start at the next newline

local function char(scan, offset)
	local at = scan.at + (offset or 0)
	return at <= scan.stop and scan.text:sub(at, at) or ""
end

-- Is the next character one of ours? Then it is done.
local function take_hole(scan, place)
	local part = scan.holes[scan.at]
	if part then
		scan.places[part], scan.begins[part] = place, { at = scan.at }
		local level = scan.level
		while level do
			table.insert(scan.begins[part], level.begin)
			level = level.outer
		end
		scan.at = scan.at + 1
	end
	return part ~= nil
end

local function escape(scan)
	scan.at = scan.at + 1
	if scan.at <= scan.stop and not take_hole(scan, "escaped") then
		scan.at = scan.at + 1
	end
end

-- All holes up to `stop` are in the same place; scanning continues after it.
local function pass(scan, stop, place)
	while scan.at <= stop do
		if not take_hole(scan, place) then
			scan.at = scan.at + 1
		end
	end
end

local function single(scan)
	local stop = scan.text:find("'", scan.at + 1, true) or scan.stop
	pass(scan, math.min(stop, scan.stop), "single")
end

local function comment(scan)
	local newline = scan.text:find("\n", scan.at, true) or scan.stop + 1
	pass(scan, math.min(newline - 1, scan.stop), "comment")
end

-- --- what may nest --------------------------------------------------------------------

local commands, double, arithmetic, expansion

-- Run the handlers of a context, by character, until one of them returns true; `level` is
-- the list of commands that it is in, if it is one.
local function walk(scan, place, handlers, level)
	while scan.at <= scan.stop do
		if not take_hole(scan, place) then
			local handle = handlers[char(scan)]
			if not handle then
				scan.at = scan.at + 1
			elseif handle(scan, level) then
				return
			end
		end
	end
end

local function finish(length)
	return function(scan)
		scan.at = scan.at + length
		return true
	end
end

local function backquote(scan)
	scan.at = scan.at + 1
	commands(scan, "`")
end

local function dollar(place)
	return function(scan)
		if char(scan, 1) == "(" and char(scan, 2) == "(" then
			scan.at = scan.at + 3
			arithmetic(scan)
		elseif char(scan, 1) == "(" then
			scan.at = scan.at + 2
			commands(scan, ")")
		elseif char(scan, 1) == "{" then
			scan.at = scan.at + 2
			expansion(scan, place)
		else -- $#, $$ and the like are one thing
			scan.at = scan.at + (char(scan, 1):find("^[#$?!@*-]") and 2 or 1)
		end
	end
end

local DOUBLE = { ["\\"] = escape, ["`"] = backquote, ["$"] = dollar "double", ['"'] = finish(1) }

function double(scan)
	scan.at = scan.at + 1
	walk(scan, "double", DOUBLE)
end

local function parenthesis(scan)
	scan.at = scan.at + 1
	arithmetic(scan, 1)
end

local ARITHMETIC = {
	["\\"] = escape, ["`"] = backquote, ["$"] = dollar "arithmetic", ["("] = parenthesis,
	[")"] = function(scan)
		scan.at = scan.at + (char(scan, 1) == ")" and 2 or 1)
		return true
	end,
}
local INNER = setmetatable({ [")"] = finish(1) }, { __index = ARITHMETIC })

function arithmetic(scan, depth)
	walk(scan, "arithmetic", depth and INNER or ARITHMETIC)
end

-- ${name:-word}: the word is quoted as the expansion is.
local EXPANSION = {
	double = { ["\\"] = escape, ["`"] = backquote, ["$"] = dollar "double", ['"'] = double, ["}"] = finish(1) },
	bare = { ["\\"] = escape, ["`"] = backquote, ["$"] = dollar "bare", ['"'] = double, ["'"] = single, ["}"] = finish(1) },
}
EXPANSION.here = setmetatable({ ["$"] = dollar "here" }, { __index = EXPANSION.double })
EXPANSION.arithmetic = setmetatable({ ["$"] = dollar "arithmetic" }, { __index = EXPANSION.double })

function expansion(scan, place)
	walk(scan, place, EXPANSION[place])
end

-- --- here-documents --------------------------------------------------------------------

local HERE = { ["\\"] = escape, ["`"] = backquote, ["$"] = dollar "here" }

-- What follows <<: "-", the word as written, the next byte.
local function here_word(scan)
	local tabs, quote, inside, rest = scan.text:match("^<<(%-?)[ \t]*(['\"])([^\n]-)%2()", scan.at)
	if tabs then
		return tabs, quote .. inside .. quote, rest
	end
	return scan.text:match("^<<(%-?)[ \t]*([^%s;&|<>()]+)()", scan.at)
end

-- A word that is quoted in any part makes the whole body literal.
local function here_operator(scan)
	if char(scan, 1) ~= "<" or char(scan, 2) == "<" then
		scan.at = scan.at + (scan.text:match("^<+()", scan.at) - scan.at)
		return
	end
	local tabs, word, rest = here_word(scan)
	if not word then
		scan.at = scan.at + 2
		return
	end
	scan.pending[#scan.pending + 1] = {
		word = word:gsub("[\\'\"]", ""), quoted = word:find("[\\'\"]") ~= nil, tabs = tabs == "-",
	}
	pass(scan, math.min(rest - 1, scan.stop), "bare")
end

-- The last byte of the body that starts at `at`, and where the text continues.
local function body_end(scan, at, document)
	while at <= scan.stop do
		local newline = scan.text:find("\n", at, true) or scan.stop + 1
		local line = scan.text:sub(at, newline - 1)
		if (document.tabs and line:gsub("^\t+", "") or line) == document.word then
			return at - 1, math.min(newline, scan.stop + 1)
		end
		at = newline + 1
	end
	return scan.stop, scan.stop + 1
end

local function read_body(scan, document)
	local outer = scan.stop
	local stop, rest = body_end(scan, scan.at, document)
	scan.stop = stop
	if document.quoted then
		pass(scan, stop, "here_quoted")
	else
		walk(scan, "here", HERE)
	end
	scan.stop, scan.at = outer, rest
end

local function newline(scan)
	local pending = scan.pending
	scan.at = scan.at + 1
	scan.pending = {}
	for i, document in ipairs(pending) do
		read_body(scan, document)
		if i < #pending and char(scan) == "\n" then
			scan.at = scan.at + 1
		end
	end
end

-- --- commands -------------------------------------------------------------------------------

local function word_begins(scan)
	return scan.at == 1 or scan.text:find("^[%s;&|()`]", scan.at - 1) ~= nil
end

-- Words after which a command starts, as `case` must.
local LEADERS = { ["then"] = true, ["do"] = true, ["else"] = true, ["elif"] = true, ["if"] = true, ["while"] = true,
	["until"] = true, ["!"] = true, ["{"] = true }

local function command_begins(scan)
	local before = scan.text:sub(math.max(1, scan.at - 64), scan.at - 1):gsub("[ \t]+$", "")
	return before == "" or before:find("[\n;&|()`]$") ~= nil or LEADERS[before:match "[^%s;&|()`]+$"] == true
end

local CASE = { case = 1, esac = -1 }

-- In `case x in a) …`, the ) closes nothing.
local function note_case(scan, level)
	local change = CASE[scan.text:match("^%a+%f[^%w_]", scan.at)]
	if change and word_begins(scan) and command_begins(scan) then
		level.cases = math.max(0, level.cases + change)
		level.pattern = change > 0
	end
	scan.at = scan.at + 1
end

local function hash(scan)
	if word_begins(scan) then
		comment(scan)
	else
		scan.at = scan.at + 1
	end
end

-- A command begins at the next byte; `in_pipe`: right of a pipe that is known.
local function next_command(scan, level, in_pipe)
	level.begin, level.in_pipe = scan.at, in_pipe
end

-- Commands that don't fail in earnest.
local SAFE = { echo = true, printf = true, yes = true, [":"] = true, ["true"] = true }

local function is_safe(text)
	if text:find "^%s*%(" then
		return false
	end
	for word in text:gmatch "[^%s;&|()]+" do
		if not LEADERS[word] then
			return SAFE[word] == true
		end
	end
	return false
end

-- What a character does to the list of commands that it is in.
local LEVEL = {
	c = note_case, e = note_case,
	["\n"] = function(scan, level) -- a pipeline continues in the line after |
		local is_open = not scan.text:sub(level.begin, scan.at - 1):find "%S"
		newline(scan)
		next_command(scan, level, level.in_pipe and is_open)
	end,
	["("] = function(scan, level) -- in `case x in (a)`, it opens nothing
		scan.at = scan.at + 1
		if not level.pattern then
			commands(scan, ")")
		end
	end,
	[")"] = function(scan, level)
		scan.at = scan.at + 1
		level.pattern = false
		next_command(scan, level)
		return level.closer == ")" and level.cases == 0
	end,
	[";"] = function(scan, level)
		level.pattern = level.pattern or level.cases > 0 and char(scan, 1):find "^[;&]" ~= nil
		scan.at = scan.at + 1
		next_command(scan, level)
	end,
	["&"] = function(scan, level) -- not of >& and <&
		local redirects = char(scan, -1):find "[<>]"
		scan.at = scan.at + 1
		if not redirects then
			next_command(scan, level)
		end
	end,
	["|"] = function(scan, level) -- or: || | >| and the | of a pattern
		local alone = char(scan, 1) ~= "|"
		if alone and not level.pattern and not level.in_pipe and char(scan, -1) ~= ">"
				and not is_safe(scan.text:sub(level.begin, scan.at - 1)) then
			scan.pipes[#scan.pipes + 1] = scan.at
			level.in_pipe = true
		end
		scan.at = scan.at + (alone and 1 or 2)
		next_command(scan, level, alone and level.in_pipe)
	end,
}

local BARE = {
	["\\"] = escape, ["'"] = single, ['"'] = double, ["`"] = backquote, ["$"] = dollar "bare", ["#"] = hash,
	["<"] = here_operator,
}

local COMMANDS = setmetatable(LEVEL, { __index = BARE })
local BACKQUOTED = setmetatable({ ["`"] = finish(1) }, { __index = COMMANDS })

function commands(scan, closer)
	local outer = scan.level
	scan.level = { closer = closer, cases = 0, begin = scan.at, outer = outer }
	walk(scan, "bare", closer == "`" and BACKQUOTED or COMMANDS, scan.level)
	scan.level = outer
end

local function scan_of(text, holes)
	local scan = { text = text, at = 1, stop = #text, holes = holes, places = {}, begins = {}, pipes = {}, pending = {} }
	commands(scan)
	return scan
end

---Where a shell text has pipes, one for each pipeline: without those after commands
---that can't fail in earnest, such as echo.
---@param text string as in the file: a `${…}` is passed over as the shell's own
---@return integer[] bytes, from 1, in order
function M.pipes(text)
	local pipes = scan_of(text, {}).pipes
	table.sort(pipes)
	return pipes
end

---For each variable of a shell template, by its index: the place it is in.
---@param template runner.workflow.Template
---@return table<integer, runner.workflow.Place>
---@return table<integer, integer[]> for each the bytes at which the commands begin that it is in, and `at`
---@return string text of which these are bytes
function M.places(template)
	local pieces, holes, length = {}, {}, 0
	for i, part in ipairs(template) do
		pieces[i] = type(part) == "string" and part or part.operator and part.source or HOLE
		if pieces[i] == HOLE and type(part) == "table" then
			holes[length + 1] = i
		end
		length = length + #pieces[i]
	end
	local scan = scan_of(table.concat(pieces), holes)
	return scan.places, scan.begins, scan.text
end

-- The shells that may run a shell text, and their command lines. Only
-- shells with the quoting rules of lua/workflow/expr/quoting.lua can be among them.

---@class runner.workflow.Interpreter
---@field name string as `interpreter:` in the file names it
---@field stops string[] argv before the text: it stops at the first failing command
---@field goes_on string[] argv before the text: it goes on
---@field sees_pipes boolean does `stops` notice a failure on the left side of a pipe?

---@type runner.workflow.Interpreter[]
M.rows = {
	{ name = "sh", stops = { "/bin/sh", "-e", "-c" }, goes_on = { "/bin/sh", "-c" }, sees_pipes = false },
	{ name = "bash", stops = { "bash", "-eo", "pipefail", "-c" }, goes_on = { "bash", "-c" }, sees_pipes = true },
}

---The one that runs texts unless the file names another.
M.default = "sh"

---By name.
---@type table<string, runner.workflow.Interpreter>
M.named = {}
for _, row in ipairs(M.rows) do
	M.named[row.name] = row
end

---The command line that runs a text.
---@param name? string default: M.default
---@param errexit boolean stop at the first failing command
---@param text string
---@return string[] argv
function M.argv(name, errexit, text)
	local row = M.named[name or M.default]
	local argv = table.move(errexit and row.stops or row.goes_on, 1, 4, 1, {})
	argv[#argv + 1] = text
	return argv
end

return M
