-- lanes: what ctx:parallel does at once, as lines at the bottom of a terminal: each with its state, its time and the
-- last line that its program printed. The supervisor draws them (src/supervisor/picture.h). Loaded where somebody sees them.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local scheduler = require "runner.task.scheduler"

local M = {}

local EVERY_MS = 100
local MOST = 10 -- lines
local TEXT = 400 -- bytes of a line's text
local US = "\x1f" -- between the fields of a line: src/supervisor/block.h
local MARKS = { running = "c  ▸", failed = "r  ✗", done = "g  ✓" }

---@class runner.Lane
---@field name string
---@field state "pending"|"running"|"done"|"failed"
---@field since? number host.now() at its beginning
---@field took? number ms
---@field text? string what it printed last, or why it failed

---@class runner.Lanes
---@field list runner.Lane[]
---@field due boolean
local Lanes = {}
Lanes.__index = Lanes

local function name_of(key, item)
	if type(key) == "string" then
		return key
	end
	local run, http = type(item) == "table" and item.run, type(item) == "table" and item.http
	local words = type(run) == "table" and table.concat(run, " ", 1, math.min(#run, 3)) or type(http) == "table" and http.url
	return words and tostring(words):sub(1, 100) or "#" .. tostring(key)
end

-- What to show of them: those that run, then what has failed, then what is done.
local function chosen(list)
	local out, left = {}, 0
	for _, state in ipairs { "running", "failed", "done" } do
		for _, lane in ipairs(list) do
			if lane.state == state and #out < MOST then
				out[#out + 1] = lane
			elseif lane.state == state then
				left = left + 1
			end
		end
	end
	return out, left
end

local function line_of(lane, now)
	local clock = lane.state == "running" and ("+%d"):format((now - lane.since) // 1) or ("=%d"):format(lane.took // 1)
	local text = attempt.mask and attempt.mask(lane.text or "") or lane.text or ""
	return table.concat({ MARKS[lane.state], host.clean(lane.name):gsub("%c", " "), clock, (host.clean(text):gsub("%c", " ")) }, US)
end

function Lanes:lines()
	local shown, left = chosen(self.list)
	local lines, waiting, now = {}, 0, host.now()
	for i, lane in ipairs(shown) do
		lines[i] = line_of(lane, now)
	end
	for _, lane in ipairs(self.list) do
		waiting = waiting + (lane.state == "pending" and 1 or 0)
	end
	if left + waiting > 0 then
		lines[#lines + 1] = table.concat({ "d  …", "", "", ("%d more, %d waiting"):format(left, waiting) }, US)
	end
	return lines
end

local function send(self)
	self.due = false
	host.send("PROGRESS", { steps = self:lines(), state = "lanes" })
end

-- At most ten times a second.
function Lanes:changed()
	if not self.due then
		self.due = true
		scheduler.after(EVERY_MS, function()
			if self.due then
				send(self)
			end
		end)
	end
end

---The lane begins now.
---@param i integer
function Lanes:begins(i)
	self.list[i].state, self.list[i].since = "running", host.now()
	self:changed()
end

---@param i integer
---@param result runner.TaskResult
function Lanes:ends(i, result)
	local lane = self.list[i]
	lane.took = host.now() - (lane.since or host.now())
	lane.state, lane.text = result.ok and "done" or "failed", not result.ok and tostring(result.error.message) or nil
	self:changed()
end

---The same request of ctx:run, whose lines are seen.
---@param i integer
---@param spec any
---@return any
function Lanes:listening(i, spec)
	if type(spec) ~= "table" or spec.capture == false or spec.on_line ~= nil then
		return spec
	end
	local own = setmetatable({}, getmetatable(spec))
	for key, value in next, spec do
		own[key] = value
	end
	function own.on_line(line)
		if line:find "%S" then
			self.list[i].text = line:sub(1, TEXT)
			self:changed()
		end
	end
	return own
end

-- They are over, however that came.
function Lanes:__close()
	self.due = false
	host.send("PROGRESS", { steps = {}, state = "lanes" })
end

---@param keys any[] of the items, in the order in which they start
---@param items table
---@return runner.Lanes? lanes nil: nobody sees them
function M.of(keys, items)
	if scheduler.inside() or not require("runner.core.surroundings").is_drawn() then
		return nil
	end
	local list = {}
	for i, key in ipairs(keys) do
		list[i] = { name = name_of(key, items[key]), state = "pending" }
	end
	return setmetatable({ list = list, due = false }, Lanes)
end

return M
