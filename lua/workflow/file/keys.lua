-- keys: the keys of a workflow file: one row per spelling, { reader, field }.
-- A row without a field fills the field of its own name. Rules that involve several
-- keys are in lua/workflow/file/steps.lua and reader.lua.

local claude_keys = require "runner.workflow.expr.claude_keys"
local confinement = require "runner.workflow.file.confinement"
local executors = require "runner.workflow.file.executors"
local quoting = require "runner.workflow.expr.quoting"
local names = require "runner.workflow.file.names"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"
local yaml = require "runner.core.yaml.parser"
local variables = require "runner.workflow.expr.variables"

local M = {}

local shaped = values.shaped

local MAX_SIDE_BY_SIDE = 64
local MAX_ITEMS = 1000000
local MAX_TURNS = 1000000
local MAX_CHUNK = 100000
local MAX_REPAIRS = 1000

local ENV_NAME, ENV_WORDS = "^[%a_][%w_]*$", "letters, digits and _, not starting with a digit"
local MEMBER, MEMBER_WORDS = "^[%a_][%w_-]*$", "the name of a member of the data"
local ARG_NAME, ARG_WORDS = "^%w[%w_-]*$", "the argument's name: letters, digits, _ and -"

-- All rows of several sections.
local function joined(...)
	local out = {}
	for _, rows in ipairs { ... } do
		tables.add(out, rows)
	end
	return out
end

-- --- readers that several keys share ------------------------------------------------------

local template = values.template("value")
local env_map = values.map_of(ENV_NAME, ENV_WORDS, template)

local function env(check, node, name)
	for _, entry in ipairs(node.kind == "map" and node.entries or {}) do
		check.env_names[entry.key] = true
	end
	return env_map(check, node, name)
end
shaped(env, "map", ENV_NAME, template)

-- A name that can stand in ${…}.
local function name_of(what)
	return shaped(function(check, node, name)
		local text = values.text(check, node, name)
		if text and not text:find("^[%a_][%w_-]*$") then
			return values.refuse(check, node, name, what .. ": letters, digits, _ and -, starting with a letter or _")
		elseif text and names.is_reserved(text) then
			return values.refuse(check, node, name, "another name: this one is reserved")
		end
		return text
	end, "name")
end
M.variable_name = name_of "a variable name"

-- These name the hooks of a step in its key.
local TAKEN = { on_failure = true, on_success = true, verify = true, on_retry = true }

local read_id = name_of "an id"

local function id(check, node, name)
	local text = read_id(check, node, name)
	if text and TAKEN[text] then
		return values.refuse(check, node, name, "another id: this one is the name of a hook")
	end
	return text
end
shaped(id, "name", TAKEN)

local function capture(check, node, name)
	if node.kind == "boolean" then
		return node.value
	end
	local text = M.variable_name(check, node, name)
	if text then
		check.captures[text] = math.min(check.captures[text] or math.huge, check.loops)
	end
	return text
end
shaped(capture, "capture")

local function condition(check, node, name)
	local text = values.text(check, node, name)
	return text and { text = text, ast = names.condition(check, node, text) }
end
shaped(condition, "text")

local shell_text = values.template("shell", values.text)

local choices, listed = {}, {}
for i, row in ipairs(quoting.rows) do
	choices[row.name], listed[i] = row.name, row.name
end

-- How a shell runs its text.
local shell_options = {
	interpreter = { values.choice(choices, table.concat(listed, " or ")) }, errexit = { values.boolean },
}
local script = joined({ shell = { shell_text, "text" } }, shell_options)

-- A shell text, bare or as { shell: … }, and its node.
local function hook(check, node, name)
	if node.kind == "map" then
		local problems = #check.list
		local out, entries = values.fields(check, node, script, name)
		if not entries.text and #check.list == problems then
			values.refuse(check, node, name, "a shell command")
		end
		out.node = entries.text and entries.text.node
		return out.text and out or nil
	end
	local text = shell_text(check, node, name)
	return text and { text = text, node = node }
end
shaped(hook, "hook", script)

local no_side_effects = values.choice({ none = "none" },
	"none, or leave it out (a step is assumed to have side effects)")

