-- chunk: a task of a placed step: the items of one chunk, or a step that is no loop, run by the
-- engine on this machine, under a fence, with a journal in the shared folder in place of the run
-- database. Order matters: the fence first, then a look at the generation and at an earlier
-- result; a look before it could run what another has just begun.

local attempt = require "runner.core.attempt"
local cost = require "runner.workflow.run.cost"
local doubt = require "runner.workflow.run.doubt"
local resumed_results = require "runner.workflow.run.resumed_results"
local engine = require "runner.workflow.run.engine"
local errors = require "runner.core.errors"
local retry_budget = require "runner.core.retry_budget"
local time_bound = require "runner.workflow.run.time_bound"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local journal = require "runner.workflow.store.journal"
local masks = require "runner.core.mask"
local outputs = require "runner.workflow.run.outputs"
local paths = require "runner.core.paths"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local secrets = require "runner.workflow.run.secrets"
local step_folder = require "runner.workflow.executors.step_folder"

local M = {}

local WARNINGS = 100 -- as many as an envelope has
local LOOK_MS = 5000 -- is the chunk still ours?

-- --- the run, as the engine knows it -------------------------------------------------------------------

local PARKED = errors.new("CANCELLED", "The step waits for longer than its task")
local STARVED = errors.new("CANCELLED", "The step needs more memory than its task has")

-- Of the steps right in an item, or of the step itself, a long wait is left to the coordinator.
local function parking(task)
	local own = "^" .. task.payload.key:gsub("%p", "%%%0") .. (task.loop and "%[%d+%]%.[^.%[]+$" or "$")
	return function(key, wake_ms, wait_ms)
		if wait_ms > (task.payload.wait_here_ms or time_bound.WAIT_HERE_MS) and key:find(own) then
			task.wake_ms = math.min(task.wake_ms or math.maxinteger, math.floor(wake_ms))
			task.wake_at = math.min(task.wake_at or math.huge, host.now() + wait_ms)
			error(PARKED, 0)
		end
	end
end

-- How many processes the kernel has killed for want of memory in our control group; nil: it doesn't say.
local function kills_for_memory()
	local groups = fs.read "/proc/self/cgroup" or ""
	local own, older = groups:match "0::([^\n]*)", groups:match ":memory:([^\n]*)"
	local text = older and fs.read(("/sys/fs/cgroup/memory%s/memory.oom_control"):format(older))
		or own and fs.read(("/sys/fs/cgroup%s/memory.events"):format(own))
	return text and math.tointeger(tonumber(text:match "oom_kill (%d+)"))
end

-- Was a step killed for want of memory? Where the executor has more to give, the task ends.
local function starving(task)
	local before = kills_for_memory()
	return function(result)
		local kills = (result.signal == "SIGKILL" or result.status == 137) and kills_for_memory()
		if not kills or kills == before then
			return false
		end
		before = kills
		if task.memory < (task.payload.sizes or 0) then
			task.starved = STARVED
			task.stop:open()
			scheduler.gate():wait()
		end
		return true
	end
end

local function assemble(task)
	local payload, options = task.payload, task.options
	local mask, hide = masks.masker(payload.secrets)
	host.hide(payload.secrets)
	payload.settings.mask, payload.settings.self = mask, fs.readlink "/proc/self/exe" or "runner"
	return {
		id = payload.run, workflow = payload.workflow, scope = payload.place.scope, seed = payload.seed, mask = mask, hide = hide,
		in_doubt = {}, mark_done = options.mark_done or {}, retry_in_doubt = options.retry_in_doubt, settled = {}, failures = {}, done = 0,
		budget = cost.budget(0), secrets = payload.secrets, settings = payload.settings, park = parking(task), starved = starving(task),
		lock = { handle = function() return task.fence end },
	}
end

