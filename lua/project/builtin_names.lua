-- builtin_names: all built-in commands by name, for lists.

local builtins = require "runner.project.builtins"

---Dot paths of the built-in commands, sorted.
---@return string[]
return function()
	local names = {}
	for name, group in pairs(builtins.names) do
		names[#names + 1] = group == true and name or nil
		for below in (group == true and "" or group):gmatch "%S+" do
			names[#names + 1] = name .. "." .. below
		end
	end
	table.sort(names)
	return names
end