-- runner: deploy | db migrate | [db, migrate]
local function is_word(word)
	return word:find("${", 1, true) or rules.is_command_word(word)
end

local function word_hint(word)
	if word:sub(1, 1) == "-" then
		return "Put its arguments under args"
	elseif word:find("^[%w_.-]+$") and word:find(".", 1, true) then
		return ("Write %s"):format(word:gsub("%.", " "))
	end
end

local function words(check, node, name)
	local read = values.template("value", values.text)
	local out = values.list_of(read)(check, node, name) or {}
	local text = table.concat(out, " "):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
	for word in text:gsub("%${[^}]*}", "${}"):gmatch("%S+") do
		if not is_word(word) then
			return values.refuse(check, node, name, "a command such as deploy or db migrate", word_hint(word))
		end
	end
	if text == "" and node.kind == "list" and not node.items[1] then
		return values.refuse(check, node, name, "a command such as deploy or db migrate")
	end
	return text ~= "" and text or nil
end
shaped(words, "words")

-- The value of a named argument; true and false are flags.
local function argument(check, node, name)
	if node.kind == "boolean" then
		return node.value
	end
	return (node.kind == "list" and values.list_of(template) or template)(check, node, name)
end
shaped(argument, "list", template)

-- A list as the command line has it, or names with values.
local function arguments(check, node, name)
	if node.kind == "list" then
		return values.list_of(template)(check, node, name)
	end
	return values.map_of(ARG_NAME, ARG_WORDS, argument)(check, node, name)
end
shaped(arguments, "arguments", template, ARG_NAME, argument)

-- What becomes a flag of a claude program: one reader for each thing that a key takes.
local TAKES = {
	text = function() return values.template("value", values.text) end,
	list = function() return values.list_of(values.template("value", values.text)) end,
	count = function() return values.whole(1, MAX_TURNS) end,
	choice = function(row)
		local set = {}
		for _, word in ipairs(row.choices) do
			set[word] = word
		end
		return values.choice(set, "one of " .. table.concat(row.choices, ", "))
	end,
}

-- Keys of a claude step, and of the workflow's claude, where they are defaults.
local claude_options = { resume_session = { values.boolean },
	on_denied = { values.choice({ fail = "fail", warn = "warn" }, "fail or warn") },
	max_attempt_cost = { values.dollars },
	answer = { values.choice({ text = "text", json = "json" }, "text or json") } }
for _, row in ipairs(claude_keys.rows) do
	claude_options[row.key] = { TAKES[row.takes](row) }
end

-- The id of a step, whose session is continued.
local function session(check, node, name)
	local text = values.text(check, node, name)
	if text then
		names.session(check, node, text)
	end
	return text
end
shaped(session, "text")

-- A condition over each item.
local function where(check, node, name)
	check.loops = check.loops + 1
	local out = condition(check, node, name)
	check.loops = check.loops - 1
	return out
end
shaped(where, "text")

local SORT = "^(item[%w_.-]*)%s*(%a*)$"
local DIRECTIONS = { [""] = false, asc = false, desc = true }

local function sort_row(check, node, name)
	local path, direction = (node.text or ""):match(SORT)
	local descending = path and variables.is_path(path) and DIRECTIONS[direction:lower()]
	if descending == nil or not path then
		return values.refuse(check, node, name, "a member of the items, such as item.priority, or item.priority desc")
	end
	return { path = path, descending = descending }
end
shaped(sort_row, "sort", SORT)
local sort = values.list_of(sort_row)

local function json_path(check, node, name)
	local text = values.text(check, node, name)
	return text and (variables.json_path(text) or values.refuse(check, node, name, "a path such as $.items[*].name"))
end
shaped(json_path, "json_path")

-- As the answer is checked: a keyword that isn't known would be one that nothing holds to.
local function schema(check, node, name)
	if node.kind ~= "map" or not node.entries[1] then
		return values.refuse(check, node, name, "a JSON Schema")
	end
	local value, at = yaml.value(node), node
	local fault = require("runner.declare.output_schema").fault(value)
	for part in (fault or ""):gsub(" .*", ""):gmatch "[^/]+" do
		local entry = at.keys and at.keys[part]
		at = entry and entry.node or at.items and at.items[math.tointeger(tonumber(part))] or at
	end
	local _ = fault and check:add(at, name .. ": " .. fault)
	return value
