-- placements: the rows of steps that run on an executor (lua/workflow/executors/coordinator.lua):
-- units, their placements and their chunks. Functions take the database, for a transaction of
-- the store (Store:together); the queries are methods of the store. It decides nothing.
--
-- A chunk is planned (to be placed, from due_ms on), placed (its placement is committed),
-- running, or over: completed, failed or doubt. A placement is submitting until it is known
-- that it has arrived, then submitted, and over once all its tasks are accounted for.
-- Times are ms since the epoch.

local M = { queries = {} }

---@class runner.workflow.UnitRow
---@field number integer of the unit, in its run, from 1
---@field executor string
---@field kind string of the executor
---@field per_chunk integer items in a chunk; the last one may have fewer
---@field directory string? the unit's folder, once there is one
---@field settings string? JSON: what it takes to end its placements

---@class runner.workflow.ChunkRow
---@field chunk integer from 1
---@field first integer its first item, from 1
---@field count integer its items; 0: a step that is no loop
---@field state "planned"|"placed"|"running"|"completed"|"failed"|"doubt"
---@field generation integer of its latest placement; 0: it had none
---@field token string? of that placement
---@field task integer? in that placement, from 1
---@field memory integer which of the executor's `memory`, from 1
---@field failures integer placements that were lost, in a row
---@field again integer 1: what has failed for good in it is to be tried once more
---@field due_ms integer? not to be placed before
---@field queued_ms integer?
---@field started_ms integer?
---@field ended_ms integer?
---@field why string? of its latest wait, loss or failure

-- --- units -----------------------------------------------------------------------------------

local NEXT_UNIT = "SELECT coalesce(max(number), 0) + 1 AS number FROM units WHERE run = ?"
local ADD_UNIT = "INSERT INTO units (run, key, number, executor, kind, per_chunk) VALUES (?, ?, ?, ?, ?, ?)"

---Add a unit; it gets the next number of its run.
---@param db runner.workflow.Database
---@param run string
---@param key string of the step
---@param row {executor: string, kind: string, per_chunk: integer}
function M.add_unit(db, run, key, row)
	db:run(ADD_UNIT, run, key, db:row(NEXT_UNIT, run).number, row.executor, row.kind, row.per_chunk)
end

---Where a unit is, and what drives it.
---@param db runner.workflow.Database
---@param run string
---@param key string
---@param row {executor: string, kind: string, directory: string, settings: string}
function M.set_unit(db, run, key, row)
	db:run("UPDATE units SET executor = ?, kind = ?, directory = ?, settings = ? WHERE run = ? AND key = ?", row.executor, row.kind,
		row.directory, row.settings, run, key)
end

local UNIT = "SELECT key, number, executor, kind, per_chunk, directory, settings FROM units WHERE run = ?"

---@param run string
---@param key string
---@return runner.workflow.UnitRow?
function M.queries:unit(run, key)
	return self:_open():row(UNIT .. " AND key = ?", run, key)
end

---The units of a run that have placements which are not over.
---@param run string
---@return runner.workflow.UnitRow[]
function M.queries:live_units(run)
	return self:_open():rows(UNIT .. " AND key IN (SELECT key FROM placements WHERE run = ? AND state <> 'over') ORDER BY number", run, run)
end

---The units of a run: its steps that ran on an executor.
---@param run string
---@return runner.workflow.UnitRow[]
function M.queries:all_units(run)
	return self:_open():rows(UNIT .. " ORDER BY number", run)
end

-- --- chunks ----------------------------------------------------------------------------------

local ADD_CHUNK = "INSERT INTO chunks (run, key, chunk, first, count, state) VALUES (?, ?, ?, ?, ?, 'planned')"
local COLUMNS = { "state", "generation", "token", "task", "memory", "failures", "again", "due_ms", "queued_ms", "started_ms", "ended_ms",
	"why" }
local ALL = "chunk, first, count, " .. table.concat(COLUMNS, ", ")
local UPDATE = ("UPDATE chunks SET %s = ? WHERE run = ? AND key = ? AND chunk = ?"):format(table.concat(COLUMNS, " = ?, "))

