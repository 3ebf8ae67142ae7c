-- checkpoint: ctx:checkpoint and ctx:restore: a command saves how far it is, and the same call goes
-- on from there, whatever ended the one before. Loaded on first use.

local attempt = require "runner.core.attempt"
local checkpoints = require "runner.core.checkpoints"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local progress = require "runner.ctx.progress"
local scope = require "runner.core.scope"

local M = {}

local STATE_MAX = 1 << 20 -- bytes of JSON

-- Of this attempt.
local opened, fingerprint = false, nil
local key ---@type string? of the checkpoint that it has opened

-- The work is complete: nothing is left to go on with.
local function complete()
	checkpoints.remove(key)
	key = nil
end

local function misused(method, ...)
	require("runner.ctx.misuse").raise("ctx:" .. method, ...)
end

-- The checkpoint is this attempt's from here on; of two such calls at once, one goes on.
local function open(ctx, method)
	local interruption = attempt.command.interruption
	if not (interruption and interruption.resume) then
		misused(method, "the command does not declare that it can resume", "Add interruption = { resume = true }")
	elseif not opened and not ctx.dry_run then
		local own = checkpoints.key(attempt)
		checkpoints.prepare(own)
		require("runner.ctx.lock").lock(ctx, "checkpoint of " .. attempt.name, { path = checkpoints.lock_path(own) })
		key = own
		attempt.at_end(function(answer)
			if answer.success then
				complete()
			end
		end)
	end
	opened = true
end

-- --- restore ---------------------------------------------------------------------------

-- What the state doesn't say of the whole, ctx:progress has said, in this call or in one before.
local function reported(state)
	local said = progress.whole
	return { done = state.done, total = state.total or said.total, unit = state.unit or said.unit }
end

-- Why what was saved is of no use now; nil: it is.
local function mismatch(saved)
	if not saved.state or not math.type(saved.state.done) then
		return "unreadable", "it can't be read"
	elseif saved.file ~= attempt.command.digest then
		return "command", "the command file has changed since"
	elseif saved.version ~= attempt.launch.version then
		return "version", "another version of runner saved it"
	elseif saved.fingerprint ~= fingerprint then
		return "fingerprint", "the input has changed since"
	end
end

local function discard(reason, why)
	checkpoints.remove(key)
	attempt.warn("CHECKPOINT_DISCARDED", ("The work starts over, and not from its checkpoint: %s"):format(why), { reason = reason })
end

---The state that the same call saved last, whatever ended it; nil: begin at the beginning.
---@param ctx runner.Context
---@param mark? string what the state depends on, such as a digest of the input: with another one the work starts over
---@return table? state
function M.restore(ctx, mark)
	if mark ~= nil and type(mark) ~= "string" then
		misused("restore", ("the fingerprint is a string, not %s"):format(require("runner.ctx.misuse").shown(mark)))
	end
	open(ctx, "restore")
	fingerprint = mark and host.digest(mark)
	local saved = key and checkpoints.read(key)
	if not saved then
		return nil
	end
	local reason, why = mismatch(saved)
	if reason then
		return discard(reason, why)
	end
	progress.whole = { total = saved.total, unit = saved.unit }
	progress.progress(ctx, reported(saved.state))
	return saved.state
end

-- --- checkpoint --------------------------------------------------------------------------

-- Is there a secret in it? It would stay on the disk.
local function has_secret(v)
	if type(v) == "table" then
		for name, member in next, v do
			if has_secret(name) or has_secret(member) then
				return true
			end
		end
	end
	return (type(v) == "string" or math.type(v)) and attempt.mask(tostring(v)) ~= tostring(v)
end

local function encoded(state)
	local done = type(state) == "table" and rawget(state, "done")
	if not math.type(done) or done ~= done then
		misused("checkpoint", "the state is a table with a number `done`, which says how much of the work is",
			"Write ctx:checkpoint{ done = 3, total = 10 }")
	elseif attempt.mask and has_secret(state) then
		misused("checkpoint", "the state has the value of a secret", "Leave it out: the next call gets it again")
	end
	local text, why = json.encode(state, { max = STATE_MAX })
	return text or misused("checkpoint", why, "Save at most 1 MiB of plain JSON values")
end

-- The same call, as it was typed.
local function same_call()
	return "runner " .. require("runner.core.command_line").line(require("runner.core.tool").typed(attempt.call.argv))
end

-- INCOMPLETE (REQ-F-082): a caller who makes the call again goes on from here. The work has the same id each time, and is no job.
local function pause(state)
	local again = same_call()
	error(errors.new("INCOMPLETE", "The budget is over: the work stopped at a checkpoint", { suggestion = again,
		data = { state = "paused", job_id = checkpoints.work_id(key), progress = reported(state), continue_command = again } }), 0)
end

---Save how far the work is: the same call goes on from here. If the budget of the call is over, it
---ends with INCOMPLETE once the state is saved.
---@param ctx runner.Context
---@param state table JSON with `done`, and `total` and `unit` if they are known
function M.checkpoint(ctx, state)
	open(ctx, "checkpoint")
	local text = encoded(state)
	progress.progress(ctx, reported(state))
	if not key then
		return -- a dry run does no work
	end
	local about = assert(json.encode { fingerprint = fingerprint, file = attempt.command.digest, version = attempt.launch.version,
		total = progress.whole.total, unit = attempt.mask and attempt.mask(progress.whole.unit) or progress.whole.unit,
		subject = scope.subject(), client = scope.client(), trace_id = attempt.launch.trace_id })
	checkpoints.write(key, ('%s,"state":%s}\n'):format(about:sub(1, -2), text))
	local pause_at = attempt.settled.pause_at
	if pause_at and host.now() >= pause_at then
		pause(state)
	end
end

return M
