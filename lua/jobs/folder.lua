-- folder: the jobs of this user, a folder each in $XDG_STATE_HOME/runner/jobs: which there are, and
-- what became of each (docs/design.md#jobs). src/supervisor/job.c lists the files in it. What is
-- true of a job is read from its lock and its answer, never from a pid or a stored state.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local listing = require "runner.listing"
local paths = require "runner.core.paths"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"
local tables = require "runner.core.tables"
local waiting = require "runner.core.waiting"

local M = {}

local ANSWER_MAX = 18 << 20 -- bytes

---How long a job is kept after its end.
M.KEPT_MS = 24 * 3600 * 1000

---@alias runner.JobStatus "running"|"complete"|"failed"|"cancelled"|"lost"

---@class runner.Job
---@field id string
---@field path string its folder
---@field record table what was started
---@field status runner.JobStatus
---@field answer? table the envelope, once it has one

---Where the jobs are; nothing is created.
---@return string
function M.root()
	local state = paths.state()
	return state and state .. "/jobs" or errors.raise("PRECONDITION",
		"No directory for jobs: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory", side_effects = "none" })
end

---Raise what a failing call on a folder of jobs means.
---@param message string
---@param errno? string
function M.raise(message, errno)
	local code = (errno == "ENOSPC" or errno == "EDQUOT" or errno == "EFBIG") and "RESOURCE_EXHAUSTED"
		or (errno == "EACCES" or errno == "EPERM" or errno == "EROFS") and "PERMISSION_DENIED" or "PRECONDITION"
	errors.raise(code, message, { side_effects = "none", context = { reason = errno },
		suggestion = "Jobs are kept in XDG_STATE_HOME, which has to be writable and to have room" })
end

local function read_json(path)
	local text = fs.read(path, ANSWER_MAX)
	local value = text and json.decode(text)
	return type(value) == "table" and value or nil
end

---Is a job's supervisor, or its worker, alive?
---@param path string its folder
---@return boolean
function M.is_held(path)
	local about, message, errno = fs.locked(path .. "/lock")
	if message then
		M.raise(message, errno)
	end
	return about ~= nil
end

-- The files are ours, but a disk may lose what it said it had.
local function read_record(path)
	local v = read_json(path .. "/record.json")
	return v and type(v.command) == "string" and math.type(v.started_ms) == "integer" and math.type(v.timeout_ms) == "integer"
		and scope.is_subject(v.subject) and v or nil -- that of another subject is none
end

local function read_answer(path)
	local v = read_json(path .. "/answer.json")
	local whole = v and type(v.ok) == "boolean" and type(v.meta) == "table" and math.type(v.meta.exit_code) == "integer"
	if whole and (v.ok or type(v.error) == "table" and type(v.error.code) == "string") then
		return v
	end
end

local function status_of(answer)
	if not answer then
		return "lost"
	elseif answer.ok == true then
		return "complete"
	end
	return answer.error.code == "CANCELLED" and "cancelled" or "failed"
end

---One job as it is now; nil: there is none of this name.
---@param id string
---@param project? string nil as well if it is none of this one, as lua/core/scope.lua names it
---@return runner.Job?
function M.open(id, project)
	local path = M.root() .. "/" .. id
	local record = read_record(path)
	if not record or project and record.project ~= project then
		return nil
	end
	local job = { id = id, path = path, record = record }
	local running = M.is_held(path) -- before the answer is looked for: it is there before the lock is free
	job.answer = read_answer(path)
	job.status = not job.answer and running and "running" or status_of(job.answer)
	return job
end

---The job that makes a call already, if there is one that runs.
---@param key string of the call, as its record has it
---@return string? id
function M.running_as(key)
	local names = M.names()
	for i = #names, 1, -1 do
		local path = M.root() .. "/" .. names[i]
		if M.is_held(path) and (read_json(path .. "/record.json") or {}).key == key then
			return names[i]
		end
	end
end

-- Is it a job of this project?
local function belongs(name, project)
	local record = read_record(M.root() .. "/" .. name)
	return record ~= nil and record.project == project
end

