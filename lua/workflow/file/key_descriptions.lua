-- key_descriptions: type, default and meaning of each key of a workflow file, in Markdown: for the tables in
-- docs/workflows and for the JSON Schema (lua/workflow/file/schema.lua), which alone load it. The checker of
-- workflow files decides which keys exist and which are aliases; .ci/docs/generate.lua joins both, and
-- fails when either has a key that the other lacks.

local M = {}

-- Section → rows in the order of the page: key, type, default, meaning.
M.workflow = {
	{ "name", "text", "the file's name", "name of the workflow in lists, logs and `${run.name}`" },
	{ "description", "text", "", "for readers of the file" },
	{ "commands", "list of steps", "**required**", "the steps, run in this order" },
	{ "finally", "steps", "none", "steps that run [when the run ends](parts.md#last-steps), whichever way" },
	{ "vars", "map", "none", "variables with their default values; one with an empty default needs `--var NAME=VALUE`."
		.. " `{ type: integer, min: 1, default: 2 }` has a [type](variables.md#types)" },
	{ "outputs", "map", "none", "what it gives to [a workflow that runs it](parts.md#workflows-within-workflows), by name:"
		.. " `version: ${steps.build.output}`" },
	{ "env", "map", "none", "environment variables for every step" },
	{ "env_files", "path, or list", "none", "dotenv files, read when the run starts; `env` wins over them" },
	{ "secrets", "list, or map", "none", "values that are masked everywhere: see [secrets](secrets.md)" },
	{ "retry", "map, true or false", "see [retries](retries.md)", "defaults for the steps' `retry`; `false`: claude steps aren't retried" },
	{ "timeout", "duration", "10m for claude steps", "limit of one attempt, for steps of every kind that don't set their own" },
	{ "capture_limit", "size, or none", "1M", "the most output that is kept of each step: see [long outputs](steps.md#long-outputs)" },
	{ "interpreter", "`sh`, `bash`", "`sh`", "the shell of shell steps and of the hooks `verify` and `on_retry`: see"
		.. " [shell](steps.md#shell)" },
	{ "errexit", "boolean", "true", "these scripts stop at the first failing command; `false`: they go on" },
	{ "max_cost", "US dollars", "none", "what all claude steps of a run may cost: see [budgets](claude.md#budgets)" },
	{ "recover", "boolean", "false", "`true`: [`workflow recover`](durability.md#recovery-without-a-person) resumes a run that a power cut"
		.. " or a shutdown has ended" },
	{ "concurrency", "map", "none", "one run at a time of those with the same key: see [below](#one-run-at-a-time)" },
	{ "executors", "map", "none", "places where steps may run, by name: see [executors](../scale.md#executors)" },
	{ "on", "name, or `none`", "none", "the executor of every step that names none; `--on` wins over it" },
	{ "confine", "map, or false", "none", "what the programs of its claude and shell steps may reach: see"
		.. " [confinement](steps.md#confinement)" },
	{ "worktree", "`true`, or map", "none", "a [worktree](worktrees.md) of git that the whole run works in" },
	{ "claude", "map", "", "the program that claude steps call: see [below](#claude)" },
}

M.claude = {
	{ "program", "text", "`claude`", "name or path of the program" },
	{ "args", "list", "none", "its first arguments; `--print` and the prompt follow them" },
	{ "output", "`text`, `json`, `stream-json`", "`text`", "`json` and `stream-json` pass `--output-format`,"
		.. " and runner parses the answer as JSON; `stream-json` is [recommended](claude.md#watching-it-work)" },
	{ "resume_session", "boolean", "false", "retries and resumed runs continue the [session](claude.md#sessions) of the step" },
	{ "max_attempt_cost", "US dollars", "none", "what one attempt of a claude step may cost: see [budgets](claude.md#budgets)" },
	{ "answer", "`text`, `json`", "`text`", "`json`: an answer that is JSON is the step's [data](claude.md#data)" },
	{ "on_denied", "`fail`, `warn`", "`fail`", "what a [permission that was denied](claude.md#permissions) means for the step" },
}

