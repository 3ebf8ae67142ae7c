-- report_text: a run as text for people: its state, a line for each step, each failure
-- below its step. It formats the data of lua/workflow/report/report.lua and knows no
-- store.

local host = require "runner.host"
local sorted = require "runner.core.sorted"
local money = require "runner.core.money"

local M = {}

local WIDTH = 72 -- characters of an output or a message that a line shows
local KEY = 24 -- a longer key pushes its line to the right

-- The first line that isn't blank, and how many there are.
local function cut(text)
	local line = host.clean(text):match("[^\n]*%S[^\n]*") or ""
	local _, more = text:gsub("\n", "")
	local at = utf8.offset(line, WIDTH + 1)
	line = at and at <= #line and line:sub(1, at - 1) .. "…" or line
	return more > 0 and ("%s (%d lines)"):format(line, more + 1) or line
end

local function padded(text, width)
	return text .. (" "):rep(width - (utf8.len(text) or #text))
end

local function problem(row)
	return row.code and cut(("%s: %s"):format(row.code, row.message or row.error or "")) or ""
end

-- What follows the state of a step on its line.
local DETAILS = {
	completed = function(step) return step.output and cut(step.output) or "" end,
	skipped = function(step) return step.message and cut(step.message) or "" end,
	failed = problem,
	interrupted = problem,
	waiting = function(step) return "for its next attempt" .. (step.wake and ", at " .. step.wake or "") end,
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
	part("%s", usage.cost_usd and money.shown(money.micros(usage.cost_usd)))
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
	end
end

local function add(out, label, text)
	out[#out + 1] = text and ("%-10s%s"):format(label .. ":", text) or nil
end

local function dollars(usd)
	return money.shown(money.micros(usd))
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
	for _, state in ipairs(sorted.keys(run.steps_by_state)) do
		counts[#counts + 1] = ("%d %s"):format(run.steps_by_state[state], state)
	end
	return ("  … %d of %d steps (%s); to see others: runner workflow show %s --steps all"):format(#run.steps,
		run.steps_total, table.concat(counts, ", "), run.id)
end

-- "  each on cluster: 3 of 10 parts done, 2 running, 5 queued (Resources); 12s in the queue, 2m 5s running".
local function add_placed(out, units)
	for _, unit in ipairs(units) do
		local parts = { ("%d of %d parts done"):format(unit.completed, unit.parts) }
		for _, state in ipairs { "failed", "running", "queued", "planned" } do
			parts[#parts + 1] = unit[state] > 0 and ("%d %s"):format(unit[state], state) or nil
		end
		out[#out + 1] = ("  %s on %s: %s%s; %s in the queue, %s running"):format(unit.step, unit.executor, table.concat(parts, ", "),
			unit.why and (" (%s)"):format(host.clean(unit.why)) or "", host.duration_text(unit.queue_ms), host.duration_text(unit.run_ms))
	end
end

local RESUMABLE = { failed = true, interrupted = true }

---@param run table as report.full gives it
---@return string
function M.text(run)
	local out = {}
	add(out, "run", run.id)
	add(out, "workflow", ("%s (%s)"):format(run.workflow, run.file))
	add(out, "state", run.state)
	add(out, "created", run.created)
	add(out, "ended", run.ended and run.ended .. took(run.duration_ms))
	add(out, "cost", cost_text(run))
	add(out, "error", run.code and (run.failed_step and "step " .. run.failed_step .. ": " or "") .. problem(run))
	add(out, "resume", RESUMABLE[run.state] and "runner workflow resume " .. run.id)
	if run.placed then
		out[#out + 1] = "placed:"
		add_placed(out, run.placed)
	end
	if run.steps[1] then
		out[#out + 1] = "steps:"
		add_steps(out, run.steps)
	end
	if (run.steps_total or 0) > #run.steps then
		out[#out + 1] = left_out(run)
	end
	return table.concat(out, "\n") .. "\n"
end

return M
