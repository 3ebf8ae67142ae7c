-- brief: one command, or all, as the shortest JSON that suffices to choose and to call it: what
-- `help CMD --format json` and `runner` off a terminal print. The manifest has everything.

local arg_errors = require "runner.declare.arg_errors"
local contract = require "runner.declare.contract"
local entry = require "runner.tools.entry"
local help = require "runner.tools.help"
local help_exit_codes = require "runner.tools.help_exit_codes"
local json = require "runner.json"

local M = {}

-- Keys that say nothing are left out: not required, no default.
local function argument(row, config)
	local described = row.positional and entry.positional(row, config) or entry.flag(row, config)
	return {
		name = row.positional and row.flag or "--" .. row.flag, type = row.items and "array" or row.type,
		required = row.required or nil, default = described.default, values = described.enum_values,
		description = described.description ~= "" and described.description or arg_errors.expected(row),
		pattern = described.pattern or described.pattern_type,
	}
end

local function arguments(command, config)
	local out = {}
	for _, row in ipairs(command.args) do
		out[#out + 1] = argument(row, config)
	end
	return json.array(out)
end

-- The flags that a declaration adds, by name; `COMMAND --schema` describes them.
local function flags(command)
	local out = {}
	for _, row in ipairs(contract.rows(command)) do
		out[#out + 1] = row.when and "--" .. row.flag or nil
	end
	return out[1] and json.array(out) or nil
end

local function codes(command, about)
	local out = {}
	for number, row in pairs(entry.exit_codes(help_exit_codes.rows(command, about.settled, about.exit_table))) do
		out[number] = row.name
	end
	return out
end

local function example_calls(command)
	local out = {}
	for i, example in ipairs(command.examples or {}) do
		out[i] = example.command
	end
	return out[1] and json.array(out) or nil
end

---One command.
---@param command table normal form
---@param about {settled: table, config: table, exit_table?: string}
---@return table
function M.command(command, about)
	local scopes = command.required_scopes or {}
	return {
		usage = help.usage(command), description = command.description,
		danger_level = command.danger_level, arguments = arguments(command, about.config), flags = flags(command),
		exit_codes = codes(command, about),
		examples = example_calls(command), required_scopes = scopes[1] and json.array(scopes) or nil,
	}
end

-- The first words of the built-in commands, each once.
local function first_words(rows)
	local words, seen = {}, {}
	for _, row in ipairs(rows) do
		local word = row.name:match "^%S+"
		words[#words + 1] = not seen[word] and word or nil
		seen[word] = true
	end
	return table.concat(words, " ")
end

local SINGLED_OUT = { destructive = true, broken = true }

---All commands: descriptions by name, and which of them are destructive or can't be loaded.
---@param own runner.CommandRow[] of the project and the other folders
---@param builtin runner.CommandRow[]
---@param problem? string of runner.lua
---@return table
function M.overview(own, builtin, problem)
	local out = { commands = {}, builtin = first_words(builtin), problem = problem,
		next = "runner help COMMAND --format json, or runner manifest" }
	for _, row in ipairs(own) do
		local kind = row.broken and "broken" or row.danger_level
		out.commands[row.name] = row.description
		if SINGLED_OUT[kind] then
			out[kind] = out[kind] or json.array {}
			table.insert(out[kind], row.name)
		end
	end
	return out
end

return M
