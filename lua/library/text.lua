-- text: what scripts do with texts all the time. Pure. Lengths are columns of a terminal.

local check = require "runner.library.check"

local M = {}

---Without blanks at both ends.
---@param text string
---@return string
function M.trim(text)
	check.strings("text.trim", text)
	return text:match "^%s*(.-)%s*$"
end

---The pieces between separators, empty ones included. The separator is plain text.
---@param text string
---@param separator? string default: blanks, of which there are none at the ends then
---@param most? integer pieces; the last has the rest
---@return string[]
function M.split(text, separator, most)
	check.strings("text.split", text, separator or " ")
	if separator == "" then
		check.misuse("text.split", "the separator is empty")
	end
	local out, at = {}, 1
	if not separator then
		text = M.trim(text)
		if text == "" then
			return out
		end
	end
	while not most or #out + 1 < most do
		local from, to = text:find(separator or "%s+", at, separator ~= nil)
		if not from then
			break
		end
		out[#out + 1] = text:sub(at, from - 1)
		at = to + 1
	end
	out[#out + 1] = text:sub(at)
	return out
end

---The lines, without their ends (LF or CRLF). A newline at the end begins no line.
---@param text string
---@return string[]
function M.lines(text)
	check.strings("text.lines", text)
	local out = {}
	for line in (text:find "[^\n]$" and text .. "\n" or text):gmatch "([^\n]*)\n" do
		out[#out + 1] = (line:gsub("\r$", ""))
	end
	return out
end

---Broken at blanks into lines of at most `width` columns; a longer word stays whole.
---@param text string
---@param width integer
---@param indent? integer blanks before each line, which count
---@return string
function M.wrap(text, width, indent)
	check.strings("text.wrap", text)
	check.kind("text.wrap", 2, width, "number")
	local blanks = (" "):rep(indent or 0)
	local lines = require("runner.output.layout").lines(text, math.max(width - #blanks, 1))
	for i, line in ipairs(lines) do
		lines[i] = line == "" and "" or blanks .. line
	end
	return table.concat(lines, "\n")
end

---How many columns of a terminal it takes.
---@param text string
---@return integer
function M.width(text)
	check.strings("text.width", text)
	return require("runner.output.layout").width_of(text)
end

-- What all lines that aren't blank begin with.
local function common_indent(text)
	local common
	for line in text:gmatch "[^\n]+" do
		local blanks = line:match "^([ \t]*)[^ \t\r]"
		if blanks and not common then
			common = blanks
		elseif blanks then
			while blanks:sub(1, #common) ~= common do
				common = common:sub(1, -2)
			end
		end
	end
	return common or ""
end

---Without the blanks that all lines begin with, and without a first line that is empty: for
---[[ … ]] in indented code.
---@param text string
---@return string
function M.dedent(text)
	check.strings("text.dedent", text)
	text = text:gsub("^[ \t]*\n", "")
	local n = #common_indent(text)
	return (("\n" .. text):gsub("\n([^\n]*)", function(line)
		return "\n" .. (line:find "^[ \t\r]*$" and "" or line:sub(n + 1))
	end):sub(2))
end

---Each line that isn't empty begins with `by`.
---@param text string
---@param by integer|string blanks, or a text
---@return string
function M.indent(text, by)
	check.strings("text.indent", text)
	local prefix = math.type(by) == "integer" and (" "):rep(by) or by
	check.kind("text.indent", 2, prefix, "string")
	return (text:gsub("[^\n]+", function(line)
		return prefix .. line
	end))
end

local function value_at(values, name)
	local value = values
	for key in name:gmatch "[^.]+" do
		if type(value) ~= "table" then
			return nil
		end
		value = value[key] == nil and value[tonumber(key)] or value[key]
	end
	return value
end

local SHOWN = { string = true, number = true, boolean = true }

local function filled(name, values)
	local value = value_at(values, name)
	if not SHOWN[type(value)] then
		check.refuse(("The template needs a value for ${%s}%s"):format(name, value ~= nil and ", not a " .. type(value) or ""))
	end
	return tostring(value)
end

---A text with ${name} replaced by values.name; ${a.b} goes into tables, $$ is one $. A name that
---has no value raises PRECONDITION: nothing becomes "nil" in a file.
---@param text string
---@param values table
---@return string
function M.template(text, values)
	check.strings("text.template", text)
	check.kind("text.template", 2, values, "table")
	local out, at = {}, 1
	while true do
		local from, to, braces = text:find("%$([%${])", at)
		if not from then
			break
		end
		out[#out + 1] = text:sub(at, from - 1)
		local stop = braces == "{" and text:find("}", to, true) or to
		if braces == "{" and stop == to then
			check.refuse("The template has a ${ without a }")
		end
		out[#out + 1] = braces == "{" and filled(M.trim(text:sub(to + 1, stop - 1)), values) or "$"
		at = stop + 1
	end
	return table.concat(out) .. text:sub(at)
end

return M
