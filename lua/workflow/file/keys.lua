-- keys: the keys of a workflow file: one row per spelling, { reader, field }.
-- A row without a field fills the field of its own name. Rules that involve several
-- keys are in lua/workflow/file/steps.lua and reader.lua.

local claude_keys = require "runner.workflow.expr.claude_keys"
local executors = require "runner.workflow.file.executors"
local interpreters = require "runner.workflow.expr.interpreters"
local rules = require "runner.core.rules"
local names = require "runner.workflow.file.names"
local values = require "runner.workflow.file.values"

local M = {}

local shaped = values.shaped

local MAX_SIDE_BY_SIDE = 64
local MAX_ITEMS = 1000000
local MAX_TURNS = 1000000
local MAX_CHUNK = 100000

local ENV_NAME, ENV_WORDS = "^[%a_][%w_]*$", "letters, digits and _, not starting with a digit"
local ARG_NAME, ARG_WORDS = "^%w[%w_-]*$", "the argument's name: letters, digits, _ and -"

-- All rows of several sections.
local function joined(...)
	local out = {}
	for _, rows in ipairs { ... } do
		for key, row in pairs(rows) do
			out[key] = row
		end
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
for i, row in ipairs(interpreters.rows) do
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
local claude_options = { resume_session = { values.boolean } }
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

local function side_by_side(check, node, name)
	if node.kind == "boolean" then
		return node.value and 16 or 1
	end
	return values.whole(1, MAX_SIDE_BY_SIDE)(check, node, name)
end
shaped(side_by_side, "side_by_side", MAX_SIDE_BY_SIDE)

-- --- steps ---------------------------------------------------------------------------------

local node, boolean = values.node, values.boolean

-- Keys of every step.
M.any = { id = { id }, when = { condition }, on_failure = { node }, on_success = { node },
	on = { executors.on } }

-- Keys of steps that run a process.
M.process = {
	env = { env }, working_dir = { template }, output_file = { template }, capture_output = { capture, "capture" },
	capture_limit = { values.size },
	timeout = { values.duration, "timeout_ms" }, timeout_secs = { values.seconds, "timeout_ms" },
	total_timeout = { values.duration, "total_timeout_ms" }, total_timeout_secs = { values.seconds, "total_timeout_ms" },
	grace = { values.duration, "grace_ms" }, grace_secs = { values.seconds, "grace_ms" },
	retry = { node }, retry_config = { node, "retry" },
	idempotent = { boolean }, side_effects = { no_side_effects }, verify = { hook }, on_retry = { hook },
}

-- Keys of one kind of step, its own among them.
M.own = {
	claude = joined({ claude = { values.template("value", values.text), "text" }, args = { values.list_of(template) },
		session = { session }, max_cost = { values.dollars } }, claude_options),
	shell = script,
	runner = { runner = { words, "text" }, args = { arguments } },
	foreach = { foreach = { node, "items" }, ["do"] = { node, "steps" }, parallel = { side_by_side },
		max_items = { values.whole(1, MAX_ITEMS) }, continue_on_error = { boolean }, chunk = { values.whole(1, MAX_CHUNK) } },
	parallel = { parallel = { node, "steps" }, limit = { values.whole(1, MAX_SIDE_BY_SIDE) },
		continue_on_error = { boolean } },
}

-- The kinds, in the order in which they are looked for: foreach has a key parallel.
M.kinds = { "claude", "shell", "runner", "foreach", "parallel" }
M.articles = { claude = "a claude step", shell = "a shell step", runner = "a runner step", foreach = "a foreach step",
	parallel = "a parallel step" }

---Kind → all rows of such a step.
M.step = {
	claude = joined(M.any, M.process, M.own.claude), shell = joined(M.any, M.process, M.own.shell),
	runner = joined(M.any, M.process, M.own.runner), foreach = joined(M.any, M.own.foreach),
	parallel = joined(M.any, M.own.parallel),
}

---Where a key belongs that a step of this kind does not have.
---@param kind string
---@param key string
---@return string?
function M.elsewhere(kind, key)
	if M.process[key] then
		return "put it on the steps inside"
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

-- foreach: { file: … }
M.items = { file = { values.template("value", values.text) } }

-- Where the value of a secret comes from.
M.secret = { env = { values.text }, file = { values.text } }
M.env_name, M.env_words = ENV_NAME, ENV_WORDS

M.workflow = {
	name = { values.text }, description = { values.any_text },
	commands = { node, "steps" }, steps = { node }, vars = { node }, variables = { node, "vars" },
	env = { env }, env_files = { values.list_of(values.template("value", values.text)) }, secrets = { node },
	retry = { node }, retry_config = { node, "retry" },
	timeout = { values.duration, "timeout_ms" }, timeout_secs = { values.seconds, "timeout_ms" },
	capture_limit = { values.size }, claude = { node }, max_cost = { values.dollars },
	executors = { node }, on = { node },
	interpreter = shell_options.interpreter, errexit = shell_options.errexit,
}

-- on_failure and on_success with more than steps.
M.on_failure = { steps = { node }, commands = { node, "steps" },
	["then"] = { values.choice({ fail = "fail", continue = "continue" }, "continue or fail"), "go" } }
M.on_success = { steps = { node }, commands = { node, "steps" } }

return M
