-- follow: the attempts of a run as they end, until the run does. It reads the store and the logs,
-- and changes nothing.

local attempt_rows = require "runner.workflow.report.attempt_rows"
local report = require "runner.workflow.report.report"

local M = {}

local LOOK_MS = 1000 -- between two looks at a run that goes on, where nothing says that it has changed
local ROW = 1 << 19 -- bytes of an attempt as JSON
local LATE_MS = 60000 -- an attempt may be committed so long after its end, and the clock be set back

-- Those that ended since the last look, and were not passed on.
local function news(db, id, opts, seen)
	local out, since = {}, seen.since
	for _, row in ipairs(db:ended_attempts(id, opts, since - LATE_MS)) do
		local known = row.key .. "\0" .. row.number
		if not seen[known] then
			seen[known] = true
			out[#out + 1] = row
			seen.since = math.max(seen.since, row.ended_ms or 0)
		end
	end
	return out
end

-- The state is read before the attempts: then none is missing behind the end.
local function look(db, id, opts, seen, emit)
	local over = report.settled(db, db:list { id = id }[1] or db:find(id)).state ~= "running" -- it may be removed
	for _, stored in ipairs(news(db, id, opts, seen)) do
		emit((attempt_rows.row(id, stored, ROW)))
	end
	return over
end

---Pass on each attempt that has ended, in the order of their ends, and go on until the run ends.
---@param db table the open store
---@param id string
---@param opts {choice: "all"|"failed", step?: string, attempt?: integer}
---@param emit fun(row: table) as attempt_rows.row makes it
function M.run(db, id, opts, emit)
	local seen, version = { since = 0 }, nil
	while true do
		local now = db:version()
		if now ~= version and look(db, id, opts, seen, emit) then
			return
		end
		version = not db:wait(id, LOOK_MS, now) and now or nil -- nobody executes it: look again in any case
	end
end

return M
