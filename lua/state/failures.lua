-- failures: what a failure of the run database means to the user: one row for each
-- error name of SQLite or the file system.

local errors = require "runner.core.errors"

local M = {}

---@class runner.workflow.Failure
---@field code string
---@field text string the message: %s is the path
---@field quiet? boolean the library's own message adds nothing
---@field suggestion string %s is the path
---@field retryable? boolean|"maybe"

local DAMAGED = {
	code = "PRECONDITION", text = "The run database %s is damaged",
	suggestion = "Move it away with the files next to it (mv %s* SOMEWHERE/); the next run creates a new one. Runs in"
		.. " the old one can no longer be listed or resumed; `sqlite3 FILE .recover` may get them back",
}
local FULL = {
	code = "RESOURCE_EXHAUSTED", text = "No space left for the run database %s", retryable = true,
	suggestion = "Free space on its file system, then resume the run: everything committed is still there",
}
local FORBIDDEN = {
	code = "PERMISSION_DENIED", text = "Can't read or write the run database %s",
	suggestion = "Make %s and its directory (SQLite keeps files there) writable for you, or set XDG_STATE_HOME"
		.. " to a directory that is",
}
local READ_ONLY = {
	code = "PERMISSION_DENIED", text = "The run database %s is read-only",
	suggestion = "Make %s and its directory (SQLite keeps files there) writable for you, or set XDG_STATE_HOME"
		.. " to a directory that is; list, show and logs work as it is",
}
local BUSY = {
	code = "UNAVAILABLE", text = "The run database %s is busy: another process has kept it locked for too long",
	quiet = true, retryable = true, suggestion = "Try again; `fuser %s` lists the processes that use it",
}
local BROKEN = {
	code = "UNAVAILABLE", text = "Reading or writing the run database %s failed", retryable = "maybe",
	suggestion = "Check the disk and the file system of %s",
}
local NO_PLACE = {
	code = "PRECONDITION", text = "Can't open the run database %s",
	suggestion = "Set XDG_STATE_HOME to a writable directory",
}
local MOVED = {
	code = "PRECONDITION", text = "The run database %s was moved or deleted while in use", quiet = true,
	suggestion = "Put the file back at %s, then resume the run",
}
local NO_LIBRARY = {
	code = "PRECONDITION", text = "Workflows keep their runs in %s and need SQLite 3, which can't be loaded",
	suggestion = "Install it: apt-get install libsqlite3-0",
}
local OTHER = {
	code = "INTERNAL_ERROR", text = "The run database %s rejected a statement",
	suggestion = "This is a bug in runner: please report it",
}

---@type table<string, runner.workflow.Failure>
local FAILURES = {
	LIBRARY = NO_LIBRARY,
	SQLITE_CORRUPT = DAMAGED, SQLITE_NOTADB = DAMAGED,
	SQLITE_FULL = FULL, SQLITE_NOMEM = FULL, SQLITE_TOOBIG = FULL,
	SQLITE_PERM = FORBIDDEN, SQLITE_READONLY = FORBIDDEN, SQLITE_AUTH = FORBIDDEN,
	SQLITE_READONLY_DBMOVED = MOVED,
	SQLITE_BUSY = BUSY, SQLITE_LOCKED = BUSY, SQLITE_PROTOCOL = BUSY,
	SQLITE_IOERR = BROKEN, SQLITE_CANTOPEN = NO_PLACE,
	-- the file system's, when the directory is made
	EACCES = FORBIDDEN, EPERM = FORBIDDEN, EROFS = FORBIDDEN,
	ENOSPC = FULL, EDQUOT = FULL,
	ENOENT = NO_PLACE, ENOTDIR = NO_PLACE, EISDIR = NO_PLACE, EEXIST = NO_PLACE, ENAMETOOLONG = NO_PLACE, ELOOP = NO_PLACE,
}

-- SQLite reports a file that it can't write in several ways.
local function is_read_only(path)
	local reading = io.open(path, "rb")
	local writing = reading and io.open(path, "r+b")
	for _, file in ipairs { reading or nil, writing or nil } do
		file:close()
	end
	return reading ~= nil and not writing
end

-- A function, since gsub would interpret "%" in a path.
local function fill(template, path)
	return (template:gsub("%%s", function()
		return path
	end))
end

---Raise what a failed call on the run database means.
---@param path string of the database
---@param message string the library's message
---@param name string "SQLITE_BUSY", "EACCES"
function M.raise(path, message, name)
	local row = FAILURES[name] or OTHER
	if (row == FORBIDDEN or row == NO_PLACE) and is_read_only(path) then
		row = READ_ONLY
	end
	local text = fill(row.text, path)
	errors.raise(row.code, row.quiet and text or ("%s: %s"):format(text, message), {
		suggestion = fill(row.suggestion, path), retryable = row.retryable,
		context = { database = path, reason = name },
	})
end

---Raise that a newer runner created the database.
---@param path string
---@param version integer its schema version
---@param known integer the newest that this runner knows
---@param runner? string the version of the newer runner, where the database says it
function M.raise_newer(path, version, known, runner)
	errors.raise("PRECONDITION",
		("The run database %s was created by a newer runner%s: its schema is version %d, this one knows %d")
			:format(path, runner and (" (%s)"):format(runner) or "", version, known), {
			suggestion = ("Use %s, or set XDG_STATE_HOME to another directory for this one"):format(
				runner and "runner " .. runner or "the newer runner"),
			context = { database = path, schema_version = version, known_version = known, runner_version = runner },
		})
end

---Raise that the file is another program's database.
---@param path string
function M.raise_foreign(path)
	errors.raise("PRECONDITION", ("%s is a database, but not runner's"):format(path), {
		suggestion = "Move the file away; runner creates its own", context = { database = path },
	})
end

return M
