-- policy_commands: the caller's policies against the commands of a project: whether each name in a policy means one or
-- says that it need not, what the policies come to, and what they would refuse of calls that are not made yet, such as
-- those of a workflow's steps. Whether a call may be made is decided when it is made (lua/project/caller_policy.lua).

local attempt = require "runner.core.attempt"
local caller_policy = require "runner.project.caller_policy"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local json = require "runner.json"
local locate = require "runner.project.locate"

local M = {}

M.LISTS = { "allow", "deny", "confirm" } -- of a policy: names of commands

---The commands that a rule means.
---@param rule runner.PolicyRule
---@param entries {name: string, builtin: boolean?}[] of catalog.all
---@param denies boolean
---@return string[] names as they are typed
function M.commands(rule, entries, denies)
	local out = json.array {}
	for _, entry in ipairs(entries) do
		out[#out + 1] = caller_policy.is_meant(rule, entry.name, entry.builtin == true, denies) and command_line.typed(entry.name) or nil
	end
	return out
end

-- --- a rule that means nothing ------------------------------------------------------------

-- The command whose name a rule begins with, where more words follow that are no name.
local function command_in_front(rule, entries)
	for count = #rule.words - 1, 1, -1 do
		local name = table.concat(rule.words, ".", 1, count)
		for _, entry in ipairs(entries) do
			if entry.name == name and not catalog.below(entries, name)[1] then
				return command_line.typed(name)
			end
		end
	end
end

-- A longer spelling, such as that of a command line or of a client ("runner db drop", "mcp__tools__db_drop"), or a typo.
local function near(rule, entries)
	local text, names = rule.text:gsub("[-._ ]", "."), {}
	for i, entry in ipairs(entries) do
		names[i] = command_line.typed(entry.name)
		local name = "." .. entry.name:gsub("[-._]", ".")
		if #name > 1 and text:sub(-#name) == name then
			return names[i]
		end
	end
	return require("runner.core.suggest").nearest(rule.text, names, 1)[1]
end

---Why a rule is wrong in a project.
---@param rule runner.PolicyRule
---@param entries {name: string, builtin: boolean?}[] of catalog.all
---@param denies boolean
---@return string? problem as the rest of a sentence; nil: it means at least one command, or need not
---@return string? fix
function M.problem(rule, entries, denies)
	if M.commands(rule, entries, denies)[1] then
		return nil
	end
	local command = command_in_front(rule, entries)
	if command then
		return ("'%s' has words after the name of the command '%s', and a rule can't mean arguments"):format(rule.text, command),
			("Write '%s'"):format(command)
	elseif not rule.optional then
		local other = near(rule, entries)
		return ("'%s' matches no command"):format(rule.text), other and ("Write '%s'"):format(other)
			or ('Remove it, or write {"name": "%s", "optional": true}: it may then match nothing'):format(rule.text)
	end
end

-- --- all of them ------------------------------------------------------------------------

---What is wrong with the rules of a policy in a project: each must mean a command of it, or say that it need not.
---@param policy table
---@param entries {name: string, builtin: boolean?}[] of catalog.all
---@return runner.Error? problem POLICY_INVALID
function M.mismatch(policy, entries)
	for _, key in ipairs(M.LISTS) do
		for _, rule in ipairs(policy[key] or {}) do
			local why, fix = M.problem(rule, entries, key ~= "allow")
			if why then
				return caller_policy.invalid(policy.path, ("%s: %s: %s"):format(policy.path, key, why), fix)
			end
		end
	end
end

---Refuse names that mean no command of the project. A policy that the outer run handed on was written for its own
---project, and holds in this one as it is. Where runner.lua can't be read, no command but a built-in one runs, and which
---others there are is not known.
---@param a runner.Attempt
---@return runner.Answer?
function M.check(a)
	local unsafe, entries = caller_policy.unsafe(a.policy, a.project), nil
	if unsafe then
		return { error = unsafe, early = true }
	end
	for _, policy in ipairs(a.project.problem and {} or a.policy.list) do
		if not policy.inherited and (policy.allow or policy.deny or policy.confirm) then
			entries = entries or catalog.all(a.project)
			local problem = M.mismatch(policy, entries)
			if problem then
				return { error = problem, early = true }
			end
		end
	end
end

local LEVELS = caller_policy.LEVELS
local CONFIRM = { ["--confirm-destructive"] = true, ["--yes"] = true }

-- The name that a policy knows it by: `self NAME` is another command than the project's file NAME.
local function name_of(words, found)
	if words[1] ~= locate.SELF then
		return found.name
	end
	local file = locate.find(table.move(words, 2, #words, 1, {}), attempt.project)
	return file and file.path and locate.SELF .. "." .. found.name or found.name
end

local function confirms(given)
	for _, word in ipairs(given) do
		if CONFIRM[word] then
			return word
		end
	end
end

---Why a call would be refused.
---@param words string[] of the command's name, which exists
---@param given? any[] words that follow it
---@param list? table[] the policies; default: those of this call
---@return string? why a sentence that names the policy; nil: no policy refuses it
function M.call(words, given, list)
	list = list or attempt.policy and attempt.policy.list
	local found = list and locate.find(words, attempt.project)
	if not found then
		return nil
	end
	local command = catalog.load(found, attempt.project)
	local name, confirmed = name_of(words, found), confirms(given or {})
	for _, policy in ipairs(list) do
		local rule, why = caller_policy.refusal(policy, name, found.path, command and command.danger_level)
		if rule then
			return ("%s: '%s' is not allowed: %s"):format(policy.path, command_line.typed(name), why)
		elseif policy.confirm_by_flag == false and confirmed then
			return ("%s: %s confirms nothing here: its confirm_by_flag is false"):format(policy.path, confirmed)
		end
	end
end

-- The arguments of a rule of `allow` that mean nothing in a command which it means.
local function misfit(rule, entries)
	for _, entry in ipairs(rule.args and entries or {}) do
		local command = caller_policy.is_meant(rule, entry.name, entry.builtin == true, false) and catalog.load(entry, attempt.project)
		local why = command and require("runner.project.policy_limits").misfit(rule, command)
		if why then
			return why
		end
	end
end

---Each rule of a policy: what it means in this project, what it says besides, what of that is used, and what is wrong with it.
---@param policy table
---@param entries {name: string, builtin: boolean?}[] of catalog.all
---@return table[]
function M.rows(policy, entries)
	local out = {}
	for _, list in ipairs(M.LISTS) do
		for _, rule in ipairs(policy[list] or {}) do
			local denies = list ~= "allow"
			local row = { policy = policy.path, list = list, rule = rule.text, optional = rule.optional,
				commands = M.commands(rule, entries, denies), problem = M.problem(rule, entries, denies) or misfit(rule, entries) }
			if rule.limits then
				local used, uncounted = require("runner.project.policy_limits").used(policy, rule)
				rule.says.above = rule.quotas[1] and rule.above
				row.says, row.used, row.problem = rule.says, used, row.problem or uncounted
			end
			out[#out + 1] = row
		end
	end
	if policy.confine then
		local confines = require "runner.project.policy_confine"
		local held, problem = json.array {}, confines.problem(policy)
		for _, entry in ipairs(entries) do
			held[#held + 1] = not entry.builtin and command_line.typed(entry.name) or nil
		end
		out[#out + 1] = { policy = policy.path, list = "confine", rule = "confine", says = confines.says(policy),
			commands = held, problem = problem and (problem.why or problem.error.message) }
	end
	return out
end

---What holds for this call, for --plan and --show-config.
---@return table
function M.describe()
	local policy, out = attempt.policy, { files = json.array {} }
	for i, one in ipairs(policy.list) do
		out.files[i] = one.path
		if one.max_danger and LEVELS[one.max_danger] < LEVELS[out.max_danger or "destructive"] then
			out.max_danger = one.max_danger
		end
	end
	out.max_retries, out.max_timeout_ms = policy.max_retries, policy.max_timeout_ms
	out.max_cost_usd = policy.max_cost_micros and require("runner.core.amounts").dollars(policy.max_cost_micros)
	out.subject = policy.subject
	for _, one in ipairs(policy.list) do
		if one.confine then
			out.confine = out.confine or json.array {}
			out.confine[#out.confine + 1] = require("runner.project.policy_confine").says(one)
		end
		local dollars = one.total_cost_usd and require("runner.core.amounts").dollars(one.total_cost_usd)
		out.total_cost_usd = dollars and math.min(out.total_cost_usd or dollars, dollars) or out.total_cost_usd
	end
	out.confirm_by_flag, out.dry_run, out.relocate = policy.confirm_by_flag, policy.dry_run, policy.relocate
	return out
end

return M
