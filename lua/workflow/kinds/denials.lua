-- denials: the permissions that a claude program was refused, as its result lists them
-- (permission_denials), and which of them were to be expected. Pure; what that
-- means for a step is lua/workflow/kinds/claude.lua's.

local claude_output = require "runner.workflow.kinds.claude_output"
local globs = require "runner.core.globs"

local M = {}

local MOST, LENGTH = 20, 200 -- that are told of, and bytes of each

local FORBIDS = { ["--disallowedTools"] = true, ["--disallowed-tools"] = true }
local ALLOWS = { ["--allowedTools"] = true, ["--allowed-tools"] = true }

-- --- what is forbidden, or allowed ----------------------------------------------------

-- "Bash(git *), Edit" → the rules in it; a blank between parentheses divides nothing.
local function add_rules(out, text)
	local hidden = text:gsub("%b()", function(inner)
		return (inner:gsub("[ ,]", { [" "] = "\1", [","] = "\2" }))
	end)
	for rule in hidden:gmatch "[^ ,]+" do
		local tool, pattern = rule:gsub("\1", " "):gsub("\2", ","):match "^([^(]+)%(?(.-)%)?$"
		out[#out + 1] = tool and { tool = tool, pattern = pattern ~= "" and pattern ~= "*" and pattern or nil }
	end
end

---The rules of a command line's --disallowedTools, or of other flags.
---@param argv string[]
---@param flags? table<string, true>
---@return {tool: string, pattern: string?}[]
function M.rules(argv, flags)
	local out, inside = {}, false
	for _, word in ipairs(argv) do
		local flag, value = word:match "^(%-%-[%w-]+)=?(.*)$"
		if flag then
			inside = (flags or FORBIDS)[flag] or false
		end
		if inside then
			add_rules(out, flag and value or word)
		end
	end
	return out
end

-- --- does a rule name a call? ------------------------------------------------------------

local function literal(text)
	return (text:gsub("%p", "%%%0"))
end

-- "git *" and "git:*" are git with any arguments, and without.
local function is_command(pattern, command)
	local head = pattern:match "^(.-)[ :]%*$"
	if head then
		return is_command(head, command) or is_command(head .. " ?*", command)
	end
	return command:find("^" .. literal(pattern):gsub("%%%?%%%*", ".+"):gsub("%%%*", ".*") .. "$") ~= nil
end

-- One of the commands that a line runs.
local function runs(pattern, input)
	for command in tostring(input.command):gmatch "[^;&|\n]+" do
		if is_command(pattern, command:match "^%s*(.-)%s*$") then
			return true
		end
	end
	return false
end

-- A path that begins with "//" is whole, any other is below some directory.
local function is_path(pattern, input)
	local path = input.file_path or input.notebook_path or input.path
	local whole, below = pattern:match "^/(/.*)$", pattern:gsub("^[.~]?/", "")
	return type(path) == "string" and globs.matches(globs.parts(whole or "**/" .. below), globs.names(path), true)
end

local function is_host(pattern, input)
	local wanted, host = pattern:match "^domain:(.+)$", tostring(input.url):match "^%a+://([^/:]+)"
	return wanted ~= nil and host ~= nil and ("." .. host):sub(-#wanted - 1) == "." .. wanted
end

local MATCHES = { Bash = runs, WebFetch = is_host }

-- Rules for Edit hold for every tool that edits files; that of a server of MCP names all its tools.
local EDITS = { Write = true, MultiEdit = true, NotebookEdit = true }

local function names_tool(rule, tool)
	local server = rule.tool:match "^(mcp__.-)_?_?%*?$"
	return rule.tool == tool or rule.tool == "Edit" and EDITS[tool]
		or server and tool:sub(1, #server + 2) == server .. "__" or false
end

local function names(rule, denial)
	return names_tool(rule, denial.tool)
		and (not rule.pattern or (MATCHES[denial.tool] or is_path)(rule.pattern, denial.input))
end

-- --- the denials of a result ------------------------------------------------------------------

-- What only a person can grant: refused in every program without one, whatever it may do.
local ASKS = { AskUserQuestion = true, EnterPlanMode = true, ExitPlanMode = true }

-- The first rule that names the call.
local function rule_of(rules, denial)
	for _, rule in ipairs(rules) do
		if names(rule, denial) then
			return rule
		end
	end
end

---The calls that were denied, a line each, and whether something else was asked for than what the
---command line forbids, or a person alone can grant. Such calls come first.
---@param found runner.workflow.Reply?
---@param argv string[]
---@return string[] calls
---@return boolean unforeseen
---@return string? allowed the tool of one of them that the command line allows
function M.of(found, argv)
	local listed = found and type(found.permission_denials) == "table" and found.permission_denials or {}
	local rules, allows, unforeseen, foreseen, allowed = M.rules(argv), M.rules(argv, ALLOWS), {}, {}, nil
	for _, row in ipairs(listed) do
		local tool = type(row) == "table" and type(row.tool_name) == "string" and row.tool_name or "a tool"
		local input = type(row) == "table" and type(row.tool_input) == "table" and row.tool_input or {}
		local denial = { tool = tool, input = input }
		local calls = (ASKS[tool] or rule_of(rules, denial)) and foreseen or unforeseen
		-- a rule allows a line only where all that it runs is allowed
		local is_line = tool == "Bash" and tostring(input.command):find "[;&|\n]"
		allowed = allowed or calls == unforeseen and not is_line and rule_of(allows, denial) and tool or nil
		calls[#calls + 1] = #calls < MOST and claude_output.tool_call(tool, input):sub(1, LENGTH) or nil
	end
	local fails = unforeseen[1] ~= nil
	return table.move(foreseen, 1, math.min(#foreseen, MOST - #unforeseen), #unforeseen + 1, unforeseen), fails, allowed
end

return M
