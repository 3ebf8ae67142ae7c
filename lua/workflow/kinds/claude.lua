-- claude: a `claude:` step as a process, and what its result means. Runs in the worker; it starts
-- nothing. The command line has the flags that the file asks for, the session that the step starts or
-- continues, and at its end the prompt, with stdin /dev/null; a prompt too long for an argument is stdin.

local amounts = require "runner.core.amounts"
local classify = require "runner.workflow.kinds.classify"
local claude_failures = require "runner.workflow.kinds.claude_failures"
local claude_keys = require "runner.workflow.expr.claude_keys"
local claude_output = require "runner.workflow.kinds.claude_output"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local globs = require "runner.core.globs"
local host = require "runner.host"
local json = require "runner.json"
local step_process = require "runner.workflow.kinds.step_process"
local variables = require "runner.workflow.expr.variables"

local M = { noun = "Claude command", costs = true }

-- The permissions that a claude program was refused, as its result lists them
-- (permission_denials), and which of them were to be expected. Pure; what that
-- means for a step is lua/workflow/kinds/claude.lua's.

local MOST, LENGTH = 20, 200 -- that are told of, and bytes of each

local FORBIDS = { ["--disallowedTools"] = true, ["--disallowed-tools"] = true }
local ALLOWS = { ["--allowedTools"] = true, ["--allowed-tools"] = true }

-- --- what is forbidden, or allowed ----------------------------------------------------

