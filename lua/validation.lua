-- validation: may this call run? The problems of its arguments, and what the
-- command's own validate(args) says, as one error. Loaded where there is something
-- to ask; a plain call has no problem.

local errors = require "runner.errors"
local host = require "runner.host"
local session = require "runner.session"

local M = {}

local FORMATS = { json = true, jsonl = true, tsv = true, plain = true, table = true, text = true, id = true }

local function check_output(framework, problems)
	if framework.output and FORMATS[framework.output] then
		problems[#problems + 1] = { field = "output", code = "INVALID_ARGUMENT", value = framework.output,
			message = ("--output takes a file, '%s' is a format"):format(framework.output),
			suggestion = ("Use --format %s"):format(framework.output) }
	end
end

local function listed_problems(list)
	local problems = {}
	for i, p in ipairs(list) do
		p = type(p) == "table" and p or { message = tostring(p) }
		problems[i] = { field = p.field or p.param, code = p.code or "VALIDATION_ERROR",
			message = p.message or "invalid", value = p.value, suggestion = p.suggestion,
			fix_required = p.fix_required, line = p.line, column = p.column }
	end
	return problems
end

-- A person sees one error, which counts its problems: here is what they are.
local function list_for_people(problems)
	if #problems < 2 or session.format == "json" or session.framework.quiet or not session.launch.stderr_is_tty then
		return
	end
	for _, p in ipairs(problems) do
		local hint = p.suggestion and (". %s"):format(p.suggestion) or ""
		io.stderr:write(host.clean(("  %s%s\n"):format(p.message, hint)))
	end
end

local function as_error(problems)
	list_for_people(problems)
	return require("runner.complaint").error(problems)
end

-- The command's own validate(args): a list of problems, nil or empty when well.
local function ask_command(command, values)
	local ok, list, traceback, cancelled = host.protect(command.validate, values)
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		local e = errors.normalise(list, traceback)
		e.phase = "validation"
		return e
	elseif type(list) == "string" then
		list = { list }
	elseif list ~= nil and list ~= true and type(list) ~= "table" then
		return errors.new("COMMAND_INVALID", ("%s: validate returned %s; return a list of problems, empty or nil"
			.. " when all is well"):format(command.path, tostring(list)), { phase = "validation" })
	end
	local problems = listed_problems(type(list) == "table" and list or {})
	return #problems > 0 and as_error(problems) or nil
end

---@param command table normal form
---@param parsed table from args.parse
---@return runner.Error?
function M.problem(command, parsed)
	check_output(parsed.framework, parsed.problems)
	if #parsed.problems > 0 then
		return as_error(parsed.problems)
	elseif command.validate then
		return ask_command(command, parsed.values)
	end
end

return M
