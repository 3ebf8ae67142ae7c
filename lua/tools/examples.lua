-- examples: the examples of declarations, run as a caller would type them, but as dry runs where
-- the command changes something. One that the command refuses is a problem; one that fails for
-- another reason, such as a server that is not there, is a warning. For `runner lint`.

local command_words = require "runner.tools.command_words"
local fs = require "runner.fs"
local json = require "runner.json"

local M = {}

local TIMEOUT = "30s"

-- Failures that are the file's own fault.
local FAULTS = { INTERNAL_ERROR = true, COMMAND_CRASHED = true, INVALID_RESULT = true, UNDECLARED_EXIT_CODE = true,
	OUTPUT_SCHEMA_MISMATCH = true }

local function run(ctx, words)
	local argv = { fs.readlink "/proc/self/exe" or "runner", check = false, timeout = TIMEOUT,
		env = { RUNNER_DRY_RUN = "1", RUNNER_FORMAT = "json", RUNNER_RETRIES = "0" } }
	table.move(words, 2, #words, 2, argv)
	return ctx:run(argv)
end

local function answer_of(result)
	local envelope = json.decode(result.stdout)
	local e = type(envelope) == "table" and type(envelope.error) == "table" and envelope.error or {}
	return tostring(e.code or ("exit code %s"):format(result.status or result.signal)), e.message and ": " .. e.message or ""
end

local function judge(ctx, example, shown, i, out)
	local function add(list, message, fix)
		list[#list + 1] = { file = shown, key = ("examples.%d"):format(i), fix = fix, message = ("%s: example %d, '%s', %s. %s"):format(
			shown, i, example.command, message, fix) }
	end
	local words = command_words.split(example.command)
	if not words or words[1] ~= "runner" then
		return add(out.warnings, "needs a shell, and was not run", "Write a plain call: runner COMMAND ARGUMENTS")
	end
	out.examples = out.examples + 1
	local result = run(ctx, words)
	if result.ok then
		return
	end
	local code, message = answer_of(result)
	if result.timed_out then
		add(out.warnings, ("was ended after %s"):format(TIMEOUT), "Write one that ends")
	elseif result.status == 2 or FAULTS[code] or not result.status then
		add(out.problems, ("fails with %s%s"):format(code, message), "Correct the example, or the command")
	else
		add(out.warnings, ("failed here with %s%s"):format(code, message), "Run it where it can succeed")
	end
end

---Run the examples of a command.
---@param ctx runner.Context
---@param declaration any what the file returned
---@param shown string path of the file, for messages
---@param out {problems: runner.Finding[], warnings: runner.Finding[], examples: integer} what is found is added
function M.check(ctx, declaration, shown, out)
	local list = type(declaration) == "table" and declaration.examples
	for i, example in ipairs(type(list) == "table" and list or {}) do
		if type(example) == "table" and type(example.command) == "string" then
			judge(ctx, example, shown, i, out)
		end
	end
end

return M
