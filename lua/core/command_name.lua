-- command_name: the name of a command. Declarations, meta and the manifest call it "db.migrate";
-- a person types, and reads, "db migrate".

local M = {}

---"db.migrate" → {"db", "migrate"}
---@param name string
---@return string[]
function M.words(name)
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
