-- database: the run database: where it is, and how to open it with the right settings
-- and schema, or an error that says what to do. Its methods raise where those of
-- runner.sqlite return a failure.

local failures = require "runner.state.failures"
local fs = require "runner.fs"
local host = require "runner.host"
local schema = require "runner.state.schema"
local sqlite = require "runner.sqlite"
local errors = require "runner.core.errors"
local paths = require "runner.core.paths"

local M = {}

local PRIVATE = 448 -- 0700
local WAIT_MS = 5000
local CHECKED_MAX = 8 * 1024 * 1024 -- bytes: up to this size a database is checked for each run: 30 ms

---@class runner.workflow.Database
---@field path string
local Database = {}
Database.__index = Database

-- --- statements --------------------------------------------------------------

function Database:_checked(result, message, name)
	if result == nil then
		failures.raise(self.path, message, name)
	end
	return result
end

---The rows of one statement.
---@param sql string
---@param ... any its parameters
---@return table[]
function Database:rows(sql, ...)
	return self:_checked(self._conn:rows(sql, ...))
end

---The first row of one statement, or nil.
---@param sql string
---@param ... any its parameters
---@return table?
function Database:row(sql, ...)
	return self:rows(sql, ...)[1]
end

---Run one statement.
---@param sql string
---@param ... any its parameters
---@return integer changes how many rows it changed
function Database:run(sql, ...)
	return self:_checked(self._conn:run(sql, ...))
end

---Run any number of statements.
---@param sql string
function Database:exec(sql)
	self:_checked(self._conn:exec(sql))
end

function Database:_committed(ok, ...)
	if not ok then
		failures.raise(self.path, ...)
	end
	return ...
end

---Call f(…) inside one transaction; it is committed when this returns.
---@param f function
---@param ... any
---@return any ... what f returned
function Database:write(f, ...)
	return self:_committed(self._conn:transaction(f, ...))
end

function Database:_read(ok, ...)
	self._conn:exec "ROLLBACK" -- nothing was changed; a failure may have ended it already
	if not ok then
		error(..., 0)
	end
	return ...
end

---Call f(…), which only reads, inside one transaction: it sees no concurrent change.
---@param f function
---@param ... any
---@return any ... what f returned
function Database:read(f, ...)
	self:exec "BEGIN"
	return self:_read(pcall(f, ...))
end

-- For each row that is written, SQLite would copy the states that its constraints allow into a
-- temporary table: a third of what a step costs there. Our own writes know no other state.
local function check_constraints(db, yes)
	db:exec("PRAGMA ignore_check_constraints = " .. (yes and "OFF" or "ON"))
end

---Read all of it: true, or an error.
---@param pragma? "quick_check"|"integrity_check" default: the whole check
---@return true
function Database:check(pragma)
	check_constraints(self, true)
	local _, found = next(self:row(("PRAGMA %s(1)"):format(pragma or "integrity_check")))
	check_constraints(self, false)
	if found ~= "ok" then
		failures.raise(self.path, found, "SQLITE_CORRUPT")
	end
	return true
end

function Database:close()
	self._conn:close()
end

-- --- where ---------------------------------------------------------------------------------