M.concurrency = {
	{ "key", "text", "**required**", "what these runs have in common, with variables and the environment: `deploy-${env.STAGE}`" },
	{ "when_taken", "`queue`, `cancel`, `refuse`", "`queue`", "what a run does where another one with this key is running: wait for"
		.. " its turn, cancel that run, or fail with GROUP_TAKEN" },
}

M.executor = {
	{ "kind", "`slurm`, `command`, `local`", "**required**", "what runs its tasks: Slurm, [programs of"
		.. " yours](#any-other-queue), or processes on this machine" },
	{ "directory", "path", "**required**", "a folder that every node sees under the same path; absolute, or below `~/`. Not"
		.. " needed by `local`" },
	{ "partition", "text", "the site's", "of Slurm, or whatever the programs make of it; so are `account` and `qos`" },
	{ "account", "text", "the site's", "who pays" },
	{ "qos", "text", "the site's", "quality of service" },
	{ "cpus", "number", "the site's", "processors of a task" },
	{ "gpus", "number, or text", "none", "of a task: `2`, `a100:2`" },
	{ "memory", "size, or list", "the site's", "of a task: `4G`; a list: after a task ran out of memory, it is placed again"
		.. " with the next one" },
	{ "time", "duration", "the site's", "the longest that a task may run, as the queue enforces it" },
	{ "at_once", "number", "the site's", "how many tasks of a submission run at the same time, at most" },
	{ "poll", "duration", "5s", "how often the queue is asked" },
	{ "submit_rate", "number, `1/s`, `10/m`", "1/s", "how often something is submitted, at most" },
	{ "options", "list", "none", "further words for the program that submits: `[--constraint=ssd]`" },
	{ "prologue", "shell text", "none", "runs on the node in front of runner: `module load apps`" },
	{ "environment", "map", "none", "environment variables of the task" },
	{ "via", "`ssh HOST`", "none", "of `slurm` and `command`: [a machine of the cluster](#from-a-machine-outside-the-cluster) that"
		.. " ssh reaches; `directory` and the programs are there" },
	{ "runner", "path", "our own", "where runner is on the nodes" },
	{ "submit", "list", "", "kind `command`: the program that submits, and its first arguments" },
	{ "states", "list", "", "the one that tells what became of submissions" },
	{ "cancel", "list", "", "the one that ends them" },
}

M.resources = {
	{ "cpus", "number", "the executor's", "processors of a task" },
	{ "gpus", "number, or text", "the executor's", "of a task: `2`, `a100:2`" },
	{ "memory", "size, or list", "the executor's", "of a task: `4G`, `[4G, 8G]`" },
	{ "time", "duration, or list", "the executor's", "the longest that a task may run, as the queue enforces it: `30m`, `[30m, 4h]`" },
}

M.any = {
	{ "id", "text", "the step's number", "its name in `${steps.ID.output}`, `show`, `logs` and `--mark-done`" },
	{ "name", "text", "its text", "what `show`, logs, reports and the live display call it; `Test ${item}` works too" },
	{ "when", "condition", "always", "skip the step unless the [condition](conditions.md) is true" },
	{ "on_failure", "`fail`, `continue`, steps", "`fail`", "what happens [when the step has failed](failures.md) for good" },
	{ "on_success", "steps", "none", "steps that run when it has succeeded" },
	{ "resources", "map", "the executor's", "what [a task of the step](../scale.md#resources-of-a-step) asks for" },
	{ "check", "steps", "none", "what must [pass](repair.md) before the step counts as done; its failure is CHECK_FAILED" },
	{ "repair", "steps, or map", "none", "what [runs](repair.md#repair) where the step or its check has failed, and before that"
		.. " runs again" },
	{ "worktree", "`true`, or map", "none", "a [worktree](worktrees.md) of git that it works in; of a `foreach`: one for each item" },
	{ "on", "name, or `none`", "the workflow's", "the [executor](../scale.md#executors) that runs it, with all that is inside"
		.. " it; `none`: this machine" },
}

