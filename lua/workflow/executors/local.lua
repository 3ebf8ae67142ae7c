-- local: a place whose tasks are processes of this machine: what an executor is without a cluster,
-- for a first try and for loops that are too long for one process. Its queue is in memory: a later
-- process finds that the token is unknown, and a free fence says that nothing of it lives.

local fs = require "runner.fs"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"

local M = {}

local MOST = 1000 -- tasks of a submission
local GRACE_MS = 5000
local CAP = 64 << 10 -- of what a task prints: its envelope

---@class runner.workflow.LocalPlace
---@field misses integer the queue is ours: what it doesn't know is gone
---@field changed? fun() called when a task ends
local Local = {}
Local.__index = Local

-- Processors that we may use (proc(5), Cpus_allowed).
local function processors()
	local mask = (fs.read "/proc/self/status" or ""):match "\nCpus_allowed:%s*([%x,]+)" or "1"
	local count = 0
	for digit in mask:gmatch "%x" do
		local bits = tonumber(digit, 16)
		count = count + (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1) + (bits >> 3 & 1)
	end
	return math.max(count, 1)
end

---@param executor runner.Executor
---@param env? table<string, string> further variables of the tasks
---@param lock? userdata that lives as long as any of its tasks
---@return runner.workflow.LocalPlace
function M.open(executor, env, lock)
	local list = {}
	for _, more in ipairs { executor.environment or {}, env or {} } do
		for name, value in pairs(more) do
			list[#list + 1] = name .. "=" .. value
		end
	end
	return setmetatable({ at_once = executor.at_once or processors(), env = list, lock = lock, tokens = {}, queue = {}, first = 1,
		last = 0, running = 0, misses = 1 }, Local)
end

---@return {array: integer}
function Local:limits()
	return { array = math.min(MOST, self.at_once * 2) }
end

-- --- its queue -----------------------------------------------------------------------------------

-- What kept a task from doing its work, where it says so.
local function why_of(result)
	local envelope = json.decode(result.stdout or "")
	local e = type(envelope) == "table" and type(envelope.error) == "table" and envelope.error
	return result.error or e and tostring(e.message):gsub("%c", " "):sub(1, 300) or nil
end

-- It may have been cancelled since it was chosen, and had nothing yet that could be stopped.
local function run(self, task)
	if task.wanted then
		task.state, task.ended = "ended", "cancelled"
		return
	end
	local argv = table.move(task.argv, 1, #task.argv, 1, {})
	argv[#argv + 1] = tostring(task.index)
	local result = scheduler.process { argv = argv, cwd = task.dir, env = self.env, cap = CAP, grace_ms = GRACE_MS, lock = self.lock,
		on_start = function(handle)
			task.handle = handle
		end }
	task.handle, task.state = nil, "ended"
	task.ended, task.why = task.wanted and "cancelled" or result.ok and "completed" or "failed", why_of(result)
end

local function start_more(self)
	while self.running < self.at_once and self.queue[self.first] do
		local task = self.queue[self.first]
		self.queue[self.first], self.first = nil, self.first + 1
		if task.state == "pending" then
			task.state, self.running = "running", self.running + 1
			scheduler.spawn(function()
				run(self, task)
				self.running = self.running - 1
				start_more(self)
				if self.changed then
					self.changed()
				end
			end)
		end
	end
end

-- --- the functions of a place ----------------------------------------------------------------------

---@param request {token: string, tasks: integer, dir: string, argv: string[]}
---@return {job: string}
function Local:submit(request)
	local tasks = {}
	for i = 1, request.tasks do
		tasks[i] = { state = "pending", index = i, argv = request.argv, dir = request.dir }
		self.last = self.last + 1
		self.queue[self.last] = tasks[i]
	end
	self.tokens[request.token] = tasks
	start_more(self)
	return { job = "local" }
end

---@param tokens string[]
---@return table<string, {job: string, tasks: table[]}>
function Local:states(tokens)
	local answers = {}
	for _, token in ipairs(tokens) do
		local tasks = self.tokens[token]
		answers[token] = tasks and { job = "local", tasks = tasks } or nil
	end
	return answers
end

---@param tokens string[]
---@return true
function Local:cancel(tokens)
	for _, token in ipairs(tokens) do
		for _, task in ipairs(self.tokens[token] or {}) do
			task.wanted = true
			if task.handle then
				task.handle:stop(GRACE_MS)
			elseif task.state == "pending" then
				task.state, task.ended = "ended", "cancelled"
			end
		end
	end
	return true
end

---@return table[]
function Local.check()
	return { { name = "processors", ok = true, detail = ("%d tasks at once"):format(processors()) } }
end

return M
