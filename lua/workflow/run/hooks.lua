-- hooks: the short shell commands that belong to a step: `verify` and `on_retry`.
-- They have no retries, have a time limit of their own, and are not steps: the store
-- doesn't know them.

local host = require "runner.host"
local json = require "runner.json"
local kinds = require "runner.workflow.kinds.kinds"
local scheduler = require "runner.task.scheduler"
local step_process = require "runner.workflow.kinds.step_process"
local attempt = require "runner.core.attempt"

local M = {}

local TIMEOUT_MS = 30000

---Run a hook to its end.
---@param run table
---@param hook runner.workflow.Hook
---@param key string of the step
---@param scope table
---@param name string "verify", "on_retry"
---@param event? table handed to it as RUNNER_RETRY_EVENT and on stdin, as JSON
---@return runner.Result
function M.run(run, hook, key, scope, name, event)
	local step = { kind = "shell", text = hook.text, key = key .. "." .. name, label = name, env = hook.env or {},
		working_dir = hook.working_dir, interpreter = hook.interpreter, errexit = hook.errexit, confine = hook.confine,
		timeout_ms = TIMEOUT_MS, grace_ms = 1000 }
	local request = kinds.shell.request(step, scope, run.settings)
	request.lock = run.lock:handle()
	if event then
		local text = assert(json.encode(event))
		request.stdin = text
		request.env[#request.env + 1] = "RUNNER_RETRY_EVENT=" .. text
	end
	scheduler.settled() -- earlier changes are committed
	local result = scheduler.process(request)
	step_process.finish(request)
	return result
end

---Run a step's on_retry hook; its failure is only a warning.
---@param run table
---@param turn table
---@param event { attempt: integer, max_attempts: integer, code: string, message: string, next_delay_ms: integer,
---  elapsed_ms: integer, usage_limit?: true }
function M.on_retry(run, turn, event)
	if not turn.step.on_retry then
		return
	end
	local ok, result = pcall(M.run, run, turn.step.on_retry, turn.key, turn.scope, "on_retry", run.mask(event))
	if not (ok and result.ok) then
		attempt.warn("HOOK_FAILED", ("The on_retry hook of step %s failed"):format(turn.key),
			{ status = ok and result.status or nil, stderr = ok and host.clean(run.mask(result.stderr)):sub(-1000) or nil })
	end
end

return M
