-- program_text: what the system passes to a program: a limit for each argument and each
-- environment entry, and never a NUL byte.

local M = {}

M.MAX = 128 * 1024 - 1 -- bytes of one argument, or of one name=value (MAX_ARG_STRLEN)

---Does the text contain a NUL byte, which ends it for every program?
---@param text string
---@return boolean
function M.has_nul(text)
	return text:find("\0", 1, true) ~= nil
end

return M
