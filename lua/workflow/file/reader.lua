-- reader: a workflow file → a Workflow in its normal form, or all its problems, each
-- with its line and column. It opens the file, those that its steps run, and nothing else: what a step
-- names besides (programs, commands) is looked up when the step runs.

local check_of = require "runner.workflow.file.check"
local executors = require "runner.workflow.file.executors"
local fs = require "runner.fs"
local host = require "runner.host"
local inner_workflow = require "runner.workflow.file.inner_workflow"
local keys = require "runner.workflow.file.keys"
local names = require "runner.workflow.file.names"
local paths = require "runner.core.paths"
local retry = require "runner.workflow.file.retry"
local shell = require "runner.workflow.file.shell"
local steps = require "runner.workflow.file.steps"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"
local variables = require "runner.workflow.expr.variables"
local yaml = require "runner.core.yaml.parser"

local M = {}

local MAX_BYTES = 4 << 20

---@class runner.workflow.Workflow
---@field name string
---@field description? string
---@field path string
---@field text string the file as it is
---@field digest string of the normal form of the file: what YAML reads in it, keys in order
---@field vars table<string, any> defaults
---@field required string[] variables without a default, as written
---@field typed table<string, table> rows of lua/declare/arguments.lua, of those that have a type
---@field env table<string, string> templates
---@field env_files string[] templates
---@field secrets {name: string, env: string?, file: string?, value: string?}[]
---@field claude {program: string, args: string[], output: "text"|"json"|"stream-json"}
---@field max_cost? integer micro-dollars for all claude steps of a run
---@field concurrency? {key: string, when_taken: "queue"|"cancel"|"refuse"}
---@field recover? boolean `workflow recover` may resume a run
---@field executors runner.workflow.Executors by name: the site's, and the file's
---@field on? string the executor of every step that names none
---@field placed_claude boolean a claude step runs on an executor
---@field steps runner.workflow.Step[]
---@field finally? runner.workflow.Step a block: the steps that run at its end
---@field all runner.workflow.Step[] its steps, and that block
---@field captures table<string, integer> the names that steps capture
---@field reads {env: table<string, "text"|"condition">, scripts: table<string, true>} of the environment
---@field warnings string[]
---@field hints runner.workflow.Hint[] for `check`
---@field outputs table<string, string> templates of what it gives to a file that runs it
---@field children runner.workflow.Workflow[] files that its steps run

-- --- variables ----------------------------------------------------------------------------

-- Defaults are settled before anything runs: they may refer to the environment, and to nothing
-- else.
local function check_default(check, node)
	for _, item in ipairs(node.items or node.entries or {}) do
		check_default(check, item.node or item)
	end
	if node.kind ~= "text" or not node.text:find("${", 1, true) then
		return
	end
	local template, message, offset = variables.parse(node.text)
	if not template then
		return check:add_in(node, offset, message)
	end
	for _, reference in ipairs(variables.names(template)) do
		if not reference.name:find "^env%." then
			check:add_in(node, reference.offset, ("${%s}: only ${env.NAME} has a value in vars"):format(reference.name),
				"Use it in the step instead, or write $${ for a literal '${'")
		end
	end
end

local function typed_vars()
	return require "runner.workflow.file.typed_vars" -- many files have none
end

