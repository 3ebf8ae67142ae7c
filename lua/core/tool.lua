-- tool: how runner is called: the name that this program has in the place of `runner`, where it has one
-- (lua/project/tool_name.lua says it), and the words of a call as a person typed them.

local M = {}

---@class runner.Tool
---@field name string
---@field version? string of the project
---@field told? string the same as meta.tool_version has it
---@field project? string the project that it carries, by name (lua/core/scope.lua)
---@field says fun(text: string): string a text for callers of runner, for those of this tool

local own ---@type runner.Tool?

---@param tool runner.Tool
function M.become(tool)
	own = tool
end

---@return runner.Tool?
function M.own()
	return own
end

---@param text string
---@return string text as this program says it
function M.says(text)
	return own and own.says(text) or text
end

-- What a call of ours that reads an envelope has in front. No person has typed it, so advice on such a call is made without it.

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
