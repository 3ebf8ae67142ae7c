-- report_text: a run as text for people: its state, a line for each step, each failure
-- below its step. It formats the data of lua/workflow/report/report.lua and knows no
-- store.

local host = require "runner.host"

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

-- The failure of a step with one attempt is on its own line.
local function add_steps(out, steps)
	local keys, states = longest(steps, "key", KEY), longest(steps, "state", KEY)
	for _, step in ipairs(steps) do
		local detail = DETAILS[step.state]
		local line = ("  %s  %s  %s"):format(padded(step.key, keys), padded(step.state, states), detail and detail(step) or "")
		out[#out + 1] = (line:gsub("%s+$", ""))
		if step.attempts > 1 or step.state == "waiting" then
			add_history(out, step)
		end
	end
end

local function add(out, label, text)
	out[#out + 1] = text and ("%-10s%s"):format(label .. ":", text) or nil
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
	add(out, "ended", run.ended)
	add(out, "error", run.code and problem(run))
	add(out, "resume", RESUMABLE[run.state] and "runner workflow resume " .. run.id)
	if run.steps[1] then
		out[#out + 1] = "steps:"
		add_steps(out, run.steps)
	end
	return table.concat(out, "\n") .. "\n"
end

return M
