-- credential_scopes: what the caller's credential may do, as `scopes` of runner.lua says, against what a
-- command declares in required_scopes. Loaded when runner.lua has `scopes`, and by
-- check-permissions. runner refuses nothing here: the service decides.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local json = require "runner.json"
local rules = require "runner.core.rules"

local M = {}

---The scopes of the caller's credential; nil: it is not known, or no user is signed in.
---@param project table
---@return string[]? scopes, string? problem of the function in runner.lua
function M.active(project)
	local declared = project.scopes
	if type(declared) ~= "function" then
		return declared
	end
	local ok, found = pcall(declared, project.config or {})
	if not ok then
		return nil, "scopes of runner.lua raised an error: " .. errors.normalise(found).message
	elseif found == nil then
		return nil
	end
	local list = rules.list(found, 0, math.huge, rules.text)
	return list, not list and "scopes of runner.lua must return a list of strings, or nil" or nil
end

local function without(list, other)
	local known, out = {}, json.array {}
	for _, scope in ipairs(other) do
		known[scope] = true
	end
	for _, scope in ipairs(list) do
		out[#out + 1] = not known[scope] and scope or nil
	end
	return out
end

---@class runner.Coverage
---@field missing string[] scopes that are required and not active
---@field extra string[] active and not required
---@field over_privileged boolean it can do more than a command that needs a credential needs

---@param required? string[]
---@param active? string[] nil: unknown, of which nothing is said
---@return runner.Coverage
function M.compare(required, active)
	required = required or {}
	local missing = active and without(required, active) or json.array {}
	local extra = active and without(active, required) or json.array {}
	return { missing = missing, extra = extra, over_privileged = required[1] ~= nil and extra[1] ~= nil }
end

---@param command string
---@param extra string[]
function M.warn(command, extra)
	attempt.warn("CREDENTIAL_OVER_PRIVILEGED", ("The credential can do more than '%s' needs: %s"):format(
		command_line.typed(command), table.concat(extra, ", ")), { command = command, extra_scopes = extra })
end

---Before a run: warn where its command needs less than the credential can do.
---@param command table normal form
---@param project table
function M.look(command, project)
	if not (command.required_scopes and command.required_scopes[1]) then
		return
	end
	local active, problem = M.active(project)
	if problem then
		attempt.warn("SCOPES_UNKNOWN", problem)
	end
	local coverage = M.compare(command.required_scopes, active)
	if coverage.over_privileged then
		M.warn(command.name, coverage.extra)
	end
end

return M
