-- html_run: the page about one run: what failed, first of all; when it did what, as a timeline; its steps with their
-- attempts, what they printed, what they cost; a loop as one row with a strip of its items. However many steps there are, the
-- page stays below 1 MB: those that failed have their details first. It reads the store and the logs.

local amounts = require "runner.core.amounts"
local encoding = require "runner.core.encoding"
local host = require "runner.host"
local html = require "runner.workflow.report.html"
local logs = require "runner.workflow.report.logs"
local reference = require "runner.core.reference"
local report = require "runner.workflow.report.report"
local run_text = require "runner.workflow.report.run_text"
local visible = require "runner.core.visible"

local M = {}

-- All that a run has done, as a tree: steps with what is inside of them, loops with their items, each with
-- its attempts and with what all of it has cost; and what failed in it. It reads the store.

---@class runner.workflow.HistoryNode a step, or an item of a loop
---@field name string within what it is in
---@field state string
---@field parent? runner.workflow.HistoryNode
---@field below runner.workflow.HistoryNode[] in the order of their starts
---@field items? runner.workflow.HistoryNode[] of a loop, in this order; they are not in `below`
---@field cost integer micro-dollars, of all that is inside, too
---@field failures integer steps that have failed, it and all that is inside, but for what was repaired in there
---@field number? integer of a step: its place in the order of all starts
---@field step? table of a step: its row in the store, without its output
---@field tries? table[] of a step: its attempts, the oldest first
---@field from? number of an item: ms since the epoch, when the first of its steps began …
---@field to? number … and the last one ended

---@class runner.workflow.History
---@field run table as report.full has it, without steps
---@field top runner.workflow.HistoryNode[]
---@field nodes table<string, runner.workflow.HistoryNode> steps, by key
---@field failed runner.workflow.HistoryNode[] in the order of their starts, without what failed of one of them
---@field cause? runner.workflow.HistoryNode the one of them that ended the run
---@field from_ms integer when it began
---@field to_ms integer when the last thing happened; now, of a run that goes on
---@field spent integer micro-dollars that attempts have cost which are over
---@field codes {code: string, attempts: integer, retries: integer, wait_ms: integer}[] the most frequent first

local BAD = { failed = true, interrupted = true }
local WORSE = { skipped = 1, completed = 2, pending = 3, waiting = 3, running = 4, interrupted = 5, failed = 6 }

-- --- the tree --------------------------------------------------------------------------------------

