-- steps: the steps of a workflow file, checked and in their normal form. Each has
-- a key, its address in the run: its id, else its number; the keys of nested steps
-- start with the outer step's (inside a foreach the engine adds the item). It runs
-- nothing.

local check_of = require "runner.workflow.file.check"
local condition = require "runner.workflow.expr.condition"
local confinement = require "runner.workflow.file.confinement"
local executors = require "runner.workflow.file.executors"
local host = require "runner.host"
local inner_lists = require "runner.workflow.file.inner_lists"
local keys = require "runner.workflow.file.keys"
local names = require "runner.workflow.file.names"
local plain_git = require "runner.workflow.file.plain_git"
local retry = require "runner.workflow.file.retry"
local shell = require "runner.workflow.file.shell"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"
local variables = require "runner.workflow.expr.variables"
local yaml = require "runner.core.yaml.parser"

local M = {}

local CLAUDE_TIMEOUT_MS = 600000 -- Spec 185's default: 10 minutes (docs/design.md#workflow-retry-defaults)
local GRACE_MS = 2000
local SIDE_BY_SIDE = 16
local LABEL = 60 -- characters

---@class runner.workflow.Step
---@field key string address in the run; relative to the item within a foreach
---@field id? string
---@field kind string "claude", "foreach": of lua/workflow/file/keys.lua
---@field label string one short line
---@field name? string template: what its label is
---@field line integer
---@field column integer
---@field when? {text: string, ast: table}
---@field on_failure? {steps: runner.workflow.Step[], go: "fail"|"continue"}
---@field on_success? {steps: runner.workflow.Step[]}
---@field text? string template: prompt, script, words of a command
---@field args? string[]|table<string, string|boolean|string[]> of a claude or runner step; texts are templates
---@field options? table<string, any> of a claude step: what becomes flags, by key, its own over the workflow's
---@field schema? table of a claude step: the JSON Schema of its answer
---@field session? string of a claude step: the id of the step whose session it continues
---@field answer? "text"|"json" of a claude step: json: its answer is parsed
---@field resume_session? boolean of a claude step: a retry, or a resumed run, continues its session
---@field on_denied? "fail"|"warn" of a claude step: what a permission that was denied means
---@field max_cost? integer of a claude step: micro-dollars for all its attempts
---@field max_attempt_cost? integer of a claude step: micro-dollars for one attempt
---@field keeps_session? boolean of a claude step: another one uses its session
---@field env? table<string, string> templates
---@field working_dir? string template
---@field output_file? string template
---@field together? boolean others may run at the same time
---@field timeout_ms? integer of one attempt; nil: no limit
---@field total_timeout_ms? integer with its waits
---@field grace_ms? integer
---@field retry? runner.workflow.Retry
---@field capture? boolean|string true, false, or the variable that takes the output
---@field capture_limit? number the most bytes that are kept of its output; math.huge: all
---@field idempotent? boolean false, written out: not run again unasked, even after Ctrl+C
---@field side_effects? "none"
---@field interpreter? string of a shell step: which shell runs its text
---@field errexit? boolean of a shell step: it stops at the first failing command; nil: as the run has it
---@field verify? runner.workflow.Hook
---@field on_retry? runner.workflow.Hook
---@field items? string|any[] of a foreach: a template, or values (texts are templates)
---@field items_file? string of a foreach: template, the file whose lines are the items
---@field items_path? string[] of a foreach: the path of the items in that file, which is JSON
---@field where? {text: string, ast: table} of a foreach: which items it has
---@field sort? {path: string, descending: boolean}[] of a foreach
---@field parallel? integer of a foreach: how many items at once
---@field max_items? integer
---@field limit? integer of a parallel step: how many steps at once
---@field continue_on_error? boolean
---@field max_failures? {count: integer?, percent: integer?} of a foreach: it fails where more items have
---@field steps? runner.workflow.Step[] of foreach, parallel and steps
---@field child? runner.workflow.Workflow of steps: the file that they are of (lua/workflow/file/inner_workflow.lua)
---@field given? table<string, any> the values of its variables; texts are templates
---@field check? {steps: runner.workflow.Step[], head: {working_dir: string?}?} of steps: what must pass before it counts as done;
---  head: it compares the HEAD of this directory with that of the beginning
---@field repair? {steps: runner.workflow.Step[], max: integer, again: "check"|"step"} of steps: what runs where it or its check has failed
---@field threshold? table<string, number> the least that these members of its data may be
---@field worktree? {base: string, branch: string?, merge: boolean, steps: runner.workflow.Step[]?, keep: "failed"|"always"|"never"} of
---  steps: where they run; base and branch are templates; its `steps` merge it
---@field nested? boolean it is inside a block, a check, a repair or an on_failure: their rounds are in its keys
---@field whole? boolean of steps: it is one step with a check or a repair, which is inside it
---@field confine? table what its programs may reach (lua/workflow/file/confinement.lua)
---@field approve? runner.workflow.Approve of an approve step
---@field on? string executor that it runs on, with all that is inside it
---@field chunk? integer of a foreach with `on`: items of a task
---@field resources? { cpus: integer?, gpus: string?, memory: string[]?, times: integer[]? } with `on`: what a task asks for

