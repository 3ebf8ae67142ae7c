-- invented: what a model invents where a name or a path is asked for (REQ-F-045). Loaded when a
-- value breaks the preset of its argument.

local M = {}

local IDENTIFIERS = { alphanumeric_id = true, uuid = true, semver = true }

-- By the patterns of lower-case text that give it away; for what is no path, too.
local INVENTED = {
	{ "path_traversal", "%.%.[/\\]", "%.%.%%2f", "%.%.%%5c", "%%2e%%2e", "^%.%.$", "/%.%.$" },
	{ "percent_encoded_shell", "%%3b", "%%7c", "%%26", "%%60", "%%24", "%%0a", "%%0d" },
	{ "percent_encoded_separator", "%%2f", "%%5c", "%%2e", "%%40" },
}
local INVENTED_IDENTIFIER = { { "query_string", "[?&]" }, { "fragment", "#" } }

---What gives a value away as invented: rejected_pattern of the error; nil: nothing.
---@param row table
---@param text string
---@return string?
function M.kind(row, text)
	local lists = { (IDENTIFIERS[row.pattern] or row.pattern == "filepath") and INVENTED or {},
		IDENTIFIERS[row.pattern] and INVENTED_IDENTIFIER or {} }
	for _, list in ipairs(lists) do
		for _, kind in ipairs(list) do
			for i = 2, #kind do
				if text:lower():find(kind[i]) then
					return kind[1]
				end
			end
		end
	end
end

return M