local function item_of(history, loop_key, number, step)
	local loop = history.nodes[loop_key]
	if not loop then
		return nil
	end
	loop.items, loop.by_number = loop.items or {}, loop.by_number or {}
	local item = loop.by_number[number]
	if not item then
		item = { name = step.item or "#" .. number, state = step.state, below = {}, parent = loop, cost = 0, failures = 0,
			index = tonumber(number) }
		loop.items[#loop.items + 1], loop.by_number[number] = item, item
	end
	item.state = WORSE[step.state] > WORSE[item.state] and step.state or item.state
	item.from = math.min(item.from or math.huge, step.started_ms or math.huge)
	item.to = math.max(item.to or 0, step.ended_ms or 0)
	return item
end

-- The nearest step, or item of a loop, that it is inside, and its key without rounds; of a step with rounds the one of the same.
local function holder_of(history, step)
	local at, rounds = reference.split(step.key)
	while at do
		local loop_key, number = at:match "^(.*)%[(%d+)%]$"
		if loop_key then
			return item_of(history, loop_key, number, step), at
		end
		at = at:match "^(.*)%.[^.]*$"
		local found, of = nil, rounds
		while at and of and not found do
			found, of = history.nodes[at .. of], of:match "^(.*)@%d*$"
		end
		if found then
			return found, at
		end
	end
end

-- "repair.1, round 2"
local function name_of(key, holder_key)
	local base, rounds = reference.split(key)
	local round = rounds:match "(%d+)$"
	return base:sub(holder_key and #holder_key + 2 or 1) .. (round and ", round " .. round or "")
end

local function add(history, step, cost)
	local holder, key = holder_of(history, step)
	local node = { name = name_of(step.key, holder and key), state = step.state, parent = holder, below = {}, cost = 0, failures = 0,
		step = step, tries = {}, number = step.position }
	history.nodes[step.key] = node
	local list = holder and holder.below or history.top
	list[#list + 1] = node
	local at, bad = node, BAD[step.state] and 1 or 0
	while at do
		at.cost, at.failures = at.cost + cost, at.failures + bad
		bad = at.step and at.step.kind == "steps" and at.state == "completed" and 0 or bad -- it was repaired
		at = at.parent
	end
end

local function in_order(nodes)
	for _, node in pairs(nodes) do
		if node.items then
			node.by_number = nil
			table.sort(node.items, function(a, b) return a.index < b.index end)
		end
	end
end

---What an item, or a step, holds; of a loop what followed it, too.
---@param node runner.workflow.HistoryNode
---@return runner.workflow.HistoryNode[]
function M.inside(node)
	local items = node.items
	return items and table.move(node.below, 1, #node.below, #items + 1, table.move(items, 1, #items, 1, {})) or node.below
end

-- --- what failed ------------------------------------------------------------------------------------

local function is_inside(node, other)
	while node and node ~= other do
		node = node.parent
	end
	return node ~= nil
end

-- Where something inside has failed, that is why. The last one inside of the step that the run has failed of has ended it.
local function add_failures(history, steps)
	local ended = history.nodes[history.run.failed_step or ""]
	for _, step in ipairs(steps) do
		local node = history.nodes[step.key]
		if BAD[step.state] and node.failures == 1 then
			history.failed[#history.failed + 1] = node
			history.cause = ended and is_inside(node, ended) and node or history.cause
		end
	end
end

---What became of the run by this failure.
---@param history runner.workflow.History
---@param node runner.workflow.HistoryNode
---@return string
function M.fate(history, node)
	local at, beside = node.parent, false
	if node == history.cause or node.state == "interrupted" then
		return node == history.cause and "ended the run" or "was cut off"
	end
	while at do
		local step = at.step or {}
		if step.kind == "steps" then
			return at.state == "completed" and "was repaired" or "a repair was to follow"
		elseif step.state == "completed" then
			return "the run went on"
		end
		beside = beside or is_inside(history.cause, at)
		at = at.parent
	end
	return beside and "failed beside others" or "the run went on"
end

-- --- the whole ----------------------------------------------------------------------------------------

-- What goes on in a run that no process executes any more was cut off.
local function settle(steps, state)
	for _, step in ipairs(steps) do
		if state == "interrupted" and step.state == "running" then
			step.state = "interrupted"
		end
	end
end

---@param db table the open store
---@param id string of the run
---@return runner.workflow.History
function M.of(db, id)
	local run = report.full(db, id, { limit = 1 })
	return db:snapshot(function()
		local steps, costs, spent = db:steps(id, { brief = true }), db:costs(id)
		local from = db:find(id).created_ms
		local history = { run = run, top = {}, nodes = {}, failed = {}, spent = spent, codes = db:codes(id), from_ms = from,
			to_ms = run.state == "running" and host.wall_ms() or from }
		settle(steps, run.state)
		for _, step in ipairs(steps) do
			add(history, step, costs[step.key] or 0)
			history.to_ms = math.max(history.to_ms, step.ended_ms or step.started_ms or 0)
		end
		for _, try in ipairs(db:attempts(id)) do
			table.insert(history.nodes[try.key].tries, try)
		end
		in_order(history.nodes)
		add_failures(history, steps)
		return history
	end)
end

local DETAILS = 400 << 10 -- bytes of the details of all steps
local ROWS = 200 << 10 -- bytes of the rows of all steps
local FAILED_ROWS = 300 << 10 -- the same, where a row is of what has failed
local ITEMS = 300 -- of a loop that ended well and have a row
local OUTPUT = 4000 -- bytes of an output, or of the end of a log
local ERROR = 600 -- of the end of what a failure printed, above
local PLACES, OTHERS = 30, 12 -- where failures are, and more of them in the same place
local OPEN = 8 -- places whose first failure has its details open
local NAME, LABEL = 90, 110 -- columns
local TIMELINE = 150 << 10 -- bytes of all lanes
local ATTEMPTS, MESSAGE = 30, 1000 -- the last ones of a step, and bytes of the message of each
local CELLS, WIDEST = 200, 24 -- of a strip, and the share that one has at most
local BUCKETS = 200 -- of a loop's lane
local UNITS = 100 -- steps on executors
local BARS = 50 -- attempts of a step: its last ones

local function text(value, columns)
	return encoding.markup(visible.shorten((tostring(value):sub(1, 8 * columns):gsub("%s+", " ")), columns))
end

local function took(node)
	local from, to = node.from or node.step and node.step.started_ms, node.to or node.step and node.step.ended_ms
	return from and to and to > 0 and math.max(to - from, 0) or nil
end

local function cost(micros)
	return micros > 0 and amounts.shown(micros) or ""
end

-- "review › src/a.c › ask", or the items in it.
local function path_of(node, only_items)
	local names = {}
	while node do
		if not (only_items and node.step) then
			table.insert(names, 1, text(node.name, NAME))
		end
		node = node.parent
	end
	return table.concat(names, " › ")
end

local function look_of(node)
	local passed_over = node.state == "completed" and node.failures > 0 and not (node.step and node.step.kind == "steps")
	return passed_over and "interrupted" or node.state
end

-- --- when its steps ran and waited, as SVG: a lane for each, a loop in one -----------------------------

-- Where a time is, of 1000.
local function x_of(history, ms)
	return math.min(math.max((ms - history.from_ms) / math.max(history.to_ms - history.from_ms, 1), 0), 1) * 1000
end

local function bars_of(history, node)
	local out, step, tries = {}, node.step, node.tries
	for i = math.max(#tries - BARS + 1, 1), #tries do
		local try = tries[i]
		local ended = try.ended_ms or (step.state == "running" and history.to_ms) or try.started_ms
		local state = try.code and "failed" or try.ended_ms and "completed" or step.state
		out[#out + 1] = html.bar(state, x_of(history, try.started_ms), x_of(history, ended),
			("attempt %d: %s, %s"):format(try.number, try.code or state, html.duration(ended - try.started_ms)))
		if try.delay_ms then
			out[#out + 1] = html.bar("wait", x_of(history, ended), x_of(history, ended + try.delay_ms), "waits " .. html.duration(try.delay_ms))
		end
	end
	if not tries[1] and step.started_ms then
		local ended = step.ended_ms or history.to_ms
		out[1] = html.bar("held", x_of(history, step.started_ms), x_of(history, ended), "its steps: " .. html.duration(ended - step.started_ms))
	end
	return table.concat(out)
end

-- However many steps a loop has: where any of them ran, and where one failed.
local function fill(history, node, states)
	for _, try in ipairs(node.tries or {}) do
		local from = x_of(history, try.started_ms) * BUCKETS // 1000
		local to = math.min(x_of(history, try.ended_ms or history.to_ms) * BUCKETS // 1000, BUCKETS - 1)
		for i = from, to do
			states[i] = try.code and i == to and "failed" or states[i] or "completed"
		end
	end
	for _, below in ipairs(M.inside(node)) do
		fill(history, below, states)
	end
	return states
end

local function loop_bars(history, node)
	local out, states, from = {}, fill(history, node, {}), nil
	for i = 0, BUCKETS do
		if from and states[i] ~= states[from] then
			out[#out + 1] = html.bar(states[from], from * 1000 / BUCKETS, i * 1000 / BUCKETS, states[from])
			from = nil
		end
		from = from or states[i] and i or nil
	end
	return table.concat(out)
end

local function lanes(history, nodes, out, depth)
	for _, node in ipairs(nodes) do
		out.count = out.count + 1
		if out.bytes < TIMELINE then
			local name, ms = path_of(node), took(node)
			out[#out + 1] = ('<div class="lane"><span class="%s" style="padding-left:%dem" title="%s">%s %s</span>'):format(look_of(node), depth,
				name, html.mark(look_of(node)), text(node.name, NAME)) .. html.drawing(1000, ("%s: %s %s"):format(name, node.state, html.duration(ms)),
				node.items and loop_bars(history, node) or bars_of(history, node))
				.. ('<span class="n">%s</span><span class="n">%s</span></div>\n'):format(html.duration(ms), cost(node.cost))
			out.bytes = out.bytes + #out[#out]
		end
		lanes(history, node.below, out, depth + 1)
	end
	return out
end

local LEGEND = { { "completed", "ran" }, { "failed", "failed" }, { "running", "runs" }, { "wait", "waits for its next attempt" },
	{ "held", "its steps, below it" } }

local function timeline(history)
	local out = lanes(history, history.top, { count = 0, bytes = 0 }, 0)
	if out.count > #out then
		out[#out + 1] = ('<p class="soft">… %d more</p>\n'):format(out.count - #out)
	end
	return html.legend(LEGEND) .. '<div class="lane soft"><span>step</span>' .. html.time_axis(history.to_ms - history.from_ms)
		.. '<span class="n">took</span><span class="n">cost</span></div>\n' .. table.concat(out)
end

-- --- a loop ---------------------------------------------------------------------------------------------

local function counts(items)
	local by_state = {}
	for _, item in ipairs(items) do
		by_state[item.state] = (by_state[item.state] or 0) + 1
	end
	return ("%d %s: %s"):format(#items, #items == 1 and "item" or "items", html.counts(by_state))
end

-- A cell for each item, or for several of them: the worst.
local function strip(items)
	local out, each = {}, math.ceil(#items / CELLS)
	local count = math.ceil(#items / each)
	for i = 1, count do
		local worst, failed, last = items[(i - 1) * each + 1], 0, math.min(i * each, #items)
		for n = (i - 1) * each + 1, last do
			failed = failed + (items[n].failures > 0 and 1 or 0)
			worst = items[n].failures > worst.failures and items[n] or worst
		end
		out[i] = html.bar(look_of(worst), (i - 1) * 10, i * 10 - 1, each == 1 and ("%s: %s"):format(worst.name, worst.state)
			or ("items %d to %d: %d failed"):format((i - 1) * each + 1, last, failed))
	end
	return '<span class="strip">' .. html.drawing(math.max(count, WIDEST) * 10, counts(items), table.concat(out)) .. "</span>"
end

-- --- one step ----------------------------------------------------------------------------------

local function pre(title, content)
	if not content or content == "" then
		return ""
	end
	return ('<p class="soft">%s</p><pre>%s</pre>\n'):format(encoding.markup(title), encoding.markup(content))
end

local function log_text(record, stream, most)
	local content = record and record[stream]
	content = type(content) == "string" and content or nil
	return content and #content > most and "…" .. content:sub(-most) or content
end

local function code_of(code)
	return ('<span class="n">%s</span>'):format(encoding.markup(code))
end

local function attempts_table(history, node)
	local rows, count = {}, #node.tries
	for i = math.max(count - ATTEMPTS + 1, 1), count do
		local try = node.tries[i]
		rows[#rows + 1] = { tostring(try.number), html.duration(try.started_ms - history.from_ms),
			html.duration(try.ended_ms and math.max(try.ended_ms - try.started_ms, 0)), code_of(try.code or (try.ended_ms and "ok" or "")),
			encoding.markup((try.message or ""):sub(1, MESSAGE)), html.duration(try.delay_ms) }
	end
	local title = count > ATTEMPTS and ("The last %d of %d attempts of "):format(ATTEMPTS, count) or "Attempts of "
	return rows[1] and html.table(title .. node.step.key, { "#no.", "#began after", "#took", "code", "message", "#then waited" },
		rows) or ""
end

-- What its last attempts printed that failed.
local function logs_of(history, node)
	local out = {}
	for i = math.max(#node.tries - 2, 1), #node.tries do
		local try = node.tries[i]
		local record = try.code and logs.of(history.run.id, try) or nil
		out[#out + 1] = pre(("stderr of attempt %d"):format(try.number), log_text(record, "stderr", OUTPUT))
		out[#out + 1] = pre(("stdout of attempt %d"):format(try.number), log_text(record, "stdout", OUTPUT))
	end
	return table.concat(out)
end

local function usage_facts(used)
	return used and html.facts { { "model", used.model }, { "turns", used.turns }, { "tokens in", used.input_tokens },
		{ "tokens out", used.output_tokens }, { "session", used.session_id } } or ""
end

local function details_of(page, node)
	local db, run, step = page.db, page.history.run, node.step
	local has_own = not M.inside(node)[1] and step.state ~= "failed" -- else its steps have it, or its log
	local output = has_own and (db:step(run.id, step.key) or {}).output or ""
	return table.concat { html.facts { { "key", step.key }, { "kind", step.kind }, { "text", (step.label or ""):sub(1, OUTPUT) },
		{ "used", step.held and step.held.used and run_text.used(step.held.used) }, { "code", step.code },
		{ "message", step.message and step.message:sub(1, OUTPUT) } },
		attempts_table(page.history, node), usage_facts(db:usage(run.id, step.key)),
		pre(#output > OUTPUT and ("Output, the first %d of %d bytes"):format(OUTPUT, #output) or "Output", output:sub(1, OUTPUT)),
		logs_of(page.history, node) }
end

-- The details of as many steps as there is room for: those that failed, those that are in no loop, the others.
local function add_details(page)
	local steps, bytes = {}, 0
	for _, node in pairs(page.history.nodes) do
		steps[#steps + 1] = node
		node.rank = node.failures > 0 and 1 or node.step.key:find "%[" and 3 or 2
	end
	table.sort(steps, function(a, b)
		return a.rank < b.rank or a.rank == b.rank and a.number < b.number
	end)
	for _, node in ipairs(steps) do
		node.details = bytes < DETAILS and details_of(page, node) or ""
		bytes = bytes + #node.details
	end
end

-- --- all of them --------------------------------------------------------------------------------

local function row(node, name)
	local look, tries = look_of(node), node.tries and #node.tries or 0
	local label = node.items and counts(node.items) or node.step and not node.below[1] and node.step.label or ""
	return ('<span class="row"><span><b class="%s">%s %s</b> <code>%s</code> <i>%s</i>%s</span><span class="n">%s</span>'
		.. '<span class="n">%s</span><span class="n">%s</span></span>'):format(look, html.mark(look), node.state, text(name or node.name, NAME),
		text(label, LABEL), node.items and strip(node.items) or "", tries > 1 and tries .. "×" or "", html.duration(took(node)), cost(node.cost))
end

local rendered

-- Of a loop the items that failed come first, and not all others.
local function rendered_all(page, nodes)
	local out, left, good = {}, {}, 0
	for _, wanted in ipairs { true, false } do
		for _, node in ipairs(nodes) do
			local bad, is_item = node.failures > 0, not node.step
			if is_item and bad == wanted or not is_item and wanted then
				good = good + (is_item and not bad and 1 or 0)
				if page.bytes < (bad and FAILED_ROWS or ROWS) and good <= ITEMS then
					out[#out + 1] = rendered(page, node)
				else
					left[node.state] = (left[node.state] or 0) + 1
				end
			end
		end
	end
	out[#out + 1] = next(left) and ('<p class="soft">… and %s more</p>\n'):format(html.counts(left)) or nil
	return table.concat(out)
end

-- An item with one step is that step.
function rendered(page, node)
	local only, name = not node.step and #node.below == 1 and node.below[1], nil
	if only then
		node, name = only, only.name == "1" and node.name or ("%s › %s"):format(node.name, only.name)
	end
	local head, inside = row(node, name), M.inside(node)
	page.bytes = page.bytes + #head + 60
	local content = (inside[1] and rendered_all(page, inside) or "") .. (node.details or "") -- an item has none
	local id = node.number and (' id="s%d"'):format(node.number) or ""
	node.shown = true
	if content == "" then
		return ('<p class="line"%s>%s</p>\n'):format(id, head)
	end
	local is_open = node.failures > 0 and (inside[1] or page.open[node])
	return ('<details%s%s><summary>%s</summary><div>%s</div></details>\n'):format(id, is_open and " open" or "", head, content)
end

local function steps_of(page)
	return '<p class="line soft"><span class="row"><span>step</span><span class="n">attempts</span><span class="n">took</span>'
		.. '<span class="n">cost</span></span></p>\n' .. rendered_all(page, page.history.top)
		.. ('<p class="line"><span class="row"><b>total</b><span></span><span class="n">%s</span><span class="n">%s</span></span></p>\n'):format(
			html.duration(page.history.to_ms - page.history.from_ms), cost(page.history.spent))
end

-- --- what failed ---------------------------------------------------------------------------------

local function link(node, name)
	return node.shown and ('<a href="#s%d">%s</a>'):format(node.number, name) or name
end

-- The failures of one place, the first of which is told of.
local function places_of(history)
	local by_place, list = {}, {}
	for _, node in ipairs(history.failed) do
		local place = node.step.key:gsub("%[%d+%]", "[]"):gsub("@[@%d]+", "") .. "\0" .. (node.step.code or "")
		local known = by_place[place]
		if not known then
			known = { nodes = {} }
			by_place[place], list[#list + 1] = known, known
		end
		known.first = node == history.cause and node or known.first or node
		known.nodes[#known.nodes + 1] = node
	end
	table.sort(list, function(a, b)
		local of_a, of_b = a.first == history.cause, b.first == history.cause
		return of_a ~= of_b and of_a or of_a == of_b and a.first.number < b.first.number
	end)
	return list
end

local function others(place)
	local links = {}
	for _, node in ipairs(place.nodes) do
		if node ~= place.first and #links < OTHERS then
			local items = path_of(node, true)
			links[#links + 1] = link(node, items ~= "" and items or text(node.name, NAME))
		end
	end
	local left = #place.nodes - 1 - #links
	return links[1] and ('<p>%d more like it: %s%s</p>'):format(#place.nodes - 1, table.concat(links, ", "),
		left > 0 and (", … %d more"):format(left) or "") or ""
end

local function printed(history, node)
	local try = node.tries[#node.tries]
	local record = try and try.code and logs.of(history.run.id, try)
	local said = log_text(record, "stderr", ERROR)
	said = said and said:find "%S" and said or log_text(record, "stdout", ERROR)
	return said and said:find "%S" and ("<pre>%s</pre>"):format(encoding.markup((said:gsub("%s+$", "")))) or ""
end

local function failures_of(page)
	local history, places, out = page.history, page.places, {}
	for i, place in ipairs(places) do
		local node = place.first
		out[#out + 1] = i <= PLACES and ('<li><b class="failed">✗ %s</b> <span class="failed">%s</span>: %s <i>(%s)</i>%s%s</li>\n'):format(
			link(node, path_of(node)), encoding.markup(node.step.code or node.state), text(node.step.message or "", 400),
			M.fate(history, node), printed(history, node), others(place)) or nil
	end
	out[#out + 1] = #places > PLACES and ('<li class="soft">… and %d other places</li>\n'):format(#places - PLACES) or nil
	return out[1] and '<h2 id="failures">What failed</h2>\n<ul class="failures">' .. table.concat(out) .. "</ul>\n" or ""
end

-- --- the page ------------------------------------------------------------------------------------

local function costs_text(history)
	local run = history.run
	local most = run.max_cost_usd and amounts.micros(run.max_cost_usd)
	local held = (run.cost_usd and amounts.micros(run.cost_usd) or 0) - history.spent
	return (history.spent > 0 or most or held > 0) and amounts.shown(history.spent) .. (most and " of " .. amounts.shown(most) or "")
		.. (held > 0 and (", and %s that running steps may cost"):format(amounts.shown(held)) or "") or nil
end

local function heading(history)
	local run, cause = history.run, history.cause
	return ('<a class="skip" href="#steps">Skip to the steps</a>\n<h1>%s <span class="%s">%s %s</span></h1>\n'):format(
		encoding.markup(run.workflow), run.state, html.mark(run.state), encoding.markup(run.state))
		.. (run.code and ('<p class="error">%s<b>%s</b>: %s</p>\n'):format(cause and link(cause, path_of(cause)) .. " " or "",
			encoding.markup(run.code), text(run.message or "", 600)) or "") .. html.facts {
			{ "run", run.id }, { "file", run.file }, { "of", run_text.whose(run) }, { "started", run.created }, { "ended", run.ended },
			{ "took", run.duration_ms and html.duration(run.duration_ms) }, { "cost", costs_text(history) },
			{ "steps", html.counts(run.steps_by_state or {}) },
			{ "resumed", (run.resumes or 0) > 0 and run.resumes .. " times" or nil },
			{ "to go on", (run.state == "failed" or run.state == "interrupted") and "runner workflow resume " .. run.id or nil } }
end

-- Its steps on executors.
local function placed_table(units)
	local rows = {}
	for i, unit in ipairs(table.move(units or {}, 1, UNITS, 1, {})) do
		rows[i] = { encoding.markup(unit.step), encoding.markup(unit.executor), ("%d of %d"):format(unit.completed, unit.parts),
			html.duration(unit.queue_ms), html.duration(unit.longest_queue_ms or 0), html.duration(unit.run_ms), tostring(unit.measured or ""),
			unit.cpu_ms and html.duration(unit.cpu_ms) or "", unit.peak_bytes and run_text.mebibytes(unit.peak_bytes) or "" }
	end
	return rows[1] and ('<h2 id="placed">On executors</h2>\n%s%s'):format(#units > UNITS
		and ('<p class="soft">%d of %d steps</p>\n'):format(UNITS, #units) or "", html.table("Parts of steps, and what was measured",
		{ "step", "executor", "#parts done", "#in the queue", "#longest wait", "#ran", "#measured", "#processor", "#peak" }, rows)) or ""
end

local function codes_table(codes)
	local rows = {}
	for i, code in ipairs(codes) do
		rows[i] = { code_of(code.code), tostring(code.attempts), tostring(code.retries), html.duration(code.wait_ms) }
	end
	return rows[1] and '<h2 id="codes">Failures by code</h2>\n' .. html.table("Attempts that failed, and the waits for the next ones",
		{ "code", "#attempts", "#tried again", "#waited" }, rows) or ""
end

---@param db table the open store
---@param id string of the run
---@return string page
---@return table run as report.full has it
function M.page(db, id)
	local history = M.of(db, id)
	local page = { db = db, history = history, bytes = 0, open = {}, places = places_of(history) }
	for i, place in ipairs(page.places) do
		page.open[place.first] = i <= OPEN
	end
	add_details(page)
	local steps = steps_of(page)
	local body = table.concat { heading(history), failures_of(page), '<h2 id="timeline">Timeline</h2>\n', timeline(history),
		'<h2 id="steps">Steps</h2>\n', steps, placed_table(history.run.placed), codes_table(history.codes) }
	return html.page(("%s: %s"):format(history.run.workflow, history.run.state), body), history.run
end

return M
