-- time: moments as seconds since 1970 (a number, with a fraction), ISO 8601, and durations. What a
-- command waits for is ctx:sleep's; these only compute.

local check = require "runner.library.check"
local errors = require "runner.core.errors"
local host = require "runner.host"
local rules = require "runner.core.rules"

local M = {}

---Seconds since 1970, to a millisecond.
---@return number
function M.now()
	return host.wall_ms() / 1000
end

-- Days from 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms").
local function days_of(year, month, day)
	year = month <= 2 and year - 1 or year
	local era = year // 400
	local of_era = year - era * 400
	local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
	return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

local LENGTHS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function date_of(text)
	local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
	year, month, day = math.tointeger(year), math.tointeger(month), math.tointeger(day)
	if not year or month < 1 or month > 12 or day < 1 or day > LENGTHS[month]
		or month == 2 and day == 29 and (year % 4 ~= 0 or year % 100 == 0 and year % 400 ~= 0) then
		return nil
	end
	return days_of(year, month, day) * 86400, rest
end

-- "12:34:56.789Z" → seconds; a leap second counts as the next one's first.
local function clock_of(text)
	local hour, minute, rest = text:match "^(%d%d):(%d%d)(.*)$"
	local second, after = (rest or ""):match "^:(%d%d)(.*)$"
	local fraction, zone = (after or rest or ""):match "^[.,](%d+)(.*)$"
	hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second or 0)
	if not hour or hour > 23 or minute > 59 or second > 60 or fraction and not after then
		return nil
	end
	return hour * 3600 + minute * 60 + second + (fraction and tonumber("0." .. fraction) or 0), zone or after or rest
end

local function offset_of(zone)
	local sign, hours, minutes = zone:match "^([+-])(%d%d):?(%d%d)$"
	if zone == "" or zone == "Z" or zone == "z" then
		return 0
	elseif not sign or tonumber(hours) > 23 or tonumber(minutes) > 59 then
		return nil
	end
	return (sign == "-" and -1 or 1) * (hours * 3600 + minutes * 60)
end

local function parsed(text)
	local day, rest = date_of(text)
	if not day or rest == "" then
		return day
	end
	local seconds, zone = clock_of(rest:match "^[Tt ](.*)$" or "")
	local offset = seconds and offset_of(zone)
	return offset and day + seconds - offset or nil
end

---A moment from ISO 8601 (RFC 3339): "2026-11-21T12:56:34.5+01:00", "2026-11-21 12:56Z",
---"2026-11-21". Without an offset it is UTC, whatever TZ says. Anything else raises PRECONDITION.
---@param text string
---@return number
function M.parse(text)
	check.strings("time.parse", text)
	local value = parsed(text)
	if not value then
		check.refuse(("%q is no time: write 2026-11-21T12:56:34Z"):format(text))
	end
	return value == math.floor(value) and math.tointeger(value) or value
end

---A moment as text: ISO 8601 in UTC, with milliseconds where it has a fraction; or as strftime(3)
---writes it, in UTC unless the pattern begins otherwise.
---@param at? number default: now
---@param pattern? string "%Y-%m-%d"; as for os.date, but in UTC; "local:%H:%M" for the local time
---@return string
function M.format(at, pattern)
	at = at or M.now()
	check.kind("time.format", 1, at, "number")
	local ms = math.floor(at * 1000 + 0.5)
	if ms ~= ms or ms < -62167219200000 or ms >= 253402300800000 then
		check.misuse("time.format", "the year must be from 0 to 9999")
	elseif pattern then
		check.kind("time.format", 2, pattern, "string")
		local here = pattern:match "^local:(.*)$"
		return tostring(os.date(here or "!" .. pattern, ms // 1000))
	end
	return os.date("!%Y-%m-%dT%H:%M:%S", ms // 1000) .. (ms % 1000 > 0 and (".%03dZ"):format(ms % 1000) or "Z")
end

-- "P1DT2H30M" → seconds
local function iso_duration(text)
	local rest, total = text:match "^P(.+)$", 0
	local function take(unit, seconds)
		local n, after = rest:match("^(%d+%.?%d*)" .. unit .. "(.*)$")
		total, rest = total + (n and tonumber(n) * seconds or 0), after or rest
	end
	if not rest then
		return nil
	end
	take("D", 86400)
	if rest:find "^T." then
		rest = rest:sub(2)
		take("H", 3600)
		take("M", 60)
		take("S", 1)
	end
	return rest == "" and rules.duration(total) and total or nil
end

---Seconds of a duration as flags write them: "500ms", "2s", "5m", "1h"; also of ISO 8601's, "PT1H30M".
---Anything else raises INVALID_ARGUMENT.
---@param text string
---@return number
function M.duration(text)
	check.strings("time.duration", text)
	local ms = text ~= "none" and rules.duration(text)
	local seconds = ms and ms / 1000 or iso_duration(text)
	if not seconds then
		errors.raise("INVALID_ARGUMENT", ("time.duration: 'text' must be %s, not %q"):format(errors.DURATION, text), { retryable = false })
	end
	return seconds
end

---A duration as people read it: "1.5s", "2m 5s".
---@param seconds number
---@return string
function M.duration_text(seconds)
	check.kind("time.duration_text", 1, seconds, "number")
	return host.duration_text(rules.milliseconds(math.max(seconds, 0)))
end

return M
