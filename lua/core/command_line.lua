-- command_line: words as a shell, a person and the system take them: how they are written for a shell, and read from what is
-- written as one text and run without one (an alias, an example of a declaration, a check_command); a command's name as people
-- type it; and what the system passes to a program: a limit for each argument, and never a NUL byte, which no path has either.

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

---Words as a command line that a shell reads as these words.
---@param words string[]
---@return string
function M.line(words)
	local out = {}
	for i, word in ipairs(words) do
		out[i] = M.quoted(word)
	end
	return table.concat(out, " ")
end

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

---The name of a command. Declarations, meta and the manifest call it "db.migrate"; people read, and type, "db migrate".
---"db.migrate" → {"db", "migrate"}
---@param name string
---@return string[]
function M.name_words(name)
	local words = {}
	for word in name:gmatch "[^.]+" do
		words[#words + 1] = word
	end
	return words
end

---"db.migrate" → "db migrate"
---@param name string
---@return string
function M.typed(name)
	return name:find(".", 1, true) and (name:gsub("%.", " ")) or name
end

return M
