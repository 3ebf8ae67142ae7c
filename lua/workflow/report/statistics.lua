-- statistics: the statistics of all runs for people: a page with trends by day, and what cost and failed most, or a text; and
-- what placed steps have used. Pure: it draws the data of `workflow stats`.

local amounts = require "runner.core.amounts"
local encoding = require "runner.core.encoding"
local reference = require "runner.core.reference"
local tables = require "runner.core.tables"
local host = require "runner.host"
local json = require "runner.json"
local html = require "runner.workflow.report.html"
local run_text = require "runner.workflow.report.run_text"

local M = {}

local MOST = 100 -- days in a row that are drawn

local function number(value)
	return ("%d"):format(value or 0)
end

local function dollars(value)
	local micros = amounts.micros(value)
	return micros and micros > 0 and amounts.shown(micros) or ""
end

local function duration(ms)
	return ms > 0 and html.duration(ms) or ""
end

-- Noon, in any time zone, is on its day.
local function day_after(day)
	local year, month, date = day:match "^(%d+)-(%d+)-(%d+)$"
	return os.date("%Y-%m-%d", os.time { year = year, month = month, day = date + 1, hour = 12 })
end

-- The days from the first to the last, the oldest first; those without a run, too.
local function all_days(by_day)
	local known, out, day = {}, {}, by_day[#by_day].day
	for _, row in ipairs(by_day) do
		known[row.day] = row
	end
	while day <= by_day[1].day do
		out[#out + 1] = known[day] or { day = day }
		day = day_after(day)
	end
	return table.move(out, math.max(#out - MOST + 1, 1), #out, 1, {})
end

local function charts(by_day)
	local days = all_days(by_day)
	local function chart(title, field, shown, kind)
		local values = {}
		for i, row in ipairs(days) do
			values[i] = { day = row.day, value = row[field] or 0 }
		end
		return html.chart(title, values, shown, kind)
	end
	return '<div class="charts">' .. chart("Runs per day", "runs", number, "whole") .. chart("Cost per day, in dollars", "cost_usd", dollars)
		.. chart("Retries per day", "retries", number, "whole") .. chart("Time waited per day", "wait_ms", html.duration, "time") .. "</div>\n"
end

local COLUMNS = {
	{ "day", "day" }, { "code", "code" }, { "workflow", "workflow" }, { "step", "key" }, { "executor", "executor" },
	{ "#steps", "steps", number }, { "#runs", "runs", number }, { "#attempts", "attempts", number }, { "#failures", "failures", number },
	{ "#retries", "retries", number }, { "#waited", "wait_ms", duration }, { "#mean", "mean_ms", html.duration },
	{ "#longest", "max_ms", html.duration }, { "#parts", "parts", number }, { "#in the queue", "queue_ms", html.duration },
	{ "#ran", "run_ms", html.duration }, { "#processor", "cpu_ms", html.duration },
	{ "#peak", "peak_bytes", run_text.mebibytes }, { "#cost", "cost_usd", dollars }, { "#measured", "measured", number },
	{ "memory", "memory" }, { "chunk", "chunk", number }, { "why", "why" },
}

-- A table of the columns that its rows have: their names, and the cells of each row.
local function table_of(list)
	local columns, names, rows, first = {}, {}, {}, {}
	for _, row in ipairs(list) do
		tables.add(first, row)
	end
	for _, column in ipairs(COLUMNS) do
		if first[column[2]] ~= nil or column[2] == "steps" and first.key and first.attempts then
			columns[#columns + 1], names[#names + 1] = column, column[1]
		end
	end
	for i, row in ipairs(list) do
		rows[i] = {}
		for n, column in ipairs(columns) do
			local value = row[column[2]] or column[2] == "steps" and 1
			rows[i][n] = value and (column[3] and column[3](value) or value) or ""
		end
	end
	return names, rows
end

local SECTIONS = {
	{ "By workflow", "by_workflow", "Workflows, the most expensive first" },
	{ "By step", "by_step", "Steps, those with the most retries first; all items of a loop are one row" },
	{ "By code", "by_code", "Attempts that failed" },
	{ "By day", "by_day", "Days (UTC), the latest first" },
	{ "By executor", "by_executor", "Steps on executors" },
	{ "Resources", "resources", "What steps on executors used, and what that proposes" },
}

local function facts_of(stats)
	return { { "runs", ("%d (%s)"):format(stats.runs, html.counts(stats.by_state)) }, { "attempts", stats.attempts },
		{ "retries", stats.retries }, { "waited", html.duration(stats.total_wait_ms) }, { "cost", dollars(stats.cost_usd) } }
end

local function padded(rows, n, is_number)
	local width = 0
	for _, row in ipairs(rows) do
		row[n] = host.clean(row[n]):gsub("%s+", " ")
		width = math.max(width, utf8.len(row[n]) or 0)
	end
	for _, row in ipairs(rows) do
		local blank = (" "):rep(width - (utf8.len(row[n]) or 0))
		row[n] = is_number and blank .. row[n] or row[n] .. blank
	end
end

local function add_text(out, names, rows)
	local head = {}
	table.insert(rows, 1, head)
	for n, name in ipairs(names) do
		head[n] = name:gsub("^#", "")
		padded(rows, n, head[n] ~= name)
	end
	for _, row in ipairs(rows) do
		out[#out + 1] = ("  " .. table.concat(row, "  ")):gsub(" +$", "")
	end
end

---For a terminal.
---@param stats table the data of `workflow stats`
---@return string
function M.text(stats)
	local out = {}
	for _, fact in ipairs(facts_of(stats)) do
		out[#out + 1] = fact[2] ~= "" and ("%-10s%s"):format(fact[1] .. ":", fact[2]) or nil
	end
	for _, section in ipairs(SECTIONS) do
		local names, rows = table_of(stats[section[2]] or {})
		if rows[1] then
			out[#out + 1] = section[1]:lower() .. ":"
			add_text(out, names, rows)
		end
	end
	return table.concat(out, "\n") .. "\n"
end

---@param stats table the data of `workflow stats`
---@return string page
function M.page(stats)
	local out = { "<h1>Runs of workflows</h1>\n", html.facts(facts_of(stats)), stats.by_day[1] and charts(stats.by_day) or "" }
	for _, section in ipairs(SECTIONS) do
		local names, rows = table_of(stats[section[2]] or {})
		for _, row in ipairs(rows) do
			for n, cell in ipairs(row) do
				row[n] = encoding.markup(cell)
			end
		end
		out[#out + 1] = rows[1] and ("<h2>%s</h2>\n%s"):format(section[1], html.table(section[3], names, rows)) or ""
	end
	return html.page("Runs of workflows", table.concat(out))
end

-- What placed steps have used over many runs, by executor and step, and what that proposes for `memory` and
-- `chunk`. Pure: it adds to the data of `workflow stats`. It proposes nothing where too little was measured, and says so.

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
	local groups, out = {}, json.array {} -- of steps without an executor, those that say something
	for _, unit in ipairs(units) do
		add_unit(group_of(groups, unit), unit)
	end
	for _, row in ipairs(groups) do
		local memory, chunk, why = propose(row)
		out[#out + 1] = (row.kind ~= "none" or memory) and { workflow = row.workflow, key = row.key, executor = row.executor,
			runs = row.runs, measured = row.measured, cpu_ms = row.cpu_ms, peak_bytes = row.peak_bytes, memory = memory, chunk = chunk,
			why = why } or nil
	end
	return out
end

return M
