-- channel: lines between a server and its client, over our own stdin and stdout, read and
-- written inside tasks (lua/task/scheduler.lua): a call parks its task, and nothing else
-- waits for it. For commands that declare stdout = "protocol", whose fd 1 is the caller's.
--
--   local client <close> = channel.open{ max_line = 1 << 20 }
--   local line, why = client:read_line()   -- why: "long", "end", or what the system says
--   local ok, message = client:write(text)
--
-- A line that is too long is one answer, "long", and skipped; no more of it is kept than the
-- limit and one read, and what its outermost object is. One task reads at a time. Texts of several tasks are written whole, in
-- the order of their calls. A cancellation raises in the task that runs, as everywhere.

local scheduler = require "runner.task.scheduler"
local stream = require "runner.stream"

local M = {}

local LINE_MAX = 1 << 20
local REST_MS = 5

---@class runner.Channel
---@field reader userdata
---@field writer userdata
---@field turn runner.Gate opened when the text that is being written is out
---@field busy boolean a text is being written
---@field broken? string why nothing can be written any more
---@field input integer the descriptor that is read
---@field output integer the descriptor that is written
---@field written integer bytes that are out
---@field stopped boolean nothing is read any more
---@field closed boolean
local Channel = {}
Channel.__index = Channel

---@param options? { max_line?: integer, input?: integer, output?: integer } bytes; descriptors, 0 and 1
---@return runner.Channel
function M.open(options)
	options = options or {}
	return setmetatable({ reader = stream.reader(options.input or 0, options.max_line or LINE_MAX),
		writer = stream.writer(options.output or 1), input = options.input or 0,
		output = options.output or 1, written = 0, turn = scheduler.gate(), busy = false,
		stopped = false, closed = false }, Channel)
end

---The next line, without its newline; the last one may lack it. Parks the task.
---@return string? line nil: there is none
---@return string? why "long": it was longer than max_line, and the next call goes on after it; "end"; or the system's message
---@return string? outline of a line that was too long: the JSON of its outermost object, whose inner objects and arrays are empty
function Channel:read_line()
	while not self.stopped do
		local line, why, outline = self.reader:line()
		if why ~= "wait" then
			return line, why, outline
		elseif not scheduler.ready(self.reader:watch()) then
			break
		end
	end
	return nil, "end"
end

-- All of the text. A descriptor that is ready and takes nothing must not make us spin.
local function write_all(self, text)
	local from, idle = 1, false
	while from <= #text do
		local count, message = self.writer:write(text, from)
		if not count then
			return nil, message
		elseif count == 0 then
			if idle then
				scheduler.sleep(REST_MS)
			end
			scheduler.ready(self.writer:watch())
		end
		idle, from, self.written = count == 0, from + count, self.written + count
	end
	return true
end

---Write a text whole, in the order of the calls. Parks the task until the last byte is out.
---Once a write has failed, every later one fails.
---@param text string
---@return boolean? ok
---@return string? message
function Channel:write(text)
	while self.busy do
		self.turn:wait()
	end
	if not self.broken then
		self.busy = true
		local ok, message = write_all(self, text)
		self.busy, self.broken = false, not ok and (message or "closed") or nil
		self.turn:open()
	end
	if self.broken then
		return nil, self.broken
	end
	return true
end

---Park the task until no process can read what we write.
---@return boolean gone false: the channel was closed before
function Channel:wait_gone()
	return not self.closed and scheduler.ready(self.output, stream.GONE)
end

---Park the task until no process writes any more to what we read, though lines may still be unread.
---Of a file that can't be known.
---@return boolean ended false: the channel was closed before
function Channel:wait_ended()
	return not self.closed and scheduler.ready(self.input, stream.ENDED)
end

---From now on there is no more input: who waits for a line goes on.
function Channel:stop_reading()
	if not self.stopped then
		self.stopped = true
		scheduler.forget(self.reader:watch())
	end
end

---Let the tasks that wait here go on: reads end, and none waits for the other side to go.
function Channel:close()
	self:stop_reading()
	if not self.closed then
		self.closed = true
		scheduler.forget(self.output, stream.GONE)
		scheduler.forget(self.input, stream.ENDED)
	end
end
Channel.__close = Channel.close

return M
