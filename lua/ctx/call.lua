-- call: ctx:call runs another command as a child and returns its data, or raises the error
-- it ended with. It is the run that a person would have started: its retries, within what the
-- caller's budget leaves (lua/core/retry_budget.lua), its warnings and its lines on stderr are those of
-- the caller's answer. Loaded on first use.

local retry_budget = require "runner.core.retry_budget"
local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local invoke = require "runner.invoke"
local json = require "runner.json"
local misuse = require "runner.ctx.misuse"
local process = require "runner.ctx.process"
local command_line = require "runner.core.command_line"

local M = {}

local ENVELOPE_MAX = 18 << 20 -- bytes

-- One argument as a word of the call.
local function text(value)
	local word = invoke.word(value)
	if word and not command_line.has_nul(word) then
		return word
	end
	misuse.raise("ctx:call", ("an argument is a string, a number, a boolean or a list of these, not a %s"):format(
		type(value) == "string" and "string with a NUL byte" or type(value)))
end

local function words_of(name)
	local words = { attempt.framework.quiet and "--runner-quiet" or nil } -- in front, where it is no argument of the command
	for word in name:gmatch "%S+" do
		words[#words + 1] = word
	end
	words[#words + 1] = attempt.framework.yes and "--yes" or nil
	return words
end

local function check(name, args)
	if type(name) ~= "string" or not name:find "%S" then
		misuse.raise("ctx:call", ("it needs the name of a command, not %s"):format(misuse.shown(name)),
			'Write ctx:call("deploy", { target = "prod" })')
	elseif type(args) ~= "table" then
		misuse.raise("ctx:call", ("the arguments are a table such as { target = \"prod\" }, not a %s"):format(type(args)))
	end
end

-- Its lines are ours: on a terminal as text, elsewhere as they are. `say` hears of each, too.
local function listener(say, name)
	local watched = attempt.launch.stderr_is_tty
	return function(line, stream)
		if stream ~= "stderr" then
			return
		end
		line = watched and invoke.said(invoke.drawn(line)) or line
		io.stderr:write(invoke.marked(name, line, watched), "\n")
		if say then
			say(line)
		end
	end
end

local function options_of(ctx, name, more)
	local options = require("runner.ctx.process_spec").command("run", ctx, invoke.argv(invoke.program(), words_of(name), {}, text))
	options.check, options.cap, options.columns = false, ENVELOPE_MAX, more.columns
	if more.own then
		options.own_stderr, options.foreground, options.stdin_file = true, true, assert(io.open("/dev/tty", "r"))
	else
		options.lines, options.on_line = true, listener(more.say, more.as)
		options.stdin, options.reread_stdin = more.stdin, true -- each of its attempts reads them
	end
	return options
end

-- "NAME=value", or the name alone of a variable that is to be unset, as process.start takes them.
local function entries(...)
	local list = {}
	for _, env in ipairs { ... } do
		for key, value in next, env do
			list[#list + 1] = value and key .. "=" .. value or key
		end
	end
	return list
end

local STEPS = { "completed_steps", "failed_step", "pending_steps", "skipped_steps", "resume_from" }

-- The error that the command ended with. That its own retries are used up is no reason for us not to make ours; its
-- steps are none of ours, so that no caller can resume from one here; and its limit is one that no flag of ours moves.
local function failure(envelope)
	local e = invoke.failure(envelope)
	if e.retries_exhausted then
		e.retryable = nil
	end
	if type(e.data) == "table" then
		for _, member in ipairs(STEPS) do
			e.data[member] = nil
		end
		e.data = next(e.data) ~= nil and e.data or nil
	end
	if e.code == "TIMEOUT" and e.suggestion then
		e.suggestion = ("%s: %s"):format(invoke.value(envelope.meta.command), e.suggestion)
	end
	return e
end

-- What confirms a call of ours is written where we make it: nothing that we are given does. Who makes it is told once.
local function unconfirmed(e, name)
	local context = e.code == "CONFIRMATION_REQUIRED" and type(e.context) == "table" and e.context or nil
	if context and not context.caller then
		local own, told = command_line.typed(attempt.name), e.message:gsub(": pass %-%-confirm%-destructive$", "")
		local by_flag = told ~= e.message
		context.caller, e.message = own, ("%s (called by '%s')"):format(told, own)
		e.suggestion = ("Nothing that '%s' is given confirms it"):format(own)
		e.fix_required = by_flag and ('Call \'%s\' by itself, or have \'%s\' confirm it: ctx:call("%s", { confirm_destructive = true })'):format(
			context.command, own, name) or ("Have a person call '%s' by itself"):format(context.command)
	end
	return e
end

local changed = false -- a call of ours has changed something, or may have
local open = 0 -- calls that have not answered

local function is_named(code)
	for _, name in ipairs(attempt.settled and attempt.settled.policy.on or {}) do
		if name == code then
			return true
		end
	end
	return false
end

---A failure that has touched nothing itself, where another call has: it is repeated where our file names its code.
---@param e runner.Error
---@return runner.Error
function M.half_done(e)
	if e.side_effects == "none" then
		e.side_effects = "partial"
		if e.retryable and not is_named(e.code) then
			e.retryable, e.retry_after_ms, e.retry_strategy = "maybe", nil, nil
		end
	end
	return e
end

local function with_the_others(e)
	local others = changed or open > 0 and attempt.command.danger_level ~= "safe"
	changed = changed or e.side_effects ~= "none"
	return others and M.half_done(e) or e
end

-- What the callee warns of is a warning of ours; its context names the command.
local function pass_on_warnings(name, envelope)
	for _, warning in ipairs(envelope.warnings or {}) do
		local context = type(warning.context) == "table" and warning.context or {}
		context.command = context.command or name
		attempt.warn(warning.code, warning.message, context)
	end
end

---Run another command, as M.call does.
---@param ctx runner.Context
---@param name string
---@param args table
---@param more? { env?: table<string, string>, confirmed?: "agreed"|"needed", share?: integer, say?: fun(text: string), as?: string,
---  own?: string, columns?: integer, by_hand?: boolean } more variables; a caller has confirmed it, should it be destructive, or a person
---  has; its share of our retries; what hears its lines; the name in front of them; a path for its arguments: it has our terminal; the
---  width of a terminal for its lines alone; is the call written in a command?
---@return any data
function M.invoke(ctx, name, args, more)
	more = more or {}
	local handed, env, _ <close> = invoke.hand_over(args, text, more.confirmed)
	local allowed = retry_budget.take(more.share)
	more.stdin = handed
	if more.own then
		fs.unlink(more.own) -- of an attempt before
		assert(fs.create(more.own, env.RUNNER_ARGUMENTS and handed or "[]"))
		env.RUNNER_ARGUMENTS = ("%s:%s%s"):format(more.confirmed or "file", (env.RUNNER_ARGUMENTS or ""):match "%d+@" or "", more.own)
	end
	env.RUNNER_TERMINAL = more.own and "own" or more.columns and "lines" or nil
	local options = options_of(ctx, name, more)
	env.RUNNER_CALLED = "ctx:call"
	options.env = entries(env, more.env or {}, allowed.env, (attempt.framework.verbose or attempt.launch.stderr_is_tty)
		and { RUNNER_LOG_KEPT = "1" } or {}) -- its lines are ours
	open = open + 1
	local result = process.public(process.conclude(options, options.argv, process.ended(options)))
	open = open - 1
	local envelope = invoke.envelope(result)
	retry_budget.settle(allowed, envelope)
	if not envelope then
		error(with_the_others(invoke.lost(name, result, options.argv)), 0)
	end
	pass_on_warnings(name, envelope)
	if not envelope.ok then
		local e = failure(envelope)
		error(with_the_others(more.by_hand and unconfirmed(e, name) or e), 0)
	end
	changed = changed or envelope.meta.changed == true
	if envelope.meta.attachments then
		require("runner.ctx.attach").pass_on(name, envelope.meta.attachments)
	end
	if envelope.data ~= json.null then
		return envelope.data
	end
end

---Run another command: its data, or the error that it ended with.
---@param ctx runner.Context
---@param name string "deploy", or "db migrate"
---@param args? table values by name, or a list of words
---@return any data
function M.call(ctx, name, args)
	args = args or {}
	check(name, args)
	return M.invoke(ctx, name, args, { by_hand = true })
end

return M
