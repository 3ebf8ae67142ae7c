-- run_command: what `workflow run`, `resume` and `retry` share: they open the store, execute the run, and fill in the
-- envelope; and what the last two declare alike.

local answer = require "runner.workflow.report.answer"
local attempt = require "runner.core.attempt"
local engine = require "runner.workflow.run.engine"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local host = require "runner.host"
local json = require "runner.json"
local live = require "runner.workflow.report.live"
local process = require "runner.process"
local scope = require "runner.core.scope"
local start = require "runner.workflow.run.start"
local store = require "runner.workflow.store.store"

local M = {}

-- What a step says of itself is true of the run only if that is all that has been done.
local function effects_of(run, e)
	local first = next(run.failures)
	if not e.side_effects or run.done > 0 or first and next(run.failures, first) then
		return "partial"
	end
	local read, others = pcall(run.db.has_other_attempts, run.db, run.id, e.context and e.context.step_key or "")
	if type(others) == "userdata" then
		error(others, 0) -- a cancellation
	end
	return read and not others and e.side_effects or "partial"
end

-- The failed step's retries go into the error, the whole run into its data. The way to
-- retry is resume: the identical call would start another run.
local function explain(run, raised, args)
	local e = errors.normalise(raised)
	local data, retry = answer.of_failure(run, args)
	e.data = run.mask(data)
	e.retryable, e.side_effects = false, effects_of(run, e)
	e.context = e.context or {}
	e.context.run = run.id
	e.message = answer.headline(e.message, e.context.step_key)
	if retry then
		e.context.attempts, e.context.total_duration = retry.attempts, retry.total_duration
		e.context.error_history = retry.error_history
	end
	e.suggestion = e.suggestion or "runner workflow resume " .. run.id
	return e
end

-- Every answer names the run from here on, however this process ends.
local function announce(id)
	host.send("META", { name = "run", data = json.encode(id) }, true)
end

-- A run that has completed answers as it did; nothing runs again.
local function completed(db, args)
	local id = db:resolve(args.id)
	announce(id)
	local data = answer.of(db, id, args)
	data.effect = "noop"
	return data
end

local RETAINED = 100 -- runs that go after a run, at most

-- What the project keeps of its runs. Whatever becomes of that, the run has ended as it has.
local function retain(db, retention, root)
	local remove, ids = require "runner.workflow.store.remove", {}
	local keeping = setmetatable({ project = scope.project(), root = root }, { __index = retention })
	for i, row in ipairs(remove.chosen(db, keeping, host.wall_ms())) do
		ids[i] = i <= RETAINED and row.id or nil
	end
	local removed = remove.runs(db, ids, keeping).removed
	if removed[1] then
		events.removed(#removed)
	end
	remove.finish(db)
end

local function try_to_retain(db)
	local retention = attempt.project.retention
	local ok, raised = pcall(retain, db, retention, attempt.project.root)
	if not ok and type(raised) == "userdata" then
		error(raised, 0) -- a cancellation
	elseif not ok then
		attempt.warn("RETENTION_FAILED", "Old runs could not be removed: " .. errors.normalise(raised).message)
	end
end

-- The trace of the run, where the project wants one: a function that exports it.
local function begin_trace(run, ctx)
	local telemetry = attempt.project.telemetry
	if not telemetry then
		return function() end
	end
	local spans = require "runner.workflow.report.spans"
	spans.begin(run, telemetry)
	local function finish()
		spans.finish(run, ctx, telemetry)
	end
	ctx:defer(finish) -- of a run that is ended from outside, whose end the engine has recorded by then
	return finish
end

---@param ctx runner.Context
---@param what "started"|"resumed"
---@param args runner.workflow.PageOptions the command's
---@param open fun(db: table): table? the run, owned; nil: args.id has completed
---@return table data
function M.run(ctx, what, args, open)
	process.prepare() -- while this process is small
	local db = store.open {}
	ctx:defer(function()
		db:close()
	end)
	local run = open(db)
	if not run then
		return completed(db, args)
	end
	announce(run.id)
	local end_trace = begin_trace(run, ctx)
	run.screen = live.screen(run)
	events.run(run, what)
	local ok, raised = pcall(engine.execute, run, ctx)
	if type(raised) ~= "userdata" then
		end_trace()
	end
	if attempt.project.retention and type(raised) ~= "userdata" then
		try_to_retain(db)
	end
	if not ok then
		error(explain(run, raised, args), 0)
	end
	local data = run.mask(answer.of_success(run, args))
	data.effect = what == "started" and "created" or "updated"
	return data
end

-- What `workflow resume` and `workflow retry` declare alike: they execute a run that is there, in the project that it began in.
---A run that has completed, and of which nothing is to run again, answers as it did.
---@param go_on fun(project: table, context: string?, id: string) takes up the place where the run began
---@param own table `args` of its own, `codes` and `examples`, perhaps `check`
---@return table
function M.reopening(go_on, own)
	local args = { answer.run }
	table.move(own.args, 1, #own.args, 2, args)
	for _, argument in ipairs {
		{ "force", "boolean", description = "Also if the file has changed or the run was cancelled" },
		{ "retry_in_doubt", "boolean", description = "Run a step again even though it may have finished" },
		start.max_cost_argument, answer.steps, answer.limit,
	} do
		args[#args + 1] = argument
	end
	return {
		timeout = "none", grace = "10s", args = args, columns = answer.columns, rows = "steps",
		exit_codes = answer.run_codes(own.codes), examples = own.examples,
		run = function(given, ctx)
			if own.check then
				own.check(given)
			end
			return M.run(ctx, "resumed", given, function(db)
				local row = db:find(given.id)
				if row.state ~= "completed" or given.failed or given.from then
					go_on(attempt.project, row.context, row.id)
				end
				return start.reopen(db, given)
			end)
		end,
	}
end

return M
