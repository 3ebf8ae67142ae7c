-- flame_graph: the stacks of several processes as one set: collapsed lines, a tree, what each function took, and a picture.
-- A process is a tower of its own: what a command waits for another one, both have. The picture is one file: no script, no
-- style sheet, nothing from a network, so that any policy for content shows it; what a frame took is its title, which a
-- browser shows under the pointer. Pure.

local encoding = require "runner.core.encoding"
local fs = require "runner.fs"
local host = require "runner.host"
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

-- What the workers of a call have noted of their time (src/worker/profile.h), as data, and where the time of the
-- call went by phase. A page may be of a process that was killed, or that still runs: it is believed as far as it makes sense.

local MAGIC = "runner flame 1\0"
local HEAD = "=c16 i8i8i8i8i8i8i8 i8i8i8i8 i4i4i4i4 I4I4 c256"
local MEMBERS = { "magic", "launched", "born", "run_from", "run_to", "cleanup_from", "over", "last", "children", "waits", "lost",
	"wait_since", "wait_slot", "wait_for_children", "supervisor", "attempt", "samples", "text_used", "command" }
local SLOT = "=i8I4I4I4I4"
local SLOTS = 2048 -- PROFILE_SLOTS
local TEXT_AT = string.packsize(HEAD) + SLOTS * string.packsize(SLOT)

---@class runner.profile.Page times are ns of the monotonic clock; 0: it has not come to that
---@field command string as it is called, "" before that is known
---@field launched integer its supervisor began
---@field born integer
---@field run_from integer
---@field run_to integer
---@field cleanup_from integer
---@field over integer
---@field last integer so far its time is in stacks
---@field children integer ns in waits for programs, during `run`
---@field waits integer ns in other waits, during `run`
---@field lost integer ns that had no room
---@field supervisor integer
---@field attempt integer
---@field samples integer
---@field waiting? string the stack that waits
---@field stacks table<string, integer> ns of each, "load;a;b"

local function stacks_of(bytes)
	local stacks, slots, at = {}, {}, string.packsize(HEAD) + 1
	for i = 0, SLOTS - 1 do
		local ns, _, _, from, length = SLOT:unpack(bytes, at + i * string.packsize(SLOT))
		if length > 0 and ns >= 0 and TEXT_AT + from + length <= #bytes then
			local text = host.clean(bytes:sub(TEXT_AT + from + 1, TEXT_AT + from + length)) -- a name has any bytes, and may be cut
			slots[i], stacks[text] = text, (stacks[text] or 0) + ns
		end
	end
	return stacks, slots
end

local PHASES = { "load", "run", "output", "cleanup" }

-- The phase that it was in, by the times.
local function phase_of(page)
	return PHASES[page.cleanup_from > 0 and 4 or page.run_to > 0 and 3 or page.run_from > 0 and 2 or 1]
end

local function add(stacks, text, ns)
	stacks[text] = (stacks[text] or 0) + ns
end

---What a killed process did until it ended: it waited, or it is not known.
---@param page runner.profile.Page
---@param ended integer ns
function M.close(page, ended)
	local rest = ended - page.last
	if page.over > 0 or rest <= 0 then
		return
	elseif page.waiting then
		add(page.stacks, page.waiting, rest)
		if phase_of(page) == "run" then
			local kind = page.wait_for_children ~= 0 and "children" or "waits"
			page[kind] = page[kind] + rest
		end
	else
		add(page.stacks, phase_of(page) .. ";(until its end)", rest)
	end
	page.last = ended
end

---@param bytes string of a page's file
---@return runner.profile.Page? nil: it is none
function M.read(bytes)
	if bytes:sub(1, #MAGIC) ~= MAGIC or #bytes < TEXT_AT then
		return nil
	end
	local page = {}
	for i, value in ipairs { HEAD:unpack(bytes) } do
		page[MEMBERS[i] or i] = value
	end
	page.command = host.clean(page.command:match "^[^\0]*"):gsub("%.", " ")
	local stacks, slots = stacks_of(bytes)
	page.stacks = stacks
	page.waiting = page.wait_since > 0 and slots[page.wait_slot] or nil
	if page.lost > 0 then
		add(page.stacks, "(more stacks than there is room for)", page.lost)
	end
	return page
end

---All pages of a folder, in the order in which they began.
---@param folder string
---@return runner.profile.Page[]
function M.all(folder)
	local list = {}
	for _, name in ipairs(fs.list(folder) or {}) do
		local bytes = fs.read(folder .. "/" .. name)
		list[#list + 1] = bytes and M.read(bytes) or nil
	end
	table.sort(list, function(a, b)
		return a.born < b.born or a.born == b.born and a.supervisor < b.supervisor
	end)
	return list
end

-- --- phases ----------------------------------------------------------------------------

---Start, load, run, programs, waits, output: in the order in which they are shown.
M.phases = { "start", "load", "run", "programs", "waits", "output", "cleanup", "retries" }

---The times of all attempts of a call, from the moment that it was started to the moment that it had ended.
---@param pages runner.profile.Page[] of one call: its attempts, in their order
---@param started integer ns
---@param ended integer ns
---@return table<string, integer> ns, by name
function M.time_of_phases(pages, started, ended)
	local ns = {}
	for _, name in ipairs(M.phases) do
		ns[name] = 0
	end
	local function count(name, from, to)
		ns[name] = ns[name] + math.max(to - from, 0)
	end
	count("start", started, pages[1] and pages[1].born or ended)
	for i, page in ipairs(pages) do
		local is_last = not pages[i + 1]
		local over = page.over > 0 and page.over or page.last
		local run_to = page.run_to > 0 and page.run_to or over
		local output_to = page.cleanup_from > 0 and page.cleanup_from or over
		count("load", page.born, page.run_from > 0 and page.run_from or output_to)
		if page.run_from > 0 then
			count("run", page.run_from, run_to)
			count("output", run_to, output_to)
		end
		count("cleanup", output_to, over)
		count(is_last and "output" or "retries", over, is_last and ended or pages[i + 1].born)
		ns.programs, ns.waits = ns.programs + page.children, ns.waits + page.waits
	end
	ns.run = math.max(ns.run - ns.programs - ns.waits, 0)
	return ns
end

return M