-- "Bash(git *), Edit" → the rules in it; a blank between parentheses divides nothing.
local function add_rules(out, text)
	local hidden = text:gsub("%b()", function(inner)
		return (inner:gsub("[ ,]", { [" "] = "\1", [","] = "\2" }))
	end)
	for rule in hidden:gmatch "[^ ,]+" do
		local tool, pattern = rule:gsub("\1", " "):gsub("\2", ","):match "^([^(]+)%(?(.-)%)?$"
		out[#out + 1] = tool and { tool = tool, pattern = pattern ~= "" and pattern ~= "*" and pattern or nil }
	end
end

---The rules of a command line's --disallowedTools, or of other flags.
---@param argv string[]
---@param flags? table<string, true>
---@return {tool: string, pattern: string?}[]
function M.rules(argv, flags)
	local out, inside = {}, false
	for _, word in ipairs(argv) do
		local flag, value = word:match "^(%-%-[%w-]+)=?(.*)$"
		if flag then
			inside = (flags or FORBIDS)[flag] or false
		end
		if inside then
			add_rules(out, flag and value or word)
		end
	end
	return out
end

-- --- does a rule name a call? ------------------------------------------------------------

local function literal(text)
	return (text:gsub("%p", "%%%0"))
end

-- "git *" and "git:*" are git with any arguments, and without.
local function is_command(pattern, command)
	local head = pattern:match "^(.-)[ :]%*$"
	if head then
		return is_command(head, command) or is_command(head .. " ?*", command)
	end
	return command:find("^" .. literal(pattern):gsub("%%%?%%%*", ".+"):gsub("%%%*", ".*") .. "$") ~= nil
end

-- One of the commands that a line runs.
local function runs(pattern, input)
	for command in tostring(input.command):gmatch "[^;&|\n]+" do
		if is_command(pattern, command:match "^%s*(.-)%s*$") then
			return true
		end
	end
	return false
end

-- A path that begins with "//" is whole, any other is below some directory.
local function is_path(pattern, input)
	local path = input.file_path or input.notebook_path or input.path
	local whole, below = pattern:match "^/(/.*)$", pattern:gsub("^[.~]?/", "")
	return type(path) == "string" and globs.matches(globs.parts(whole or "**/" .. below), globs.names(path), true)
end

local function is_host(pattern, input)
	local wanted, site = pattern:match "^domain:(.+)$", tostring(input.url):match "^%a+://([^/:]+)"
	return wanted ~= nil and site ~= nil and ("." .. site):sub(-#wanted - 1) == "." .. wanted
end

local MATCHES = { Bash = runs, WebFetch = is_host }

-- Rules for Edit hold for every tool that edits files; that of a server of MCP names all its tools.
local EDITS = { Write = true, MultiEdit = true, NotebookEdit = true }

local function names_tool(rule, tool)
	local server = rule.tool:match "^(mcp__.-)_?_?%*?$"
	return rule.tool == tool or rule.tool == "Edit" and EDITS[tool]
		or server and tool:sub(1, #server + 2) == server .. "__" or false
end

local function names(rule, denial)
	return names_tool(rule, denial.tool)
		and (not rule.pattern or (MATCHES[denial.tool] or is_path)(rule.pattern, denial.input))
end

-- --- the denials of a result ------------------------------------------------------------------

-- What only a person can grant: refused in every program without one, whatever it may do.
local ASKS = { AskUserQuestion = true, EnterPlanMode = true, ExitPlanMode = true }

-- The first rule that names the call.
local function rule_of(rules, denial)
	for _, rule in ipairs(rules) do
		if names(rule, denial) then
			return rule
		end
	end
end

---The calls that were denied, a line each, and whether something else was asked for than what the
---command line forbids, or a person alone can grant. Such calls come first.
---@param found runner.workflow.Reply?
---@param argv string[]
---@return string[] calls
---@return boolean unforeseen
---@return string? allowed the tool of one of them that the command line allows
function M.of(found, argv)
	local listed = found and type(found.permission_denials) == "table" and found.permission_denials or {}
	local rules, allows, unforeseen, foreseen, allowed = M.rules(argv), M.rules(argv, ALLOWS), {}, {}, nil
	for _, row in ipairs(listed) do
		local tool = type(row) == "table" and type(row.tool_name) == "string" and row.tool_name or "a tool"
		local input = type(row) == "table" and type(row.tool_input) == "table" and row.tool_input or {}
		local denial = { tool = tool, input = input }
		local calls = (ASKS[tool] or rule_of(rules, denial)) and foreseen or unforeseen
		-- a rule allows a line only where all that it runs is allowed
		local is_line = tool == "Bash" and tostring(input.command):find "[;&|\n]"
		allowed = allowed or calls == unforeseen and not is_line and rule_of(allows, denial) and tool or nil
		calls[#calls + 1] = #calls < MOST and claude_output.tool_call(tool, input):sub(1, LENGTH) or nil
	end
	local fails = unforeseen[1] ~= nil
	return table.move(foreseen, 1, math.min(#foreseen, MOST - #unforeseen), #unforeseen + 1, unforeseen), fails, allowed
end

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
local function session_named(step, scope)
	local given = scope.steps[step.session]
	return given and given.session_id or errors.raise("PRECONDITION",
		("Step %s continues the session of step %s, which has none"):format(step.key, step.session),
		{ suggestion = given and ("Its program reported no session: see the log of step %s"):format(step.session)
			or ("Step %s was skipped: give step %s the same condition"):format(step.session, step.key) })
end

---The session of an attempt; nil where the program chooses one and no step needs it. Its
---id is known before the program starts, so that a killed one can be continued.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param last? string the session of the step's latest attempt
---@return runner.workflow.Session?
function M.session(step, scope, last)
	if step.resume_session and last then
		return { id = last, continues = true }
	elseif step.session then
		return { id = session_named(step, scope), continues = true }
	elseif step.resume_session or step.keeps_session then
		return { id = uuid(), continues = false }
	end
end

---What stands for the session of a first attempt where nothing runs.
---@param step runner.workflow.Step
---@return runner.workflow.Session?
local function planned_session(step)
	if step.session then
		return { id = ("${steps.%s.session_id}"):format(step.session), continues = true }
	elseif step.resume_session or step.keeps_session then
		return { id = "UUID", continues = false }
	end
end

-- --- the command line ---------------------------------------------------------------------

local function append(list, items)
	table.move(items, 1, #items, #list + 1, list)
end

---The command line, up to the prompt.
---@param step runner.workflow.Step
---@param claude {program: string?, args: string[]?, output: string?} the workflow's
---@param expand fun(template: string): string
---@param session? runner.workflow.Session
---@param budget? integer micro-dollars that it may cost
---@return string[]
local function argv_of(step, claude, expand, session, budget)
	local argv = { claude.program or "claude" }
	append(argv, claude.args or {})
	for _, template in ipairs(step.args or {}) do
		argv[#argv + 1] = expand(template)
	end
	claude_keys.append(argv, step.options or {}, expand)
	append(argv, step.schema and { "--json-schema", assert(json.encode(step.schema)) } or {})
	if session then
		append(argv, { session.continues and "--resume" or "--session-id", session.id })
	end
	if budget then
		append(argv, { "--max-budget-usd", amounts.text(budget) })
	end
	argv[#argv + 1] = "--print"
	append(argv, FORMATS[claude.output or "text"])
	return argv
end

---A prompt as an argument: one that starts with a dash would be read as a flag.
---@param prompt string
---@return string
local function prompt_argument(prompt)
	return prompt:sub(1, 1) == "-" and " " .. prompt or prompt
end

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
	if #prompt < command_line.MAX then
		argv[#argv + 1] = prompt_argument(prompt)
		return nil
	elseif command_line.has_nul(prompt) then
		errors.raise("PRECONDITION", ("The text of step %s contains a NUL byte, which a prompt can't contain"):format(step.key),
			{ suggestion = "Pass the value in a file" })
	end
	return prompt
end

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param settings table
---@param carried? runner.workflow.Carried
---@return table options
function M.request(step, scope, settings, carried)
	local function expand(template)
		return variables.expand(template, scope)
	end
	local prompt = expand(step.text)
	local session = M.session(step, scope, carried and carried.session_id)
	local argv = argv_of(step, settings.claude or {}, expand, session, carried and carried.budget_micros)
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
	local least = math.min(step.max_cost or math.huge, workflow.max_cost or math.huge, step.max_attempt_cost or math.huge)
	local budget = least < math.huge and least or nil
	local argv = argv_of(step, workflow.claude, function(template) return template end,
		planned_session(step), budget)
	argv[#argv + 1] = prompt_argument(step.text)
	return argv
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
	local verdict = asked_none and claude_failures.is_unknown_command(text) and text:match "^%s*(.-)%s*$"
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
	return streams and claude_output.without_events(result.stdout) or result.stdout
end

-- --- an answer that lacks what was asked for -------------------------------------------------

local UNMET = { code = "SCHEMA_NOT_MET", transient = false, reason = "no structured output, which --json-schema asks for",
	message = "Process failed: its answer has no structured output, which --json-schema asks for" }

local FAULTS = 3 -- that a message names

-- Where the answer isn't of the schema that the step has.
local function off_schema(schema, data)
	local json_schema = require "runner.core.json_schema"
	local faults = data == nil and { "it is no JSON" } or json_schema.texts(json_schema.problems(schema, data), FAULTS)
	local why = faults[1] and "its answer is not of the schema: " .. table.concat(faults, "; ")
	return why and { code = "SCHEMA_NOT_MET", transient = false, reason = why, message = "Process failed: " .. why }
end

-- The program asks the model twice, and then takes any answer for a success.
local function schema_unmet(found, text, argv)
	for _, word in ipairs(argv) do
		if word:find "^%-%-json%-schema" then
			local met = (found or {}).structured_output
			return (met == nil or met == json.null) and (found or json.decode(text) == nil) and UNMET or nil
		end
	end
end

local function denied_text(calls)
	return calls[1] .. (calls[2] and (" and %d more"):format(#calls - 1) or "")
end

local ALLOWED = "allowed_tools has %s: something else denies it, a hook in the program's settings, or permission_mode: plan"
local FIX = "Allow it (allowed_tools, permission_mode), forbid it (disallowed_tools), or write on_denied: warn"

-- Its work lacks what it wasn't allowed to do.
local function denied(step, calls, unforeseen, allowed)
	if unforeseen and step.on_denied ~= "warn" then
		local what = denied_text(calls)
		return { code = "PERMISSION_DENIED", transient = false, reason = "permission denied: " .. what,
			message = "Permission denied: " .. what, fix_required = allowed and ALLOWED:format(allowed) or FIX, in_file = true }
	end
end

local function denied_warning(calls)
	return calls[1] and { code = "PERMISSION_DENIED", message = "the program was denied permission: " .. denied_text(calls) } or nil
end

-- --- the outcome -----------------------------------------------------------------------------

-- Its data: structured output, or the answer where the file says that this is JSON (nil: as of a
-- shell step); else all that the program reports.
local function data_of(step, found, text)
	local structured = (found or {}).structured_output
	if structured ~= nil and structured ~= json.null then
		return structured
	elseif step.schema then
		return json.decode(text)
	end
	return step.answer ~= "json" and found or nil
end

local function no_json(step, outcome)
	return step.answer == "json" and outcome.data == nil and { code = "ANSWER_NOT_JSON",
		message = "its answer is no JSON object or array, so the step has no data" } or nil
end

-- What is strange about a success: a step has one warning, with the code of the first, which says all.
local function strange(...)
	local first, texts = nil, {}
	for i = 1, select("#", ...) do
		local warning = select(i, ...)
		if warning then
			first = first or warning.code
			texts[#texts + 1] = (first ~= warning.code and warning.code .. ": " or "") .. warning.message
		end
	end
	return first and { code = first, message = table.concat(texts, "; ") } or nil
end

-- Why an answer is none.
local function no_success(step, result, settings, found, text)
	return unreadable(settings, result, found) or cut_off(settings, result, found)
		or result.ok and unknown_command(step, found, text)
		or not (result.ok and not claude_output.failed(found)) and classify.claude(result, step_process.rules(step, result, settings))
end

local function outcome_of(step, result, settings, found, argv)
	local text = found and claude_output.text(found) or text_of(settings, result)
	local calls, unforeseen, allowed = M.of(found, argv)
	local verdict = no_success(step, result, settings, found, text) or denied(step, calls, unforeseen, allowed)
		or step.schema and off_schema(step.schema, data_of(step, found, text)) or schema_unmet(found, text, argv)
	if not verdict then
		local outcome = step_process.success(result, text, data_of(step, found, text))
		outcome.warning = strange(denied_warning(calls), said_nothing(settings, result), no_json(step, outcome))
		return outcome
	end
	local outcome = step_process.failure(result, verdict, text, settings)
	outcome.fix_required, outcome.in_file = verdict.fix_required, verdict.in_file
	outcome.context.denied = calls[1] and json.array(calls) or nil
	return outcome
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@param request? table as M.request gave it
---@return table outcome with what the program says that it used; of a success that may be
---  none, `warning` {code, message}
function M.interpret(step, result, settings, request)
	local found = claude_output.find(result.stdout)
	local outcome = outcome_of(step, result, settings, found, request and request.argv or {})
	outcome.usage = claude_output.usage(found)
	return outcome
end

return M
