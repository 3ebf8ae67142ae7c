-- queues: what waits in the server for its turn, in the order in which it came. An outbox has the lines on their way to a
-- client, written by one task; what the client leaves unread is bounded: lines that may be lost are dropped first, then no
-- more of what it says is read. Slots are places for so many calls at a time.



local M = {}

-- --- an outbox -------------------------------------------------------------------------

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
function M.outbox(channel, gate)
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

-- --- slots -----------------------------------------------------------------------------

---@class runner.mcp.Slots
local Slots = {}
Slots.__index = Slots

---@param gate fun(): runner.Gate
---@param most integer
---@return runner.mcp.Slots
function M.slots(gate, most)
	return setmetatable({ gate = gate, most = most, taken = 0, queue = {} }, Slots)
end

local Slot = {}

-- The next one in the queue takes the place over, so that no later one overtakes it.
function Slot.__close(slot)
	local slots = slot.slots
	local next_gate = table.remove(slots.queue, 1)
	if next_gate then
		next_gate:open()
	else
		slots.taken = slots.taken - 1
	end
end

-- Out of the queue; false: it is not there, since a place has been handed over.
local function leave(self, gate)
	for i, waiting in ipairs(self.queue) do
		if waiting == gate then
			return table.remove(self.queue, i) ~= nil
		end
	end
	return false
end

---Is there no place without waiting?
---@return boolean
function Slots:is_full()
	return self.taken >= self.most
end

---Wait for a place; closing what comes back gives it to the next one.
---@param r { waits?: runner.Gate, cancelled?: boolean } the request that waits; opening `waits` ends that. A cancelled one doesn't begin to
---@return table? slot to be closed; nil: the wait was ended
function Slots:take(r)
	if r.cancelled then
		return nil
	elseif not self:is_full() then
		self.taken = self.taken + 1
	else
		local gate = self.gate()
		self.queue[#self.queue + 1], r.waits = gate, gate
		gate:wait()
		r.waits = nil
		if leave(self, gate) then
			return nil
		end
	end
	return setmetatable({ slots = self }, Slot)
end

return M
