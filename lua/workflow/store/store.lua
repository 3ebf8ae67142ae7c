-- store: runs, steps and attempts in the run database: what was started, how it ended,
-- what is still waiting. Every method that writes is one transaction, committed to disk
-- when it returns; reads are in store/queries. It decides nothing about steps.
--
-- Times are ms since the epoch, by default now. In fields, json.null makes a column
-- NULL.

local codec = require "runner.workflow.store.codec"
local database = require "runner.state.database"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local owner = require "runner.state.owner"
local queries = require "runner.workflow.store.queries"

local M = {}

---@class runner.workflow.Store
---@field path string of the database
---@field readonly boolean
local Store = {}
Store.__index = Store
Store.__name = "runner.workflow.Store"

for name, method in next, queries do
	Store[name] = method
end

function Store:_open()
	return self._database or error("the run store is closed", 3)
end

-- --- columns -------------------------------------------------------------------------------

local function set_of(names)
	local set = {}
	for name in names:gmatch "%S+" do
		set[name] = true
	end
	return set
end

local RUN_COLUMNS = set_of [[workflow file digest source_id cwd variables env_names seed state retryable code message
	failed_step request_id owner created_ms updated_ms ended_ms resumes errexit]]
local STEP_COLUMNS = set_of [[id kind label round attempts spent_ms wake_ms wait_ms output data status code message
	started_ms ended_ms]]

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

local function merged(defaults, fields)
	local all = {}
	for _, source in ipairs { defaults, fields or {} } do
		for name, value in next, source do
			all[name] = value
		end
	end
	return all
end

-- The fields, completed with what the state implies.
local function with_state(fields, states, state, now)
	local all = merged(states[state] or error(("unknown state '%s'"):format(tostring(state)), 4), fields)
	for name, value in next, all do
		all[name] = value == "now" and name == "ended_ms" and now or value
	end
	return all
end

