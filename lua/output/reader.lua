-- reader: the person who reads a result at a terminal: how wide it is now, and times as people say them.

local attempt = require "runner.core.attempt"

local M = {}

local LEAST, MOST, UNLIMITED = 40, 1000, 100000 -- columns

---The columns that a text for people may take: what --width says (0: no limit), else COLUMNS, else the
---terminal on stdout, whose size may have changed since the call began. nil: nobody reads there, or nobody knows.
---@return integer?
function M.width()
	local given = attempt.framework.width
	if given then
		return given == 0 and UNLIMITED or math.max(given, LEAST)
	elseif not attempt.launch.stdout_is_tty then
		return nil
	end
	local columns = math.tointeger(tonumber(os.getenv("COLUMNS") or "")) or require("runner.terminal").columns()
	return columns and math.max(LEAST, math.min(columns, MOST)) or nil
end

---The same for a table: nil also where a file gets it.
---@return integer?
function M.table_width()
	return not attempt.framework.output and attempt.launch.stdout_is_tty and M.width() or nil
end

-- Days from 1970-01-01 to a day of the Gregorian calendar.
local function days(year, month, day)
	year = month <= 2 and year - 1 or year
	local era = year // 400
	local of_era = year - era * 400
	local of_year = (153 * (month + (month > 2 and -3 or 9)) + 2) // 5 + day - 1
	return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

---When a time in UTC was, as an envelope writes it (2026-11-21T12:56:34.123Z): seconds since 1970, or nil.
---@param text any
---@return integer?
function M.time(text)
	if type(text) ~= "string" then
		return nil
	end
	local y, mo, d, h, mi, s, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)(%.?%d*)Z$"
	if not y or tonumber(mo) > 12 or tonumber(mo) < 1 or rest == "." then
		return nil
	end
	return days(tonumber(y), tonumber(mo), tonumber(d)) * 86400 + tonumber(h) * 3600 + tonumber(mi) * 60 + tonumber(s)
end

local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } }

---"3h ago", "in 2d", "now".
---@param time integer seconds since 1970
---@param now integer
---@return string
function M.relative(time, now)
	local apart = math.abs(now - time)
	for _, unit in ipairs(UNITS) do
		if apart >= unit[1] then
			local text = ("%d%s"):format(apart // unit[1], unit[2])
			return time <= now and text .. " ago" or "in " .. text
		end
	end
	return "now"
end

return M
