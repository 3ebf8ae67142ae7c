-- fake_cluster: a cluster as a model, for tests and the bench: nodes, a queue, the folder of one
-- unit, and tasks that do what `runner workflow chunk` does, in simulated time. Faults are
-- drawn from a seed, so that a schedule that fails can be repeated.
--
-- A task takes its fence, ends if its generation is over or has a result, replays the journal,
-- and has a line there before and after each item. What an item does is counted: the one thing
-- that matters is that it isn't done twice unasked.

local M = {}

local Cluster = {}
Cluster.__index = Cluster

---@param options { seed: integer, nodes?: integer, array?: integer, item_ms?: integer, faults?: table<string, number>, whole?: boolean,
---  idempotent?: boolean, memory_needed?: fun(chunk: integer): integer,
---  parks?: fun(chunk: integer): integer?, fails?: table<integer, boolean> }
function M.new(options)
	local self = setmetatable({ now_ms = 1000000, files = {}, tasks_of = {}, tasks = {}, jobs = 0, effects = {},
		submissions = 0, asked = 0, cancels = 0, twins = 0, known = {}, late = {} }, Cluster)
	for name, value in pairs(options) do
		self[name] = value
	end
	self.nodes, self.item_ms, self.faults, self.array = self.nodes or 4, self.item_ms or 1000, self.faults or {}, self.array or 8
	self.state = (options.seed * 2654435761 + 1) & 0x7fffffff
	return self
end

function Cluster:random()
	self.state = (self.state * 1103515245 + 12345) & 0x7fffffff
	return (self.state >> 8) / 0x7fffff
end

function Cluster:happens(name)
	local odds = self.faults[name]
	return odds ~= nil and self:random() < odds
end

-- --- the folder of the unit ----------------------------------------------------------------------

function Cluster:file(chunk)
	self.files[chunk] = self.files[chunk] or { journal = {}, started = {}, done = {}, count = 0 }
	return self.files[chunk]
end

---The folder as the coordinator uses it.
function Cluster:unit()
	local cluster = self
	return { dir = "/shared/unit",
		put_chunk = function(_, chunk, first, items)
			local file = cluster:file(chunk)
			file.first, file.count = first, #items
		end,
		set_generation = function(_, chunk, generation) cluster:file(chunk).generation = generation end,
		put_tasks = function(_, token, list) cluster.tasks_of[token] = list end,
		result = function(_, chunk) return cluster:file(chunk).result end,
		is_whole = function() return true end,
		fence = function(_, chunk) return cluster:file(chunk).holder and "held" or "free" end,
	}
end

-- --- what a task does ----------------------------------------------------------------------------

local function over(self, task, how)
	task.over, task.ended, task.ended_ms = true, how, self.now_ms
	if task.file and task.file.holder == task then
		task.file.holder = nil
	end
end

local function result(self, task, state, wake_ms)
	task.file.result = { generation = task.generation, state = state, wake_ms = wake_ms and self:wall() + wake_ms, wait_ms = wake_ms,
		started_ms = task.began_ms, ended_ms = self:wall() }
	over(self, task, "completed")
end

-- It may not write any more: somebody else may by now.
local function is_old(task)
	return task.file.generation ~= task.generation or task.file.claim ~= nil and task.file.claim ~= task
end

local function begin(self, task)
	local line = (self.tasks_of[task.token] or {})[task.index]
	if not line or line.chunk == 0 then
		return over(self, task, "completed")
	end
	task.chunk, task.generation, task.file, task.began_ms = line.chunk, line.generation, self:file(line.chunk), self:wall()
	local file = task.file
	if file.holder then
		self.twins = self.twins + 1
		task.file = nil
		return over(self, task, "completed")
	elseif file.generation ~= task.generation or file.result and file.result.generation == task.generation then
		return over(self, task, "completed")
	end
	file.holder, file.claim = task, task
	if self.memory_needed and task.memory < self.memory_needed(task.chunk) then
		return over(self, task, "out_of_memory")
	end
	task.item = 1