-- The warnings of this process are not read: the coordinator gives them.
local function keep_warnings(task)
	local warn, list = attempt.warn, json.array {}
	function attempt.warn(code, message, context)
		list[#list + 1] = #list < WARNINGS and { code = code, message = message } or nil
		return warn(code, message, context)
	end
	task.warnings = list
end

-- --- what this task may still do -------------------------------------------------------------------------

local function raise_replaced(task)
	errors.raise("CONFLICT", ("Chunk %d was placed again: this task is not its own any more"):format(task.chunk),
		{ retryable = false, side_effects = "partial" })
end

local function check(task)
	if task.unit:generation(task.chunk) ~= task.generation then
		raise_replaced(task)
	end
end

local function host_name()
	return ((fs.read "/proc/sys/kernel/hostname" or ""):gsub("%s+$", ""))
end

local function open_journal(task)
	return journal.open(task.unit:path(task.chunk, "journal"), {
		run = task.payload.run, workflow = task.payload.workflow.name, generation = task.generation,
		mine = journal.keys_of { key = task.payload.key, loop = task.loop, first = task.first, count = task.items and #task.items },
		about = { runner = host.launch().version, run = task.payload.run, key = task.payload.key, chunk = task.chunk, host = task.host,
			token = task.token, task = task.index },
		check = function()
			check(task)
		end,
		on_dead = function()
			task.stop:open()
		end,
	})
end

-- Beside the steps: ends all of them at once when nothing can be written any more, or when the
-- chunk is another's by now.
local function watch(task, run)
	scheduler.spawn(function()
		task.stop:wait()
		error(task.starved or run.db.dead, 0)
	end)
	scheduler.spawn(function()
		while true do
			scheduler.sleep(LOOK_MS)
			check(task)
		end
	end)
end

-- --- the items -----------------------------------------------------------------------------------------

local function fields_of(e)
	local out = { code = e.code, message = e.message }
	for name in next, errors.fields do
		out[name] = e[name]
	end
	return out
end

-- The steps of an item: what is noted of it, and its error.
local function run_item(run, task, i, item)
	local payload = task.payload
	local place = { prefix = ("%s[%d]."):format(payload.key, i), suffix = payload.place.suffix,
		scope = scopes.inner_scope(payload.place.scope, { item = item, item_index = i }, true) }
	local outcome = {}
	for _, step in ipairs(payload.step.steps) do
		local given = engine.perform(run, step, place)
		if given then
			outcome = { key = step.key, failed = not given.ok or nil, inside = step.kind == "steps" and given.key or nil }
		end
	end
	return outcome
end

-- One that is over is not run again; one that failed only where the user wants it to.
local function settled_item(run, task, i)
	local noted = task.noted[i]
	if not noted or noted.error and task.again then
		return nil
	elseif noted.error then
		run.failures[noted.error.context and noted.error.context.step_key or ""] = noted.failed
		error(errors.new(noted.error.code, noted.error.message, noted.error), 0)
	end
	return noted
end

local function item_task(run, task, i, item)
	return function()
		local outcome = settled_item(run, task, i)
		if outcome then
			return outcome
		end
		local ok, raised = pcall(run_item, run, task, i, item)
		if ok then
			run.db:note_item(run.id, i, raised)
			return raised
		elseif raised == PARKED then
			return PARKED
		end
		return error(raised, 0)
	end
end

local function note_failure(run, i, raised)
	local e = secrets.hide_in_error(raised, run.mask)
	local outcome = { error = fields_of(e), failed = run.failures[e.context and e.context.step_key] }
	run.db:note_item(run.id, i, outcome)
	return outcome
end

-- The first failure in the order of the items, unless the step goes on after failures. Of the
-- others it is enough that they failed.
local function items_over(task, outcomes)
	local at, list = nil, json.array {}
	for n = 1, #task.items do
		local outcome = outcomes[task.first + n - 1]
		local e = outcome and outcome.error
		at = at or e and not task.payload.step.continue_on_error and outcome or nil
		list[n] = e and { error = outcome == at and e or { code = e.code, message = e.message } } or outcome or false
	end
	return { state = at and "failed" or task.wake_ms and "parked" or "completed", error = at and at.error, failed = at and at.failed,
		items = list }
end

local function run_items(run, task)
	local outcomes, last = {}, 0
	scheduler.each(function()
		last = last + 1
		local item = task.items[last]
		return item ~= nil and item_task(run, task, task.first + last - 1, item) or nil
	end, task.payload.step.parallel or 1, function(n, result)
		local i = task.first + n - 1
		if not result.ok and not run.doubt then
			outcomes[i] = task.noted[i] and task.noted[i].error and not task.again and task.noted[i] or note_failure(run, i, result.error)
		elseif result.ok and result.value ~= PARKED then
			outcomes[i] = result.value
		end
	end, { keep_going = task.payload.step.continue_on_error })
	doubt.check(run)
	return items_over(task, outcomes)
end

-- --- a step that is no loop --------------------------------------------------------------------------------

local function failure_of(run, problem)
	local e = secrets.hide_in_error(problem, run.mask)
	return { state = "failed", error = fields_of(e), failed = run.failures[e.context and e.context.step_key] }
end

local function run_alone(run, task)
	local payload = task.payload
	local row = run.rows[payload.key]
	if row and row.state == "completed" then
		return { state = "completed" }
	elseif row and row.state == "failed" and not task.again then
		return failure_of(run, resumed_results.failure(row))
	end
	local ok, given, problem = pcall(engine.alone, run, payload.step, payload.key, payload.place, row)
	if ok and given then
		return { state = "completed" }
	elseif not ok and given == PARKED then
		return { state = "parked" }
	elseif not ok then
		error(given, 0)
	end
	return failure_of(run, problem)
end

-- --- the whole -----------------------------------------------------------------------------------------------

local function check_cwd(run)
	local cwd = run.settings.cwd
	if host.probe(cwd) ~= "directory" then
		errors.raise("PRECONDITION", ("The working directory %s isn't there on %s"):format(cwd, host_name()), { side_effects = "none",
			fix_required = "Run the workflow in a directory that every machine mounts", suggestion = "runner workflow resume " .. run.id })
	end
end

local function work(run, task)
	check_cwd(run)
	return task.loop and run_items(run, task) or run_alone(run, task)
end

-- A doubt, what keeps the steps from running here, and too little memory are results; that nothing can be
-- written any more is none.
local function outcome_of(run, ok, value)
	if ok then
		return value
	elseif value == STARVED then
		return { state = "memory" }
	elseif type(value) == "userdata" or run.db.dead then
		error(run.db.dead or value, 0)
	elseif run.doubt then
		local found = failure_of(run, run.doubt)
		found.state = "doubt"
		return found
	end
	return failure_of(run, value)
end

local function drive(run, task)
	local ok, value = pcall(scheduler.run, function()
		watch(task, run)
		return work(run, task)
	end, function()
		run.db:flush()
	end)
	local outcome = outcome_of(run, ok, value)
	run.db:stop(run.id, "cut_off") -- steps around those that wait, or are in doubt
	outcome.generation, outcome.bytes, outcome.wake_ms = task.generation, run.db.bytes, outcome.state == "parked" and task.wake_ms or nil
	outcome.wait_ms = outcome.wake_ms and math.max(math.floor(task.wake_at - host.now()), 0)
	outcome.warnings = task.warnings[1] and run.mask(task.warnings) or nil
	outcome.host, outcome.started_ms, outcome.ended_ms = task.host, task.started_ms, host.wall_ms()
	return outcome
end

-- Cancelled, as by a time limit of the site: what has completed is, the rest goes on in another task.
local function cut_off(run)
	engine.collect(run)
	if not run.db.dead then
		run.db.on_dead = function() end -- nothing is left that could be stopped
		pcall(run.db.stop, run.db, run.id, "cut_off") -- which who was replaced meanwhile can't
	end
end

local function begin(task)
	local run = assemble(task)
	retry_budget.follow { retries_given = task.payload.retries, retry_delay_ms = task.payload.retry_delay_ms }
	keep_warnings(task)
	paths.keep_elsewhere(run.id, task.unit:path(task.chunk, "out"), task.unit:path(task.chunk, "logs"))
	run.db, task.noted = open_journal(task)
	if not run.db then
		return nil
	end
	run.db:stop(run.id, "doubt") -- what an earlier task left
	run.rows, run.in_doubt = cost.rows(run.db, run.id), run.db:steps_in_doubt(run.id)
	outputs.sweep(run.id)
	return run
end

local function answer(task, state, outcome)
	return { effect = outcome and "created" or "noop", state = state, chunk = task.chunk, generation = task.generation, host = task.host,
		run = task.payload and task.payload.run, key = task.payload and task.payload.key }
end

local function loaded(task)
	task.payload = task.unit:payload()
	task.loop = task.payload.step.kind == "foreach"
	if task.loop then
		task.first, task.items = task.unit:items(task.chunk)
	end
	return task
end

---Run a task of a placement to its end, and write its result. The answer's state says what
---happened: that of the result; "held": another task runs the chunk; "replaced": it was placed
---again; "over": it has a result; "begun": a task of this placement has begun before, and only the
---next placement may go on. Raises what kept the task from writing a result.
---@param ctx runner.Context
---@param dir string the unit's folder, absolute
---@param token string of the placement
---@param index integer which of its tasks, from 1
---@return table data
function M.run(ctx, dir, token, index)
	local unit = step_folder.open(dir)
	local task = unit:task(token, index)
	task.unit, task.token, task.index = unit, token, index
	task.host, task.started_ms, task.stop = host_name(), host.wall_ms(), scheduler.gate()
	task.fence = unit:take(task.chunk)
	if not task.fence then
		return answer(task, "held")
	elseif unit:generation(task.chunk) ~= task.generation then
		return answer(task, "replaced")
	end
	local known = unit:result(task.chunk)
	if known and known.generation == task.generation then
		return answer(task, "over")
	end
	local run, over = begin(loaded(task)), false
	if not run then
		return answer(task, "begun")
	end
	run.waited_ms = known and known.generation == task.generation - 1 and known.wake_ms
	ctx:defer(function()
		if not over then
			cut_off(run)
		end
	end)
	local ok, outcome = pcall(drive, run, task)
	over = ok or type(outcome) ~= "userdata"
	if not ok then
		error(outcome, 0)
	end
	check(task)
	unit:put_result(task.chunk, outcome)
	return answer(task, outcome.state, outcome)
end

return M
