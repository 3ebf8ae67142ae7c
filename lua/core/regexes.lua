-- regexes: a regular expression that may match anywhere in a text, and one of ours (PCRE2) as readers of JSON Schemas take it:
-- ECMAScript with its flag u, Python's re and RE2 read what is written here alike. What one of them lacks (a look around, a
-- reference back, \b, \p{…}) can't be translated. Pure.

local regex = require "runner.regex"

local M = {}

local REPEAT_MAX = 1000 -- of RE2, all nested ones together

-- Sets that are ASCII's in PCRE2, and others elsewhere.
local DIGIT, WORD, SPACE = "0-9", "A-Za-z0-9_", "\\t\\n\\x0b\\f\\r "
local SETS = { d = DIGIT, w = WORD, s = SPACE }
local POSIX = { alpha = "A-Za-z", digit = DIGIT, alnum = "A-Za-z0-9", upper = "A-Z", lower = "a-z", space = SPACE, blank = "\\t ",
	xdigit = "0-9A-Fa-f", word = WORD, cntrl = "\\x00-\\x1f\\x7f", graph = "!-~", print = " -~",
	punct = "!-/:-@\\[-`{-~" }
local CONTROLS = { a = 7, e = 27, f = 12, n = 10, r = 13, t = 9 }
local SHOWN = { [9] = "\\t", [10] = "\\n", [12] = "\\f", [13] = "\\r" }

local function fail(why)
	error({ why = why }, 0)
end

-- One character, by its code point.
local function literal(code, special)
	if code < 32 or code == 127 then
		return SHOWN[code] or ("\\x%02x"):format(code)
	end
	local character = utf8.char(code)
	return (code < 128 and special:find(character, 1, true) and "\\" or "") .. character
end

local OUTSIDE, INSIDE = "^$\\.*+?()[]{}|", "\\[]^-"

-- --- reading --------------------------------------------------------------------------------

local Reader = {}
Reader.__index = Reader

function Reader:peek(count)
	return self.text:sub(self.at, self.at + (count or 1) - 1)
end

function Reader:take(pattern)
	local first, last = self.text:find("^" .. pattern, self.at)
	local found = first and self.text:sub(first, last)
	self.at = first and last + 1 or self.at
	return found
end

function Reader:character()
	local code = utf8.codepoint(self.text, self.at)
	self.at = utf8.offset(self.text, 2, self.at)
	return code
end

-- What follows a backslash: a code point, or the letter of a set.
function Reader:escape(in_class)
	local hex = self:take "x%x%x" or self:take "x{%x+}"
	if hex then
		return tonumber(hex:match "%x+", 16)
	end
	local letter = self:take "%w"
	if not letter then
		return self.at <= #self.text and self:character() or fail "a backslash at its end"
	elseif CONTROLS[letter] then
		return CONTROLS[letter]
	elseif in_class and letter == "b" then
		return 8
	elseif SETS[letter:lower()] then
		return nil, letter
	end
	fail("\\" .. letter)
end

-- --- classes --------------------------------------------------------------------------------

-- One end of a range, or a set.
function Reader:member()
	local posix = self:take "%[:%a+:%]"
	if posix then
		return nil, POSIX[posix:match "%a+"] or fail(posix)
	elseif self:take "%[[:.=]" then
		fail "[: in a class"
	elseif not self:take "\\" then
		return self:character()
	end
	local code, set = self:escape(true)
	if set and set:find "%u" then
		fail("\\" .. set .. " in a class")
	end
	return code, set and SETS[set]
end

