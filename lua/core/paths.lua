-- paths: absolute paths, file names made from any text, and where runner keeps its state.
-- Pure, but for the environment, and a look for HOME.

local host = require "runner.host"

local M = {}

local LONGEST = 180 -- bytes of each part of a path that is made of a run and a step

---@param path? string
---@return boolean
function M.is_absolute(path)
	return path ~= nil and path:sub(1, 1) == "/"
end

---@param path string
---@param from string the directory that a relative path starts at
---@return string
function M.absolute(path, from)
	return M.is_absolute(path) and path or from .. "/" .. path
end

---The working directory, for what is made in it.
---@return string
function M.here()
	return host.getcwd() or require("runner.core.errors").raise("PRECONDITION", "The working directory no longer exists",
		{ fix_required = "cd to a directory that exists", side_effects = "none" })
end

---The path of a file that a command declares: "~/x" is in the caller's home, a relative one in `root`.
---@param path string
---@param root string
---@return string
function M.declared(path, root)
	local home = os.getenv "HOME"
	if path:sub(1, 2) == "~/" and M.is_absolute(home) then
		return home .. path:sub(2)
	end
	return M.absolute(path:gsub("^%./+", ""), root)
end

---HOME, where that is a directory. Nothing of ours makes it: a service or a container may name one that was never
---made, such as /nonexistent.
---@return string?
function M.home()
	local home = os.getenv "HOME"
	return M.is_absolute(home) and host.probe(home) == "directory" and home or nil
end

-- What --instance-id names is apart from everybody else's (REQ-O-036).
local function of_instance(dir)
	local id = os.getenv "RUNNER_INSTANCE_ID"
	return id and id:find "^%w[%w_-]*$" and ("%s/instances/%s"):format(dir, id) or dir
end

M.NO_STATE = "XDG_STATE_HOME is no absolute path, and HOME is no directory" -- why M.state() is nil

---$XDG_STATE_HOME/runner, else ~/.local/state/runner. Variables that hold no absolute path
---don't count (XDG Base Directory Specification), nor does a HOME that isn't there.
---@return string? nil: there is neither
function M.state()
	local state = os.getenv "XDG_STATE_HOME"
	if M.is_absolute(state) then
		return of_instance(state .. "/runner")
	end
	local home = M.home()
	return home and of_instance(home .. "/.local/state/runner") or nil
end

---One file name for each text: anything but plain characters becomes %XX; a text that makes
---more than `most` bytes is cut and gets its digest.
---@param text string
---@param most integer bytes
---@return string
function M.file_name(text, most)
	local plain = require("runner.core.encoding").percent(text, "%w._-"):gsub("^%.", "%%2E")
	if #plain > most then
		plain = plain:sub(1, most - 17) .. "-" .. host.digest(text)
	end
	return plain
end

local latest, latest_name -- one run after the other asks, each many times

local function name_of_run(run)
	if latest ~= run then
		latest, latest_name = run, M.file_name(run, LONGEST)
	end
	return latest_name
end

local elsewhere = {} ---@type table<string, {outputs: string, log: string}>

---From here on this process keeps the files of a run elsewhere: a task of one of its steps does,
---on another machine, where all its logs share one file.
---@param run string
---@param outputs string folder of its long outputs, and of long logs
---@param log string file of its logs
function M.keep_elsewhere(run, outputs, log)
	elsewhere[run] = { outputs = outputs, log = log }
end

---Do the logs of failures share a file with those of successes?
---@param run string
---@return boolean
function M.shares_log(run)
	return elsewhere[run] ~= nil
end

---Where a run keeps the outputs that are too long for the database; nothing is created.
---@param run_id string
---@return string? nil: there is no directory for state
function M.outputs(run_id)
	local own, state = elsewhere[run_id], M.state()
	if own then
		return own.outputs
	end
	return state and ("%s/outputs/%s"):format(state, name_of_run(run_id)) or nil
end

---The directories that hold the files of a run: its logs, and its long outputs.
---@param run string
---@return string[] empty where M.state is nil
function M.of_run(run)
	local state = M.state()
	return state and { ("%s/logs/%s"):format(state, name_of_run(run)), ("%s/outputs/%s"):format(state, name_of_run(run)) } or {}
end

---The folder of the worktrees of a run, which are removed one by one.
---@param run string
---@return string? nil where M.state is
function M.worktrees(run)
	local state = M.state()
	return state and ("%s/worktrees/%s"):format(state, name_of_run(run)) or nil
end

---The file that has the logs of a run's short successes, one in each line.
---@param run string
---@return string? nil where M.state is
function M.log_lines(run)
	local own, state = elsewhere[run], M.state()
	return own and own.log or state and ("%s/logs/%s/succeeded.jsonl"):format(state, name_of_run(run)) or nil
end

---The log of an attempt of a step of a workflow, where it has a file of its own.
---@param run string
---@param key string of the step
---@param number integer of the attempt, over all rounds
---@return string? nil where M.state is
function M.log(run, key, number)
	local own, state = elsewhere[run], M.state()
	local folder = own and own.outputs or state and ("%s/logs/%s"):format(state, name_of_run(run))
	return folder and M.log_in(folder, key, number)
end

---The log of an attempt in a folder.
---@param folder string
---@param key string of the step
---@param number integer of the attempt, over all rounds
---@return string
function M.log_in(folder, key, number)
	return ("%s/%s-%d.json"):format(folder, M.file_name(key, LONGEST), number)
end

---A path as the command sees it, which works elsewhere; "-" is none.
---@param dir string where the caller who gave it stands
---@param text string
---@return string
function M.from(dir, text)
	return (text == "" or text == "-" or text:sub(1, 1) == "/") and text or dir .. "/" .. text
end

return M
