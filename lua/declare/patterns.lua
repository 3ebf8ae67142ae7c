-- patterns: the patterns of arguments: presets by name, and anchored regular
-- expressions. Loaded when a command declares one.

local regex = require "runner.regex"

local M = {}

---Named patterns: the regular expression, and an example. `portable`: two that say the same without looking around,
---of a text that is not empty.
M.presets = {
	uuid = { [[^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$]], "123e4567-e89b-12d3-a456-426614174000" },
	semver = { [[^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}]]
		.. [[(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?]]
		.. [[(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$]], "1.2.3" },
	url = { [[^[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+\S*$]], "https://example.org/path" },
	alphanumeric_id = { [[^[A-Za-z0-9][A-Za-z0-9_-]*$]], "web-01" },
	filepath = { [[^(?!(?:.*/)?\.\.(?:/|$))(?!.*%(?:2[5eEfF]|3\d|[46][1-6]|5[cC]))[^\x00-\x1f\x7f]+$]], "site/index.html", portable = {
		([[^N?(?:/N?)*$]]):gsub("N", [[(?:\.|\.?[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.\.[^/\x00-\x1f\x7f]+)]]),
		[[^(?:[^%]|%+(?:[2-6]%+)*(?:[^%2-6]|2[^%5eEfF]|3[^%0-9]|[46][^%1-6]|5[^%cC]))*(?:%+(?:[2-6]%+)*[2-6]?)?$]],
	} },
}

---What is wrong with a declared pattern, if anything.
---@param pattern string
---@return "unanchored"|"no_regex"|nil reason, string? found
function M.fault(pattern)
	if M.presets[pattern] then
		return nil
	end
	local ok, message = regex.check(pattern)
	if not ok then
		return "no_regex", message
	elseif not pattern:find("^%^.*%$$") then
		return "unanchored", pattern
	end
end

---Why a pattern rejects a value, if it does; "regex": matching took too long.
---@param pattern string a preset's name or a regular expression
---@param value string
---@return "pattern"|"regex"|nil
function M.refuses(pattern, value)
	local preset = M.presets[pattern]
	local hit, message = regex.match(preset and preset[1] or pattern, value)
	if not hit then
		return message and "regex" or "pattern"
	end
end

return M
