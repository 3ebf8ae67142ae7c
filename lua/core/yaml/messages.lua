-- messages: the messages for invalid YAML, and the check for bytes that YAML never
-- allows. libyaml reports what its scanner met; these say what the author can do.

local M = {}

-- libyaml's message, ours, and whether to report the place where the construct began
-- ("context") rather than where the scanner gave up. First match wins.
local WORDS = {
	{ "found unexpected end of stream", "this quote is never closed", "context" },
	{ "found unexpected document indicator", "this quote is never closed", "context" },
	{ "found unknown escape character",
		'unknown escape in a "double-quoted" string: write \\\\ for a backslash, or use single quotes' },
	{ "hexdecimal number", 'an escape such as \\x41 or \\u00e9 in a "double-quoted" string needs more hex digits' },
	{ "invalid Unicode character escape", "this escape names a character that does not exist" },
	{ "found a tab character", "tab in the indentation: YAML is indented with spaces" },
	{ "mapping values are not allowed",
		"unexpected ':': fix the indentation, or quote a string that contains ': '" },
	{ "mapping keys are not allowed", "unexpected '?': quote the string" },
	{ "block sequence entries are not allowed", "a list can't start here: start it on its own line" },
	{ "could not find expected ':'", "missing ':' after a key, or wrong indentation" },
	{ "did not find expected key",
		"wrong indentation: this line belongs neither to the keys above it nor to the value of the last one" },
	{ "did not find expected '-' indicator",
		"wrong indentation: every '- ' of a list starts in the same column" },
	{ "expected ',' or ']'", "expected ',' or ']' in a list opened with '['" },
	{ "expected ',' or '}'", "expected ',' or '}' in a map opened with '{'" },
	{ "did not find expected node content", "missing value, or unclosed '[' or '{'" },
	{ "did not find expected <document start>",
		"this line does not belong to anything above it: fix its indentation, or remove it" },
	{ "expected comment or line break", "nothing may follow '|' or '>' on its line: the text starts on the next one, indented" },
	{ "indentation indicator equal to 0", "the digit after '|' or '>' must be from 1 to 9" },
	{ "alphabetic or numeric character", "an anchor '&' or alias '*' needs a name; quote a string that starts with one" },
	{ "undefined tag handle", "a string that starts with '!' is a YAML tag: quote it" },
	{ "incompatible YAML document", "unsupported YAML version: remove the %YAML line" },
}

local function line_of(text, wanted)
	local n = 0
	for line in (text .. "\n"):gmatch("([^\n]*)\n") do
		n = n + 1
		if n == wanted then
			return line
		end
	end
	return ""
end

-- A character that can't start a value: a tab in the indentation, else one that YAML reserves.
local function odd_character(text, line, column)
	local source = line_of(text, line)
	local start = utf8.offset(source, column)
	local c = start and source:match(utf8.charpattern, start) or ""
	if c == "\t" then
		return "tab in the indentation: YAML is indented with spaces"
	end
	return ("a string can't start with '%s': quote it"):format(c)
end

local function words(problem, text, line, column)
	if problem:find("cannot start any token", 1, true) then
		return odd_character(text, line, column)
	end
	for _, row in ipairs(WORDS) do
		if problem:find(row[1], 1, true) then
			return row[2], row[3] == "context"
		end
	end
	return "invalid YAML: " .. problem
end

---What libyaml's message means: a problem with its place; nil when it isn't a
---message of the parser.
---@param message any as it was raised
---@param text string
---@return runner.yaml.Problem?
function M.explain(message, text)
	local problem, rest
	if type(message) == "string" then
		problem, rest = message:match("^(.-) at document: %d+(.*)$")
	end
	if not problem then
		return nil
	end
	local line, column = rest:match("^, line: (%d+), column: (%d+)") -- the very beginning has none
	line, column = math.tointeger(line or 1), math.tointeger(column or 1)
	local meaning, at_context = words(problem, text, line, column)
	local from_line, from_column = rest:match(" at line: (%d+), column: (%d+)")
	if at_context and from_line then
		line, column = math.tointeger(from_line), math.tointeger(from_column)
	end
	return { line = line, column = column, message = meaning }
end

local NUL = { "\\0", "\\x00", "\\u0000", "\\U00000000" }

---Does a "quoted" scalar hold an escape for NUL? lua-yaml cuts its value there.
---@param text string
---@param event table of the scalar
---@return boolean
function M.holds_nul(text, event)
	local from, to = utf8.offset(text, event.start_mark.index + 1), utf8.offset(text, event.end_mark.index + 1)
	local source = text:sub(from, to):gsub("\\\\", "")
	for _, escape in ipairs(NUL) do
		if source:find(escape, 1, true) then
			return true
		end
	end
	return false
end

local FORBIDDEN = { "[\0-\8\11\12\14-\31\127]", "\194[\128-\132\134-\159]", "\239\191[\190\191]" }

---The first byte that YAML doesn't allow: invalid UTF-8, or a control character.
---@param text string
---@return runner.yaml.Problem?
function M.bytes(text)
	local _, bad = utf8.len(text)
	local message = "invalid UTF-8: save the file as UTF-8"
	for _, pattern in ipairs(FORBIDDEN) do
		local at = text:find(pattern)
		if at and at < (bad or math.huge) then
			bad, message = at, ("a control character (0x%02X): remove it"):format(utf8.codepoint(text, at))
		end
	end
	if not bad then
		return nil
	end
	local before = text:sub(1, bad - 1)
	local _, newlines = before:gsub("\n", "")
	return { line = newlines + 1, column = utf8.len(before:match("[^\n]*$")) + 1, message = message }
end

return M
