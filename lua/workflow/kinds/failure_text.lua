-- failure_text: what the text of a failure says: an HTTP status, and the wait that it asks for ("Retry-After: 12" or a date,
-- "try again in 30 seconds", "resets Nov 26, 3:45pm (Europe/Berlin)"). Runs in the worker. It neither waits nor caps the time:
-- the caller does.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local DAY_S = 24 * 3600
local JUST_PASSED_S = 300 -- a clock time this long ago is now, not tomorrow
local ZONES = "/usr/share/zoneinfo"

-- --- durations -------------------------------------------------------------------------

local UNITS = {}
for ms, names in pairs {
	[1] = "ms millisecond milliseconds",
	[1000] = "s sec secs second seconds",
	[60000] = "m min mins minute minutes",
	[3600000] = "h hr hrs hour hours",
	[86400000] = "d day days",
} do
	for name in names:gmatch "%a+" do
		UNITS[name] = ms
	end
end

-- "2h 30m" at `at` as ms. A bare number counts in `unit_ms`, where one is given.
local function duration(text, at, unit_ms)
	local total
	while true do
		local number, unit, rest = text:match("^[%s,]*(%d+%.?%d*)%s*(%a*)()", at)
		local ms = number and (UNITS[unit] or not total and unit_ms)
		if not ms then
			return total and math.ceil(total)
		end
		total, at = (total or 0) + tonumber(number) * ms, rest
		at = text:match("^%s+and()%s", at) or at
	end
end

-- --- clock times ------------------------------------------------------------------------

local warned = {} -- zones that were named already

local function warn_unknown(name)
	if not warned[name] then
		warned[name] = true
		attempt.warn("UNKNOWN_TIME_ZONE", ("The time zone '%s' is not known here; the policy's own wait is used"):format(name),
			{ zone = name })
	end
end

-- The zone of a clock time: of "(Europe/Berlin)", "utc" or "(PST)"; "" for the local one.
-- nil for one that this system doesn't know: any other would be hours off.
local function time_zone(text, at, original)
	local region = original:match("^%s*%(([%a_]+/[%w_/+-]+)%)", at)
	local short = text:match("^%s*%((%a+)%)", at) or text:match("^%s*(utc)%f[%W]", at) or text:match("^%s*(gmt)%f[%W]", at)
	if short == "utc" or short == "gmt" then
		return "UTC"
	elseif region and fs.stat(("%s/%s"):format(os.getenv "TZDIR" or ZONES, region)) then
		return region
	elseif not region and (not short or short == os.date("%Z"):lower()) then
		return ""
	end
	warn_unknown(region or short:upper())
end

-- os.time makes the C library look at TZ again; os.date alone does not.
local function in_zone(zone, f)
	local before = os.getenv "TZ"
	host.setenv("TZ", zone)
	os.time { year = 2000, month = 1, day = 1 }
	local result = f()
	host.setenv("TZ", before)
	os.time { year = 2000, month = 1, day = 1 }
	return result
end

-- Seconds until the clock next shows hour:minute.
local function until_clock(hour, minute, now_s)
	local today = os.date("*t", now_s)
	local function at(days)
		return os.time { year = today.year, month = today.month, day = today.day + days, hour = hour, min = minute, sec = 0 }
	end
	local left = at(0) - now_s
	return math.max(left <= -JUST_PASSED_S and at(1) - now_s or left, 0)
end

local HALVES = { am = 0, pm = 12 }

-- "1pm", "3:45 pm", "13:00" | nil
local function hour_and_minute(text, at)
	local hour, minute, half, rest = text:match("^(%d%d?):(%d%d)%s*([ap]?m?)()", at)
	if not hour then
		hour, half, rest = text:match("^(%d%d?)%s*([ap]m)()", at)
	end
	hour, minute = math.tointeger(tonumber(hour)), math.tointeger(tonumber(minute)) or 0
	if not hour or minute > 59 or hour > (HALVES[half] and 12 or 23) then
		return nil
	elseif HALVES[half] then
		hour = hour % 12 + HALVES[half]
	end
	return hour, minute, rest
end

-- ms until the time that `left` counts to, in seconds, in the zone that is named at `at`.
local function in_its_zone(text, at, original, left)
	local zone = time_zone(text, at, original)
	return zone and 1000 * (zone ~= "" and in_zone(zone, left) or left())
end