end
shaped(schema, "json_schema")

-- How many may fail: a number, or a percentage of all.
local function allowance(check, node, name)
	local percent = math.tointeger(tonumber((node.text or ""):match "^(%d+)%%$"))
	if percent and percent <= 100 and node.text == percent .. "%" then
		return { percent = percent }
	elseif node.kind == "integer" and node.value >= 0 and node.value <= MAX_ITEMS then
		return { count = node.value }
	end
	return values.refuse(check, node, name, ("a whole number from 0 to %d, or a percentage such as 10%%"):format(MAX_ITEMS))
end
shaped(allowance, "allowance", MAX_ITEMS)

local function side_by_side(check, node, name)
	if node.kind == "boolean" then
		return node.value and 16 or 1
	end
	return values.whole(1, MAX_SIDE_BY_SIDE)(check, node, name)
end
shaped(side_by_side, "side_by_side", MAX_SIDE_BY_SIDE)

-- The least numbers that members of the data may be; one alone is that of `score`.
local function threshold(check, node, name)
	if node.kind == "map" and node.entries[1] then
		return values.map_of(MEMBER, MEMBER_WORDS, values.number)(check, node, name)
	end
	return { score = values.number(check, node, name) }
end
shaped(threshold, "threshold", MEMBER, values.number)

local function only_true(check, node, name)
	if node.kind == "boolean" and node.value then
		return true
	end
	return values.refuse(check, node, name, "true")
end
shaped(only_true, "only_true")

-- --- steps ---------------------------------------------------------------------------------

local node, boolean = values.node, values.boolean

-- Keys of every step.
M.any = { id = { id }, name = { values.template("value", values.text) }, when = { condition }, on_failure = { node }, on_success = { node },
	on = { executors.on }, resources = { executors.resources }, check = { node }, repair = { node }, worktree = { node } }

-- Keys of steps that run a process.
M.process = {
	env = { env }, working_dir = { template }, output_file = { template }, capture_output = { capture, "capture" },
	capture_limit = { values.size },
	timeout = { values.duration, "timeout_ms" }, timeout_secs = { values.seconds, "timeout_ms" },
	total_timeout = { values.duration, "total_timeout_ms" }, total_timeout_secs = { values.seconds, "total_timeout_ms" },
	grace = { values.duration, "grace_ms" }, grace_secs = { values.seconds, "grace_ms" },
	retry = { node }, retry_config = { node, "retry" }, confine = { confinement.reader },
	idempotent = { boolean }, side_effects = { no_side_effects }, verify = { hook }, on_retry = { hook },
	threshold = { threshold },
}

-- Keys of one kind of step, its own among them.
M.own = {
	claude = joined({ claude = { values.template("value", values.text), "text" }, args = { values.list_of(template) },
		session = { session }, max_cost = { values.dollars }, schema = { schema } }, claude_options),
	shell = script,
	runner = { runner = { words, "text" }, args = { arguments } },
	foreach = { foreach = { node, "items" }, ["do"] = { node, "steps" }, parallel = { side_by_side },
		max_items = { values.whole(1, MAX_ITEMS) }, limit = { values.whole(1, MAX_ITEMS), "max_items" }, where = { where },
		sort = { sort }, continue_on_error = { boolean }, max_failures = { allowance },
		chunk = { values.whole(1, MAX_CHUNK) } },
	parallel = { parallel = { node, "steps" }, limit = { values.whole(1, MAX_SIDE_BY_SIDE) },
		continue_on_error = { boolean } },
	steps = { steps = { node } },
	workflow = { workflow = { values.text, "path" }, vars = { node, "given" } },
	commit = { commit = { only_true }, working_dir = { template } },
	approve = { approve = { node } },
}

-- The kinds, in the order in which they are looked for: foreach has a key parallel.
M.kinds = { "foreach", "parallel", "steps", "workflow", "commit", "approve" }
M.articles = {} ---@type table<string, string> kind → "a claude step"
M.step = {} ---@type table<string, table> kind → all rows of such a step

for place, kind in ipairs(variables.kinds) do
	table.insert(M.kinds, place, kind)
	M.step[kind] = joined(M.any, M.process, M.own[kind])
