-- html_run: the page about one run: what it did and when, as a timeline, its steps with their attempts,
-- what they printed, what they cost. However many steps there are, the page stays below 2 MB: those
-- that failed have their details first. It reads the store and the logs.

local host = require "runner.host"
local html = require "runner.workflow.report.html"
local markup = require "runner.core.markup"
local logs = require "runner.workflow.report.logs"
local money = require "runner.core.money"
local report = require "runner.workflow.report.report"

local M = {}

-- --- the run with all its steps and attempts --------------------------------------------------

---@class runner.workflow.HistoryStep a row of the store, without its output
---@field tries table[] its attempts, the oldest first
---@field in_loop boolean

---@class runner.workflow.History
---@field run table as report.full has it, without steps
---@field steps runner.workflow.HistoryStep[] in the order of their starts
---@field from_ms integer when the first thing happened
---@field to_ms integer when the last one did; now, of a run that goes on
---@field codes {code: string, attempts: integer, retries: integer, wait_ms: integer}[] the most frequent first

-- What goes on in a run that no process executes any more was cut off.
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
local function history_of(db, id)
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

-- --- when its steps ran and waited, as SVG: a lane for each, those of a loop in one -----------------

local LANES = 200
local WIDE = 1000 -- units of a lane
local BUCKETS = 200 -- of a loop's lane
local BARS = 50 -- attempts of a step: its last ones

local function x_of(history, ms)
	local all = math.max(history.to_ms - history.from_ms, 1)
	return math.min(math.max((ms - history.from_ms) / all, 0), 1) * WIDE
end

local function rect(class, from, to, title)
	return ('<rect class="%s" x="%.1f" width="%.1f" height="10"><title>%s</title></rect>'):format(class, from,
		math.max(to - from, 2), markup.text(title))
end

