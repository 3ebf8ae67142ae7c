-- run_list: runs as rows for people: short IDs, how long ago each began, how long it took.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

---In this order.
M.COLUMNS = { "run", "workflow", "state", "began", "took", "why" }
local MINUTE_MS, HOUR_MS, DAY_MS = 60000, 3600000, 86400000
local OLD_MS = 100 * DAY_MS -- then the date says more
local NAME = 40 -- characters of a workflow's name

---How long ago something was, in its largest unit: "12s ago", "3d ago"; a date where that is long.
---@param ms integer since the epoch
---@param now_ms integer
---@return string
function M.ago(ms, now_ms)
	local age = math.max(now_ms - ms, 0) -- the clock may be set back
	if age < 1000 then
		return "now"
	elseif age >= OLD_MS then
		return (host.rfc3339(ms):sub(1, 10))
	end
	for _, unit in ipairs { { DAY_MS, "%dd ago" }, { HOUR_MS, "%dh ago" }, { MINUTE_MS, "%dm ago" } } do
		if age >= unit[1] then
			return unit[2]:format(age // unit[1])
		end
	end
	return ("%ds ago"):format(age // 1000)
end

local UNITS = { { 86400, "%dd %dh", 3600 }, { 3600, "%dh %dm", 60 }, { 60, "%dm %ds", 1 } }

-- 850 → "850ms", 2340 → "2.3s", 125000 → "2m 5s", 7500000 → "2h 5m"
local function duration(ms)
	if ms < 1000 then
		return ("%dms"):format(ms)
	elseif ms < 10000 then
		return ("%.1fs"):format(ms // 100 / 10)
	end
	local seconds = ms // 1000
	for _, unit in ipairs(UNITS) do
		if seconds >= unit[1] then
			return unit[2]:format(seconds // unit[1], seconds % unit[1] // unit[3])
		end
	end
	return ("%ds"):format(seconds)
end

local function cut(name)
	local from = (utf8.len(name) or 0) > NAME and utf8.offset(name, NAME)
	return from and name:sub(1, from - 1) .. "…" or name
end

local function why(run)
	return run.failed_step and run.code and ("%s (%s)"):format(run.failed_step, run.code) or run.code
end

---@param runs table[] as report.summary gives them
---@param short table<string, string> by ID
---@param created_ms table<string, integer> by ID
---@param now_ms integer
---@return table[] rows with M.COLUMNS
function M.rows(runs, short, created_ms, now_ms)
	local rows = json.array {}
	for i, run in ipairs(runs) do
		local began = created_ms[run.id]
		local took = run.duration_ms or run.state == "running" and math.max(now_ms - began, 0)
		rows[i] = { run = short[run.id], workflow = cut(run.workflow), state = run.state, began = M.ago(began, now_ms),
			took = took and duration(took) or nil, why = why(run) }
	end
	return rows
end

return M
