-- own_state: what runner keeps in its state directory beside its database. Of some folders each command has one of its own,
-- so that one which is confined to its files can forge nothing of another: its stamps (lua/ctx/up_to_date.lua), checkpoints,
-- and counts of calls (lua/state/throttle.lua). All share the folder of locks, and that of the files of long answers.

local fs = require "runner.fs"
local paths = require "runner.core.paths"

local M = {}

-- One for each project and command: a digest, which no name of theirs can lead out of, or make the same.
local function id(a, name)
	local project = a.project or {}
	return require("runner.ledger").digest((project.root or a.found and a.found.folder or "") .. "\0" .. name)
end

---The folder of a command.
---@param a runner.Attempt
---@param kind "unchanged"|"checkpoints"|"throttle"
---@return string? folder nil: there is no state directory
function M.folder(a, kind)
	local state = paths.state()
	return state and ("%s/%s/%s"):format(state, kind, id(a, a.name))
end

---The folder that all commands of a project share.
---@param a runner.Attempt
---@param kind "throttle"
---@return string? folder
function M.of_project(a, kind)
	local state = paths.state()
	return state and ("%s/%s/%s"):format(state, kind, id(a, ""))
end

-- The state directory comes first: it is the same one for a login and for cron, where XDG_RUNTIME_DIR is missing.
local function directories()
	local list, runtime = { paths.state() }, os.getenv "XDG_RUNTIME_DIR"
	list[#list + 1] = paths.is_absolute(runtime) and runtime .. "/runner" or nil
	return list
end

---The folder of the locks that have no path of their own, which is made.
---@return string? folder nil: there is none
---@return string? why
function M.locks()
	local why = paths.NO_STATE .. ", and XDG_RUNTIME_DIR is not set"
	for _, dir in ipairs(directories()) do
		dir = dir .. "/locks"
		local ok, message = fs.mkdirs(dir, 448, true) -- 0700
		if ok then
			return dir
		end
		why = message
	end
	return nil, why
end

-- How many bytes the files below a directory have. It changes nothing.

local DEPTH_MAX = 64 -- of directories that are measured
local ENTRIES_MAX = 20000 -- that are measured: a path may be the root of a disk

local function measure(path, left, depth)
	local st = fs.lstat(path)
	left.count = left.count - 1
	if not st or st.type ~= "directory" then
		return st and st.size or 0
	end
	local sum = 0
	for _, name in ipairs(depth < DEPTH_MAX and fs.list(path) or {}) do
		if left.count <= 0 then
			break
		end
		sum = sum + measure(path .. "/" .. name, left, depth + 1)
	end
	return sum
end

---Bytes of a file, or of the files below a directory. Links are not followed; what can't be read
---counts as empty.
---@param path string
---@return integer bytes
---@return true? partial there are more than could be looked at
function M.tree_size(path)
	local left = { count = ENTRIES_MAX }
	return measure(path, left, 0), left.count <= 0 or nil
end

-- The files of what answers had no room for, or had attached (src/engine/keep.c writes them): which are ours, and which have expired.

M.ANSWERS_KEPT = 24 * 60 * 60

local AHEAD = 60 -- s that a clock may have been set back

---Their folder; a link in its place is not followed.
---@return string?
function M.answers()
	local state = paths.state()
	local dir = state and state .. "/answers"
	local about = dir and fs.lstat(dir)
	return about and about.type == "directory" and dir or nil
end

---A file of ours: nothing else in the folder is.
---@param name string
---@return string? path
---@return table? about
---@return string? whose
function M.answer(name)
	local dir, digits, whose, ending = M.answers(), name:match "^req_([%dA-Z]+)(%-?%x*)%.(.+)$"
	local known = digits and #digits == 26 and (whose == "" or #whose == 33)
		and (ending == "json" or ending == "txt" or ending:find "^%d+%.[%l%d]+$")
	local about = dir and known and fs.lstat(dir .. "/" .. name)
	if about and about.type == "file" then
		return dir .. "/" .. name, about, whose
	end
end

---Is it older than that? One from the future has no age that could be known.
---@param about table
---@param age integer s
---@return boolean
function M.is_older(about, age)
	local old = os.time() - about.mtime
	return old >= age or old < -AHEAD
end

---What the name of a file of this call has behind its ULID: digests of its project and its subject.
---@return string
function M.whose()
	local scope, digest = require "runner.core.scope", require("runner.ledger").digest
	return ("-%s%s"):format(digest(scope.project()):sub(1, 16), digest(scope.subject() or ""):sub(1, 16))
end

---The path of one that has not expired, and that this call sees: of its own project, and under a subject of that one alone.
---@param name string
---@return string?
function M.kept_answer(name)
	local path, about, whose = M.answer(name)
	local mine = M.whose()
	local seen = path and whose:sub(1, 17) == mine:sub(1, 17) and (whose == mine or not require("runner.core.scope").subject())
	return seen and not M.is_older(about, M.ANSWERS_KEPT) and path or nil
end

return M
