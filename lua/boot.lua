-- boot: the phases of one attempt: locate → load → parse → plan → validate →
-- run → reply → cleanup. Runs once in every worker, called by worker.c; each
-- failure becomes one RESULT frame, and no RESULT is sent twice.

local args = require "runner.args"
local host = require "runner.host"
local limits = require "runner.limits"
local loader = require "runner.loader"
local locate = require "runner.locate"
local plan = require "runner.plan"
local session = require "runner.session"

local launch = session.launch

-- --- reply -----------------------------------------------------------------------

-- Loaded when something has gone wrong.
local function failure()
	return require "runner.failure"
end

local function encoded(data)
	if data == nil then
		return "null"
	end
	local text, why, third = require("runner.json").encode(data, { max = 16 << 20 })
	if not text then
		return nil, require("runner.errors").new(type(third) == "string" and third or "INVALID_RESULT", why)
	elseif third and third.nonfinite + third.repaired > 0 then
		require("runner.delivery").warn_repairs(third)
	end
	return text
end

local function reply_success(data, format)
	data = session.wrap(data)
	local text, about = encoded(data)
	if text and (format ~= "json" or session.framework.output) then
		text, about = require("runner.delivery").deliver(data, text, format)
	end
	if not text then
		return failure().reply(about)
	end
	if not host.send("RESULT", { ok = true, data = text, rows = about or 0 }) then
		failure().reply(require("runner.errors").new("OUTPUT_TOO_LARGE", "The command's result is larger than 16 MiB"))
	end
end

-- --- run -----------------------------------------------------------------------

local function export_environment(settled)
	host.export_deadline(settled.timeout_ms)
	host.setenv("RUNNER_OUTER_RETRIES", settled.policy.retries ~= 0 and "1" or nil)
end

local function clean_up(ctx, command)
	local ok, raised = host.protect(function()
		ctx:_run_deferred()
		if command.cleanup then
			command.cleanup(ctx)
		end
	end)
	if not ok then
		session.warn("CLEANUP_FAILED", "cleanup failed: " .. require("runner.errors").normalise(raised).message)
	end
end

local function interactive_now(command)
	return command.interactive and launch.stdin_is_tty and launch.stderr_is_tty
end

local function execute(command, values, framework, settled)
	local ctx = require("runner.context").new(values)
	math.randomseed(host.random(), host.random())
	export_environment(settled)
	local allowance = next(command.limits) and require "runner.allowance"
	if allowance then
		allowance.set(command.limits)
	end
	host.send("RUN", {})
	host.enter_run(command.stdin, interactive_now(command))
	local ok, data, traceback, cancelled = host.protect(command.run, values, ctx)
	if ok then
		reply_success(data, plan.format_of(framework))
	elseif not cancelled then
		local e = require("runner.errors").normalise(data, traceback)
		failure().reply(allowance and allowance.explain(e, command.limits) or e)
	end
	clean_up(ctx, command)
end

-- --- validate ------------------------------------------------------------------

local function problem_of(command, parsed)
	if #parsed.problems > 0 or command.validate or parsed.framework.output then
		return require("runner.validation").problem(command, parsed)
	end
end

-- --- the phases --------------------------------------------------------------------

local function without_words(argv, words, count)
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

local function names_of(words)
	local names = {}
	for i, w in ipairs(words) do
		names[i] = w.word
	end
	return names
end

-- Flags that turn any call into a question about it.
local function redirected(command, framework)
	if framework.help and command.name ~= "help" then
		return "help"
	end
	return framework.version and "version" or framework.plan and "plan" or nil
end

-- The first plan rules the run: a file that has changed since is not run.
local function changed(command)
	return launch.digest and launch.digest ~= command.digest
end

-- What a question needs of this file.
local PHASES = { execute = execute, reply_success = reply_success }

local function attempt(found, words, project)
	local tokens = without_words(launch.argv, words, found.words)
	local command, problem = loader.command(found, project)
	if not command then
		return failure().early(found.name, problem, tokens)
	end
	local ok, parsed, traceback, cancelled = host.protect(args.parse, command.args or {}, tokens, { config = project.config })
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return failure().early(found.name, require("runner.errors").normalise(parsed, traceback), tokens)
	end
	local settled = limits.settle(command, parsed, project, launch.seed_text)
	if limits.unbounded(settled) then
		return failure().early(found.name, failure().unbounded(found.name, project), tokens)
	end
	session.command, session.framework, session.settled = command, parsed.framework, settled
	session.format = plan.format_of(parsed.framework)
	session.retries_given = settled.retries_given
	host.set_limits(settled.timeout_ms, settled.attempt_timeout_ms)
	local question = redirected(command, parsed.framework)
	if question and (question == "help" or #parsed.problems == 0) then
		return require("runner.question")[question](PHASES, command, parsed, settled, project)
	end
	plan.send(command, settled, parsed.framework, project)
	if changed(command) then
		return failure().reply(require("runner.errors").new("COMMAND_CHANGED", "The command file changed between attempts"))
	end
	problem = problem_of(command, parsed)
	if problem then
		return failure().reply(problem)
	end
	execute(command, parsed.values, parsed.framework, settled)
end

local function asks_help()
	return args.parse({}, launch.argv).framework.help
end

local function main()
	local words = args.command_words(launch.argv)
	local names = names_of(words)
	if #names == 0 then
		names, words = { "help" }, {}
	end
	local builtin = locate.builtins[names[1]]
	local project, problem, rest = loader.project()
	if not project and not (builtin or asks_help()) then
		return failure().early(names[1], problem, launch.argv)
	end
	project = project or rest
	session.project = project
	local found = locate.find(names, project)
	if not found and asks_help() then
		found = { name = "help", words = 0 } -- of a group, or of nothing that exists
	end
	if not found then
		return failure().early(names[1], require("runner.catalog").not_found(names, project), launch.argv)
	end
	found.words = math.min(found.words, #words)
	attempt(found, words, project)
end

main()