M.process = {
	{ "timeout", "duration", "the workflow's; claude: 10m", "limit of one attempt; a timeout is a transient failure" },
	{ "total_timeout", "duration", "none", "limit of the whole step: all attempts and the waits between them" },
	{ "grace", "duration", "2s", "time from SIGTERM to SIGKILL when an attempt is ended" },
	{ "retry", "map, true or false", "claude: on; others: off", "which failures are retried, and when: see [retries](retries.md)" },
	{ "env", "map", "none", "environment variables for this step" },
	{ "working_dir", "path", "where the run started", "working directory of the step and its hooks, and base of `output_file`" },
	{ "capture_output", "true, false, name", "true", "`false`: the output isn't stored, and so is lost on `resume`;"
		.. " a name: also store it in this variable" },
	{ "capture_limit", "size, or none", "the workflow's, else 1M", "the most output that is kept: see [long outputs](#long-outputs)" },
	{ "output_file", "path", "none", "write the output there on success, completely or not at all, however long it is" },
	{ "idempotent", "boolean", "", "`true`: it may run again after an interruption; `false`, written out: not unasked, even"
		.. " after Ctrl+C. See [in doubt](durability.md#in-doubt)" },
	{ "side_effects", "`none`", "some", "it changes nothing, so it may also run again" },
	{ "verify", "shell script", "none", "checks whether an interrupted step did its work: exit 0 for yes, 1 for no" },
	{ "confine", "map, or false", "the workflow's", "what its programs may reach: see [below](#confinement)" },
	{ "on_retry", "shell script", "none", "runs before each wait: see [the hook](retries.md#the-hook-on_retry)" },
	{ "threshold", "number, or map", "none",
		"the least that its data may be, or these members of them; `0.9` means the data, or their `score`. Less is CHECK_FAILED" },
}

M.kinds = {
	{ "claude", "text", "", "the prompt; [more keys](claude.md#flags) become flags of the program" },
	{ "session", "id of a step", "a new one", "continue the [session](claude.md#sessions) of that claude step" },
	{ "max_cost", "US dollars", "none", "what all attempts of the claude step may cost: see [budgets](claude.md#budgets)" },
	{ "resume_session", "boolean", "the workflow's, else false", "a retry, or a resumed run, continues this step's session" },
	{ "max_attempt_cost", "US dollars", "the workflow's", "what one attempt of it may cost" },
	{ "answer", "`text`, `json`", "the workflow's, else `text`", "`json`: an answer that is JSON is the step's [data](claude.md#data)" },
	{ "on_denied", "`fail`, `warn`", "the workflow's, else `fail`", "what a [permission that was denied](claude.md#permissions) means" },
	{ "schema", "map", "none", "the answer has to be JSON of this [schema](claude.md#schema), and is the step's data" },
	{ "shell", "text", "", "a script for `/bin/sh -e -c`: see [below](#shell)" },
	{ "interpreter", "`sh`, `bash`", "the workflow's, else `sh`", "the shell of a shell step and of its hooks" },
	{ "errexit", "boolean", "the workflow's, else true", "they stop at the first failing command; `false`: they go on" },
	{ "runner", "words", "", "a command: `deploy`, `db migrate`" },
	{ "args", "list, or map", "none", "arguments of a runner step: a list as on the command line, or names and values;"
		.. " of a claude step: a list of further flags" },
}

