-- keys: the keys and variables of a prodigy workflow file, and ours for each, or why there is none. The importer reads each file
-- by it, and docs/workflows/from-prodigy.md is generated from it. Data only.

local M = {}

---@class runner.workflow.ImportKey
---@field [1] string their key, and other spellings of it
---@field [2] string|false our key, or what it becomes in Markdown; "": nothing is needed; false: it is left out
---@field [3] string? what differs, or why it is left out
---@field by? string the function of prodigy.lua that reads it; without one it is read with another key, or needs nothing
---@field kind? boolean a step does it
---@field when? boolean
---@field once? string what is said at its first place in a file

local TOGETHER = "each failure is reported when it happens, and all together at the end"

---In the order in which they are imported. `steps`: the keys of a step may stand beside these.
---@type {name: string, title: string, steps: boolean?, [integer]: runner.workflow.ImportKey}[]
M.sections = {
	{ name = "file", title = "The file",
		{ "name description env_files", "the same", by = "same" },
		{ "mode", "", "`mapreduce` is a [loop](loops.md#foreach) with steps before and after it" },
		{ "env", "env", "a name that a prompt uses is also a variable of `vars`, since no shell reads prompts", by = "file_env" },
		{ "secrets", "secrets", "`${env:NAME}` is `{ env: NAME }`; other providers are left out", by = "secrets" },
		{ "parameters", "`vars`, with types", "an `Array` is `json`, as an `Object` is; `validation` is left out", by = "parameters" },
		{ "timeout", "timeout", "of each attempt of a step, not of the run", by = "number" },
		{ "retry_defaults retry_config", "retry", "`attempts` counts retries here", by = "retry" },
		{ "setup", "steps before the loop", by = "phase" },
		{ "commands steps", "commands", "a list of steps as the whole file is the same", by = "steps" },
		{ "map", "`foreach`, with the id `map`", by = "map" },
		{ "reduce", "steps after the loop", by = "phase" },
		{ "error_policy", "`continue_on_error`, `max_failures`", by = "policy" },
		{ "on_item_failure continue_on_failure max_failures failure_threshold", false, "write it in `error_policy`" },
		{ "error_collection", "", TOGETHER },
		{ "config", false, "write `timeout` and `env` in the file itself" },
		{ "merge", "`worktree: { merge: true }`, and its steps at the end", "in the worktree; what they haven't merged is merged then",
			by = "merge" },
		{ "profiles", false, "give other values by `--var` and `env_files`" },
		{ "imports extends template templates sub_workflows workflows", false,
			"import that file, and run it as a step: `workflow: FILE`" } },
	{ name = "phase", title = "`setup`, `reduce` and `merge`",
		{ "timeout", "`timeout` of each of its steps", by = "each_timeout" },
		{ "commands", "its steps", by = "steps" },
		{ "capture_outputs", false, "put `capture_output: NAME` on the step" } },
	{ name = "map", title = "`map`",
		{ "input", "`foreach: { file }`", "a command, or one that reads `.jsonl`, becomes a `shell:` step before the loop", by = "input" },
		{ "json_path", "`path`", "names, `[0]`, `[*]` and `[?(…)]` at its end", by = "path" },
		{ "filter", "where", "its names are members of `item`; functions and `matches` are left out: a run asks for them",
			by = "filter" },
		{ "sort_by", "sort", "what isn't there comes last", by = "sort" },
		{ "max_items", "limit", by = "number" },
		{ "agent_timeout_secs", "`timeout` of each of its steps", "not of all of them together", by = "each_timeout" },
		{ "timeout_config", "`timeout` of each of its steps", "its `agent_timeout_secs`", by = "timeout_config" },
		{ "agent_template", "`do`, and `worktree: { merge: true }` where items run Claude or git",
			"a conflict fails the item: prodigy has Claude try first", by = "body" },
		{ "max_parallel", "parallel", by = "number" },
		{ "offset", false, "write a `where` that leaves these items out" },
		{ "distinct", false, "remove what is double from the file, in a step before" } },
	{ name = "policy", title = "`error_policy`",
		{ "on_item_failure", "continue_on_error", "`dlq` and `skip`: `workflow resume RUN --failed` runs the failed items again;"
			.. " `stop` is the default here. `retry` and handlers are left out" },
		{ "continue_on_failure", "continue_on_error" },
		{ "max_failures", "max_failures", "one less: it stops at this many there, and here where there are more" },
		{ "failure_threshold", "max_failures", "0.2 is `20%`; `max_failures` beside it is what holds" },
		{ "error_collection", "", TOGETHER },
		{ "circuit_breaker", false, "`max_failures` ends the loop" },
		{ "retry_config", false, "put `retry` on the steps of the items" } },
	{ name = "step", title = "Steps",
		{ "id", "id", by = "text" },
		{ "name", "name", "alone it is a command of Claude Code, with `args` and `options`", by = "text" },
		{ "description", "", "a comment", by = "comment" },
		{ "claude prompt", "claude", "set `allowed_tools`: permissions aren't skipped here", by = "claude", kind = true,
			once = "prodigy skips all permissions: allow what is needed by allowed_tools or permission_mode" },
		{ "shell command", "shell", "prodigy's scripts go on after a command that fails: `errexit: false`", by = "shell",
			kind = true },
		{ "write_file", "`shell`, with printf", "`path`, `content`, `create_dirs`, `mode`; not `format`", by = "write_file", kind = true },
		{ "foreach", "`foreach`, with `do` beside it", by = "foreach", kind = true },
		{ "when", "when", by = "text" },
		{ "env", "env", by = "env" },
		{ "working_dir cwd", "working_dir", by = "text" },
		{ "timeout", "timeout", by = "number" },
		{ "retry retry_config", "retry", by = "retry" },
		{ "capture_output capture", "capture_output", "a name; all output is kept here", by = "capture" },
		{ "capture_format", "", "`${name.field}` is `${steps.ID.data.field}`" },
		{ "capture_streams", "", "`${name.exit_code}` is `${steps.ID.status}`, `.success` is `.ok`" },
		{ "output_file", "output_file", by = "text" },
		{ "outputs", "a `shell:` step that asks git", "`${id.name}` is the file of the last commit that matches", by = "outputs" },
		{ "commit_required", "`check: [{ commit: true }]`", "nothing may be left uncommitted either: name in `.gitignore` what steps leave",
			by = "commit", once = "besides the new commit nothing may be uncommitted here: name in .gitignore what steps leave" },
		{ "validate", "`check`, with `threshold`", by = "validate" },
		{ "on_failure", "`repair`, and `on_failure: continue`", "without another attempt, or with hooks in it, it is `on_failure`",
			by = "on_failure" },
		{ "on_exit_code", "`on_failure`, `on_success` with `when`", by = "on_exit_code" },
		{ "on_success", "on_success", by = "on_success" },
		{ "continue_on_error allow_failure ignore_errors", "`on_failure: continue`", by = "goes_on", when = true },
		{ "fail_workflow", "`on_failure: continue`, where it is false", by = "goes_on", when = false },
		{ "metadata", "keys of the step", by = "metadata" },
		{ "temporary", "", "the environment of a step ends with it" },
		{ "analyze analysis", false, "it is prodigy's own analysis of the code" },
		{ "goal_seek", false, "write its command as a step with `check`, `threshold` and `repair`" },
		{ "retries", false, "write `retry`" },
		{ "test", false, "write its command as `shell`" },
		{ "clear_env", false, "write `env -i` in the script" },
		{ "args options", false, "write them into the prompt" },
		{ "output", false, "prodigy doesn't read it; write `output_file`" },
		{ "handler step_validate skip_validation validation_timeout auto_commit commit_config strategy", false,
			"write its commands as steps" } },
	{ name = "foreach", title = "`foreach`",
		{ "foreach input items", "foreach", "a command becomes a `shell:` step before it", by = "items" },
		{ "parallel", "parallel", "`true` is 10 there, 16 here", by = "same" },
		{ "continue_on_error", "continue_on_error", by = "same" },
		{ "max_items", "limit", by = "number" },
		{ "do", "do", by = "body" } },
	{ name = "validate", title = "`validate`", steps = true,
		{ "commands", "steps of `check`" },
		{ "result_file", "the last step: `shell: cat FILE`" },
		{ "threshold", "`threshold: { completion_percentage: 100 }`", "100 is prodigy's default" },
		{ "on_incomplete", "`repair`", "`max_attempts` is `max`; `fail_workflow: false` is `on_failure: continue`" },
		{ "expected_schema", false, "put `schema` on the claude step" } },
	{ name = "handler", title = "`on_failure` and `on_incomplete`", steps = true,
		{ "commands", "its steps" },
		{ "max_attempts max_retries", "`max`", "without it: 3 in `commands`, 1 in mapreduce, 2 in `on_incomplete`" },
		{ "fail_workflow", "`on_failure: continue` on the step, where it is false", "prodigy's default is false, and true in `on_incomplete`;"
			.. " a failure of the step itself is passed over too" },
		{ "retry_original", "", "`max_attempts` says so" },
		{ "capture strategy handler_failure_fatal", false, "put `capture_output: NAME` on a step of `commands`" } },
	{ name = "retry", title = "`retry` and `retry_config`",
		{ "attempts max_attempts", "max_attempts", "retries are counted here: 2 for 3 attempts" },
		{ "backoff", "backoff", "`fixed` is `constant`; for `{ linear: … }` and `{ custom: … }` write `initial_delay` or `delays`" },
		{ "initial_delay", "initial_delay", "without it: 1s there, 5s here" },
		{ "max_delay", "max_delay", "without it: 30s there, 2m here" },
		{ "jitter jitter_factor", "the same", "without it: none there, 0.25 here" },
		{ "retry_budget", "retry_budget", "attempts count too, not just waits" },
		{ "retry_on", "retry_on", "classes, or patterns" },
		{ "on_failure", false, "write `on_failure` on the step" } },
}

