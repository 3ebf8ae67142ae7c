-- checkpoints: how far an unfinished call was, a JSON file for each call in the command's own folder below
-- $XDG_STATE_HOME/runner/checkpoints, so that the same call can go on (docs/design.md#checkpoints).
-- Loaded for commands that declare interruption = { resume = true }.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local own_state = require "runner.core.own_state"
local paths = require "runner.core.paths"
local scope = require "runner.core.scope"

local M = {}

local PRIVATE_FOLDER, PRIVATE_FILE = 448, 384 -- 0700, 0600
local KEPT_MS = 7 * 24 * 3600 * 1000
local FILE_MAX = 2 << 20 -- bytes; lua/ctx/checkpoint.lua writes less

local function root()
	local state = paths.state()
	return state and state .. "/checkpoints" or errors.raise("PRECONDITION",
		"No directory for checkpoints: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

local function path_of(key)
	return ("%s/%s.json"):format(root(), key)
end

-- The call, without its command's folder.
local function name_of(key)
	return key:match "[^/]+$"
end

---Which calls are the same one (REQ-C-035): of command, arguments, directory, data and idempotency
---key. Secrets don't count; another file or version is found by what the checkpoint says.
---@param a runner.Attempt
---@return string key of the command's folder and the call
function M.key(a)
	local arguments = assert(json.encode(require("runner.core.confirmation").call().arguments))
	local call = host.digest(table.concat({ a.name, arguments, host.getcwd() or "", a.input.digest or "",
		a.framework.idempotency_key or "", scope.subject() }, "\0"))
	return ("%s/%s"):format((own_state.folder(a, "checkpoints") or ""):match "[^/]*$", call)
end

---What a caller knows the work by: the same each time that it goes on.
---@param key string
---@return string
function M.work_id(key)
	return "work_" .. name_of(key)
end

---The file that is locked by the attempt that has the checkpoint.
---@param key string
---@return string
function M.lock_path(key)
	return ("%s/%s.lock"):format(root(), key)
end

---Is there a checkpoint?
---@param key string
---@return boolean
function M.exists(key)
	return paths.state() ~= nil and (fs.lstat(path_of(key)) or fs.lstat(path_of(name_of(key)))) ~= nil
end

-- Versions before kept the checkpoints of all commands in one folder. Not from a call of theirs that still runs.
local function adopt(key)
	local old, lock = path_of(name_of(key)), M.lock_path(name_of(key))
	if fs.lstat(old) and not fs.lstat(path_of(key)) and not fs.locked(lock) and fs.rename(old, path_of(key)) then
		fs.unlink(lock)
	end
end

---What was saved; nil: nothing. A file that is no whole checkpoint is an empty table.
---@param key string
---@return table?
function M.read(key)
	local path = path_of(key)
	if not fs.lstat(path) then
		return nil
	end
	local text = fs.read(path, FILE_MAX)
	local value = text and json.decode(text)
	return type(value) == "table" and type(value.state) == "table" and value or {}
end

-- A confined command sees to its own folder only.
local function forget_old(dir, depth)
	for _, name in ipairs(fs.list(dir) or {}) do
		local path = dir .. "/" .. name
		local stat = fs.lstat(path)
		if stat and stat.type == "directory" and depth > 0 then
			forget_old(path, depth - 1)
		elseif stat and stat.mtime * 1000 < host.wall_ms() - KEPT_MS and not (name:find "%.lock$" and fs.locked(path)) then
			fs.unlink(path)
		end
	end
end

---Make the command's folder, with what an older version has kept of the call.
---@param key string
---@return string? folder
---@return string? message
---@return string? errno
function M.folder(key)
	local folder = path_of(key):match "^(.*)/"
	local ok, message, errno = fs.mkdirs(folder, PRIVATE_FOLDER, true)
	if not ok then
		return nil, message, errno
	end
	adopt(key)
	return folder
end

---Make it, and remove checkpoints that no call went on from for a week.
---@param key string
function M.prepare(key)
	local folder, message, errno = M.folder(key)
	if not folder then
		error(require("runner.core.returned").error("Can't keep checkpoints: " .. message, errno), 0)
	end
	forget_old(root(), 1)
end

---Save one, on the disk when this returns: readers find the one before, or this one.
---@param key string
---@param text string JSON
function M.write(key, text)
	local ok, message, errno = fs.write(path_of(key), text, PRIVATE_FILE)
	if not ok then
		error(require("runner.core.returned").error("Can't save the checkpoint: " .. message, errno), 0)
	end
end

---Remove one, if there is one.
---@param key string
function M.remove(key)
	if M.exists(key) then
		fs.unlink(path_of(key))
		fs.unlink(path_of(name_of(key)))
		fs.fsync(path_of(key):match "^(.*)/") -- or a power loss brings it back, and the next such call does nothing
	end
end

return M
