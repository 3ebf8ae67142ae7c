-- logs: one JSON file for each attempt of a step, with all that it printed
-- (FR3). Runs in the worker. It masks nothing: whoever writes hands over a
-- record without secrets. The owner alone may read the files.

local errors = require "runner.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local FOLDER, FILE = 448, 384 -- 0700, 0600
local LONGEST = 180

local function state_dir()
	local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
	if state and state:sub(1, 1) == "/" then
		return state
	elseif home and home:sub(1, 1) == "/" then
		return home .. "/.local/state"
	end
	errors.raise("PRECONDITION", "There is no place for logs: neither XDG_STATE_HOME nor HOME is set",
		{ suggestion = "Set XDG_STATE_HOME to a directory you may write to" })
end

-- One file name for each key: what is no plain character becomes %XX.
local function file_name(key)
	local plain = key:gsub("[^%w._-]", function(c)
		return ("%%%02X"):format(c:byte())
	end):gsub("^%.", "%%2E")
	if #plain > LONGEST then
		plain = plain:sub(1, LONGEST - 17) .. "-" .. host.digest(key)
	end
	return plain
end

---Where the log of an attempt is. Nothing is made.
---@param run_id string
---@param key string of the step
---@param number integer of the attempt, over all rounds
---@return string
function M.path(run_id, key, number)
	return ("%s/runner/logs/%s/%s-%d.json"):format(state_dir(), file_name(run_id), file_name(key), number)
end

local CODES = { EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOSPC = "RESOURCE_EXHAUSTED", EDQUOT = "RESOURCE_EXHAUSTED", ENOENT = "NOT_FOUND" }

local function must(ok, what, message, errno)
	if not ok then
		errors.raise(CODES[errno] or "UNAVAILABLE", ("Can't %s the log: %s"):format(what, message))
	end
	return ok
end

---Write a record, whole or not at all; folders are made. Raises what the system
---refuses: PERMISSION_DENIED, RESOURCE_EXHAUSTED (full), UNAVAILABLE.
---@param path string as M.path
---@param record table without secrets
function M.write(path, record)
	local text = assert(json.encode(record))
	local ok, message, errno = fs.mkdirs(path:match "^(.*)/", FOLDER)
	must(ok, "write", message, errno)
	ok, message, errno = fs.write(path, text .. "\n", FILE)
	must(ok, "write", message, errno)
end

---Read a record back. Raises NOT_FOUND; PRECONDITION where it is no JSON.
---@param path string
---@return table
function M.read(path)
	local text, message, errno = fs.read(path)
	must(text, "read", message, errno)
	local record, why = json.decode(text)
	if record == nil then
		errors.raise("PRECONDITION", ("The log %s can't be read: %s"):format(path, why))
	end
	return record
end

return M