function Reader:class()
	local out, first = { "[" .. (self:take "%^" or "") }, true
	while first or self:peek() ~= "]" do
		if self.at > #self.text then
			fail "a class without an end"
		end
		local code, set = self:member()
		out[#out + 1] = set or literal(code, INSIDE)
		local is_range = self:peek() == "-" and self:peek(2) ~= "-]"
		if is_range and set then
			fail "a set at the end of a range"
		elseif is_range then
			self:take "%-"
			local last = self:member()
			out[#out + 1] = "-" .. literal(last or fail "a set at the end of a range", INSIDE)
		end
		first = false
	end
	self:take "%]"
	out[#out + 1] = "]"
	return table.concat(out)
end

-- --- all ------------------------------------------------------------------------------------

local alternatives

function Reader:group()
	if self:peek(2) == "?:" then
		self.at = self.at + 2
	elseif self:take "%?P?<%a[%w_]*>" then
		self.named = true
	elseif self:peek():find "[?*]" then
		fail("(" .. self:peek(3))
	end
	local text, most = alternatives(self)
	return self:take "%)" and ("(?:%s)"):format(text) or fail "a group without an end", most
end

-- One thing that can be repeated, and how often what is in it can be.
function Reader:atom()
	if self:take "%(" then
		return self:group()
	elseif self:take "%[" then
		return self:class(), 1
	elseif self:take "%." then
		return "[^\\n]", 1
	elseif self:take "\\" then
		local code, set = self:escape(false)
		return set and ("[%s%s]"):format(set:find "%u" and "^" or "", SETS[set:lower()]) or literal(code, OUTSIDE), 1
	end
	return literal(self:character(), OUTSIDE), 1
end

-- The repetition that follows; "": none.
function Reader:quantifier()
	local text = self:take "[*+?]"
	local most = 1
	if not text then
		text = self:take "{%d+}" or self:take "{%d+,%d*}"
		for n in (text or ""):gmatch "%d+" do
			most = math.max(most, tonumber(n))
		end
	end
	if self:peek(2):find "^{," then
		fail "{,"
	end
	text = text and text .. (self:take "%?" or "") or ""
	return text ~= "" and self:peek():find "[*+?{]" and fail "two repetitions" or text, most
end

local function sequence(reader)
	local out, all = {}, 1
	while reader.at <= #reader.text and not reader:peek():find "[|)]" do
		local anchor = reader:take "[%^$]"
		if anchor == "^" and out[1] or anchor == "$" and not (reader:peek() == "" or reader:peek():find "[|)]") then
			fail(anchor .. " in the middle")
		elseif anchor then
			out[#out + 1] = anchor
			if reader:peek():find "[*+?{]" then
				fail "a repetition of an anchor"
			end
		else
			local atom, most = reader:atom()
			local quantifier, times = reader:quantifier()
			out[#out + 1], all = atom .. quantifier, math.max(all, most * times)
		end
	end
	return all <= REPEAT_MAX and table.concat(out) or fail("more than " .. REPEAT_MAX .. " repetitions"), all
end

function alternatives(reader)
	local out, all = {}, 1
	repeat
		local text, most = sequence(reader)
		out[#out + 1], all = text, math.max(all, most)
	until not reader:take "|"
	return table.concat(out, "|"), all, #out > 1
end

local function translated(pattern)
	local reader = setmetatable({ text = pattern, at = 1 }, Reader)
	local text, _, several = alternatives(reader)
	return reader.at > #pattern and text or fail "a ) without a group", several
end

---A pattern that is searched for, as JSON Schema has it.
---@param pattern string PCRE2, valid
---@return string? text nil: it can't be written so
---@return string? why what it has that not all know
---@return boolean? several has it alternatives at its outermost?
function M.search(pattern)
	local ok, text, several = pcall(translated, pattern)
	if ok then
		return text, nil, several
	elseif type(text) ~= "table" then
		return nil, "bytes that are no text"
	end
	return nil, text.why
end

---The same of one that the whole of a text must match, as one of an argument.
---@param pattern string PCRE2, valid
---@return string? text
---@return string? why
function M.whole(pattern)
	local bare = pattern:gsub("^%^", "")
	local backslashes = bare:match "(\\*)%$$"
	if backslashes and #backslashes % 2 == 0 then
		bare = bare:sub(1, -2)
	end
	local text, why, several = M.search(bare)
	return text and (several and "^(?:%s)$" or "^%s$"):format(text), why
end

-- A regular expression that may match anywhere in a text, as JSON Schema and the
-- retry rules of workflows have it. runner.regex matches whole texts and bounds the work of one
-- match; this keeps that bound, which a search from each position in turn would not.

local function whole(pattern, flags)
	return "(?s:.*?)(?" .. flags .. ":" .. pattern .. ")(?s:.*)"
end

---What is wrong with a pattern.
---@param pattern string PCRE2
---@return string? message nil: it can be searched for
function M.fault(pattern)
	local ok, message = regex.check(pattern)
	if not ok then
		return message
	elseif not regex.check(whole(pattern, "")) then
		return "invalid regular expression: it can't stand in a group; remove a comment of (?x) at its end, or a (*VERB)"
	end
end

---Does it match somewhere? Not where the pattern is invalid, the text no UTF-8, or the work too much.
---@param pattern string PCRE2
---@param text string
---@param lines? boolean true: ^ and $ are those of each line
---@return boolean
function M.found(pattern, text, lines)
	return regex.match(whole(pattern, lines and "m" or ""), text) == true
end

return M
