-- task_text: where the tasks of a file stand in its text (lua/declare/tasks.lua), which no table of Lua knows: their order,
-- the comments that head them, and each as it is written. It reads the text without parsing it, so what a file computes is
-- not found. Loaded for lists, lint and errors, and for a task with sources.

local lint = require "runner.declare.lint"

local M = {}

---@class runner.TaskPlace
---@field first integer where in the text its name begins
---@field last integer
---@field order integer
---@field section? string the comment that heads it and those that follow

-- Where an expression ends: in front of the comma, or of the end of the table.
local function end_of(code, at, last)
	while at <= last do
		local _, stop = code:find("^%b{}", at)
		if not stop then
			_, stop = code:find("^%b()", at)
		end
		if not stop and code:find("^[,;]", at) then
			return at - 1
		end
		at = (stop or at) + 1
	end
	return last
end

-- "NAME =" or '["a name"] =', whose text is blank in the code: the name, and where the value begins.
local function name_at(text, code, at)
	local name, value = code:match("^([%a_][%w_]*)%s*=%s*()", at)
	if name then
		return name, value
	end
	local from, to
	from, to, value = code:match("^%[()%s*()%]%s*=%s*()", at)
	return from and text:sub(from, to - 1):match "^%s*[\"'](.-)[\"']%s*$", value
end

-- The last comment of one line in front of a task that has an empty line before it, or is the first thing in the table.
local function section_of(text, from, to, is_first)
	local found, empty, comments = nil, is_first, 0
	from = is_first and from or text:find("\n", from, true) or to -- the rest of the task's own line
	from = from + (is_first and 0 or 1)
	for line in (text:sub(from, to) .. "\n"):gmatch "([^\n]*)\n" do
		local comment = line:match "^%s*%-%-+%s*(.-)[%s%-]*$"
		comments = comment and comments + 1 or 0
		if comment and comment:find "^[^%[]" then
			found = (empty or nil) and comments == 1 and comment or nil
		end
		empty = not line:find "%S"
	end
	return found
end

local walk

local function entry(s, name, at, value, last, section)
	last = at + #s.text:sub(at, last):match "^(.-)%s*$" - 1
	s.order = s.order + 1
	s.places[name] = s.places[name] or { first = at, last = last, order = s.order, section = section }
	if s.code:sub(value, value) == "{" then
		walk(s, value + 1, last - 1, name .. ".", section, false)
	end
end

function walk(s, at, last, prefix, section, is_outer)
	local begin = at
	while at <= last do
		local start = s.code:match("^[%s,;]*()", at)
		section = is_outer and section_of(s.text, at, start - 1, at == begin) or section
		local name, value = name_at(s.text, s.code, start)
		local stop = end_of(s.code, value or start, last)
		if name then
			entry(s, prefix .. name:gsub(" ", "."), start, value, stop, section)
		end
		at = stop + 2
	end
end

---Where each task of a file is, by its dot path.
---@param text string
---@param group? string the dot path of a file that is a group of commands
---@return table<string, runner.TaskPlace>
function M.places(text, group)
	local s = { text = text, code = lint.code_of(text), places = {}, order = 0 }
	local open = s.code:match("%f[%w_]" .. (group and "commands" or "tasks") .. "%s*=%s*(){%s*[%a_%[}]")
	local _, last = s.code:find("^%b{}", open or #text + 1)
	if last then
		walk(s, open + 1, last - 1, group and group .. "." or "", nil, true)
	end
	return s.places
end

---The text without the other tasks, each thing on the line that it has; the whole where the task is not found.
---@param text string
---@param name string dot path
---@param group? string as of M.places
---@param closed? boolean nothing is left in the place of the others, so that no change of them is one of this text
---@return string
function M.only(text, name, group, closed)
	local places = M.places(text, group)
	local own, list = places[name], {}
	for _, place in next, own and places or {} do
		list[#list + 1] = (place == own or place.last < own.first or place.first > own.last) and place or nil
	end
	table.sort(list, function(a, b)
		return a.first < b.first
	end)
	local out, at = {}, 1
	local function add_gap(last)
		local gap = text:sub(at, last)
		out[#out + 1] = closed and at > 1 and last < #text and gap:gsub("[%s,;]+", "") or gap
	end
	for _, place in ipairs(list) do
		if place.first >= at then
			add_gap(place.first - 1)
			local written = text:sub(place.first, place.last)
			out[#out + 1] = place == own and written or not closed and written:gsub("[^\n]", " ") or nil
			at = place.last + 1
		end
	end
	add_gap(#text)
	return table.concat(out)
end

---A task as it is written, without the blanks in front of all its lines; nil: it is not found.
---@param text string
---@param name string dot path
---@param group? string as of M.places
---@return string?
function M.written(text, name, group)
	local place = M.places(text, group)[name]
	if not place then
		return nil
	end
	local indent = text:sub(1, place.first - 1):match "[ \t]*$"
	return (text:sub(place.first, place.last):gsub("\n" .. indent, "\n"):gsub("%s+$", "")) .. "\n"
end

return M