local function clock(text, at, now_ms, original)
	local hour, minute, rest = hour_and_minute(text, at)
	return hour and in_its_zone(text, rest, original, function()
		return until_clock(hour, minute, now_ms // 1000)
	end)
end

local MONTHS = {}
for month in ("jan feb mar apr may jun jul aug sep oct nov dec"):gmatch "%a+" do
	MONTHS[#MONTHS + 1], MONTHS[month] = month, #MONTHS + 1
end

-- Seconds until a date; without a year it is this one's, or the next's if it is long past.
local function until_date(date, now_s)
	local function at(year)
		return os.time { year = year, month = date.month, day = date.day, hour = date.hour, min = date.minute, sec = 0 }
	end
	local this = os.date("*t", now_s).year
	local left = at(date.year or this) - now_s
	return math.max(not date.year and left < -DAY_S and at(this + 1) - now_s or left, 0)
end

-- "nov 26, 3:03pm", "jan 21, 2027, 1pm", "oct 9 at 5pm" | nil
local function month_and_clock(text, at)
	local month, day, rest = text:match("^(%a%a%a)%a*%.? (%d%d?)()", at)
	local year, later = text:match("^,? (%d%d%d%d)()%f[%D]", rest)
	local start = text:match("^,? a?t? ?()%d", later or rest)
	local hour, minute, stop = hour_and_minute(text, start or #text + 1)
	if MONTHS[month] and hour and tonumber(day) >= 1 and tonumber(day) <= 31 then
		return { month = MONTHS[month], day = math.tointeger(tonumber(day)), year = math.tointeger(tonumber(year)), hour = hour,
			minute = minute }, stop
	end
end

local function calendar(text, at, now_ms, original)
	local date, rest = month_and_clock(text, at)
	return date and in_its_zone(text, rest, original, function()
		return until_date(date, now_ms // 1000)
	end)
end

local function epoch(text, at, now_ms)
	local seconds = math.tointeger(tonumber(text:match("^%d%d%d%d%d%d%d%d%d%d%f[%D]", at)))
	local left = seconds and seconds * 1000 - now_ms
	return left and left > 0 and left < 366 * DAY_S * 1000 and left or nil
end

-- The date that HTTP has in the place of a number: "Wed, 21 Oct 2026 07:28:00 GMT".
local function http_date(_, at, now_ms, original)
	local value = original:match("^%a+, %d+ %a+ %d+ [%d:]+ GMT", at)
	local now = os.date("!%a, %d %b %Y %H:%M:%S GMT", now_ms // 1000)
	return value and require("runner.http_client").retry_after(value, now)
end

-- --- what introduces them -----------------------------------------------------------------

-- Numbers without a unit count in `unit_ms`; without that they are not a time.
local function spell(unit_ms)
	return function(text, at)
		return duration(text, at, unit_ms)
	end
end

-- Pattern in the lower-case text, ending where the time starts; how to read it.
local ROWS = {
	{ "retry[-_]after[-_]ms[\"']?%s*[:=]%s*[\"']?()%d", spell(1) },
	{ "retry[-_ ]after[\"']?%s*[:=]?%s*[\"']?()%d", spell(1000) },
	{ "retry[-_ ]after[\"']?%s*[:=]%s*[\"']?()%a%a%a, %d", http_date },
	{ "try again in%s+a?b?o?u?t?%s*()%d", spell() },
	{ "try again after%s+()%d", spell() },
	{ "retry%a* in%s+()%d", spell() },
	{ "wait%s+()%d", spell() },
	{ "resets? in%s+()%d", spell(), resets = true },
	{ "resets?%s+a?t?%s*()%d", clock, resets = true },
	{ "resets?%s+o?n?%s*()%a%a%a%a*%.? %d", calendar, resets = true },
	{ "limit reached|()%d", epoch, resets = true },
}

-- Blanks that are wider than a byte stand between digits and "PM" in some locales.
local function plain_blanks(text)
	return (text:gsub("\u{202F}", " "):gsub("\u{A0}", " "))
end

---The wait that a text asks for, in ms; nil when it asks for none.
---@param text string
---@param now_ms integer wall clock, ms since the epoch
---@return integer? ms
---@return boolean? resets it is the time at which a limit resets
function M.find(text, now_ms)
	text = plain_blanks(text)
	local lower = text:lower()
	for _, row in ipairs(ROWS) do
		local at = lower:match(row[1])
		local ms = at and row[2](lower, at, now_ms, text)
		if ms then
			return ms, row.resets or false
		end
	end
end

-- An HTTP status in a line of prose, and the words that go with it.
-- Pure. "API Error: 500" and "HTTP/1.1 503 Service Unavailable" hold one; "took
-- 503ms", "500.txt", "port 5000" and "line 429" do not.

local PHRASES = {
	[400] = "Bad Request", [401] = "Unauthorized", [402] = "Payment Required", [403] = "Forbidden", [404] = "Not Found",
	[405] = "Method Not Allowed", [408] = "Request Timeout", [409] = "Conflict", [410] = "Gone",
	[413] = "Content Too Large", [415] = "Unsupported Media Type", [422] = "Unprocessable Content",
	[429] = "Too Many Requests", [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway",
	[503] = "Service Unavailable", [504] = "Gateway Timeout", [507] = "Insufficient Storage",
	[520] = "Web Server Returned an Unknown Error", [521] = "Web Server Is Down", [522] = "Connection Timed Out",
	[524] = "A Timeout Occurred", [529] = "Overloaded",
}

-- Other phrases that go with the number, in lower case.
local SYNONYMS = { [413] = "request too large", [500] = "server error", [529] = "overloaded" }

-- What comes before a status; lower case. The number is captured with its place.
local BEFORE = {
	"api error[:%s(]+()([45]%d%d)",
	"http/%d[%d.]*%s+()([45]%d%d)",
	"http%s*:?%s*()([45]%d%d)",
	"http[%s_-]*error[%s_-]*c?o?d?e?[:%s(]+()([45]%d%d)",
	"status[%s_-]*c?o?d?e?[\"']?%s*[:=]?%s*[\"']?()([45]%d%d)",
	"error[%s_-]+code[\"']?%s*[:=]?%s*[\"']?()([45]%d%d)",
	"^%s*error[:%s]+()([45]%d%d)%s*$",
	"^%s*error[:%s]+()([45]%d%d)%s*[:,;({%-]",
	"responded with[%sa]+()([45]%d%d)",
	"^%s*()([45]%d%d)%s*$",
	"^%s*()([45]%d%d)%s+error%s*$",
	"()([45]%d%d)%s*{%s*\"type\"%s*:",
	"()([45]%d%d)%s*{%s*\"error\"%s*:",
}

-- Error types in the API's JSON bodies, the most specific first.
local TYPES = {
	{ "overloaded_error", 529 }, { "rate_limit_error", 429 }, { "authentication_error", 401 }, { "permission_error", 403 },
	{ "billing_error", 402 }, { "not_found_error", 404 }, { "request_too_large", 413 }, { "timeout_error", 504 },
	{ "invalid_request_error", 400 }, { "api_error", 500 },
}

-- Words that need no number.
local ALONE = {
	{ "internal server error", 500 }, { "internal_server_error", 500 }, { "bad gateway", 502 },
	{ "service unavailable", 503 }, { "service_unavailable", 503 }, { "service[%a ]-temporarily unavailable", 503 },
	{ "gateway time%-?out", 504 }, { "%f[%a]server error", 500 },
}

-- Is the number at `at` a word by itself, and no quantity, place or file?
local function stands_alone(line, at)
	local before, after = line:sub(at - 1, at - 1), line:sub(at + 3)
	return not before:find "[%w_./-]" and not after:find "^[%w_%%]" and not after:find "^[./-]%w"
		and not after:find "^%s*ms%f[%W]" and not after:find "^%s*milli"
end

local function match_of(line, pattern)
	local from = 1
	while true do
		local start, stop, at, number = line:find(pattern, from)
		if not start then
			return nil
		elseif stands_alone(line, at) and not line:sub(start - 1, start - 1):find "[%w_]" then
			return math.tointeger(tonumber(number)), at
		end
		from = stop + 1
	end
end

local function after_words(line)
	local status, place
	for _, pattern in ipairs(BEFORE) do
		local found, at = match_of(line, pattern)
		if found and (not place or at < place) then
			status, place = found, at
		end
	end
	return status, place
end

-- "503 Service Unavailable", also "503: service unavailable".
local function before_phrase(line)
	for at, number, rest in line:gmatch "()([45]%d%d)[%s:,%-]+()%a" do
		local status = math.tointeger(tonumber(number))
		for _, words in ipairs { PHRASES[status] or false, SYNONYMS[status] or false } do
			if words and stands_alone(line, at) and line:sub(rest, rest + #words - 1) == words:lower() then
				return status, at
			end
		end
	end
end

local function by_words(line, rows)
	for _, row in ipairs(rows) do
		if line:find(row[1]) then
			return row[2]
		end
	end
end

---The HTTP status that a line reports, and where its number is, if it has one.
---The first one: what follows is from the server.
---@param line string
---@return integer? status, integer? at
function M.status(line)
	local lower = line:lower()
	local status, at = before_phrase(lower)
	local other, place = after_words(lower)
	if other and (not at or place < at) then
		status, at = other, place
	end
	if status then
		return status, at
	end
	return by_words(lower, TYPES) or by_words(lower, ALONE)
end

-- The message in the JSON of a line, also where the line was cut.
local function json_message(line)
	local message = line:match '"message"%s*:%s*"(.-[^\\])"'
	return message and message:gsub('\\(["\\/])', "%1")
end

---What a line says beyond its status.
---@param line string
---@param at integer? where the number is
---@return string
function M.detail(line, at)
	local message = json_message(line)
	if message then
		return message
	end
	local rest = at and line:sub(at + 3) or ""
	return (rest:gsub("^[%s:,;()%-]+", ""):gsub("[%s)]+$", ""))
end

---"503 Service Unavailable", followed by the detail.
---@param status integer
---@param detail string
---@return string full, string without the number
function M.words(status, detail)
	local phrase = PHRASES[status] or ""
	local rest = detail
	local repeated = detail:sub(1, #phrase):lower() == phrase:lower() and not detail:find("^[%w_]", #phrase + 1)
	if phrase ~= "" and repeated then
		rest = detail:sub(#phrase + 1):gsub("^[%s:,;.%-]+", "")
	end
	local text = phrase .. (phrase ~= "" and rest ~= "" and ": " or "") .. rest
	return (status .. " " .. text):gsub("%s+$", ""), text
end

return M
