-- html: what the pages about runs share: one file without scripts that asks no network for
-- anything, light or dark as the reader has it; written whole or not at all, and never over a file that
-- is no page of ours. Whatever a program printed is text here.

local display = require "runner.core.display"
local encoding = require "runner.core.encoding"
local errors = require "runner.core.errors"
local fs = require "runner.fs"

local M = {}

---How every page begins: what tells ours from other files.
local MARK = "<!doctype html>\n<!-- a page of runner -->\n"

local STYLE = [[
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--panel:#f6f8fa;--ok:#1a7f37;--bad:#b3202c;
--run:#0757ba;--wait:#7a4b00;--idle:#6e7781}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9aa4af;--line:#373e47;--panel:#161b22;--ok:#56d364;
--bad:#ff8a80;--run:#79b8ff;--wait:#e3b341;--idle:#8b949e}}*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}main{max-width:70rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:.2rem 0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:1.6rem 0 .5rem}a{color:var(--run)}
:focus-visible{outline:3px solid var(--run);outline-offset:2px}.skip{position:absolute;left:-99rem}.skip:focus{position:static}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{color:var(--soft);font-weight:600}th:not(.n),td:not(.n){min-width:7rem}.n{text-align:right;white-space:nowrap}
pre{margin:.3rem 0;padding:.5rem;background:var(--panel);border:1px solid var(--line);border-radius:4px;
font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}code{font:13px ui-monospace,monospace}
details,.line{border-bottom:1px solid var(--line)}summary,.line{padding:.25rem 0;margin:0;overflow-wrap:anywhere}summary{cursor:pointer}
.line{padding-left:1.1rem}.line .row{width:calc(100% - .3rem)}details>div{padding:0 0 .6rem 1.2rem}
.row{display:inline-grid;grid-template-columns:minmax(0,1fr) 4rem 4.5rem 4.5rem;gap:.6rem;width:calc(100% - 1.4rem);vertical-align:top}
pre,code,td,dd,i,li{unicode-bidi:isolate}i{color:var(--soft);font-style:normal}b{font-weight:600}
.error{padding:.5rem .8rem;border-left:4px solid var(--bad);background:var(--panel);overflow-wrap:anywhere}
.failures{padding:0;list-style:none}.failures li{margin:.6rem 0;overflow-wrap:anywhere}.failures p{margin:.2rem 0}
.completed{color:var(--ok)}.failed,.interrupted{color:var(--bad)}.running{color:var(--run)}.waiting{color:var(--wait)}
.skipped,.soft{color:var(--soft)}
.lane{display:grid;grid-template-columns:minmax(6rem,22%) 1fr 4.5rem 4.5rem;gap:.6rem;align-items:center;font-size:13px}
.lane span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}svg{display:block;width:100%;height:14px;background:var(--panel)}
.strip{display:block;margin:.2rem 0}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.3rem 0;list-style:none;font-size:13px;color:var(--soft)}
.legend li{display:flex;gap:.4rem;align-items:center}.legend svg{width:2rem}rect.completed{fill:var(--ok)}
rect.failed,rect.interrupted{fill:var(--bad)}rect.running{fill:var(--run)}rect.wait,rect.waiting{fill:var(--wait)}
rect.held,rect.skipped{fill:var(--idle)}.lane .axis{position:relative;height:1.3rem;overflow:visible}
.axis b{position:absolute;transform:translateX(-50%);font-weight:400}.axis b:first-child{transform:none}
.axis b:last-child{transform:translateX(-100%)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:1rem 2rem}figure{margin:0}
figcaption{font-weight:600}
.plot{position:relative;height:8rem;margin:1.4rem 0 1.8rem 4.5rem;border-bottom:1px solid var(--soft);font-size:12px}
.plot u{position:absolute;left:0;right:0;border-top:1px solid var(--line);text-decoration:none}
.plot u span{position:absolute;right:calc(100% + .4rem);top:-.65rem;white-space:nowrap;color:var(--soft)}
.days{position:absolute;inset:0;display:flex;align-items:flex-end}
.days>span{position:relative;flex:0 1 4rem;min-width:0;height:100%;display:flex;align-items:flex-end;justify-content:center}
.days s{display:block;width:70%;background:var(--run);text-decoration:none}
.days b,.days em{position:absolute;white-space:nowrap;font:inherit}.days em{top:calc(100% + .2rem);color:var(--soft)}

