-- builtins: the names of the built-in commands. Loaded for a name that no file of the project has.

local rules = require "runner.core.rules"

local M = {}

-- A text has the words of a group, with a blank around each.
---@type table<string, true|string>
M.names = {
	["check-permissions"] = true, add = true, bundle = true, ["generate-skills"] = true, changelog = true, cleanup = true, completion = true,
	conformance = true, doctor = true, exec = true, flame = true, help = true, lint = true, manifest = true, new = true, status = true,
	test = true, types = true, watch = true,
	audit = " list verify ",
	executor = " check list probe ",
	library = " check list remove update ",
	job = " cancel list logs status wait ",
	mcp = " install serve tools validate ",
	workflow = " cancel check chunk list logs new plan prune resume rm run show stats wait ",
}

---The built-in command that words begin with.
---@param words string[]
---@param first integer where its name begins
---@return runner.Found?
function M.find(words, first)
	local name, below = words[first], words[first + 1]
	local group = M.names[name]
	if group == true then
		return { name = name, words = first }
	elseif group and below and rules.is_command_word(below) and group:find(" " .. below .. " ", 1, true) then
		return { name = name .. "." .. below, words = first + 1 }
	end
end

return M
