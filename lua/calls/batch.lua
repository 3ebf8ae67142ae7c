-- batch: requests on our stdin, a line each, several at once, and their answers on stdout, a line
-- each, in the order of the requests or as they come. Knows neither what a request says nor how
-- it is answered: `answer` does that, in a task.
--
-- As many tasks as calls may run at once take a line each and answer it. Memory is bounded:
-- the next line is read only when a task is free, and only WINDOW lines for each task ahead of
-- the first answer that has not been taken.

local calls = require "runner.calls.calls"
local channel = require "runner.task.channel"
local scheduler = require "runner.task.scheduler"

local M = {}

local WINDOW = 4

---@class runner.BatchOptions
---@field max_line integer bytes
---@field answer fun(line: string?, number: integer): boolean, string is it a success, and what to print; line nil: too long
---@field at_once integer
---@field unordered? boolean
---@field keep_going? boolean else no line is taken after the first failure
---@field abandon? fun() the client reads no more: end the calls that run

---@class runner.Batch: runner.BatchOptions
---@field client runner.Channel
---@field number integer of the line read last, from 1
---@field taken integer lines that are being answered
---@field written integer
---@field failed integer
---@field failed_line? integer the first
---@field ready table<integer, string> answers that wait for their turn
---@field reading boolean
---@field writing boolean
---@field over boolean no more lines are taken
---@field broken? string why nothing can be written
---@field unread? string why the rest can't be read
---@field moved runner.Gate opened whenever one of these has changed
local Batch = {}
Batch.__index = Batch

function Batch:stop()
	self.over = true
	self.client:stop_reading()
	self.moved:open()
end

function Batch:breaks(message)
	self.broken = self.broken or message
	self:stop()
	if self.abandon then
		self.abandon()
	end
end

-- The next line that says something. nil, nil: there is none.
function Batch:read()
	repeat
		local line, why = self.client:read_line()
		if not line and why ~= "long" then
			self.unread = why ~= "end" and why or nil
			return nil
		end
		self.number = self.number + 1
		if not line or line:find "%S" then
			return true, line
		end
	until self.over
end

-- A place among the answers, and what is to be answered; nil: no more.
function Batch:take()
	while not self.over and (self.reading or self.taken - self.written >= WINDOW * self.at_once) do
		self.moved:wait()
	end
	if self.over then
		return nil
	end
	self.reading = true
	local some, line = self:read()
	self.reading = false
	if not some or self.over then
		self:stop()
		return nil
	end
	self.taken = self.taken + 1
	self.moved:open()
	return self.taken, line, self.number
end

function Batch:write(text)
	local ok, message = self.client:write(text)
	self.written = self.written + 1
	if not ok then
		self:breaks(message)
	end
	self.moved:open()
end

-- One task writes what is ready, in its order.
function Batch:write_ready()
	if self.writing then
		return
	end
	self.writing = true
	local text = self.ready[self.written + 1]
	while text do
		self.ready[self.written + 1] = nil
		self:write(text)
		text = self.ready[self.written + 1]
	end
	self.writing = false
end

function Batch:work()
	for place, line, number in self.take, self do
		local ok, text = self.answer(line, number)
		if not ok then
			self.failed, self.failed_line = self.failed + 1, math.min(self.failed_line or number, number)
			if not self.keep_going then
				self:stop()
			end
		end
		if self.unordered then
			self:write(text)
		else
			self.ready[place] = text
			self:write_ready()
		end
	end
end

-- Until the work is done: a reader that has left ends what runs.
function Batch:watch()
	if self.client:wait_gone() then
		self:breaks "its reader has left"
	end
end

local function new(options, client)
	return setmetatable({ client = client, number = 0, taken = 0, written = 0, failed = 0, ready = {}, reading = false, writing = false,
		over = false, moved = scheduler.gate() }, { __index = function(_, key)
			return Batch[key] or options[key]
		end })
end

-- One of the tasks that make the calls; the last one closes the channel.
local function worker(batch, left)
	return function()
		local ok, raised = pcall(batch.work, batch)
		left.count = left.count - 1
		if not ok then
			batch:breaks "a call failed"
		end
		if left.count == 0 then
			batch.client:close()
		end
		if not ok then
			error(raised, 0)
		end
	end
end

local function serve(options)
	local client <close> = channel.open { max_line = options.max_line }
	local batch, left = new(options, client), { count = options.at_once }
	local tasks = { function() batch:watch() end }
	for i = 1, options.at_once do
		tasks[i + 1] = worker(batch, left)
	end
	for _, result in ipairs(scheduler.all(tasks)) do
		if not result.ok then
			error(result.error, 0)
		end
	end
	return batch
end

---Answer all lines of our stdin. Returns when the last answer is out, or the client reads no more.
---@param options runner.BatchOptions
---@return runner.Batch what became of them: `taken`, `failed`, `failed_line`, `broken`, `unread`
function M.run(options)
	return scheduler.run(function()
		calls.prepare()
		return serve(options)
	end)
end

return M
