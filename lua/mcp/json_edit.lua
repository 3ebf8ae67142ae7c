-- json_edit: set one member in the text of a JSON object, and leave every other byte as it is:
-- the file is somebody's, with their order and their indentation. Pure.

local json = require "runner.json"

local M = {}

-- Where the text that begins at `at` ends.
local function end_of_text(source, at)
	local i = at + 1
	while true do
		i = assert(source:find('["\\]', i))
		if source:byte(i) == 34 then
			return i
		end
		i = i + 2
	end
end

local STEP = { ["{"] = 1, ["["] = 1, ["}"] = -1, ["]"] = -1 }

-- Where the value that begins at `at` ends. The source is valid JSON.
local function end_of_value(source, at)
	local depth, i = 0, at
	if not source:find('^["{%[]', at) then
		return assert(source:find("[%s,}%]]", at) or #source + 1) - 1
	end
	repeat
		local found = assert(source:find('["{}%[%]]', i))
		local mark = source:sub(found, found)
		local last = mark == '"' and end_of_text(source, found) or found
		depth, i = depth + (STEP[mark] or 0), last + 1
	until depth == 0
	return i - 1
end

---@class runner.mcp.Member where a member of an object stands in its text
---@field name string
---@field first integer of its value
---@field last integer

---The members of the object that begins at `at`, and where its brace closes.
---@param source string valid JSON
---@param at integer
---@return runner.mcp.Member[] members
---@return integer close
local function members_of(source, at)
	local members, i = {}, assert(source:find('["}]', at + 1))
	while source:sub(i, i) == '"' do
		local last = end_of_text(source, i)
		local first = assert(source:match("^%s*:%s*()", last + 1))
		members[#members + 1] = { name = json.decode(source:sub(i, last)), first = first, last = end_of_value(source, first) }
		i = assert(source:find('["}]', members[#members].last + 1))
	end
	return members, i
end

local function splice(source, first, last, text)
	return source:sub(1, first - 1) .. text .. source:sub(last + 1)
end

-- The indentation of the line that `at` stands in.
local function indent_at(source, at)
	local line = source:sub(1, at):match "[^\n]*$"
	return line:match "^[ \t]*"
end

-- The unit of indentation, as far as the file shows one.
local function unit_of(source)
	return source:match "\n(\t)" or source:match "\n( +)" or "  "
end

local function indented(text, indent)
	return (text:gsub("\n", "\n" .. indent))
end

-- Add a member behind the others.
local function add(source, members, at, close, name, text)
	local outer = indent_at(source, close)
	local inner = outer .. unit_of(source)
	local line = ("%s%s: %s"):format(inner, json.encode(name), indented(text, inner))
	local last = members[#members]
	if last then
		return splice(source, last.last + 1, last.last, ",\n" .. line)
	end
	return splice(source, at + 1, close - 1, "\n" .. line .. "\n" .. outer)
end

---Set the member that a path of names leads to.
---@param source string a JSON object; "" for a new one
---@param path string[]
---@param text string the value as JSON, perhaps over several lines
---@return string? source nil: it is no JSON object, or something on the path is none
---@return string? why
function M.set(source, path, text)
	source = source:find "%S" and source or "{\n}\n"
	local value, why = json.decode(source, { unique = true })
	if why or type(value) ~= "table" or json.is_array(value) then
		return nil, why or "it is no JSON object"
	end
	local at = assert(source:find "{")
	for i, name in ipairs(path) do
		local members, close = members_of(source, at)
		local found
		for _, member in ipairs(members) do
			found = member.name == name and member or found
		end
		if i == #path or not found then
			local rest = text
			for k = #path, i + 1, -1 do
				local unit = unit_of(source)
				rest = ("{\n%s%s: %s\n}"):format(unit, json.encode(path[k]), indented(rest, unit))
			end
			return found and splice(source, found.first, found.last, indented(rest, indent_at(source, found.first)))
				or add(source, members, at, close, name, rest)
		elseif source:sub(found.first, found.first) ~= "{" then
			return nil, ("%s is no object"):format(name)
		end
		at = found.first
	end
end

return M
