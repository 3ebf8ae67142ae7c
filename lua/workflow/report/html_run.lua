-- html_run: the page about one run: what it did and when, its steps with their attempts, what
-- they printed, what they cost. However many steps there are, the page stays below 2 MB: those
-- that failed have their details first.

local history_of = require "runner.workflow.report.history"
local html = require "runner.workflow.report.html"
local logs = require "runner.workflow.report.logs"
local money = require "runner.core.money"
local timeline = require "runner.workflow.report.html_timeline"

local M = {}

local DETAILS = 700 << 10 -- bytes of the details of all steps
local ROWS = 900 << 10 -- bytes of the lines of all steps
local FAILED_ROWS = 1050 << 10 -- the same, where a line is of a step that failed
local OUTPUT = 4000 -- bytes of an output, or of the end of a log
local MARKS = { completed = "✓", failed = "✗", running = "▸", waiting = "↻", skipped = "-", interrupted = "!" }

local function took(step)
	return step.started_ms and step.ended_ms and math.max(step.ended_ms - step.started_ms, 0) or nil
end

local function cost_of(used)
	return used and used.charged_micros > 0 and money.shown(used.charged_micros) or ""
end

-- --- one step ----------------------------------------------------------------------------------

local function pre(title, text)
	if not text or text == "" then
		return ""
	end
	return ('<p class="soft">%s</p><pre>%s</pre>\n'):format(html.escape(title), html.escape(text))
end

local function log_text(record, stream)
	local text = record and record[stream]
	if type(text) ~= "string" or #text <= OUTPUT then
		return type(text) == "string" and text or nil
	end
	return "…" .. text:sub(-OUTPUT)
end

local function attempts_table(history, step)
	local rows = {}
	for i, try in ipairs(step.tries) do
		rows[i] = { tostring(try.number), html.duration(try.started_ms - history.from_ms),
			html.duration(try.ended_ms and math.max(try.ended_ms - try.started_ms, 0)), html.escape(try.code or (try.ended_ms and "ok" or "")),
			html.escape((try.message or ""):sub(1, OUTPUT)), html.duration(try.delay_ms) }
	end
	return rows[1] and html.table("Attempts of " .. step.key, { "#no.", "#began after", "#took", "code", "message", "#then waited" }, rows)
		or ""
end

-- What its last attempts printed that failed.
local function logs_of(history, step)
	local out = {}
	for i = math.max(#step.tries - 2, 1), #step.tries do
		local try = step.tries[i]
		local record = try.code and logs.of(history.run.id, try) or nil
		out[#out + 1] = pre(("stderr of attempt %d"):format(try.number), log_text(record, "stderr"))
		out[#out + 1] = pre(("stdout of attempt %d"):format(try.number), log_text(record, "stdout"))
	end
	return table.concat(out)
end

local function usage_text(used)
	return used and html.facts { { "model", used.model }, { "turns", used.turns }, { "tokens in", used.input_tokens },
		{ "tokens out", used.output_tokens }, { "cost", cost_of(used) }, { "session", used.session_id } } or ""
end

local function summary_of(step)
	local text = ('<span class="%s">%s %s</span> <code>%s</code> <span class="soft">%s</span>'):format(step.state, MARKS[step.state] or "",
		step.state, html.escape(step.key), html.duration(took(step)))
	return #step.tries > 1 and ("%s <span class=\"soft\">%d attempts</span>"):format(text, #step.tries) or text
end

-- A step without details: there may be thousands.
local function line_of(step)
	return ('<p class="%s">%s %s <i>%s</i></p>\n'):format(step.state, MARKS[step.state] or "", html.escape(step.key),
		html.duration(took(step)))
end

local function details_of(db, history, step)
	local stored = db:step(history.run.id, step.key) or {}
	local output = stored.output or ""
	return table.concat { html.facts { { "kind", step.kind }, { "text", step.label }, { "code", step.code }, { "message", step.message } },
		attempts_table(history, step), usage_text(db:usage(history.run.id, step.key)),
		pre(#output > OUTPUT and ("Output, the first %d of %d bytes"):format(OUTPUT, #output) or "Output", output:sub(1, OUTPUT)),
		logs_of(history, step) }
end

-- --- all of them --------------------------------------------------------------------------------

-- 1: failed, 2: not in a loop, 3: the others.
local function rank(step)
	return (step.state == "failed" or step.state == "interrupted") and 1 or not step.in_loop and 2 or 3
end

-- The details of as many steps as there is room for.
local function details_within(db, history)
	local details, bytes = {}, 0
	for wanted = 1, 3 do
		for _, step in ipairs(history.steps) do
			if bytes < DETAILS and rank(step) == wanted then
				details[step] = details_of(db, history, step)
				bytes = bytes + #details[step]
			end
		end
	end
	return details
end

local function steps_of(db, history)
	local details, out, bytes, left = details_within(db, history), {}, 0, 0
	for _, step in ipairs(history.steps) do
		local more = details[step] or ""
		if bytes < (rank(step) == 1 and FAILED_ROWS or ROWS) then
			out[#out + 1] = details[step] and ("<details%s><summary>%s</summary><div>%s</div></details>\n"):format(
				rank(step) == 1 and not step.in_loop and " open" or "", summary_of(step), more) or line_of(step)
			bytes = bytes + #out[#out] - #more
		else
			left = left + 1
		end
	end
	out[#out + 1] = left > 0 and ('<p class="soft">… %d more steps</p>\n'):format(left) or ""
	return table.concat(out)
end

-- --- the page ------------------------------------------------------------------------------------

local function heading(history)
	local run = history.run
	local counts = {}
	for state, count in pairs(run.steps_by_state or {}) do
		counts[#counts + 1] = ("%d %s"):format(count, state)
	end
	table.sort(counts)
	return ('<a class="skip" href="#steps">Skip to the steps</a>\n<h1>%s <span class="%s">%s</span></h1>\n'):format(html.escape(run.workflow),
		run.state, html.escape(run.state)) .. html.facts {
			{ "run", run.id }, { "file", run.file }, { "started", run.created }, { "ended", run.ended },
			{ "took", run.duration_ms and html.duration(run.duration_ms) }, { "steps", table.concat(counts, ", ") },
			{ "resumed", (run.resumes or 0) > 0 and run.resumes .. " times" or nil },
			{ "failed step", run.failed_step }, { "error", run.code and ("%s: %s"):format(run.code, run.message or "") },
			{ "cost", run.cost_usd and money.shown(money.micros(run.cost_usd)) } }
end

local function codes_table(codes)
	local rows = {}
	for i, row in ipairs(codes) do
		rows[i] = { html.escape(row.code), tostring(row.attempts), tostring(row.retries), html.duration(row.wait_ms) }
	end
	return rows[1] and '<h2 id="codes">Failures by code</h2>\n' .. html.table("Attempts that failed, and the waits for the next ones",
		{ "code", "#attempts", "#tried again", "#waited" }, rows) or ""
end

---@param db table the open store
---@param id string of the run
---@return string page
---@return table run as report.full has it
function M.page(db, id)
	local history = history_of.of(db, id)
	local body = table.concat { heading(history), '<h2 id="timeline">Timeline</h2>\n', timeline.draw(history),
		'<h2 id="steps">Steps</h2>\n', steps_of(db, history), codes_table(history.codes) }
	return html.page(("%s: %s"):format(history.run.workflow, history.run.state), body), history.run
end

return M
