-- skill: a command as a document that an agent keeps (SKILL-NAME.md), made of its declaration:
-- what it does, its arguments as JSON Schema, calls to copy, and what to mind.

local entry = require "runner.tools.entry"
local json = require "runner.json"
local tables = require "runner.core.tables"
local tool = require "runner.core.tool"

local M = {}

-- What a caller types in front of a command's name.
local function program()
	return (tool.own() or {}).name or "runner"
end

local function words(name)
	return (name:gsub("%.", " "))
end

-- A FlagEntry or PositionalEntry as JSON Schema.
local function property(row)
	if row.schema then
		local out = { description = row.description }
		return tables.add(out, row.schema)
	end
	return { type = row.type == "enum" and "string" or row.type, description = row.description, enum = row.enum_values,
		default = row.default, pattern = row.pattern }
end

---The arguments of a command as one JSON Schema, by their flags.
---@param flags table<string, table> of entry.arguments
---@param positionals table[]
---@return table
function M.schema(flags, positionals)
	local properties, required = {}, json.array {}
	local function add(name, row)
		properties[name] = property(row)
		required[#required + 1] = row.required and name or nil
	end
	for name, row in next, flags do
		add(name, row)
	end
	for _, row in ipairs(positionals) do
		add(row.name, row)
	end
	table.sort(required)
	return { type = "object", properties = properties, required = required }
end

local function examples_of(command)
	local out = {}
	for _, example in ipairs(command.examples or {}) do
		local typed = tool.says(example.command)
		out[#out + 1] = { example.description or command.description, typed }
	end
	local name, own = words(command.name), program()
	if command.danger_level ~= "safe" then
		out[#out + 1] = { "Say what would be done, and change nothing", ("%s %s --dry-run"):format(own, name) }
	end
	out[#out + 1] = { "Read its arguments and exit codes", ("%s help %s --format json"):format(own, name) }
	out[#out + 1] = { "See limits and retries; run nothing", ("%s %s --plan"):format(own, name) }
	out[#out + 1] = { "Read everything that it declares", ("%s %s --schema"):format(own, name) }
	return out
end

local GUARDRAILS = {
	safe = { "It changes nothing." },
	mutating = { "It changes something: call it with `--dry-run` first, and with `--idempotency-key KEY` if you may have to repeat it." },
	destructive = { "It destroys something. Look at `--dry-run`, ask a person, and only then pass `--confirm-destructive`.",
		"Never repeat it because the answer was lost: use `--idempotency-key KEY`." },
}

local PATTERNS = {
	"Read one line of JSON from stdout: `ok`, `data`, `error`, `warnings`, `meta`.",
	"Branch on `error.code`; repeat the same call only where `error.retryable` is true, after `error.retry_after_ms`.",
	"Give `--timeout` the time that you have.",
}

local ANTI_PATTERNS = {
	"Don't parse stderr, and don't guess from the exit code what the error says.",
	"Don't repeat a call that ended with exit code 2: correct the arguments that `error.errors` names.",
	"Don't pass values through a shell: give the words as a list.",
}

local function bullets(list)
	return "- " .. table.concat(list, "\n- ") .. "\n"
end

local function exit_lines(codes)
	local numbers, lines = {}, {}
	for number in next, codes do
		numbers[#numbers + 1] = tonumber(number)
	end
	table.sort(numbers)
	for i, number in ipairs(numbers) do
		local row = codes[tostring(number)]
		lines[i] = ("| %d | %s | %s |"):format(number, row.name, row.description)
	end
	return table.concat(lines, "\n")
end

---@param command table normal form
---@param about {settled: table, config: table, exit_table?: string, version: string}
---@return table of what the document says
function M.facts(command, about)
	local described = entry.command(command, about)
	return { name = words(command.name), description = command.description, version = about.version,
		danger_level = command.danger_level, args = M.schema(described.flags, described.positionals or {}),
		examples = examples_of(command), exit_codes = described.exit_codes,
		guardrails = GUARDRAILS[command.danger_level], patterns = PATTERNS, anti_patterns = ANTI_PATTERNS }
end

---@param facts table of M.facts
---@return string Markdown with YAML front matter, whose values are JSON
function M.markdown(facts)
	local calls = {}
	for i, example in ipairs(facts.examples) do
		calls[i] = ("%s:\n\n    %s\n"):format(example[1], example[2])
	end
	return ("---\nname: %s\ndescription: %s\nversion: %s\nargs: %s\n---\n\n# %s %s\n\n%s\n\n## Examples\n\n%s\n## Guardrails\n\n%s\n"
		.. "## Patterns\n\n%s\n## Anti-patterns\n\n%s\n## Exit codes\n\n| code | name | meaning |\n|---|---|---|\n%s\n"):format(
		json.encode(facts.name), json.encode(facts.description), json.encode(facts.version), json.encode(facts.args), program(), facts.name,
		facts.description, table.concat(calls, "\n"), bullets(facts.guardrails), bullets(facts.patterns), bullets(facts.anti_patterns),
		exit_lines(facts.exit_codes))
end

---CONTEXT.md: which commands there are.
---@param list table[] of M.facts
---@param version string
---@return string
function M.context(list, version)
	local lines = {}
	for i, facts in ipairs(list) do
		lines[i] = ("- `%s %s` (%s): %s"):format(program(), facts.name, facts.danger_level, facts.description)
	end
	return ("---\nversion: %s\n---\n\n# Commands\n\nEach has a file of its own, `SKILL-NAME.md`. `%s` alone lists them as JSON.\n\n%s\n")
		:format(json.encode(version), program(), table.concat(lines, "\n"))
end

return M
