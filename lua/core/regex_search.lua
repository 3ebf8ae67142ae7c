-- regex_search: a regular expression that may match anywhere in a text, as JSON Schema and the
-- retry rules of workflows have it. runner.regex matches whole texts and bounds the work of one
-- match; this keeps that bound, which a search from each position in turn would not.

local regex = require "runner.regex"

local M = {}

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
