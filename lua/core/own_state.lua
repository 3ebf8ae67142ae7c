-- own_state: folders of the state directory of which each command has one of its own, so that one which is
-- confined to its files can forge nothing of another: its stamps (lua/ctx/up_to_date.lua), checkpoints, and
-- counts of calls (lua/state/throttle.lua). And the folder of locks, which all share.

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

return M
