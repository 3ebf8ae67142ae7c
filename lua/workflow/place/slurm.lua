-- slurm: a place whose tasks Slurm runs. A submission is one array, its name is the token: an id is no
-- identity, since a controller that lost a job gives its number out again. Nothing here remembers
-- anything: what is asked is asked of the controller. Call it inside scheduler tasks.

local fs = require "runner.fs"
local programs = require "runner.workflow.place.programs"
local words = require "runner.workflow.place.slurm_words"

local M = {}

local SMALLEST = 1000 -- Slurm's own default of MaxArraySize, less one
local NAMES = 200 -- in one squeue, so that its command line stays short

---@class runner.Place
---@field executor runner.Executor
---@field env table<string, string> of the programs that are started here
local Slurm = {}
Slurm.__index = Slurm

---@param executor runner.Executor
---@param env? table<string, string>
---@return runner.Place
function M.open(executor, env)
	return setmetatable({ executor = executor, env = env or {}, user = tostring(assert(fs.stat "/proc/self").uid) }, Slurm)
end

function Slurm:_run(argv, stdin)
	return programs.run(argv, { stdin = stdin, env = self.env })
end

---@return { array: integer } the most tasks of a submission
function Slurm:limits()
	if not self.array then
		local result = self:_run { "scontrol", "show", "config" }
		self.array = result.ok and words.largest_array(result.stdout) or nil
	end
	return { array = self.array or SMALLEST }
end

---Submit an array. Whoever calls has committed the token before.
---@param s { token: string, tasks: integer, dir: string, argv: string[], executor: runner.Executor, memory?: string }
---@return { job: string }?, runner.PlaceProblem? problem
function Slurm:submit(s)
	local result = self:_run(words.sbatch(s), words.script(s.argv, s.executor))
	local job = result.ok and words.job(result.stdout)
	if job then
		return { job = job }
	elseif result.error then
		return nil, { kind = "refused", code = "PRECONDITION", message = programs.said("sbatch", result),
			suggestion = "Is this a machine of the cluster from which jobs are submitted?" }
	elseif result.ok then
		return nil, { kind = "unknown", code = "UNAVAILABLE", message = "sbatch printed no job id" }
	elseif result.timed_out or result.signal then
		return nil, programs.unknown("sbatch", result)
	end
	return nil, words.refusal(programs.said("sbatch", result))
end

function Slurm:_squeue(names)
	local result = self:_run { "squeue", "--noheader", "--array", "--states=all", "--user=" .. self.user,
		"--name=" .. table.concat(names, ","), "--format=" .. words.FORMAT }
	if not result.ok then
		return nil, programs.unknown("squeue", result)
	end
	local states, line = words.states(result.stdout, names)
	return states, not states and { kind = "unknown", code = "UNAVAILABLE",
		message = ("squeue printed a line that can't be read: %s"):format(line:sub(1, 200)) } or nil
end

---What the controller knows of these tokens: one that it doesn't know is not in the answer.
---@param tokens string[]
---@return table<string, { job: string, tasks: table<integer, table> }>? states, runner.PlaceProblem? problem nil: conclude nothing
function Slurm:states(tokens)
	local out = {}
	for first = 1, #tokens, NAMES do
		local some, problem = self:_squeue(table.move(tokens, first, math.min(first + NAMES - 1, #tokens), 1, {}))
		if not some then
			return nil, problem
		end
		for token, state in pairs(some) do
			out[token] = state
		end
	end
	return out
end

---End the tasks of these tokens, pending or running. It comes back before they are gone.
---@param tokens string[]
---@return true? ok, runner.PlaceProblem? problem
function Slurm:cancel(tokens)
	for _, token in ipairs(tokens) do
		local result = self:_run { "scancel", "--user=" .. self.user, "--name=" .. token }
		if not result.ok then
			return nil, programs.unknown("scancel", result)
		end
	end
	return true
end

-- --- check ---------------------------------------------------------------------------------------

function Slurm:_check_controller(rows)
	local result = self:_run { "scontrol", "show", "config" }
	local version = result.ok and result.stdout:match "\nSLURM_VERSION%s*=%s*(%S+)"
	rows[1] = { name = "controller", ok = version ~= nil and version ~= false,
		detail = version and ("Slurm %s answers; arrays have up to %d tasks"):format(version, self:limits().array)
			or programs.said("scontrol", result),
		remedy = not version and "Install Slurm's client programs, and check that slurmctld runs: scontrol ping" or nil }
	return version
end

function Slurm:_check_request(rows)
	local memory = self.executor.memory
	local argv = { "sbatch", "--test-only", "--export=NONE", "--no-requeue" }
	local resources = words.resources(self.executor, memory and memory[#memory])
	local result = self:_run(table.move(resources, 1, #resources, #argv + 1, argv), "#!/bin/sh\ntrue\n")
	local said = programs.said("sbatch", result)
	local problem = not result.ok and words.refusal(said)
	rows[#rows + 1] = { name = "request", ok = result.ok, detail = problem and problem.message
		or "a task with these resources can be submitted" .. (memory and " with " .. memory[#memory] or ""),
		remedy = problem and (problem.suggestion or "Ask the site which partition, account and limits are yours") or nil }
end

---Whether the queue is there, and would take a task.
---@return { name: string, ok: boolean, detail: string, remedy?: string }[]
function Slurm:check()
	local rows = {}
	if self:_check_controller(rows) then
		self:_check_request(rows)
	end
	return rows
end

return M
