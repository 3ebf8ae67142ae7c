-- attempt: the state of this attempt, for the modules of the library: what the supervisor
-- passed on, and what the phases of lua/boot.lua found, in their order. One process runs
-- one attempt; scripts see `ctx` instead.

local host = require "runner.host"

---@class runner.Attempt
---@field planned? boolean the plan has been sent
---@field has_stdin? boolean whoever handed the arguments over has handed over data, too
---@field from_stdin? boolean the caller's stdin has been read before `run`
---@field input? any the data of a command that declares `stdin`
---@field input_digest? string of its bytes
---@field group_alone? true the call has the words of a group, and help answers it
---@field policy? runner.CallerPolicy what the caller allows, where --policy or RUNNER_POLICY says so
---@field audit_begin? fun() write the row of this attempt in the audit ledger, once; it may raise
---@field row_text? (fun(row: table): string) a row as lines of a terminal, from a built-in that renders its own
---@field rows? runner.Rows where ctx:emit puts rows
---@field tool? {name: string, version?: string, told?: string} a name of its own (lua/project/spoken.lua); `told`: as
---  meta.tool_version has it
---@field spoken? fun(text: string): string the text as that tool says it
---@field traced? fun(options: table, run: fun(options: table): table): table runs a program as a span of a trace
---@field trace? fun(message: string) with --debug: a line of what runner does
---@field cut_short? true the list ends there, and how many there are is unknown
---@field enough? integer items, from the first on, that a list needs for its page; nil: all
---@field older? {version: string, current: string, shape: fun(data: any): any} the form of the result that a caller asks for
---@field additions? table<string, any> members of the result that ctx adds (lua/core/additions.lua)
---@field checkpoint? string the key of the checkpoint that this attempt has opened
---@field pause_at? number on host.now: the next checkpoint after it ends the call
---@field spooled? string what has been read from stdin, which the job reads again
---@field raw? table lua/project/raw.lua, for a command whose stdout is not runner's answer
---@field around? string the module whose `run` is called in the place of the command's own
---@field tasks? table lua/task/scheduler.lua, once ctx:parallel has been called
---@field stall_ms? integer how long the reports of a job may say the same
---@field serve_ms? integer the limit of a command that serves a protocol, once it does
local M = {
	launch = nil, ---@type table what the supervisor passed on at the fork; boot sets it, since this module may be loaded ahead
	words = nil, ---@type {word: string, index: integer}[] the words of argv that may name a command
	names = nil, ---@type string[] the same, without their indexes
	name = nil, ---@type string of the command, as far as it is known
	tokens = nil, ---@type string[] argv without the command's words
	in_front = nil, ---@type integer? how many of them stood in front of the command's name
	handed = nil, ---@type integer? where in argv the words begin that ctx:call gave us on stdin: no other process sees them
	vouched = nil, ---@type boolean? whoever handed us our arguments says that a person has confirmed the call
	came_from = nil, ---@type string? the working directory before --cwd
	settings = nil, ---@type table? of lua/project/place.lua: which file has the project's settings
	project = nil, ---@type table? runner.lua, normalised
	found = nil, ---@type runner.Found? where the command is
	command = nil, ---@type table? the declaration's normal form
	parsed = nil, ---@type table? of args.parse: values, framework, given, problems
	framework = {}, ---@type table values of runner's own flags
	format = nil, ---@type "json"|runner.TextFormat? of the result
	settled = nil, ---@type table? of settings.settle: limits and policy with their sources
	retries_given = nil, ---@type integer? --retries N: one budget for every kind of retry
	information = nil, ---@type "help"|"output_schema"|"plan"|"schema"|"show_config"|"version"? the flag given in place of a run
	job = nil, ---@type {budget_ms: integer?}? this call makes a job of itself
	dry_run = false, -- nothing may change
	unconfirmed = nil, ---@type "ask"|"refuse"? a destructive call that must be confirmed first
	claimed = nil, ---@type table? the idempotency key that this call owns
	finish = nil, ---@type fun(a: runner.Attempt, answer: runner.Answer)? called before the answer is sent
	ctx = nil, ---@type runner.Context? once `run` is next
	token = nil, ---@type string? of a command that signs in
	mask = nil, ---@type (fun(v: any): any)? a copy without the values of secret arguments, if there are any
	window = nil, ---@type runner.Window? what of the result the caller wants
	inner_repeats = 0, -- retries made by loops inside this attempt
	texts = {}, ---@type table<runner.TextFormat, string|fun(data: any): string> the result as text, from a built-in that renders its own
}

---The data of an envelope: a scalar is wrapped in a table, since data is never bare
---(docs/design.md#one-envelope).
---@param data any
---@return table|lightuserdata|nil
function M.wrap(data)
	if data ~= nil and type(data) ~= "table" and data ~= require("runner.json").null then
		return { value = data }
	end
	return data
end

---A copy of `data` with tokens and keys masked (REQ-F-058); nil: there are none, or the caller
---wants to see them.
---@param data any
---@param text string the same as JSON
---@return any
function M.veil(data, text)
	if not M.framework.unmask and host.may_hold_secrets(text) then
		return require("runner.core.entropy").mask(data)
	end
end

---The seed that RUNNER_SEED gives: a whole number from 0, as retry.seed takes it.
---@return integer?
function M.environment_seed()
	local seed = math.tointeger(tonumber(os.getenv "RUNNER_SEED"))
	return seed and seed >= 0 and seed or nil
end

---Retries that --retries still allows; nil if the caller gave no budget.
---@return integer?
function M.budget()
	if M.retries_given then
		return math.max(M.retries_given - M.launch.repeats_made - M.inner_repeats, 0)
	end
end

---The declared resource limits of the command; its children inherit
---them. Nil if there are none.
---@return {memory_bytes?: integer, cpu_ms?: integer, processes?: integer, open_files?: integer}?
function M.limits()
	local limits = M.command and M.command.limits
	return limits and next(limits) and limits or nil
end

---The declared CPU time in ms, if this signal means that a child exceeded it.
---@param signal? string
---@return integer?
function M.cpu_limit(signal)
	return signal == "SIGXCPU" and (M.limits() or {}).cpu_ms or nil
end

---Report a retry inside the attempt (meta.retries counts it).
function M.note_repeat()
	M.inner_repeats = M.inner_repeats + 1
	host.send("RETRY", { event = "repeat" })
end

---Add a warning to the envelope.
---@param code string
---@param message string
---@param context? table
function M.warn(code, message, context)
	local encoded = context and require("runner.json").encode(context, { envelope = true })
	if not host.send("WARN", { code = code, message = message, context = encoded or nil }) then
		host.send("WARN", { code = code, message = message:sub(1, 8192) }) -- it was too large
	end
end

return M
