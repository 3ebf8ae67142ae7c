-- runner workflow check FILE: every problem of a workflow file, with its place; what is
-- valid and probably not meant is a warning.

local attempt = require "runner.core.attempt"
local unknown_command = require "runner.project.unknown_command"
local command_line = require "runner.core.command_line"
local executors = require "runner.workflow.file.executors"
local time_bound = require "runner.workflow.run.time_bound"
local policy_commands = require "runner.project.policy_commands"
local locate = require "runner.project.locate"
local host = require "runner.host"
local amounts = require "runner.core.amounts"
local start = require "runner.workflow.run.start"
local var_values = require "runner.workflow.run.var_values"

local function count(steps)
	local n = 0
	for _, step in ipairs(steps) do
		n = n + 1 + count(step.steps or {}) + count(step.on_failure and step.on_failure.steps or {})
			+ count(step.on_success and step.on_success.steps or {})
	end
	return n
end

local function warn(path, at, code, message)
	attempt.warn(code, ("%s:%d:%d: %s"):format(path, at.line, at.column, message), { file = path, line = at.line, column = at.column })
end

-- What follows the words of a command, as far as the file says it.
local function given_to(step)
	local given = {}
	for word in step.text:gmatch "%S+" do
		given[#given + 1] = word
	end
	for name, value in pairs(type(step.args) == "table" and step.args or {}) do
		given[#given + 1] = type(name) == "string" and value ~= false and "--" .. name:gsub("_", "-") or value
	end
	return given
end

-- What `runner:` steps call is looked up where the check runs, as a run from here would.
local function judge_command(path, step, project)
	local words = not step.text:find("${", 1, true) and command_line.name_words((step.text:gsub("%s+", ".")))
	if words and not locate.find(words, project) then
		local e = unknown_command.error(words, project)
		warn(path, step, "UNKNOWN_COMMAND", ("runner: %s: no such command here. %s"):format(step.text, e.suggestion or ""))
	end
	local refused = words and attempt.policy and policy_commands.call(words, given_to(step))
	if refused then
		warn(path, step, "POLICY_REFUSES", refused)
	end
end

-- Limits of the caller's policies that cut what the file asks for.
local function judge_limits(path, step, policy)
	local retries, ms = step.retry and step.retry.policy.retries, step.timeout_ms
	if policy.max_retries and retries and (retries < 0 or retries > policy.max_retries) then
		warn(path, step, "POLICY_CUTS", ("%s retries of this step: the caller's policy allows %d in the whole run"):format(
			retries < 0 and "unlimited" or retries, policy.max_retries))
	end
	if policy.max_timeout_ms and ms and ms > policy.max_timeout_ms then
		warn(path, step, "POLICY_CUTS", ("a timeout of %s: the caller's policy allows %s for the whole run"):format(
			host.duration_text(ms), host.duration_text(policy.max_timeout_ms)))
	end
end

local function judge_steps(path, steps, project)
	for _, step in ipairs(steps) do
		if step.kind == "runner" then
			judge_command(path, step, project)
		end
		if attempt.policy then
			judge_limits(path, step, attempt.policy)
		end
		for _, below in ipairs { step.steps or {}, step.on_failure and step.on_failure.steps or {},
			step.on_success and step.on_success.steps or {} } do
			judge_steps(step.child and below == step.steps and step.child.path or path, below, project)
		end
	end
end

-- What the caller's policies would do to a run of the whole file.
local function judge_run(path, workflow, policy)
	local start_of_file = { line = 1, column = 1 }
	local refused = policy_commands.call { "workflow", "run" }
	if refused then
		warn(path, start_of_file, "POLICY_REFUSES", refused)
	end
	local most = policy.max_cost_micros
	if most and workflow.max_cost and workflow.max_cost > most then
		warn(path, start_of_file, "POLICY_CUTS", ("a max_cost of $%s: the caller's policy allows $%s"):format(amounts.dollars(workflow.max_cost),
			amounts.dollars(most)))
	end
end

local function warn_of(path, hints)
	for _, hint in ipairs(hints) do
		warn(hint.path or path, hint, hint.code, hint.message)
	end
end

return {
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file, in YAML" },
		executors.argument,
	},
	examples = { { description = "List every problem, with line and column", command = "runner workflow check review.yaml" } },
	validate = function(args)
		local workflow, problems = start.load(args.file, false, args.on)
		if workflow then
			problems = time_bound.judge(workflow)
		end
		return problems[1] and start.rows(args.file, problems) or nil
	end,
	run = function(args)
		local workflow = assert(start.load(args.file, false, args.on))
		warn_of(args.file, workflow.hints)
		warn_of(args.file, select(2, time_bound.judge(workflow)))
		judge_steps(args.file, workflow.all, attempt.project)
		if attempt.policy then
			judge_run(args.file, workflow, attempt.policy)
		end
		local described = var_values.described(workflow)
		return { file = args.file, workflow = workflow.name, steps = count(workflow.all), valid = true,
			variables = described[1] and described or nil }
	end,
}
