-- boot: one attempt, from argv to its answer: a flat list of phases. Each takes the
-- attempt (lua/core/attempt.lua) and returns the answer, or nothing to go on to the next.
-- Called by worker.c once in every worker; one answer is one RESULT frame.

local args = require "runner.project.args"
local attempt = require "runner.core.attempt"
local host = require "runner.host"
local loader = require "runner.project.loader"
local locate = require "runner.project.locate"
local plan = require "runner.project.plan"
local settings = require "runner.project.settings"

---@class runner.Answer one of these
---@field error? runner.Error the attempt has failed
---@field early? true … before its command was known
---@field success? true `data` is the result
---@field data? any
---@field sent? true everything has been sent already

local SENT = { sent = true } ---@type runner.Answer

-- --- reply -----------------------------------------------------------------------

-- `buffer`: nothing of ours looks at the text but host.
local function encoded(data, buffer)
	if data == nil then
		return "null"
	end
	local text, why, third = require("runner.json").encode(data, { max = 16 << 20, envelope = true, buffer = buffer })
	if not text then
		return nil, require("runner.core.errors").new(type(third) == "string" and third or "INVALID_RESULT", why)
	elseif third and third.nonfinite + third.repaired > 0 then
		require("runner.output.delivery").warn_repairs(third)
	end
	return text
end

local function reply_failure(e)
	if e.data ~= nil then
		require("runner.output.delivery").show(e.data)
	end
	require("runner.project.failure").reply(e)
end

local function reply_success(a, data)
	data = attempt.wrap(data)
	data = a.mask and a.mask(data) or data
	local plain = a.format == "json" and not (a.framework.output or a.window)
	local text, about = encoded(data, plain)
	local veiled = text and attempt.veil(data, text)
	if veiled then
		data, text, about = veiled, encoded(veiled, plain)
	end
	if text and not plain then
		text, about = require("runner.output.delivery").deliver(data, text, a.format)
	end
	if not text then
		return reply_failure(about)
	end
	if not host.send("RESULT", { ok = true, data = text, rows = about or 0 }) then
		reply_failure(require("runner.core.errors").new("OUTPUT_TOO_LARGE", "The command's result is larger than 16 MiB"))
	end
end

local function reply(a, answer)
	if answer.success then
		reply_success(a, answer.data)
	elseif answer.early then
		require("runner.project.failure").early(a.name, answer.error, a.tokens)
	elseif answer.error then
		reply_failure(answer.error)
	end
end

-- --- which command -----------------------------------------------------------------

local function early(e)
	return { error = e, early = true }
end

local function wants_help(a)
	return args.parse({}, a.launch.argv).framework.help
end

local function read_words(a)
	local problem
	if os.getenv "RUNNER_ARGUMENTS" then
		a.handed, problem = require("runner.project.handed").add(a.launch)
	end
	local words = args.command_words(a.launch.argv)
	local names = {}
	for i, w in ipairs(words) do
		names[i] = w.word
	end
	if #names == 0 then
		names, words = { "help" }, {}
	end
	a.words, a.names, a.name, a.tokens = words, names, names[1], a.launch.argv
	a.in_front = words[1] and words[1].index - 1 or #a.tokens
	return problem and early(problem)
end

-- Flags in front of the name may decide where it is looked for. A policy holds from here on.
local function take_place(a)
	local problem = (a.in_front > 0 or os.getenv "RUNNER_POLICY" or os.getenv "RUNNER_CONTEXT") and require("runner.project.place").take(a)
	return problem and early(problem)
end

-- A broken runner.lua stops the project's commands, not the built-in ones (find_command).
local function find_project(a)
	local name = a.name
	local lists = (name == "help" or name == "completion") and require("runner.project.declarations").settings(a)
	local project, problem, rest = loader.project(lists or a.settings)
	if not project and not (require("runner.project.builtins").names[name] or name == locate.SELF or wants_help(a)) then
		return early(problem)
	end
	a.project = project or rest
end

