-- project_keys: keys of runner.lua that are tables: whether the traces of runs are exported, how long the runs of workflows are
-- kept, what a project needs besides its command files, other names for commands (lua/project/aliases.lua), and functions
-- that are called around the commands of a group (lua/ctx/wrappers.lua). Each gives the normal form; nil: something in it is wrong.

local command_line = require "runner.core.command_line"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

local TELEMETRY = { content = rules.flag, file = rules.text, service_name = rules.text }

---@param v any
---@return runner.Telemetry|false|nil
function M.telemetry(v)
	if type(v) == "boolean" then
		return v and { content = false }
	end
	local out = tables.accepted(TELEMETRY, v)
	if out then
		out.content = out.content or false
	end
	return out
end

local RETENTION = {
	older_than = function(v)
		local ms = rules.duration(v)
		return ms ~= 0 and ms or nil
	end,
	max_size = function(v) return require("runner.core.amounts").size(v, 0) end,
	keep = rules.whole(0, 1000000000),
	failed = rules.flag, interrupted = rules.flag,
}

---@param v any
---@return runner.workflow.Keeping? nil: or nothing says which runs go
function M.retention(v)
	local out = tables.accepted(RETENTION, v)
	if not out or not (out.older_than or out.max_size or out.keep) then
		return nil
	end
	out.older_than_ms, out.older_than = out.older_than, nil
	return out
end

---The program that calls somebody (lua/state/notify.lua): its words, or a text for a shell.
---@param v any
---@return string[]? argv
function M.notify(v)
	return rules.text(v) and not v:find "\0" and { "/bin/sh", "-c", v } or rules.list(v, 1, 100, rules.text)
end

local VERSION = rules.matching("^%d[%w.+-]*$", 64)

local DEPENDENCY = {
	name = rules.text, check_command = rules.text, fix_command = rules.text, max_version = VERSION,
	min_version = function(v) return v == "*" and v or VERSION(v) end,
}

local function dependency(v)
	local out = tables.accepted(DEPENDENCY, v)
	if not (out and out.name and out.min_version) or out.name:find "^%-" then
		return nil
	end
	out.check_command = out.check_command or out.name .. " --version"
	return out
end

---Programs and services, each with the command that tells its version. The manifest publishes them, `runner doctor`
---checks them.
---@param v any
---@return runner.Dependency[]?
function M.dependencies(v)
	return rules.list(v, 1, 1000, dependency)
end

-- The caller confirms, and sees what: a shorter name doesn't.
local CONFIRM = { ["--confirm-destructive"] = true, ["--live"] = true, ["--yes"] = true, ["-y"] = true }

local function confirms(words)
	for _, word in ipairs(words) do
		if CONFIRM[word:match "^[^=]*"] then
			return true
		end
	end
	return false
end

-- "deploy --target 'two words'", or a list of words
local function alias_words(v)
	local words = type(v) == "string" and command_line.split(v) or type(v) == "table" and rules.list(v, 1, 100, rules.text) or {}
	return words[1] and words[1]:sub(1, 1) ~= "-" and not confirms(words) and words or nil
end

---The normal form of `aliases`: lists of words by name; nil: something in it is wrong.
---@param v any
---@return table<string, string[]>?
function M.aliases(v)
	return tables.mapped(v, function(name, words)
		return type(name) == "string" and rules.is_command_word(name) and alias_words(words) or nil
	end)
end

local HOOKS = { before = rules.of_type "function", after = rules.of_type "function" }

---@param v any { db = { before = function(ctx, call) … end } }, by the dot path of the group
---@return table<string, {before?: function, after?: function}>? nil: something in it is wrong
function M.groups(v)
	return tables.mapped(v, function(name, hooks)
		return type(name) == "string" and tables.accepted(HOOKS, hooks) or nil
	end)
end

return M
