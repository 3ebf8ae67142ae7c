-- call: ctx:call runs another command as a child and returns its data, or raises the error
-- it ended with. The child inherits the deadline and makes one attempt; retries are the
-- caller's own policy. Loaded on first use.

local attempt = require "runner.core.attempt"
local invoke = require "runner.invoke"
local json = require "runner.json"
local misuse = require "runner.ctx.misuse"
local program_text = require "runner.core.program_text"

local M = {}

local ENVELOPE_MAX = 18 << 20 -- bytes

-- One argument as a word of the call.
local function text(value)
	if type(value) == "string" and not program_text.has_nul(value) or type(value) == "number" then
		return tostring(value)
	end
	misuse.raise("ctx:call", ("an argument is a string, a number, a boolean or a list of these, not a %s"):format(
		type(value) == "string" and "string with a NUL byte" or type(value)))
end

local function words_of(name, confirmed)
	local words = {}
	for word in name:gmatch "%S+" do
		words[#words + 1] = word
	end
	words[#words + 1], words[#words + 2] = "--retries", "0"
	words[#words + 1] = attempt.framework.yes and "--yes" or nil
	words[#words + 1] = confirmed and "--confirm-destructive" or nil
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

local function pass_on(line, stream)
	if stream == "stderr" then
		io.stderr:write(line, "\n")
	end
end

---Run another command, as M.call does, with more variables.
---@param ctx runner.Context
---@param name string
---@param args table
---@param env? table<string, string>
---@param confirmed? boolean the command is destructive, and a caller has confirmed it
---@return any data
function M.invoke(ctx, name, args, env, confirmed)
	local spec = invoke.argv(invoke.program(), words_of(name, confirmed), {}, text)
	spec.stdin, spec.env = invoke.hand_over(args, text)
	for key, value in next, env or {} do
		spec.env = spec.env or {}
		spec.env[key] = value
	end
	if attempt.framework.verbose or attempt.launch.stderr_is_tty then
		spec.env = spec.env or {}
		spec.env.RUNNER_LOG_KEPT = "1" -- its lines are ours
	end
	spec.check, spec.cap, spec.on_line = false, ENVELOPE_MAX, pass_on
	local result = require("runner.ctx.proc").run(ctx, spec)
	local envelope = invoke.envelope(result)
	if not envelope then
		error(invoke.lost(name, result, table.move(spec, 1, #spec, 1, {})), 0)
	elseif not envelope.ok then
		error(invoke.failure(envelope), 0)
	elseif envelope.data ~= json.null then
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
	return M.invoke(ctx, name, args)
end

return M
