---@meta runner.time
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---Moments as seconds since 1970, ISO 8601, durations.
---@class runner.time
local time = {}

---Seconds since 1970, to a millisecond.
---@return number
function time.now() end

---A moment from ISO 8601 (RFC 3339): "2026-11-21T12:56:34.5+01:00", "2026-11-21 12:56Z",
---"2026-11-21". Without an offset it is UTC, whatever TZ says. Anything else raises PRECONDITION.
---@param text string
---@return number
function time.parse(text) end

---A moment as text: ISO 8601 in UTC, with milliseconds where it has a fraction; or as strftime(3)
---writes it, in UTC unless the pattern begins otherwise.
---@param at? number default: now
---@param pattern? string "%Y-%m-%d"; as for os.date, but in UTC; "local:%H:%M" for the local time
---@return string
function time.format(at, pattern) end

---Seconds of a duration as flags write them: "500ms", "2s", "5m", "1h"; also of ISO 8601's, "PT1H30M".
---Anything else raises INVALID_ARGUMENT.
---@param text string
---@return number
function time.duration(text) end

---A duration as people read it: "1.5s", "2m 5s".
---@param seconds number
---@return string
function time.duration_text(seconds) end

return time
