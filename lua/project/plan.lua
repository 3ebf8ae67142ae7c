-- plan: the PLAN and EXIT frames, which send the supervisor the settings of the run.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {}

local sent = false -- by this attempt

---The format of the result: the caller's choice, else text on a terminal.
---@param framework table values of runner's own flags
---@return "json"|runner.TextFormat
function M.format_of(framework)
	if attempt.policy and attempt.policy.checks or attempt.launch.job and not framework.output then
		return "json"
	elseif framework.stream ~= nil then
		return framework.stream and "jsonl" or "json"
	end
	return framework.format or attempt.launch.format
end

---The numbers of exit codes: the caller's choice, else the project's.
---@param project table
---@return "standard"|"classic"|nil
function M.exit_table(project)
	return attempt.launch.exit_table or project.exit_table
end

local function send_exit_codes(command)
	for _, row in ipairs(command.exit_codes or {}) do
		host.send("EXIT", {
			name = row.name, exit_code = row.exit_code,
			retryable = row.retryable ~= nil and tostring(row.retryable) or nil,
			side_effects = row.side_effects, retry_after_ms = row.retry_after_ms, retry_strategy = row.retry_strategy,
		}, true)
	end
end

---The first plan of an attempt holds; later ones are not sent.
---@param command table normal form
---@param settled table from settings.settle
---@param framework table values of runner's own flags
---@param project table
---@param from_stdin? boolean the caller's stdin is read before `run`; else false or nil: with nil, another frame follows soon
function M.send(command, settled, framework, project, from_stdin)
	if sent then
		return
	end
	sent = true
	local p, allowed, from = settled.policy, command.limits or {}, settled.sources
	send_exit_codes(command)
	host.send("PLAN", {
		code = not command.path and "own" or nil, command = command.name, danger_level = command.danger_level,
		digest = settled.plan_digest or command.digest,
		-- an answer that has no rows is the envelope off a terminal
		format = (framework.output or framework.validate_only) and not attempt.launch.stdout_is_tty and "json" or M.format_of(framework),
		exit_table = M.exit_table(project),
		timeout_ms = settled.call_ms or settled.timeout_ms, attempt_timeout_ms = settled.attempt_timeout_ms,
		idle_timeout_ms = settled.idle_timeout_ms, grace_ms = settled.grace_ms, schema_version = command.schema_version,
		memory_bytes = allowed.memory_bytes, cpu_ms = allowed.cpu_ms,
		processes = allowed.processes, open_files = allowed.open_files,
		retries = p.retries, retries_given = settled.retries_given ~= nil, strategy = p.strategy,
		delay_ms = p.delay_ms, max_delay_ms = p.max_delay_ms, jitter = p.jitter, jitter_ppm = p.jitter_ppm,
		seed = p.seed, delays = p.delays, on = p.on or {}, maybe = p.maybe or false,
		steps = command.steps or {}, state = command.resumable and "resumable" or nil,
		stdin = command.stdin == true or from_stdin, interactive = command.interactive or false,
		quiet = framework.quiet, verbose = framework.verbose,
		output = command.raw,
		warnings_as_errors = framework.warnings_as_errors or false, no_color = framework.no_color or false,
		unmask = framework.unmask,
		max_bytes = (framework.max_bytes or command.contract or attempt.policy or os.getenv "RUNNER_MAX_OUTPUT_BYTES")
			and require("runner.core.budget").sent(framework, command),
		text = from and from.timeout .. "," .. from.attempt_timeout .. "," .. from.idle_timeout,
	}, not (command.validate or from_stdin ~= nil))
end

return M
