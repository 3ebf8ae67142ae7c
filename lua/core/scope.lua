-- scope: whose records (jobs, runs of workflows, rows of the audit ledger) a call sees. Each belongs to the
-- project of the call that made it: its root, "" where it had none, nil where an older runner made it. Lists
-- and what is short for an ID mean those of the call's own project. A whole ID means any, but not in what a
-- server of MCP runs, nor under a policy with `folders`: there, no other project exists. Under a `subject`, jobs and rows of another
-- one don't either.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local tool = require "runner.core.tool"

local M = {}

local SERVED = "RUNNER_SERVED"

---The argument of a list that shows all; nil: this call sees its own project only, and there is no such argument.
---@return table?
function M.argument()
	return not os.getenv(SERVED) and { "all", "boolean", description = "Also those of other projects, and of none" } or nil
end

---The project of this call, for what it makes. A program that carries its project has it at another place in
---each version, and is known by its name.
---@return string root, or ""
function M.project()
	return (tool.own() or {}).project or (attempt.project or {}).root or ""
end

---From here on this process, and what it starts, is what a server runs: no other project exists.
---@param project? string the root of the served project, "" for none; nil: as an outer server has it
function M.serve(project)
	require("runner.host").setenv(SERVED, project or os.getenv(SERVED) or "")
end

-- --- policies -----------------------------------------------------------------------------------

local function overlaps(a, b)
	a, b = a:gsub("/*$", "/"), b:gsub("/*$", "/")
	return a:sub(1, #b) == b or b:sub(1, #a) == a
end

-- Files of a project can be called where one of the folders is in it, or around it.
local function covers(folders, root)
	local real = require("runner.fs").realpath
	for _, folder in ipairs(folders) do
		if overlaps(real(folder) or folder, root) then
			return true
		end
	end
	return false
end

local function raise_denied(policy, message)
	errors.raise("POLICY_DENIED", ("%s: %s"):format(policy.path, message), { phase = "validation", side_effects = "none", retryable = false,
		context = { policy = policy.path, rule = "folders" } })
end

-- The first policy with `folders`.
local function fence()
	for _, policy in ipairs((attempt.policy or {}).list or {}) do
		if policy.folders then
			return policy
		end
	end
end

---Whose call this is, as its policies say, or who started it (lua/project/place.lua); nil: no user's, and it sees those of all.
---@return string?
function M.subject()
	return (attempt.policy or {}).subject or os.getenv "RUNNER_SUBJECT"
end

---May this call see a record of that subject?
---@param subject? string as its record has it
---@return boolean
function M.is_subject(subject)
	return M.subject() == nil or subject == M.subject()
end

---What this call came through, where it was not typed, as `runner mcp serve` or `exec` says it.
---@return {transport?: string, name?: string, version?: string}?
function M.client()
	local text = os.getenv "RUNNER_CLIENT"
	local v, out = text and require("runner.json").decode(text), {}
	for _, key in ipairs { "transport", "name", "version" } do
		local part = type(v) == "table" and v[key]
		out[key] = type(part) == "string" and part:sub(1, (utf8.offset(part, 101) or #part + 1) - 1) or nil
	end
	return next(out) and out or nil
end

---The account that has logged in, where the process has become another one since, as by sudo: what the kernel says.
---@param uid integer of the process
---@return integer?
function M.login_uid(uid)
	local login = math.tointeger(tonumber(require("runner.fs").read "/proc/self/loginuid" or ""))
	return login and login ~= uid and login < 0xFFFFFFFF and login or nil
end

---Who makes this call, for a record.
---@param did string what for: "started"
---@return table
function M.actor(did)
	local uid, user = require("runner.ledger").user()
	return { did = did, time = require("runner.host").rfc3339(require("runner.host").wall_ms()), uid = uid, user = user,
		subject = M.subject(), client = M.client(), trace_id = attempt.launch.trace_id, request_id = attempt.launch.request_id }
end

-- --- what is seen -------------------------------------------------------------------------------

---Is there nothing but the call's own project?
---@return boolean
function M.is_closed()
	return os.getenv(SERVED) ~= nil or fence() ~= nil
end

---The project whose records this call sees. Raises POLICY_DENIED where its files may not be called.
---@return string
function M.own()
	local root = (attempt.project or {}).root
	for _, policy in ipairs(root and (attempt.policy or {}).list or {}) do
		if policy.folders and not covers(policy.folders, root) then
			raise_denied(policy, ("the project %s is in none of its folders"):format(root))
		end
	end
	return M.project()
end

---The project whose records a list has; nil: it has all.
---@param args { all?: boolean }
---@return string?
function M.of(args)
	if args.all and fence() then
		raise_denied(fence(), "--all is not allowed: its folders keep calls to their own project")
	end
	return not args.all and M.own() or nil
end

---May a whole ID name a record of this project?
---@param project? string as its record has it
---@return boolean
function M.sees(project)
	return not M.is_closed() or project == M.own()
end

---The project of a record, as a list of all shows it.
---@param project? string
---@return string
function M.label(project)
	return project == "" and "none" or project or "unknown"
end

return M
