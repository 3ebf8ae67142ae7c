-- markup: any text as text of XML, and so of SVG and HTML. Pure.

local host = require "runner.host"

local M = {}

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
local BREAKS = { ["\n"] = "&#10;", ["\t"] = "&#9;" }

---Text for an element or an attribute: no character of it is markup, a control, or none of XML (U+FFFE, U+FFFF).
---@param value any
---@return string
function M.text(value)
	local clean = host.clean(tostring(value)):gsub("[%z\1-\8\11-\31\127]", ""):gsub("\xEF\xBF[\xBE\xBF]", "?")
	return (clean:gsub("[&<>\"']", ESCAPES))
end

---The same for an attribute that has to keep its lines and tabs, of which XML makes spaces.
---@param value any
---@return string
function M.attribute(value)
	return (M.text(value):gsub("[\n\t]", BREAKS))
end

return M
