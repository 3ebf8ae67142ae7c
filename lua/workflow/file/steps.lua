-- steps: the steps of a workflow file, checked and in their normal form. Each has
-- a key, its address in the run: its id, else its number; the keys of nested steps
-- start with the outer step's (inside a foreach the engine adds the item). It runs
-- nothing.

local sorted = require "runner.core.sorted"
local check_of = require "runner.workflow.file.check"
local executors = require "runner.workflow.file.executors"
local host = require "runner.host"
local keys = require "runner.workflow.file.keys"
local loop_items = require "runner.workflow.file.loop_items"
local policy = require "runner.workflow.file.policy"
local scripts = require "runner.workflow.file.scripts"
local values = require "runner.workflow.file.values"

local M = {}

local CLAUDE_TIMEOUT_MS = 600000 -- Spec 185's default: 10 minutes (docs/design.md#workflow-retry-defaults)
local GRACE_MS = 2000
local SIDE_BY_SIDE = 16
local LABEL = 60 -- characters

---@class runner.workflow.Step
---@field key string address in the run; relative to the item within a foreach
---@field id? string
---@field kind "claude"|"shell"|"runner"|"foreach"|"parallel"
---@field label string one short line
---@field line integer
---@field column integer
---@field when? {text: string, ast: table}
---@field on_failure? {steps: runner.workflow.Step[], go: "fail"|"continue"}
---@field on_success? {steps: runner.workflow.Step[]}
---@field text? string template: prompt, script, words of a command
---@field args? string[]|table<string, string|boolean|string[]> of a claude or runner step; texts are templates
---@field options? table<string, any> of a claude step: what becomes flags, by key, its own over the workflow's
---@field session? string of a claude step: the id of the step whose session it continues
---@field resume_session? boolean of a claude step: a retry, or a resumed run, continues its session
---@field max_cost? integer of a claude step: micro-dollars for all its attempts
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
---@field parallel? integer of a foreach: how many items at once
---@field max_items? integer
---@field limit? integer of a parallel step: how many steps at once
---@field continue_on_error? boolean
---@field steps? runner.workflow.Step[] of foreach and parallel
---@field on? string executor that it runs on, with all that is inside it
---@field chunk? integer of a foreach with `on`: items of a task

---@class runner.workflow.Hook
---@field text string shell text
---@field env table<string, string> templates
---@field working_dir? string template
---@field interpreter string
---@field errexit? boolean nil: as the run has it

---@class runner.workflow.Around the context of a step
---@field prefix string of its key
---@field retry table|boolean|nil the workflow's
---@field timeout_ms? integer the workflow's; 0: none
---@field capture_limit? number the workflow's
---@field shell runner.workflow.ShellOptions the workflow's
---@field claude table<string, any> the workflow's options for claude steps
---@field together? boolean several steps run at once
---@field on? string the workflow's executor
---@field placed? string the executor of a step around it

local read_list -- hooks and compound steps hold steps again

-- --- simple steps ------------------------------------------------------------------------

local function limit(ms)
	return ms ~= 0 and ms or nil
end

local function label_of(text)
	local line = host.clean(text):match("[^\n]*%S[^\n]*") or ""
	line = line:gsub("^%s+", ""):gsub("%s+$", "")
	local cut = utf8.offset(line, LABEL + 1)
	return cut and cut <= #line and line:sub(1, cut - 1) .. "…" or line
end

-- The text that its label is cut from; nil: it has no text.
local function label_source(step)
	return step.text or type(step.items) == "string" and "foreach " .. step.items
		or step.items_file and "foreach line of " .. step.items_file or nil
end

local function retry_of(check, kind, entries, around)
	local own
	if entries.retry then
		own = policy.level(check, entries.retry.node, entries.retry.key, around.retry)
		if own == nil then
			return nil
		end
	end
	return policy.combine(kind, around.retry, own)
end

-- A hook runs where its step runs, and as its step's text does.
local function complete_hook(check, step, hook, options)
	if not hook then
		return
	end
	local own = scripts.options(hook, options)
	scripts.judge(check, hook.node, own)
	hook.node, hook.env, hook.working_dir = nil, step.env, step.working_dir
	hook.interpreter, hook.errexit = own.interpreter, own.errexit
end

-- The shell texts of a step: its own, if it is a shell step, and those of its hooks.
local function shell_texts(check, step, given, entries, around)
	local options = scripts.options(given, around.shell)
	if step.kind == "shell" then
		step.interpreter, step.errexit = options.interpreter, options.errexit
		if step.text then
			scripts.judge(check, entries.text.node, options)
		end
	end
	complete_hook(check, step, step.verify, options)
	complete_hook(check, step, step.on_retry, options)
end

-- The nearest that is given.
local function claude_options(step, given, around)
	step.options, step.session, step.max_cost = {}, given.session, given.max_cost
	for key in pairs(keys.claude_options) do
		local value = given[key]
		if value == nil then
			value = around.claude[key]
		end
		step.options[key] = value
	end
	step.resume_session, step.options.resume_session = step.options.resume_session or false, nil
end

