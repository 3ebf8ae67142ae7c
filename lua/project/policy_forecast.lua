-- policy_forecast: what the caller's policies come to, and would refuse of calls that are not made yet, such
-- as those of a workflow's steps. Whether a call may be made is decided when it is made
-- (lua/project/caller_policy.lua).

local attempt = require "runner.core.attempt"
local caller_policy = require "runner.project.caller_policy"
local catalog = require "runner.project.catalog"
local command_name = require "runner.core.command_name"
local json = require "runner.json"
local locate = require "runner.project.locate"

local M = {}

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
---@return string? why a sentence that names the policy; nil: no policy refuses it
function M.call(words, given)
	local found = attempt.policy and locate.find(words, attempt.project)
	if not found then
		return nil
	end
	local command = catalog.load(found, attempt.project)
	local name, confirmed = name_of(words, found), confirms(given or {})
	for _, policy in ipairs(attempt.policy.list) do
		local rule, why = caller_policy.refusal(policy, name, found.path, command and command.danger_level)
		if rule then
			return ("%s: '%s' is not allowed: %s"):format(policy.path, command_name.typed(name), why)
		elseif policy.confirm_by_flag == false and confirmed then
			return ("%s: %s confirms nothing here: its confirm_by_flag is false"):format(policy.path, confirmed)
		end
	end
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
	out.max_cost_usd = policy.max_cost_micros and require("runner.core.money").dollars(policy.max_cost_micros)
	out.confirm_by_flag, out.dry_run, out.relocate = policy.confirm_by_flag, policy.dry_run, policy.relocate
	return out
end

return M
