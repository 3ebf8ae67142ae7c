-- tool: the name that this program has in the place of `runner`, where it has one: lua/project/tool_name.lua says it.

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

return M
