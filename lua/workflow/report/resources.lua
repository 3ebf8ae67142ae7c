-- resources: what placed steps have used over many runs, by executor and step, and what that proposes for `memory` and
-- `chunk`. Pure: it adds to the data of `workflow stats`. It proposes nothing where too little was measured, and says so.

local host = require "runner.host"
local json = require "runner.json"
local reference = require "runner.core.reference"
local run_text = require "runner.workflow.report.run_text"

local M = {}

local LEAST = 10 -- items, for a proposal
local TASK_MS = 5 * 60000 -- how long a task should run
local OWN = 64 << 20 -- of runner itself, in a task
local STEP = 64 << 20 -- a proposal is a multiple of it

---By executor, what its steps used; not where nothing was measured.
---@param executors table[] rows of store:stats_by_executor, changed
---@param units table[] rows of store:units_used
function M.add_used(executors, units)
	for _, row in ipairs(executors) do
		for _, unit in ipairs(units) do
			if unit.peak_bytes and unit.executor == row.executor and unit.kind == row.kind then
				row.cpu_ms, row.peak_bytes = (row.cpu_ms or 0) + unit.cpu_ms, math.max(row.peak_bytes or 0, unit.peak_bytes)
			end
		end
	end
end

-- --- the proposals ---------------------------------------------------------------------------------

local function too_few(n)
	return ("%d measured, and %d are the least"):format(n, LEAST)
end

-- The largest process, as often as they run side by side; a quarter more, and runner.
local function propose_memory(row)
	if row.measured < LEAST then
		return nil, "memory: " .. too_few(row.measured)
	end
	local bytes, missing = row.peak_bytes * row.side_by_side * 5 // 4 + OWN, row.items - row.measured
	return run_text.mebibytes((bytes + STEP - 1) // STEP * STEP),
		("memory: of %d measured%s the largest process had %s, %d at once; a quarter more, and %s for runner"):format(row.measured,
			missing > 0 and (" (%d were not)"):format(missing) or "", run_text.mebibytes(row.peak_bytes), row.side_by_side,
			run_text.mebibytes(OWN))
end

-- As many items as make a task run for some minutes, but work for all tasks that may run at once.
local function propose_chunk(row)
	if not row.is_loop then
		return nil
	elseif row.timed < LEAST then
		return nil, ("chunk: %d items timed, and %d are the least"):format(row.timed, LEAST)
	end
	local chunk = math.max(TASK_MS * row.timed // row.timed_ms, 1)
	local share = (row.most_items + (row.at_once or 1) - 1) // (row.at_once or 1)
	local why = ("chunk: %d items took %s each, and a task should run for %s"):format(row.timed, host.duration_text(row.timed_ms // row.timed),
		host.duration_text(TASK_MS))
	if share < chunk then
		why = why .. (row.at_once and "; %d items, of %d tasks at once" or "; it had %d items at most"):format(row.most_items, row.at_once)
	end
	return math.min(chunk, share), why
end

local function propose(row)
	if row.kind == "local" then
		return nil, nil, "nothing: kind local holds no memory back, and has no queue"
	end
	local memory, of_memory = propose_memory(row)
	local chunk, of_chunk = propose_chunk(row)
	return memory, chunk, of_chunk and of_memory .. ". " .. of_chunk or of_memory
end

local function group_of(groups, unit)
	local key = reference.static(unit.key)
	local name = ("%s\0%s\0%s\0%s"):format(unit.workflow, key, unit.executor, unit.kind)
	if not groups[name] then
		groups[name] = { workflow = unit.workflow, key = key, executor = unit.executor, kind = unit.kind, runs = 0, items = 0, measured = 0,
			timed = 0, timed_ms = 0, most_items = 0, side_by_side = 1, seen = {} }
		groups[#groups + 1] = groups[name]
	end
	return groups[name]
end

-- How its step was placed last holds.
local function add_unit(row, unit)
	local settings = json.decode(unit.settings or "{}") or {}
	row.runs, row.seen[unit.run] = row.runs + (row.seen[unit.run] and 0 or 1), true
	row.items, row.measured = row.items + math.max(unit.items, 1), row.measured + unit.measured
	row.timed, row.timed_ms = row.timed + unit.timed, row.timed_ms + unit.timed_ms
	row.most_items, row.is_loop = math.max(row.most_items, unit.items), unit.items > 0
	row.at_once, row.side_by_side = settings.at_once, settings.side_by_side or 1
	if unit.peak_bytes then
		row.cpu_ms, row.peak_bytes = (row.cpu_ms or 0) + unit.cpu_ms, math.max(row.peak_bytes or 0, unit.peak_bytes)
	end
end

---A row for each placed step of each workflow: what was measured, and what it proposes, with the reason.
---@param units table[] rows of store:units_used
---@return table[]
function M.proposals(units)
	local groups, out = {}, json.array {}
	for _, unit in ipairs(units) do
		add_unit(group_of(groups, unit), unit)
	end
	for i, row in ipairs(groups) do
		local memory, chunk, why = propose(row)
		out[i] = { workflow = row.workflow, key = row.key, executor = row.executor, runs = row.runs, measured = row.measured,
			cpu_ms = row.cpu_ms, peak_bytes = row.peak_bytes, memory = memory, chunk = chunk, why = why }
	end
	return out
end

return M
