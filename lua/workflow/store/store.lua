-- store: runs, steps and attempts in the run database: what was started, how it ended,
-- what is still waiting. Every method that writes is one transaction, committed to disk
-- when it returns. A transaction costs a sync of the disk, so `soon` puts a write off until
-- the next one, and `flush` commits what several steps want to begin in one. Reads are in
-- store/queries; they don't see what is put off. It decides nothing about steps.
--
-- Times are ms since the epoch, by default now. In fields, json.null makes a column
-- NULL.

local approvals = require "runner.workflow.store.approvals"
local database = require "runner.state.database"
local errors = require "runner.core.errors"
local find = require "runner.workflow.store.find"
local host = require "runner.host"
local owner = require "runner.state.owner"
local placements = require "runner.workflow.store.placements"
local paths = require "runner.core.paths"
local queries = require "runner.workflow.store.queries"
local scope = require "runner.core.scope"
local usage = require "runner.workflow.store.usage"
local writes = require "runner.workflow.store.writes"

local M = {}

---@class runner.workflow.Store
---@field path string of the database
---@field readonly boolean
---@field _due function[] writes that were put off, in order
---@field _starts function[] those of them that begin an attempt
local Store = {}
Store.__index = Store
Store.__name = "runner.workflow.Store"

for _, methods in ipairs { queries, find.queries, usage.queries, placements.queries, approvals.queries } do
	for name, method in next, methods do
		Store[name] = method
	end
end

function Store:_open()
	return self._database or error("the run store is closed", 3)
end

-- --- commits -----------------------------------------------------------------------------------

local function apply(db, due, last)
	for _, write in ipairs(due) do
		write(db)
	end
	if last then
		return last(db)
	end
end

-- After a failure the writes stay due: the next commit has them too.
function Store:_ended(...)
	self._due = {}
	return ...
end

-- One transaction: the writes that were put off, then this one.
function Store:_commit(name, ...)
	local db = self:_open()
	return self:_ended(db:write(apply, db, self._due, writes[name](host.wall_ms(), ...)))
end

---@class runner.workflow.StepWarning what the answers about a run warn of
---@field code string
---@field message string
---@field context table