---@class runner.workflow.Approve
---@field message string template
---@field show string[] templates of files; diff: what has changed in the repository
---@field notify? {steps: runner.workflow.Step[]} once it has asked
---@field timeout_ms? integer
---@field fallback "reject"|"approve" what holds then

---@class runner.workflow.Hook
---@field text string shell text
---@field env table<string, string> templates
---@field working_dir? string template
---@field interpreter string
---@field errexit? boolean nil: as the run has it
---@field confine? table

---@class runner.workflow.Around the context of a step
---@field prefix string of its key
---@field retry table|boolean|nil the workflow's
---@field timeout_ms? integer the workflow's; 0: none
---@field capture_limit? number the workflow's
---@field shell runner.workflow.ShellOptions the workflow's
---@field claude table<string, any> the workflow's options for claude steps
---@field nested? boolean as of the step
---@field together? boolean several steps run at once
---@field confine? table|false the workflow's
---@field on? string the workflow's executor
---@field placed? string the executor of a step around it
---@field working_dir? string of the step whose check, or repair, it is
---@field in_worktree? boolean
---@field merging? boolean it merges one
---@field checking? {working_dir: string?} it is inside a check; gets `head`
---@field unasked? string what it is inside of, where no person can be asked

local read_list -- hooks and compound steps hold steps again

-- --- simple steps ------------------------------------------------------------------------

local function limit(ms)
	return ms ~= 0 and ms or nil
end

local function label_of(text)
	local line = host.clean(text):match("[^\n]*%S[^\n]*") or ""
	return require("runner.core.visible").shorten(line:gsub("^%s+", ""):gsub("%s+$", ""), LABEL)
end

---What a step does, whatever it is called; nil: it has no text.
---@param step runner.workflow.Step
---@return string?
function M.text(step)
	step = step.whole and step.steps[1] or step
	return step.text or step.approve and step.approve.message or type(step.items) == "string" and "foreach " .. step.items
		or step.items_file and ("foreach %s of %s"):format(step.items_path and "item" or "line", step.items_file) or nil
end

-- The text that its label is cut from.
local function label_source(step)
	return step.name or M.text(step)
end

local function retry_of(check, kind, entries, around)
	local own
	if entries.retry then
		own = retry.level(check, entries.retry.node, entries.retry.key, around.retry)
		if own == nil then
			return nil
		end
	end
	return retry.combine(kind, around.retry, own)
end

-- A hook runs where its step runs, and as its step's text does.
local function complete_hook(check, step, hook, options)
	if not hook then
		return
	end
	local own = shell.options(hook, options)
	shell.judge_pipes(check, hook.node, own)
	hook.node, hook.env, hook.working_dir, hook.confine = nil, step.env, step.working_dir, step.confine
	hook.interpreter, hook.errexit = own.interpreter, own.errexit
