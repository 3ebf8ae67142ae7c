-- failures: what a failure of the database of runs means for whoever reads
-- the message: one row for each name that SQLite or the file system gives.

local errors = require "runner.core.errors"

local M = {}

---@class runner.workflow.Failure
---@field code string
---@field text string the message: %s is the path
---@field quiet? boolean the library's own words say nothing more
---@field suggestion string %s is the path
---@field retryable? boolean|"maybe"

local DAMAGED = {
	code = "PRECONDITION", text = "The database of runs %s is damaged",
	suggestion = "Move it away with the files beside it (mv %s* SOMEWHERE/): the next run makes a new one. The runs in"
		.. " the old one can't be listed or resumed then; `sqlite3 FILE .recover` may get them back",
}
local FULL = {
	code = "RESOURCE_EXHAUSTED", text = "There is no space left for the database of runs %s", retryable = true,
	suggestion = "Free space on its file system, then resume the run: all that was committed is there",
}
local FORBIDDEN = {
	code = "PERMISSION_DENIED", text = "The database of runs %s can't be written or read",
	suggestion = "Make %s and its directory (SQLite keeps files beside it) writable for you, or set XDG_STATE_HOME"
		.. " to a directory that is",
}
local BUSY = {
	code = "UNAVAILABLE", text = "The database of runs %s is busy: another process has kept it locked for too long",
	quiet = true, retryable = true, suggestion = "Try again; `fuser %s` names the processes that use it",
}
local BROKEN = {
	code = "UNAVAILABLE", text = "The database of runs %s can't be read or written", retryable = "maybe",
	suggestion = "Check the disk and the file system of %s",
}
local NO_PLACE = {
	code = "PRECONDITION", text = "The database of runs %s can't be opened",
	suggestion = "Set XDG_STATE_HOME to a directory that you may write to",
}
local MOVED = {
	code = "PRECONDITION", text = "The database of runs %s was moved or deleted while it was in use", quiet = true,
	suggestion = "Put the file back where it was, %s, then resume the run",
}
local NO_LIBRARY = {
	code = "PRECONDITION", text = "Workflows keep their runs in %s and need SQLite 3, which can't be opened",
	suggestion = "Install it: apt-get install libsqlite3-0",
}
local OTHER = {
	code = "INTERNAL_ERROR", text = "The database of runs %s refused what was asked of it",
	suggestion = "This is a mistake in runner: please report it",
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
	ENOENT = NO_PLACE, ENOTDIR = NO_PLACE, EEXIST = NO_PLACE, ENAMETOOLONG = NO_PLACE, ELOOP = NO_PLACE,
}

-- Replacements of gsub see no "%" in a path.
local function fill(template, path)
	return (template:gsub("%%s", function()
		return path
	end))
end

---Raise what a failed call on the database of runs means.
---@param path string of the database
---@param message string the library's words
---@param name string "SQLITE_BUSY", "EACCES"
function M.raise(path, message, name)
	local row = FAILURES[name] or OTHER
	local text = fill(row.text, path)
	errors.raise(row.code, row.quiet and text or ("%s: %s"):format(text, message), {
		suggestion = fill(row.suggestion, path), retryable = row.retryable,
		context = { database = path, reason = name },
	})
end

---Raise that a newer runner made the database.
---@param path string
---@param version integer its schema version
---@param known integer the newest that this runner knows
function M.raise_newer(path, version, known)
	errors.raise("PRECONDITION",
		("The database of runs %s was made by a newer runner: its schema has version %d, this one knows %d")
			:format(path, version, known), {
			suggestion = "Use the newer runner, or set XDG_STATE_HOME to another directory for this one",
			context = { database = path, schema_version = version, known_version = known },
		})
end

---Raise that the file is somebody else's database.
---@param path string
function M.raise_foreign(path)
	errors.raise("PRECONDITION", ("%s is a database, but not one of runs"):format(path), {
		suggestion = "Move the file away; runner makes its own in its place", context = { database = path },
	})
end

return M
