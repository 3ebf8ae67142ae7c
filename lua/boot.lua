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
---@field bare? true … which goes into no file, and is not cut to a window
---@field sent? true everything has been sent already

local SENT = { sent = true } ---@type runner.Answer

-- What a phase has found is known from here on.
local function keep(a, found, answer)
	for name, v in next, found or {} do
		a[name] = v
	end
	return answer
end

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
		reply_failure(about)
	elseif not host.send("RESULT", { ok = true, data = text, rows = about or 0 }) then
		reply_failure(require("runner.output.delivery").too_large())
	end
end

local function reply(a, answer)
	if a.place.cwd then
		require("runner.project.place").say(a.place)
	end
	if answer.bare then
		a.framework.output, a.window = nil, nil
	end
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
	return args.parse({}, a.call.argv).framework.help
end

local function read_words(a)
	local call, problem = { argv = a.launch.argv }, nil
	if os.getenv "RUNNER_ARGUMENTS" then
		call, a.secrets, problem = require("runner.project.stdin_arguments").call(call.argv)
	end
	local names, places = args.command_words(call.argv)
	call.in_front = places[1] and places[1] - 1 or #call.argv
	names[1] = names[1] or "help"
	call.names, call.places = names, places
	a.call, a.name, a.tokens = call, names[1], call.argv
	return problem and early(problem)
end

-- Flags in front of the name may decide where it is looked for. A policy holds from here on.
local function take_place(a)
	if a.call.in_front > 0 or os.getenv "RUNNER_POLICY" or os.getenv "RUNNER_CONTEXT" or os.getenv "RUNNER_SUBJECT" then
		local problem = keep(a, require("runner.project.place").take(a))
		return problem and early(problem)
	end
end

-- A broken runner.lua stops the project's commands, not the built-in ones (find_command).
local function find_project(a)
	local name = a.name
	if name == "completion" then
		require("runner.project.declarations").settle_script(a)
	end
	local project, problem, rest = loader.project(a.place.settings, a)
	if not project and not (rest.unread or require("runner.project.builtins").names[name] or name == locate.SELF or wants_help(a)) then
		return early(problem)
	end
	a.project = project or rest
	return a.policy and require("runner.project.policy_commands").check(a)
end

local function without_words(argv, places, count)
	if count > 0 and places[count] ~= count then -- not in front of all others
		return require("runner.project.place").without_words(argv, places, count)
	end
	return host.words_behind(argv, count)
end