end

-- The shell texts of a step: its own, if it is a shell step, and those of its hooks.
local function shell_texts(check, step, given, entries, around)
	local options = shell.options(given, around.shell)
	if step.kind == "shell" then
		step.interpreter, step.errexit = options.interpreter, options.errexit
		if step.text then
			shell.judge_pipes(check, entries.text.node, options)
		end
	end
	complete_hook(check, step, step.verify, options)
	complete_hook(check, step, step.on_retry, options)
end

-- The nearest that is given.
local function claude_options(check, step, given, around)
	check.models = true
	step.options, step.session, step.max_cost, step.schema = {}, given.session, given.max_cost, given.schema
	for key in pairs(keys.claude_options) do
		local value = given[key]
		if value == nil then
			value = around.claude[key]
		end
		step.options[key] = value
	end
	step.resume_session, step.options.resume_session = step.options.resume_session or false, nil
	for _, key in ipairs { "on_denied", "max_attempt_cost", "answer" } do
		step[key], step.options[key] = step.options[key], nil
	end
end

-- What only a program that reports in JSON can keep.
local REPORTED = {
	max_cost = { "COST_UNKNOWN", "max_cost with output: text charges each attempt the whole budget, since the program doesn't report"
		.. " its cost" },
	on_denied = { "DENIALS_UNKNOWN", "on_denied has no effect with output: text, since the program doesn't report what it was denied" },
}

---Hint that a key needs a program that reports what it did.
---@param check runner.workflow.Check
---@param entries table<string, runner.yaml.Entry>
---@param claude table the workflow's
function M.judge_reported(check, entries, claude)
	for key, hint in pairs((claude.output or "text") == "text" and REPORTED or {}) do
		if entries[key] then
			check:hint_in(entries[key].node, 1, hint[1], hint[2] .. ": write claude: { output: stream-json }")
		end
	end
end

local function process(check, step, given, entries, around)
	for _, field in ipairs { "text", "args", "working_dir", "output_file", "side_effects", "verify", "on_retry", "threshold" } do
		step[field] = given[field]
	end
	step.working_dir = step.working_dir or around.working_dir
	local default = around.timeout_ms or step.kind == "claude" and CLAUDE_TIMEOUT_MS or 0
	step.env, step.together = given.env or {}, around.together
	step.timeout_ms = limit(given.timeout_ms or default)
	step.total_timeout_ms = limit(given.total_timeout_ms)
	step.grace_ms = given.grace_ms or GRACE_MS
	step.capture = given.capture == nil or given.capture
	step.capture_limit = given.capture_limit or around.capture_limit
	step.idempotent = given.idempotent
	if step.idempotent == nil and around.checking then -- a check may always run
		step.idempotent = true
	end
	step.retry = retry_of(check, step.kind, entries, around)
	step.label = label_of(step.text or step.kind)
	confinement.settle(check, step, given, entries, around)
	shell_texts(check, step, given, entries, around)
	if step.kind == "claude" then
		claude_options(check, step, given, around)
		M.judge_reported(check, entries, around.claude)
	end
end

-- --- worktrees ----------------------------------------------------------------------------

-- What `worktree` says; true: all by default.
local function worktree_of(check, node)
	local given, entries = {}, {}
	if node.kind ~= "boolean" or not node.value then
		given, entries = values.fields(check, node, keys.worktree, "worktree")
	end
	given = given or {}
	local merge = entries and entries.merge and entries.merge.node
	local is_list = merge and merge.kind ~= "boolean"
	if merge and not is_list and not merge.value then
		values.refuse(check, merge, "merge", "true, or steps that merge ${worktree.branch}", "Leave it out: the branch stays")
	end
	return { base = given.base or "HEAD", branch = given.branch, keep = given.keep or "failed", merge = merge ~= nil }, is_list and merge
