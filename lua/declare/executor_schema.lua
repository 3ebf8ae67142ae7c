-- executor_schema: what each key of an executor takes, as JSON Schema (draft 07): for the schemas of
-- workflow files and of runner.lua, which alone load it. The keys and their checks are in
-- lua/declare/executors.lua; tests/lua/declare/executor_schema_spec.lua compares the two.

local executors = require "runner.declare.executors"
local json = require "runner.json"
local json_shapes = require "runner.declare.json_shapes"
local sorted = require "runner.core.sorted"

local M = {}

local WORD = { type = "string", pattern = "^[A-Za-z0-9][A-Za-z0-9_.,+:@/-]*$", maxLength = 200 }
local LINE = "^[^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f][^\\x00-\\x1f\\x7f]*$"
local SIZE = { type = "string", pattern = "^[1-9][0-9]*[KMGT]$", maxLength = 12 }
local PROGRAM = { type = "array", minItems = 1, items = { type = "string", pattern = "^[^\\x00]+$" } }

-- Absolute or below HOME, without "..".
local PLACE = { allOf = json.array { { type = "string", pattern = LINE }, { pattern = "^(~?/.)" },
	{ ["not"] = { pattern = "/\\.\\.(/|$)" } } } }

local SCALAR = { type = json.array { "string", "number", "boolean" } }

local function either(...)
	return { anyOf = json.array { ... } }
end

-- No word that runner itself says to the program that submits.
local function option()
	local long, short = {}, {}
	for _, word in ipairs(sorted.keys(executors.ours)) do
		local letter = word:match "^%-(%a)$"
		table.insert(letter and short or long, letter or word)
	end
	return { type = "string", pattern = ("^(?!(%s)(?![A-Za-z0-9-]))(?!-[%s])"):format(table.concat(long, "|"), table.concat(short))
		.. LINE:sub(2) }
end

local function count(most)
	return { type = "integer", minimum = 1, maximum = most }
end

---Key → what it takes.
---@return table<string, table>
function M.of()
	local duration = json_shapes.duration(true)
	return {
		kind = { type = "string", enum = json.array { "slurm", "command", "local" } },
		partition = WORD, account = WORD, qos = WORD, cpus = count(65536),
		gpus = either(count(1024), { type = "string", pattern = "^([A-Za-z][A-Za-z0-9_.-]*:[0-9]+|[1-9][0-9]{0,3})$", maxLength = 64 }),
		memory = either(SIZE, { type = "array", minItems = 1, maxItems = 16, items = SIZE }),
		time = duration, at_once = count(1000000), poll = duration,
		submit_rate = either({ type = "number", exclusiveMinimum = 0, maximum = 1000 },
			{ type = "string", pattern = "^(?=.*[1-9])[0-9]+\\.?[0-9]*/[smh]$" }),
		directory = PLACE, options = { type = "array", items = option() }, prologue = json_shapes.text(),
		environment = { type = "object", patternProperties = { ["^[A-Za-z_][A-Za-z0-9_]*$"] = SCALAR }, additionalProperties = false },
		runner = PLACE, submit = PROGRAM, states = PROGRAM, cancel = PROGRAM,
	}
end

---What holds between the keys: programs of the user's belong to kind command.
---@return table
function M.between()
	return { ["if"] = { required = json.array { "kind" }, properties = { kind = { enum = json.array { "slurm", "local" } } } },
		["then"] = { properties = { submit = false, states = false, cancel = false } } }
end

return M
