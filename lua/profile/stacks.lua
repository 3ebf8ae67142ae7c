-- stacks: the stacks of several processes as one set: collapsed lines, a tree, and what each function
-- took. A process is a tower of its own: what a command waits for another one, both have. Pure.

local sorted = require "runner.core.sorted"

local M = {}

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
	for _, text in ipairs(sorted.keys(all)) do
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

return M