local function without_words(argv, words, count)
	if count > 0 and words[count].index == count then -- in front of all others
		return host.words_behind(argv, count)
	end
	local used, tokens = {}, {}
	for i = 1, count do
		used[words[i].index] = true
	end
	for i, token in ipairs(argv) do
		if not used[i] then
			tokens[#tokens + 1] = token
		end
	end
	return tokens
end

local function find_command(a)
	local found, problem = locate.find(a.names, a.project), nil
	if not found then
		found, problem = require "runner.project.instead"(a, wants_help(a))
	elseif found.path and a.project.problem and not wants_help(a) then
		problem = a.project.problem
	end
	if problem then
		return early(problem)
	end
	a.found, a.name = found, found.name
	a.tokens = without_words(a.launch.argv, a.words, math.min(found.words, #a.words))
	return a.policy and a.policy.found(a)
end

-- --- declaration and arguments --------------------------------------------------------------

local function load_declaration(a)
	local problem
	a.command, problem = loader.command(a.found, a.project)
	return not a.command and early(problem) or nil
end

local function parse_arguments(a)
	a.raw = a.command.raw and require "runner.project.raw"
	local ok, parsed, traceback, cancelled = host.protect((a.raw or args).parse, a.command.args or {}, a.tokens,
		{ config = a.project.config, command = a.command, in_front = a.in_front })
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return early(require("runner.core.errors").normalise(parsed, traceback))
	end
	a.parsed, a.framework, a.format = parsed, parsed.framework, plan.format_of(parsed.framework)
	if parsed.rare then
		require("runner.project.call_flags").take(a)
	end
end

local function hide_secrets(a)
	if a.command.secrets or a.command.auth then
		require("runner.project.secret_args").hide(a.command, a.parsed, a.project.config)
	end
end

local function settle(a)
	local settled = settings.settle(a.command, a.parsed, a.project, a.launch.seed_text)
	if settings.unbounded(settled) then
		return early(require("runner.project.failure").unbounded(a.name, a.project))
	end
	if not a.launch.job and (a.framework.detach or a.command.interruption or a.command.async) then
		require("runner.jobs.front").settle(a, settled)
	elseif a.command.interruption then
		require("runner.jobs.front").limit(a, settled)
	end
	if a.raw then
		a.raw.settle(a, settled)
	end
	local refused = a.policy and a.policy.settle(a, settled)
	if refused then
		return refused
	end
	a.settled, a.retries_given = settled, settled.retries_given
	host.set_limits(settled.timeout_ms, settled.attempt_timeout_ms)
	if a.command.stdin or a.framework.input_file or a.has_stdin then
		return require("runner.project.input").take(a)
	end
end

-- The flags that describe a call in place of making it.
local function information_flag(a)
	local framework = a.framework
	if framework.help and a.command.name ~= "help" then
		return "help"
	end
	local described = framework.schema and "schema" or framework.output_schema and "output_schema"
		or framework.show_config and "show_config"
	if described then
		return described
	end
	local flag = framework.version and "version" or framework.plan and "plan"
	return flag and #a.parsed.problems == 0 and flag or nil
end

local function inform(a)
	a.information = information_flag(a)
	return a.information and require("runner.tools.information")[a.information](a) or nil
end

-- --- may it run ------------------------------------------------------------------------

-- The first attempt's plan holds for the run: a file that has changed since is not run.
local function send_plan(a)
	plan.send(a.command, a.settled, a.framework, a.project)
	if a.launch.digest and a.launch.digest ~= (a.command.plan_digest or a.command.digest) then
		return { error = require("runner.core.errors").new("COMMAND_CHANGED", "The command file changed between attempts") }
	end
end

local function shape_output(a)
	if a.command.streams or a.framework.heartbeat_ms then
		require("runner.output.rows").open(a)
	end
	if a.older then
		require("runner.output.older").open(a)
	end
	if a.command.list or a.framework.fields or a.command.truncates then
		return require("runner.output.list").open(a)
	end
end

local function validate(a)
	local command, parsed = a.command, a.parsed
	if a.trace then
		require("runner.project.call_flags").trace_start(a)
	end
	if command.deprecated_in or command.platform then
		require("runner.project.notices").give(command)
	end
	if a.project.look then
		a.project.look(a)
	end
	local framework = parsed.framework
	if #parsed.problems > 0 or command.validate or command.contract or framework.output or framework.verbose or framework.validate_only
		or framework.format == "id" then
		return require("runner.project.validation").answer(a, shape_output)
	end
end

local function guard(a)
	return a.command.danger_level ~= "safe" and require("runner.project.safety").settle(a) or nil
end

-- --- run -----------------------------------------------------------------------

-- The run goes on without us, as a job.
local function hand_over(a)
	if not a.job or a.dry_run then
		return nil
	end
	local problem = a.unconfirmed and require("runner.ctx.confirm").problem()
	a.finish, a.framework.output, a.window = nil, nil, nil -- these are the job's
	return problem and { error = problem } or require("runner.jobs.front").answer(a)
end

-- From here on there is a ctx, so `cleanup` runs whatever comes next.
local function prepare_run(a)
	local limits = a.command.limits
	a.ctx = require("runner.ctx.context").new(a.parsed.values)
	math.randomseed(host.random(), host.random())
	local framework = a.framework
	host.export_environment(framework.no_color, a.command.preserve_locale)
	host.export_deadline(a.settled.timeout_ms)
	host.setenv("RUNNER_OUTER_RETRIES", a.settled.policy.retries ~= 0 and "1" or nil)
	if framework.proxy or framework.no_proxy then
		require("runner.project.proxy").export(framework)
	end
	if next(limits) then
		require("runner.project.resource_limits").set(limits)
	end
end

-- Nobody claims a key for a call that was not confirmed.
local function confirm(a)
	local unconfirmed = a.unconfirmed and require("runner.ctx.confirm").problem()
	if unconfirmed then
		return { error = unconfirmed }
	end
	return a.framework.idempotency_key and not a.dry_run and require("runner.project.once").claim(a) or nil
end

local function failure(a, e)
	local limits = a.command.limits
	e = a.command.rollback and require("runner.project.rollback").conclude(a, e) or e
	return { error = next(limits) and require("runner.project.resource_limits").explain(e, limits) or e }
end

local function run(a)
	local command, launch = a.command, a.launch
	host.send("RUN", { timeout_ms = a.serve_ms, idle_timeout_ms = a.stall_ms })
	host.enter_run(command.stdin == true and not a.stdin_taken,
		command.interactive and launch.stdin_is_tty and launch.stderr_is_tty, command.raw,
		(a.found.vendored or a.found.folder == a.project.commands) and a.project.root)
	if a.serve_ms then
		a.raw.begin(a)
	end
	local ok, data, about, third = host.protect(a.around and require(a.around).run or command.run,
		a.parsed.values, a.ctx)
	if not ok then
		return third and SENT -- it was cancelled
			or failure(a, require("runner.core.errors").normalise(data, about))
	end
	local returned = not data and about ~= nil and require("runner.core.returned").failure(data, about, third)
	if returned then
		return failure(a, returned)
	end
	data = command.output_schema and require("runner.output.checked").result(data, command.output_schema) or data
	data = a.additions and require("runner.core.additions").to(attempt.wrap(data)) or data
	return { success = true, data = data }
end

local function clean_up(a)
	local ok, raised = host.protect(function()
		if a.ctx._deferred[1] then
			a.ctx:_run_deferred()
		end
		if a.command.cleanup then
			a.command.cleanup(a.ctx)
		end
	end)
	if not ok then
		attempt.warn("CLEANUP_FAILED", "cleanup failed: " .. require("runner.core.errors").normalise(raised).message)
	end
end

-- --- the attempt --------------------------------------------------------------------

local PHASES = {
	read_words, take_place, find_project, find_command, load_declaration, parse_arguments, hide_secrets, settle,
	inform, send_plan, validate, guard, hand_over, shape_output, prepare_run, confirm, run,
}

local function answer_of(a)
	for _, phase in ipairs(PHASES) do
		local answer = phase(a)
		if answer then
			return answer
		end
	end
end

attempt.launch = host.launch()
local answer = answer_of(attempt)
if attempt.finish then
	attempt.finish(attempt, answer)
end
if attempt.checkpoint and answer.success then
	require("runner.core.checkpoints").complete(attempt)
end
reply(attempt, answer)
if attempt.ctx then
	clean_up(attempt)
end
