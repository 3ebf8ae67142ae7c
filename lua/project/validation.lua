-- validation: whether a call may run: the problems of its arguments, and those that the
-- command's own validate(args) returns, as one error. Loaded only if there are problems
-- or a validate function.

local errors = require "runner.core.errors"
local host = require "runner.host"
local rules = require "runner.core.rules"
local attempt = require "runner.core.attempt"

local M = {}

-- What people call a format, and the one that is meant.
local FORMATS = { json = "json", jsonl = "jsonl", tsv = "tsv", plain = "plain", table = "table", text = "text", id = "id",
	yaml = "json", yml = "json", csv = "tsv", ndjson = "jsonl" }

local function check_output(framework, problems)
	if framework.output and FORMATS[framework.output] then
		problems[#problems + 1] = { field = "output", code = "INVALID_ARGUMENT", value = framework.output,
			message = ("--output takes a file; '%s' is a format"):format(framework.output),
			suggestion = ("Use --format %s"):format(FORMATS[framework.output]) }
	end
end

local function check_verbosity(framework, problems)
	if framework.quiet and framework.verbose then
		problems[#problems + 1] = { field = "verbose", code = "CONFLICTING_VALUES", message = "--quiet and --verbose exclude each other",
			suggestion = "Give one of them", fix_required = "Give one of them" }
	end
end

-- What a shell would take for more than text: a declared subprocess gets none of it from a
-- user (REQ-F-044, REQ-C-019).
local METACHARACTERS = "[;|&$()<>`\\\n\r]"

local function check_user_controlled(command, values, problems)
	for _, name in ipairs(command.subprocess and command.subprocess.user_controlled_args or {}) do
		local value = values[name]
		for _, item in ipairs(type(value) == "table" and value or { value }) do
			local found = type(item) == "string" and item:match(METACHARACTERS)
			if found then
				problems[#problems + 1] = { field = name, code = "INVALID_ARGUMENT", value = item,
					message = ("'%s' has %q, and its value goes to %s"):format(name, found, command.subprocess.binary),
					fix_required = "Give a value without ; | & $ ( ) < > ` \\ and line breaks" }
			end
		end
	end
end

-- --resume-from names a step.
local function check_resume(command, framework, problems)
	local from = framework.resume_from
	for _, step in ipairs(from and command.steps or {}) do
		if step == from then
			return
		end
	end
	if from then
		local fix = "Give one of " .. table.concat(command.steps, ", ")
		problems[#problems + 1] = { field = "resume_from", code = "INVALID_ARGUMENT", value = from,
			message = ("--resume-from: '%s' is no step"):format(from), suggestion = fix, fix_required = fix }
	end
end

local function text(v)
	return type(v) == "string" and v ~= "" and v or nil
end

local function check_stream(parsed, problems)
	local framework = parsed.framework
	local wanted = framework.stream and "jsonl" or "json"
	if framework.stream ~= nil and parsed.framework_given.format == "flag" and framework.format ~= wanted then
		problems[#problems + 1] = { field = "stream", code = "CONFLICTING_VALUES",
			message = ("--%sstream means --format %s, not %s"):format(framework.stream and "" or "no-", wanted, framework.format),
			suggestion = "Give one of them", fix_required = "Give one of them" }
	end
end

-- Found before `run`: afterwards a change would be made, and its id be lost.
local function check_ids(a, command, problems)
	local framework = a.parsed.framework
	local other = framework.detach and "--detach" or framework.fields and "--fields"
		or a.window and "--token-limit, --token-offset and --token-count"
	if framework.format ~= "id" or framework.stream ~= nil then
		return
	elseif not command.primary_id_field then
		problems[#problems + 1] = { field = "format", code = "INVALID_ARGUMENT", value = "id",
			message = ("--format id: the results of '%s' have no ids"):format(attempt.name),
			suggestion = "Use --format plain", fix_required = "Use another format, or declare primary_id_field in the command" }
	elseif other or a.job then
		other = other or "a job"
		problems[#problems + 1] = { field = "format", code = "CONFLICTING_VALUES", value = "id",
			message = ("--format id can't be used with %s"):format(other),
			suggestion = "Use --format json", fix_required = ("Use --format json, or leave %s out"):format(other) }
	end
end

-- A string, or a table with a message.
local function problem(p)
	p = type(p) == "table" and p or { message = p }
	return text(p.message) and (p.code == nil or errors.well_formed(p.code)) and {
		field = text(p.field or p.param), code = p.code or "VALIDATION_ERROR", message = p.message, value = p.value,
		suggestion = text(p.suggestion), fix_required = text(p.fix_required), line = p.line, column = p.column,
	} or nil
end

-- The list of problems that validate returned, or a single one as a list; nil if the
-- value is neither.
local function listed_problems(returned)
	if returned == nil or returned == true then
		return {}
	elseif type(returned) == "string" or type(returned) == "table" and returned.message ~= nil then
		returned = { returned }
	end
	return rules.list(returned, 0, math.huge, problem)
end

