-- placed: a step that `on` places on an executor, as the engine sees it: its items, or all of it,
-- run by tasks elsewhere, and its results come in the order of the items. This makes the world of
-- the coordinator (lua/workflow/executors/coordinator.lua): rows, folder, place, import.

local attempt = require "runner.core.attempt"
local coordinator = require "runner.workflow.executors.coordinator"
local doubt = require "runner.workflow.run.doubt"
local resumed_results = require "runner.workflow.run.resumed_results"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local time_bound = require "runner.workflow.run.time_bound"
local fs = require "runner.fs"
local loop = require "runner.workflow.run.loop"
local host = require "runner.host"
local import = require "runner.workflow.run.import"
local json = require "runner.json"
local tolerated_failures = require "runner.workflow.run.tolerated_failures"
local paths = require "runner.core.paths"
local placements = require "runner.workflow.store.placements"
local scheduler = require "runner.task.scheduler"
local registry = require "runner.workflow.executors.registry"
local sizes = require "runner.workflow.executors.sizes"
local step_folder = require "runner.workflow.executors.step_folder"
local tables = require "runner.core.tables"

local M = {}

local PER_CHUNK, PER_CHUNK_MAX = 100, 1000 -- items of a chunk where their number is unknown; at most
local ROUNDS = 4 -- chunks for each task that runs at once, so that the last ones end together
local END_MS = 8000 -- until what was cancelled has to be gone: within the grace of `workflow run`

-- --- its executor --------------------------------------------------------------------------------

-- What it takes to end its placements, also where the workflow file has changed since.
local KEPT = { "name", "kind", "poll_ms", "submit_rate", "directory", "via", "runner", "submit", "states", "cancel" }

-- How many processes of a task may run side by side, as far as its step says.
local function side_by_side(step)
	local most, all = 1, 0
	for _, inner in ipairs(step.steps or {}) do
		local n = side_by_side(inner)
		most, all = math.max(most, n), all + n
	end
	if step.kind == "parallel" then
		return math.max(1, math.min(all, (step.limit or all) * most))
	end
	return most * (step.kind == "foreach" and step.parallel or 1)
end

local function settings_of(executor, step)
	local kept = { at_once = executor.at_once, side_by_side = side_by_side(step) }
	for _, name in ipairs(KEPT) do
		kept[name] = executor[name]
	end
	return assert(json.encode(kept))
end

