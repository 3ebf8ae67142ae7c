-- declared_files: files and directories that commands declare to leave (filesystem_side_effects), and
-- those that runner keeps itself: where they are, and how large. It changes nothing.

local catalog = require "runner.project.catalog"
local fs = require "runner.fs"
local json = require "runner.json"
local own_state = require "runner.core.own_state"
local paths = require "runner.core.paths"

local M = {}

---@class runner.DeclaredFile
---@field path string absolute
---@field type "cache"|"log"|"temp"|"credential"|"config"|"output"
---@field command string dot path
---@field exists boolean
---@field size_bytes integer
---@field size_is_partial? true there is more
---@field clearable_with? string
---@field ttl_seconds? integer

local function row_of(path, row, name, seen)
	if seen[path] then
		return nil
	end
	seen[path] = true
	local size, partial = own_state.tree_size(path)
	return { path = path, type = row.type, command = name, exists = fs.lstat(path) ~= nil, size_bytes = size, size_is_partial = partial,
		clearable_with = row.clearable_with, ttl_seconds = row.ttl_seconds }
end

---What the project's commands declare to leave, in the order of their names. A path that several
---declare is there once.
---@param project table
---@return runner.DeclaredFile[]
function M.declared(project)
	local out, seen = {}, {}
	for _, entry in ipairs(catalog.list(project)) do
		local command = not entry.builtin and catalog.load_or_warn(entry, project) or {}
		for _, row in ipairs(command.filesystem_side_effects or {}) do
			out[#out + 1] = row_of(paths.declared(row.path, project.root or paths.here()), row, entry.name, seen)
		end
	end
	return json.array(out)
end

local PURPOSES = {
	{ "runs.db", "runs of workflows, idempotency keys" }, { "locks", "locks of ctx:lock" }, { "runs", "locks of workflow runs" },
	{ "logs", "logs of workflow steps" }, { "outputs", "long outputs of workflow steps" }, { "jobs", "detached jobs" },
	{ "answers", "what answers had no room for" },
	{ "checkpoints", "how far unfinished calls are" }, { "throttle", "counts of calls and of requests to hosts" },
	{ "unchanged", "which files commands have succeeded with" },
	{ "declarations", "what lists say of commands" },
	{ "projects", "the projects of which you have run a command" },
	{ "instances", "state of other instances" },
}

---What runner keeps in its state directory.
---@return {path: string, purpose: string, size_bytes: integer}[]
function M.state()
	local out, dir = {}, paths.state()
	for _, row in ipairs(dir and PURPOSES or {}) do
		local path = dir .. "/" .. row[1]
		if fs.lstat(path) then
			out[#out + 1] = { path = path, purpose = row[2], size_bytes = (own_state.tree_size(path)) }
		end
	end
	return json.array(out)
end

return M
