-- usages: what the error of a wrong call that nothing repairs says of the calls that may have been meant (`error.context.usage`): how
-- the command is called, or those that the words may have named. None is of a command that the caller may not see or call.
-- Loaded for such an error.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local host = require "runner.host"
local tables = require "runner.core.tables"
local tool = require "runner.core.tool"
local usage = require "runner.declare.usage"

local M = {}

local AT_TERMINAL = 3 -- lines, but with --verbose
local NAMES = 100 -- bytes for those of whose usage there is no room
local BY_USAGE = "Write a call as error.context.usage has them, or run 'runner' to list the commands"

---Commands that may be told of, as lines: the likeliest with all that a call needs, the others by their names.
---@param entries {name: string}[] as the catalog has them, the likeliest first
---@param project table
---@param is_likely? boolean false: all by their names
---@return string[]?
function M.of_entries(entries, project, is_likely)
	local lines, others = usage.lines(), {}
	lines.left = lines.left - NAMES
	for _, entry in ipairs(entries) do
		local command = catalog.load(entry, project)
		if command and catalog.is_listed(command) and not catalog.is_for_person(entry, command) then
			local text = usage.call(command, project.config, (attempt.call or {}).is_call)
			local about = usage.said(command.description)
			if is_likely == false or others[1] or not usage.add(lines, about and ("%s  # %s"):format(text, about) or text) then
				others[#others + 1] = command_line.typed(command.name)
			end
		end
	end
	lines.left = lines.left + NAMES
	for n = #others, 1, -1 do
		local rest = n < #others and (" and %d more"):format(#others - n) or ""
		if usage.add(lines, ("%s: %s%s"):format(lines[1] and "Also" or "Commands", table.concat(others, ", ", 1, n), rest)) then
			break
		end
	end
	lines.left = nil
	return lines[1] and lines or nil
end

-- Is the error about the arguments of this call, and not about what a file has?
local function is_of_arguments(e)
	local first = (e.errors or {})[1]
	return e.code ~= "COMMAND_NOT_FOUND" and e.phase == "validation" and (first or e.code == "VALIDATION_ERROR")
		and not (first and (first.line or first.file))
end

local function said(lines)
	local out = {}
	for i, line in ipairs(lines) do
		out[i] = tool.says(line)
	end
	return out
end

---What an error says of calls, where it names none that is right: of its own command, or as it has it already.
---@param e runner.Error
function M.tell(e)
	local command, call = attempt.command, attempt.call
	local context = type(e.context) == "table" and e.context or {}
	local lines = e.code == "COMMAND_NOT_FOUND" and context.usage
	lines = type(lines) == "table" and type(lines[1]) == "string" and lines or nil -- a command of the project may have another
	if lines and not e.fix_command then
		local most = host.have_flag(call.argv, " --verbose ") and #lines or AT_TERMINAL
		local is_call = not lines[1]:find "^%u"
		e.fix_required = e.fix_required or is_call and BY_USAGE or nil
		e.place = is_call and attempt.launch.stderr_is_tty and table.concat(lines, "\n         ", 1, math.min(#lines, most)) or nil
	elseif not e.fix_command and command and command.name ~= "several" and context.usage == nil and is_of_arguments(e) then
		lines = usage.of_command(command, (attempt.project or {}).config, call and call.is_call or false)
	end
	if lines then
		e.context = tables.add({}, context)
		e.context.usage = not e.fix_command and said(lines) or nil
	end
end

return M
