-- check: collects, while a workflow file is read, all its problems, its warnings, its
-- hints, and every use of a name, to be checked once all names are known
-- (lua/workflow/file/names.lua). It knows places, not keys.

local yaml = require "runner.core.yaml.parser"

local M = {}

local MOST = 100 -- problems, and hints, that are listed; more problems are counted

---@class runner.workflow.Problem
---@field line integer
---@field column integer
---@field message string what is wrong, and what to write
---@field suggestion? string
---@field code "WORKFLOW_INVALID"

---@class runner.workflow.Hint what is valid and probably not meant
---@field line integer
---@field column integer
---@field code string of a warning
---@field message string

---@class runner.workflow.Check
---@field source string the text of the file
---@field lenient boolean an unknown strategy is a warning
---@field list runner.workflow.Problem[]
---@field warnings string[]
---@field hints runner.workflow.Hint[]
---@field uses table[] see names.lua
---@field texts runner.yaml.Node[] with a $ARG in them
---@field env_names table<string, true> environment variables that the file sets somewhere
---@field script_reads table<string, true> environment variables that shell texts may read
---@field env_files boolean? it has files that may set more
---@field ids table<string, {order: integer, line: integer, loops: integer}>
---@field captures table<string, integer> name → foreach bodies around the step that gives it, the fewest
---@field order integer of the step that is being read; 0: none
---@field single table<string, true> variables whose type has no members
---@field hidden string[] secrets that are written in it
---@field loops integer foreach bodies around it
---@field last? boolean the steps of `finally` are being read
---@field guards integer checks and repairs around it
---@field warned table<string, true> the warnings
---@field all {files: integer, bytes: integer} the files that steps of the outermost run
---@field path? string of the file
---@field way? string[] the files on the way to it, and itself
---@field children runner.workflow.Workflow[] files that its steps run
---@field child_env table<string, "text"|"condition"> what they read of the environment
---@field worktrees integer worktrees around it
---@field executors? runner.workflow.Executors
---@field faults? table<string, string> what is wrong with executors of the site, by name
---@field on? string the executor of every step that names none
---@field placed_claude? table the first claude step that runs on an executor
local Check = {}
Check.__index = Check

---@param source string
---@param lenient? boolean
---@return runner.workflow.Check
function M.new(source, lenient)
	return setmetatable({ source = source, lenient = lenient or false, list = {}, warnings = {}, warned = {}, hints = {}, uses = {},
		ids = {}, captures = {}, env_names = {}, script_reads = {}, texts = {}, single = {}, hidden = {},
		children = {}, child_env = {}, order = 0, loops = 0, guards = 0, worktrees = 0 }, Check)
end

---@param at {line: integer, column: integer}
---@param message string
---@param suggestion? string
function Check:add(at, message, suggestion)
	self.list[#self.list + 1] = { line = at.line, column = at.column, message = message, suggestion = suggestion,
		code = "WORKFLOW_INVALID" }
end

function Check:_place(node, offset)
	self.lines = self.lines or yaml.lines(self.source)
	local line, column = yaml.place(node, offset or 1, self.lines)
	return { line = line, column = column }
end

---A problem inside the text of a scalar.
---@param node runner.yaml.Node
---@param offset? integer byte, from 1
---@param message string
---@param suggestion? string
function Check:add_in(node, offset, message, suggestion)
	self:add(self:_place(node, offset), message, suggestion)
end

---A hint inside the text of a scalar; only the command `check` shows it.
---@param node runner.yaml.Node
---@param offset integer byte, from 1
---@param code string of the warning
---@param message string
function Check:hint_in(node, offset, code, message)
	local hint = self:_place(node, offset)
	hint.code, hint.message = code, message
	self.hints[#self.hints + 1] = hint
end

---@param message string
function Check:warn(message)
	self.warned[message] = self.warned[message] or table.insert(self.warnings, message) or true
end

---"Did you mean 'retry'?", or nil.
---@param word string
---@param candidates string[]
---@return string?
function M.meant(word, candidates)
	table.sort(candidates)
	local near = require("runner.core.suggest").nearest(word, candidates, 2)
	return near[1] and ("Did you mean '%s'?"):format(table.concat(near, "' or '")) or nil
end

local function before(a, b)
	if a.path ~= b.path then
		return (a.path or "") < (b.path or "")
	elseif a.line ~= b.line then
		return a.line < b.line
	elseif a.column ~= b.column then
		return a.column < b.column
	end
	return a.message < b.message
end

-- By place; what an alias repeats counts once. The first MOST, how many more, and the last.
local function by_place(list)
	table.sort(list, before)
	local out, last, more = {}, nil, 0
	for _, found in ipairs(list) do
		local same = last and not before(last, found)
		last = found
		if not same and #out < MOST then
			out[#out + 1] = found
		elseif not same then
			more = more + 1
		end
	end
	return out, more, last
end

---The hints by place.
---@return runner.workflow.Hint[]
function Check:sorted_hints()
	return (by_place(self.hints))
end

---All problems by place.
---@return runner.workflow.Problem[]
function Check:sorted()
	local out, more, last = by_place(self.list)
	if more > 0 then
		out[#out + 1] = { line = last.line, column = last.column, code = "WORKFLOW_INVALID",
			message = ("there are %d more problems"):format(more) }
	end
	return out
end

return M