local function raise_no_directory()
	errors.raise("PRECONDITION", "No directory for placed steps: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

-- The directory among our own files: of kind local, and for copies of what ssh reaches.
local function own_directory()
	local directory = (paths.state() or raise_no_directory()) .. "/placed"
	local ok, message = fs.mkdirs(directory, 448, true)
	if not ok then
		errors.raise("PRECONDITION", message, { fix_required = "Make the state directory writable" })
	end
	return directory
end

local function executor_of(run, step)
	local executor = (run.workflow.executors or {})[step.on]
	if not executor or executor.faulty then
		errors.raise("PRECONDITION", ("Step %s: there is no executor '%s'"):format(step.key, step.on))
	end
	executor = sizes.with(executor, step.resources)
	return executor.directory and executor or setmetatable({ directory = own_directory() }, { __index = executor })
end

-- --- its rows --------------------------------------------------------------------------------------

-- As the step says, or as many items that each task has several chunks; not more than fit into its time.
local function per_chunk(step, executor, items)
	if step.chunk then
		return step.chunk
	end
	local count = items and items.stored and #items.stored or 0
	local tasks = (executor.at_once or 16) * ROUNDS
	local wanted = count == 0 and PER_CHUNK or math.min(math.ceil(count / tasks), PER_CHUNK_MAX)
	return math.max(1, items and math.min(wanted, time_bound.most(step, executor)) or wanted)
end

local function raise_elsewhere(run, key, row, step)
	errors.raise("CONFLICT", ("Step %s was placed on '%s', and still is; it can't go on on '%s'"):format(key, row.executor, step.on),
		{ suggestion = ("End it first: runner workflow cancel %s; then: runner workflow resume %s --force"):format(run.id, run.id) })
end

local function raise_moved(key, was)
	errors.raise("PRECONDITION", ("Step %s: its tasks began in %s on %s; they can't go on elsewhere"):format(key, was.directory,
		was.via or "this machine"),
		{ fix_required = "Give the executor the via and the directory that it had; else run the workflow again" })
end

local function folder_of(run, step, key, place, executor, row)
	local was = row.settings and assert(json.decode(row.settings))
	if was and was.via ~= executor.via or was and was.via and was.directory ~= executor.directory then
		raise_moved(key, was)
	elseif executor.via then
		return require("runner.workflow.executors.mirror").create(run, step, key, place, executor, row.number, own_directory(), row.directory)
	end
	return step_folder.create(run, step, key, place, executor, row.number, row.directory)
end

local function warn_left(run, key, executor, count)
	attempt.warn("TASKS_LEFT", ("Step %s: %s of its tasks may still run on %s"):format(key, count or "some", executor.name),
		{ step = key, run = run.id })
end

-- The unit's row is there before its folder, and its folder before any placement.
local function unit_of(run, step, key, place, executor, items)
	local row = run.db:unit(run.id, key)
	if row and row.executor ~= step.on and #run.db:live_placements(run.id, key) > 0 then
		raise_elsewhere(run, key, row, step)
	end
	run.db:together(function(db)
		if not row then
			placements.add_unit(db, run.id, key, { executor = step.on, kind = executor.kind, per_chunk = per_chunk(step, executor, items) })
		end
		placements.plan_failed(db, run.id, key)
	end)
	row = row or run.db:unit(run.id, key)
	local ok, unit = pcall(folder_of, run, step, key, place, executor, row)
	if not ok and type(unit) == "table" and #run.db:live_placements(run.id, key) > 0 then -- of an earlier process
		warn_left(run, key, executor)
		unit.side_effects = "partial"
	end
	unit = ok and unit or error(unit, 0)
	run.db:together(placements.set_unit, run.id, key, { executor = step.on, kind = executor.kind, directory = unit.dir,
		settings = settings_of(executor, step) })
	return unit, row
end

-- --- the world of its coordinator -------------------------------------------------------------------

local function token_of(run_id, number)
	local base = ("rn-%s-%d."):format(run_id:sub(-10):gsub("[^%w]", "-"), number)
	return function(n)
		return base .. n
	end
end

-- Waits, unless its place says that something has changed.
local function sleeper(place)
	local gate, woken = scheduler.gate(), false
	place.changed = function()
		woken = true
		gate:open()
	end
	return function(ms)
		local over = false
		if not woken then
			scheduler.after(ms, function()
				if not over then
					gate:open()
				end
			end)
			gate:wait()
			over = true
		end
		local was = woken
		woken = false
		return was
	end
end

local NOTE_MS = 2000 -- between two lines about a step

local function count_states(c)
	local running, why = 0, nil
	for _, chunk in pairs(c.chunks) do
		running = running + (chunk.state == "running" and 1 or 0)
	end
	for _, row in pairs(c.placements) do
		why = why or row.why
	end
	return running, why or c.unreachable and c.unreachable.message
end

-- What is placed of it, in words; the same ones are not said again.
local function noter(run, key)
	local said, at = nil, 0
	return function(c)
		if host.now() < at then
			return
		end
		local running, why = count_states(c)
		local text = ("%d of %d%s parts done, %d running, %d waiting%s"):format(c.completed, c.total, c.more and "+" or "", running,
			c.placed - running, why and (": %s"):format(why) or "")
		at = host.now() + NOTE_MS
		if text ~= said then
			said = text
			events.placed(run, key, text)
		end
	end
end

local function options_of(run)
	return (run.retry_in_doubt or next(run.mark_done)) and { retry_in_doubt = run.retry_in_doubt, mark_done = run.mark_done } or nil
end

local function world_of(run, unit, row, executor)
	local place = registry.of(run, executor)
	local program = executor.runner or run.settings.self
	return {
		now = host.now, wall = host.wall_ms, sleep = sleeper(place), place = place, unit = unit, executor = executor,
		argv = function(token) return { program, "workflow", "chunk", unit.dir, token } end,
		token = token_of(run.id, row.number), per_chunk = row.per_chunk, options = options_of(run),
		ledger = placements.ledger(run.db, run.id, row.key),
		import = function(chunk, also) return import.chunk(run, unit, chunk.chunk, chunk.generation, also) end,
		deliver = function() end,
		check = function() doubt.check(run) end,
		note = noter(run, row.key),
	}
end

local TAKE_MS = 2000 -- for a coordinator that has just been killed

-- The run's own lock is in the state directory, which another login node may not share.
local function own(run, key, unit)
	local path = unit.dir .. "/coordinator.lock"
	local lock, why, about = fs.lock(path, { wait_ms = TAKE_MS })
	if lock then
		return setmetatable({}, { __close = function() lock:release() end })
	elseif why ~= "held" then
		errors.raise("PRECONDITION", why, { fix_required = "Make the shared directory writable" })
	end
	errors.raise("LOCK_HELD", ("Step %s of run %s is coordinated by another process"):format(key, run.id),
		{ retryable = false, suggestion = "Wait for it to end, or end it on its machine", context = { run = run.id, step_key = key,
			owner_pid = about and about.pid, lock_file = path } })
end

-- The host of ssh may not be there just now.
local function warn_secrets(run, key, unit, problem)
	if problem then
		attempt.warn("SECRETS_LEFT", ("Step %s: its secrets may still be on %s: %s; to remove them: runner workflow cancel %s"):format(key,
			unit.executor.via, problem.message, run.id), { step = key, run = run.id })
	end
end

-- The first problem of the unit; a doubt ends the run.
local function run_unit(run, key, world)
	run.placed = run.placed or {}
	run.placed[key] = world
	local _ <close> = own(run, key, world.unit)
	local ok, problem, left = pcall(coordinator.run, world)
	local is_known = ok
	if type(problem) == "userdata" then
		error(problem, 0) -- a cancellation: M.cut_off ends what runs
	end
	if not ok then -- something else has ended the run: nothing would watch these tasks
		world.unit.lenient = true
		is_known, left = pcall(coordinator.cancel, world, END_MS)
	end
	run.placed[key] = nil
	registry.close(world.place)
	if problem and (not is_known or left[1]) then
		warn_left(run, key, world.executor, is_known and #left)
	elseif problem then
		warn_secrets(run, key, world.unit, world.unit:forget())
	end
	if not ok then
		error(problem, 0)
	end
	if problem and problem.code == doubt.CODE then
		run.doubt = run.doubt or problem
	end
	doubt.check(run)
	if problem and not run.failures[problem.context and problem.context.step_key or ""] then
		problem.context = problem.context or {}
		problem.context.step_key = problem.context.step_key or key
		run.failures[problem.context.step_key] = { key = problem.context.step_key, transient = problem.context.transient or false }
	end
	return problem
end

-- --- for the engine ----------------------------------------------------------------------------------

-- What keeps a step from running on its executor is the step's failure.
local function try(run, f, ...)
	local ok, problem, outcome, left = pcall(f, run, ...)
	if type(problem) == "userdata" then
		error(problem, 0) -- a cancellation
	end
	doubt.check(run)
	if not ok then
		return errors.normalise(problem)
	end
	return problem, outcome, left
end

local function run_items(run, step, key, place, items)
	local executor = executor_of(run, step)
	local unit, row = unit_of(run, step, key, place, executor, items)
	local world = world_of(run, unit, row, executor)
	local first, told, problem = 1, {}, nil -- of the chunk whose results come
	local all = loop.gather(run, key, function(i) return { item = told[i - first + 1] } end)
	local take = all.in_order(function(result)
		problem = problem or tolerated_failures.problem(step, result, all.tally(), items.total)
		events.item(run, key, result.ok)
	end)
	world.next_item = items.next
	world.deliver = function(chunk, results)
		first, told = unit:items(chunk)
		for i, result in results do
			take(i, result)
		end
	end
	problem = run_unit(run, key, world) or problem or tolerated_failures.exceeded(step, all.tally(), all.tally().total)
	return problem, not problem and all.finish() or nil
end

---Run the items of a loop elsewhere.
---@param run table
---@param step runner.workflow.Step with `on`
---@param key string
---@param place runner.workflow.Place
---@param items runner.workflow.Items
---@return runner.Error? problem, table? outcome of all of them, as lua/workflow/run/loop.lua makes it
function M.items(run, step, key, place, items)
	return try(run, run_items, step, key, place, items)
end

-- What its inner steps leave to those that follow, and its result from theirs.
local function recall(run, step, key, place, problem)
	local rows = setmetatable({}, { __index = function(_, other)
		return run.db:step(run.id, other)
	end })
	if rows[key] then
		local read = problem and resumed_results.left_of or resumed_results.pass_over
		return read(setmetatable({ rows = rows }, { __index = run }), step, key, place, rows[key])
	end
end

local function run_whole(run, step, key, place)
	local executor = executor_of(run, step)
	local unit, row = unit_of(run, step, key, place, executor)
	local world = world_of(run, unit, row, executor)
	local import_one, latest = world.import, nil
	world.import = function(...)
		latest = import_one(...)
		return latest
	end
	local problem = run_unit(run, key, world)
	local _, result
	if latest then
		_, result = latest.results()
	end
	local given, left = result and result.value, result and result.left
	if problem and step.kind == "steps" then
		left = recall(run, step, key, place, problem) or left
	elseif step.steps then
		given = recall(run, step, key, place) or given
	end
	if not problem then
		M.over(run, key)
	end
	return problem, given, left
end

---Run a step elsewhere that is no loop, without what follows it.
---@param run table
---@param step runner.workflow.Step with `on`
---@param key string
---@param place runner.workflow.Place
---@return table? given, runner.Error? problem, table? left of a failure: its result
function M.whole(run, step, key, place)
	local problem, given, left = try(run, run_whole, step, key, place)
	return not problem and given or nil, problem, left
end

local function unit_of_row(run, row)
	local executor = assert(json.decode(row.settings))
	return executor.via and require("runner.workflow.executors.mirror").at(row.directory, executor, run.id, row.number)
		or step_folder.at(row.directory), executor
end

---All of a step's results are in the database: what its tasks needed goes.
---@param run table
---@param key string
function M.over(run, key)
	scheduler.settled()
	local row = run.db:unit(run.id, key)
	local unit = row and row.directory and unit_of_row(run, row)
	warn_secrets(run, key, unit, unit and unit:finish())
end

-- --- the end from outside --------------------------------------------------------------------------------

-- From its rows alone: no step of the file is needed, and its executor is the one that it was placed on.
local function world_of_row(run, row)
	local unit, executor = unit_of_row(run, row)
	local place = registry.open(executor)
	place.run = run.id
	return { executor = executor, unit = unit, place = place, deliver = function() end, now = host.now, wall = host.wall_ms,
		sleep = scheduler.sleep, per_chunk = row.per_chunk, ledger = placements.ledger(run.db, run.id, row.key),
		token = token_of(run.id, row.number), import = function(chunk, also)
			unit.about = unit.about or step_folder.open(row.directory).about
			return import.chunk(run, unit, chunk.chunk, chunk.generation, also)
		end }
end

-- What keeps it from being ended; nil: nothing of it runs, and its secrets are gone, or their place is said.
local function end_unit(run, row, is_live)
	return scheduler.run(function()
		local world = world_of_row(run, row)
		local ok, left = true, {}
		if is_live then
			ok, left = pcall(coordinator.cancel, world, END_MS)
		end
		if ok and not left[1] then
			return warn_secrets(run, row.key, world.unit, world.unit:forget())
		elseif type(left) == "userdata" then
			error(left, 0) -- a cancellation
		end
		return { key = row.key, executor = world.executor, problem = not ok and errors.normalise(left) or nil }
	end)
end

---End all placements of a run, with proof: the queue knows them no more, and no fence is held. Secrets that its tasks needed go, too.
---@param run {id: string, db: runner.workflow.Store, failures: table} owned
---@param key? string only those of this step
---@return {key: string, executor: table, problem: runner.Error?}[] left steps of which something may still run, and what is in the way
function M.end_all(run, key)
	local left, live = {}, {}
	for _, row in ipairs(run.db:live_units(run.id)) do
		live[row.key] = true
	end
	for _, row in ipairs(run.db:all_units(run.id)) do
		local is_wanted = not key or key == row.key
		if is_wanted and row.directory and (live[row.key] or step_folder.at(row.directory):holds_secrets()) then
			left[#left + 1] = end_unit(run, row, live[row.key])
		end
	end
	return left
end

---The run is cut off: end what it has placed, and say what may still run.
---@param run table
function M.cut_off(run)
	for _, one in ipairs(M.end_all(run)) do
		warn_left(run, one.key, one.executor)
	end
end

---Raises where something may still run: why, as far as that is known.
---@param left table[] as end_all returns it
---@param again string the command that tries it again
---@param fields? table of the error
function M.check_ended(left, again, fields)
	local keys, problem = {}, nil
	for i, one in ipairs(left) do
		keys[i], problem = one.key, problem or one.problem
	end
	if keys[1] then
		local why = problem and problem.message or "their executor does not say that they have ended"
		errors.raise(problem and problem.code or "UNAVAILABLE", ("Tasks of step %s may still run: %s"):format(table.concat(keys, ", step "), why),
			tables.add({ retryable = not problem, side_effects = "partial", suggestion = "Try again: " .. again,
				fix_required = problem and (problem.fix_required or problem.suggestion) }, fields))
	end
end

---The user has decided that a step is done: nothing of it may run any more.
---@param run table
---@param key string
function M.give_up(run, key)
	M.check_ended(M.end_all(run, key), ("runner workflow resume %s --mark-done %s"):format(run.id, key),
		{ retryable = false, context = { step_key = key } })
end

return M
