-- own_flags: what a call of ours that reads an envelope has in front. Nobody has typed it, so advice on such a call is made without it.

local M = {}

M.LIST = { "--format=json", "--runner-unmask" }

---The words of a call as they were typed.
---@param argv string[]
---@return string[]
function M.typed(argv)
	for i, flag in ipairs(M.LIST) do
		if argv[i] ~= flag then
			return argv
		end
	end
	return table.move(argv, #M.LIST + 1, #argv, 1, {})
end

return M
