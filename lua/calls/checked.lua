-- checked: what would become of a call under a policy. It is made by a process of its own, as any other one is, but for its end: where
-- `run` would begin, it says what it has found (lua/project/limited_calls.lua), and nothing is counted or written down.

local attempt = require "runner.core.attempt"
local calls = require "runner.calls.calls"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local tables = require "runner.core.tables"

local M = {}

local CAP, GRACE_MS, MOST = 18 << 20, 10000, 200

---@class runner.Checked
---@field command? string dot path, as policies know it
---@field asked? boolean a person is asked before it, or before one that it makes
---@field above? table[] the quotas for which one is asked
---@field counted string the calls that are made by then, as RUNNER_CALLED has them
---@field made integer
---@field done table<string, true> what has run by then for others that need it
---@field problem? runner.Error what the call would end with, before `run`

-- A call to check: where and with what it would be made, as a verdict has these (lua/project/limited_calls.lua).
---@class runner.ToCheck
---@field words string[]
---@field handed? string[] what it is given on stdin behind them: what a command needs gets its arguments so
---@field confirmed? "agreed"|"needed" what needs it is confirmed by then (lua/ctx/needs.lua)
---@field part? boolean another call makes it
---@field at table

local function argv_of(call)
	local settings = call.at.settings or {}
	local argv = { invoke.program() }
	argv[2] = settings.none and "--no-config" or settings.config and "--config=" .. settings.config or nil
	return table.move(call.words, 1, #call.words, #argv + 1, argv)
end

-- What it says of itself comes by a file that only we have named: its flags, masks and bounds are those of an answer that no caller reads.
local function ask(call, into)
	local path, at, stdin, more = ("%s/verdict-%d"):format(attempt.ctx.tempdir, into.made), call.at, "", {}
	if call.handed then -- no other process sees them
		stdin, more = invoke.hand_over(call.handed, tostring, call.confirmed)
	end
	local env = { "RUNNER_CALLED=policy.check" .. into.counted .. "\n" .. path, "RUNNER_POLICY=" .. at.policies,
		at.context and "RUNNER_CONTEXT=" .. at.context or "RUNNER_CONTEXT" }
	env[#env + 1] = more.RUNNER_ARGUMENTS and "RUNNER_ARGUMENTS=" .. more.RUNNER_ARGUMENTS or nil
	env[#env + 1] = at.dry_run and "RUNNER_DRY_RUN=" .. at.dry_run or nil
	env[#env + 1] = call.part and "RUNNER_AUTOMATION=check" or nil -- it doesn't wait for a person by itself
	env[#env + 1] = at.cwd and "PWD=" .. at.cwd or nil
	local envelope = calls.answer(table.concat(call.words, " "), { argv = argv_of(call), argv0 = invoke.name(), env = env, stdin = stdin,
		reread_stdin = true, cwd = at.cwd, cap = CAP, grace_ms = GRACE_MS, on_line = function() end })
	local verdict = json.decode(fs.read(path) or "")
	return envelope, type(verdict) == "table" and type(verdict.command) == "string" and verdict or nil
end

local function failure(envelope)
	local e = invoke.failure(envelope)
	e.data, e.retries_exhausted, e.fix_command = nil, nil, nil -- a repair is of the call, not of ours
	return e
end

local function text_of(v)
	return invoke.word(v) or json.encode(v)
end

-- What `+` makes one after another.
local function parts_of(about, from)
	local list, flag = {}, about.yes and { "--yes" } or {}
	for i, words in ipairs(about.calls or {}) do
		words = table.move(words, 1, #words, #flag + 1, { flag[1] })
		list[i] = { words = from.handed and {} or words, handed = from.handed and words, at = about, part = true, key = about.plain[i] }
	end
	return list
end

-- What it needs, each once, with its arguments where no other user reads them.
local function needs_of(about)
	local list = {}
	for _, needs in ipairs(about.needs or {}) do
		for _, need in ipairs(needs) do
			local words = {}
			for word in (need.name .. (about.yes and " --yes" or "")):gmatch "%S+" do
				words[#words + 1] = word
			end
			local apart = need.distinct or need.args
			list[#list + 1] = { words = words, handed = invoke.words({}, need.args, text_of), need = need.name, part = true,
				confirmed = about.confirms,
				key = need.name .. (next(apart) ~= nil and " " .. assert(json.encode(apart)) or ""),
				at = tables.add(tables.add({}, about), { settings = false }) }
		end
	end
	return list
end

local function precondition(message)
	return errors.new("PRECONDITION", message, { side_effects = "none", retryable = false })
end

-- A command that needs itself, and the names above it.
local function circle(above, need)
	for i, name in ipairs(above) do
		if name == need then
			return errors.new("COMMAND_INVALID", ("'%s' needs itself: %s → %s"):format(need, table.concat(above, " → ", i), need),
				{ side_effects = "none", retryable = false })
		end
	end
end

local check

-- What it makes before its own `run` comes first, and is counted before it; what has run for one is there for all.
local function check_others(list, into, above)
	for _, call in ipairs(list) do
		into.problem = call.need and circle(above, call.need) or into.problem
		if into.problem then
			return
		elseif not (call.need and into.done[call.key]) then
			check(call, into, above)
			into.done[call.key or false] = true -- false: of a part with arguments
		end
	end
end

function check(call, into, above)
	into.made = into.made + 1
	if into.made > MOST then
		into.problem = precondition(("It makes more than %d calls: the others were not checked"):format(MOST))
		return
	end
	local envelope, about = ask(call, into)
	for _, warning in ipairs(envelope.warnings or {}) do
		attempt.warn(warning.code, warning.message, warning.context)
	end
	if not about then
		into.problem = not envelope.ok and failure(envelope) or precondition "The call did not say what would become of it"
		return invoke.value(envelope.meta.command)
	elseif about.secrets then
		require("runner.core.mask").guard(about.secrets) -- our answer names none of them either
	end
	into.asked, into.above = into.asked or about.asked or false, into.above or about.above
	check_others(parts_of(about, call), into, above)
	above = table.move(above, 1, #above, 1, {})
	above[#above + 1] = command_line.typed(about.command)
	check_others(needs_of(about), into, above)
	if about.counted then
		into.counted = ("%s %s%s"):format(into.counted, about.builtin and "!" or "", about.command)
	end
	return about.command
end

---@param path string of the policy
---@param words string[] of the call
---@return runner.Checked
function M.call(path, words)
	local out, others, settings = { counted = "", made = 0, asked = false, done = {} }, os.getenv "RUNNER_POLICY", attempt.place.settings
	local handed = attempt.call.stdin_words and words or nil -- no other process saw them so far
	local at = { policies = (others and others .. ":" or "") .. path, context = os.getenv "RUNNER_CONTEXT", settings = settings }
	scheduler.run(function()
		out.command = check({ words = handed and {} or words, handed = handed, at = at }, out, {})
	end)
	return out
end

return M
