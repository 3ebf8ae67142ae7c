-- terminal: a person at the terminal of a call: waits for a text, types the answer, waits for the next
-- one. In a task beside the call (lua/task/scheduler.lua).

local errors = require "runner.core.errors"
local scheduler = require "runner.task.scheduler"
local test_bed = require "runner.test_bed"
local values = require "runner.testkit.values"

local M = {}

local POLLIN = 1
local SHOWN_MAX = 1 << 20 -- bytes that are kept

---@class runner.TestTerminal
---@field handle userdata of process.start
---@field script string[][]
---@field at integer the pair that is waited for
---@field from integer behind the text of the pair before
---@field shown string
---@field closed boolean
local Terminal = {}
Terminal.__index = Terminal

---@param script string[][]
---@return runner.TestTerminal
function M.open(script)
	for _, pair in ipairs(script) do
		if type(pair) ~= "table" or type(pair[1]) ~= "string" or type(pair[2]) ~= "string" then
			error('terminal: it is a list of pairs, a text to wait for and an answer: { { "Sure?", "yes" } }', 0)
		end
	end
	local handle, why = test_bed.terminal()
	if not handle then
		errors.raise("UNAVAILABLE", "There is no terminal for a test: " .. tostring(why))
	end
	return setmetatable({ handle = handle, script = script, at = 1, from = 1, shown = "", closed = false }, Terminal)
end

-- Type whatever is due.
function Terminal:answer()
	local pair = self.script[self.at]
	local _, last = self.shown:find(pair and pair[1] or "", self.from, true)
	if pair and last then
		self.at, self.from = self.at + 1, last + 1
		self.handle:write(pair[2] .. "\n")
		return self:answer()
	end
end

-- All that is there now; false: there will be no more.
function Terminal:read()
	while true do
		local some, why = self.handle:read()
		if some == "" or not some and why ~= "wait" then
			return false
		elseif not some then
			return true
		end
		self.shown = (self.shown .. some):sub(1, SHOWN_MAX)
		self:answer()
	end
end

---The call runs: it has its end of the terminal.
function Terminal:start()
	self.handle:started()
	scheduler.spawn(function()
		while not self.closed and self:read() do
			scheduler.ready(self.handle:fd(), POLLIN)
		end
	end)
end

---The call is over: what was shown. Raises where a text never came.
---@return string
function Terminal:finish()
	self:read()
	local pair = self.script[self.at]
	if pair then
		error(("the terminal never showed '%s', but %s"):format(pair[1], values.shown(self.shown:sub(self.from))), 0)
	end
	return (self.shown:gsub("\r\n", "\n"))
end

function Terminal:__close()
	self.closed = true
	scheduler.forget(self.handle:fd(), POLLIN)
	self.handle:close()
end

return M
