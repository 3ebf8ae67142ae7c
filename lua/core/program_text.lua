-- program_text: what the system passes to a program: a limit for each argument and each
-- environment entry, and never a NUL byte. Nor has a path or a file of text one. And how a word
-- is written for a shell.

local M = {}

M.MAX = 128 * 1024 - 1 -- bytes of one argument, or of one name=value (MAX_ARG_STRLEN)

---Where the first NUL byte is, which ends the text for every program; nil: it has none.
---@param text string
---@return integer?
function M.nul_at(text)
	return (text:find("\0", 1, true))
end

---@param text string
---@return boolean
function M.has_nul(text)
	return M.nul_at(text) ~= nil
end

---A word as a shell has to read it.
---@param word string
---@return string
function M.quoted(word)
	return word:find "^[%w_%-./=:@%%,+]+$" and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

return M
