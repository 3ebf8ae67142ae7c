-- svg: a flame graph as one file: no script, no style sheet, nothing from a network, so that any policy
-- for content shows it. What a frame took is its title, which a browser shows under the pointer. Pure.

local host = require "runner.host"
local sorted = require "runner.core.sorted"

local M = {}

---How every picture begins: what tells ours from other files.
M.MARK = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a flame graph of runner -->\n'

local WIDE, ROW, TOP = 1200, 17, 40
local LEAST = 0.4 -- a narrower frame can't be seen
local LETTER = 6.6 -- how wide a letter is
local DEEPEST = 300

local function escape(text)
	local clean = host.clean(text):gsub("[%z\1-\31\127]", ""):gsub("\xEF\xBF[\xBE\xBF]", "?") -- U+FFFE and U+FFFF are no XML
	return (clean:gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }))
end

-- The same name has the same colour in every graph.
local function shade(name)
	local h = 0
	for i = 1, #name do
		h = (h * 31 + name:byte(i)) % 65521
	end
	return h % 40
end

local OUTSIDE = { start = true, load = true, run = true, output = true, cleanup = true, retries = true }

-- Waits are blue, programs green, runner's own code and phases grey, functions of C orange, scripts red.
local function colour(name)
	local n = shade(name)
	if name == "(waiting)" or name == "retries" then
		return ("#%02x%02x%02x"):format(130 + n, 170 + n, 235)
	elseif name == "(programs)" then
		return ("#%02x%02x%02x"):format(120 + n, 205, 120 + n)
	elseif OUTSIDE[name] or name:find("(lua/", 1, true) then
		return ("#%02x%02x%02x"):format(190 + n, 190 + n, 190 + n)
	elseif name:find " %[C%]$" then
		return ("#%02x%02x%02x"):format(245, 190 + n, 90)
	end
	return ("#%02x%02x%02x"):format(240, 110 + 2 * n, 80 + n)
end

local function cut(name, width)
	local letters = math.floor((width - 4) / LETTER)
	if letters < 3 then
		return nil
	elseif (utf8.len(name) or #name) <= letters then
		return name
	end
	local to = utf8.offset(name, letters)
	return to and name:sub(1, to - 1) .. "…"
end

local function frame(out, node, x, y, width, all)
	local share = 100 * node.ns / all
	out[#out + 1] = ('<g><title>%s: %.2f ms, %.1f %%</title><rect x="%.2f" y="%d" width="%.2f" height="%d" rx="1" fill="%s"/>'):format(
		escape(node.name), node.ns / 1e6, share, x, y, math.max(width - 0.3, 0.1), ROW - 1, colour(node.name))
	local text = cut(node.name, width)
	out[#out + 1] = text and ('<text x="%.2f" y="%d">%s</text></g>\n'):format(x + 3, y + 12, escape(text)) or "</g>\n"
end

-- Deeper frames are drawn below their callers, as icicles hang. Returns how many rows there are.
local function draw(out, node, x, depth, all)
	local deepest = depth
	for _, name in ipairs(depth < DEEPEST and sorted.keys(node.below) or {}) do
		local below = node.below[name]
		local width = WIDE * below.ns / all
		if width >= LEAST then
			frame(out, below, x, TOP + depth * ROW, width, all)
			deepest = math.max(deepest, draw(out, below, x, depth + 1, all))
		end
		x = x + width
	end
	return deepest
end

---@param title string
---@param tree runner.profile.Node
---@return string
function M.draw(title, tree)
	local body = {}
	local rows = draw(body, tree, 0, 0, math.max(tree.ns, 1))
	local high = TOP + rows * ROW + 10
	return M.MARK .. ([[
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="monospace" font-size="11">
<title>%s</title>
<rect width="%d" height="%d" fill="#ffffff"/>
<text x="3" y="20" font-size="14">%s</text>
]]):format(WIDE, high, WIDE, high, escape(title), WIDE, high, escape(title)) .. table.concat(body) .. "</svg>\n"
end

return M