end

local function item_key(file, i)
	return file.first + i - 1
end

local function last(self, task)
	local file, wake = task.file, self.parks and self.parks(task.chunk, task.generation)
	if wake then
		return result(self, task, "parked", wake)
	end
	result(self, task, self.fails and self.fails[task.chunk] and "failed" or file.doubt and "doubt" or "completed")
end

-- One line of the journal, or the end.
local function step(self, task)
	local file = task.file
	if is_old(task) then
		return over(self, task, "failed")
	elseif self.whole then
		return last(self, task)
	end
	local i = task.item
	while not task.running and i <= file.count and file.done[i] do
		i = i + 1
	end
	task.item = i
	if task.running then
		file.done[i], task.item, task.running = true, i + 1, false
	elseif i > file.count then
		last(self, task)
	elseif file.started[i] and not self.idempotent then
		file.doubt = true
		file.doubts = file.doubts or {}
		file.doubts[item_key(file, i)] = true
		result(self, task, "doubt")
	else
		local key = item_key(file, i)
		file.started[i], task.running = true, true
		self.effects[key] = (self.effects[key] or 0) + 1
	end
end

-- --- time ------------------------------------------------------------------------------------------

local function duration(self, task)
	return self.whole and self.item_ms * math.max(task.file.count, 1) or self.item_ms / 2 * (0.5 + self:random())
end

local function start(self, task)
	task.node, task.started = true, true
	if self:happens "boot_failed" then
		return over(self, task, "boot_failed")
	end
	begin(self, task)
	if not task.over then
		task.at = self.now_ms + duration(self, task)
	end
end

local function accident(self, task)
	if self:happens "node_fails" then
		over(self, task, "node_failed")
	elseif self:happens "preempted" then
		over(self, task, "preempted")
	elseif self:happens "lease_expires" and task.file.holder == task then
		task.file.holder = nil -- and the task goes on
		return false
	elseif self:happens "queue_loses" then
		task.hidden = true -- the queue says that the node is gone; the task goes on
		return false
	end
	return task.over
end

local function go_on(self, task)
	if not accident(self, task) then
		step(self, task)
	end
	if not task.over then
		task.at = self.now_ms + duration(self, task)
	end
end

