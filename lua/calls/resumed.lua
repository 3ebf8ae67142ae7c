-- resumed: a run of a workflow that goes on, and a call that a person has approved: each as a call of its own, in its project,
-- whichever caller asks for it.

local calls = require "runner.calls.calls"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"

local M = {}

---@param run {id: string, project: string, cwd: string} where `resume` finds the settings that it was started with
---@param on_event? fun(event: table)
---@param on_start? fun()
---@return runner.CallRequest
function M.request(run, on_event, on_start)
	return { command = { "self", "workflow", "resume" }, arguments = { id = run.id }, on_event = on_event, on_start = on_start,
		flags = { "--cwd=" .. (run.project ~= "" and run.project or run.cwd), "--runner-unmask" } }
end

local OUTCOMES = { LOCK_HELD = "running", APPROVAL_PENDING = "waiting" } -- another call may have resumed it, which is no failure

---@param envelope table
---@return {outcome: string, code?: string, message?: string, suggestion?: string}
function M.outcome(envelope)
	local e = invoke.value(envelope.error)
	local row = { outcome = not e and envelope.data.state or OUTCOMES[e.code] or "failed" }
	if row.outcome == "failed" or row.outcome == "waiting" then
		row.code, row.message, row.suggestion = e.code, invoke.value(e.message), invoke.value(e.suggestion) or invoke.value(e.fix_required)
	end
	return row
end

-- A line of its log is one of ours.
local function say(event)
	local row = json.decode(event.text)
	if type(row) == "table" and type(row.message) == "string" then
		host.send("LOG", { level = row.level, event = row.event, message = row.message })
	end
end

---Have it go on, with what it says on our stderr, to its end.
---@param run {id: string, project: string, cwd: string}
---@return table outcome
function M.now(run)
	local outcome
	local request = M.request(run, say)
	request.called = "workflow.resume " .. run.id
	calls.all({ request }, 1, function(_, envelope)
		outcome = M.outcome(envelope)
	end)
	return outcome
end

-- A call that waited for a person, made once that person has agreed: as it was made then, with its directory and its policies,
-- and what it read of its environment.

-- Ours hold as well.
local function policies(theirs)
	local ours = os.getenv "RUNNER_POLICY"
	return ours and theirs and ours .. ":" .. theirs or ours or theirs
end

---@param gate {id: string, digest: string, call: table} of lua/state/pending_calls.lua
---@return table envelope
function M.run(gate)
	local call, env = gate.call, require("runner.core.tables").add({}, gate.call.env)
	env.RUNNER_POLICY = policies(env.RUNNER_POLICY)
	local answer
	require("runner.task.scheduler").run(function()
		answer = calls.run { command = call.command, typed = call.words, env = env, cwd = call.cwd,
			confirmed = { id = gate.id, digest = gate.digest } }
	end)
	return answer
end

return M