M.foreach = {
	{ "foreach", "list, `\"${…}\"`, or `{ file: PATH }`", "", "the items, available as `${item}` and `${item_index}` (from 1)."
		.. " Text is split into lines; of a file, the lines are read as they are needed" },
	{ "do", "steps", "**required**", "the steps to run for each item" },
	{ "parallel", "number, or true", "1", "how many items run at once, at most 64; `true`: 16" },
	{ "where", "condition", "all", "only the items for which it holds: `item.priority >= 3`" },
	{ "sort", "text, or list", "as they come", "`item.priority desc`, then by the next of the list; what isn't there comes last" },
	{ "max_items", "number", "all", "only the first N items; also spelled `limit`" },
	{ "continue_on_error", "boolean", "false", "if an item fails, run the others anyway; the step succeeds, [with a"
		.. " warning](failures.md#passed-over)" },
	{ "max_failures", "number, or `\"10%\"`", "all", "if more items than that fail, the step fails; implies `continue_on_error`" },
	{ "chunk", "number", "chosen", "on an executor: how many items a task runs" },
}

M.parallel = {
	{ "parallel", "list of steps", "", "the steps to run at the same time" },
	{ "limit", "number", "all, at most 16", "how many run at once, at most 64" },
	{ "continue_on_error", "boolean", "false", "if a step fails, run the others anyway; the `parallel` step succeeds" },
}

M.steps = {
	{ "steps", "steps", "", "a block: steps that run one after the other, and have one `check` and one `repair`" },
}

M.inner = {
	{ "workflow", "path", "", "another file, whose steps run here: see [workflows within workflows](parts.md#workflows-within-workflows)" },
	{ "vars", "map", "none", "the values of its variables" },
}

M.commit = {
	{ "commit", "`true`", "", "in a [check](repair.md#check): there is a new commit since the step began, and nothing is uncommitted" },
	{ "working_dir", "path", "that of the step", "the repository" },
}

M.approve = {
	{ "approve", "text, or map", "", "a person is asked: see [approvals](approvals.md). Text is its message" },
	{ "message", "text", "**required**", "what is asked" },
	{ "show", "path, or list", "none", "files that are shown with it; `diff`: what isn't committed in the repository" },
	{ "notify", "steps", "none", "what runs once it has asked, to notify a person" },
	{ "timeout", "duration", "none", "how long it waits" },
	{ "default", "`reject`, `approve`", "`reject`", "what holds after the timeout" },
}

M.repair = {
	{ "steps", "steps", "", "what runs" },
	{ "max", "1 to 1000", "3", "how many repairs there are; a resume has as many again" },
	{ "again", "`check`, `step`", "`check`, where there is one", "what runs after it" },
}

M.worktree = {
	{ "base", "commit", "`HEAD`", "what the worktree starts from" },
	{ "branch", "text", "`runner/RUN/STEP`", "its branch, which is made: `agent/${item.id}`" },
	{ "merge", "`true`, or steps", "the branch stays", "`true`: the branch is merged into that of the repository; or what merges it" },
	{ "keep", "`failed`, `always`, `never`", "`failed`", "which worktrees stay when their steps are over" },
}

M.retry = {
	{ "strategy", "text", "`exponential`", "how the waits grow: `constant`, `linear`, `exponential`, `fibonacci`, `custom`" },
	{ "initial_delay", "duration", "5s", "the first wait" },
	{ "max_attempts", "0 to 1000", "5", "the number of **retries**: 5 means up to 6 attempts, 0 means one" },
	{ "delays", "list of durations", "", "the waits themselves (`custom`); `max_attempts` defaults to their number. If it is larger,"
		.. " the last wait repeats" },
	{ "max_delay", "duration", "2m, or your longest wait if longer", "cap of every wait" },
	{ "jitter", "0 to 1, true, false, name", "0.25", "0.25 varies each wait by ±25 %; or `full`, `equal`, `decorrelated`, `none`" },
	{ "jitter_factor", "0 to 1", "0.25", "the number, for `jitter: true`" },
	{ "retry_budget", "duration", "none", "a wait that would end later than this after the start of the first attempt is never started" },
	{ "limit_wait", "duration", "6h", "how long to wait until a [usage limit](#usage-limits) resets; 0: not at all" },
	{ "retry_on", "rules, or classes", "what is transient", "see [rules of your own](transient.md#rules-of-your-own)" },
	{ "retry_unknown", "boolean", "true", "`false`: a failure that the [table](transient.md) can't classify is permanent" },
}

return M
