-- progress_display: progress as a person sees it at a terminal. A bar for ctx:progress, with rate and time left where
-- the total is known, else a spinner; lanes for what ctx:parallel does at once: each a line with its state, its time and
-- the last line that its program printed. The supervisor draws both (src/supervisor/block.h).

local attempt = require "runner.core.attempt"
local host = require "runner.host"

local M = {}

-- --- the bar ---------------------------------------------------------------------------

local SPINNER = "⠋" -- the supervisor turns it (src/supervisor/block_text.c)
local WIDE, NARROW, ROOM = 24, 10, 60 -- columns of a bar; and of the terminal, from which on it is wide
local LONGEST_S = 1000 * 3600 -- what would take longer is not said
local SOON_MS = 1000 -- a rate of less than this says nothing

---@class runner.Bar
---@field first? number done, when it was first said
---@field since? number ms, at that time
---@field said? string the last plain line
---@field said_at? number ms
---@field tenth? integer
local Bar = {}
Bar.__index = Bar

---@return runner.Bar
function M.bar()
	return setmetatable({}, Bar)
end

local function duration(seconds)
	local n = math.ceil(seconds)
	if n < 60 then
		return ("%ds"):format(n)
	elseif n < 3600 then
		return ("%dm %02ds"):format(n // 60, n % 60)
	end
	return ("%dh %02dm"):format(n // 3600, n // 60 % 60)
end

local function number(n)
	return n >= 100 and ("%.0f"):format(n) or n >= 1 and ("%.1f"):format(n):gsub("%.0$", "") or ("%.2g"):format(n)
end

local function drawn(part, width)
	local full = math.floor(part * width)
	return ("█"):rep(full) .. ("░"):rep(width - full)
end

-- What is done in a second since the first time; nil: that is not known yet.
local function rate(self, done, now)
	if not self.since or done < self.first then -- it began again
		self.first, self.since = done, now
	end
	local ms = now - self.since
	return ms >= SOON_MS and done > self.first and (done - self.first) * 1000 / ms or nil
end

---The line for work that has no number, which turns as well.
---@param text string
---@return string
function M.turning(text)
	return SPINNER .. "  " .. text
end

local SAY_MS, SAY_TEXT_MS = 10000, 1000 -- between two plain lines

---What to say of it in plain lines, for a screen reader: of work with a total each tenth, and its end; of any other
---a line every ten seconds; of texts no more than one a second.
---@param text string
---@param done? number nil: the work has no number
---@param total? number
---@param now number ms
---@return string? text nil: nothing new
function Bar:plain(text, done, total, now)
	local part = done and total and total > 0 and done / total or nil
	local tenth = part and part >= 0 and part <= 1 and math.floor(part * 10 + 1e-9) or nil
	if self.said_at then
		local waits = done and SAY_MS or SAY_TEXT_MS
		if text == self.said or tenth == self.tenth and now - self.said_at < waits then
			return nil
		end
	end
	self.said, self.said_at, self.tenth = text, now, tenth
	return (text:gsub("^ +", ""))
end

---The line for what is done.
---@param text string it in words: "3/10 files", " 30%"
---@param done number
---@param total? number
---@param now number ms, on any clock that goes on
---@param columns? integer of the terminal
---@return string
function Bar:line(text, done, total, now, columns)
	local per_second = rate(self, done, now)
	local part = total and total > 0 and math.max(0, math.min(done / total, 1))
	if part ~= part or part == nil then
		part = false
	end
	local out = { part and drawn(part, (columns or ROOM) < ROOM and NARROW or WIDE) or SPINNER, text }
	if part and not text:find "%%$" then
		table.insert(out, 2, ("%3d%%"):format(math.floor(part * 100)))
	end
	if per_second and total ~= 1 then
		out[#out + 1] = number(per_second) .. "/s"
	end
	if per_second and part and done < total and (total - done) / per_second < LONGEST_S then
		out[#out + 1] = duration((total - done) / per_second) .. " left"
	end
	return table.concat(out, "  ")
end

-- --- lanes -----------------------------------------------------------------------------

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
	return table.concat({ MARKS[lane.state], host.clean(lane.name):gsub("%c", " "), clock, (host.clean(lane.text or ""):gsub("%c", " ")) }, US)
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
		require("runner.task.scheduler").after(EVERY_MS, function()
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

---What one of them said last.
---@param i integer
---@param line string
function Lanes:says(i, line)
	if line:find "%S" then
		self.list[i].text = (attempt.mask or tostring)(line):sub(1, TEXT)
		self:changed()
	end
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
		self:says(i, line)
	end
	return own
end

-- They are over, however that came.
function Lanes:__close()
	self.due = false
	host.send("PROGRESS", { steps = {}, state = "lanes" })
end

---@param keys any[] of the items, in the order in which they start: their names, where they are texts
---@param items table
---@return runner.Lanes? lanes nil: no person sees them
function M.lanes(keys, items)
	if require("runner.task.scheduler").inside() or not require("runner.core.requirements").is_drawn() then
		return nil
	end
	local list = {}
	for i, key in ipairs(keys) do
		list[i] = { name = name_of(key, items[key]), state = "pending" }
	end
	return setmetatable({ list = list, due = false }, Lanes)
end

return M
