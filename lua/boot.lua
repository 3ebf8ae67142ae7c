-- boot: the phases of one attempt: locate → load → parse → plan → validate →
-- run → reply → cleanup. Runs once in every worker, called by worker.c; each
-- failure becomes one RESULT frame, and no RESULT is sent twice.

local args = require "runner.args"
local errors = require "runner.errors"
local host = require "runner.host"
local limits = require "runner.limits"
local loader = require "runner.loader"
local locate = require "runner.locate"
local session = require "runner.session"

local launch = session.launch

-- --- reply -----------------------------------------------------------------------

local function encoded(value)
	if value ~= nil then
		return require("runner.json").encode(value)
	end
end

local KINDS = { ["{"] = "a table of names", ["["] = "a list" }

-- A field of an error as JSON that begins with `opening`. One that can't be is left
-- out: the failure matters more.
local function encoded_field(name, value, opening)
	local text, why = encoded(value)
	if value ~= nil and not (text and (not opening or text:sub(1, 1) == opening)) then
		session.warn("FIELD_IGNORED", ("%s of the error is left out: %s"):format(name, not text and why
			or "it is not " .. KINDS[opening]))
		return nil
	end
	return text
end

local function wrap(data)
	if data ~= nil and type(data) ~= "table" and data ~= require("runner.json").null then
		return { value = data }
	end
	return data
end

local function wire_retryable(v)
	if v ~= nil then
		return tostring(v)
	end
end

local function reply_failure(e)
	local fields = {
		ok = false, code = e.code, message = e.message, detail = e.detail, phase = e.phase,
		retryable = wire_retryable(e.retryable), retry_after_ms = e.retry_after_ms,
		retry_strategy = e.retry_strategy, retries_exhausted = e.retries_exhausted,
		side_effects = e.side_effects, fix_required = e.fix_required, fix_command = e.fix_command,
		suggestion = e.suggestion, data = encoded_field("data", wrap(e.data)),
		context = encoded_field("context", e.context, "{"), errors = encoded_field("errors", e.errors, "["),
	}
	if not host.send("RESULT", fields) then
		-- too large in its details: the bare facts always fit
		for _, name in ipairs { "detail", "data", "context", "errors", "suggestion", "fix_required", "fix_command" } do
			fields[name] = nil
		end
		fields.message = e.message:sub(1, 8192)
		session.warn("FIELD_IGNORED", "The details of the error are left out: they are too large")
		host.send("RESULT", fields)
	end
end

