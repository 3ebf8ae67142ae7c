-- logs: what became of each attempt of a step, with all its output, so that a retry does not
-- hide what went wrong (docs/design.md#workflow-logs): a JSON file for each failure and each
-- long output, and a line of one file for each short success. Runs in the worker. It masks
-- nothing: callers pass records without secrets. Only the owner may read the files.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

local FOLDER, FILE = 448, 384 -- 0700, 0600
local NO_FOLDER = { ENOENT = true, ENOTDIR = true }
local SHORT = 64 << 10 -- bytes of a record that shares a file
local PIECE = 4096

local function known(path)
	return path or errors.raise("PRECONDITION", "No directory for logs: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

---Where the log of an attempt is that has a file of its own. Nothing is created.
---@param run_id string
---@param key string of the step
---@param number integer of the attempt, over all rounds
---@return string
function M.path(run_id, key, number)
	return known(paths.log(run_id, key, number))
end

-- --- writing ---------------------------------------------------------------------------

-- f(path, …), with the directory of path made where it is missing.
local function in_folder(f, path, ...)
	local done, message, errno = f(path, ...)
	if done or not NO_FOLDER[errno] then
		return done, message, errno
	end
	done, message, errno = fs.mkdirs(path:match "^(.*)/", FOLDER)
	if not done then
		return nil, message, errno
	end
	return f(path, ...)
end

---Write a record, whole or not at all; directories are created. The log of a failure is on
---disk when this returns. The output of a success is committed with its step, so its log waits
---for no disk: a power loss may lose it, a killed process doesn't.
---@param run_id string
---@param path string as M.path
---@param record table without secrets, with `step` and `number`
---@param succeeded? boolean
---@return string? path of the file that has it; nil: it can't be written
---@return integer|string? at offset of its line, nil in a file of its own; or why not
---@return string? errno "ENOSPC" …
function M.write(run_id, path, record, succeeded)
	local text, why = json.encode(record)
	if not text then
		return nil, why
	end
	text = text .. "\n"
	local shared = (succeeded or paths.shares_log(run_id)) and #text <= SHORT
	local to = shared and known(paths.log_lines(run_id)) or path
	local done, message, errno = in_folder(shared and fs.append or fs.write, to, text, FILE, not succeeded)
	if done and shared and not succeeded then
		local ok
		ok, message, errno = fs.fsync(to)
		done = ok and done
	end
	if not done then
		return nil, message, errno
	end
	return to, shared and done or nil
end

-- --- reading ---------------------------------------------------------------------------

local function damaged(path, why)
	return nil, ("The log %s is damaged: %s"):format(path, why or "not a JSON object")
end

---Read a file of its own back.
---@param path string
---@return table? record, string? message, string? errno nil: it isn't JSON
function M.read(path)
	local text, message, errno = fs.read(path)
	if not text then
		return nil, message, errno
	end
	local record, why = json.decode(text)
	if type(record) ~= "table" then
		return damaged(path, why)
	end
	return record
end

-- The line at an offset, at most as long as a line may be.
local function line_at(path, at)
	local file <close>, message = io.open(path, "rb")
	if not file then
		return nil, message
	end
	local ok, why = file:seek("set", at)
	local text = ""
	while ok and not text:find("\n", 1, true) and #text < SHORT do
		local piece = file:read(PIECE)
		if not piece then
			break
		end
		text = text .. piece
	end
	return ok and text:match "^[^\n]*", why
end

-- After a power loss another line may be where a lost one was. A key may be masked.
local function is_of(record, key, number)
	return type(record) == "table" and record.number == number
		and (record.step == key or tostring(record.step):find("***", 1, true) ~= nil)
end

-- A success whose end was never committed: its runner was killed in between.
local function search(path, key, number)
	local file <close> = io.open(path, "rb")
	local mark = '"step":' .. json.encode(key)
	for line in file and file:lines() or function() end do
		local record = line:find(mark, 1, true) and json.decode(line) or nil
		if is_of(record, key, number) then
			return record
		end
	end
end

-- Of an attempt without a log: it is not over, or its end was never seen.
local function unfinished(run_id, row)
	return search(known(paths.log_lines(run_id)), row.key, row.number)
		or require("runner.workflow.report.partial_log").record(row.log)
end

---The record of an attempt; `partial` where it is what it had printed so far.
---@param run_id string
---@param row table of store:attempts
---@return table? record, string? message nil where the file is missing
function M.of(run_id, row)
	if row.log_at then
		local line, message = line_at(row.log, row.log_at)
		local record = line and json.decode(line)
		if is_of(record, row.key, row.number) then
			return record
		end
		return damaged(row.log, message or ("no log of step %s, attempt %d"):format(row.key, row.number))
	elseif not row.log then
		return nil
	end
	local record, message, errno = M.read(row.log)
	if errno == "ENOENT" and row.status == nil then
		return unfinished(run_id, row)
	end
	return record, message
end

return M
