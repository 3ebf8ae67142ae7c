-- policy_confine: the `confine` of a caller's policies: what every call of the project's commands is held to by the kernel, from where
-- `run` begins, beside what the command declares itself (lua/project/confinement.lua). It narrows, and can't be undone. Loaded where a
-- policy says it.

local attempt = require "runner.core.attempt"
local bounds = require "runner.core.bounds"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local tables = require "runner.core.tables"

local M = {}

M.entered = false -- does the kernel hold this process to it?

-- Built-in commands that can be left as they are: they read what runner keeps, or make calls that are held themselves.
local OPEN = tables.set [[approvals approve audit.list audit.verify completion exec help job.cancel job.list job.logs job.status job.wait
	manifest mcp.serve mcp.tools policy.check reject several status workflow.cancel workflow.list workflow.logs workflow.show workflow.stats
	workflow.wait]]

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

local function within(path, folder)
	return (path .. "/"):gsub("/+", "/"):find((folder .. "/"):gsub("/+", "/"), 1, true) == 1
end

-- Where a path leads, whether or not it is there; `names` gets each name that is looked up on the way, where it really stands: whoever
-- can replace one of them, decides what the path is.
local function walk(path, names, from, links)
	local dir, left = from or "", links or { 40 }
	for part in path:gmatch "[^/]+" do
		local name = dir .. "/" .. part
		local target = part ~= ".." and part ~= "." and left[1] > 0 and fs.readlink(name)
		if part == ".." then
			dir = dir:match "^(.*)/" or ""
		elseif part ~= "." then
			names[#names + 1], dir = name, name
		end
		if target then
			left[1] = left[1] - 1
			dir = walk(target, names, target:sub(1, 1) ~= "/" and name:match "^(.*)/" or "", left)
		end
	end
	return dir
end

-- May what is written to `folder` become what is read at `path`, or in that?
local function reaches(folder, path)
	local names = {}
	local there = walk(path, names)
	folder = walk(folder, {})
	for _, name in ipairs(names) do
		if name ~= folder and within(name, folder) then
			return true
		end
	end
	return within(there, folder) or within(folder, there)
end

-- What is run, or read as settings, before a call is held to anything. Of a project whose settings aren't read yet, what it has anyway.
local function code(project)
	local root, out = project.root, { { "runner itself", fs.readlink "/proc/self/exe" } }
	local function add(what, path, from)
		out[#out + 1] = { what, paths.absolute(path, from or host.getcwd() or "/") }
	end
	for _, name in ipairs(root and { "runner.lua", "runner.lock", "tasks.lua", "commands", "lib", "vendor" } or {}) do
		add("code of the project", root .. "/" .. name)
	end
	for _, dir in ipairs(require("runner.project.folders").list(project.commands and project or nil)) do
		add("commands", dir)
		add("modules of commands", ((dir .. "/"):match "^(.*)/commands/" or dir) .. "/lib")
	end
	for template in (package.path .. ";" .. package.cpath):gmatch "[^;]+" do
		add("modules", template:match "^[^?]*":match "^(.*)/" or ".")
	end
	local file, all = project.file, { project }
	for _, name in ipairs(tables.sorted_keys(file and project.contexts or {})) do
		all[#all + 1] = project.contexts[name]
	end
	for _, of in ipairs(file and all or {}) do
		add("settings", file)
		for _, name in ipairs(of.dotenv or {}) do
			add("settings", name, file:match "^(.*)/")
		end
		for _, word in ipairs(of.notify or {}) do
			local _ = word:find "^[^%s]*/[^%s]*$" and add("notify", word, root)
		end
	end
	return out
end

-- What decides about calls, and what is written down of them, whichever instance a call names.
local function kept(policy, others)
	local state, project = paths.state(), attempt.project or {}
	local out = { { "what runner keeps", os.getenv "RUNNER_INSTANCE_ID" and state and state:match "^(.*)/instances/[^/]*$" or state },
		{ "the audit ledger", project.audit and require("runner.project.audit").path(project) or nil } }
	for _, one in ipairs { policy, table.unpack(others or {}) } do
		local of = one.path == policy.path and "" or " " .. one.path
		local key = require("runner.state.quotas").key(one.path, one.subject, one.counts)
		out[#out + 1] = { of == "" and "the policy itself" or "the policy" .. of, one.path }
		for _, ending in ipairs { ".json", ".ends", ".lock" } do
			out[#out + 1] = { of == "" and "its counts" or "the counts of" .. of, key .. ending }
		end
	end
	return out
end

local function forgeable(policy, all)
	for _, path in ipairs(policy.confine.write or {}) do
		for _, what in ipairs(all) do
			if what[2] and reaches(path, what[2]) then
				return ("confine.write has %s, and with it %s (%s): what is confined could forge that"):format(path, what[1], what[2])
			end
		end
	end
end

---Why nothing of a project may be run or read: what is confined could have written it. nil: it may.
---@param policy table
---@param project table
---@return string?
function M.unsafe(policy, project)
	return forgeable(policy, code(project))
end

---Why a command is refused before its file is read; nil: it isn't.
---@param name string dot path, perhaps with "self." in front
---@param path? string its file; nil: it is built in
---@param policy table
---@return string? why as the rest of a sentence
function M.refuses(name, path, policy)
	if path then
		return forgeable(policy, { { "the file of the command", path } })
	end
	return not OPEN[(name:gsub("^self%.", ""))]
		and "its confine holds what commands of the project do, and can't hold this one of runner's own" or nil
end

---Why calls can't be held to it; nil: they can.
---@param policy table
---@return runner.PolicyRefusal?
function M.problem(policy)
	local about, missing = bounds.abilities(policy.confine)
	local absent = bounds.missing_path(policy.confine, "/")
	local why = absent and absent.message or forgeable(policy, kept(policy, (attempt.policy or {}).list))
		or forgeable(policy, code(attempt.project or {}))
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
