-- follow: what the attempts of a run print, and how they end, until the run does. It reads the store
-- and the logs, and changes nothing.

local attempt_rows = require "runner.workflow.report.attempt_rows"
local host = require "runner.host"
local printing = require "runner.workflow.report.printing"
local report = require "runner.workflow.report.report"

local M = {}

local LOOK_MS = 1000 -- between two looks at a run that goes on, where nothing says that it has changed
local REST_MS = 50 -- at least
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

-- A row for what a running attempt has printed in one piece.
local function printed(row, piece)
	return { step = row.key, attempt = row.number, stream = piece.stream, text = piece.text }
end

local function pass_on(row, pieces, emit)
	for _, piece in ipairs(pieces) do
		emit(printed(row, piece))
	end
end

-- The state is read before the attempts: then none is missing behind the end.
local function look(db, id, opts, seen, emit)
	local over = report.settled(db, db:list { id = id }[1] or db:find(id)).state ~= "running" -- it may be removed
	for _, stored in ipairs(news(db, id, opts, seen)) do
		local pieces, whole = seen.printing:last(stored)
		pass_on(stored, pieces, emit)
		emit((attempt_rows.row(id, stored, ROW)), whole)
	end
	if opts.partial and not over then
		seen.printing:look(db:running_attempts(id, opts), function(row, pieces)
			pass_on(row, pieces, emit)
		end)
	end
	return over
end

---Pass on each attempt that has ended, in the order of their ends, and go on until the run ends;
---with `partial`, what attempts print while they run, too.
---@param db table the open store
---@param id string
---@param opts {choice: "all"|"failed", step?: string, attempt?: integer, partial?: boolean}
---@param emit fun(row: table, seen?: boolean) as attempt_rows.row makes it, or { step, attempt, stream, text };
---  seen: of an attempt that has ended, all that it printed was passed on before
function M.run(db, id, opts, emit)
	local seen, version = { since = 0, printing = printing.new() }, nil
	local function has_printed()
		return seen.printing:has_news()
	end
	while true do
		local now = db:version()
		if (now ~= version or has_printed()) and look(db, id, opts, seen, emit) then
			return
		end
		host.sleep(REST_MS)
		version = not db:wait(id, LOOK_MS, now, opts.partial and has_printed or nil) and now or nil -- nobody executes it: look again in any case
	end
end

return M