end

-- What `read` reads runs in a worktree, if there is an entry.
local function in_worktree(check, step, entry, around, read)
	if not entry then
		return read(around)
	end
	local tree, merge = worktree_of(check, entry.node)
	check.worktrees = check.worktrees + 1
	read(setmetatable({ in_worktree = true, nested = true }, { __index = around }))
	local merging = setmetatable({ prefix = step.key .. ".merge.", nested = true, merging = true, unasked = "merges a branch" },
		{ __index = around })
	tree.steps = merge and read_list(check, merge, "merge", merging)
	check.worktrees = check.worktrees - 1
	step.worktree = tree
end

-- A block around a list of steps, which is a worktree of theirs.
local function whole_of(check, node, entry, key, around, read)
	local block = { kind = "steps", key = around.prefix .. key, line = node.line, column = node.column, label = "worktree" }
	block.nested = around.nested
	in_worktree(check, block, entry, around, function(within)
		block.steps = read(setmetatable({ prefix = around.prefix .. key .. "." }, { __index = within }))
	end)
	return { block }
end

local ELSEWHERE = "worktree: these steps run on an executor, and a worktree is on this machine"

-- --- steps that hold steps ------------------------------------------------------------------

local function count(n, noun)
	return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

local function inside(around, prefix, at_once)
	return setmetatable({ prefix = prefix, together = (at_once or 1) > 1 or nil }, { __index = around })
end

-- A list of values, whose texts may be templates, or one template.
local function items_of(check, node)
	if node.kind == "list" then
		for _, item in ipairs(node.items) do
			if item.kind == "text" then
				names.template(check, item, "value")
			end
		end
		return yaml.value(node)
	elseif node.kind == "text" and node.text:find("${", 1, true) then
		names.template(check, node, "value")
		return node.text
	end
	values.refuse(check, node, "foreach", "a list such as [a, b], a variable such as \"${files}\", or { file: PATH }",
		node.kind == "text" and ("Write foreach: [%s]"):format(node.text) or nil)
end

-- foreach: { file: … }
local function items_file(check, node)
	local problems = #check.list
	local given = values.fields(check, node, keys.items, "foreach")
	if not given.file and #check.list == problems then
		check:add(node, "foreach needs file: the file whose lines are the items")
	end
	return given.file, given.path
end

local JSON_LINES = 'Make one list of them in a step before, such as { id: items, shell: jq -s . FILE }, and write'
	.. ' foreach: "${steps.items.data}"'

-- `foreach`: a template, or values, whose texts are templates; or the template of a file's name. What they are
-- when the loop runs is up to lua/workflow/run/loop.lua.
local function items_or_file(check, node)
	if node and node.kind == "map" then
		return nil, items_file(check, node)
	end
	return node and items_of(check, node)
end

local function body(check, entries, what, around)
	if entries.steps then
		return read_list(check, entries.steps.node, entries.steps.key, around)
	end
	check:add(what, "a foreach step needs do: the steps for each item")
end

