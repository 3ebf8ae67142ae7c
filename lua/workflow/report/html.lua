-- html: what the pages about runs share: one file without scripts that asks no network for
-- anything, light or dark as the reader has it; written whole or not at all, and never over a file that
-- is no page of ours. Whatever a program printed is text here.

local display = require "runner.core.display"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local markup = require "runner.core.markup"

local M = {}

---How every page begins: what tells ours from other files.
local MARK = "<!doctype html>\n<!-- a page of runner -->\n"

local STYLE = [[
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--panel:#f6f8fa;--ok:#1a7f37;--bad:#b3202c;
--run:#0757ba;--wait:#7a4b00;--idle:#6e7781}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9aa4af;--line:#373e47;--panel:#161b22;--ok:#56d364;
--bad:#ff8a80;--run:#79b8ff;--wait:#e3b341;--idle:#8b949e}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:70rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:.2rem 0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:1.6rem 0 .5rem}
a{color:var(--run)}:focus-visible{outline:3px solid var(--run);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{color:var(--soft);font-weight:600}.n{text-align:right;white-space:nowrap}
pre{margin:.3rem 0;padding:.5rem;background:var(--panel);border:1px solid var(--line);border-radius:4px;
font:13px/1.45 ui-monospace,monospace;
white-space:pre-wrap;overflow-wrap:anywhere}
code{font:13px ui-monospace,monospace}
details{border-bottom:1px solid var(--line)}summary{padding:.25rem 0;cursor:pointer;overflow-wrap:anywhere}
details>div{padding:0 0 .6rem 1.2rem}
p.completed,p.failed,p.skipped,p.running,p.waiting,p.interrupted{margin:0;overflow-wrap:anywhere}i{color:var(--soft);font-style:normal}
.completed{color:var(--ok)}.failed,.interrupted{color:var(--bad)}.running{color:var(--run)}.waiting{color:var(--wait)}
.skipped,.soft{color:var(--soft)}
.lane{display:grid;grid-template-columns:minmax(6rem,22%) 1fr 4.5rem;gap:.6rem;align-items:center;font-size:13px}
.lane span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.lane svg{width:100%;height:14px;background:var(--panel)}
rect.completed{fill:var(--ok)}rect.failed,rect.interrupted{fill:var(--bad)}rect.running{fill:var(--run)}
rect.wait{fill:var(--wait);opacity:.45}rect.held{fill:var(--idle);opacity:.45}
.bars{width:100%;height:7rem;background:var(--panel)}
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

---A table. Cells are markup; a column whose name begins with "#" has numbers.
---@param caption string
---@param columns string[]
---@param rows string[][]
---@return string
function M.table(caption, columns, rows)
	local out = { ('<div class="scroll"><table><caption class="soft">%s</caption><thead><tr>'):format(markup.text(caption)) }
	for _, name in ipairs(columns) do
		out[#out + 1] = ('<th scope="col"%s>%s</th>'):format(name:find "^#" and ' class="n"' or "", markup.text((name:gsub("^#", ""))))
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
			out[#out + 1] = ("<dt>%s</dt><dd>%s</dd>"):format(markup.text(row[1]), markup.text(row[2]))
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
]]):format(markup.text(title), STYLE) .. body .. "</main></body></html>\n"
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