@media(max-width:40rem){.row{grid-template-columns:minmax(0,1fr) auto auto auto}.lane{grid-template-columns:6rem 1fr 3.6rem}
.lane>:nth-child(4){display:none}dl{grid-template-columns:1fr}dt{margin-top:.3rem}}
]]

---61500 → "1m 1s", 250 → "0.25s".
---@param ms? number
---@return string
function M.duration(ms)
	if not ms then
		return ""
	elseif ms < 1000 then
		return ("%.2fs"):format(ms / 1000)
	elseif ms < 60000 then
		return ("%.1fs"):format(ms / 1000)
	elseif ms < 3600000 then
		return ("%dm %ds"):format(ms // 60000, ms // 1000 % 60)
	end
	return ("%dh %dm"):format(ms // 3600000, ms // 60000 % 60)
end

---"2 completed, 1 failed".
---@param by_state table<string, integer>
---@return string
function M.counts(by_state)
	local counts = {}
	for state, count in pairs(by_state) do
		counts[#counts + 1] = ("%d %s"):format(count, state)
	end
	table.sort(counts)
	return table.concat(counts, ", ")
end

local MARKS = { completed = "✓", failed = "✗", running = "▸", waiting = "↻", pending = "·", skipped = "-", interrupted = "!" }

---The sign of a state: a colour alone says nothing to who can't see it.
---@param state string
---@return string
function M.mark(state)
	return MARKS[state] or ""
end

-- --- drawings ----------------------------------------------------------------------------------------

-- Where a bar begins, and how high it is, of 10: a shape for each colour.
local SHAPES = { failed = { 0, 10 }, interrupted = { 0, 10 }, wait = { 4, 2 }, waiting = { 4, 2 }, held = { 8, 2 }, skipped = { 7, 3 } }

---@param class string a state, "wait" or "held"
---@param from number
---@param to number
---@param title? string
---@return string markup
function M.bar(class, from, to, title)
	local y, height = table.unpack(SHAPES[class] or { 2, 6 })
	return ('<rect class="%s" x="%.1f" width="%.1f" y="%d" height="%d">%s</rect>'):format(class, from, math.max(to - from, 2), y, height,
		title and "<title>" .. encoding.markup(title) .. "</title>" or "")
end

---@param width number
---@param label string what it shows; "": the text beside it says that
---@param bars string markup
---@return string markup
function M.drawing(width, label, bars)
	return ('<svg viewBox="0 0 %d 10" preserveAspectRatio="none" %s>%s</svg>'):format(width,
		label == "" and 'aria-hidden="true"' or ('role="img" aria-label="%s"'):format(encoding.markup(label)), bars)
end

---@param rows {[1]: string, [2]: string}[] classes of bars, and what they mean
---@return string markup
function M.legend(rows)
	local out = {}
	for i, row in ipairs(rows) do
		out[i] = ("<li>%s%s</li>"):format(M.drawing(30, "", M.bar(row[1], 0, 30)), encoding.markup(row[2]))
	end
	return '<ul class="legend" aria-label="Legend">' .. table.concat(out) .. "</ul>\n"
end

local TIMES = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400 } -- seconds

-- The distance of three to six marks from 0 up to `most`, which people can count with.
local function tick(most, is_time, whole)
	if is_time and most >= 3000 then
		for _, seconds in ipairs(TIMES) do
			if most <= seconds * 5000 then
				return seconds * 1000
			end
		end
	end
	local unit = 10 ^ math.floor(math.log(most / 5, 10))
	for _, factor in ipairs { 1, 2, 5, 10 } do
		if most <= unit * factor * 5 * (1 + 1e-9) then
			return whole and math.max(unit * factor, 1) or unit * factor
		end
	end
end

local function short(duration)
	return (duration:gsub(" 0[ms]$", ""))
end

---The axis of a timeline.
---@param ms integer how long it is
---@return string markup
function M.time_axis(ms)
	local out, each = {}, tick(math.max(ms, 1), true)
	for at = 0, ms, each do
		out[#out + 1] = ('<b style="left:%.1f%%">%s</b>'):format(at / math.max(ms, 1) * 100, at == 0 and "0" or short(M.duration(at)))
	end
	return '<span class="axis">' .. table.concat(out) .. "</span>"
end

local LABELS = 8 -- days that have their name below, and their value above

---A bar for each day, with an axis and its numbers.
---@param title string with the unit
---@param days {day: string, value: number}[] the oldest first
---@param shown fun(value: number): string
---@param kind? "time"|"whole"
---@return string markup "": there is nothing to show
function M.chart(title, days, shown, kind)
	local most, sum, bars, lines = 0, 0, {}, {}
	for _, day in ipairs(days) do
		most, sum = math.max(most, day.value), sum + day.value
	end
	if most <= 0 then
		return ""
	end
	local each = tick(most, kind == "time", kind == "whole")
	local top = math.ceil(most / each - 1e-9) * each
	for at = 0, top + each / 2, each do
		lines[#lines + 1] = ('<u style="bottom:%.1f%%"><span>%s</span></u>'):format(at / top * 100,
			at == 0 and "0" or short(encoding.markup(shown(at))))
	end
	local every = math.ceil(#days / LABELS)
	for i, day in ipairs(days) do
		local text = encoding.markup(shown(day.value))
		bars[i] = ('<span title="%s: %s"><s style="height:%.1f%%"></s>%s%s</span>'):format(encoding.markup(day.day), text, day.value / top * 100,
			every == 1 and day.value > 0 and ('<b style="bottom:%.1f%%">%s</b>'):format(day.value / top * 100, text) or "",
			(i - 1) % every == 0 and "<em>" .. encoding.markup(day.day:sub(6)) .. "</em>" or "")
	end
	return ('<figure><figcaption>%s</figcaption><div class="plot" role="img" aria-label="%s, from %s to %s: %s in all, %s at most">%s'
		.. '<span class="days">%s</span></div></figure>\n'):format(encoding.markup(title), encoding.markup(title), encoding.markup(days[1].day),
			encoding.markup(days[#days].day), encoding.markup(shown(sum)), encoding.markup(shown(most)), table.concat(lines), table.concat(bars))
end

---A table. Cells are markup; a column whose name begins with "#" has numbers.
---@param caption string
---@param columns string[]
---@param rows string[][]
---@return string
function M.table(caption, columns, rows)
	local out = { ('<div class="scroll"><table><caption class="soft">%s</caption><thead><tr>'):format(encoding.markup(caption)) }
	for _, name in ipairs(columns) do
		out[#out + 1] = ('<th scope="col"%s>%s</th>'):format(name:find "^#" and ' class="n"' or "", encoding.markup((name:gsub("^#", ""))))
	end
	out[#out + 1] = "</tr></thead><tbody>\n"
	for _, row in ipairs(rows) do
		out[#out + 1] = "<tr>"
		for i, name in ipairs(columns) do
			out[#out + 1] = ("<td%s>%s</td>"):format(name:find "^#" and ' class="n"' or "", row[i] or "")
		end
		out[#out + 1] = "</tr>\n"
	end
	out[#out + 1] = "</tbody></table></div>\n"
	return table.concat(out)
end

---Names and values; nil values are left out. Values are text.
---@param rows {[1]: string, [2]: any}[]
---@return string
function M.facts(rows)
	local out = { "<dl>" }
	for _, row in ipairs(rows) do
		if row[2] ~= nil and row[2] ~= "" then
			out[#out + 1] = ("<dt>%s</dt><dd>%s</dd>"):format(encoding.markup(row[1]), encoding.markup(row[2]))
		end
	end
	out[#out + 1] = "</dl>\n"
	return table.concat(out)
end

---The whole page.
---@param title string
---@param body string markup
---@return string
function M.page(title, body)
	return MARK .. ([[<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>
%s</style></head><body><main>
]]):format(encoding.markup(title), STYLE) .. body .. "</main></body></html>\n"
end

-- --- its file --------------------------------------------------------------------------------------

local function is_ours(path)
	local file <close> = io.open(path, "rb")
	return file ~= nil and file:read(#MARK) == MARK
end

---@param path string
---@param page string
---@param about table members of the result
---@return table data
function M.write(path, page, about)
	local there = fs.stat(path)
	if there and not is_ours(path) then
		errors.raise("ALREADY_EXISTS", ("%s is not a page that runner has written"):format(path),
			{ suggestion = "Give another name, or remove the file", side_effects = "none" })
	end
	local ok, why, errno = fs.write(path, page)
	if not ok then
		errors.raise(errno == "EACCES" and "PERMISSION_DENIED" or "OUTPUT_FAILED", ("Can't write %s: %s"):format(path, why),
			{ side_effects = "none" })
	end
	about.path, about.bytes = path, #page
	display.set { text = ("page: %s (%d bytes)\n"):format(path, #page), rows = false } -- they are in the page
	return about
end

return M
