-- html_stats: the statistics of all runs for people: a page with trends by day, and what cost and failed most; or a text.
-- Pure: it draws the data of `workflow stats`.

local amounts = require "runner.core.amounts"
local encoding = require "runner.core.encoding"
local host = require "runner.host"
local html = require "runner.workflow.report.html"
local run_text = require "runner.workflow.report.run_text"
local tables = require "runner.core.tables"

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

return M
