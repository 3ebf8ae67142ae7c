-- timers: what is due later, for the scheduler. Nothing here waits: the scheduler asks
-- how long it may wait, and fires what is due.

local host = require "runner.host"
local process = require "runner.process"

local M = {}

---@class runner.Timer
---@field at number host.now() when it is due, in ms
---@field fire function
---@field paused number|false for a limit: how long the run had been stopped when it was set

---@class runner.Timers
---@field list runner.Timer[]
local Timers = {}
Timers.__index = Timers

---@return runner.Timers
function M.new()
	return setmetatable({ list = {} }, Timers)
end

---Have fire() called in `ms`.
---@param ms number
---@param fire function
---@param is_limit? boolean it doesn't advance while the run is stopped by Ctrl+Z
---@return runner.Timer
function Timers:add(ms, fire, is_limit)
	local timer = { at = host.now() + ms, fire = fire, paused = is_limit and process.paused() or false }
	self.list[#self.list + 1] = timer
	return timer
end

---@param timer runner.Timer
function Timers:remove(timer)
	for i, t in ipairs(self.list) do
		if t == timer then
			table.remove(self.list, i)
			return
		end
	end
end

local function due(timer)
	return timer.paused and timer.at + process.paused() - timer.paused or timer.at
end

local function earliest(self)
	local first, at
	for _, timer in ipairs(self.list) do
		local own = due(timer)
		if not first or own < at then
			first, at = timer, own
		end
	end
	return first, at
end

---Time until the next timer is due, in ms; nil when there is none.
---@return number?
function Timers:left()
	local _, at = earliest(self)
	return at and math.max(at - host.now(), 0)
end

---Fire what is due by now, the earliest first.
function Timers:fire()
	local now = host.now()
	local timer, at = earliest(self)
	while timer and at <= now do
		self:remove(timer)
		timer.fire()
		timer, at = earliest(self)
	end
end

return M
