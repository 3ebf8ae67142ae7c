-- dotenv: the files that runner.lua names in `dotenv`: variables for the commands of a project. They never
-- replace one that the caller has set, and never set those that decide what is run. A file must
-- be as trusted as runner.lua is (src/worker/source.c). lua/core/dotenv.lua reads the lines.

local errors = require "runner.core.errors"
local host = require "runner.host"
local paths = require "runner.core.paths"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

local NEVER = { "^PATH$", "^LD_", "^LUA_", "^RUNNER_" }

local ours = {} -- what a file has set: a later file may replace it

---The normal form of `dotenv` in runner.lua: a list of paths; nil: it is wrong.
---@param v any true: ".env"
---@return string[]?
function M.accept(v)
	local list = v == true and { ".env" } or type(v) == "string" and { v } or v
	return rules.list(list, 1, 20, rules.text)
end

local function may_set(name, path)
	for _, pattern in ipairs(NEVER) do
		if name:find(pattern) then
			require("runner.core.attempt").warn("DOTENV_IGNORED", ("%s can't set %s"):format(path, name), { path = path, variable = name })
			return false
		end
	end
	return ours[name] or os.getenv(name) == nil
end

local function read(path)
	local text, why = host.source(path)
	if not text then
		errors.raise("PRECONDITION", ("Can't load %s: %s"):format(path, why), {
			fix_required = "Make it a file that only you or root own and can write to, or remove it from dotenv" })
	end
	local values = require("runner.core.dotenv").parse(text, path)
	for _, name in ipairs(tables.sorted_keys(values)) do
		if may_set(name, path) then
			ours[name] = true
			host.setenv(name, values[name])
		end
	end
end

---Set the variables of the files that are there; a missing one is none.
---@param list string[]? of M.accept
---@param settings string the path of the file that names them
---@return runner.Error? problem
function M.apply(list, settings)
	local dir = settings:match "^(.*)/[^/]*$" or "."
	for _, name in ipairs(list or {}) do
		local path = paths.absolute(name, dir)
		if host.probe(path) then
			local ok, raised = pcall(read, path)
			if not ok then
				return errors.normalise(raised)
			end
		end
	end
end

return M
