-- agent_spec: the CLI Agent Spec's JSON Schemas (lua/agent_spec), decoded once, and what a value
-- has wrong by one of them.

local json = require "runner.json"
local json_schema = require "runner.core.json_schema"

local M = {}

local decoded = {}

local function load(name)
	decoded[name] = decoded[name] or assert(json.decode(require("runner.agent_spec." .. name)))
	return decoded[name]
end

local function by_file(file)
	return load((file:gsub("%.json$", "")))
end

---@param name string "response-envelope", "manifest-response", "conformance-profile"
---@param value any decoded JSON
---@param most integer so many problems at most
---@return string? problems joined by "; "; nil: it is valid
function M.problems(name, value, most)
	local found = json_schema.problems(load(name), value, by_file)
	return found[1] and table.concat(json_schema.texts(found, most), "; ") or nil
end

---@param name string
---@param value any
---@return string?
function M.first_problem(name, value)
	return M.problems(name, value, 1)
end

return M
