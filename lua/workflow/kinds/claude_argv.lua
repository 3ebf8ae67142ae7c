-- claude_argv: the command line of a claude step: the program, the flags that the file
-- asks for, and the session that it starts or continues. The prompt comes last and is
-- added by lua/workflow/kinds/claude.lua. It starts nothing.

local claude_keys = require "runner.workflow.expr.claude_keys"
local errors = require "runner.core.errors"
local host = require "runner.host"
local money = require "runner.core.money"

local M = {}

---@class runner.workflow.Carried what an attempt has from earlier ones of its step
---@field session_id? string of the latest one
---@field budget_micros? integer what it may cost

---@class runner.workflow.Session
---@field id string
---@field continues boolean it exists already

-- claude rejects stream-json with --print unless --verbose is given.
local FORMATS = { text = {}, json = { "--output-format", "json" }, ["stream-json"] = { "--output-format", "stream-json", "--verbose" } }

-- --- sessions ---------------------------------------------------------------------------

-- A random UUID (RFC 9562, version 4).
local function uuid()
	local hex = ("%016x%016x"):format(host.random(), host.random())
	local variant = ("%x"):format(8 + host.random() % 4)
	return ("%s-%s-4%s-%s%s-%s"):format(hex:sub(1, 8), hex:sub(9, 12), hex:sub(14, 16), variant, hex:sub(18, 20), hex:sub(21, 32))
end

-- The session of the step that `session` names.
local function session_of(step, scope)
	local given = scope.steps[step.session]
	return given and given.session_id or errors.raise("PRECONDITION",
		("Step %s continues the session of step %s, which has none"):format(step.key, step.session),
		{ suggestion = given and ("Its program reported no session: see the log of step %s"):format(step.session)
			or ("Step %s was skipped: give step %s the same condition"):format(step.session, step.key) })
end

---The session of an attempt; nil where the program chooses one and nobody needs it. Its
---id is known before the program starts, so that a killed one can be continued.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param last? string the session of the step's latest attempt
---@return runner.workflow.Session?
function M.session(step, scope, last)
	if step.resume_session and last then
		return { id = last, continues = true }
	elseif step.session then
		return { id = session_of(step, scope), continues = true }
	elseif step.resume_session or step.keeps_session then
		return { id = uuid(), continues = false }
	end
end

---What stands for the session of a first attempt where nothing runs.
---@param step runner.workflow.Step
---@return runner.workflow.Session?
function M.planned_session(step)
	if step.session then
		return { id = ("${steps.%s.session_id}"):format(step.session), continues = true }
	elseif step.resume_session or step.keeps_session then
		return { id = "UUID", continues = false }
	end
end

-- --- the command line ---------------------------------------------------------------------

local function append(list, items)
	for _, item in ipairs(items) do
		list[#list + 1] = item
	end
end

---The command line, up to the prompt.
---@param step runner.workflow.Step
---@param claude {program: string?, args: string[]?, output: string?} the workflow's
---@param expand fun(template: string): string
---@param session? runner.workflow.Session
---@param budget? integer micro-dollars that it may cost
---@return string[]
function M.of(step, claude, expand, session, budget)
	local argv = { claude.program or "claude" }
	append(argv, claude.args or {})
	for _, template in ipairs(step.args or {}) do
		argv[#argv + 1] = expand(template)
	end
	claude_keys.append(argv, step.options or {}, expand)
	if session then
		append(argv, { session.continues and "--resume" or "--session-id", session.id })
	end
	if budget then
		append(argv, { "--max-budget-usd", money.text(budget) })
	end
	argv[#argv + 1] = "--print"
	append(argv, FORMATS[claude.output or "text"])
	return argv
end

---A prompt as an argument: one that starts with a dash would be read as a flag.
---@param prompt string
---@return string
function M.prompt(prompt)
	return prompt:sub(1, 1) == "-" and " " .. prompt or prompt
end

return M
