-- environment: the variables that runner reads or sets besides those that stand in
-- for flags (lua/declare/flags.lua), for help and the reference. Loaded by help alone; a
-- test compares it with every getenv of the source.

local M = {}

---@type {name: string, description: string}[]
M.rows = {
	{ name = "RUNNER_EXIT_TABLE", description = "standard or classic: the column of exit numbers; wins over runner.lua" },
	{ name = "RUNNER_PATH", description = "More folders of command files, with : between them" },
	{ name = "RUNNER_SEED", description = "Seed of the jitter between attempts, for repeatable delays" },
	{ name = "RUNNER_LOAD_TIMEOUT", description = "How long a file may take to load (5s)" },
	{ name = "RUNNER_LUA", description = "Folder of runner's own Lua files, in place of those inside the binary" },
	{ name = "RUNNER_OUTER_RETRIES", description = "Set for children when the run itself retries: their default is then 0" },
	{ name = "RUNNER_DEADLINE_MS", description = "Set for children: when the run ends, so that a runner inside it ends before" },
	{ name = "RUNNER_AUTOMATION", description = "Set to true for the steps of a workflow" },
	{ name = "RUNNER_RETRY_EVENT", description = "Set for the on_retry text of a step: the event, as JSON" },
	{ name = "XDG_CONFIG_HOME", description = "runner/commands in it holds your own commands (~/.config)" },
	{ name = "XDG_STATE_HOME", description = "runner in it holds the locks of ctx:lock and the runs of workflows (~/.local/state)" },
	{ name = "XDG_RUNTIME_DIR", description = "The same, where neither XDG_STATE_HOME nor HOME can be used" },
	{ name = "HOME", description = "Where the search for a project ends, and where the folders above default to" },
	{ name = "TMPDIR", description = "Where ctx.tempdir is made (/tmp)" },
	{ name = "HTTPS_PROXY", description = "With HTTP_PROXY, ALL_PROXY and NO_PROXY: how ctx:http gets out" },
	{ name = "SSL_CERT_FILE", description = "CA certificates for ctx:http; also CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_DIR" },
	{ name = "TZ", description = "Time zone of the times that failures name, such as 'resets 1pm'" },
	{ name = "CI", description = "When set: results are JSON, and nobody is asked" },
	{ name = "NO_COLOR", description = "When set: no colours" },
	{ name = "TERM", description = "dumb: no colours" },
	{ name = "COLUMNS", description = "Width of help on a terminal (80)" },
}

return M
