-- task_jobs: the tasks of MCP, which are jobs (lua/jobs): a call with --detach, whose folder has a
-- file more, task.json. So a task outlives its server as a job does, and any server of the same
-- project finds it; a job that was not started as a task is none.

local attempt = require "runner.core.attempt"
local envelopes = require "runner.calls.envelope"
local folder = require "runner.jobs.folder"
local fs = require "runner.fs"
local host = require "runner.host"
local job_answer = require "runner.jobs.answer"
local json = require "runner.json"
local scope = require "runner.core.scope"

local M = {}

---How long a task is kept at the most, once it has ended, and the time of its clock.
M.KEPT_MS, M.now = folder.KEPT_MS, host.wall_ms

local PRIVATE = 384 -- 0600
local ABOUT_MAX = 1 << 16 -- bytes

---@class runner.mcp.Task a call that goes on without its request
---@field id string
---@field command string dot path
---@field created_ms integer since the epoch
---@field updated_ms integer
---@field ttl_ms? integer that the client asked for
---@field running boolean
---@field cancelled boolean it was cancelled, or a client was told so
---@field progress? any what the command said last
---@field step? string where it is
---@field envelope? table its answer, once it has ended

local function path_of(id)
	return folder.root() .. "/" .. id .. "/task.json"
end

local function write(id, about)
	return fs.write(path_of(id), assert(json.encode(about)) .. "\n", PRIVATE, false)
end

local function about_of(id)
	local text = id:find "^job_%w+$" and fs.read(path_of(id), ABOUT_MAX)
	local about = text and json.decode(text)
	return type(about) == "table" and type(about.command) == "string" and about or nil
end

---Make a task of a job. From here on M.find finds it.
---@param id string of the job
---@param command string dot path
---@param ttl_ms? integer
---@return boolean ok
---@return string? message
function M.keep(id, command, ttl_ms)
	local ok, message = write(id, { command = command, ttl_ms = ttl_ms, cwd = host.getcwd() })
	return ok or false, message
end

local function envelope_of(job)
	if job.status == "running" then
		return nil
	end
	return job.answer or (envelopes.failure(job_answer.lost(job, attempt.project), job.record.command))
end

local function changed_ms(job)
	local stat = fs.stat(job.path .. (job.answer and "/answer.json" or "/progress"))
	return math.max(stat and math.floor(stat.mtime * 1000) or 0, job.record.started_ms)
end

-- Without a project, the directory tells servers apart; so it did for all before.
local function is_ours(about, record)
	local own = scope.project()
	return (record.project or own) == own and (about.cwd == host.getcwd() or record.project ~= nil and own ~= "")
end

---A task as it is now.
---@param id string whatever a client sent
---@return runner.mcp.Task? task nil: there is none of this name that was started in this project
function M.find(id)
	local about = about_of(id)
	local job = about and folder.open(id)
	if not (job and is_ours(about, job.record)) then
		return nil
	end
	local now = job.status == "running" and folder.progress(job) or {}
	return { id = id, command = about.command, created_ms = job.record.started_ms, updated_ms = changed_ms(job),
		ttl_ms = math.tointeger(about.ttl_ms), running = job.status == "running",
		cancelled = about.cancelled == true or job.status == "cancelled",
		progress = now.progress ~= json.null and now.progress or nil, step = now.step, envelope = envelope_of(job) }
end

---The IDs of all tasks that may be there, newest first.
---@return string[]
function M.names()
	local names, out = folder.names(), {}
	for i = #names, 1, -1 do
		out[#out + 1] = about_of(names[i]) and names[i] or nil
	end
	return out
end

---Does a task still run? Cheap.
---@param id string
---@return boolean
function M.runs(id)
	return folder.is_held(folder.root() .. "/" .. id)
end

---Ask a task's own supervisor to end it.
---@param id string
---@return boolean asked false: it does not listen yet, or has ended
function M.ask_to_end(id)
	local job = folder.open(id)
	return job ~= nil and folder.ask_to_end(job)
end

---Remember that a client was told of the cancellation.
---@param id string
function M.mark_cancelled(id)
	local about = about_of(id)
	if about then
		about.cancelled = true
		write(id, about)
	end
end

---Remove a task that has ended.
---@param id string
function M.remove(id)
	if not M.runs(id) then
		fs.remove_tree(folder.root() .. "/" .. id)
	end
end

return M
