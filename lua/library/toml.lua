-- toml: TOML 1.0 as values. A strict reader of our own: Debian 12 has no library for it. Values are
-- in lua/library/toml_values.lua; here is what a key and a header may define. Pure.

local check = require "runner.library.check"
local values = require "runner.library.toml_values"

local M = {}

-- How a table came to be decides what may be added to it: by a [header] ("header"), on the way to
-- one ("way"), on the way of a dotted key ("dotted"), as a list of [[headers]] ("list"). All others
-- are values, which nothing may be added to.

local function new_table(s, kind)
	local t = {}
	s.kinds[t] = kind
	return t
end

local function spelt(keys, n)
	return table.concat(keys, ".", 1, n or #keys)
end

-- The table that a header's key is in.
local function go(s, keys, at)
	local t = s.root
	for n = 1, #keys - 1 do
		local next_table = t[keys[n]]
		if next_table == nil then
			next_table = new_table(s, "way")
			t[keys[n]] = next_table
		end
		local kind = s.kinds[next_table]
		if kind == "list" then
			next_table = next_table[#next_table]
		elseif not kind then
			values.refuse(s, at, ("'%s' is a value, not a table"):format(spelt(keys, n)))
		end
		t = next_table
	end
	return t
end

local function open_table(s, keys, at)
	local above, key = go(s, keys, at), keys[#keys]
	local there = above[key]
	if there ~= nil and s.kinds[there] ~= "way" then
		values.refuse(s, at, ("'%s' is there already"):format(spelt(keys)))
	end
	local t = there or new_table(s, "header")
	s.kinds[t], above[key], s.current = "header", t, t
end

local function open_item(s, keys, at)
	local above, key = go(s, keys, at), keys[#keys]
	local there = above[key]
	if there ~= nil and s.kinds[there] ~= "list" then
		values.refuse(s, at, ("'%s' is there already, and is no list of tables"):format(spelt(keys)))
	end
	local list = there or require("runner.json").array(new_table(s, "list"))
	s.current = new_table(s, "header")
	list[#list + 1], above[key] = s.current, list
end

local function header(s)
	local at = s.at
	local double = s.text:sub(at, at + 1) == "[["
	s.at = at + (double and 2 or 1)
	local keys = values.keys(s)
	local closing = double and "]]" or "]"
	if s.text:sub(s.at, s.at + #closing - 1) ~= closing then
		values.refuse(s, s.at, ("expected '%s' after the name of the table"):format(closing))
	end
	s.at = s.at + #closing
	return (double and open_item or open_table)(s, keys, at)
end

---Put `keys = value` into a table.
---@param s table
---@param into table
local function assign(s, into)
	local at = s.at
	local keys = values.keys(s)
	if s.text:sub(s.at, s.at) ~= "=" then
		values.refuse(s, s.at, "expected '=' after the key")
	end
	s.at = s.at + 1
	values.blanks(s)
	for n = 1, #keys - 1 do
		local there = into[keys[n]]
		if there == nil then
			there = new_table(s, "dotted")
			into[keys[n]] = there
		elseif s.kinds[there] ~= "dotted" then
			values.refuse(s, at, ("'%s' is there already"):format(spelt(keys, n)))
		end
		into = there
	end
	if into[keys[#keys]] ~= nil then
		values.refuse(s, at, ("'%s' is there already"):format(spelt(keys)))
	end
	into[keys[#keys]] = values.value(s, assign)
end

local function end_of_line(s)
	values.blanks(s)
	values.comment(s)
	local c = s.text:sub(s.at, s.at)
	if c ~= "\n" and c ~= "" then
		values.refuse(s, s.at, "expected the end of the line")
	end
	s.at = s.at + 1
end

---The tables of a document. Dates and times are texts, as they are written (runner.time reads those that
---have a date); lists are marked as JSON arrays. Anything that TOML 1.0 forbids raises PRECONDITION with its line.
---@param text string
---@param name? string of the file, for messages
---@return table
function M.decode(text, name)
	check.strings("toml.decode", text, name or "")
	local s = { text = text:gsub("^\u{FEFF}", ""):gsub("\r\n", "\n"), name = name or "TOML", at = 1, kinds = {}, root = {}, depth = 0 }
	s.kinds[s.root], s.current = "header", s.root
	local _, bad = utf8.len(s.text)
	if bad then
		values.refuse(s, bad, "this is not UTF-8")
	end
	while s.at <= #s.text do
		values.blanks(s)
		local c = s.text:sub(s.at, s.at)
		if c == "[" then
			header(s)
		elseif c ~= "" and c ~= "\n" and c ~= "#" then
			assign(s, s.current)
		end
		end_of_line(s)
	end
	return s.root
end

return M