end
for _, kind in ipairs(M.kinds) do
	M.articles[kind] = ("a %s step"):format(kind)
	M.step[kind] = M.step[kind] or joined(M.any, M.own[kind])
end
M.articles.steps, M.articles.commit, M.step.commit = "a block of steps", "a check of commits", M.own.commit
M.member, M.member_words = MEMBER, MEMBER_WORDS
M.articles.approve = "an approve step"
M.step.approve = joined(M.any, M.own.approve)
local of_approve = M.step.approve
of_approve.on, of_approve.resources, of_approve.check, of_approve.repair, of_approve.worktree = nil, nil, nil, nil, nil -- it runs nothing

local OF_PRODIGY = { commit_required = "write check: [{ commit: true }]", validate = "write check, and threshold on its step" }

---Where a key belongs that a step of this kind does not have.
---@param kind string
---@param key string
---@return string?
function M.elsewhere(kind, key)
	if M.process[key] then
		return "put it on the steps inside"
	elseif OF_PRODIGY[key] then
		return OF_PRODIGY[key] .. ". 'runner workflow import FILE' turns a file of prodigy into one of runner's"
	end
	local places = {}
	for _, other in ipairs(M.kinds) do
		places[#places + 1] = M.own[other][key] and M.articles[other] or nil
	end
	return places[1] and "it belongs on " .. table.concat(places, " or ") or nil
end

-- --- the workflow ---------------------------------------------------------------------------

local outputs = { text = "text", json = "json", ["stream-json"] = "stream-json" }

M.claude = joined({
	program = { values.text }, args = { values.list_of(values.any_text) },
	output = { values.choice(outputs, "text, json or stream-json") },
}, claude_options)

---The keys of a claude step whose defaults are those of the workflow's claude.
M.claude_options = claude_options

---The keys of an executor.
M.executor = executors.keys

-- resources: { cpus: … }
M.resources = executors.resource_keys

-- approve: { message: … }
M.approve = { message = { values.template("value", values.text) }, show = { values.list_of(values.template("value", values.text)) },
	notify = { node }, timeout = { values.duration, "timeout_ms" },
	default = { values.choice({ reject = "reject", approve = "approve" }, "reject or approve"), "fallback" } }

-- foreach: { file: … }
M.items = { file = { values.template("value", values.text) }, path = { json_path } }

-- Where the value of a secret comes from.
M.secret = { env = { values.text }, file = { values.text } }
M.env_name, M.env_words = ENV_NAME, ENV_WORDS

M.workflow = {
	name = { values.text }, description = { values.any_text },
	commands = { node, "steps" }, steps = { node }, finally = { node }, vars = { node }, variables = { node, "vars" },
	outputs = { node }, env = { env }, env_files = { values.list_of(values.template("value", values.text)) }, secrets = { node },
	retry = { node }, retry_config = { node, "retry" },
	timeout = { values.duration, "timeout_ms" }, timeout_secs = { values.seconds, "timeout_ms" },
	capture_limit = { values.size }, claude = { node }, max_cost = { values.dollars },
	recover = { values.boolean }, concurrency = { node }, executors = { node }, on = { node }, confine = { confinement.reader },
	worktree = { node },
	interpreter = shell_options.interpreter, errexit = shell_options.errexit,
}

local when_taken = { queue = "queue", cancel = "cancel", refuse = "refuse" }
M.concurrency = { key = { values.template("value", values.text) }, when_taken = { values.choice(when_taken, "queue, cancel or refuse") } }

-- on_failure and on_success with more than steps.
M.on_failure = { steps = { node }, commands = { node, "steps" },
	["then"] = { values.choice({ fail = "fail", continue = "continue" }, "continue or fail"), "go" } }
M.on_success = { steps = { node }, commands = { node, "steps" } }
M.repair = { steps = { node }, commands = { node, "steps" }, max = { values.whole(1, MAX_REPAIRS) },
	again = { values.choice({ check = "check", step = "step" }, "check or step") } }
M.worktree = { base = { template }, branch = { template }, merge = { node },
	keep = { values.choice({ failed = "failed", always = "always", never = "never" }, "failed, always or never") } }

return M
