-- temporary_files: the temporary directory of a run (ctx.tempdir), the same in every attempt: the supervisor removes it,
-- and a later run that makes its own removes those of killed runs. And files for the caller (ctx:hand_out, REQ-F-043):
-- in a directory that only the user can enter, which outlives the run and is removed by a later run some minutes after.
-- The answer says how to remove it sooner. Loaded on first use.

local attempt = require "runner.core.attempt"
local checked = require "runner.ctx.fs"
local fs = require "runner.fs"
local host = require "runner.host"
local misuse = require "runner.ctx.misuse"
local command_line = require "runner.core.command_line"
local session_dir = require "runner.session_dir"

local M = {}

local SWEEP_MS = 5

-- --- ctx.tempdir -----------------------------------------------------------------------

---Make it, where no attempt before has. Raises UNAVAILABLE.
---@return string path
function M.directory()
	local path = attempt.launch.session_dir
	host.send("TEMPDIR", { text = path }) -- so that it is removed, even if we end here
	local ok, why = session_dir.make(path)
	if not ok then
		require("runner.core.errors").raise("UNAVAILABLE", "Can't create the run's temporary directory: " .. tostring(why))
	end
	host.send("TEMPDIR", { text = path }) -- it can be locked now
	host.send("META", { name = "session_tmp_dir", data = require("runner.json").encode(path, { envelope = true }) })
	host.setenv("RUNNER_TEMPDIR", path)
	if attempt.launch.attempt == 1 then
		session_dir.sweep(path:match("^(.*)/"), SWEEP_MS)
	end
	return path
end

-- --- ctx:hand_out ----------------------------------------------------------------------

local FILE, KEPT_S = 384, 300 -- 0600; HANDED_OUT_S of src/bindings/session_dir.c
-- The directory of this run's, made by its first file.
local function hand_out_directory()
	local parent, id = attempt.launch.session_dir:match "^(.*)/[%a-]+(%w+)$"
	local path = ("%s/runner-out-%s"):format(parent, id)
	local ok, why = session_dir.make(path)
	if not ok then
		require("runner.core.errors").raise("UNAVAILABLE", "Can't create a directory for files: " .. tostring(why))
	end
	session_dir.sweep(parent, SWEEP_MS)
	return path
end

-- Another file of the run may have the name.
local function free_name(dir, name)
	local path, n = dir .. "/" .. name, 1
	while fs.lstat(path) do
		n = n + 1
		path = ("%s/%d-%s"):format(dir, n, name)
	end
	return path
end

local function move(from, to)
	local ok, _, errno = fs.rename(from, to)
	if not ok and errno == "EXDEV" then
		checked.write(to, checked.read(from), FILE)
		checked.unlink(from)
	elseif not ok then
		checked.rename(from, to) -- raises what it is
	end
	session_dir.protect(to)
end

---Hand a file to the caller: it is moved out of the command's reach, and kept for five minutes.
---`cleanup` in the result says how to remove it sooner.
---@param ctx runner.Context
---@param path string a file, such as one in ctx.tempdir
---@return string path where it is now, to be returned in the result
function M.hand_out(ctx, path)
	local stat = type(path) == "string" and fs.lstat(path)
	if ctx.dry_run then
		return path
	elseif not stat or stat.type ~= "file" then
		misuse.raise("ctx:hand_out", ("it needs the path of a file, not %s"):format(misuse.shown(path)))
	end
	local dir = hand_out_directory()
	local to = free_name(dir, path:match "[^/]+$")
	move(path, to)
	attempt.add("cleanup", { command = "rm -rf " .. command_line.quoted(dir), auto_cleanup_after_seconds = KEPT_S })
	return to
end

return M