---A chunk is planned.
---@param db runner.workflow.Database
---@param run string
---@param key string
---@param chunk runner.workflow.ChunkRow
function M.add_chunk(db, run, key, chunk)
	db:run(ADD_CHUNK, run, key, chunk.chunk, chunk.first, chunk.count)
end

---Write all that may change of a chunk; false is NULL.
---@param db runner.workflow.Database
---@param run string
---@param key string
---@param chunk runner.workflow.ChunkRow
function M.set_chunk(db, run, key, chunk)
	local values, n = {}, #COLUMNS
	for i, name in ipairs(COLUMNS) do
		values[i] = chunk[name] or nil
	end
	values[n + 1], values[n + 2], values[n + 3] = run, key, chunk.chunk
	db:run(UPDATE, table.unpack(values, 1, n + 3))
end

local FAILED_AGAIN = [[
	UPDATE chunks SET again = state = 'failed', state = 'planned', failures = 0, due_ms = NULL
	WHERE run = ? AND key = ? AND state IN ('failed', 'doubt')]]

---A resumed run: what failed, or was in doubt, is to be placed once more.
---@param db runner.workflow.Database
---@param run string
---@param key string
function M.plan_failed(db, run, key)
	db:run(FAILED_AGAIN, run, key)
end

---The chunks of a unit after one, in order, a page of them.
---@param run string
---@param key string
---@param after integer 0: from the first on
---@param most integer
---@return runner.workflow.ChunkRow[]
function M.queries:chunks(run, key, after, most)
	return self:_open():rows("SELECT " .. ALL .. " FROM chunks WHERE run = ? AND key = ? AND chunk > ? ORDER BY chunk LIMIT ?",
		run, key, after, most)
end

-- --- placements ------------------------------------------------------------------------------

local ADD_PLACEMENT = [[
	INSERT INTO placements (token, run, key, number, tasks, memory, state, submitted_ms) VALUES (?, ?, ?, ?, ?, ?, 'submitting', ?)]]

---A placement is about to be submitted.
---@param db runner.workflow.Database
---@param run string
---@param key string
---@param row {token: string, number: integer, tasks: integer, memory: integer, submitted_ms: integer}
function M.add_placement(db, run, key, row)
	db:run(ADD_PLACEMENT, row.token, run, key, row.number, row.tasks, row.memory, row.submitted_ms)
end

local SET_PLACEMENT = "UPDATE placements SET state = ?, job = ?, why = ?, ended_ms = ? WHERE token = ? AND run = ? AND key = ?"

---@param db runner.workflow.Database
---@param run string
---@param key string
---@param row {token: string, state: "submitting"|"submitted"|"over", job: string?, why: string?, ended_ms: integer?}
function M.set_placement(db, run, key, row)
	db:run(SET_PLACEMENT, row.state, row.job, row.why, row.ended_ms, row.token, run, key)
end

local LIVE = [[
	SELECT token, number, tasks, memory, state, job, why, submitted_ms FROM placements
	WHERE run = ? AND key = ? AND state <> 'over' ORDER BY number]]

---The placements of a unit that are not over, oldest first.
---@param run string
---@param key string
---@return table[]
function M.queries:live_placements(run, key)
	return self:_open():rows(LIVE, run, key)
end

---How many placements a unit has had.
---@param run string
---@param key string
---@return integer
function M.queries:last_placement(run, key)
	return self:_open():row("SELECT coalesce(max(number), 0) AS number FROM placements WHERE run = ? AND key = ?", run, key).number
end

-- --- all of a unit ---------------------------------------------------------------------------

---The rows of a unit, as its coordinator uses them.
---@param store runner.workflow.Store
---@param run string
---@param key string
---@return table ledger commit(fn), chunks(after, most), live_placements(), last_placement(), and for
---  fn's database: add_chunk(db, row), set_chunk, add_placement, set_placement
function M.ledger(store, run, key)
	local ledger = {}
	for _, name in ipairs { "add_chunk", "set_chunk", "add_placement", "set_placement" } do
		ledger[name] = function(db, row)
			M[name](db, run, key, row)
		end
	end
	function ledger.commit(fn)
		return store:together(fn)
	end
	function ledger.chunks(after, most)
		return store:chunks(run, key, after, most)
	end
	function ledger.live_placements()
		return store:live_placements(run, key)
	end
	function ledger.last_placement()
		return store:last_placement(run, key)
	end
	return ledger