local OF_GIT = "captured from `git` in a step before; with `:PATTERN` of these files alone"

---Their variables (several are the same) and ours; false: none, so it becomes a variable of `vars` that the caller gives.
---`*`: any name; `special`: a function of references.lua reads it.
---@type {[1]: string, [2]: string|false, [3]: string?, special: boolean?}[]
M.variables = {
	{ "ARG", "ARG", "declared in `vars`: `--var ARG=VALUE`", special = true },
	{ "shell.output", "shell.output", "in a `repair` `${attempt.output}`" },
	{ "claude.output", "claude.output", "in a `repair` `${attempt.output}`" },
	{ "shell.stderr", "attempt.error", "in a `repair`", special = true },
	{ "shell.exit_code", "shell.status" },
	{ "claude.exit_code", "claude.status" },
	{ "last.output last.exit_code", false, "write `${shell.output}` or `${claude.output}`" },
	{ "validation.gaps", "check.data.gaps", "and other members of the result", special = true },
	{ "validation.attempt_number", "attempt.repair", special = true },
	{ "item.*", "item.*" },
	{ "env.*", "env.*" },
	{ "item_id", "`item_${item_index}`", "from 1", special = true },
	{ "item_index index", "item_index", "from 1" },
	{ "map.results map.results_json map.results_array", "steps.map.data" },
	{ "map.outputs", "steps.map.output", "a line for each item" },
	{ "map.total", "steps.map.total" },
	{ "map.successful map.success_count", "steps.map.succeeded" },
	{ "map.failed map.failure_count", "steps.map.failed" },
	{ "workflow.name", "run.name" },
	{ "workflow.id", "run.id" },
	{ "step.files_added step.files_modified step.files_deleted step.files_changed step.commits", "files_added", OF_GIT, special = true },
	{ "workflow.files_added workflow.files_modified workflow.files_deleted workflow.files_changed workflow.commits", "workflow_files_added",
		OF_GIT .. "; since the run began", special = true },
	{ "merge.source_branch", "worktree.branch", "known in `merge` alone", special = true },
	{ "merge.target_branch", "worktree.into", "known in `merge` alone", special = true },
	{ "merge.worktree", "worktree.path", "known in `merge` alone", special = true },
	{ "merge.session_id", "run.id", "known in `merge` alone", special = true },
	{ "worker.id", false, "items have no worker" },
	{ "item_total total", false, "a loop doesn't know how many items there are" },
}

---Key or variable → its row.
---@param rows {[1]: string}[]
---@return table<string, any>
local function by_name(rows)
	local out = {}
	for _, row in ipairs(rows) do
		for name in row[1]:gmatch "%S+" do
			out[name] = row
		end
	end
	return out
end

---Section → key → its row; and the rows of a section as they are imported.
M.named, M.rows, M.named_variables = {}, {}, by_name(M.variables)
for _, section in ipairs(M.sections) do
	M.named[section.name] = setmetatable(by_name(section), section.steps and { __index = M.named.step })
	M.rows[section.name] = table.move(section, 1, #section, 1, {})
	if section.steps then
		table.move(M.rows.step, 1, #M.rows.step, #section + 1, M.rows[section.name])
	end
end

return M
