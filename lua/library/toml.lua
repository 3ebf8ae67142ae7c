-- toml: TOML 1.0 as values. A strict reader of our own: Debian 12 has no library for it. `s` is the state
-- of a reading: the text, and `at`, the next byte. Pure.

local check = require "runner.library.check"

local M = {}

-- --- keys and values -------------------------------------------------------------------

local values = {}

local DEEPEST = 64

---Raise PRECONDITION, at a byte of the text.
---@param s table
---@param at integer
---@param message string
function values.refuse(s, at, message)
	local _, lines = s.text:sub(1, at - 1):gsub("\n", "")
	check.refuse(("%s:%d: %s"):format(s.name, lines + 1, message))
end

---@param s table
function values.blanks(s)
	s.at = s.text:match("^[ \t]*()", s.at)
end

local CONTROL = "[%z\1-\8\10-\31\127]"

---@param s table
function values.comment(s)
	if s.text:sub(s.at, s.at) == "#" then
		local stop = s.text:find("\n", s.at, true) or #s.text + 1
		local bad = s.text:sub(s.at, stop - 1):find(CONTROL)
		if bad then
			values.refuse(s, s.at + bad - 1, "a control character in a comment")
		end
		s.at = stop
	end
end

-- Between the items of a list: blanks, line breaks, comments.
local function gap(s)
	repeat
		local before = s.at
		s.at = s.text:match("^[ \t\n]*()", s.at)
		values.comment(s)
	until s.at == before
end

-- --- texts -------------------------------------------------------------------------------

local ESCAPES = { b = "\b", t = "\t", n = "\n", f = "\f", r = "\r", ['"'] = '"', ["\\"] = "\\" }

-- What stands after the backslash at `at`, and where the text goes on.
local function escape(s, at, multiline)
	local c = s.text:sub(at + 1, at + 1)
	if ESCAPES[c] then
		return ESCAPES[c], at + 2
	end
	local digits = c == "u" and s.text:match("^%x%x%x%x", at + 2) or c == "U" and s.text:match("^%x%x%x%x%x%x%x%x", at + 2)
	local code = digits and tonumber(digits, 16)
	if code and code <= 0x10FFFF and (code < 0xD800 or code > 0xDFFF) then
		return utf8.char(code), at + 2 + #digits
	end
	local folded = multiline and s.text:match("^[ \t]*\n[ \t\n]*()", at + 1)
	if folded then
		return "", folded
	end
	return values.refuse(s, at, "there is no such escape")
end