end

-- --- what its steps have used ------------------------------------------------------------------

---@class runner.workflow.Used
---@field cpu_ms integer of a processor, by all attempts
---@field peak_bytes integer memory of the largest process

local USED_MOST = 1 << 50 -- sums of these are whole numbers

local function is_amount(v)
	return math.type(v) == "integer" and v >= 0 and v <= USED_MOST
end

---What a task says that a step has used; nil: it says nothing of the kind.
---@param v any
---@return runner.workflow.Used?
function M.used(v)
	if type(v) == "table" and is_amount(v.cpu_ms) and is_amount(v.peak_bytes) then
		return { cpu_ms = v.cpu_ms, peak_bytes = v.peak_bytes }
	end
end

-- A number in the JSON of `held`: the quotes of its name can't be a part of a string there.
local function number_in_held(name)
	return ("CAST(substr(s.held, instr(s.held, '\"%s\":') + %d) AS INTEGER)"):format(name, #name + 3)
end

local INSIDE = "%s.key >= u.key AND %s.key < u.key || '\\' AND substr(%s.key, length(u.key) + 1, 1) IN ('', '[', '.', '@')"

-- Of each unit: its items that were measured. The keys of steps inside a unit continue its own; '\' comes after all such keys.
-- What ran here is taken together by the outermost steps, which are no units, nor hold one.
local MEASURED = [[
	SELECT workflow, run, key, count(*) AS measured, sum(cpu_ms) AS cpu_ms, max(peak_bytes) AS peak_bytes, count(nth) AS items,
		sum(spent_ms) AS spent_ms FROM (
		SELECT r.workflow, r.created_ms, u.run, u.key, sum(s.spent_ms) AS spent_ms,
			CASE WHEN substr(s.key, length(u.key) + 1, 1) = '[' THEN CAST(substr(s.key, length(u.key) + 2) AS INTEGER) END AS nth,
			sum(]] .. number_in_held "cpu_ms" .. ") AS cpu_ms, max(" .. number_in_held "peak_bytes" .. [[) AS peak_bytes
		FROM runs r JOIN %s u ON u.run = r.id %s JOIN steps s ON s.run = u.run AND ]] .. INSIDE:format("s", "s", "s") .. [[
		WHERE instr(s.held, '"peak_bytes":') > 0 AND %s GROUP BY u.run, u.key, nth) GROUP BY run, key ORDER BY created_ms]]
local OF_RUN = MEASURED:format("units", "", "r.id = ?")

local CHOSEN = "(?1 IS NULL OR r.workflow = ?1) AND (?2 IS NULL OR r.created_ms >= ?2) AND (?3 IS NULL OR r.project = ?3)"
local OF_RUNS = MEASURED:format("units", "", CHOSEN)
local OF_RUNS_HERE = MEASURED:format("steps", "AND u.key NOT GLOB '*[[.@]*' AND NOT EXISTS (SELECT 1 FROM units p WHERE p.run = u.run AND "
	.. INSIDE:format("p", "p", "p") .. ")", CHOSEN)

-- Chunks that were placed once and completed tell how long an item takes.
local TIMED = "c.state = 'completed' AND c.generation = 1 AND c.ended_ms > c.started_ms"
local FIGURES = ([[
	SELECT r.workflow, u.run, u.key, u.executor, u.kind, u.per_chunk, u.settings, coalesce(sum(c.count), 0) AS items,
		coalesce(sum(CASE WHEN %s THEN c.count END), 0) AS timed, coalesce(sum(CASE WHEN %s THEN c.ended_ms - c.started_ms END), 0) AS timed_ms
	FROM runs r JOIN units u ON u.run = r.id JOIN chunks c ON c.run = u.run AND c.key = u.key
	WHERE c.generation > 0 AND %s GROUP BY u.run, u.key ORDER BY r.created_ms, u.number]]):format(TIMED, TIMED, CHOSEN)

-- What was measured of each unit, added to its row; nothing where nothing was.
local function with_measured(rows, run, measured)
	local known = {}
	for _, row in ipairs(measured) do
		known[row.run .. row.key] = row
	end
	for _, row in ipairs(rows) do
		local found = known[(run or row.run) .. row.key] or {}
		row.measured, row.cpu_ms, row.peak_bytes = found.measured or 0, found.cpu_ms, found.peak_bytes
	end
	return rows
end

---The units of runs, the oldest first: how many of their items were measured, what these used, and how long items took.
---@param opts {workflow?: string, since_ms?: integer, project?: string}
---@return table[]
function M.queries:units_used(opts)
	local db = self:_open()
	return with_measured(db:rows(FIGURES, opts.workflow, opts.since_ms, opts.project), nil,
		db:rows(OF_RUNS, opts.workflow, opts.since_ms, opts.project))
end

---The same of steps without an executor.
---@param opts {workflow?: string, since_ms?: integer, project?: string}
---@return table[]
function M.queries:used_here(opts)
	local rows = self:_open():rows(OF_RUNS_HERE, opts.workflow, opts.since_ms, opts.project)
	for _, row in ipairs(rows) do
		row.executor, row.kind, row.timed, row.timed_ms = "none", "none", row.items, row.spent_ms
	end
	return rows
end

-- --- for people ------------------------------------------------------------------------------

local SUMMARY = [[
	SELECT u.key, u.number, u.executor, u.kind, u.per_chunk, u.directory, count(c.chunk) AS chunks, coalesce(sum(c.count), 0) AS items,
		coalesce(sum(c.state = 'planned'), 0) AS planned, coalesce(sum(c.state = 'placed'), 0) AS queued,
		coalesce(sum(c.state = 'running'), 0) AS running,
		coalesce(sum(c.state = 'completed'), 0) AS completed, coalesce(sum(c.state IN ('failed', 'doubt')), 0) AS failed,
		coalesce(sum(max(c.started_ms - c.queued_ms, 0)), 0) AS queue_ms,
		coalesce(sum(max(c.ended_ms - c.started_ms, 0)), 0) AS run_ms,
		max(c.started_ms - c.queued_ms) AS longest_queue_ms,
		(SELECT count(*) FROM placements p WHERE p.run = u.run AND p.key = u.key) AS placements,
		(SELECT p.why FROM placements p WHERE p.run = u.run AND p.key = u.key AND p.state <> 'over' AND p.why IS NOT NULL
			ORDER BY p.number DESC LIMIT 1) AS why
	FROM units u LEFT JOIN chunks c ON c.run = u.run AND c.key = u.key WHERE u.run = ?
	GROUP BY u.key ORDER BY u.number]]

local BY_EXECUTOR = [[
	SELECT u.executor, u.kind, count(DISTINCT u.run) AS runs, count(*) AS parts, coalesce(sum(c.count), 0) AS items,
		coalesce(sum(max(c.started_ms - c.queued_ms, 0)), 0) AS queue_ms, coalesce(sum(max(c.ended_ms - c.started_ms, 0)), 0) AS run_ms,
		coalesce(sum(c.generation - 1), 0) AS placed_again
	FROM runs r JOIN units u ON u.run = r.id JOIN chunks c ON c.run = u.run AND c.key = u.key
	WHERE c.generation > 0 AND ]] .. CHOSEN .. [[
	GROUP BY u.executor, u.kind ORDER BY parts DESC, u.executor LIMIT 100]]

---What executors did: parts of steps, and ms in the queue and running, summed over them.
---@param opts {workflow?: string, since_ms?: integer, project?: string}
---@return table[]
function M.queries:stats_by_executor(opts)
	return self:_open():rows(BY_EXECUTOR, opts.workflow, opts.since_ms, opts.project)
end

---What the units of a run come to: chunks by state, and ms in the queue and running, summed
---over their chunks; and what was measured of their items.
---@param run string
---@return table[]
function M.queries:units(run)
	local db = self:_open()
	return with_measured(db:rows(SUMMARY, run), run, db:rows(OF_RUN, run))
end

return M