---$XDG_STATE_HOME/runner/runs.db, else in ~/.local/state.
---@return string
function M.default_path()
	local dir = paths.state()
	return dir and dir .. "/runs.db" or errors.raise("PRECONDITION",
		"No directory for the run database: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

---The directory that holds the database.
---@param path string
---@return string
function M.directory(path)
	return path:match "^(.*)/[^/]*$" or "."
end

-- --- schema --------------------------------------------------------------------------------

-- One statement sees one state: between two, another process may create the tables.
local WHAT_IT_IS = [[
	SELECT user_version AS version, application_id AS application, (SELECT count(*) FROM sqlite_master) AS tables
	FROM pragma_user_version, pragma_application_id]]

-- The version of the runner that a newer schema is of, where it says that as we do.
local function made_by(db)
	local ok, row = pcall(db.row, db, "SELECT runner FROM about ORDER BY schema DESC LIMIT 1")
	local name = ok and row and row.runner
	return type(name) == "string" and name:match "^[%w.+-]+$" or nil
end

-- The version, once it is known that we understand it.
local function version_of(db)
	local is = db:row(WHAT_IT_IS)
	local empty = is.version == 0 and is.tables == 0
	if not empty and is.application ~= schema.APPLICATION then
		failures.raise_foreign(db.path)
	elseif is.version > schema.VERSION then
		failures.raise_newer(db.path, is.version, schema.VERSION, made_by(db))
	end
	return is.version
end

local function migrate(db)
	for version = version_of(db) + 1, schema.VERSION do -- checked again: others can't write now
		db:exec(schema.MIGRATIONS[version])
	end
	db:exec(("PRAGMA application_id = %d; PRAGMA user_version = %d"):format(schema.APPLICATION, schema.VERSION))
	db:run("INSERT OR REPLACE INTO about (schema, runner, since_ms) VALUES (?, ?, ?)", schema.VERSION, host.launch().version,
		host.wall_ms())
end

local function mode_of(db)
	return db:row("PRAGMA journal_mode").journal_mode
end

-- SQLite doesn't wait for readers here, and readers soon let go. A file system that
-- can't do WAL keeps the old journal, which is as safe.
local function use_wal(db)
	local give_up = host.now() + WAIT_MS
	local rows, message, name = db._conn:rows "PRAGMA journal_mode = WAL"
	while name == "SQLITE_BUSY" and host.now() < give_up do
		host.sleep(20)
		rows, message, name = db._conn:rows "PRAGMA journal_mode = WAL"
	end
	db:_checked(rows, message, name)
end

-- An older runner can't read what we make of its database: a copy of it stays beside it. It has
-- its name only when it is whole and on the disk.
local function keep_copy(db, version)
	local path = ("%s.v%d"):format(db.path, version)
	local part = path .. ".part"
	local ok, message, name = fs.write(part, "", 384, false) -- 0600: SQLite takes an empty file
	if ok then
		db:run("VACUUM INTO ?", part)
		ok, message, name = fs.replace(part, path)
	end
	if not ok then
		failures.raise(db.path, message, name)
	end
end

-- Changes that two processes must not make at once, under a lock of our own.
local function set_up(db)
	local path = M.directory(db.path) .. "/runs.lock"
	local lock <close>, message, name = fs.lock(path, { wait_ms = WAIT_MS })
	if not lock then
		failures.raise(db.path, message, message == "held" and "SQLITE_BUSY" or name)
	end
	if mode_of(db) ~= "wal" then
		use_wal(db)
	end
	local version = version_of(db)
	if version > 0 and version < schema.VERSION then
		keep_copy(db, version)
	end
	db:write(migrate, db)
	fs.unlink(path) -- still locked: a process that waits for this file sees that it is gone
end

-- --- opening -------------------------------------------------------------------------------

local function connect(path, readonly, uri)
	local conn, message, name = sqlite.open(uri or path, { readonly = readonly, busy_ms = WAIT_MS })
	if not conn then
		failures.raise(path, message, name)
	end
	return setmetatable({ path = path, _conn = conn }, Database)
end

-- An error while a database is being opened closes it.
local function settle(db, f, ...)
	local ok, e = pcall(f, db, ...)
	if not ok then
		db:close()
		error(e, 0)
	end
	return db
end

local function make_directory(path)
	local dir = M.directory(path)
	if fs.stat(dir) then
		return
	end
	local ok, message, name = fs.mkdirs(dir, PRIVATE, true)
	if not ok then
		failures.raise(path, message, name)
	end
end

local function prepare_writing(db, check)
	db:exec "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -512" -- KiB: what a run writes, it seldom reads
	if version_of(db) < schema.VERSION or mode_of(db) ~= "wal" then
		set_up(db)
	end
	local stat = check and fs.stat(db.path)
	if stat and stat.size <= CHECKED_MAX then -- if it is gone by now, the first transaction reports it
		db:check "quick_check"
	end
	check_constraints(db, false)
end

---Open the database for writing; created, or migrated to our schema, where needed.
---@param path string
---@param check? boolean check a small one for damage; default true
---@return runner.workflow.Database
function M.writer(path, check)
	make_directory(path)
	return settle(connect(path, false), prepare_writing, check ~= false)
end

---An empty one in memory, which ends with the process.
---@return runner.workflow.Database
function M.memory()
	local db = settle(connect(":memory:", false), migrate)
	check_constraints(db, false)
	return db
end

-- For readers: nothing is created just to look.
local function empty(path)
	local db = M.memory()
	db.path = path
	return db
end

local function is_missing(path)
	local _, message, name = fs.stat(path)
	if name and name ~= "ENOENT" then
		failures.raise(path, message, name)
	end
	return name == "ENOENT"
end

-- Where SQLite can't create the files it needs next to it (no space, a read-only
-- directory), a database that no process writes can be read as immutable.
local UNCHANGING = { SQLITE_FULL = true, SQLITE_PERM = true, SQLITE_CANTOPEN = true, SQLITE_READONLY = true,
	SQLITE_IOERR = true }

local function immutable(path)
	return "file:" .. require("runner.core.encoding").percent(path, "%w/._-") .. "?immutable=1"
end

local function is_unchanging(path, e)
	local log = fs.stat(path .. "-wal")
	return errors.is(e) and e.context and UNCHANGING[e.context.reason] and (not log or log.size == 0)
end

local function connect_reading(path)
	local db = connect(path, true)
	local ok, version = pcall(version_of, db)
	if ok then
		return db, version
	end
	db:close()
	if not is_unchanging(path, version) then
		error(version, 0)
	end
	db = connect(path, true, immutable(path))
	return settle(db, version_of), version_of(db)
end

---Open the database for reading. A missing one is empty; an older one is first
---migrated to our schema.
---@param path string
---@return runner.workflow.Database
function M.reader(path)
	if is_missing(path) then
		return empty(path)
	end
	local db, version = connect_reading(path)
	if version == schema.VERSION then
		return db
	end
	db:close()
	M.writer(path, false):close()
	return M.reader(path) -- it is ours now, unless another process has just replaced it
end

return M
