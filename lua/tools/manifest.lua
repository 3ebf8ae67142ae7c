-- manifest: every command that can be called here, as one document of the CLI Agent Spec: what
-- an agent needs to find a command and to call it. It loads every file that it lists, and names
-- those that can't be loaded in warnings.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local contract = require "runner.declare.contract"
local entry = require "runner.tools.entry"
local environment = require "runner.declare.environment"
local help_exit_codes = require "runner.tools.help_exit_codes"
local host = require "runner.host"
local json = require "runner.json"
local plan = require "runner.project.plan"
local tables = require "runner.core.tables"
local topic = require "runner.tools.topic"

local M = {}

local SCHEMA_VERSION = "3.21" -- of the ManifestResponse that lua/agent_spec has

-- --- what holds for all commands --------------------------------------------------------------

local function global_flags(config)
	local out = {}
	for _, row in ipairs(contract.rows()) do
		out[row.flag] = entry.flag(row, config)
	end
	return out
end

local function variables()
	local out = {}
	for _, row in ipairs(environment.rows) do
		out[#out + 1] = { name = row.name, description = row.description }
	end
	for _, row in ipairs(contract.rows(nil, true)) do
		out[#out + 1] = row.env and { name = row.env, description = row.description } or nil
	end
	return json.array(out)
end

-- The schema has no place for max_version.
local function dependencies(list)
	local out = {}
	for i, d in ipairs(list) do
		out[i] = { name = d.name, check_command = d.check_command, min_version = d.min_version, fix_command = d.fix_command }
	end
	return json.array(out)
end

-- --- commands -----------------------------------------------------------------------------------

local function means_the_same(a, b)
	return b and not a.error_codes and a.name == b.name and a.retryable == b.retryable and a.side_effects == b.side_effects
end

-- What a call needs: exit codes that differ from the common ones, no examples, no result.
local function shorten(described, common)
	for number, row in pairs(described.exit_codes) do
		described.exit_codes[number] = not means_the_same(row, common[number]) and row or nil
	end
	described.examples, described.steps, described.output_schema = nil, nil, nil
end

-- Of each group, the names below it.
local function groups_of(list)
	local groups = {}
	for _, listed in ipairs(list) do
		for at in listed.name:gmatch "()%." do
			local group = listed.name:sub(1, at - 1)
			groups[group] = groups[group] or json.array {}
			groups[group][#groups[group] + 1] = listed.name
		end
	end
	return groups
end

-- Its own, and those of runner.lua that stand for its name and nothing else.
local function aliases_of(name, own, project)
	local out = table.move(own or {}, 1, #(own or {}), 1, {})
	for _, alias in ipairs(tables.sorted_keys(project.aliases or {})) do
		out[#out + 1] = table.concat(project.aliases[alias], ".") == name and alias or nil
	end
	return out[1] and json.array(out) or nil
end

-- `common`, for the short form: the exit codes that all commands have.
local function describe_all(list, project, common)
	local out, exit_table, groups = {}, plan.exit_table(project), groups_of(list)
	for _, listed in ipairs(list) do
		local command = not (common and listed.builtin) and catalog.load_listed(listed, project)
		if command then
			local described = entry.command(command, { settled = topic.settle(command, project), config = project.config,
				exit_table = exit_table })
			described.subcommands = groups[listed.name]
			described.aliases = aliases_of(listed.name, described.aliases, project)
			if common then
				shorten(described, common)
			end
			out[listed.name] = described
		end
	end
	return out
end

local function chosen(words, project)
	if not words[1] then
		return catalog.list(project)
	end
	local found, below, name = topic.find(words, project)
	if found then
		below = table.move(below, 1, #below, 2, { { name = name, path = found.path, builtin = not found.path } })
	end
	return below
end

-- --- the document ---------------------------------------------------------------------------------

---The manifest of all commands, or of the command or group that the words name.
---@param words string[] none: all
---@param project table
---@param compact? boolean the project's own commands, and of each what differs from the others
---@return table
function M.document(words, project, compact)
	local common = compact and entry.exit_codes(help_exit_codes.registry(plan.exit_table(project))) or nil
	local out = {
		schema_version = SCHEMA_VERSION, framework_version = attempt.launch.version,
		commands = describe_all(chosen(words, project), project, common), exit_codes = common,
	}
	if not compact and not words[1] then
		out.flags, out.env_vars = global_flags(project.config), variables()
		out.dependencies = project.dependencies and dependencies(project.dependencies) or nil
	end
	out.etag = "fnv1a64:" .. host.digest((assert(json.encode(out))))
	return out
end

return M
