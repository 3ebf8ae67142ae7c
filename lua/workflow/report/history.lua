-- history: a run with all its steps and attempts and their times, for pictures of it. It reads
-- the store and changes nothing.

local host = require "runner.host"
local report = require "runner.workflow.report.report"

local M = {}

---@class runner.workflow.HistoryStep a row of the store, without its output
---@field tries table[] its attempts, the oldest first
---@field in_loop boolean

---@class runner.workflow.History
---@field run table as report.full has it, without steps
---@field steps runner.workflow.HistoryStep[] in the order of their starts
---@field from_ms integer when the first thing happened
---@field to_ms integer when the last one did; now, of a run that goes on
---@field codes {code: string, attempts: integer, retries: integer, wait_ms: integer}[] the most frequent first

-- What goes on in a run that nobody executes any more was cut off.
local function settle(steps, state)
	for _, step in ipairs(steps) do
		if state == "interrupted" and step.state == "running" then
			step.state = "interrupted"
		end
	end
end

local function codes_of(attempts)
	local by_code, list = {}, {}
	for _, try in ipairs(attempts) do
		local row = try.code and by_code[try.code]
		if try.code and not row then
			row = { code = try.code, attempts = 0, retries = 0, wait_ms = 0 }
			by_code[try.code], list[#list + 1] = row, row
		end
		if row then
			row.attempts, row.wait_ms = row.attempts + 1, row.wait_ms + (try.delay_ms or 0)
			row.retries = row.retries + (try.delay_ms and 1 or 0)
		end
	end
	table.sort(list, function(a, b)
		return a.attempts > b.attempts or a.attempts == b.attempts and a.code < b.code
	end)
	return list
end

local function span_of(steps, now)
	local from, to = math.huge, -math.huge
	for _, step in ipairs(steps) do
		local started = step.started_ms or now
		from, to = math.min(from, started), math.max(to, step.ended_ms or (step.state == "running" and now) or started)
		for _, try in ipairs(step.tries) do
			from, to = math.min(from, try.started_ms), math.max(to, try.ended_ms or try.started_ms)
		end
	end
	if from > to then
		return now, now
	end
	return from, math.max(to, from)
end

---@param db table the open store
---@param id string of the run
---@return runner.workflow.History
function M.of(db, id)
	local run = report.full(db, id, { limit = 1 })
	return db:snapshot(function()
		local steps, attempts, by_key = db:steps(id, { brief = true }), db:attempts(id), {}
		for _, step in ipairs(steps) do
			step.tries, step.in_loop, by_key[step.key] = {}, step.key:find("[", 1, true) ~= nil, step
		end
		for _, try in ipairs(attempts) do
			table.insert(by_key[try.key].tries, try)
		end
		settle(steps, run.state)
		local from, to = span_of(steps, host.wall_ms())
		run.steps = nil
		return { run = run, steps = steps, from_ms = from, to_ms = to, codes = codes_of(attempts) }
	end)
end

return M
