-- checked: what would become of a call under a policy. It is made by a process of its own, as any other one is, but for its end: where
-- `run` would begin, it says what it has found (lua/project/limited_calls.lua), and nothing is counted or written down.

local attempt = require "runner.core.attempt"
local calls = require "runner.calls.calls"
local errors = require "runner.core.errors"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"

local M = {}

local CAP, GRACE_MS, MOST = 18 << 20, 10000, 200

---@class runner.Checked
---@field command? string dot path, as policies know it
---@field asked? boolean a person is asked before it, or before one that it makes
---@field counted string the calls that are made by then, as RUNNER_CALLED has them
---@field made integer
---@field problem? runner.Error what the call would end with, before `run`

-- Where we were told to look, it looks as well.
local function argv_of(path, words)
	local settings = attempt.place.settings or {}
	local argv = { invoke.program(), "--policy=" .. path }
	argv[3] = settings.none and "--no-config" or settings.config and "--config=" .. settings.config or nil
	return attempt.call.stdin_words and argv or table.move(words, 1, #words, #argv + 1, argv)
end

local function ask(path, words, counted)
	local stdin, more = "", {}
	if attempt.call.stdin_words then -- no other process saw them so far
		stdin, more = invoke.hand_over(words, tostring)
	end
	local env = { "RUNNER_CALLED=policy.check" .. counted, more.RUNNER_ARGUMENTS and "RUNNER_ARGUMENTS=" .. more.RUNNER_ARGUMENTS }
	return (calls.answer(table.concat(words, " "), { argv = argv_of(path, words), argv0 = invoke.name(), env = env, stdin = stdin,
		reread_stdin = true, cap = CAP, grace_ms = GRACE_MS, on_line = function() end }))
end

local function failure(envelope)
	local e = invoke.failure(envelope)
	e.data, e.retries_exhausted, e.fix_command = nil, nil, nil -- a repair is of the call, not of ours
	return e
end

local function text_of(v)
	return type(v) == "table" and json.encode(v) or tostring(v)
end

-- The calls that it makes before its own `run`.
local function calls_of(about)
	local out = about.calls or {}
	for _, list in ipairs(about.needs or {}) do
		for _, need in ipairs(list) do
			local words = {}
			for word in need.name:gmatch "%S+" do
				words[#words + 1] = word
			end
			out[#out + 1] = invoke.words(words, need.args, text_of)
		end
	end
	return out
end

local check

-- What it makes before its own `run` comes first, and is counted before it.
local function check_others(path, about, into)
	for _, words in ipairs(calls_of(about)) do
		local asked, counted = into.asked, into.counted
		into.made = into.made + 1
		if into.made > MOST then
			into.problem = into.problem or errors.new("PRECONDITION", "It makes too many calls, or a circle of them: not all were checked",
				{ side_effects = "none", retryable = false })
		end
		if into.problem then
			break
		end
		check(path, words, into)
		if about.confirms and into.asked and not asked and not into.problem then -- whoever has confirmed it has confirmed what it needs
			words[#words + 1], into.asked, into.counted = "--confirm-destructive", false, counted
			check(path, words, into)
		end
	end
end

function check(path, words, into)
	local envelope = ask(path, words, into.counted)
	for _, warning in ipairs(envelope.warnings or {}) do
		attempt.warn(warning.code, warning.message, warning.context)
	end
	if not envelope.ok then
		into.problem = failure(envelope)
		return invoke.value(envelope.meta.command)
	end
	local about = envelope.meta.validation_only and envelope.data or {} -- else it says something, and runs nothing
	into.asked = into.asked or about.asked or false
	check_others(path, about, into)
	if about.counted then
		into.counted = ("%s %s%s"):format(into.counted, about.builtin and "!" or "", about.command)
	end
	return about.command or invoke.value(envelope.meta.command)
end

---@param path string of the policy
---@param words string[] of the call
---@return runner.Checked
function M.call(path, words)
	local out = { counted = "", made = 0, asked = false }
	scheduler.run(function()
		out.command = check(path, words, out)
	end)
	return out
end

return M
