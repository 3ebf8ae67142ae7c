-- bar: the line of progress that a person sees at a terminal (ctx:progress): a bar with rate and time left where
-- the total is known, else a spinner. The supervisor draws it, where there may be such lines (src/supervisor/block.h).

local M = {}

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
function M.new()
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

-- What is done in a second since the first time; nil: nobody can say yet.
local function rate(self, done, now)
	if not self.since or done < self.first then -- it began anew
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

return M
