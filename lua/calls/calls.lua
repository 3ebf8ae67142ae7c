-- calls: one request of a client of ours (`exec`, `mcp serve`) → one envelope. Each call is a
-- run of its own: its process, its supervisor, limits, attempts, tree and clean-up, with our
-- environment, working directory and deadline. It starts warm where that is the same
-- (docs/design.md#warm-start). Call it in a task (lua/task/scheduler.lua), several at once in
-- several tasks.
--
-- What a client sends never reaches an argv, where every user of the machine could read it:
-- runner's own flags and the arguments go to the call on its stdin (lua/invoke.lua), in front of
-- the command's name. There they can mean no argument of the command, and a command that passes
-- its arguments on to another program refuses them (docs/design.md#requests).
--
-- Nothing here decides what a client may do. `flags` is the caller's own list, never a client's: see
-- lua/calls/request.lua for those that a request may ask for. `confirmed` is for calls that a
-- person has confirmed.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local envelopes = require "runner.calls.envelope"
local invoke = require "runner.invoke"
local json = require "runner.json"
local rules = require "runner.core.rules"
local scheduler = require "runner.task.scheduler"

local M = {}

local ENVELOPE_MAX = 18 << 20 -- bytes; a result has 16 MiB at most
local CANCEL_GRACE_MS = 10000 -- for the call's own grace and its answer
local LATE_MS = 60000 -- behind its limit a call is killed: its supervisor has been stopped, or worse

---@class runner.CallRequest
---@field command string|string[] "deploy rollback", "deploy.rollback", { "deploy", "rollback" }
---@field typed? string[] all words of the call, in place of `command`, `arguments` and `flags`
---@field arguments? table by name, as --raw-payload takes them; nil or empty: none
---@field stdin? string what the command reads there; default: nothing
---@field timeout_ms? integer as --timeout; default: the command's own
---@field max_bytes? integer of its answer, as --max-bytes
---@field idempotency_key? string as --idempotency-key
---@field confirmed? boolean|string|{id: string, digest: string} as invoke.hand_over_flags takes it: it may be destructive
---@field env? table<string, string|false> more of its environment; false: without it
---@field cwd? string
---@field client? {transport: string, name?: string, version?: string} whom it is made for, for the audit ledger
---@field traceparent? string the span of the client that it belongs to (W3C Trace Context): its trace, in place of ours
---@field called? string what our command calls itself, and a policy allows with it: "workflow.resume run_01J"
---@field dry_run? boolean for commands that change something; any other ignores it. nil: as our environment says
---@field flags? string[] more flags of runner's own: "--retries=0"
---@field on_start? fun(handle: runner.CallHandle) once its process runs
---@field on_event? fun(event: {kind: "stderr", text: string}) a line of its stderr; default: it goes to ours

---@class runner.CallHandle
---@field cancel fun(self) TERM to its supervisor, which ends the tree, cleans up and answers; once is enough

---The words of a command's name, however they are written; nil: it can't be one.
---@param name string|string[]
---@return string[]?
function M.words(name)
	local words = type(name) == "table" and name or {}
	for word in (type(name) == "string" and name or ""):gmatch "[^%s.]+" do
		words[#words + 1] = word
	end
	for _, word in ipairs(words) do
		if type(word) ~= "string" or not rules.is_command_word(word) then
			return nil
		end
	end
	return words[1] and words or nil
end

local function flags_of(request)
	local flags = { "--format=json" }
	local function add(name, value)
		flags[#flags + 1] = value and ("--%s=%s"):format(name, value) or nil
	end
	add("timeout", request.timeout_ms and request.timeout_ms .. "ms")
	add("max-bytes", request.max_bytes)
	add("idempotency-key", request.idempotency_key)
	local more = request.typed or request.flags or {}
	table.move(more, 1, #more, #flags + 1, flags)
	add("raw-payload", next(request.arguments or {}) ~= nil and assert(json.encode(request.arguments)))
	return flags
end

local function environment(env, dry_run)
	local list = {}
	for name, value in pairs(env) do
		list[#list + 1] = value and name .. "=" .. value or name
	end
	if attempt.framework.retries then -- a server repeats nothing itself: it is of its calls
		list[#list + 1], list[#list + 2] = "RUNNER_OUTER_RETRIES", ("RUNNER_RETRIES=%d"):format(attempt.framework.retries)
	end
	if dry_run ~= nil then
		list[#list + 1] = dry_run and "RUNNER_DRY_RUN=1" or "RUNNER_DRY_RUN"
	end
	return list
end

local function lines_to(on_event)
	return function(line, stream)
		if stream ~= "stderr" then
			return
		elseif on_event then
			on_event { kind = "stderr", text = line }
		else
			io.stderr:write(line, "\n")
		end
	end
end

local function announce(request)
	return request.on_start and function(process)
		request.on_start { cancel = function() process:stop(CANCEL_GRACE_MS) end }
	end
end

local function options_of(request, words)
	local stdin, env, proof = invoke.hand_over_flags(flags_of(request), request.stdin, request.confirmed)
	env.RUNNER_CALLED, env.TRACEPARENT = request.called, request.traceparent
	env.TOOL_TRACE_ID = request.traceparent and request.traceparent:match "%-(%x+)"
	env.RUNNER_CLIENT = request.client and assert(json.encode(request.client)) or nil
	for name, value in pairs(request.env or {}) do
		env[name] = value
	end
	return {
		argv = table.move(words, 1, #words, 2, { invoke.program() }), argv0 = invoke.name(), env = environment(env, request.dry_run),
		warm = not request.cwd, cwd = request.cwd, stdin = stdin, reread_stdin = true, cap = ENVELOPE_MAX, grace_ms = CANCEL_GRACE_MS,
		timeout_ms = request.timeout_ms and request.timeout_ms + LATE_MS, on_start = announce(request), on_line = lines_to(request.on_event),
	}, proof
end

-- Of a command that leaves stdout to others (docs/design.md#raw-stdout), and wrote nothing there.
local function on_stderr(result)
	local line = result.stdout == "" and result.stderr:match "([^\n]+)\n*$"
	local envelope = line and line:sub(1, 1) == "{" and invoke.envelope { stdout = line, status = result.status }
	if envelope then
		return envelope, result.status, line .. "\n"
	end
end

---The answer of a call that is started so; whatever the command does, there is one.
---@param name string of the call, for a failure
---@param options table of scheduler.process
---@return table envelope
---@return integer exit_code
---@return string line the envelope as it was printed, with its newline
function M.answer(name, options)
	local result = scheduler.process(options)
	local envelope = invoke.envelope(result)
	if envelope then
		return envelope, result.status, result.stdout
	end
	local told, exit_code, line = on_stderr(result)
	if told then
		return told, exit_code, line
	end
	told, exit_code = envelopes.failure(invoke.lost(command_line.typed(name), result), name, result.duration_ms)
	return told, exit_code, envelopes.line(told)
end

---Make one call and wait for its answer; whatever the command does, there is one. Only on_event
---and on_start can make it raise: then the call is ended first.
---@param request runner.CallRequest
---@return table envelope
---@return integer exit_code
---@return string line the envelope as it was printed, with its newline
function M.run(request)
	local words = request.typed and {} or assert(M.words(request.command), "request.command: not the name of a command")
	local options, _ <close> = options_of(request, words)
	local envelope, exit_code, line = M.answer(table.concat(words, "."), options)
	return envelope, exit_code, line
end

---Make calls side by side, and wait until all have answered.
---@param requests runner.CallRequest[]
---@param at_once integer
---@param on_answer fun(i: integer, envelope: table) as each one answers
function M.all(requests, at_once, on_answer)
	local list = {}
	for i, request in ipairs(requests) do
		list[i] = function()
			on_answer(i, (M.run(request)))
		end
	end
	scheduler.run(function()
		scheduler.all(list, at_once)
	end)
end

---Get ready for many calls: each then starts quicker. Costs a process that stays as long as ours.
function M.prepare()
	require("runner.process").prepare()
end

return M
