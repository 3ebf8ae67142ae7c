-- html_stats: the page about all runs: trends by day, and what failed most often. Pure: it draws
-- the data of `workflow stats`.

local html = require "runner.workflow.report.html"
local markup = require "runner.core.markup"

local M = {}

local function number(value)
	return tostring(value or 0)
end

local function dollars(value)
	return value and value > 0 and ("$%.2f"):format(value) or ""
end

-- A bar for each day, the oldest first.
local function bars(title, days, field, shown)
	local most, out = 0, {}
	for _, day in ipairs(days) do
		most = math.max(most, day[field] or 0)
	end
	if most <= 0 then
		return ""
	end
	local wide = 1000 / #days
	for i = #days, 1, -1 do
		local day = days[i]
		local high = (day[field] or 0) / most * 96
		out[#out + 1] = ('<rect class="running" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %s</title></rect>')
			:format((#days - i) * wide, 100 - high, math.max(wide - 1, 0.5), high, markup.text(day.day), markup.text(shown(day[field] or 0)))
	end
	return ('<h3>%s</h3><svg class="bars" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img"'
		.. ' aria-label="%s, from %s to %s, %s at most">%s</svg>\n'):format(markup.text(title), markup.text(title), markup.text(days[#days].day),
			markup.text(days[1].day), markup.text(shown(most)), table.concat(out))
end

local function rows_of(list, make)
	local rows = {}
	for i, row in ipairs(list) do
		rows[i] = make(row)
	end
	return rows
end

local function section(title, caption, columns, list, make)
	return list[1] and ("<h2>%s</h2>\n"):format(markup.text(title)) .. html.table(caption, columns, rows_of(list, make)) or ""
end

---@param stats table the data of `workflow stats`
---@return string page
function M.page(stats)
	local days = stats.by_day
	return html.page("Runs of workflows", table.concat { "<h1>Runs of workflows</h1>\n",
		html.facts { { "runs", ("%d (%s)"):format(stats.runs, html.counts(stats.by_state)) }, { "attempts", stats.attempts },
			{ "retries", stats.retries }, { "waited", html.duration(stats.total_wait_ms) }, { "cost", dollars(stats.cost_usd) } },
		days[1] and "<h2>By day</h2>\n" or "",
		bars("Runs", days, "runs", number), bars("Retries", days, "retries", number), bars("Waits", days, "wait_ms", html.duration),
		bars("Cost", days, "cost_usd", dollars),
		days[1] and html.table("Days (UTC), the latest first", { "day", "#runs", "#attempts", "#retries", "#waited", "#cost" },
			rows_of(days, function(day)
				return { markup.text(day.day), number(day.runs), number(day.attempts), number(day.retries),
					html.duration(day.wait_ms), dollars(day.cost_usd) }
			end)) or "",
		section("By code", "Attempts that failed", { "code", "#runs", "#attempts", "#retries", "#waited" }, stats.by_code, function(row)
			return { markup.text(row.code), number(row.runs), number(row.attempts), number(row.retries), html.duration(row.wait_ms) }
		end),
		section("By workflow", "Workflows, the most expensive first", { "workflow", "#runs", "#attempts", "#retries", "#waited", "#cost" },
			stats.by_workflow, function(row)
				return { markup.text(row.workflow), number(row.runs), number(row.attempts), number(row.retries),
					html.duration(row.wait_ms), dollars(row.cost_usd) }
			end),
		section("By step", "Steps, those with the most retries first",
			{ "workflow", "step", "#attempts", "#failures", "#retries", "#mean", "#longest" }, stats.by_step, function(row)
				return { markup.text(row.workflow), markup.text(row.key), number(row.attempts), number(row.failures), number(row.retries),
					html.duration(row.mean_ms), html.duration(row.max_ms) }
			end) })
end

return M
