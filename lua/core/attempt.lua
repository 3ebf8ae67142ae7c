-- attempt: the state of this attempt, for the modules of the library: what the supervisor
-- passed on, and what the phases of lua/boot.lua found, in their order. One process runs
-- one attempt; scripts see `ctx` instead.

local host = require "runner.host"

---@class runner.Call the words of a call; made by lua/boot.lua, and again where they are an alias
---@field argv string[] of the command line, of stdin (lua/project/stdin_arguments.lua), and what an alias stands for
---@field names string[] those that may name a command; none were given: "help"
---@field places integer[] of those in argv
---@field in_front integer how many stand in front of the command's name
---@field stdin_words? integer where in argv the words begin that ctx:call gave us on stdin: no other process sees them
---@field has_stdin? boolean after the words, stdin has data
---@field is_call? boolean the words on stdin go in front of all others: the call was made for a client
---@field vouched? boolean|"person"|"need"|"caller" a person has confirmed the call, says the caller; "person": was asked about this
---  very one; "need": about the one that needs it; "caller": that one is confirmed, perhaps by a flag
---@field approved? {id: string, digest: string} a person has approved this call, which waited for that
---@field asks? "pending"|"look"|"declined" no person has confirmed it (lua/project/stdin_arguments.lua): nor does --live

---@class runner.Input what a call brings besides its command line; made by lua/project/input.lua
---@field value? any the data of a command that declares `stdin`
---@field digest? string of its bytes
---@field is_stream? boolean fd 0 is the file, and `run` reads it itself
---@field spooled? string what has been read from stdin, which the job reads again

---@class runner.Place where a call works; made by lua/project/place.lua
---@field came_from? string the working directory before --cwd, and before the command's own
---@field stands? string where relative paths of the caller begin, if not in the working directory
---@field cwd? string the working directory, where it is not the caller's
---@field settings? {config?: string, context?: string, of?: string, none?: boolean, inherited?: boolean} which file has the project's

---@class runner.Attempt
---@field policy? runner.CallerPolicy what the caller allows, where --policy or RUNNER_POLICY says so
---@field rows? runner.Rows where ctx:emit puts rows
---@field trace? fun(message: string) with --debug: a line of what runner does
---@field enough? integer items, from the first on, that a list needs for its page; nil: all
---@field older? {version: string, current: string, shape: fun(data: any): any} the form of the result that a caller asks for
---@field raw? table lua/project/raw_stdout.lua, for a command whose stdout is not runner's answer
---@field wrapper? string the module whose `run` is called in the place of the command's own
local M = {
	launch = nil, ---@type table what the supervisor passed on at the fork
	call = { argv = {} }, ---@type runner.Call
	name = nil, ---@type string of the command, as far as it is known
	tokens = nil, ---@type string[] argv without the command's words
	place = {}, ---@type runner.Place
	input = {}, ---@type runner.Input
	project = nil, ---@type table? runner.lua, normalised
	found = nil, ---@type runner.Found? where the command is
	command = nil, ---@type table? the declaration's normal form
	parsed = nil, ---@type table? of args.parse: values, framework, given, problems
	framework = {}, ---@type table values of runner's own flags
	format = nil, ---@type "json"|runner.TextFormat? of the result
	settled = nil, ---@type table? of settings.settle: limits and policy with their sources
	information = nil, ---@type "help"|"output_schema"|"plan"|"schema"|"show_config"|"version"? the flag given in place of a run
	job = nil, ---@type {budget_ms: integer?}? this call makes a job of itself
	dry_run = false, -- nothing may change
	unconfirmed = nil, ---@type "ask"|"refuse"? a destructive call that must be confirmed first
	ctx = nil, ---@type runner.Context? once `run` is next
	token = nil, ---@type string? of a command that signs in
	mask = nil, ---@type (fun(v: any): any)? a copy without the values of secret arguments, if there are any
	secrets = nil, ---@type string[]? values to mask, if there are any
	window = nil, ---@type runner.Window? what of the result the caller wants
}

---The process has been forked: this module may have been loaded ahead of that.
function M.begin()
	M.launch = host.launch()
end

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
		return require("runner.core.mask").tokens(data)
	end
end

---The seed that RUNNER_SEED gives: a whole number from 0, as retry.seed takes it.
---@return integer?
function M.environment_seed()
	local seed = math.tointeger(tonumber(os.getenv "RUNNER_SEED"))
	return seed and seed >= 0 and seed or nil
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

-- --- functions of the command ---------------------------------------------------------------

local wrapped, at_end = {}, {}

---Have this called in the place of a function of the command. What goes around it last is outermost.
---@param name "run"|"cleanup"
---@param f fun(inner: function, ...): any
function M.around(name, f)
	local inner = wrapped[name] or M.command[name]
	wrapped[name] = inner and function(...)
		return f(inner, ...)
	end
end

---The function, with what goes around it.
---@param name "run"|"cleanup"
---@return function?
function M.wrapped(name)
	return wrapped[name] or M.command[name]
end

---Have this called with the answer of the attempt, before that is sent, and whatever `cleanup` still does.
---@param f fun(answer: runner.Answer)
function M.at_end(f)
	at_end[#at_end + 1] = f
end

---@param answer runner.Answer
function M.ended(answer)
	for _, f in ipairs(at_end) do
		f(answer)
	end
end

-- --- what the methods of ctx leave, to each other and to the answer -----------------------------

local additions

---Add a member to the result (lua/core/returned.lua).
---@param name string
---@param value any
function M.add(name, value)
	additions = additions or {}
	additions[name] = value
end

---@return table<string, any>? members of the result that ctx adds
function M.additions()
	return additions
end

return M
