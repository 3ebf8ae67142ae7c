-- failure: the RESULT of a failed attempt. Loaded only when something has failed.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {}

local KINDS = { ["{"] = "a table of names", ["["] = "a list" }

-- A field of an error as JSON that begins with `opening`. A field that can't be is
-- dropped: the failure itself matters more.
local function encoded(name, value, opening)
	if value == nil then
		return nil
	end
	local text, why = require("runner.json").encode(value, { envelope = true })
	if not text or opening and text:sub(1, 1) ~= opening then
		attempt.warn("FIELD_IGNORED", ("The error's %s was dropped: %s"):format(name, not text and why
			or "it is not " .. KINDS[opening]))
		return nil
	end
	local veiled = attempt.veil(value, text)
	return veiled and require("runner.json").encode(veiled, { envelope = true }) or text
end

local SHOWN_LINES, SHOWN_BYTES = 10, 2000

-- The last lines of what a program wrote, each under the error; nil for one alone, which the message mostly has.
local function last_lines(text, code)
	local lines = {}
	for line in (attempt.mask or tostring)(text):sub(-SHOWN_BYTES):gmatch "[^\r\n]+" do
		lines[#lines + 1] = line:find "%S" and line or nil
	end
	local shows = lines[2] or lines[1] and code == "SUBPROCESS_FAILED"
	return shows and "\n    " .. table.concat(lines, "\n    ", math.max(#lines - SHOWN_LINES + 1, 1)) or nil
end

-- What people at a terminal see of the program that failed: its stderr, else its stdout.
local function output_of(e)
	local context = e.context
	if type(context) ~= "table" or not attempt.launch.stderr_is_tty then
		return nil
	end
	local said = type(context.stderr) == "string" and context.stderr:find "%S" and context.stderr or context.stdout
	return type(said) == "string" and last_lines(said, e.code) or nil
end

-- A traceback is for the author of the command: it goes to stderr. The caller gets the rest
-- (REQ-F-006).
local function without_traceback(detail)
	local at = detail and detail:find("stack traceback:", 1, true)
	local rest, trace = at and detail:sub(1, at - 1):gsub("\n$", ""), at and detail:sub(at)
	local person = attempt.launch.stderr_is_tty and not attempt.framework.verbose and not attempt.framework.debug
	if trace and not (attempt.framework.quiet or person) then
		io.stderr:write(host.clean(trace), "\n")
	end
	if not trace then
		return detail
	end
	return rest ~= "" and rest or nil
end

-- What programs and servers wrote, which is why it failed (REQ-F-035).
local FROM_OUTSIDE = { "stdout", "stderr", "body", "output" }

local function marked(context)
	for _, name in ipairs(type(context) == "table" and not attempt.framework.no_injection_protection and FROM_OUTSIDE or {}) do
		if type(context[name]) == "string" and context[name] ~= "" then
			return require("runner.core.tables").add({ _source = "external", _trusted = false }, context)
		end
	end
	return context
end

local function fields_of(e)
	return {
		ok = false, exit_code = e.exit_code, code = e.code, message = e.message, detail = without_traceback(e.detail), phase = e.phase,
		retryable = e.retryable ~= nil and tostring(e.retryable) or nil, retry_after_ms = e.retry_after_ms,
		retry_strategy = e.retry_strategy, retries_exhausted = e.retries_exhausted,
		side_effects = e.side_effects, fix_required = e.fix_required, fix_command = e.fix_command,
		suggestion = e.suggestion ~= e.fix_required and e.suggestion or nil, output = output_of(e),
		text = e.place, data = encoded("data", attempt.wrap(e.data)),
		context = encoded("context", marked(e.context), "{"), errors = encoded("errors", e.errors, "["),
		redirect = encoded("redirect", e.redirect, "{"),
	}
end

local DETAILS = { "detail", "output", "text", "data", "context", "errors", "redirect", "suggestion", "fix_required", "fix_command" }

-- Few errors have any, and each failed attempt asks: what sorts them is loaded when one has.
local function send_extra(e)
	local present = {}
	for name in next, require("runner.core.errors").extra do
		present[name] = e[name]
	end
	if next(present) == nil then
		return
	end
	for _, name in ipairs(require("runner.core.tables").sorted_keys(present)) do
		local data = encoded(name, e[name])
		if data then
			host.send("META", { name = "error." .. name, data = data }, true)
		end
	end
end

local WRONG = { COMMAND_NOT_FOUND = true, VALIDATION_ERROR = true } -- calls that may be repaired

---Send the RESULT of a failure. If its details are too large, it is sent without them:
---the bare facts always fit.
---@param e runner.Error
function M.reply(e)
	if WRONG[e.code] and e.phase == "validation" and not e.fix_command then
		local repair = require "runner.project.repair"
		local fix, advice, calls = repair.command(attempt)
		repair.agree(e, calls)
		e.fix_command = fix
		local listed = advice and not fix and (e.suggestion or ""):match "^Valid values: [^.?]*" -- stays in front of what may be meant
		advice = listed and listed .. ". " .. advice or advice
		e.suggestion = advice and (not fix or e.code == "COMMAND_NOT_FOUND") and advice or e.suggestion
	end
	if e.phase == "validation" then
		require("runner.project.usages").tell(e)
	end
	local fields = fields_of(e)
	send_extra(e)
	if host.send("RESULT", fields) then
		return
	end
	for _, name in ipairs(DETAILS) do
		fields[name] = nil
	end
	fields.message = e.message:sub(1, 8192)
	attempt.warn("FIELD_IGNORED", "The error's details were dropped: they are too large")
	host.send("RESULT", fields)
end

---A failure before there is a declaration: the plan holds what is known by then.
---@param name string of the command, as far as it is known
---@param problem runner.Error
---@param tokens? string[] the arguments
function M.early(name, problem, tokens)
	local plan = require "runner.project.plan"
	local parsed = require("runner.project.args").parse({}, tokens or {}, {})
	local framework = parsed.framework
	if parsed.framework_given.format == "flag" and not framework.format then
		framework.format = "json"
	end
	if parsed.rare then
		require("runner.project.call_flags").tell(framework)
	end
	host.send("PLAN", { command = name, format = plan.format_of(framework), quiet = framework.quiet or false,
		no_color = framework.no_color or framework.plain or false, exit_table = plan.exit_table(attempt.project or {}),
		max_bytes = require("runner.core.budget").asked(framework) })
	M.reply(problem)
end

return M
