-- workflow_words: what docs/workflows.md says of each key of a workflow file: type,
-- default, meaning. Which keys there are, and which are two spellings of one, is in
-- lua/workflow/file/keys.lua and policy.lua; docs/generate.lua puts both together and fails
-- when one of them has a key more.

local M = {}

-- Section → rows in the page's order: a key, its type, its default, its meaning.
M.workflow = {
	{ "name", "text", "the file's name", "what lists, logs and `${run.name}` call it" },
	{ "description", "text", "", "for readers of the file" },
	{ "commands", "list of steps", "**required**", "what is run, in this order" },
	{ "vars", "map", "none", "names and default values of variables; an empty default must be given by `--var NAME=VALUE`" },
	{ "env", "map", "none", "environment of every step" },
	{ "env_files", "path, or list", "none", "dotenv files, read when the run begins; what `env` says wins" },
	{ "secrets", "list, or map", "none", "values that nobody gets to see: see [below](#environment-and-secrets)" },
	{ "retry", "map, true or false", "see [Retries](#retries)", "defaults of the steps' `retry`; `false`: claude steps are not repeated" },
	{ "timeout", "duration", "10m for claude steps", "limit of one attempt, of steps of every kind that have none of their own" },
	{ "claude", "map", "", "the program of claude steps" },
}

M.claude = {
	{ "program", "text", "`claude`", "name or path of the program" },
	{ "args", "list", "none", "its first arguments; `--print` and the prompt follow" },
	{ "output", "`text`, `json`, `stream-json`", "`text`", "with the others `--output-format` is passed, and the answer is read as JSON" },
}

M.any = {
	{ "id", "text", "the step's number", "its name: `${steps.ID.output}`, `show`, `logs`, `--mark-done`" },
	{ "when", "condition", "always", "the step is skipped where it does not hold" },
	{ "on_failure", "`fail`, `continue`, steps", "`fail`", "what follows when the step has failed for good" },
	{ "on_success", "steps", "none", "what follows when it has succeeded" },
}

M.process = {
	{ "timeout", "duration", "the workflow's; claude: 10m", "limit of one attempt; a timeout counts as a transient failure" },
	{ "total_timeout", "duration", "none", "limit of the step: its attempts and the waits between them" },
	{ "grace", "duration", "2s", "from TERM to KILL, when an attempt is ended" },
	{ "retry", "map, true or false", "claude: on; others: off", "which failures are repeated, and when: see [Retries](#retries)" },
	{ "env", "map", "none", "more environment, of this step" },
	{ "working_dir", "path", "where the run began", "directory of the step, of its hooks and of `output_file`" },
	{ "capture_output", "true, false, name", "true", "`false`: the output is not stored, so it is gone after `resume`;"
		.. " a name: a variable gets it too" },
	{ "output_file", "path", "none", "the output of a success is written there, whole or not at all: a longer one than 1 MiB fails the step" },
	{ "idempotent", "boolean", "false", "it may run again after it was cut off: see [In doubt](#in-doubt)" },
	{ "side_effects", "`none`", "some", "it changes nothing, so it may run again as well" },
	{ "verify", "shell text", "none", "asks whether a step that was cut off has done its work: 0 yes, 1 no" },
	{ "on_retry", "shell text", "none", "is run before each wait: see [The hook](#the-hook-on_retry)" },
}

M.kinds = {
	{ "claude", "text", "", "the prompt" },
	{ "shell", "text", "", "a script for `/bin/sh -c`" },
	{ "runner", "words", "", "a command: `deploy`, `db migrate`" },
	{ "args", "list, or map", "none", "of a runner step: as on the command line, or names and values" },
}

M.foreach = {
	{ "foreach", "list, or `\"${…}\"`", "", "what to loop over: `${item}`, `${item_index}` (from 1). A text is split into lines" },
	{ "do", "steps", "**required**", "what is run for each item" },
	{ "parallel", "number, or true", "1", "how many items at once, at most 64; `true`: 16" },
	{ "max_items", "number", "all", "no more than the first N" },
	{ "continue_on_error", "boolean", "false", "go on with the other items; the step succeeds" },
}

M.parallel = {
	{ "parallel", "list of steps", "", "what is run side by side" },
	{ "limit", "number", "all, at most 16", "how many at once, at most 64" },
	{ "continue_on_error", "boolean", "false", "go on with the other steps; the step succeeds" },
}

M.retry = {
	{ "strategy", "text", "`exponential`", "how waits grow: `constant`, `linear`, `exponential`, `fibonacci`, `custom`" },
	{ "initial_delay", "duration", "5s", "the first wait" },
	{ "max_attempts", "0 to 1000", "5", "**retries**: 5 are up to 6 attempts. 0: none" },
	{ "delays", "list of durations", "", "the waits themselves (`custom`); `max_attempts` is then their number. With more, the last"
		.. " one is repeated" },
	{ "max_delay", "duration", "2m, or a longer wait that you wrote", "no wait is longer" },
	{ "jitter", "0 to 1, true, false, name", "0.25", "±25 % by chance; or `full`, `equal`, `decorrelated`, `none`" },
	{ "jitter_factor", "0 to 1", "0.25", "the number, beside `jitter: true`" },
	{ "retry_budget", "duration", "none", "no wait is begun that would end later than this after the first attempt began" },
	{ "retry_on", "rules, or classes", "what is transient", "see [Rules of your own](#rules-of-your-own)" },
	{ "retry_unknown", "boolean", "true", "`false`: a failure that the table can't name is permanent" },
}

return M