-- name → default; null: the caller has to give it. Those with a type have a row, too.
local function vars_of(check, node)
	local defaults, required, known, typed = {}, {}, {}, {}
	if node and node.kind ~= "map" then
		values.refuse(check, node, "vars", "a map of names and default values")
	end
	for _, entry in ipairs(node and node.entries or {}) do
		local at = { kind = "text", text = entry.key, line = entry.line, column = entry.column }
		local name = keys.variable_name(check, at, "a key of vars")
		if name and entry.node.keys and entry.node.keys.type and typed_vars().is_one(entry.node) then
			check_default(check, entry.node)
			typed[name] = typed_vars().row(check, name, entry.node)
			defaults[name] = (typed[name] or {}).default
			check.single[name] = typed[name] and typed[name].type ~= "array" and typed[name].type ~= "json" or nil
		elseif name and entry.node.kind ~= "null" then
			check_default(check, entry.node)
			defaults[name] = yaml.value(entry.node)
		end
		required[#required + 1] = name and defaults[name] == nil and name or nil
		known[entry.key] = true
	end
	return defaults, required, known, typed
end

-- --- secrets -------------------------------------------------------------------------------

local function secret(check, entry)
	local name, node = entry.key, entry.node
	if not name:find(keys.env_name) then
		check:add(entry, ("'%s' is not a valid name in secrets: use %s"):format(name, keys.env_words))
		return nil
	elseif node.kind ~= "map" then
		local text = values.text(check, node, "secrets." .. name)
		check.hidden[#check.hidden + 1] = text
		return text and { name = name, value = text }
	end
	local given, entries = values.fields(check, node, keys.secret, "secrets." .. name)
	if entries.env and entries.file or #node.entries == 0 then
		check:add(node, ("secrets.%s needs either env or file: where its value comes from"):format(name))
	end
	return { name = name, env = given.env, file = given.file }
end

-- Names of environment variables, or a map that says where each value comes from.
local function secrets_of(check, node)
	local out = {}
	if not node then
		return out
	elseif node.kind == "map" then
		for _, entry in ipairs(node.entries) do
			out[#out + 1] = secret(check, entry)
		end
		host.hide(check.hidden) -- also in what is said of a file that is wrong
		return out
	end
	for i, name in ipairs(values.list_of(values.text)(check, node, "secrets") or {}) do
		if name:find(keys.env_name) then
			out[#out + 1] = { name = name, env = name }
		else
			local at = node.items and node.items[i] or node
			values.refuse(check, at, "secrets", "names of environment variables, or a map such as { TOKEN: { file: token.txt } }")
		end
	end
	return out
end

-- --- the whole -------------------------------------------------------------------------------

-- How the program is called, and the defaults of claude steps.
local function claude_of(check, node)
	local given, entries
	if node then
		given, entries = values.fields(check, node, keys.claude, "claude")
	end
	given = given or {}
	steps.judge_reported(check, entries or {}, given)
	return { program = given.program or "claude", args = given.args or {}, output = given.output or "text" }, given
end

local function concurrency_of(check, node)
	if not node then
		return nil
	end
	local given, entries = values.fields(check, node, keys.concurrency, "concurrency")
	if given and not entries.key then
		check:add(node, "concurrency needs key: what the runs have in common, of which one runs at a time")
	end
	return given and { key = given.key, when_taken = given.when_taken or "queue" }
end

local function steps_of(check, root, entries, given, claude)
	local entry = entries.steps
	local inner = check.inner or {}
	local around = { prefix = inner.prefix or "", nested = inner.prefix and true, together = inner.together, unasked = inner.unasked,
		retry = given.retry and retry.level(check, given.retry, entries.retry.key),
		timeout_ms = given.timeout_ms, capture_limit = given.capture_limit, shell = shell.options(given), claude = claude,
		on = check.on, confine = given.confine }
	if around.confine == nil then
		around.confine = inner.confine
	end
	if not entry then
		check:add(root, "a workflow needs commands: the list of its steps")
		return {}
	elseif entry.node.kind ~= "list" and entry.node.kind ~= "null" then
		values.refuse(check, entry.node, entry.key, "a list of steps, such as - shell: make")
		return {}
	end
	local list = steps.read(check, entry.node, entry.key, around, entries.worktree)
	local outputs = inner_workflow.outputs(check, given.outputs) -- before the last steps, which run after them
	return list, entries.finally and steps.finally(check, entries.finally, around), outputs
end

local function base_name(path)
	return (path:match("[^/]*$"):gsub("%.ya?ml$", ""))
end

-- Which executors there are, and which one steps run on that name none.
local function place(check, given)
	check.executors, check.faults = executors.read(check, given.executors, check.site)
	check.on = check.asked_on or given.on and executors.on(check, given.on, "on")
end

-- What is said of files that its steps run; none of their steps runs elsewhere.
local function with_children(check, workflow)
	workflow.children = check.children
	for _, child in ipairs(check.children) do
		for _, hint in ipairs(child.hints) do
			hint.path = hint.path or child.path
			table.insert(check.hints, hint)
		end
		for _, text in ipairs(child.warnings) do
			check:warn(text)
		end
	end
	workflow.hints = check:sorted_hints()
end

-- The keys in a fixed order: env and executors are read before every step.
local function assemble(check, root, given, entries)
	local secret_values = secrets_of(check, given.secrets)
	local vars, required, known, typed = vars_of(check, given.vars)
	local claude, options = claude_of(check, given.claude)
	place(check, given)
	if check.inner then
		inner_workflow.judge(check, given, entries)
	end
	local concurrency = concurrency_of(check, given.concurrency) -- before the steps, of which it can know none
	local list, last, outputs = steps_of(check, root, entries, given, options)
	local workflow = {
		name = given.name, description = given.description, vars = vars, required = required, typed = typed, env = given.env or {},
		env_files = given.env_files or {}, secrets = secret_values, claude = claude,
		max_cost = given.max_cost, recover = given.recover, concurrency = concurrency,
		steps = list, finally = last, outputs = outputs, warnings = check.warnings,
		executors = check.executors, on = check.on ~= "none" and check.on or nil, placed_claude = check.placed_claude ~= nil,
		among = check.all,
	}
	workflow.all = last and table.move(list, 1, #list, 1, { [#list + 1] = last }) or list
	steps.judge_reported(check, entries, claude)
	executors.judge_budget(check, entries.max_cost)
	for _, found in ipairs(workflow.secrets) do
		check.env_names[found.name] = true
	end
	check.env_files = workflow.env_files[1] ~= nil
	names.judge(check, known)
	if check.models then
		require("runner.workflow.file.hearsay").judge(check, workflow)
	end
	workflow.captures, workflow.reads = check.captures, names.reads(check)
	tables.add(workflow.reads.env, check.child_env)
	with_children(check, workflow)
	return workflow
end

local function whole(check, root)
	if root.kind == "null" then
		return check:add(root, "the file is empty: write name: and commands:, the list of steps")
	elseif root.kind == "list" then
		return check:add(root, "a workflow is a map: put commands: above the steps")
	end
	local given, entries = values.fields(check, root, keys.workflow, "a workflow")
	return given and assemble(check, root, given, entries)
end

-- A name is shown and stored everywhere: one line, without control characters and without
-- the secrets that the file itself holds.
local function shown_name(name, secrets)
	local literal = {}
	for _, found in ipairs(secrets) do
		literal[#literal + 1] = found.value
	end
	local masked = literal[1] and require("runner.core.mask").masker(literal)(name) or name
	local text = host.clean(masked):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
	return text ~= "" and text or "workflow"
end

-- What the file says, without comments, layout, quotes and the order of keys. A change of
-- spelling (1.0 for 1, `timeout_secs` for `timeout`) is a change.
local function add_normal(out, node)
	if node.kind == "map" then
		out[#out + 1] = "{"
		for _, key in ipairs(tables.sorted_keys(node.keys)) do
			out[#out + 1] = ("%d:%s="):format(#key, key)
			add_normal(out, node.keys[key].node)
		end
	elseif node.kind == "list" then
		out[#out + 1] = ("[%d"):format(#node.items)
		for _, item in ipairs(node.items) do
			add_normal(out, item)
		end
	else
		out[#out + 1] = ("%s %d:%s"):format(node.kind, #node.text, node.text)
	end
end

local function digest_of(root)
	local out = {}
	add_normal(out, root)
	return host.digest(table.concat(out, "\n"))
end

---What a file says, but for what is behind one of its outermost steps.
---@param text string of a file that is right
---@param last integer number of that step
---@return string
function M.up_to(text, last)
	local out, given = {}, tables.add({}, yaml.parse(text).keys)
	local name = given.commands and "commands" or "steps"
	local list = not given.worktree and given[name]
	if list then
		given[name] = { node = { kind = "list", items = table.move(list.node.items, 1, last, 1, {}) } }
	end
	add_normal(out, { kind = "map", keys = given })
	return table.concat(out, "\n")
end

-- Of the file and of those that its steps run.
local function digest_of_all(root, workflow)
	local digest = digest_of(root)
	for _, child in ipairs(workflow.children) do
		digest = host.digest(digest .. child.digest)
	end
	return digest
end

---@class runner.workflow.ReadOptions
---@field way? string[] of a file that another one's step runs: the files on the way to it, and itself
---@field all? {files: integer, bytes: integer} the files that steps of the outermost run
---@field prefix? string of the keys of its steps
---@field together? boolean others may run at the same time
---@field unasked? string what it is inside of, where no person can be asked
---@field confine? table|false what its steps may reach where it doesn't say
---@field lenient? boolean an unknown strategy is a warning
---@field executors? table<string, table> the site's, of runner.lua
---@field on? string the executor that the caller asks for

-- What is wrong with the executor that the caller asks for.
local function wrong_place(check)
	if check.asked_on then
		return executors.fault(check.asked_on, check.executors, check.faults)
	end
end

---Read a workflow from its text.
---@param text string
---@param path string for its name and for messages
---@param opts? runner.workflow.ReadOptions
---@return runner.workflow.Workflow? workflow, runner.workflow.Problem[]? problems by place, all of them
function M.parse(text, path, opts)
	local check = check_of.new(text, opts and opts.lenient)
	opts = opts or {}
	check.site, check.asked_on, check.path, check.load = opts.executors, opts.way and "none" or opts.on, path, M.load
	check.inner, check.way = opts.way and opts or nil, opts.way or { fs.realpath(path) or paths.absolute(path, host.getcwd()) }
	check.all = opts.all or { files = 0, bytes = 0 }
	check.all.bytes = check.all.bytes + (opts.all and #text or 0)
	local root, problems = yaml.parse(text)
	for _, problem in ipairs(problems) do
		check:add(problem, problem.message)
	end
	local workflow = root and whole(check, root)
	if check.list[1] then
		return nil, check:sorted()
	end
	local message, suggestion = wrong_place(check)
	if message then
		return nil, { { field = "on", code = "INVALID_ARGUMENT", message = message, suggestion = suggestion } }
	end
	workflow.name = shown_name(workflow.name or base_name(path), workflow.secrets)
	workflow.path, workflow.text, workflow.digest = path, text, digest_of_all(root, workflow)
	return workflow
end

-- At most what a workflow may have, whatever the path names.
local function read(path)
	local handle, why = io.open(path, "rb")
	if not handle then
		return nil, why:sub(#path + 3) -- after "path: "
	end
	local text, message = handle:read(MAX_BYTES + 1)
	handle:close()
	return text or message == nil and "", message
end

---Read a workflow file. A file that can't be read is a problem without a place.
---@param path string
---@param opts? runner.workflow.ReadOptions
---@return runner.workflow.Workflow? workflow, runner.workflow.Problem[]? problems
function M.load(path, opts)
	local text, why = read(path)
	if not text then
		return nil, { { code = host.probe(path) and "FILE_UNREADABLE" or "FILE_NOT_FOUND",
			message = "can't read the workflow file: " .. why } }
	end
	return M.parse(text, path, opts)
end

return M
