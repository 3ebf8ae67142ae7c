-- claude: a `claude:` step as a process, and what its result means. Runs in the
-- worker; it starts nothing. The prompt is an argument and stdin /dev/null; a prompt
-- that is too long for an argument is stdin.

local claude_argv = require "runner.workflow.kinds.claude_argv"
local claude_events = require "runner.workflow.kinds.claude_events"
local claude_forms = require "runner.workflow.kinds.claude_forms"
local classify = require "runner.workflow.kinds.classify"
local errors = require "runner.core.errors"
local program_text = require "runner.core.program_text"
local reply = require "runner.workflow.kinds.reply"
local step_process = require "runner.workflow.kinds.step_process"
local variables = require "runner.workflow.expr.variables"

local M = { noun = "Claude command", costs = true }

-- The program retries by itself, ten times by default: 11 requests in 3 minutes, each
-- time that the step is attempted. A few keep a long session; the rest is the policy's.
local OWN_RETRIES, FEW = "CLAUDE_CODE_MAX_RETRIES", "2"

-- The step's environment, unless the user has set it anywhere.
local function own_retries(step, settings)
	local set = (settings.env or {})[OWN_RETRIES] or (step.env or {})[OWN_RETRIES] or os.getenv(OWN_RETRIES)
	return not set and { [OWN_RETRIES] = FEW } or nil
end

-- The prompt as the last argument or, where the system passes no argument that long, as
-- what the program reads from stdin.
local function pass_prompt(argv, step, prompt)
	if #prompt < program_text.MAX then
		argv[#argv + 1] = claude_argv.prompt(prompt)
		return nil
	elseif program_text.has_nul(prompt) then
		errors.raise("PRECONDITION", ("The text of step %s contains a NUL byte, which a prompt can't contain"):format(step.key),
			{ suggestion = "Pass the value in a file" })
	end
	return prompt
end

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param _ table the workflow
---@param settings table
---@param carried? runner.workflow.Carried
---@return table options
function M.request(step, scope, _, settings, carried)
	local function expand(template)
		return variables.expand(template, scope)
	end
	local prompt = expand(step.text)
	local session = claude_argv.session(step, scope, carried and carried.session_id)
	local argv = claude_argv.of(step, settings.claude or {}, expand, session, carried and carried.budget_micros)
	local stdin = pass_prompt(argv, step, prompt)
	local options = step_process.options(step, scope, settings, argv, prompt, own_retries(step, settings))
	options.stdin = stdin
	options.session_id = session and session.id
	return options
end

---The command line as the file has it, without values.
---@param step runner.workflow.Step
---@param workflow runner.workflow.Workflow
---@return string[]
function M.plan(step, workflow)
	local budget = step.max_cost and workflow.max_cost and math.min(step.max_cost, workflow.max_cost) or step.max_cost
		or workflow.max_cost
	local argv = claude_argv.of(step, workflow.claude, function(template) return template end,
		claude_argv.planned_session(step), budget)
	argv[#argv + 1] = claude_argv.prompt(step.text)
	return argv
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

local function json_requested(settings)
	return ((settings.claude or {}).output or "text") ~= "text"
end

-- JSON was requested, but is_error can't be read.
local function unreadable(settings, result, found)
	if not json_requested(settings) or found or not result.ok then
		return nil
	end
	return result.stdout_dropped > 0 and TOO_LONG or result.stdout:find('"is_error"', 1, true) and ILL_FORMED or nil
end

-- An exit status of 0, but no model was asked: there is no such slash command. Without
-- a JSON result only the answer to a slash command can be that.
local function unknown_command(step, found, text)
	local asked_none = found and found.num_turns == 0 or not found and step.text:find "^%s*[/$]"
	local verdict = asked_none and claude_forms.is_unknown_command(text) and text:match "^%s*(.-)%s*$"
	return verdict and { code = "PRECONDITION", transient = false, reason = verdict, message = "Invalid command: " .. verdict }
end

-- JSON was requested, but the program ended without a result, as it does with status 0
-- when it is sent INT.
local CUT_OFF = { code = "SUBPROCESS_FAILED", transient = true, reason = "ended without a result",
	message = "Process failed: ended without a result" }

local function cut_off(settings, result, found)
	if not json_requested(settings) or found or not result.ok then
		return nil
	end
	local last
	for line in result.stdout:gmatch "[^\r\n]+" do
		last = line
	end
	return (not last or last:find '^{"type":"%l+"') and CUT_OFF or nil
end

-- In text an exit status of 0 is a success (Spec 185), whatever was printed. Claude Code itself
-- ends an empty answer with a newline, and prints nothing at all when it is sent INT.
local function said_nothing(settings, result)
	return not json_requested(settings) and result.stdout == "" and { code = "EMPTY_ANSWER",
		message = "its program exited with status 0 and printed nothing at all, as Claude Code does when it is interrupted" } or nil
end

-- Without a result, what isn't an event is the output.
local function text_of(settings, result)
	local streams = (settings.claude or {}).output == "stream-json"
	return streams and claude_events.plain(result.stdout) or result.stdout
end

local function outcome_of(step, result, settings, found)
	local text = found and reply.text(found) or text_of(settings, result)
	local verdict = unreadable(settings, result, found) or cut_off(settings, result, found)
		or result.ok and unknown_command(step, found, text)
	if verdict then
		return step_process.failure(result, verdict, text, settings)
	elseif result.ok and not reply.failed(found) then
		local outcome = step_process.success(result, text, found)
		outcome.warning = said_nothing(settings, result)
		return outcome
	end
	return step_process.failure(result, classify.claude(result, step_process.rules(step, result, settings)), text, settings)
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@return table outcome with what the program says that it used; of a success that may be
---  none, `warning` {code, message}
function M.interpret(step, result, settings)
	local found = reply.find(result.stdout)
	local outcome = outcome_of(step, result, settings, found)
	outcome.usage = reply.usage(found)
	return outcome
end

return M
