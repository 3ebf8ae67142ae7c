-- logs: one JSON file for each attempt of a step, with all its output, so that a
-- retry does not hide what went wrong (docs/design.md#workflow-logs). Runs in the
-- worker. It masks nothing: callers pass records without secrets. Only the owner may
-- read the files.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

local FOLDER, FILE = 448, 384 -- 0700, 0600
local NO_FOLDER = { ENOENT = true, ENOTDIR = true }

---Where the log of an attempt is. Nothing is created.
---@param run_id string
---@param key string of the step
---@param number integer of the attempt, over all rounds
---@return string
function M.path(run_id, key, number)
	return paths.log(run_id, key, number) or errors.raise("PRECONDITION",
		"No directory for logs: neither XDG_STATE_HOME nor HOME is set",
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

---Write a record, whole or not at all; directories are created.
---@param path string as M.path
---@param record table without secrets
---@param durable? boolean false: don't wait for the disk; a power loss may lose it
---@return true? ok, string? message, string? errno "ENOSPC" …
function M.write(path, record, durable)
	local text, why = json.encode(record)
	if not text then
		return nil, why
	end
	text = text .. "\n"
	local ok, message, errno = fs.write(path, text, FILE, durable)
	if ok or not NO_FOLDER[errno] then
		return ok, message, errno
	end
	ok, message, errno = fs.mkdirs(path:match "^(.*)/", FOLDER)
	if not ok then
		return nil, message, errno
	end
	return fs.write(path, text, FILE, durable)
end

---Read a record back.
---@param path string
---@return table? record, string? message, string? errno nil: it isn't JSON
function M.read(path)
	local text, message, errno = fs.read(path)
	if not text then
		return nil, message, errno
	end
	local record, why = json.decode(text)
	if type(record) ~= "table" then
		return nil, ("The log %s is damaged: %s"):format(path, why or "not a JSON object")
	end
	return record
end

return M
