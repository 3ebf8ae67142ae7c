---@meta runner.text
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---What scripts do with texts all the time.
---@class runner.text
local text = {}

---Without blanks at both ends.
---@param text string
---@return string
function text.trim(text) end

---The pieces between separators, empty ones included. The separator is plain text.
---@param text string
---@param separator? string default: blanks, of which there are none at the ends then
---@param most? integer pieces; the last has the rest
---@return string[]
function text.split(text, separator, most) end

---The lines, without their ends (LF or CRLF). A newline at the end begins no line.
---@param text string
---@return string[]
function text.lines(text) end

---Broken at blanks into lines of at most `width` columns; a longer word stays whole.
---@param text string
---@param width integer
---@param indent? integer blanks before each line, which count
---@return string
function text.wrap(text, width, indent) end

---How many columns of a terminal it takes.
---@param text string
---@return integer
function text.width(text) end

---Without the blanks that all lines begin with, and without a first line that is empty: for
---[[ … ]] in indented code.
---@param text string
---@return string
function text.dedent(text) end

---Each line that isn't empty begins with `by`.
---@param text string
---@param by integer|string blanks, or a text
---@return string
function text.indent(text, by) end

---A text with ${name} replaced by values.name; ${a.b} goes into tables, $$ is one $. A name that
---has no value raises PRECONDITION: nothing becomes "nil" in a file.
---@param text string
---@param values table
---@return string
function text.template(text, values) end

return text