---The names of jobs, oldest first: a name begins with its time.
---@param project? string only those of this one, as lua/core/scope.lua names it
---@return string[]
function M.names(project)
	local names = {}
	for _, name in ipairs(fs.list(M.root()) or {}) do
		local is = name:find "^job_%w+$" and (not project or belongs(name, project))
		names[#names + 1] = is and name or nil
	end
	table.sort(names)
	return names
end

---The names of jobs, newest first. All are looked for only where more than the first ones are asked for.
---@return fun(): string?
function M.newest()
	local names = listing.newest(M.root(), "job_") or {}
	local i, last = 0, names[64]
	return function()
		i = i + 1
		if i > #names and last then
			local all = M.names()
			names, i = {}, 1
			for at = #all, 1, -1 do
				names[#names + 1] = all[at] < last and all[at] or nil
			end
			last = nil
		end
		return names[i]
	end
end

local function matching(names, text)
	local found = {}
	for _, name in ipairs(names) do
		found[#found + 1] = reference.matches(name, text) and name or nil
	end
	return found
end

local function newest_of(project)
	for name in M.newest() do
		if belongs(name, project) then
			return name
		end
	end
end

local function raise_none(text)
	local elsewhere = not (scope.is_closed() or scope.subject()) and matching(M.names(), text)[1]
	errors.raise("NOT_FOUND", ("No job '%s'"):format(text), { side_effects = "none",
		suggestion = elsewhere and "Give the whole ID of a job of another project: runner job list --all" or "runner job list" })
end

-- The job of this whole ID, where this call sees it.
local function named(text)
	local job = text ~= reference.LAST and M.open(text)
	return job and scope.sees(job.record.project) and job or nil
end

---The job that a text means: a whole ID; or of the jobs of this project @last for the newest, or the beginning
---or the end of an ID that no other has. Raises NOT_FOUND and CONFLICT.
---@param text string
---@return runner.Job
function M.find(text)
	if text ~= reference.LAST and not text:find "^[%w_]+$" then
		raise_none(text)
	end
	local job = named(text)
	if job then
		return job
	end
	local found = text == reference.LAST and { newest_of(scope.own()) } or matching(M.names(scope.own()), text)
	if #found > 1 then
		local shown = table.move(found, 1, math.min(#found, 10), 1, {})
		errors.raise("CONFLICT", ("Ambiguous ID '%s': several jobs match: %s"):format(text, table.concat(shown, ", ")),
			{ context = { jobs = shown }, side_effects = "none", suggestion = "Give more of the ID, or its end" })
	end
	return found[1] and M.open(found[1]) or raise_none(text)
end

-- A line that is whole has the same number at both ends: it is rewritten in place.
local function read_progress(path)
	local line = (fs.read(path, 1 << 20) or ""):match "^[^\n]*\n"
	local v = line and json.decode(line)
	return type(v) == "table" and v.n ~= nil and v.n == v["end"] and type(v.completed_steps) == "table" and v or nil
end

---How far a job is, as its supervisor last wrote it down; nil: it has not begun.
---@param job runner.Job
---@return {attempt: integer, progress: any, completed_steps: string[], step: string?}?
function M.progress(job)
	for _ = 1, 20 do
		local progress = read_progress(job.path .. "/progress")
		if progress then
			return progress
		end
	end
end

---Wait until nothing of the job runs, or a condition holds, at most this long. It sleeps until the
---kernel says that the lock or the file has changed; without inotify it looks now and then.
---@param job runner.Job
---@param ms number
---@param holds? fun(job: runner.Job): boolean
---@param file? string that changes before `holds` has another answer: "progress", the default, or "log"
---@return "holds"|"ended"|nil
function M.wait(job, ms, holds, file)
	local lock = job.path .. "/lock"
	return waiting.for_change(ms, function()
		return holds and holds(job) and "holds" or not M.is_held(job.path) and "ended"
	end, lock, holds and job.path .. "/" .. (file or "progress") or lock)
end

---Ask a job's own supervisor to end it. A FIFO that is opened to read and write never blocks. Its
---reader is the supervisor, and makes it: it may not be there yet.
---@param job runner.Job
---@return boolean asked
function M.ask_to_end(job)
	local control = io.open(job.path .. "/control", "r+b")
	if control then
		control:setvbuf "no"
		control:write "T"
		control:close()
	end
	return control ~= nil
end

-- --- those that are kept no longer ----------------------------------------------------------

local function changed_ms(path)
	local stat = fs.stat(path .. "/answer.json") or fs.stat(path .. "/log") or fs.stat(path)
	return stat and stat.mtime * 1000 or 0
end

---Remove the jobs that ended more than a day ago, and folders that never became a job.
---@param now_ms integer since the epoch
function M.forget_old(now_ms)
	for _, name in ipairs(M.names()) do
		local path = M.root() .. "/" .. name
		if changed_ms(path) < now_ms - M.KEPT_MS and not fs.locked(path .. "/lock") then
			local ok, message = fs.remove_tree(path)
			if not ok then
				attempt.warn("FILES_LEFT", "An old job could not be removed: " .. message, { path = path })
			end
		end
	end
end

-- --- the argument that names one ---------------------------------------------------------

---For the args of a declaration.
M.argument = { "id", "string", positional = true, required = true, description = "Job: its ID, the beginning or end of it, or @last",
	pattern = reference.PATTERN,
	suggestion = "Give a job ID; 'runner job list' shows them" }

---Exit codes of every such command.
M.exit_codes = { NOT_FOUND = { description = "No job with this ID" },
	CONFLICT = { description = "Ambiguous ID: several jobs match" } }

---M.exit_codes with more.
---@param more table<string, table>
---@return table<string, table>
function M.exit_codes_with(more)
	return tables.add(more, M.exit_codes)
end

-- --- what 'job wait --until' waits for ---------------------------------------------------

---What --until takes, as the pattern of an argument.
M.CONDITION = "^(ended|started|step:.+|done:[0-9]{1,15})$"

local function has(list, name)
	for _, v in ipairs(type(list) == "table" and list or {}) do
		if v == name then
			return true
		end
	end
	return false
end

-- The done of ctx:progress{ done = 3 }, or the number of ctx:progress(3).
local function done_of(progress)
	local done = type(progress) == "table" and progress.done or progress
	return type(done) == "number" and done or nil
end

-- A success has completed its last step as well; a failure says what it had completed.
local function completed(job, name)
	local data = job.answer and job.answer.data
	return has(type(data) == "table" and data.completed_steps, name)
end

local MEANINGS = {
	started = function()
		return function(now) return now ~= nil end
	end,
	step = function(name)
		return function(now, job) return has(now and now.completed_steps, name) or completed(job, name) end
	end,
	done = function(least)
		local n = tonumber(least)
		return function(now) return (done_of(now and now.progress) or -1) >= n end
	end,
}

---Does the condition hold for a job? Nil for "ended", which its lock tells.
---@param text string that matches M.CONDITION
---@return (fun(job: runner.Job): boolean)?
function M.condition(text)
	if text == "ended" then
		return nil
	end
	local kind, rest = text:match "^(%l+):?(.*)$"
	local holds = MEANINGS[kind](rest)
	return function(job)
		return holds(M.progress(job), job)
	end
end

return M
