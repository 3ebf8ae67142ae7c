-- writes: what each writing method of the store (lua/workflow/store/store.lua) writes, as
-- name → function(now, …). That encodes its arguments at once, so that a value that can't be
-- stored raises where it comes from, and returns function(db) for the transaction.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local find = require "runner.workflow.store.find"
local json = require "runner.json"
local paths = require "runner.core.paths"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"
local tables = require "runner.core.tables"
local usage = require "runner.workflow.store.usage"

local M = {}

-- --- columns -------------------------------------------------------------------------------

---@class runner.workflow.Columns the names that a caller may use, in the order in which they are written
---@field [integer] string
---@field known table<string, true>

local function columns(names)
	local list = { known = {} }
	for name in names:gmatch "%S+" do
		list[#list + 1], list.known[name] = name, true
	end
	return list
end

local RUN_COLUMNS = columns [[workflow file digest source_id cwd variables env_names seed state retryable code message
	failed_step request_id owner created_ms updated_ms ended_ms resumes errexit max_cost_micros
	given_cost_micros given_on context surroundings project recover askers concurrency turn subject actors]]
local STEP_COLUMNS = columns [[id kind label round attempts spent_ms wake_ms wait_ms output data held status code message
	started_ms ended_ms item]]

-- What a state implies for columns that its caller doesn't set; "now" is the time.
local NULL = json.null
local RUN_ENDS = { ended_ms = "now" }
local RUN_STATES = {
	running = { ended_ms = NULL, retryable = NULL, code = NULL, message = NULL, failed_step = NULL },
	completed = { ended_ms = "now", retryable = NULL, code = NULL, message = NULL, failed_step = NULL },
	failed = RUN_ENDS, interrupted = RUN_ENDS, cancelled = RUN_ENDS,
}
local STEP_ENDS = { ended_ms = "now", wake_ms = NULL, wait_ms = NULL }
local STEP_ENDS_WELL = { ended_ms = "now", wake_ms = NULL, wait_ms = NULL, code = NULL, message = NULL }
local STEP_STATES = {
	running = { ended_ms = NULL, wake_ms = NULL, wait_ms = NULL, status = NULL, code = NULL, message = NULL },
	waiting = { ended_ms = NULL },
	completed = STEP_ENDS_WELL, skipped = STEP_ENDS_WELL,
	failed = STEP_ENDS, interrupted = STEP_ENDS,
}

-- The fields, and those of the defaults that they don't have.
local function merged(defaults, fields)
	local all = tables.add({}, defaults)
	return tables.add(all, fields)
end

-- The fields, completed with what the state implies.
local function with_state(fields, states, state, now)
	local all = merged(states[state] or error(("unknown state '%s'"):format(tostring(state)), 4), fields)
	if all.ended_ms == "now" then
		all.ended_ms = now
	end
	return all
end

local function check_names(fields, known)
	for name in next, fields do
		if not known[name] then
			error(("unknown field '%s'"):format(tostring(name)), 5)
		end
	end
end

-- What the fields store, in the order of the columns, and which columns these are, as a set of bits.
local function values_of(fields, list)
	local values, n, set, encode = {}, 0, 0, codec.encode
	check_names(fields, list.known)
	for i = 1, #list do
		local name = list[i]
		local value = fields[name]
		if value ~= nil then
			n, set = n + 1, set | 1 << i
			values[n] = encode(name, value)
		end
	end
	values.n = n
	return values, set
end

local function each(names, template, separator)
	local parts = {}
	for i, name in ipairs(names) do
		parts[i] = template:gsub("NAME", name)
	end
	return table.concat(parts, separator)
end

-- SQL made of the names of such a set, made once for each.
local function remembered(list, make)
	local function made(set)
		local names = {}
		for i, name in ipairs(list) do
			names[#names + 1] = set & 1 << i ~= 0 and name or nil
		end
		names.set = set
		return make(names)
	end
	return setmetatable({}, { __index = function(self, set)
		self[set] = made(set)
		return self[set]
	end })
end

-- --- runs ------------------------------------------------------------------------------------

local update_run_sql = remembered(RUN_COLUMNS, function(names)
	return ("UPDATE main.runs SET %s WHERE id = ?"):format(each(names, "NAME = ?", ", "))
end)
local insert_run_sql = remembered(RUN_COLUMNS, function(names)
	return ("INSERT INTO main.runs (%s, id) VALUES (%s?)"):format(table.concat(names, ", "), ("?, "):rep(#names))
end)

local function update_run(db, id, fields)
	local values, set = values_of(fields, RUN_COLUMNS)
	values[values.n + 1] = id
	if db:run(update_run_sql[set], table.unpack(values, 1, values.n + 1)) == 0 then
		find.raise_unknown(id)
	end
end

-- The same text is stored once.
local function source_id(db, digest, source)
	if not source then
		return nil
	end
	digest = digest or ""
	local known = db:row("SELECT id FROM sources WHERE digest = ? AND source = ?", digest, source)
	return known and known.id
		or db:row("INSERT INTO sources (digest, source) VALUES (?, ?) RETURNING id", digest, source).id
end

-- After all that have had one.
local function next_turn(db, key)
	return type(key) == "string" and db:row("SELECT coalesce(max(turn), 0) + 1 AS turn FROM main.runs WHERE concurrency = ?", key).turn or nil
end

local function insert_run(db, now, run)
	if db:row("SELECT 1 FROM main.runs WHERE id = ?", run.id) then
		errors.raise("CONFLICT", ("Run '%s' already exists"):format(run.id), { context = { run = run.id } })
	end
	local fields = with_state(run, RUN_STATES, run.state or "running", now)
	fields.id, fields.source = nil, nil
	fields.state = run.state or "running"
	fields.project, fields.subject = run.project or scope.project(), scope.subject()
	fields.source_id, fields.turn = source_id(db, run.digest, run.source), next_turn(db, run.concurrency)
	fields.created_ms, fields.updated_ms = run.created_ms or now, run.updated_ms or now
	local values, set = values_of(fields, RUN_COLUMNS)
	values[values.n + 1] = run.id
	db:run(insert_run_sql[set], table.unpack(values, 1, values.n + 1))
end

-- guard: may raise, so that nothing is written
function M.create(now, run, guard)
	return function(db)
		local _ = guard and guard()
		insert_run(db, now, run)
	end
end

local DOUBT = { code = "STEP_IN_DOUBT", message = "was running when its runner died" }
local CUT_OFF = { code = "CANCELLED", message = "was cut off when its run was interrupted" }

local RUNNING = "SELECT key FROM steps WHERE run = ? AND state = 'running'"
local STOP_ATTEMPT = [[
	UPDATE attempts SET ended_ms = ?, code = ?, message = ?
	WHERE run = ? AND key = ? AND ended_ms IS NULL AND code IS NULL]]
local STOP_STEP = [[
	UPDATE steps SET state = 'interrupted', ended_ms = ?, code = ?, message = ? WHERE run = ? AND key = ?]]

-- A step is not running any more. When an attempt in doubt ended is unknown. A step without
-- an open attempt holds other steps: it is only left unfinished.
local function stop_step(db, now, id, key, how)
	local open = db:run(STOP_ATTEMPT, how ~= DOUBT and now or nil, how.code, how.message, id, key) > 0
	local of_step = open and how or CUT_OFF
	db:run(STOP_STEP, now, of_step.code, of_step.message, id, key)
end

local function stop_steps(db, now, id, how)
	for _, row in ipairs(db:rows(RUNNING, id)) do
		stop_step(db, now, id, row.key, how)
	end
end

-- how: "doubt"|"cut_off"
function M.stop_step(now, id, key, how)
	return function(db)
		stop_step(db, now, id, key, how == "doubt" and DOUBT or CUT_OFF)
	end
end

-- Its run goes on, with what follows the end of the steps.
function M.end_steps(now, id)
	return function(db)
		stop_steps(db, now, id, CUT_OFF)
	end
end

function M.settle(now, id)
	return function(db)
		stop_steps(db, now, id, DOUBT)
	end
end

-- Steps that will not run any more: inside one that is marked done, or gone from the file.
-- Their attempts still say what became of them.
local LEAVE = [[
	UPDATE steps SET state = 'skipped', ended_ms = coalesce(ended_ms, ?2), wake_ms = NULL, wait_ms = NULL, code = NULL,
		message = ?3
	WHERE run = ?1 AND state IN ('interrupted', 'waiting')]]
local LEAVE_INSIDE = LEAVE .. " AND substr(key, 1, length(?4) + 1) IN (?4 || '[', ?4 || '.', ?4 || '@')"

function M.leave_inside(now, id, key, message)
	local base = reference.split(key)
	return function(db)
		db:run(LEAVE_INSIDE, id, now, message, base)
	end
end

local function set_run(db, now, id, fields)
	if fields.state == "completed" then
		db:run(LEAVE, id, now, "was left unfinished when its run completed")
	end
	if fields.state then
		stop_steps(db, now, id, DOUBT)
	end
	local all = fields.state and with_state(fields, RUN_STATES, fields.state, now) or merged({}, fields)
	all.updated_ms = all.updated_ms or now
	all.source_id, all.turn = source_id(db, all.digest, all.source), next_turn(db, all.concurrency)
	all.source = nil
	update_run(db, id, all)
end

function M.set_run(now, id, fields, guard)
	return function(db)
		local _ = guard and guard()
		set_run(db, now, id, fields)
	end
end

function M.interrupt(now, id, fields)
	local all = merged({ state = "interrupted", code = "CANCELLED" }, fields)
	return function(db)
		stop_steps(db, now, id, CUT_OFF)
		set_run(db, now, id, all)
	end
end

-- --- steps -----------------------------------------------------------------------------------

local UPDATE_STEP = "UPDATE steps SET state = ?, %s WHERE run = ? AND key = ?"
local INSERT_STEP = [[
	INSERT INTO steps (state, %s, run, key, position)
	VALUES (?%s, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM steps WHERE run = ?))]]
local KNOWN = "SELECT 1 FROM runs WHERE id = ?"

local update_restarting = remembered(STEP_COLUMNS, function(names)
	return UPDATE_STEP:format(each(names, "NAME = ?", ", "))
end)
local update_going_on = remembered(STEP_COLUMNS, function(names)
	return (update_restarting[names.set]:gsub("started_ms = %?", "started_ms = coalesce(started_ms, ?)", 1))
end)
local insert_step = remembered(STEP_COLUMNS, function(names)
	return INSERT_STEP:format(table.concat(names, ", "), (", ?"):rep(#names))
end)

-- A step that is not known yet; its run has to be.
local function add_step(db, id, state, set, values)
	if not db:row(KNOWN, id) then
		find.raise_unknown(id)
	end
	values[values.n + 3] = id
	db:run(insert_step[set], state, table.unpack(values, 1, values.n + 3))
end

-- Its values, for an UPDATE and, with the run once more, for an INSERT.
function M.set_step(now, id, step, state, fields)
	local all = with_state(fields, STEP_STATES, state, now)
	all.id, all.kind, all.label, all.item = step.id, step.kind, step.label, step.item
	all.started_ms = all.started_ms or now
	local values, set = values_of(all, STEP_COLUMNS)
	local sql = (fields and fields.started_ms and update_restarting or update_going_on)[set]
	values[values.n + 1], values[values.n + 2] = id, step.key
	return function(db, is_new)
		if is_new or db:run(sql, state, table.unpack(values, 1, values.n + 2)) == 0 then
			add_step(db, id, state, set, values)
		end
	end
end

local UNWARN = "DELETE FROM warnings WHERE run = ? AND key = ?"
local PUT_BACK = [[
	UPDATE steps SET state = 'waiting', round = round + 1, attempts = 0, spent_ms = 0, wake_ms = NULL, wait_ms = NULL, status = NULL,
		code = NULL, message = NULL, ended_ms = NULL, output = NULL, held = NULL, data = ?3, started_ms = ?4
	WHERE run = ?1 AND ]]
local AND_INSIDE = "(key = ?2 OR substr(key, 1, length(?2) + 1) IN (?2 || '[', ?2 || '.', ?2 || '@'))"
local UNWARN_INSIDE = "DELETE FROM warnings WHERE run = ?1 AND " .. AND_INSIDE

-- how: of the step alone, which has begun; nil: it and all that is inside of it have not, but for what has followed earlier failures
function M.put_back(_, id, key, how)
	local data = how and codec.encode("data", how.data)
	return function(db)
		db:run(PUT_BACK .. (how and "key = ?2" or AND_INSIDE .. " AND instr(key, '.on_failure.') = 0"), id, key, data, how and how.started_ms)
		db:run(how and UNWARN or UNWARN_INSIDE, id, key)
	end
end

local WARN = "INSERT OR REPLACE INTO warnings (run, key, code, message, context) VALUES (?, ?, ?, ?, ?)"

-- warning: nil where there is none any more
function M.warn_step(_, id, key, warning)
	local context = warning and json.encode(warning.context)
	return function(db)
		if warning then
			db:run(WARN, id, key, warning.code, warning.message, context)
		else
			db:run(UNWARN, id, key)
		end
	end
end

-- --- attempts ----------------------------------------------------------------------------------

local BEFORE = "SELECT round, attempts, spent_ms FROM steps WHERE run = ? AND key = ?"
local LAST_NUMBER = "SELECT coalesce(max(number), 0) AS number FROM attempts WHERE run = ? AND key = ?"
local ADD_ATTEMPT = [[
	INSERT INTO attempts (run, key, number, round, nth, log, started_ms) VALUES (?, ?, ?, ?, ?, ?, ?)]]

-- A log where it belongs needs no name; of one in the file of short successes, "@" and its
-- offset; of one in such a file elsewhere, its path before that.
local function log_column(id, key, number, path, at)
	if at then
		return (path and path ~= paths.log_lines(id) and path or "") .. "@" .. at
	end
	return path and path == paths.log(id, key, number) and "" or path
end

function M.start_attempt(now, id, step, attempt)
	attempt = attempt or {}
	local put_usage = usage.write(id, step.key, attempt.usage)
	return function(db)
		local before = db:row(BEFORE, id, step.key)
		local round = attempt.round or before and before.round or 1
		local same = before and before.round == round
		local nth = (same and before.attempts or 0) + 1
		local number = attempt.number or db:row(LAST_NUMBER, id, step.key).number + 1
		M.set_step(now, id, step, "running",
			{ round = round, attempts = nth, spent_ms = same and before.spent_ms or 0 })(db, not before)
		local log = log_column(id, step.key, number, attempt.log)
		db:run(ADD_ATTEMPT, id, step.key, number, round, nth, log, attempt.started_ms or now)
		put_usage(db, number)
		return number, nth
	end
end

-- rows: as usage.charge takes them
function M.charge(_, id, rows)
	return usage.charge(id, rows)
end

local END_ATTEMPT = [[
	UPDATE attempts SET ended_ms = ?, status = ?, signal = ?, code = ?, message = ?, delay_ms = ?, limit_ms = ?,
		log = coalesce(?, log)
	WHERE run = ? AND key = ? AND number = ?]]

function M.end_attempt(now, id, key, number, ended, step)
	local over = ended.ended_ms or now
	local set_step = M.set_step(now, id, { key = key }, step.state, {
		wake_ms = ended.wake_ms, wait_ms = ended.delay_ms, status = ended.status, code = step.code or ended.code,
		message = step.message or ended.message, output = step.output, data = step.data, held = step.held, spent_ms = step.spent_ms,
	})
	local put_usage = usage.write(id, key, ended.usage)
	return function(db)
		if db:run(END_ATTEMPT, over, ended.status, ended.signal, ended.code, ended.message,
				codec.encode("delay_ms", ended.delay_ms), ended.limit_ms,
				log_column(id, key, number, ended.log, ended.log_at), id, key, number) == 0 then
			errors.raise("NOT_FOUND", ("Run %s has no attempt %d of step %s"):format(id, number, key))
		end
		put_usage(db, number)
		set_step(db)
	end
end

return M
