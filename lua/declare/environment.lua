-- environment: the environment variables that runner reads or sets, other than those of
-- flags (lua/declare/flags.lua), for help and the reference. Loaded by help, and where one of them may be wrong; a test
-- compares it with every getenv in the source.

local M = {}

local function is_duration(text)
	return require("runner.core.rules").duration(text)
end

local function is_seed(text)
	local seed = math.tointeger(tonumber(text))
	return seed and seed >= 0
end

local function is_size(text)
	return (require("runner.core.amounts").size(text, 1) or 0) > 0
end

local function is_budget(text)
	return (require("runner.core.amounts").size(text, 4096) or 0) > 0
end

---@type {name: string, description: string, accepts?: fun(text: string): any}[]
M.rows = {
	{ name = "RUNNER_EXIT_TABLE", accepts = require("runner.core.rules").named "exit_table",
		description = "standard or classic: the exit numbers to use; overrides runner.lua" },
	{ name = "RUNNER_PATH", description = "More folders of command files, separated by :" },
	{ name = "RUNNER_TRUST", description = "Directory whose owner is trusted like you, for the Lua files below it; lists read its projects" },
	{ name = "RUNNER_CONTEXT", description = "The context of runner.lua to use where --context names none. Set for children" },
	{ name = "RUNNER_POLICY", description = "Policy files that hold for every call, separated by :; empty is an error. Set for children" },
	{ name = "RUNNER_SUBJECT", description = "Whose calls these are, where no policy says so; empty is an error. Set for children" },
	{ name = "RUNNER_SEED", accepts = is_seed, description = "Seed of the retry jitter, for reproducible delays" },
	{ name = "RUNNER_LOAD_TIMEOUT", accepts = is_duration, description = "How long a file may take to load (5s)" },
	{ name = "RUNNER_MAX_STDIN_BYTES", accepts = is_size,
		description = "Most bytes of stdin that are read for --input-file - and declared stdin (64KiB)" },
	{ name = "RUNNER_MAX_OUTPUT_BYTES", accepts = is_budget,
		description = "Most bytes of an answer; --max-bytes overrides it" },
	{ name = "RUNNER_LUA", description = "Folder of runner's own Lua files, to use instead of those in the binary" },
	{ name = "RUNNER_DRY_RUN", description = "1: commands that change something do a dry run; set for what a dry run starts" },
	{ name = "RUNNER_OUTER_RETRIES", description = "Set for children if the run itself retries: their default is then 0 retries" },
	{ name = "PWD", description = "Set for programs: the directory that the command works in, where that is not its caller's" },
	{ name = "RUNNER_RETRY_BUDGET", description = "Set for commands that the run calls: the retries that it has left for them" },
	{ name = "RUNNER_DEADLINE_MS", description = "Set for children: when the run ends, so that a nested runner ends first" },
	{ name = "RUNNER_ARGUMENTS", description = "Set for the command that ctx:call calls: its arguments are on stdin, as JSON" },
	{ name = "RUNNER_CALLED", description = "Set for calls of ours: by ctx:call, or by what a policy allows together with them" },
	{ name = "RUNNER_CONFINED", description = "Set for what a policy confines: the policy, under which it can call no runner" },
	{ name = "RUNNER_CLIENT", description = "Set by mcp serve and exec for the calls that they make: their transport and client,"
		.. " for the audit ledger" },
	{ name = "RUNNER_SERVED", description = "Set by mcp serve for the calls that it makes: the project that it serves, whose files they run "
		.. "and whose jobs and runs they see" },
	{ name = "RUNNER_JOB", description = "Set for a job: its folder" },
	{ name = "RUNNER_ASKERS", description = "Set for a job: who has started it, and may approve nothing that it asks" },
	{ name = "RUNNER_APPROVAL", description = "Set for `notify`, of runner.lua and of an approve step: the ID of what a person is asked" },
	{ name = "AGENT_CALL_BUDGET_MS", description = "Milliseconds within which a call of a command with interruption answers (30000)" },
	{ name = "RUNNER_NEEDS", description = "Set for commands that another one needs: where they note that they have run, and who needs them" },
	{ name = "RUNNER_TERMINAL", description = "Set for calls of ours at a terminal: own, as ours; lines, for colours and width" },
	{ name = "RUNNER_FLAME", description = "Set for the command that runner flame runs: the folder where its processes note their time" },
	{ name = "RUNNER_TEMPDIR", description = "Set for children: ctx.tempdir, once it is made" },
	{ name = "RUNNER_AUTOMATION", description = "Set to true for the steps of a workflow" },
	{ name = "RUNNER_LOG_KEPT", description = "Set for jobs and the steps of a workflow: stderr is a log, and ctx:log prints all" },
	{ name = "RUNNER_RETRY_EVENT", description = "Set for a step's on_retry command: the event, as JSON" },
	{ name = "XDG_CONFIG_HOME", description = "Holds your own commands, in runner/commands (~/.config)" },
	{ name = "XDG_STATE_HOME",
		description = "Holds the locks of ctx:lock, the runs of workflows, and which projects are known, in runner (~/.local/state)" },
	{ name = "XDG_CACHE_HOME", description = "Where a bundled program keeps its files, in runner/bundles (~/.cache)" },
	{ name = "XDG_RUNTIME_DIR", description = "Used instead if neither XDG_STATE_HOME nor HOME is usable" },
	{ name = "HOME", description = "Where the search for a project ends; the defaults above are in it, where it is a directory" },
	{ name = "PATH", description = "Where the programs that commands start are found; the calls of a test have stand-ins in front" },
	{ name = "TMPDIR", description = "Where ctx.tempdir is made (/tmp)" },
	{ name = "HTTPS_PROXY", description = "Proxy for ctx:http; also HTTP_PROXY, ALL_PROXY and NO_PROXY" },
	{ name = "SSL_CERT_FILE", description = "CA certificates for ctx:http; also CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_DIR" },
	{ name = "TZ", description = "Time zone of times in error messages, such as 'resets 1pm'" },
	{ name = "TZDIR", description = "Where the time zones of such times are defined (/usr/share/zoneinfo)" },
	{ name = "EDITOR", description = "The editor that ctx:edit opens, if VISUAL is not set (vi)" },
	{ name = "VISUAL", description = "The editor that ctx:edit opens" },
	{ name = "GIT_CONFIG_COUNT", description = "Settings of git, which a call begins with: runner's own git gets one more" },
	{ name = "GIT_CONFIG_GLOBAL", description = "The settings of git in the place of ~/.gitconfig: what a fenced step's git may read" },
	{ name = "CI", description = "If set: results are JSON, nothing prompts, no colours; also GITHUB_ACTIONS and JENKINS_URL" },
	{ name = "NO_COLOR", description = "If set: no colours" },
	{ name = "TERM", description = "dumb: no colours" },
	{ name = "RUNNER_PLAIN", description = "1: as --plain; set for children by --plain" },
	{ name = "LC_ALL", description = "Says, as LC_CTYPE and LANG do, whether the terminal shows UTF-8: runner doctor" },
	{ name = "DISPLAY", description = "Without it and WAYLAND_DISPLAY, and with SSH_TTY: nothing can open a window" },
	{ name = "TOOL_TRACE_ID", description = "Of the caller's trace: passed on to children; also RUNNER_TRACE_ID" },
	{ name = "TRACEPARENT", description = "The trace that a workflow run belongs to, where its project exports traces; set for its steps" },
	{ name = "OTEL_EXPORTER_OTLP_ENDPOINT",
		description = "Collector of traces; also ..._HEADERS, ..._TIMEOUT and ..._PROTOCOL" },
	{ name = "OTEL_SERVICE_NAME", description = "Who exports traces (runner); also OTEL_RESOURCE_ATTRIBUTES" },
	{ name = "OTEL_SDK_DISABLED", description = "true: no traces are exported; also OTEL_TRACES_EXPORTER=none" },
	{ name = "COLUMNS", description = "Width of help and tables on a terminal, in place of its own" },
}

---Is this what the variable takes? True for a variable without a rule of its own.
---@param name string
---@param text string
---@return boolean
function M.accepts(name, text)
	for _, row in ipairs(M.rows) do
		if row.name == name and row.accepts then
			return row.accepts(text) and true or false
		end
	end
	return true
end

return M
