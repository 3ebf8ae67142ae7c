-- module_digest: adds the files that a command file required while it loaded to its digest: if
-- one of them changes between two attempts, the command has changed. Loaded if there are
-- any.

local host = require "runner.host"

local M = {}

local function text_of(name)
	local path = package.searchpath(name, package.path) or package.searchpath(name, package.cpath)
	local file = path and io.open(path, "rb")
	if not file then
		return name -- of preload, or gone
	end
	local text = file:read "a"
	file:close()
	return name .. "\0" .. (text or "")
end

local STANDARD = { _G = true, coroutine = true, debug = true, io = true, math = true, os = true, package = true,
	string = true, table = true, utf8 = true }

-- The modules that the scripts have loaded, sorted.
local function required()
	local names = {}
	for name in next, package.loaded do
		if type(name) == "string" and not STANDARD[name] and name:sub(1, 7) ~= "runner." then
			names[#names + 1] = name
		end
	end
	table.sort(names)
	return names
end

---The digest of a command file and of all that it has required.
---@param text string of the command file
---@return string
function M.digest(text)
	local parts = { host.digest(text) }
	for i, name in ipairs(required()) do
		parts[i + 1] = host.digest(text_of(name))
	end
	return host.digest(table.concat(parts, " "))
end

return M
