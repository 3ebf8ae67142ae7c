-- outbox: the lines on their way to the client, written by one task in their order. What a
-- client leaves unread is bounded: lines that nobody misses are dropped first, then no more of
-- what it says is read.

local M = {}

local DROP_BYTES, FULL_BYTES = 64 << 10, 1 << 20

---@class runner.mcp.Outbox
---@field channel runner.Channel
---@field gate fun(): runner.Gate
---@field bytes integer that wait
---@field broken? string why nothing can be written any more
local Outbox = {}
Outbox.__index = Outbox

---@param channel { write: fun(self, text: string): boolean?, string? }
---@param gate fun(): runner.Gate
---@return runner.mcp.Outbox
function M.new(channel, gate)
	return setmetatable({ channel = channel, queue = {}, first = 1, last = 0, bytes = 0, news = gate(), room = gate() }, Outbox)
end

---Put one line in the queue.
---@param line string without its newline
---@param may_drop? boolean
function Outbox:put(line, may_drop)
	if self.broken or may_drop and self.bytes > DROP_BYTES then
		return
	end
	local text = line .. "\n"
	self.last, self.bytes = self.last + 1, self.bytes + #text
	self.queue[self.last] = text
	self.news:open()
end

local function take(self)
	local text = self.queue[self.first]
	self.queue[self.first], self.first = nil, self.first + 1
	return text
end

---Write what comes, until nothing can be written any more. In a task of its own.
---@return string message why
function Outbox:run()
	while not self.broken do
		while self.first > self.last do
			self.news:wait()
		end
		local text = take(self)
		local ok, message = self.channel:write(text)
		self.bytes = self.bytes - #text
		self.broken = not ok and (message or "closed") or nil
		self.room:open()
	end
	return self.broken
end

---Has the client left too much unread?
---@return boolean
function Outbox:is_full()
	return not self.broken and self.bytes > FULL_BYTES
end

---Wait while it has.
function Outbox:wait_for_room()
	while self:is_full() do
		self.room:wait()
	end
end

---Wait no more: nothing is written from here on.
---@param why string
function Outbox:give_up(why)
	self.broken = self.broken or why
	self.room:open()
end

---Wait until everything is written, or nothing can be.
function Outbox:drain()
	while not self.broken and self.bytes > 0 do
		self.room:wait()
	end
end

return M
