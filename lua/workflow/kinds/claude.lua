-- claude: a `claude:` step as a process, and what its result means. Runs in the
-- worker; it starts nothing. stdin is /dev/null, the prompt is an argument.

local classify = require "runner.workflow.kinds.classify"
local reply = require "runner.workflow.kinds.reply"
local step_process = require "runner.workflow.kinds.step_process"
local variables = require "runner.workflow.expr.variables"

local M = { noun = "Claude command" }

-- claude rejects stream-json with --print unless --verbose is given.
local FLAGS = { text = {}, json = { "--output-format", "json" }, ["stream-json"] = { "--output-format", "stream-json", "--verbose" } }

local function append(list, items)
	for _, item in ipairs(items) do
		list[#list + 1] = item
	end
end

-- A prompt that starts with a dash would be read as a flag.
local function argument(prompt)
	return prompt:sub(1, 1) == "-" and " " .. prompt or prompt
end

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param _ table the workflow
---@param settings table
---@return table options
function M.request(step, scope, _, settings)
	local claude = settings.claude or {}
	local prompt = variables.expand(step.text, scope)
	local argv = { claude.program or "claude" }
	append(argv, claude.args or {})
	argv[#argv + 1] = "--print"
	append(argv, FLAGS[claude.output or "text"])
	argv[#argv + 1] = argument(prompt)
	return step_process.options(step, scope, settings, argv, prompt)
end

---The prompt, for logs.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@return string
function M.describe(step, scope)
	return variables.expand(step.text, scope)
end

local function no_answer(code, why)
	return { code = code, transient = false, reason = why, message = "Process failed: " .. why }
end

local TOO_LONG = no_answer("OUTPUT_TOO_LARGE", "its JSON answer is longer than 1 MiB, the most that is kept")
local ILL_FORMED = no_answer("INVALID_RESULT", "its answer is not valid JSON")

-- JSON was requested, but is_error can't be read.
local function unreadable(settings, result, found)
	local flags = FLAGS[(settings.claude or {}).output or "text"]
	if not flags[1] or found or not result.ok then
		return nil
	end
	return result.stdout_dropped > 0 and TOO_LONG or result.stdout:find('"is_error"', 1, true) and ILL_FORMED or nil
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@return table outcome
function M.interpret(step, result, settings)
	local found = reply.find(result.stdout)
	local text = found and reply.text(found) or result.stdout
	local verdict = unreadable(settings, result, found)
	if verdict then
		return step_process.failure(result, verdict, text, settings)
	elseif result.ok and not reply.failed(found) then
		return step_process.success(result, text, found)
	end
	return step_process.failure(result, classify.claude(result, step_process.rules(step, result, settings)), text, settings)
end

return M