local function find_command(a)
	local found, problem = a.project.looked_up, nil -- it may have been looked up for find_project
	found = found and found.folder == a.project.commands and found or locate.find(a.call.names, a.project)
	if not found then
		problem = keep(a, require("runner.project.unknown_command").answer(a, wants_help(a)))
		found = a.found
	elseif found.path and a.project.problem and not wants_help(a) then
		problem = a.project.problem
	end
	if a.project.unread and require("runner.project.unread").is_call(a.project, found) then
		a.runs_files = true -- which could not be known before
		return find_project(a) or find_command(a)
	end
	if problem then
		return early(problem)
	end
	a.found, a.name = found, found.name
	a.tokens = without_words(a.call.argv, a.call.places, math.min(found.words, #a.call.places))
	return a.policy and a.policy.found(a)
end

-- --- declaration and arguments --------------------------------------------------------------

local function load_declaration(a)
	local problem
	a.command, problem = loader.command(a.found, a.project, true)
	if problem and problem.unread and wants_help(a) then
		problem = keep(a, require("runner.project.unread").help(a, loader.command))
	end
	if a.command and (a.place.cwd or a.command.cwd or a.command.sources) then
		a.place, problem = require("runner.project.place").settle(a)
	end
	return problem and early(problem)
end

local function parse_arguments(a)
	a.raw = a.command.raw and require "runner.project.raw_stdout"
	local ok, parsed, trace, cancelled = host.protect((a.raw or args).parse, a.command.args or {}, a.tokens,
		{ config = a.project.config, command = a.command, in_front = a.call.in_front })
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return early(require("runner.core.errors").normalise(parsed, trace))
	end
	if a.command.unread and require("runner.project.unread").is_called_after_all(parsed.framework) then
		a.runs_files = true
		return find_project(a) or find_command(a) or load_declaration(a) or parse_arguments(a)
	end
	a.parsed, a.framework, a.format = parsed, parsed.framework, plan.format_of(parsed.framework)
	if parsed.rare then
		keep(a, require("runner.project.call_flags").take(a))
	end
	if a.command.secrets or a.command.auth or a.secrets then
		keep(a, require("runner.project.secret_args").hide(a.command, a.parsed, a.project.config))
	end
end

local function settle(a)
	if a.command.rollback then
		require("runner.project.safety").watch(a)
	end
	local settled = settings.settle(a.command, a.parsed, a.project, a.launch.seed_text)
	if settings.unbounded(settled) then
		return early(require("runner.project.load_failure").unbounded(a.name, a.project))
	end
	if not a.launch.job and (a.framework.detach or a.command.interruption or a.command.async) then
		a.job = require("runner.jobs.start").settle(a, settled)
	elseif a.command.interruption then
		require("runner.jobs.start").limit(a, settled)
	end
	if a.raw then
		a.raw.settle(a, settled)
	end
	local refused = a.policy and keep(a, a.policy.settle(a, settled))
	if refused then
		return refused
	end
	a.settled = settled
	if settled.retry_delay_ms then
		host.setenv("RUNNER_RETRY_DELAY", settled.retry_delay_ms .. "ms") -- of what this run calls, too
	end
	host.set_limits(settled.call_ms or settled.timeout_ms, settled.attempt_timeout_ms, settled.grace_ms)
	if a.command.stdin or a.framework.input_file or a.call.has_stdin then
		return keep(a, require("runner.project.input").take(a))
	end
end

-- The flags that describe a call in place of making it.
local function inform(a)
	local f = a.framework
	if f.help or f.schema or f.output_schema or f.show_config or f.version or f.plan then
		return keep(a, require("runner.tools.information").answer(a))
	end
end

-- --- may it run ------------------------------------------------------------------------

-- The first attempt's plan holds for the run: a file that has changed since is not run.
local function send_plan(a)
	plan.send(a.command, a.settled, a.framework, a.project)
	if a.launch.digest and a.launch.digest ~= (a.settled.plan_digest or a.command.digest) then
		return { error = require("runner.project.load_failure").changed() }
	end
end

local function shape_output(a)
	if a.command.streams or a.framework.heartbeat_ms then
		a.rows = require("runner.output.rows").open(a)
	end
	if a.older then
		require("runner.output.delivery").open_older(a)
	end
	if a.command.list or a.command.rows or a.framework.fields then
		return keep(a, require("runner.output.list").open(a))
	end
end

local function validate(a)
	local command, f = a.command, a.framework
	if a.trace then
		require("runner.project.call_flags").trace_start(a)
	end
	if command.deprecated_in or command.platform then
		require("runner.project.notices").give(command)
	end
	return a.project.look and keep(a, a.project.look(a))
		or (a.parsed.problems[1] or command.validate or command.contract or a.policy and a.policy.confines or f.output or f.verbose
		or f.validate_only or f.format == "id") and keep(a, require("runner.project.validation").answer(a, shape_output))
end

local function guard(a)
	if a.command.danger_level ~= "safe" or a.call.approved then
		return keep(a, require("runner.project.safety").settle(a))
	end
end

-- --- run -----------------------------------------------------------------------

local function unconfirmed(a)
	return a.unconfirmed and require("runner.ctx.destructive").answer()
end

-- The run goes on without us, as a job.
local function hand_over(a)
	if a.job and not a.dry_run then
		a.framework.output, a.window = nil, nil -- these are the job's
		return unconfirmed(a) or require("runner.jobs.start").answer(a)
	end
end

-- From here on there is a ctx, so `cleanup` runs whatever comes next.
local function prepare_run(a)
	local limits = a.command.limits
	a.ctx = require("runner.ctx.context").new(a.parsed.values)
	math.randomseed(host.random(), host.random())
	local framework = a.framework
	host.export_environment(framework.no_color, a.command.preserve_locale, a.command.needs or a.command.parallel)
	host.export_deadline(a.settled.timeout_ms)
	host.setenv("RUNNER_OUTER_RETRIES", a.settled.policy.retries ~= 0 and "1" or nil)
	if framework.proxy or framework.no_proxy then
		require("runner.project.call_flags").export_proxy(framework)
	end
	if next(limits) then
		require("runner.project.confinement").set_limits(limits)
	end
end

-- No key is claimed for a call that was not confirmed.
local function confirm(a)
	return unconfirmed(a)
		or a.framework.idempotency_key and not (a.dry_run or a.information) and require("runner.project.idempotency").claim(a) or nil
end

local function failure(a, e)
	local limits = a.command.limits
	e = a.command.rollback and require("runner.project.safety").roll_back(a, e) or e
	return { error = next(limits) and require("runner.project.confinement").explain_limits(e, limits) or e }
end

local function run(a)
	local command, launch, settled = a.command, a.launch, a.settled
	host.send("RUN", { timeout_ms = settled.serve_ms, idle_timeout_ms = settled.stall_ms })
	host.enter_run(command.stdin == true and not a.input.is_stream,
		(command.interactive or command.needs) and launch.stdin_is_tty and launch.stderr_is_tty, command.raw,
		not a.information and (a.found.vendored or a.found.folder == a.project.commands) and a.project.root)
	if settled.serve_ms then
		a.raw.begin(settled)
	end
	local ok, data, about, third = host.protect(a.wrapper and require(a.wrapper).run or attempt.wrapped "run",
		a.parsed.values, a.ctx)
	if not ok then
		return third and SENT -- it was cancelled
			or failure(a, require("runner.core.errors").normalise(data, about))
	end
	local returned = not data and about ~= nil and require("runner.core.returned").failure(data, about, third)
	if returned then
		return failure(a, returned)
	end
	data = command.output_schema and require("runner.output.checked").declared(data, command) or data
	local additions = attempt.additions()
	data = additions and require("runner.core.returned").with_additions(attempt.wrap(data), additions) or data
	return { success = true, data = data }
end

local function clean_up(a)
	local ok, raised = host.protect(function()
		if a.ctx._deferred[1] then
			a.ctx:_run_deferred()
		end
		local cleanup = attempt.wrapped "cleanup"
		if cleanup then
			cleanup(a.ctx)
		end
	end)
	if not ok then
		attempt.warn("CLEANUP_FAILED", "cleanup failed: " .. require("runner.core.errors").normalise(raised).message)
	end
end

-- --- the attempt --------------------------------------------------------------------

local PHASES = {
	read_words, take_place, find_project, find_command, load_declaration, parse_arguments, settle,
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

attempt.begin()
local answer = answer_of(attempt)
attempt.ended(answer)
reply(attempt, answer)
if attempt.ctx then
	clean_up(attempt)
end
