-- slots: so many at a time, the others in the order in which they came.

local M = {}

---@class runner.mcp.Slots
local Slots = {}
Slots.__index = Slots

---@param gate fun(): runner.Gate
---@param most integer
---@return runner.mcp.Slots
function M.new(gate, most)
	return setmetatable({ gate = gate, most = most, taken = 0, queue = {} }, Slots)
end

local Slot = {}

-- The next one in the queue takes the place over, so that nobody overtakes it.
function Slot.__close(slot)
	local slots = slot.slots
	local next_gate = table.remove(slots.queue, 1)
	if next_gate then
		next_gate:open()
	else
		slots.taken = slots.taken - 1
	end
end

-- Out of the queue; false: it is not there, since somebody has handed over a place.
local function leave(self, gate)
	for i, waiting in ipairs(self.queue) do
		if waiting == gate then
			return table.remove(self.queue, i) ~= nil
		end
	end
	return false
end

---Wait for a place; closing what comes back gives it to the next one.
---@param r { waits?: runner.Gate, cancelled?: boolean } who waits; whoever opens `waits` ends that. Who is cancelled doesn't begin to
---@return table? slot to be closed; nil: the wait was ended
function Slots:take(r)
	if r.cancelled then
		return nil
	elseif self.taken < self.most then
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
