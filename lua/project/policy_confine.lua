-- policy_confine: the `confine` of a caller's policies: what every call of the project's commands is held to by the kernel, from where
-- `run` begins, beside what the command declares itself (lua/project/confinement.lua). It narrows, and can't be undone. Loaded where a
-- policy says it.

local attempt = require "runner.core.attempt"
local bounds = require "runner.core.bounds"
local fs = require "runner.fs"
local json = require "runner.json"
local paths = require "runner.core.paths"
local tables = require "runner.core.tables"

local M = {}

M.entered = false -- does the kernel hold this process to it?

-- Built-in commands that can be left as they are: they read what runner keeps, or make calls that are held themselves.
local OPEN = tables.set [[approvals approve audit.list audit.verify completion exec help job.cancel job.list job.logs job.status job.wait
	manifest mcp.serve mcp.tools policy.check reject several status workflow.cancel workflow.list workflow.logs workflow.show workflow.stats
	workflow.wait]]

---Why a built-in command is refused; nil: it isn't.
---@param name string dot path, perhaps with "self." in front
---@return string? why as the rest of a sentence
function M.refuses(name)
	return not OPEN[(name:gsub("^self%.", ""))]
		and "its confine holds what commands of the project do, and can't hold this one of runner's own" or nil
end

---The normal form; nil: it is wrong. Paths are absolute: there is no project that they could start from.
---@param v any
---@return table?
function M.accept(v)
	local out = type(v) == "table" and v.required == nil and require("runner.declare.contract.effects").keys.confine.accept(v) or nil
	for _, list in ipairs { out and out.write or {}, out and out.read or {} } do
		for _, path in ipairs(list) do
			out = path:sub(1, 1) == "/" and out or nil
		end
	end
	return out and not (out.network and out.network.hosts) and out or nil
end

-- --- what is wrong with one -----------------------------------------------------------------------

local function overlaps(a, b)
	a, b = (a .. "/"):gsub("/+", "/"), (b .. "/"):gsub("/+", "/")
	return a:sub(1, #b) == b or b:sub(1, #a) == a
end

-- What decides about calls, and what is written down of them.
local function kept()
	local out, project = {}, attempt.project or {}
	out["what runner keeps"] = paths.state()
	out["the audit ledger"] = project.audit and require("runner.project.audit").path(project) or nil
	return out
end

local function forgeable(policy)
	local all = kept()
	all["the policy itself"] = policy.path
	all["its counts"] = require("runner.state.quotas").key(policy.path, policy.subject, policy.counts) .. ".json"
	for _, path in ipairs(policy.confine.write or {}) do
		for _, what in ipairs(tables.sorted_keys(all)) do
			for _, of in ipairs { all[what], fs.realpath(all[what]) or all[what] } do
				if overlaps(fs.realpath(path) or path, of) then
					return ("confine.write has %s, and with it %s (%s): what is confined could forge that"):format(path, what, all[what])
				end
			end
		end
	end
end

---Why calls can't be held to it; nil: they can.
---@param policy table
---@return runner.PolicyRefusal?
function M.problem(policy)
	local about, missing = bounds.abilities(policy.confine)
	local absent = bounds.missing_path(policy.confine, "/")
	local why = absent and absent.message or forgeable(policy)
	return missing and { error = bounds.unavailable(about) } or why and { policy = policy, rule = "confine", why = why, invalid = true } or nil
end

-- --- one call ------------------------------------------------------------------------------------

-- What can't be held by that policy, as the rest of a sentence.
local function unheld(a, policy)
	local network = a.command.confine and a.command.confine.network
	if not a.found.path and (a.framework.output or a.parsed.values.html) then
		return "its confine can't hold the file that it would write"
	elseif policy.confine.network ~= nil and network and network.hosts then
		return "its confine.network and the hosts that the command declares can't be held together"
	elseif policy.confine.write and a.framework.output then
		return "its confine can't hold the file that the answer would be written to: redirect stdout"
	end
end

---Why a call isn't made, since it can't be held to the policies.
---@param a runner.Attempt
---@return runner.PolicyRefusal?
function M.refusal(a)
	for _, policy in ipairs(a.policy.list) do
		local why = policy.confine and unheld(a, policy)
		local refusal = why and { policy = policy, rule = "confine", why = why } or policy.confine and M.problem(policy)
		if refusal then
			return refusal
		end
	end
	attempt.around("run", function(run, ...) -- innermost: whatever has led here, `run` begins within the bounds, or not at all
		assert(not a.found.path or M.entered, "it isn't confined as its policy says")
		return run(...)
	end)
end

---What `policy check` and --plan say of it.
---@param policy table
---@return table
function M.says(policy)
	local c = policy.confine
	local network = c.network
	return { write = c.write and json.array(c.write), read = c.read and json.array(c.read), network = network,
		capabilities = c.capabilities and json.array(c.capabilities) }
end

return M