---Hint that a budget needs a program that reports what it cost.
---@param check runner.workflow.Check
---@param entry? runner.yaml.Entry max_cost
---@param claude table the workflow's
function M.judge_budget(check, entry, claude)
	if entry and (claude.output or "text") == "text" then
		check:hint_in(entry.node, 1, "COST_UNKNOWN", "max_cost with output: text charges each attempt the whole budget, since the"
			.. " program doesn't report its cost: write claude: { output: stream-json }")
	end
end

local function process(check, step, given, entries, around)
	for _, field in ipairs { "text", "args", "working_dir", "output_file", "side_effects", "verify", "on_retry" } do
		step[field] = given[field]
	end
	local default = around.timeout_ms or step.kind == "claude" and CLAUDE_TIMEOUT_MS or 0
	step.env, step.together = given.env or {}, around.together
	step.timeout_ms = limit(given.timeout_ms or default)
	step.total_timeout_ms = limit(given.total_timeout_ms)
	step.grace_ms = given.grace_ms or GRACE_MS
	step.capture = given.capture == nil or given.capture
	step.capture_limit = given.capture_limit or around.capture_limit
	step.idempotent = given.idempotent
	step.retry = retry_of(check, step.kind, entries, around)
	step.label = label_of(step.text or step.kind)
	shell_texts(check, step, given, entries, around)
	if step.kind == "claude" then
		claude_options(step, given, around)
		M.judge_budget(check, entries.max_cost, around.claude)
	end
end

-- --- steps that hold steps ------------------------------------------------------------------

local function count(n, noun)
	return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

local function inside(around, prefix, at_once)
	return setmetatable({ prefix = prefix, together = (at_once or 1) > 1 or nil }, { __index = around })
end

local function body(check, entries, what, around)
	if entries.steps then
		return read_list(check, entries.steps.node, entries.steps.key, around)
	end
	check:add(what, "a foreach step needs do: the steps for each item")
end

local function foreach(check, step, given, entries, around)
	step.items, step.items_file = loop_items.read(check, given.items)
	step.parallel, step.max_items = given.parallel or 1, given.max_items
	step.label = label_source(step) and label_of(label_source(step))
		or "foreach over " .. count(#(step.items or {}), "item")
	check.loops = check.loops + 1
	step.steps = body(check, entries, step, inside(around, "", step.parallel))
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

local KINDS = { claude = process, shell = process, runner = process, foreach = foreach, parallel = parallel }

-- --- hooks --------------------------------------------------------------------------------------

local function near_to(key, rows)
	return rows[key] or check_of.meant(key, sorted.keys(rows))
end

-- A map with steps and more. Where no key names a kind, misspelt keys count too.
local function is_block(node, name)
	local block = node.keys and (node.keys.steps or node.keys.commands or node.keys["then"])
	for _, entry in ipairs(not block and node.entries or {}) do
		if keys.any[entry.key] or keys.process[entry.key] or near_to(entry.key, keys.own) then
			return false
		end
		block = block or near_to(entry.key, keys[name])
	end
	return block
end

-- A step, a list of steps, or a map with steps and more.
local function hook(check, step, entry, around)
	local node, name = entry.node, entry.key
	local within = inside(around, ("%s.%s."):format(step.key, name))
	if not is_block(node, name) then
		return { steps = read_list(check, node, name, within) }
	end
	local given, entries = values.fields(check, node, keys[name], name)
	return { steps = entries.steps and read_list(check, entries.steps.node, name, within) or {}, go = given.go }
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
			check_of.meant(node.text, sorted.keys(GO)) or ("Write on_failure: { shell: %s }"):format(node.text))
	end
	local out = hook(check, step, entry, around)
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

local function declare(check, step, node)
	local id = step.id
	if not id then
		return
	elseif check.ids[id] then
		check:add(node.keys.id.node, ("duplicate id '%s': the step on line %d has it"):format(id, check.ids[id].line))
	else
		check.ids[id] = { order = check.order, line = step.line, loops = check.loops, step = step }
	end
end

local function read_step(check, node, number, around)
	local kind = kind_of(check, node)
	if not kind then
		return nil
	end
	check.order = check.order + 1
	local step = { kind = kind, line = node.line, column = node.column }
	local given, entries = values.fields(check, node, keys.step[kind], keys.articles[kind], function(key)
		return keys.elsewhere(kind, key)
	end)
	step.id, step.when, step.continue_on_error = given.id, given.when, given.continue_on_error
	step.key = around.prefix .. (step.id or tostring(number))
	declare(check, step, node)
	KINDS[kind](check, step, given, entries, executors.place(check, step, given, entries, around))
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

local function lists_in(step)
	return { step.steps or {}, step.on_failure and step.on_failure.steps or {}, step.on_success and step.on_success.steps or {} }
end

---Mask secrets in the labels of the steps: before a label is cut, or half a secret stays.
---@param list runner.workflow.Step[]
---@param mask fun(text: string): string
function M.relabel(list, mask)
	for _, step in ipairs(list) do
		local text = label_source(step)
		step.label = text and label_of(mask(text)) or step.label
		for _, below in ipairs(lists_in(step)) do
			M.relabel(below, mask)
		end
	end
end

---A list of steps, or a single one. Steps that are wrong are left out.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string of its key
---@param around runner.workflow.Around
---@return runner.workflow.Step[]
function M.read(check, node, name, around)
	return read_list(check, node, name, around)
end

return M