local function forget_over(self)
	local kept, running = {}, 0
	for _, task in ipairs(self.tasks) do
		if not task.over then
			kept[#kept + 1] = task
			running = running + (task.started and 1 or 0)
		end
	end
	self.tasks = kept
	return running
end

local function arrive(self)
	for i = #self.late, 1, -1 do
		if self.late[i].at <= self.now_ms then
			self:enqueue(self.late[i].request)
			table.remove(self.late, i)
		end
	end
end

local function fill_nodes(self)
	local running = forget_over(self)
	for _, task in ipairs(self.tasks) do
		if running >= self.nodes then
			return
		elseif not task.started and task.from <= self.now_ms then
			start(self, task)
			running = running + (task.over and 0 or 1)
		end
	end
end

local function next_event(self)
	local first
	for _, task in ipairs(self.tasks) do
		if task.at and not task.over and (not first or task.at < first.at) then
			first = task
		end
	end
	return first
end

---The wall clock of all machines, which jumps with `step_ms`.
function Cluster:wall()
	return self.now_ms + (self.step_ms or 0)
end

local SLICE_MS = 2500 -- what waits for a time or a node is looked at this often

---Let time pass.
function Cluster:advance(ms)
	for from = 0, ms - 1, SLICE_MS do
		if #self.tasks + #self.late == 0 then
			self.now_ms = self.now_ms + ms - from
			return
		end
		self:advance_slice(math.min(SLICE_MS, ms - from))
	end
end

function Cluster:advance_slice(ms)
	local till = self.now_ms + ms
	arrive(self)
	fill_nodes(self)
	local task = next_event(self)
	while task and task.at <= till do
		self.now_ms = math.max(self.now_ms, math.ceil(task.at))
		go_on(self, task)
		arrive(self)
		if task.over then
			fill_nodes(self)
		end
		task = next_event(self)
	end
	self.now_ms = math.max(self.now_ms, till)
	arrive(self)
	fill_nodes(self)
end

-- --- the queue: the five functions of a place ---------------------------------------------------------

function Cluster:enqueue(request)
	self.jobs = self.jobs % 3 + 1 -- ids are given out again
	local job = { job = tostring(self.jobs), token = request.token, tasks = {} }
	for i = 1, request.tasks do
		local task = { token = request.token, index = i, memory = request.size, from = self.now_ms + math.floor(self:random() * 300) }
		job.tasks[i] = task
		self.tasks[#self.tasks + 1] = task
	end
	if not self:happens "job_lost" then -- else a controller that was killed has forgotten it; its tasks may run
		self.known[request.token] = job
	elseif self:random() < 0.5 then
		for _, task in ipairs(job.tasks) do
			task.over = true
		end
	end
	return job.job
end

local Place = {}
Place.__index = Place

---@param cluster table
function M.place(cluster)
	return setmetatable({ cluster = cluster }, Place)
end

function Place:limits()
	return { array = self.cluster.array }
end

function Place:submit(request)
	local cluster = self.cluster
	cluster.submissions = cluster.submissions + 1
	request = { token = request.token, tasks = request.tasks, size = tonumber(request.memory) or 1 }
	if cluster:happens "busy" then
		return nil, { kind = "busy", message = "the controller is busy" }
	elseif cluster:happens "refused" then
		return nil, { kind = "refused", code = "PRECONDITION", message = "no such partition" }
	elseif cluster:happens "unknown" then
		if cluster:random() < 0.5 then
			cluster:enqueue(request)
		elseif cluster:random() < 0.5 then
			cluster.late[#cluster.late + 1] = { at = cluster.now_ms + math.floor(cluster:random() * 60000), request = request }
		end
		return nil, { kind = "unknown", message = "no answer" }
	end
	local job = cluster:enqueue(request)
	if cluster:happens "twin" then
		cluster.late[#cluster.late + 1] = { at = cluster.now_ms + math.floor(cluster:random() * 30000), request = request }
	end
	return { job = job }
end

local function state_of(cluster, task)
	if task.hidden then
		return { state = "ended", ended = "node_failed" }
	elseif task.over then
		return { state = "ended", ended = task.ended or "failed" }
	elseif task.started then
		return { state = "running", node = "n1" }
	end
	return { state = "pending", reason = "Resources", why = "it waits for a free node", cluster and nil }
end

local KEPT_MS = 20000 -- how long the queue remembers a task

function Place:states(tokens)
	local cluster = self.cluster
	cluster.asked = cluster.asked + 1
	if cluster:happens "slow" then
		cluster:advance(5000)
	end
	if cluster:happens "unreachable" then
		return nil, { message = "the controller does not answer" }
	end
	local answers = {}
	for _, token in ipairs(tokens) do
		local job = cluster.known[token]
		local tasks, some = {}, false
		for i, task in ipairs(job and job.tasks or {}) do
			if not task.over or cluster.now_ms - (task.ended_ms or 0) < KEPT_MS then
				tasks[i], some = state_of(cluster, task), true
			end
		end
		answers[token] = some and { job = job.job, tasks = tasks } or nil
	end
	return answers
end

function Place:cancel(tokens)
	local cluster, wanted = self.cluster, {}
	cluster.cancels = cluster.cancels + 1
	if cluster:happens "unreachable" then
		return nil, { message = "the controller does not answer" }
	end
	for _, token in ipairs(tokens) do
		wanted[token] = true
	end
	for _, task in ipairs(cluster.tasks) do
		if wanted[task.token] and not task.over then
			over(cluster, task, "cancelled")
		end
	end
	return true
end

function Place:check()
	return {}
end

return M