-- Sorted, so that the same fields make the same SQL.
local function columns_of(fields, allowed)
	local names = {}
	for name in next, fields do
		if not allowed[name] then
			error(("unknown field '%s'"):format(tostring(name)), 4)
		end
		names[#names + 1] = name
	end
	table.sort(names)
	local values = { n = #names }
	for i, name in ipairs(names) do
		values[i] = codec.encode(name, fields[name])
	end
	return names, values
end

local function each(names, template, separator)
	local parts = {}
	for i, name in ipairs(names) do
		parts[i] = template:gsub("NAME", name)
	end
	return table.concat(parts, separator)
end

-- --- runs ------------------------------------------------------------------------------------

local function update_run(db, id, fields)
	local names, values = columns_of(fields, RUN_COLUMNS)
	values[values.n + 1] = id
	local sql = ("UPDATE runs SET %s WHERE id = ?"):format(each(names, "NAME = ?", ", "))
	if db:run(sql, table.unpack(values, 1, values.n + 1)) == 0 then
		queries.raise_unknown(id)
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

local function insert_run(db, run)
	if db:row("SELECT 1 FROM runs WHERE id = ?", run.id) then
		errors.raise("CONFLICT", ("Run '%s' already exists"):format(run.id), { context = { run = run.id } })
	end
	local now = host.wall_ms()
	local fields = with_state(run, RUN_STATES, run.state or "running", now)
	fields.id, fields.source = nil, nil
	fields.state = run.state or "running"
	fields.source_id = source_id(db, run.digest, run.source)
	fields.created_ms, fields.updated_ms = run.created_ms or now, run.updated_ms or now
	local names, values = columns_of(fields, RUN_COLUMNS)
	values[values.n + 1] = run.id
	db:run(("INSERT INTO runs (%s, id) VALUES (%s?)"):format(table.concat(names, ", "), ("?, "):rep(#names)),
		table.unpack(values, 1, values.n + 1))
end

---Add a run: id and workflow, and of the columns of `runs` what there is (`source` is the
---text of its file); state "running". Raises CONFLICT for an id that is known.
---@param run table
function Store:create(run)
	local db = self:_open()
	db:write(insert_run, db, run)
end

local function set_run(db, id, fields)
	local now = host.wall_ms()
	local all = fields.state and with_state(fields, RUN_STATES, fields.state, now) or merged({}, fields)
	all.updated_ms = all.updated_ms or now
	all.source_id = source_id(db, all.digest, all.source)
	all.source = nil
	update_run(db, id, all)
end

---Change a run (a new `source` comes with its `digest`). A `state` sets what it implies:
---"running" clears an earlier end, any other sets ended_ms.
---@param id string
---@param fields table
function Store:set_run(id, fields)
	local db = self:_open()
	db:write(set_run, db, id, fields)
end

-- --- steps -----------------------------------------------------------------------------------

local UPSERT = [[
	INSERT INTO steps (run, key, state, position, %s)
	VALUES (?, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM steps WHERE run = ?), %s)
	ON CONFLICT (run, key) DO UPDATE SET state = excluded.state, %s]]

local function put_step(db, id, step, state, fields)
	local now = host.wall_ms()
	update_run(db, id, { updated_ms = now })
	local all = with_state(fields, STEP_STATES, state, now)
	all.id, all.kind, all.label = step.id, step.kind, step.label
	all.started_ms = all.started_ms or now
	local names, values = columns_of(all, STEP_COLUMNS)
	local update = each(names, "NAME = excluded.NAME", ", ")
	if not (fields and fields.started_ms) then -- otherwise it keeps its first start
		update = update:gsub("started_ms = [%w._]+", "started_ms = coalesce(steps.started_ms, excluded.started_ms)")
	end
	db:run(UPSERT:format(table.concat(names, ", "), ("?"):rep(#names, ", "), update),
		id, step.key, state, id, table.unpack(values, 1, values.n))
	return now
end

---Put a step into a state, adding it if it is new. The state sets what it implies:
---"running" clears an earlier end, an end sets ended_ms and clears the wait.
---@param id string of the run
---@param step {key: string, id?: string, kind?: string, label?: string}
---@param state "running"|"waiting"|"completed"|"skipped"|"failed"|"interrupted"
---@param fields? table other columns of the step
function Store:set_step(id, step, state, fields)
	local db = self:_open()
	db:write(put_step, db, id, step, state, fields)
end

-- --- attempts ----------------------------------------------------------------------------------

local BEFORE = "SELECT round, attempts, spent_ms FROM steps WHERE run = ? AND key = ?"
local LAST_NUMBER = "SELECT coalesce(max(number), 0) AS number FROM attempts WHERE run = ? AND key = ?"
local ADD_ATTEMPT = [[
	INSERT INTO attempts (run, key, number, round, nth, log, started_ms) VALUES (?, ?, ?, ?, ?, ?, ?)]]

local function start_attempt(db, id, step, attempt)
	local before = db:row(BEFORE, id, step.key)
	local round = attempt.round or before and before.round or 1
	local same = before and before.round == round
	local nth = (same and before.attempts or 0) + 1
	local number = attempt.number or db:row(LAST_NUMBER, id, step.key).number + 1
	local now = put_step(db, id, step, "running",
		{ round = round, attempts = nth, spent_ms = same and before.spent_ms or 0 })
	db:run(ADD_ATTEMPT, id, step.key, number, round, nth, attempt.log, attempt.started_ms or now)
	return number, nth
end

---An attempt starts: its step is running and has one more attempt in this round; a new
---round counts from 1 again.
---@param id string of the run
---@param step {key: string, id?: string, kind?: string, label?: string}
---@param attempt {number?: integer, round?: integer, log?: string, started_ms?: integer} number: default the next
---@return integer number over all rounds
---@return integer nth in this round
function Store:start_attempt(id, step, attempt)
	local db = self:_open()
	return db:write(start_attempt, db, id, step, attempt or {})
end

local END_ATTEMPT = [[
	UPDATE attempts SET ended_ms = ?, status = ?, signal = ?, code = ?, message = ?, delay_ms = ?, log = coalesce(?, log)
	WHERE run = ? AND key = ? AND number = ?]]

local function end_attempt(db, id, key, number, ended, step)
	local now = ended.ended_ms or host.wall_ms()
	if db:run(END_ATTEMPT, now, ended.status, ended.signal, ended.code, ended.message,
			codec.encode("delay_ms", ended.delay_ms), ended.log, id, key, number) == 0 then
		errors.raise("NOT_FOUND", ("Run %s has no attempt %d of step %s"):format(id, number, key))
	end
	local fields = {
		wake_ms = ended.wake_ms, wait_ms = ended.delay_ms, status = ended.status, code = ended.code,
		message = ended.message, output = step.output, data = step.data, spent_ms = step.spent_ms,
	}
	put_step(db, id, { key = key }, step.state, fields)
end

---An attempt has ended; its step has too, or is waiting.
---@param id string of the run
---@param key string of the step
---@param number integer of the attempt
---@param ended {status?: integer, signal?: any, code?: string, message?: string, delay_ms?: integer,
---  wake_ms?: integer, log?: string, ended_ms?: integer}
---@param step {state: "completed"|"waiting"|"failed"|"interrupted", output?: string, data?: any, spent_ms?: integer}
function Store:end_attempt(id, key, number, ended, step)
	local db = self:_open()
	db:write(end_attempt, db, id, key, number, ended, step)
end

-- --- interruption ------------------------------------------------------------------------------

local STOP_ATTEMPTS = [[
	UPDATE attempts SET ended_ms = ?, code = 'CANCELLED', message = ? WHERE run = ? AND ended_ms IS NULL]]
local STOP_STEPS = [[
	UPDATE steps SET state = 'interrupted', ended_ms = ?, code = 'CANCELLED', message = ?
	WHERE run = ? AND state = 'running']]

local function interrupt(db, id, fields)
	local now = host.wall_ms()
	local all = merged({ state = "interrupted", code = "CANCELLED" }, fields)
	db:run(STOP_ATTEMPTS, now, all.message, id)
	db:run(STOP_STEPS, now, all.message, id)
	set_run(db, id, all)
end

---The run was stopped: running steps are interrupted (CANCELLED); a waiting step keeps
---waiting, for `resume`.
---@param id string
---@param fields? table columns of the run
function Store:interrupt(id, fields)
	local db = self:_open()
	db:write(interrupt, db, id, fields)
end

-- --- the file --------------------------------------------------------------------------------------

---Call f(…), which only reads, on one snapshot of the database.
---@param f function
---@param ... any
---@return any ... what f returned
function Store:snapshot(f, ...)
	return self:_open():read(f, ...)
end

---Read the whole database: true, or PRECONDITION where it is damaged.
---@return true
function Store:integrity()
	return self:_open():check()
end

---Lock a run for this process alone, or raise LOCK_HELD with the holder's pid.
---@param id string
---@return runner.workflow.Ownership lock release() unlocks it, as do closing the store and the end of the process
function Store:own(id)
	local lock = owner.take(self:_open(), database.directory(self.path), id)
	self._owned[#self._owned + 1] = lock
	return lock
end

---The pid of the live process that executes a run, nil where none does (0: not known yet).
---@param id string
---@return integer?
function Store:owner(id)
	return owner.holder(database.directory(self.path), id)
end

---Close the database and unlock every run; idempotent.
function Store:close()
	for _, lock in ipairs(self._owned) do
		lock:release()
	end
	self._owned = {}
	if self._database then
		self._database:close()
		self._database = nil
	end
end

Store.__close = Store.close
Store.__gc = Store.close

---Open the run database.
---Raises PRECONDITION (damaged, newer, no libsqlite3), PERMISSION_DENIED, RESOURCE_EXHAUSTED
---(no space) or UNAVAILABLE (locked for too long), each with what to do.
---@param opts? {readonly?: boolean, path?: string} readonly: a missing file is an empty store, and none is created
---@return runner.workflow.Store
function M.open(opts)
	opts = opts or {}
	local path = opts.path or database.default_path()
	local db = opts.readonly and database.reader(path) or database.writer(path)
	return setmetatable({ path = path, readonly = opts.readonly or false, _database = db, _owned = {} }, Store)
end

return M
