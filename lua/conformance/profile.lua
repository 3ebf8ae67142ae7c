-- profile: what `runner conformance` is to run against a tool: the command, the probes and
-- their kinds, read from a JSON file and checked (lua/agent_spec/conformance-profile.json)
-- before anything runs.

local agent_spec = require "runner.conformance.agent_spec"
local fs = require "runner.fs"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

---@class runner.ConformanceProbe
---@field name string unique
---@field argv string[]
---@field kind "read"|"destructive"|"invalid"|"stream"
---@field dry_run_flag? string of a destructive probe
---@field deadline_seconds? number of a stream
---@field after_lines? integer of a stream that is interrupted by SIGINT after so many lines

---@class runner.ConformanceProfile
---@field tool string
---@field command string[] the executable by its absolute path or as PATH finds it, and its first arguments
---@field timeout_seconds number for each run
---@field manifest? string[] the arguments that print the manifest
---@field argument_order? table
---@field probes runner.ConformanceProbe[]

-- A command with a slash is relative to the profile, as the reader of the file expects.
local function resolve(command, folder)
	if command[1]:find("/", 1, true) then
		command[1] = paths.absolute(command[1], folder)
		if not fs.stat(command[1]) then
			return ("command: %s doesn't exist"):format(command[1])
		end
	end
end

local function repeated_name(probes)
	local seen = {}
	for _, probe in ipairs(probes) do
		if seen[probe.name] then
			return ("probes: the name %q is used twice"):format(probe.name)
		end
		seen[probe.name] = true
	end
end

local function same_values(order)
	return order and order.value == order.alternate_value
		and "argument_order: alternate_value must differ from value" or nil
end

---Read a profile.
---@param path string absolute
---@return runner.ConformanceProfile? profile
---@return string? problem the first one, as a sentence
function M.read(path)
	local text, why = fs.read(path)
	if not text then
		return nil, why
	end
	local profile, syntax = json.decode(text)
	if not profile then
		return nil, "not valid JSON: " .. syntax
	end
	local problem = agent_spec.first_problem("conformance-profile", profile)
		or repeated_name(profile.probes) or same_values(profile.argument_order)
		or resolve(profile.command, path:match("^(.*)/[^/]*$"))
	if problem then
		return nil, problem
	end
	return profile
end

return M
