-- toml_values: the keys and values of TOML 1.0, for lua/library/toml.lua. `s` is its state: the
-- text, and `at`, the next byte. Pure.

local check = require "runner.library.check"

local M = {}

local DEEPEST = 64

---Raise PRECONDITION, at a byte of the text.
---@param s table
---@param at integer
---@param message string
function M.refuse(s, at, message)
	local _, lines = s.text:sub(1, at - 1):gsub("\n", "")
	check.refuse(("%s:%d: %s"):format(s.name, lines + 1, message))
end

---@param s table
function M.blanks(s)
	s.at = s.text:match("^[ \t]*()", s.at)
end

local CONTROL = "[%z\1-\8\10-\31\127]"

---@param s table
function M.comment(s)
	if s.text:sub(s.at, s.at) == "#" then
		local stop = s.text:find("\n", s.at, true) or #s.text + 1
		local bad = s.text:sub(s.at, stop - 1):find(CONTROL)
		if bad then
			M.refuse(s, s.at + bad - 1, "a control character in a comment")
		end
		s.at = stop
	end
end

-- Between the items of a list: blanks, line breaks, comments.
local function gap(s)
	repeat
		local before = s.at
		s.at = s.text:match("^[ \t\n]*()", s.at)
		M.comment(s)
	until s.at == before
end

-- --- texts -------------------------------------------------------------------------------

local ESCAPES = { b = "\b", t = "\t", n = "\n", f = "\f", r = "\r", ['"'] = '"', ["\\"] = "\\" }

-- What stands behind the backslash at `at`, and where the text goes on.
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
	return M.refuse(s, at, "there is no such escape")
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
			M.refuse(s, s.at, "this text has no end")
		elseif c == quote and s.text:sub(at, at + #closing - 1) == closing then
			local more = multiline and s.text:match("^" .. quote .. quote .. "?", at + 3) or ""
			out[#out + 1], s.at = more, at + #closing + #more
			return table.concat(out)
		elseif c == "\\" and quote == '"' then
			out[#out + 1], from = escape(s, at, multiline)
		elseif c == quote or c == "\\" or c == "\n" and multiline then
			out[#out + 1], from = c, at + 1
		else
			M.refuse(s, at, c == "\n" and "this text has no end on its line" or "a control character in a text: write an escape")
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

---The parts of a key, and the blanks behind it.
---@param s table
---@return string[]
function M.keys(s)
	local keys = {}
	repeat
		M.blanks(s)
		local c = s.text:sub(s.at, s.at)
		if c == '"' or c == "'" then
			keys[#keys + 1] = text_value(s)
		else
			local key = s.text:match("^[%w_-]+", s.at) or M.refuse(s, s.at, "expected a key")
			keys[#keys + 1], s.at = key, s.at + #key
		end
		M.blanks(s)
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
		M.refuse(s, at, token == "" and "expected a value" or ("%q is no value: quote texts"):format(token))
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
		out[#out + 1] = M.value(s, assign)
		gap(s)
		local comma = s.text:sub(s.at, s.at) == ","
		if not comma and s.text:sub(s.at, s.at) ~= "]" then
			M.refuse(s, s.at <= #s.text and s.at or opened, "expected ',' or ']' in this list")
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
	M.blanks(s)
	if s.text:sub(s.at, s.at) == "}" then
		s.at = s.at + 1
		return out
	end
	while true do
		assign(s, out)
		M.blanks(s)
		local c = s.text:sub(s.at, s.at)
		if c ~= "," and c ~= "}" then
			M.refuse(s, opened, "expected ',' or '}' in this inline table, which is on one line")
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
function M.value(s, assign)
	local c = s.text:sub(s.at, s.at)
	s.depth = s.depth + 1
	if s.depth > DEEPEST then
		M.refuse(s, s.at, ("nested more than %d levels deep"):format(DEEPEST))
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

return M
