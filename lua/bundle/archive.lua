-- archive: the files of a project as one text, and back. Paths are relative, and stay below the folder
-- that they are unpacked in.

local json = require "runner.json"

local M = {}

---@class runner.Bundled
---@field path string relative
---@field text string

---@param head table what is known of the project, plain JSON
---@param files runner.Bundled[]
---@return string
function M.pack(head, files)
	local parts = { ("<s4"):pack(assert(json.encode(head))) }
	for i, file in ipairs(files) do
		parts[i + 1] = ("<s4s4"):pack(file.path, file.text)
	end
	return table.concat(parts)
end

local function is_safe(path)
	return path ~= "" and path:sub(1, 1) ~= "/" and not ("/" .. path .. "/"):find("/../", 1, true)
end

---@param bytes string of M.pack; raises where it is something else
---@return table head
---@return runner.Bundled[] files
function M.unpack(bytes)
	local text, at = ("<s4"):unpack(bytes)
	local files = {}
	while at <= #bytes do
		local file = {}
		file.path, file.text, at = ("<s4s4"):unpack(bytes, at)
		assert(is_safe(file.path), "a path leads out of the archive")
		files[#files + 1] = file
	end
	return assert(json.decode(text)), files
end

return M
