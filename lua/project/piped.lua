-- piped: `-` as the value of an argument that declares pipe_compatible: the lines of stdin in its
-- place (REQ-O-006). The first parse only notes it; lua/project/input.lua reads the lines, and the
-- arguments are parsed again with them. Loaded when such a value is met.

local errors = require "runner.core.errors"

local M = {}

---The token `-` has arrived for `row`.
---@param s table the state of lua/project/args.lua
---@param row table
---@param from runner.From
---@param take fun(s: table, row: table, text: string, from: string) a value, "line" where it is one of stdin
---@param add_problem fun(s: table, kind: string, ...)
---@return boolean taken false: this `-` is a text like any other, of a variable or of stdin itself
function M.take(s, row, from, take, add_problem)
	if from ~= "flag" and from ~= "positional" then
		return false
	end
	s.given[row.name] = s.given[row.name] or from
	if s.framework.piped then
		add_problem(s, "input", "piped_twice", row, s.framework.piped)
		return true
	end
	s.framework.piped = row
	s.framework.input_file = s.framework.input_file or "-" -- what the call brings is read from there
	for _, line in ipairs(s.opts.lines or {}) do
		take(s, row, line, "line")
	end
	return true
end

local function problem(row, message, fix)
	return { field = row.name, code = "CONFLICTING_VALUES", value = "-", message = message, suggestion = fix, fix_required = fix }
end

---Why a call can't read this value from stdin; nil: it can.
---@param a runner.Attempt
---@return runner.Problem?
function M.conflict(a)
	local row = a.framework.piped
	if a.parsed.framework_given.input_file then
		return problem(row, ("--%s - and --input-file exclude each other"):format(row.flag), "Give one of them")
	elseif a.job then
		return problem(row, ("--%s - can't be used with a job, which has no stdin"):format(row.flag),
			("Give the values of --%s on the command line"):format(row.flag))
	end
end

local function wrong(row, code, message, fix)
	return nil, errors.new(code, message, { phase = "validation", retryable = false, side_effects = "none",
		fix_required = fix, suggestion = fix, context = { field = row.name } })
end

---The values in what stdin had: its lines without those that are empty.
---@param row table
---@param text string
---@return string[]? lines at least one; just one unless the argument is an array
---@return runner.Error?
function M.lines(row, text)
	local lines = {}
	for line in text:gmatch "[^\r\n]+" do
		lines[#lines + 1] = line
	end
	if #lines == 0 then
		return wrong(row, "EMPTY_STDIN", ("--%s - reads stdin, which is empty"):format(row.flag),
			"Put a value on each line of stdin, or give it on the command line")
	elseif #lines > 1 and row.type ~= "array" then
		return wrong(row, "VALIDATION_ERROR", ("--%s takes one value; stdin has %d lines"):format(row.flag, #lines),
			"Give one line on stdin")
	end
	return lines
end

return M
