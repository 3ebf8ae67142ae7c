-- classify: what a failure means: its code, its message, and whether a retry may
-- help. One table of classes; nothing here runs or waits. Runs in the worker.
-- Server errors, overload and timeouts are transient, authentication and wrong commands
-- permanent (Spec 185, FR1; docs/design.md#failure-classes). A number is an
-- HTTP status only where the words around it say so (lua/workflow/kinds/failure_text.lua).

local claude_failures = require "runner.workflow.kinds.claude_failures"
local claude_output = require "runner.workflow.kinds.claude_output"
local failure_text = require "runner.workflow.kinds.failure_text"
local host = require "runner.host"
local invoke = require "runner.invoke"

local M = {}

local TAIL = 64 << 10 -- bytes of a text that are looked at
local LINES = 200
local LINE = 4096 -- bytes of a line that are judged
local REASON = 200 -- characters

---@class runner.workflow.Verdict
---@field code string of the registry
---@field message string for people: error.message
---@field reason string for one log line
---@field transient boolean may a retry help?
---@field retry_after_ms integer? the wait that the failure asks for; not capped
---@field resets boolean? retry_after_ms is the time until a usage limit resets

---@class runner.workflow.Rules
---@field rules runner.workflow.RetryRule[]? retry_on of the workflow: what else is transient
---@field on string[]? codes: nothing else is transient
---@field unknown_transient boolean? default true (claude)
---@field retry boolean? the step declares a retry
---@field limit_ms integer? of this attempt
---@field now_ms integer? wall clock
---@field mask? fun(text: string): string hides secrets; what is cut is masked before

---The rows of the table in the docs.
---@return {name: string, shows: string, code: string, transient: boolean, display: string}[]
function M.table()
	local out = {}
	for i, class in ipairs(claude_failures.rows) do
		out[i] = { name = class.name, shows = class.shows, code = class.code, transient = class.transient,
			display = class.display:gsub("%%d", "N"):gsub("%%s", "…") }
	end
	return out
end

-- --- words ------------------------------------------------------------------------------------

-- One line that may stand in a log, whatever the program printed.
local function short(text, mask)
	local line = host.clean(mask and mask(text) or text):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
	return require("runner.core.visible").shorten(line, REASON)
end

local function lines_of(text)
	local lines = {}
	for line in text:sub(-TAIL):gmatch "[^\r\n]+" do
		lines[#lines + 1] = line:find "%S" and line or nil
	end
	return lines
end

local function last_line(text)
	local lines = lines_of(text)
	return lines[#lines] or ""
end

-- Of the text without secrets: it is cut.
local function shown_line(text, opts)
	return last_line(opts.mask and opts.mask(text) or text)
end

local function seconds(ms)
	local text = ("%.3f"):format(ms / 1000):gsub("0+$", ""):gsub("%.$", "")
	return text .. "s"
end

-- How a program ended, in words.
local function ending(result)
	if result.error then
		return result.error
	elseif result.signal then
		return "killed by " .. result.signal
	elseif result.status then
		return "exited with status " .. result.status
	end
	return "ended, but its exit status is unknown"
end

-- --- one line → a class -------------------------------------------------------------------------

local function finding(class, status, text)
	local full, words = text, text
	if status then
		full, words = failure_text.words(status, text)
	end
	return { class = class, status = status, full = full, words = words }
end

-- The line for the log, and error.message.
local function reason_and_message(found, mask)
	local display = not found.status and found.class.plain or found.class.display
	local full = short(found.full, mask)
	return full, display:find("%d", 1, true) and display:format(found.status, short(found.words, mask))
		or display:format(full)
end

local function judge_line(line)
	line = line:sub(1, LINE)
	local status, at = failure_text.status(line)
	if status then
		return finding(claude_failures.of_http(status), status, failure_text.detail(line, at))
	end
	local class = claude_failures.of_words(line)
	return class and finding(class, nil, line)
end

-- A rejected command line is reported first; a list of options follows, in which
-- words such as "timeout" mean nothing.
local function judge_usage(lines)
	local invalid = claude_failures.by_name["invalid command"]
	local head = lines[1] and judge_line(lines[1])
	if head and head.class == invalid then
		return head
	end
	for _, line in ipairs(lines) do
		if line:lower():find "^%s*usage:" then
			return finding(invalid, nil, lines[1])
		end
	end
end

-- One of Claude Code's own sentences, or its report of an error of the API.
local function judge_sentence(line)
	line = line:sub(1, LINE)
	local class = claude_failures.of_sentence(line)
	return class and finding(class, nil, line) or claude_failures.is_api_error(line) and judge_line(line) or nil
end

-- The last line that matches a class: it is nearest to the cause.
local function judge_text(text)
	local lines = lines_of(text)
	local found = judge_usage(lines)
	for i = #lines, math.max(1, #lines - LINES), -1 do
		found = found or judge_sentence(lines[i]) or judge_line(lines[i])
	end
	return found
end

-- --- user rules -----------------------------------------------------------------------------------

local TESTS = {
	exit = function(want, result) return want[result.status] == true end,
	stderr = function(want, result) return result.stderr:find(want, 1, true) ~= nil end,
	pattern = function(want, _, texts)
		local regexes = require "runner.core.regexes"
		for _, text in ipairs(texts) do
			if regexes.found(want, host.clean(text:sub(-TAIL)), true) then
				return true
			end
		end
		return false
	end,
}

-- Every condition of a rule must hold.
local function rule_holds(rule, result, texts)
	local tested = false
	for key, test in pairs(TESTS) do
		if rule[key] ~= nil then
			if not test(rule[key], result, texts) then
				return false
			end
			tested = true
		end
	end
	return tested
end

local function matching_rule(opts, result, texts)
	for _, rule in ipairs(opts.rules or {}) do
		if rule_holds(rule, result, texts) then
			return rule
		end
	end
end

-- The user's rules come last: one that holds makes it transient, `on` limits that.
local function apply_rules(verdict, opts, result, texts)
	local rule = matching_rule(opts, result, texts)
	if rule then
		verdict.code, verdict.transient = rule.code or verdict.code, true
	elseif opts.on and opts.on[1] then
		verdict.transient = verdict.transient and claude_failures.has(opts.on, verdict.code)
	end
	return verdict
end

local function wait_of(verdict, opts, texts)
	for _, text in ipairs(verdict.transient and texts or {}) do
		local ms, resets = failure_text.find(text:sub(-TAIL), opts.now_ms or os.time() * 1000)
		if ms then
			return ms, resets
		end
	end
end

-- --- claude ------------------------------------------------------------------------------------------

local function unknown(reason)
	return finding(claude_failures.by_name.unknown, nil, reason)
end

local function out_of_time(result, opts)
	local after = seconds(opts.limit_ms or result.duration_ms // 100 * 100)
	local class = claude_failures.by_name.limit
	return { class = class, reason = "timed out after " .. after, message = class.display:format(after) }
end

-- Subtypes such as error_max_turns say it all; "success" and error_during_execution nothing.
local function judge_subtype(found)
	return type(found.subtype) == "string" and found.subtype:find "^error_max" and judge_line(found.subtype) or nil
end

-- From the API's own result.
local function judge_reply(found)
	local text, status = claude_output.text(found), claude_output.status(found)
	local judged = judge_subtype(found) or judge_sentence(text)
	if judged then
		return judged.full == found.subtype and text ~= "" and finding(judged.class, nil, text) or judged
	elseif status then
		local at = text:find(status, 1, true)
		return finding(claude_failures.of_http(status), status, at and failure_text.detail(text, at) or text)
	end
	return judge_text(text) or judge_line(tostring(found.subtype))
end

-- 126 and 127: there is nothing to run.
local function judge_exit(result)
	local class = claude_failures.of_exit(result.status)
	local why = class and last_line(result.stderr)
	return class and finding(class, nil, why ~= "" and why or ending(result))
end

-- Some print the reason on stdout; where there is stderr, stdout is an answer.
local function judge_output(result)
	return not result.stderr:find "%S" and judge_line(last_line(result.stdout)) or nil
end

local function judge_claude(result, opts, found)
	if result.timed_out then
		return out_of_time(result, opts)
	elseif result.error then
		return unknown(result.error)
	end
	local judged = judge_exit(result) or found and judge_reply(found) or not found and judge_sentence(last_line(result.stdout))
		or judge_text(result.stderr) or not found and judge_output(result)
	if judged then
		return judged
	end
	local why = found and claude_output.text(found) or ""
	why = why ~= "" and why or shown_line(result.stderr, opts)
	return unknown(why ~= "" and why or ending(result))
end

-- "Network timeout after 12s": only the program knew the limit.
local function verdict_of(judged, result, opts)
	local class = judged.class
	local reason, message = judged.reason, judged.message
	if not reason then
		reason, message = reason_and_message(judged, opts.mask)
	end
	if class == claude_failures.by_name.timeout then
		message = class.display:format(seconds(result.duration_ms // 1000 * 1000))
	end
	return { code = class.code, message = message, reason = reason, transient = class.transient }
end

---What the failure of a claude program means. The first evidence counts: its time
---limit, exit status 126 or 127, its JSON result, a sentence of Claude Code's own on
---stdout, stderr, and without that the last line of stdout.
---@param result runner.Result
---@param opts? runner.workflow.Rules
---@return runner.workflow.Verdict
function M.claude(result, opts)
	opts = opts or {}
	local found = claude_output.find(result.stdout)
	found = claude_output.failed(found) and found or nil
	local judged = judge_claude(result, opts, found)
	local verdict = verdict_of(judged, result, opts)
	if judged.class == claude_failures.by_name.unknown then
		verdict.transient = opts.unknown_transient ~= false
	end
	local texts = { found and claude_output.text(found) or last_line(result.stdout), result.stderr }
	apply_rules(verdict, opts, result, texts)
	verdict.retry_after_ms, verdict.resets = wait_of(verdict, opts, texts)
	verdict.resets = verdict.resets and verdict.code == "RATE_LIMITED" or nil
	return verdict
end

-- --- shell -------------------------------------------------------------------------------------------

local function shell_reason(result, opts)
	if result.timed_out then
		return "timed out after " .. seconds(opts.limit_ms or result.duration_ms // 100 * 100)
	elseif result.error then
		return "could not be started: " .. result.error
	end
	local why = shown_line(result.stderr, opts)
	return short(ending(result) .. (why ~= "" and ": " .. why or ""), opts.mask)
end

-- A declared retry means retry; rules, where there are any, say when.
local function declared(opts)
	return opts.retry == true and not (opts.rules and opts.rules[1])
end

---What the failure of a shell step means. Its output is not classified: it could be
---anything.
---@param result runner.Result
---@param opts? runner.workflow.Rules
---@return runner.workflow.Verdict
function M.shell(result, opts)
	opts = opts or {}
	local reason = shell_reason(result, opts)
	local verdict = { code = result.timed_out and "TIMEOUT" or "SUBPROCESS_FAILED", reason = reason,
		message = "Shell command " .. reason:gsub("^killed", "was killed"), transient = declared(opts) }
	return apply_rules(verdict, opts, result, { result.stderr })
end

-- --- runner --------------------------------------------------------------------------------------------

local function no_envelope(result, opts)
	local reason = result.status == 0 and "exited with status 0 but no valid envelope" or shell_reason(result, opts)
	local code = result.timed_out and "TIMEOUT" or "SUBPROCESS_FAILED"
	return { code = code, reason = reason, message = "Runner command " .. reason:gsub("^killed", "was killed"),
		transient = result.timed_out and true or false }
end

---What the failure of a runner command means: what its envelope says.
---@param result runner.Result
---@param opts? runner.workflow.Rules | {maybe: boolean?} maybe: "maybe" counts as retryable
---@return runner.workflow.Verdict
function M.call(result, opts)
	opts = opts or {}
	local envelope = not result.timed_out and invoke.envelope(result)
	local e = envelope and envelope.error
	local verdict = type(e) == "table" and {
		code = e.code, message = tostring(e.message or e.code), reason = short(("%s: %s"):format(e.code, e.message), opts.mask),
		transient = e.retryable == true or e.retryable == "maybe" and opts.maybe == true,
		retry_after_ms = math.tointeger(e.retry_after_ms),
	} or no_envelope(result, opts)
	return apply_rules(verdict, opts, result, { result.stderr })
end

return M