-- Lines of a file, or of an output, are texts, and no text has a member: `where` would hold for none, and `sort` change nothing.
local function judge_lines(check, step, given, entries)
	local used = given.where and given.where.ast and condition.names(given.where.ast) or {}
	for i, by in ipairs(given.sort or {}) do
		used[#used + 1] = { name = by.path, node = entries.sort.node.items and entries.sort.node.items[i] or entries.sort.node }
	end
	local printed = type(step.items) == "string" and step.items:match "^%${([%w_.-]+)%.output}$"
	local of = printed and step.items or not step.items_path and step.items_file
	for _, use in ipairs(of and used or {}) do
		if use.name:find "^item%." then
			check:add_in(use.node or entries.where.node, use.offset, ("%s: the items are lines of %s, and a line has no members"):format(use.name,
				of), printed and ("Of an output that is a JSON list, write foreach: \"${%s.data}\""):format(printed)
				or of:find "%.jsonl$" and JSON_LINES
				or ('Write the path of the items in the file, such as foreach: { file: %s, path: "$.items[*]" }'):format(of))
		end
	end
end

local function foreach(check, step, given, entries, around)
	step.items, step.items_file, step.items_path = items_or_file(check, given.items)
	judge_lines(check, step, given, entries)
	step.where, step.sort = given.where, given.sort
	step.parallel, step.max_items, step.max_failures = given.parallel or 1, given.max_items, given.max_failures
	step.continue_on_error = step.continue_on_error or given.max_failures ~= nil or nil
	step.label = label_source(step) and label_of(label_source(step))
		or "foreach over " .. count(#(step.items or {}), "item")
	check.loops = check.loops + 1
	local within = inside(around, "", step.parallel)
	if entries.worktree then -- one for each item
		step.steps = whole_of(check, entries.worktree.node, entries.worktree, "item", within, function(inner)
			return body(check, entries, step, inner)
		end)
	else
		step.steps = body(check, entries, step, within)
	end
	check.loops = check.loops - 1
end

local function parallel(check, step, given, entries, around)
	local list = entries.steps.node
	if list.kind ~= "list" then
		return values.refuse(check, list, "parallel", "a list of steps")
	end
	step.limit = given.limit or math.min(math.max(#list.items, 1), SIDE_BY_SIDE)
	step.steps = read_list(check, list, "parallel", inside(around, step.key .. ".", step.limit))
	step.label = count(#list.items, "step") .. " in parallel"
end

-- --- blocks, checks and repairs ----------------------------------------------------------------

local function block_of_steps(check, step, _, entries, around)
	step.steps = read_list(check, entries.steps.node, "steps", inside(around, step.key .. "."))
	step.label = count(#step.steps, "step")
end

-- `${attempt.head}` is the commit that was checked out when the step began.
local COMMITTED = "# a new commit, and nothing uncommitted\n" .. plain_git.UNCOMMITTED .. [[
left=$(uncommitted)
[ -z "$left" ] || { printf '%s\nThere are uncommitted changes\n' "$left" >&2; exit 1; }
[ "$head" != ${attempt.head} ] || { printf 'There is no new commit: HEAD is still %s\n' ${attempt.head} >&2; exit 1; }
plain merge-base --is-ancestor ${attempt.head} "$head" || { printf 'HEAD has lost the commit %s\n' ${attempt.head} >&2; exit 1; }
]]

-- commit: true is a shell step that is written here.
local function commit(check, step, given, entries, around)
	step.kind = "shell"
	process(check, step, given, entries, around)
	step.text, step.interpreter, step.errexit, step.side_effects = COMMITTED, "sh", true, "none"
	step.label = label_of(COMMITTED)
	if around.checking then
		around.checking.head = { working_dir = step.working_dir }
		if around.together and not around.in_worktree then
			check:hint_in(entries.commit.node, 1, "COMMIT_SHARED", "commit: steps run at the same time here, and in one repository another one's"
				.. " commit counts too: give each a working_dir of its own, or let one run at a time")
		end
	else
		check:add(entries.commit.node, "commit: it is for the check of a step, which it compares with the commit before that step")
	end
end

-- --- approvals ------------------------------------------------------------------------------------

local function approve(check, step, _, entries, around)
	local node = entries.approve.node
	local given, of = {}, {}
	if node.kind == "map" then
		given, of = values.fields(check, node, keys.approve, "approve")
	else
		given.message = keys.approve.message[1](check, node, "approve")
	end
	local where = around.placed and "runs on an executor" or around.checking and "is a check" or around.unasked
	if where then
		check:add(node, ("approve: no person is asked inside of what %s"):format(where), around.merging
			and "Put it at the end of the steps in the worktree" or "Put it in front of that step, or behind it")
	elseif not given.message and node.kind == "map" then
		check:add(node, "approve needs a message: what a person is asked")
	elseif of.fallback and not given.timeout_ms then
		check:add(of.fallback.node, "default: it holds after a timeout, and there is none", "Add timeout: 7d")
	end
	step.approve = { message = given.message or "", show = given.show or {}, timeout_ms = limit(given.timeout_ms),
		fallback = given.fallback or "reject" }
	if of.notify then
		local within = setmetatable({ nested = true, unasked = "notifies", checking = false },
			{ __index = inside(around, step.key .. ".notify.") })
		step.approve.notify = { steps = read_list(check, of.notify.node, "notify", within) }
	end
	step.label = label_of(step.approve.message)
end

-- All other kinds run a program.
local BLOCKS = { foreach = foreach, parallel = parallel, steps = block_of_steps, commit = commit, approve = approve,
	workflow = function(check, step, given, entries, around)
		require("runner.workflow.file.inner_workflow").read(check, step, given, entries, inside(around, step.key .. "."))
	end }
local HOLDS = { steps = true, workflow = true } -- one after the other, in a block

-- --- hooks --------------------------------------------------------------------------------------

local function near_to(key, rows)
	return rows[key] or check_of.meant(key, tables.sorted_keys(rows))
end

-- A map with steps and more. Where no key names a kind, misspelt keys count too.
local function is_block(node, name)
	local block = node.keys and (node.keys.steps or node.keys.commands or node.keys["then"])
	for _, entry in ipairs(not block and node.entries or {}) do
		local of_block = near_to(entry.key, keys[name])
		if keys.any[entry.key] or keys.process[entry.key] or not of_block and near_to(entry.key, keys.own) then
			return false
		end
		block = block or of_block
	end
	return block
end

-- `repair: { claude: …, max: 3 }`: a step that has keys of the map around it.
local function is_mixed(check, node, name)
	local kind, beside
	for _, entry in ipairs(node.entries or {}) do
		local of_block = keys[name][entry.key]
		kind = kind or not of_block and keys.own[entry.key] and entry.key
		beside = beside or of_block and of_block[2] ~= "steps" and entry.key ~= "steps" and entry
	end
	if kind and beside then
		check:add(beside, ("'%s' is not a key of a step: it stands beside the steps of %s"):format(beside.key, name),
			("Write %s: { steps: [{ %s: … }], %s: %s }"):format(name, kind, beside.key, beside.node.text or "…"))
	end
	return kind and beside
end

-- A step, a list of steps, or a map with steps and more.
local function hook(check, step, entry, around)
	local node, name = entry.node, entry.key
	local within = inside(around, ("%s.%s."):format(step.key, name))
	if is_mixed(check, node, name) then
		return { steps = {} }
	elseif not is_block(node, name) then
		return { steps = read_list(check, node, name, within) }
	end
	local given, entries = values.fields(check, node, keys[name], name)
	given.steps = entries.steps and read_list(check, entries.steps.node, name, within) or {}
	return given, entries
end

local MAX_REPAIRS = 3

local function repair(check, step, entry, around)
	local out, entries = hook(check, step, entry, around)
	if out.again == "check" and not step.check then
		check:add(entries.again.node, "again: there is no check, so only the step can run again", "Write again: step, or add a check")
	elseif not out.steps[1] and entries then
		check:add(entry.node, "repair has no steps")
	end
	out.max, out.again = out.max or MAX_REPAIRS, out.again or step.check and "check" or "step"
	return out
end

-- What is beside a step, or a block, once it is read.
local function guard(check, step, entries, around)
	local near = setmetatable({ prefix = step.key .. ".check.", nested = true, working_dir = step.whole and step.steps[1].working_dir or nil },
		{ __index = around })
	check.guards = check.guards + 1
	if entries.check then
		near.checking = {}
		step.check = { steps = read_list(check, entries.check.node, "check", near), head = near.checking.head }
		near.checking = false
	end
	step.repair = entries.repair and repair(check, step, entries.repair, near)
	check.guards = check.guards - 1
end

local GO = { fail = true, continue = true }

local function on_failure(check, step, entry, around)
	local node = entry and entry.node
	if not node or node.text == "fail" then
		return nil
	elseif node.text == "continue" then
		return { steps = {}, go = "continue" }
	elseif node.text then
		return values.refuse(check, node, "on_failure", "continue, fail, a step, or a list of steps",
			check_of.meant(node.text, tables.sorted_keys(GO)) or ("Write on_failure: { shell: %s }"):format(node.text))
	end
	local out = hook(check, step, entry, setmetatable({ nested = true, unasked = "follows a failure" }, { __index = around }))
	out.go = out.go or "fail"
	return out
end

local function on_success(check, step, entry, around)
	if entry and entry.node.text then
		return values.refuse(check, entry.node, "on_success", "a step, or a list of steps")
	end
	return entry and hook(check, step, entry, around)
end

-- --- any step -------------------------------------------------------------------------------------

local KIND_KEYS = table.concat(keys.kinds, ", ")

-- A key that was meant to name the kind is reported as unknown.
local function misspelt_kind(check, node)
	local known, found = keys.step.runner, false
	for _, entry in ipairs(node.entries) do
		if not known[entry.key] and not keys.step.foreach[entry.key] and not keys.step.parallel[entry.key] then
			check:add(entry, ("unknown key '%s' in a step"):format(entry.key),
				check_of.meant(entry.key, { table.unpack(keys.kinds) }) or "A step needs one of the keys " .. KIND_KEYS)
			found = true
		end
	end
	return found
end

-- The entries that name a kind, as written; `parallel` is also a key of foreach.
local function kinds_in(node)
	local found = {}
	for _, entry in ipairs(node.entries) do
		local of_foreach = entry.key == "parallel" and node.keys.foreach
		found[#found + 1] = keys.own[entry.key] and not of_foreach and entry or nil
	end
	return found
end

local function kind_of(check, node)
	local found = kinds_in(node)
	if #found == 0 and not misspelt_kind(check, node) then
		check:add(node, "a step needs one of the keys " .. KIND_KEYS)
	elseif #found > 1 then
		check:add(found[2], ("a step is either %s or %s, not both"):format(found[1].key, found[2].key), "Split it into two steps")
	end
	return #found == 1 and found[1].key or nil
end

-- inner: whose result its id names
local function declare(check, step, node, inner)
	local id = step.id
	if not id then
		return
	elseif check.ids[id] then
		check:add(node.keys.id.node, ("duplicate id '%s': the step on line %d has it"):format(id, check.ids[id].line))
	else
		check.ids[id] = { order = check.order, line = step.line, loops = check.loops, step = inner }
	end
end

-- A step with a check or a repair is a block, which holds the step itself.
local function wrapped(step)
	local inner = { kind = step.kind, line = step.line, column = step.column, key = step.key .. ".do" }
	step.kind, step.steps, step.whole = "steps", { inner }, true
	return inner
end

local function read_step(check, node, number, around)
	local kind = kind_of(check, node)
	if not kind then
		return nil
	end
	check.order = check.order + 1
	local step = { kind = kind, line = node.line, column = node.column }
	local tree = kind ~= "foreach" and node.keys.worktree or nil
	check.worktrees = check.worktrees + (tree and 1 or 0) -- its texts are read now
	local given, entries = values.fields(check, node, keys.step[kind], keys.articles[kind], function(key)
		return keys.elsewhere(kind, key)
	end)
	check.worktrees = check.worktrees - (tree and 1 or 0)
	step.nested = around.nested
	step.id, step.when, step.key = given.id, given.when, around.prefix .. (given.id or tostring(number))
	local guarded = entries.check or entries.repair or tree
	local inner = guarded and not HOLDS[kind] and wrapped(step) or step
	inner.continue_on_error = given.continue_on_error
	declare(check, step, node, inner)
	local read = BLOCKS[kind] or process
	local within = (guarded or HOLDS[kind]) and setmetatable({ nested = true }, { __index = around }) or around
	within = kind == "workflow" and within or executors.place(check, kind == "foreach" and inner or step, given, entries, within)
	step.name = given.name
	if (entries.worktree or around.in_worktree and not around.placed) and within.placed then
		check:add(entries.worktree or step, ELSEWHERE, "Write on: none, or have its steps make a worktree where they run")
	end
	if entries.worktree and around.merging then
		check:add(entries.worktree, "worktree: merges wait for each other, so no step of merge has a worktree of its own")
	end
	in_worktree(check, step, tree, within, function(where)
		read(check, inner, given, entries, where)
		step.label = given.name and label_of(given.name) or step.label or inner.label
		if guarded then
			guard(check, step, entries, tree and setmetatable({ in_worktree = true }, { __index = around }) or around)
		end
	end)
	step.on_failure = on_failure(check, step, entries.on_failure, around)
	step.on_success = on_success(check, step, entries.on_success, around)
	return step
end

function read_list(check, node, name, around)
	local out = {}
	if node.kind == "null" or node.items and not node.items[1] then
		check:add(node, ("%s has no steps: write a list such as - shell: make"):format(name))
		return out
	end
	for number, item in ipairs(node.items or { node }) do
		if item.kind == "map" then
			out[#out + 1] = read_step(check, item, number, around)
		else
			check:add(item, ("a step is a map such as shell: make, not %s"):format(values.shown(item)),
				item.kind ~= "null" and item.text and ("Write - shell: %s"):format(label_of(item.text)) or nil)
		end
	end
	return out
end

---A step as it is called in a place: with the values in its name, as far as they are known.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param mask fun(text: string): string
---@return runner.workflow.Step
function M.named(step, scope, mask)
	local parts = {}
	for i, part in ipairs(variables.parse(step.name) or { step.name }) do
		local ok, text = pcall(variables.expand, { part }, scope)
		if type(text) == "userdata" then
			error(text, 0) -- a cancellation
		end
		parts[i] = ok and text or part.source
	end
	local named, label = setmetatable(tables.add({}, step), getmetatable(step)), label_of(mask(table.concat(parts)))
	named.label = label ~= "" and label or step.label
	return named
end

---Mask secrets in the labels of the steps: before a label is cut, or half a secret stays.
---@param list runner.workflow.Step[]
---@param mask fun(text: string): string
function M.relabel(list, mask)
	for _, step in ipairs(list) do
		local text = label_source(step)
		step.label = text and label_of(mask(text)) or step.label
		for _, below in ipairs(inner_lists.of(step)) do
			M.relabel(below, mask)
		end
	end
end

---The steps of `finally`, as a block.
---@param check runner.workflow.Check
---@param entry runner.yaml.Entry
---@param around runner.workflow.Around of the workflow's steps
---@return runner.workflow.Step
function M.finally(check, entry, around)
	local step = { kind = "steps", key = around.prefix .. "finally", line = entry.line, column = entry.column, nested = around.nested }
	if check.ids.finally then
		check:add(entry, ("duplicate id 'finally': the step on line %d has it"):format(check.ids.finally.line))
	end
	check.last = true
	step.steps = read_list(check, entry.node, "finally", setmetatable({ prefix = step.key .. ".", nested = true, on = false,
		unasked = "runs when the workflow has ended" },
		{ __index = around }))
	check.last, step.label = nil, count(#step.steps, "last step")
	return step
end

---A list of steps, or a single one. Steps that are wrong are left out.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of its key
---@param around runner.workflow.Around
---@param worktree? runner.yaml.Entry of them all
---@return runner.workflow.Step[]
function M.read(check, node, name, around, worktree)
	if not worktree then
		return read_list(check, node, name, around)
	end
	return whole_of(check, node, worktree, "worktree", around, function(within)
		return read_list(check, node, name, within)
	end)
end

return M
