-- claude_keys: the keys of a workflow file that become flags of a claude program, for a
-- step or for all of them. The only list of them: the checker of files, the command
-- line and the docs follow it. The flags are those of Claude Code 2.1. Pure.

local M = {}

---@class runner.workflow.ClaudeKey
---@field key string in the file
---@field flag string
---@field takes "text"|"list"|"count"|"choice" texts are templates; a list is given to one flag
---@field choices? string[]
---@field value string for the docs
---@field meaning string for the docs

---@type runner.workflow.ClaudeKey[]
M.rows = {
	{ key = "model", flag = "--model", takes = "text", value = "text", meaning = "the model: an alias such as `opus`, or a full name" },
	{ key = "allowed_tools", flag = "--allowedTools", takes = "list", value = "text, or list",
		meaning = "tools that need no permission: `Read`, `Bash(git *)`" },
	{ key = "disallowed_tools", flag = "--disallowedTools", takes = "list", value = "text, or list",
		meaning = "tools that it may not use" },
	{ key = "permission_mode", flag = "--permission-mode", takes = "choice",
		choices = { "acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan" },
		value = "`acceptEdits`, `auto`, `bypassPermissions`, `default`, `dontAsk`, `plan`",
		meaning = "what happens where a permission is missing" },
	{ key = "max_turns", flag = "--max-turns", takes = "count", value = "number",
		meaning = "fail after this many turns" },
	{ key = "system_prompt", flag = "--system-prompt", takes = "text", value = "text",
		meaning = "replaces the program's own system prompt" },
	{ key = "append_system_prompt", flag = "--append-system-prompt", takes = "text", value = "text",
		meaning = "follows the program's own system prompt" },
	{ key = "mcp_config", flag = "--mcp-config", takes = "list", value = "path, or list",
		meaning = "files with MCP servers, relative to the step's working directory" },
}

-- A value that starts with a dash would be read as another flag.
local function add_one(argv, flag, text)
	if text:sub(1, 1) == "-" then
		argv[#argv + 1] = flag .. "=" .. text
	else
		argv[#argv + 1], argv[#argv + 2] = flag, text
	end
end

local function add_list(argv, flag, items)
	for i, text in ipairs(items) do
		if i == 1 or text:sub(1, 1) == "-" then
			add_one(argv, flag, text)
		else
			argv[#argv + 1] = text
		end
	end
end

---Add the flags of what is set to a command line. An empty list adds none. Another flag
---must follow: the lists take all words up to one.
---@param argv string[]
---@param given table<string, string|integer|string[]> by key
---@param expand fun(text: string): string
function M.append(argv, given, expand)
	for _, row in ipairs(M.rows) do
		local value = given[row.key]
		if type(value) == "table" then
			local items = {}
			for i, text in ipairs(value) do
				items[i] = expand(text)
			end
			add_list(argv, row.flag, items)
		elseif value ~= nil then
			add_one(argv, row.flag, expand(tostring(value)))
		end
	end
end

return M
