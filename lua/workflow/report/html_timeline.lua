-- html_timeline: when the steps of a run ran and waited, as SVG, a lane for each. The steps of a
-- loop share the lane of the loop. Pure.

local html = require "runner.workflow.report.html"

local M = {}

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
		math.max(to - from, 2), html.escape(title))
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
		.. '<span class="n">%s</span></div>\n'):format(state, html.escape(name), html.escape(name),
			html.escape(name .. ": " .. state .. (took and ", " .. html.duration(took) or "")), bars, html.duration(took))
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
function M.draw(history)
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

return M
