-- run_text: a run as text for people: its state, a line for each step, each failure below its step; and runs
-- as rows of a table: short IDs, how long ago each began, how long it took. It formats the data of
-- lua/workflow/report/report.lua and knows no store.

local amounts = require "runner.core.amounts"
local host = require "runner.host"
local json = require "runner.json"
local reference = require "runner.core.reference"
local tables = require "runner.core.tables"

local M = {}

local WIDTH = 72 -- characters of an output or a message that a line shows
local KEY = 24 -- a longer key pushes its line to the right
local FEW = 20 -- of more steps those that failed come first
local MUCH_MS, MUCH = 1000, 64 << 20 -- what a step used, for a line of its own

-- The first line that isn't blank, and how many there are.
local function cut(text)
	local line = host.clean(text):match("[^\n]*%S[^\n]*") or ""
	local _, more = text:gsub("\n", "")
	line = require("runner.core.visible").shorten(line, WIDTH)
	return more > 0 and ("%s (%d lines)"):format(line, more + 1) or line
end

local function padded(text, width)
	return text .. (" "):rep(width - (utf8.len(text) or #text))
end

local function problem(row)
	local text = row.code and cut(("%s: %s"):format(row.code, row.message or row.error or "")) or ""
	return row.item and text ~= "" and ("%s: %s"):format(row.item, text) or text
end

-- What follows the state of a step on its line.
local DETAILS = {
	completed = function(step) return step.output and cut(step.output) or "" end,
	skipped = function(step) return step.message and cut(step.message) or "" end,
	failed = problem,
	interrupted = problem,
	pending = function() return "runs again" end,
	waiting = function(step)
		return step.kind == "approve" and "for a person: " .. cut(step.message or "")
			or "for its next attempt" .. (step.wake and ", at " .. step.wake or "")
	end,
}

local function longest(steps, field, most)
	local width = 0
	for _, step in ipairs(steps) do
		width = math.max(width, math.min(utf8.len(step[field]) or #step[field], most))
	end
	return width
end

local function add_history(out, step)
	for _, row in ipairs(step.retry and step.retry.error_history or {}) do
		local wait = row.delay_before_next and (", then waited %.1fs"):format(row.delay_before_next) or ""
		out[#out + 1] = ("    attempt %d: %s%s"):format(row.attempt_number, problem(row), wait)
	end
end

-- "$0.53, 3 turns, 100000 tokens in, 1000 out, claude-opus-4-8", of what there is.
local function usage_text(usage)
	local parts = {}
	local function part(format, value)
		parts[#parts + 1] = value and format:format(value) or nil
	end
	part("%s", usage.cost_usd and amounts.shown(amounts.micros(usage.cost_usd)))
	part(usage.turns == 1 and "%d turn" or "%d turns", usage.turns)
	part("%d tokens in", usage.input_tokens)
	part("%d out", usage.output_tokens)
	part("%s", usage.model and host.clean(usage.model))
	return parts[1] and table.concat(parts, ", ") or nil
end

-- "  (2m 5s)", of what took a second or more.
local function took(ms)
	return ms and ms >= 1000 and ("  (%s)"):format(host.duration_text(ms // 1000 * 1000)) or ""
end

-- The failure of a step with one attempt is on its own line.
local function add_steps(out, steps)
	local keys, states = longest(steps, "key", KEY), longest(steps, "state", KEY)
	for _, step in ipairs(steps) do
		local detail = DETAILS[step.state]
		local line = ("  %s  %s  %s"):format(padded(step.key, keys), padded(step.state, states), detail and detail(step) or "")
		out[#out + 1] = line:gsub("%s+$", "") .. took(step.duration_ms)
		if step.attempts > 1 or step.state == "waiting" then
			add_history(out, step)
		end
		local used = step.usage and usage_text(step.usage)
		out[#out + 1] = used and "    " .. used or nil
		out[#out + 1] = step.used and (step.used.cpu_ms >= MUCH_MS or step.used.peak_bytes >= MUCH) and "    " .. M.used(step.used) or nil
	end
end

local function add(out, label, text)
	out[#out + 1] = text and ("%-10s%s"):format(label .. ":", text) or nil
end

local function dollars(usd)
	return amounts.shown(amounts.micros(usd))
end

-- "$0.53 of $2.00", of what there is.
local function cost_text(run)
	if run.max_cost_usd then
		return ("%s of %s"):format(dollars(run.cost_usd or 0), dollars(run.max_cost_usd))
	end
	return run.cost_usd and dollars(run.cost_usd)
end

-- "  … 100003 steps in all: 2 failed, 100001 completed; to see more: …"
local function left_out(run)
	local counts = {}
	for _, state in ipairs(tables.sorted_keys(run.steps_by_state)) do
		counts[#counts + 1] = ("%d %s"):format(run.steps_by_state[state], state)
	end
	return ("  … %d of %d steps (%s); to see others: runner workflow show %s --steps all"):format(#run.steps,
		run.steps_total, table.concat(counts, ", "), run.id)
end

---Memory as `memory` takes it, rounded up: "52M".
---@param bytes integer
---@return string
function M.mebibytes(bytes)
	return ("%dM"):format((bytes + (1 << 20) - 1) >> 20)
end

---What steps used, as text: "1.2s of a processor, at most 52M of memory"; nil: it wasn't measured.
---@param used {cpu_ms?: integer, peak_bytes?: integer}
---@return string?
function M.used(used)
	return used.peak_bytes and ("%s of a processor, at most %s of memory"):format(
		used.cpu_ms > 0 and host.duration_text(used.cpu_ms) or "0ms", M.mebibytes(used.peak_bytes))
end

-- "  each on cluster: 3 of 10 parts done, 2 running, 5 queued (Resources); 12s in the queue, 2m 5s running"; and
-- what the items used that were measured.
local function add_placed(out, units)
	for _, unit in ipairs(units) do
		local parts = { ("%d of %d parts done"):format(unit.completed, unit.parts) }
		for _, state in ipairs { "failed", "running", "queued", "planned" } do
			parts[#parts + 1] = unit[state] > 0 and ("%d %s"):format(unit[state], state) or nil
		end
		out[#out + 1] = ("  %s on %s: %s%s; %s in the queue, %s running"):format(unit.step, unit.executor, table.concat(parts, ", "),
			unit.why and (" (%s)"):format(host.clean(unit.why)) or "", host.duration_text(unit.queue_ms), host.duration_text(unit.run_ms))
		local used = M.used(unit)
		out[#out + 1] = used and ("    %d measured: %s"):format(unit.measured, used)
	end
end

---"agent-7, through mcp-stdio by claude-code 2.1", of what there is.
---@param run table as report.summary gives it
---@return string?
function M.whose(run)
	local client = run.client or {}
	local by = client.name and (" by %s %s"):format(client.name, client.version or ""):gsub(" $", "") or ""
	local through = client.transport and ("through %s%s"):format(client.transport, by)
	return (run.subject or through) and host.clean(run.subject and through and run.subject .. ", " .. through or run.subject or through) or nil
end

local RESUMABLE = { failed = true, interrupted = true }

---@param run table as report.full gives it
---@return string
function M.of_run(run)
	local out = {}
	add(out, "run", run.id)
	add(out, "workflow", ("%s (%s)"):format(run.workflow, run.file))
	add(out, "of", M.whose(run))
	add(out, "state", run.state)
	add(out, "group", run.concurrency)
	add(out, "created", run.created)
	add(out, "ended", run.ended and run.ended .. took(run.duration_ms))
	add(out, "cost", cost_text(run))
	add(out, "error", run.code and (run.failed_step and "step " .. run.failed_step .. ": " or "") .. problem(run))
	for _, gate in ipairs(run.approvals or {}) do
		add(out, "approve", gate.state == "pending" and reference.call("approve " .. gate.id))
	end
	add(out, "resume", RESUMABLE[run.state] and "runner workflow resume " .. run.id)
	if run.placed then
		out[#out + 1] = "placed:"
		add_placed(out, run.placed)
	end
	local lists = { { "failed:" }, { "steps:" } }
	for _, step in ipairs(run.steps) do
		table.insert(lists[#run.steps > FEW and RESUMABLE[step.state] and 1 or 2], step)
	end
	for _, list in ipairs(lists) do
		local title = table.remove(list, 1)
		if list[1] then
			out[#out + 1] = title
			add_steps(out, list)
		end
	end
	if (run.steps_total or 0) > #run.steps then
		out[#out + 1] = left_out(run)
	end
	return table.concat(out, "\n") .. "\n"
end

-- --- a list of runs ------------------------------------------------------------------------------

---In this order; the last one of a list of all projects.
M.COLUMNS = { "run", "workflow", "state", "began", "took", "why", "subject", "project" }
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

local function cut_name(name)
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
function M.table(runs, short, created_ms, now_ms)
	local rows = json.array {}
	for i, run in ipairs(runs) do
		local began = created_ms[run.id]
		local ms = run.duration_ms or run.state == "running" and math.max(now_ms - began, 0)
		rows[i] = { run = short[run.id], workflow = cut_name(run.workflow), state = run.state, began = M.ago(began, now_ms),
			took = ms and duration(ms) or nil, why = why(run), subject = run.subject, project = run.project }
	end
	return rows
end

return M