-- On a terminal, the error only counts its problems: list them first.
local function list_for_people(problems)
	if #problems < 2 or attempt.format == "json" or attempt.framework.quiet or not attempt.launch.stderr_is_tty then
		return
	end
	for _, p in ipairs(problems) do
		local hint = p.suggestion and not p.message:find(", which takes ", 1, true) and (". %s"):format(p.suggestion) or ""
		io.stderr:write(host.clean(("  %s%s\n"):format(p.message, hint)))
	end
end

local SHOWS_USAGE = { MISSING_ARGUMENT = true, UNKNOWN_FLAG = true, UNEXPECTED_ARGUMENT = true }

local function as_error(problems)
	list_for_people(problems)
	local e = require("runner.declare.arg_errors").error(problems)
	if SHOWS_USAGE[problems[1].code] and attempt.launch.stderr_is_tty and not attempt.raw then
		e.place = require("runner.declare.arg_words").usage(attempt.command)
	end
	return e
end

-- `validate` may look, and change nothing (REQ-F-015).
local function refuse(name, _, target)
	local fix = "Let validate look at its arguments only; do this in run"
	errors.raise("COMMAND_INVALID", ("%s: validate called %s%s. %s"):format(attempt.command.path, name,
		target and (" to write %s"):format(target) or "", fix), { phase = "validation", fix_required = fix })
end

local function guarded()
	local guard = require "runner.core.guard"
	local guards, files = guard.standard(refuse), {}
	for name in pairs(guard.CHANGES) do
		files[name] = function(path)
			refuse("fs." .. name, "file", tostring(path))
		end
	end
	guards[require "fs"] = files
	return guard.on(guards)
end

-- The command's own validate(args): a list of problems; nil or empty if there are none.
local function run_validate(command, values)
	local returned
	local undo = command.path and guarded()
	local ok, problems, traceback, cancelled = host.protect(function()
		returned = command.validate(values)
		return listed_problems(returned)
	end)
	if undo then
		undo()
	end
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		local e = errors.normalise(problems, traceback)
		e.phase = "validation"
		return e
	elseif not problems then
		local fix = 'Return a list of problems such as { { field = "target", message = "…" } }, or nil if there are none'
		return errors.new("COMMAND_INVALID", ("%s: validate returned %s. %s"):format(command.path,
			type(returned) == "table" and "a table that is not a list of problems" or tostring(returned), fix),
			{ phase = "validation", fix_required = fix })
	end
	return #problems > 0 and as_error(problems) or nil
end

local function problem_of(command, parsed)
	check_output(parsed.framework, parsed.problems)
	check_verbosity(parsed.framework, parsed.problems)
	check_stream(parsed, parsed.problems)
	check_ids(attempt, command, parsed.problems)
	check_user_controlled(command, parsed.values, parsed.problems)
	check_resume(command, parsed.framework, parsed.problems)
	if command.task and not parsed.problems[1] then
		require("runner.declare.tasks").check(command, parsed.values, parsed.problems)
	end
	if #parsed.problems > 0 then
		return as_error(parsed.problems)
	end
	local invalid = command.validate and run_validate(command, parsed.values)
	if not invalid and (command.auth or command.requires_editor) then
		invalid = require("runner.core.requirements").problem(command, parsed)
	end
	return invalid or nil
end

local WRAPPED = { "needs", "parallel", "env", "sources", "status", "breaker", "rate" }

-- Does anything stand around its `run` (lua/ctx/wrappers.lua)?
local function is_wrapped(command)
	for _, key in ipairs(WRAPPED) do
		if command[key] then
			return true
		end
	end
	return false
end

-- What the commands of a list are given, where that is an argument of this call.
local function given(needs, values, project)
	local out = needs and {}
	for i, need in ipairs(needs or {}) do
		out[i] = { name = need.name, args = {} }
		for name, value in next, need.args do
			local own = type(value) == "table" and value.arg
			out[i].args[name] = own and values[own] or not own and value or nil
		end
		out[i].distinct = next(need.args) ~= nil and require("runner.project.catalog").distinct(out[i], project) or nil
	end
	return out
end

---May this call run? With --validate-only the answer says no more than that (REQ-O-009).
---@param a runner.Attempt
---@param check fun(a: runner.Attempt): runner.Answer? what else may refuse it
---@return {wrapper?: string} found
---@return runner.Answer? nil: it may
function M.answer(a, check)
	local only = a.parsed.framework.validate_only
	if only then
		host.send("META", { name = "validation_only", data = "true" }, true)
		require("runner.core.display").set { text = "valid\n", plain = "valid\n", table = "valid\n", tsv = "valid\n", id = "valid\n",
			jsonl = '{"valid":true}\n' }
	end
	local command = a.command
	local e = problem_of(command, a.parsed)
	local values = a.parsed.values
	command.needs, command.parallel = given(command.needs, values, a.project), given(command.parallel, values, a.project)
	if only and not e then
		local policy = a.policy or {}
		local refused = policy.values and policy.values(a.parsed.values) or policy.verdict and policy.verdict(a)
		return nil, refused and { error = refused } or check(a) or { success = true, bare = true }
	end
	e = e or (command.confine or a.policy and a.policy.confines and a.found.path) and require("runner.project.confinement").prepare(a)
		or command.requires_person and require("runner.core.confirmation").by_person(command)
	return { wrapper = is_wrapped(command) and "runner.ctx.wrappers" or nil }, e and { error = e }
end

return M