---Put a write off: it is part of the next transaction. The start of an attempt waits for
---flush(), so that no other process's commit says that it runs.
---@param name "set_step"|"leave_inside"|"warn_step"|"start_attempt"|"end_attempt" a method of the store
---@param ... any its arguments
function Store:soon(name, ...)
	self:_open()
	local list = name == "start_attempt" and self._starts or self._due
	list[#list + 1] = writes[name](host.wall_ms(), ...)
end

---Commit all that was put off, in one transaction. If that fails, the attempts that were to
---start haven't started; the rest is kept for the next transaction.
function Store:flush()
	local starts, db = self._starts, self:_open()
	if #starts + #self._due == 0 then
		return
	end
	self._starts = {}
	self:_ended(db:write(apply, db, table.move(starts, 1, #starts, #self._due + 1, { table.unpack(self._due) })))
end

---Call f(database, …) in one transaction, after the writes that were put off.
---@param f fun(database: runner.workflow.Database, ...): any
---@param ... any
---@return any ... what f returned
function Store:together(f, ...)
	local db, given = self:_open(), table.pack(...)
	return self:_ended(db:write(apply, db, self._due, function()
		return f(db, table.unpack(given, 1, given.n))
	end))
end

-- --- runs ------------------------------------------------------------------------------------

---Add a run: id and workflow, and of the columns of `runs` what there is (`source` is the
---text of its file); state "running". Raises CONFLICT for an id that is known.
---@param run table
---@param guard? fun() called in the transaction: if it raises, there is no run
function Store:create(run, guard)
	self:_commit("create", run, guard)
end

---Change a run (a new `source` comes with its `digest`). A `state` sets what it implies:
---"running" clears an earlier end, any other sets ended_ms. A new state leaves no step
---running: one whose end was not recorded is "interrupted" with STEP_IN_DOUBT. "completed"
---makes the others that are not over "skipped".
---@param id string
---@param fields table
---@param guard? fun() called in the transaction: if it raises, nothing changes
function Store:set_run(id, fields, guard)
	self:_commit("set_run", id, fields, guard)
end

-- --- steps -----------------------------------------------------------------------------------

---Put a step into a state, adding it if it is new. The state sets what it implies:
---"running" clears an earlier end, an end sets ended_ms and clears the wait.
---@param id string of the run
---@param step {key: string, id?: string, kind?: string, label?: string}
---@param state "running"|"waiting"|"completed"|"skipped"|"failed"|"interrupted"
---@param fields? table other columns of the step
function Store:set_step(id, step, state, fields)
	self:_commit("set_step", id, step, state, fields)
end

---What is inside a step, and not over, is "skipped": no process will run it any more.
---@param id string of the run
---@param key string of the step
---@param message string why
function Store:leave_inside(id, key, message)
	self:_commit("leave_inside", id, key, message)
end

-- --- attempts ----------------------------------------------------------------------------------

---An attempt starts: its step is running and has one more attempt in this round; a new
---round counts from 1 again.
---@param id string of the run
---@param step {key: string, id?: string, kind?: string, label?: string}
---@param attempt {number?: integer, round?: integer, log?: string, started_ms?: integer,
---  usage?: runner.workflow.Usage} number: default the next
---@return integer number over all rounds
---@return integer nth in this round
function Store:start_attempt(id, step, attempt)
	return self:_commit("start_attempt", id, step, attempt)
end

---An attempt has ended; its step has too, or is waiting. The step's code and message are those
---of the attempt, unless it has its own.
---@param id string of the run
---@param key string of the step
---@param number integer of the attempt
---@param ended {status?: integer, signal?: any, code?: string, message?: string, delay_ms?: integer,
---  wake_ms?: integer, limit_ms?: integer, log?: string, log_at?: integer, ended_ms?: integer,
---  usage?: runner.workflow.Usage} log_at: offset in the file of short successes
---@param step {state: "completed"|"waiting"|"failed"|"interrupted", output?: string, data?: any, held?: table,
---  spent_ms?: integer, code?: string, message?: string}
function Store:end_attempt(id, key, number, ended, step)
	self:_commit("end_attempt", id, key, number, ended, step)
end

---Charge attempts that an earlier process began, and whose cost wasn't known.
---@param id string of the run
---@param rows {key: string, number: integer, micros: integer}[]
function Store:charge(id, rows)
	self:_commit("charge", id, rows)
end

-- --- interruption ------------------------------------------------------------------------------

---The run was stopped, and so were its processes: running steps are interrupted with
---CANCELLED; a waiting step keeps waiting, for `resume`.
---@param id string
---@param fields? table columns of the run
function Store:interrupt(id, fields)
	self:_commit("interrupt", id, fields)
end

---The same for the steps alone: the run goes on with its last ones.
---@param id string
function Store:end_steps(id)
	self:_commit("end_steps", id)
end

---What the dead runner of a run left running is in doubt. Only its owner may call this.
---@param id string
function Store:settle(id)
	if self:any_running(id) then
		self:_commit("settle", id)
	end
end

-- --- the file --------------------------------------------------------------------------------------

---Call f(…), which only reads, on one snapshot of the database.
---@param f function
---@param ... any
---@return any ... what f returned
function Store:snapshot(f, ...)
	return self:_open():read(f, ...)
end

---Read the whole database: true, or PRECONDITION where it is damaged, or where rows
---contradict each other.
---@param id? string check the rows of this run only
---@return true
function Store:integrity(id)
	self:_open():check()
	local found = self:contradictions(id)[1]
	return not found or errors.raise("PRECONDITION", ("The rows of run %s contradict each other: step %s %s")
		:format(found.run, found.key, found.problem), { context = { run = found.run, step_key = found.key, database = self.path } })
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

---Wait until no process executes a run, at most this long.
---@param id string
---@param ms integer
---@param version? integer of version(): or until another process has committed something since
---@param printed? fun(): boolean or until this says that a step has printed something
---@return boolean free
function Store:wait(id, ms, version, printed)
	local dir = database.directory(self.path)
	if not version then
		return owner.wait(dir, id, ms)
	end
	local files = { self.path .. "-wal", printed and paths.of_run(id)[1] }
	return owner.wait(dir, id, ms, function()
		return self:version() ~= version or printed ~= nil and printed()
	end, table.unpack(files))
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

---The class, for a store that keeps what it is told in another place too.
M.Store = Store

-- Under a subject, whatever reads `runs` or `approvals` by that name finds its own rows alone: the one place where those of others
-- are left out. Writes name the tables (main.runs), and so does what has to know of all.
local OWN = [[
	PRAGMA temp_store = MEMORY;
	CREATE TEMP VIEW runs AS SELECT rowid, * FROM main.runs WHERE subject = 'SUBJECT';
	CREATE TEMP VIEW approvals AS SELECT * FROM main.approvals a WHERE CASE kind WHEN 'call' THEN subject = 'SUBJECT'
		ELSE EXISTS (SELECT 1 FROM main.runs r WHERE r.id = a.run AND r.subject = 'SUBJECT') END;]]

local function opened(path, readonly)
	local db, subject = readonly and database.reader(path) or database.writer(path), scope.subject()
	if subject then
		db:exec((OWN:gsub("SUBJECT", (subject:gsub("[%%']", { ["%"] = "%%", ["'"] = "''" })))))
	end
	return db
end

---Open the run database, with what the subject of this call sees of it.
---Raises PRECONDITION (damaged, newer, no libsqlite3), PERMISSION_DENIED, RESOURCE_EXHAUSTED
---(no space) or UNAVAILABLE (locked for too long), each with what to do.
---@param opts? {readonly?: boolean, path?: string} readonly: a missing file is an empty store, and none is created
---@return runner.workflow.Store
function M.open(opts)
	opts = opts or {}
	local path = opts.path or database.default_path()
	return setmetatable({ path = path, readonly = opts.readonly or false, _database = opened(path, opts.readonly), _owned = {},
		_due = {}, _starts = {} }, Store)
end

return M
