-- policy_names: a name in a caller's policy, and the commands that it means.

local M = {}

local SELF = "^self%."
-- What a built-in command calls itself is allowed with it: a server reads through `mcp tools` which commands it serves. Such a listing
-- any caller may have that may serve; the others do what their caller was asked for, and are allowed where it has made the call.
local CALLED_BY = { ["mcp.tools"] = { "mcp.serve" }, ["executor.probe"] = { "executor.check" },
	["workflow.resume"] = { "approve", "reject" },
	["workflow.chunk"] = { "workflow.run", "workflow.resume", "workflow.retry", "approve", "reject" } }
local OPEN = { ["mcp.tools"] = true }

---What a built-in command has said of a call that it makes itself: "workflow.resume run_01J", "executor"; false: the caller's call.
M.called = false ---@type string|false

local MARKS = { ["workflow.resume"] = "^workflow%.resume ", ["workflow.chunk"] = "^executor$", ["executor.probe"] = "^executor$" }

local function callers_of(name)
	return (OPEN[name] or CALLED_BY[name] and (M.called or ""):find(MARKS[name])) and CALLED_BY[name] or {}
end

---@class runner.PolicyRule
---@field text string as its file has it
---@field pattern string a Lua pattern, of a dot path with a dot after it
---@field optional boolean it may match no command
---@field words string[] that blanks and dots separate
---@field limits? boolean it says more than a name (lua/project/policy_limits.lua)

-- A name, a group or a glob; each means what is below it, too. A name is printed as "db drop", db.drop, db_drop and
-- db-drop, so these separators are one here. `*` stands for any characters of one word.
---@param text any
---@param optional boolean
---@return runner.PolicyRule?
function M.named(text, optional)
	local name = type(text) == "string" and #text <= 200 and text:gsub(" +", "."):gsub("%*+", "*")
	if not name or select(2, name:gsub("%*", "")) > 4 then
		return nil
	end
	local words = {}
	for word in (name .. "."):gmatch "([^.]*)%." do
		if not word:find "^[%w*][%w_*-]*$" then
			return nil
		end
		words[#words + 1] = word
	end
	return { text = text, optional = optional, words = words,
		pattern = "^" .. name:gsub("[-._]", "[-._]"):gsub("%*", "[^.]*") .. "%." }
end

---The normal form of a rule: "db drop", or { name = "db drop", optional = true }; nil: it is none.
---@param v any
---@return runner.PolicyRule?
function M.rule(v)
	if type(v) ~= "table" then
		return M.named(v, false)
	end
	for key in next, v do
		if key ~= "name" and key ~= "optional" then
			return nil
		end
	end
	return (v.optional == nil or type(v.optional) == "boolean") and M.named(v.name, v.optional or false) or nil
end

-- A built-in command is `self NAME`, too. What is denied is so in its form `self NAME` as well; what is allowed is not.

---Does a rule mean a command?
---@param rule runner.PolicyRule
---@param name string dot path, perhaps with "self." in front
---@param builtin boolean has it no file?
---@param denies boolean is it of a `deny`?
---@return boolean
function M.is_meant(rule, name, builtin, denies)
	return ((name .. "."):find(rule.pattern) or builtin and not name:find(SELF) and ("self." .. name .. "."):find(rule.pattern)
		or denies and (name:gsub(SELF, "") .. "."):find(rule.pattern)) and true or false
end

---Is it a call that only built-in commands make, of themselves?
---@param name string
---@return boolean
function M.is_internal(name)
	name = name:gsub(SELF, "")
	return callers_of(name)[1] ~= nil and name ~= "workflow.resume"
end

local IDLE = { exec = true, ["job.logs"] = true, ["job.wait"] = true, ["workflow.logs"] = true, ["workflow.wait"] = true }

---Does a built-in command only wait, or make the calls that it is given?
---@param name string
---@return boolean
function M.is_idle(name)
	return IDLE[name:gsub(SELF, "")] or false
end

---The first rule that means a command.
---@param list runner.PolicyRule[]? of `allow` or `deny`
---@param name string dot path, perhaps with "self." in front
---@param builtin boolean has it no file?
---@param denies boolean is it the list of `deny`?
---@return string? text of the rule
function M.match(list, name, builtin, denies)
	for _, rule in ipairs(list or {}) do
		if M.is_meant(rule, name, builtin, denies) then
			return rule.text
		end
	end
	for _, caller in ipairs(builtin and not denies and callers_of((name:gsub(SELF, ""))) or {}) do
		local text = M.match(list, caller, true, false)
		if text then
			return text
		end
	end
end

return M
