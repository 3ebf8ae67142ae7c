-- command_words: a command line as its words, for what is written as one text and run without a
-- shell: examples of declarations, check_command of dependencies.

local M = {}

-- One word from `at` on, unquoted as a shell would, and where it ends; nil: only a shell could read it.
local function next_word(text, at)
	local out = {}
	while at <= #text do
		local quoted, after = text:match("^'([^']*)'()", at)
		if not quoted then
			quoted, after = text:match('^"([^"$`\\]*)"()', at)
		end
		if not quoted then
			quoted, after = text:match("^\\(.)()", at)
		end
		if not quoted then
			quoted, after = text:match("^([^%s'\"\\|&;<>()$`*?]+)()", at)
		end
		if not quoted then
			break
		end
		out[#out + 1], at = quoted, after
	end
	return out[1] and table.concat(out), at
end

---The words of a command line; nil: it needs a shell.
---@param text string
---@return string[]?
function M.split(text)
	local out, at = {}, text:match "^%s*()"
	while at <= #text do
		local word, after = next_word(text, at)
		if not word or text:find("^[^%s]", after) then
			return nil
		end
		out[#out + 1], at = word, text:match("^%s*()", after)
	end
	return out
end

return M
