-- flame_graph: the stacks of several processes as one set: collapsed lines, a tree, what each function took, and a picture.
-- A process is a tower of its own: what a command waits for another one, both have. The picture is one file: no script, no
-- style sheet, nothing from a network, so that any policy for content shows it; what a frame took is its title, which a
-- browser shows under the pointer. Pure.

local encoding = require "runner.core.encoding"
local tables = require "runner.core.tables"

local M = {}

-- --- stacks ----------------------------------------------------------------------------

-- Files of the project without its folder: "commands/deploy.lua:12".
local function shorter(text, root)
	if not root then
		return text
	end
	local out, at = {}, 1
	while true do
		local from, to = text:find("(" .. root .. "/", at, true)
		if not from then
			out[#out + 1] = text:sub(at)
			return table.concat(out)
		end
		out[#out + 1], at = text:sub(at, from), to + 1
	end
end

---@class runner.profile.Tower
---@field name string the command
---@field pages runner.profile.Page[] its attempts
---@field around? table<string, integer> ns outside its workers, by name: "start", "output", "retries"

-- A name is one frame, whatever it has.
local function as_frame(name)
	return (name:gsub("[;%c]", "?"))
end

---@param towers runner.profile.Tower[]
---@param root? string folder of the project
---@return table<string, integer> ns of each stack, the command first
function M.merge(towers, root)
	local all = {}
	local function add(text, ns)
		if ns > 0 then
			all[text] = (all[text] or 0) + ns
		end
	end
	for _, tower in ipairs(towers) do
		local name = as_frame(tower.name)
		for _, page in ipairs(tower.pages) do
			for text, ns in next, page.stacks do
				add(name .. ";" .. shorter(text, root), ns)
			end
		end
		for what, ns in next, tower.around or {} do
			add(name .. ";" .. what, ns)
		end
	end
	return all
end

---Lines for the tools that draw flame graphs: "a;b;c 1250", in µs.
---@param all table<string, integer>
---@return string
function M.collapsed(all)
	local out = {}
	for _, text in ipairs(tables.sorted_keys(all)) do
		local us = (all[text] + 500) // 1000
		out[#out + 1] = us > 0 and ("%s %d\n"):format(text, us) or nil
	end
	return table.concat(out)
end

---@class runner.profile.Node
---@field name string
---@field ns integer with all that it called
---@field below table<string, runner.profile.Node>

---@param all table<string, integer>
---@return runner.profile.Node
function M.tree(all)
	local top = { name = "all", ns = 0, below = {} }
	for text, ns in next, all do
		local node = top
		node.ns = node.ns + ns
		for frame in text:gmatch "[^;]+" do
			local next_one = node.below[frame] or { name = frame, ns = 0, below = {} }
			node.below[frame], node = next_one, next_one
			node.ns = node.ns + ns
		end
	end
	return top
end

---What each function took, by itself and with what it called; those that took the most first.
---@param all table<string, integer>
---@param most integer how many
---@return { name: string, self_ns: integer, ns: integer }[]
function M.functions(all, most)
	local rows, by_name = {}, {}
	local function row_of(name)
		if not by_name[name] then
			by_name[name] = { name = name, self_ns = 0, ns = 0 }
			rows[#rows + 1] = by_name[name]
		end
		return by_name[name]
	end
	for text, ns in next, all do
		local seen, row = {}, nil
		for frame in text:gsub("^[^;]*;?[^;]*;?", ""):gmatch "[^;]+" do
			row = row_of(frame)
			row.ns, seen[frame] = row.ns + (seen[frame] and 0 or ns), true
		end
		if row then
			row.self_ns = row.self_ns + ns
		end
	end
	table.sort(rows, function(a, b)
		return a.self_ns > b.self_ns or a.self_ns == b.self_ns and a.name < b.name
	end)
	return table.move(rows, 1, math.min(most, #rows), 1, {})
end

-- --- the picture -----------------------------------------------------------------------

---How every picture begins: what tells ours from other files.
M.MARK = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a flame graph of runner -->\n'

local WIDE, ROW, TOP = 1200, 17, 40
local LEAST = 0.4 -- a narrower frame can't be seen
local LETTER = 6.6 -- how wide a letter is
local DEEPEST = 300

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
		encoding.markup(node.name), node.ns / 1e6, share, x, y, math.max(width - 0.3, 0.1), ROW - 1, colour(node.name))
	local text = cut(node.name, width)
	out[#out + 1] = text and ('<text x="%.2f" y="%d">%s</text></g>\n'):format(x + 3, y + 12, encoding.markup(text)) or "</g>\n"
end

-- Deeper frames are drawn below their callers, as icicles hang. Returns how many rows there are.
local function draw(out, node, x, depth, all)
	local deepest = depth
	for _, name in ipairs(depth < DEEPEST and tables.sorted_keys(node.below) or {}) do
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
]]):format(WIDE, high, WIDE, high, encoding.markup(title), WIDE, high, encoding.markup(title)) .. table.concat(body) .. "</svg>\n"
end

return M
