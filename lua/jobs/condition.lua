-- condition: what `job wait --until` waits for: ended, started, step:NAME, done:N.

local folder = require "runner.jobs.folder"

local M = {}

---What --until takes, as the pattern of an argument.
M.PATTERN = "^(ended|started|step:.+|done:[0-9]{1,15})$"

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
---@param text string that matches M.PATTERN
---@return (fun(job: runner.Job): boolean)?
function M.of(text)
	if text == "ended" then
		return nil
	end
	local kind, rest = text:match "^(%l+):?(.*)$"
	local holds = MEANINGS[kind](rest)
	return function(job)
		return holds(folder.progress(job), job)
	end
end

return M