-- `--output PATH`: the result goes to a file, the envelope says where. A link stays
-- one: what it leads to is written.
local function to_file(text, path)
	local fs = require "runner.fs"
	local ok, why = fs.write(fs.realpath(path) or path, text)
	if not ok then
		return nil, errors.new("OUTPUT_FAILED", ("Can't write the result to %s: %s"):format(path, why),
			{ fix_required = "Give --output a path that can be written", side_effects = "complete" })
	end
	return encoded { path = path, bytes = #text }
end

local function warn_repairs(notes)
	if notes and (notes.nonfinite or 0) > 0 then
		session.warn("NONFINITE_NUMBER", "NaN or infinity has no JSON form and became null", { count = notes.nonfinite })
	end
	if notes and (notes.repaired or 0) > 0 then
		session.warn("STRING_REPAIRED", "Invalid UTF-8, NUL or ANSI sequences were removed from strings",
			{ count = notes.repaired })
	end
end

-- A built-in may have worded its result itself (session.texts).
local function rendered_as(format, data, text)
	if format == "json" then
		return text .. "\n", 0
	elseif session.texts[format] then
		return session.texts[format], 1
	end
	return require("runner.render").text(data, format, session.command)
end

local function reply_success(data, format)
	data = wrap(data)
	local text, why, third = "null", nil, nil
	if data ~= nil then
		text, why, third = require("runner.json").encode(data, { max = 16 << 20 })
	end
	if not text then
		return reply_failure(errors.new(type(third) == "string" and third or "INVALID_RESULT", why))
	end
	warn_repairs(third)
	local rendered, rows = rendered_as(format, data, text)
	local path = session.framework.output
	if path then
		local problem
		text, problem = to_file(rendered, path)
		if problem then
			return reply_failure(problem)
		end
		rendered, rows = path .. "\n", 0
	end
	if format ~= "json" then
		host.send("TEXT", { text = rendered })
	end
	if not host.send("RESULT", { ok = true, data = text, rows = rows }) then
		reply_failure(errors.new("OUTPUT_TOO_LARGE", "The command's result is larger than 16 MiB"))
	end
end

-- --- plan -----------------------------------------------------------------------

local function env_set(name)
	local v = os.getenv(name)
	return v ~= nil and v ~= ""
end

local function format_of(framework)
	return framework.format or (launch.stdout_is_tty and not env_set("CI") and "text" or "json")
end

local function exit_table(project)
	local env = os.getenv("RUNNER_EXIT_TABLE")
	return (env == "classic" or env == "standard") and env or project.exit_table
end

local function send_exit_codes(command)
	for _, row in ipairs(command.exit_codes or {}) do
		host.send("EXIT", {
			name = row.name, exit_code = row.exit_code, retryable = wire_retryable(row.retryable),
			side_effects = row.side_effects, retry_after_ms = row.retry_after_ms, retry_strategy = row.retry_strategy,
		}, true)
	end
end

local function texts(list)
	local out = {}
	for i, v in ipairs(list) do
		out[i] = tostring(v)
	end
	return out
end

local function send_plan(command, settled, framework, project)
	local p, allowed = settled.policy, command.limits or {}
	send_exit_codes(command)
	host.send("PLAN", {
		command = command.name, danger_level = command.danger_level, digest = command.digest,
		format = format_of(framework), exit_table = exit_table(project), schema_version = command.schema_version,
		timeout_ms = settled.timeout_ms, attempt_timeout_ms = settled.attempt_timeout_ms,
		idle_timeout_ms = settled.idle_timeout_ms, grace_ms = settled.grace_ms,
		memory_bytes = allowed.memory_bytes, cpu_ms = allowed.cpu_ms,
		processes = allowed.processes, open_files = allowed.open_files,
		retries = p.retries, retries_given = settled.retries_given ~= nil, strategy = p.strategy,
		delay_ms = p.delay_ms, max_delay_ms = p.max_delay_ms, jitter = p.jitter, jitter_ppm = p.jitter_ppm,
		seed = p.seed, delays = texts(p.delays), on = p.on or {}, maybe = p.maybe or false,
		steps = command.steps or {}, stdin = command.stdin or false, interactive = command.interactive or false,
		quiet = framework.quiet or false, verbose = framework.verbose or false,
		warnings_as_errors = framework.warnings_as_errors or false, no_color = framework.no_color or false,
	}, not command.validate)
end

-- A failure before there is a declaration: the plan is what is known by then.
local function fail_early(name, problem, tokens)
	local parsed = args.parse({}, tokens or {}, {})
	local framework = parsed.framework
	if parsed.given.format == "flag" and not framework.format then
		framework.format = "json"
	end
	host.send("PLAN", { command = name, format = format_of(framework), quiet = framework.quiet or false,
		no_color = framework.no_color or false, exit_table = exit_table(session.project or {}) })
	reply_failure(problem)
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
		session.warn("CLEANUP_FAILED", "cleanup failed: " .. errors.normalise(raised).message)
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
		reply_success(data, format_of(framework))
	elseif not cancelled then
		local e = errors.normalise(data, traceback)
		reply_failure(allowance and allowance.explain(e, command.limits) or e)
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
local PHASES = { format_of = format_of, send_plan = send_plan, execute = execute, reply_success = reply_success }

local function attempt(found, words, project)
	local tokens = without_words(launch.argv, words, found.words)
	local command, problem = loader.command(found, project)
	if not command then
		return fail_early(found.name, problem, tokens)
	end
	local ok, parsed, traceback, cancelled = host.protect(args.parse, command.args or {}, tokens, { config = project.config })
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return fail_early(found.name, errors.normalise(parsed, traceback), tokens)
	end
	local settled = limits.settle(command, parsed, project, launch.seed_text)
	if settled.policy.retries < 0 and settled.timeout_ms == 0 and settled.sources.timeout == "runner.lua" then
		return fail_early(found.name, loader.invalid(project.file, project.file .. ': timeout is "none", so that nothing'
			.. " bounds the retries of " .. found.name, { fix_required = "write retries beside max_delay, or a timeout" }), tokens)
	end
	session.command, session.framework, session.settled = command, parsed.framework, settled
	session.format = format_of(parsed.framework)
	session.retries_given = settled.retries_given
	host.set_limits(settled.timeout_ms, settled.attempt_timeout_ms)
	local question = redirected(command, parsed.framework)
	if question and (question == "help" or #parsed.problems == 0) then
		return require("runner.question")[question](PHASES, command, parsed, settled, project)
	end
	send_plan(command, settled, parsed.framework, project)
	if changed(command) then
		return reply_failure(errors.new("COMMAND_CHANGED", "The command file changed between attempts"))
	end
	problem = problem_of(command, parsed)
	if problem then
		return reply_failure(problem)
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
		return fail_early(names[1], problem, launch.argv)
	end
	project = project or rest
	session.project = project
	local found = locate.find(names, project)
	if not found and asks_help() then
		found = { name = "help", words = 0 } -- of a group, or of nothing that exists
	end
	if not found then
		return fail_early(names[1], require("runner.catalog").not_found(names, project), launch.argv)
	end
	found.words = math.min(found.words, #words)
	attempt(found, words, project)
end

main()