local function bars_of(history, step)
	local out = {}
	for i = math.max(#step.tries - BARS + 1, 1), #step.tries do
		local try = step.tries[i]
		local ended = try.ended_ms or (step.state == "running" and history.to_ms) or try.started_ms
		local state = try.code and "failed" or try.ended_ms and "completed" or step.state
		out[#out + 1] = rect(state, x_of(history, try.started_ms), x_of(history, ended),
			("attempt %d: %s, %s"):format(try.number, try.code or state, html.duration(ended - try.started_ms)))
		if try.delay_ms then
			out[#out + 1] = rect("wait", x_of(history, ended), x_of(history, ended + try.delay_ms),
				"waits " .. html.duration(try.delay_ms))
		end
	end
	if not step.tries[1] and step.started_ms then
		local ended = step.ended_ms or history.to_ms
		out[1] = rect("held", x_of(history, step.started_ms), x_of(history, ended), "its steps: " .. html.duration(ended - step.started_ms))
	end
	return table.concat(out)
end

-- However many steps a loop has: where any of them ran, and where one failed.
local function buckets_of(history, steps)
	local states = {}
	for _, step in ipairs(steps) do
		for _, try in ipairs(step.tries) do
			local from = x_of(history, try.started_ms) * BUCKETS // WIDE
			local to = x_of(history, try.ended_ms or history.to_ms) * BUCKETS // WIDE
			for i = from, math.min(to, BUCKETS - 1) do
				states[i] = try.code and i == math.min(to, BUCKETS - 1) and "failed" or states[i] or "completed"
			end
		end
	end
	return states
end

local function loop_bars(history, steps)
	local out, states, from = {}, buckets_of(history, steps), nil
	for i = 0, BUCKETS do
		if from and states[i] ~= states[from] then
			out[#out + 1] = rect(states[from], from * WIDE / BUCKETS, i * WIDE / BUCKETS, states[from])
			from = nil
		end
		from = from or states[i] and i or nil
	end
	return table.concat(out)
end

local function lane(name, state, took, bars)
	return ('<div class="lane"><span class="%s" title="%s">%s</span>'
		.. '<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="%s">%s</svg>'
		.. '<span class="n">%s</span></div>\n'):format(state, markup.text(name), markup.text(name),
			markup.text(name .. ": " .. state .. (took and ", " .. html.duration(took) or "")), bars, html.duration(took))
end

-- The steps in loops, by the key of the outermost one.
local function by_loop(steps)
	local loops = {}
	for _, step in ipairs(steps) do
		local key = step.in_loop and step.key:match "^([^%[]+)%["
		if key then
			loops[key] = loops[key] or {}
			table.insert(loops[key], step)
		end
	end
	return loops
end

---@param history runner.workflow.History
---@return string markup
local function timeline(history)
	local loops, out, left = by_loop(history.steps), {}, 0
	for _, step in ipairs(history.steps) do
		if not step.in_loop and #out < LANES then
			local took = step.started_ms and step.ended_ms and math.max(step.ended_ms - step.started_ms, 0) or nil
			local inner = loops[step.key]
			local name = inner and ("%s (%d)"):format(step.key, #inner) or step.key
			out[#out + 1] = lane(name, step.state, took, inner and loop_bars(history, inner) or bars_of(history, step))
		elseif not step.in_loop then
			left = left + 1
		end
	end
	out[#out + 1] = left > 0 and ('<p class="soft">… %d more</p>\n'):format(left) or ""
	return table.concat(out)
end

-- --- the page --------------------------------------------------------------------------------------

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
	return ('<p class="soft">%s</p><pre>%s</pre>\n'):format(markup.text(title), markup.text(text))
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
			html.duration(try.ended_ms and math.max(try.ended_ms - try.started_ms, 0)), markup.text(try.code or (try.ended_ms and "ok" or "")),
			markup.text((try.message or ""):sub(1, OUTPUT)), html.duration(try.delay_ms) }
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

-- The loops and parallel steps that went on without what failed in them, by key.
local function holders_of_failures(steps)
	local set = {}
	for _, step in ipairs(steps) do
		local key = step.state == "failed" and step.key or ""
		for at in key:gmatch "()[%[.]" do
			set[key:sub(1, at - 1)] = true
		end
	end
	return set
end

-- Its colour, and its mark.
local function look_of(step)
	local look = step.holds_failures and step.state == "completed" and "interrupted" or step.state
	return look, MARKS[look] or ""
end

local function summary_of(step)
	local look, mark = look_of(step)
	local text = ('<span class="%s">%s %s</span> <code>%s</code> <span class="soft">%s</span>'):format(look, mark,
		step.state, markup.text(step.key), html.duration(took(step)))
	return #step.tries > 1 and ("%s <span class=\"soft\">%d attempts</span>"):format(text, #step.tries) or text
end

-- A step without details: there may be thousands.
local function line_of(step)
	local look, mark = look_of(step)
	return ('<p class="%s">%s %s <i>%s</i></p>\n'):format(look, mark, markup.text(step.key),
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
	local holders = holders_of_failures(history.steps)
	for _, step in ipairs(history.steps) do
		step.holds_failures = holders[step.key]
	end
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
	return ('<a class="skip" href="#steps">Skip to the steps</a>\n<h1>%s <span class="%s">%s</span></h1>\n'):format(markup.text(run.workflow),
		run.state, markup.text(run.state)) .. html.facts {
			{ "run", run.id }, { "file", run.file }, { "started", run.created }, { "ended", run.ended },
			{ "took", run.duration_ms and html.duration(run.duration_ms) }, { "steps", html.counts(run.steps_by_state or {}) },
			{ "resumed", (run.resumes or 0) > 0 and run.resumes .. " times" or nil },
			{ "failed step", run.failed_step }, { "error", run.code and ("%s: %s"):format(run.code, run.message or "") },
			{ "cost", run.cost_usd and money.shown(money.micros(run.cost_usd)) } }
end

local function codes_table(codes)
	local rows = {}
	for i, row in ipairs(codes) do
		rows[i] = { markup.text(row.code), tostring(row.attempts), tostring(row.retries), html.duration(row.wait_ms) }
	end
	return rows[1] and '<h2 id="codes">Failures by code</h2>\n' .. html.table("Attempts that failed, and the waits for the next ones",
		{ "code", "#attempts", "#tried again", "#waited" }, rows) or ""
end

---@param db table the open store
---@param id string of the run
---@return string page
---@return table run as report.full has it
function M.page(db, id)
	local history = history_of(db, id)
	local body = table.concat { heading(history), '<h2 id="timeline">Timeline</h2>\n', timeline(history),
		'<h2 id="steps">Steps</h2>\n', steps_of(db, history), codes_table(history.codes) }
	return html.page(("%s: %s"):format(history.run.workflow, history.run.state), body), history.run
end

return M