-- The body of a text from s.at to its closing quotes.
local function body(s, quote, multiline)
	local closing, out, from = multiline and quote:rep(3) or quote, {}, s.at
	local stops = '[%z\1-\8\10-\31\127\\' .. quote .. "]"
	while true do
		local at = s.text:find(stops, from)
		local c = at and s.text:sub(at, at)
		out[#out + 1] = s.text:sub(from, (at or #s.text + 1) - 1)
		if not at then
			values.refuse(s, s.at, "this text has no end")
		elseif c == quote and s.text:sub(at, at + #closing - 1) == closing then
			local more = multiline and s.text:match("^" .. quote .. quote .. "?", at + 3) or ""
			out[#out + 1], s.at = more, at + #closing + #more
			return table.concat(out)
		elseif c == "\\" and quote == '"' then
			out[#out + 1], from = escape(s, at, multiline)
		elseif c == quote or c == "\\" or c == "\n" and multiline then
			out[#out + 1], from = c, at + 1
		else
			values.refuse(s, at, c == "\n" and "this text has no end on its line" or "a control character in a text: write an escape")
		end
	end
end

local function text_value(s, multiline_too)
	local quote = s.text:sub(s.at, s.at)
	if multiline_too and s.text:sub(s.at, s.at + 2) == quote:rep(3) then
		s.at = s.text:match("^\n?()", s.at + 3)
		return body(s, quote, true)
	end
	s.at = s.at + 1
	return body(s, quote, false)
end

---The parts of a key, and the blanks after it.
---@param s table
---@return string[]
function values.keys(s)
	local keys = {}
	repeat
		values.blanks(s)
		local c = s.text:sub(s.at, s.at)
		if c == '"' or c == "'" then
			keys[#keys + 1] = text_value(s)
		else
			local key = s.text:match("^[%w_-]+", s.at) or values.refuse(s, s.at, "expected a key")
			keys[#keys + 1], s.at = key, s.at + #key
		end
		values.blanks(s)
		local dot = s.text:sub(s.at, s.at) == "."
		s.at = s.at + (dot and 1 or 0)
	until not dot
	return keys
end

-- --- numbers and times ------------------------------------------------------------------

local WORDS = { ["true"] = true, ["false"] = false, inf = math.huge, ["+inf"] = math.huge, ["-inf"] = -math.huge,
	nan = 0 / 0, ["+nan"] = 0 / 0, ["-nan"] = 0 / 0 }
local BASES = { x = { 16, "^%x+$", 16 }, o = { 8, "^[0-7]+$", 21 }, b = { 2, "^[01]+$", 63 } } -- base, digits, the most of 63 bits

-- Underscores stand between digits only.
local function without_underscores(token, digit)
	local bare = token:gsub("(" .. digit .. ")_%f[" .. digit .. "]", "%1")
	return not bare:find("_", 1, true) and bare or nil
end

local function based(token)
	local letter, digits = token:match "^0([xob])(.+)$"
	local base = BASES[letter]
	digits = base and without_underscores(digits, "%x")
	if not digits or not digits:find(base[2]) then
		return nil
	end
	digits = digits:gsub("^0+", "")
	local n = digits == "" and 0 or #digits <= base[3] and tonumber(digits, base[1])
	return n and n >= 0 and n or nil
end

local function number(token)
	local bare = without_underscores(token, "%d")
	local sign, whole, rest = (bare or ""):match "^([+-]?)(%d+)(.*)$"
	if not whole or #whole > 1 and whole:sub(1, 1) == "0" then
		return nil
	elseif rest == "" then
		local n = tonumber(sign == "+" and whole or sign .. whole)
		return math.type(n) == "integer" and n or nil
	elseif rest:find "^%.%d+$" or rest:find "^[eE][+-]?%d+$" or rest:find "^%.%d+[eE][+-]?%d+$" then
		return (tonumber(sign == "+" and whole .. rest or bare))
	end
end

-- A date, a time, or both: as text.
local function moment(token)
	local date, clock = token:match "^(%d%d%d%d%-%d%d%-%d%d)[Tt ]?(.*)$"
	if not date then
		clock = token:match "^%d%d:%d%d:%d%d$" or token:match "^%d%d:%d%d:%d%d%.%d+$"
	end
	if not clock or clock == "" and #token ~= 10 or clock ~= "" and not clock:find "^%d%d:%d%d:%d%d" then
		return nil
	end
	local whole = (date or "1970-01-01") .. (clock ~= "" and "T" .. clock or "")
	local fine = not clock:find "[+-]%d%d%d%d$" and not clock:find "," and pcall(require("runner.library.time").parse, whole)
	return fine and token or nil
end

local function bare_value(s)
	local at = s.at
	local token = s.text:match("^%d%d%d%d%-%d%d%-%d%d %d%d:[%d:.Zz+-]*", at) or s.text:match("^[%w_+.:-]+", at) or ""
	local value = WORDS[token]
	if value == nil then
		value = number(token) or based(token) or moment(token)
	end
	if value == nil then
		values.refuse(s, at, token == "" and "expected a value" or ("%q is no value: quote texts"):format(token))
	end
	s.at = at + #token
	return value
end

-- --- lists and inline tables ---------------------------------------------------------------

local function list(s, assign)
	local out, opened = require("runner.json").array {}, s.at
	s.at = s.at + 1
	gap(s)
	while s.text:sub(s.at, s.at) ~= "]" do
		out[#out + 1] = values.value(s, assign)
		gap(s)
		local comma = s.text:sub(s.at, s.at) == ","
		if not comma and s.text:sub(s.at, s.at) ~= "]" then
			values.refuse(s, s.at <= #s.text and s.at or opened, "expected ',' or ']' in this list")
		end
		s.at = s.at + (comma and 1 or 0)
		gap(s)
	end
	s.at = s.at + 1
	return out
end

local function inline_table(s, assign)
	local out, opened = {}, s.at
	s.at = s.at + 1
	values.blanks(s)
	if s.text:sub(s.at, s.at) == "}" then
		s.at = s.at + 1
		return out
	end
	while true do
		assign(s, out)
		values.blanks(s)
		local c = s.text:sub(s.at, s.at)
		if c ~= "," and c ~= "}" then
			values.refuse(s, opened, "expected ',' or '}' in this inline table, which is on one line")
		end
		s.at = s.at + 1
		if c == "}" then
			return out
		end
	end
end

---The value at s.at. `assign` reads one "key = value" into a table.
---@param s table
---@param assign fun(s: table, into: table)
---@return any
function values.value(s, assign)
	local c = s.text:sub(s.at, s.at)
	s.depth = s.depth + 1
	if s.depth > DEEPEST then
		values.refuse(s, s.at, ("nested more than %d levels deep"):format(DEEPEST))
	end
	local value
	if c == '"' or c == "'" then
		value = text_value(s, true)
	elseif c == "[" then
		value = list(s, assign)
	elseif c == "{" then
		value = inline_table(s, assign)
	else
		value = bare_value(s)
	end
	s.depth = s.depth - 1
	return value
end

-- --- what a key and a header may define ------------------------------------------------

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
	local items = there or require("runner.json").array(new_table(s, "list"))
	s.current = new_table(s, "header")
	items[#items + 1], above[key] = s.current, items
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
