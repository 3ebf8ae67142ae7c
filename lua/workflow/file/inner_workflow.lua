-- inner_workflow: `workflow:` of a step: another file, read with the one that names it and as its own: its names, its env,
-- its secrets and its defaults are those of that file. Its steps are inside the step, as those of a block are.

local check_of = require "runner.workflow.file.check"
local fs = require "runner.fs"
local host = require "runner.host"
local keys = require "runner.workflow.file.keys"
local names = require "runner.workflow.file.names"
local paths = require "runner.core.paths"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"
local yaml = require "runner.core.yaml.parser"

local M = {}

local DEEPEST = 16 -- files within files
local MOST, MOST_BYTES = 256, 4 << 20 -- of all files that a workflow runs, each as often as a step runs it

-- What keeps a file from being read. One that is on the way to this one would never end.
local function fault(check, name, way)
	local place, all = way[#way], check.all
	for i = 1, #way - 1 do
		if way[i] == place then
			return ("%s runs itself: %s"):format(name, table.concat(way, " → ", i)), "Remove one of these steps"
		end
	end
	local stat = fs.stat(place)
	if stat and stat.type ~= "file" then
		return name .. " is not a regular file"
	elseif #way > DEEPEST then
		return ("%s is the last of %d files that run each other, and %d is the limit"):format(name, #way, DEEPEST), "Put its steps here"
	elseif all.files >= MOST or all.bytes > MOST_BYTES then
		return ("the files that steps run are more than %d, or more than 4 MiB, each as often as it is run"):format(MOST),
			"Run a file in a foreach, not in a step for each item"
	end
	all.files = all.files + 1
end

-- The file, or nil and a problem that is said.
local function load(check, node, around)
	local folder = check.path:match "^(.*)/[^/]*$"
	local path = folder and paths.absolute(node.text, folder) or node.text
	local place = fs.realpath(path) or paths.absolute(path, host.getcwd())
	local way = table.move(check.way, 1, #check.way, 1, {})
	way[#way + 1] = place
	local message, suggestion = fault(check, node.text, way)
	if message then
		return check:add(node, "workflow: " .. message, suggestion)
	end
	local child, problems = check.load(path, { lenient = check.lenient, executors = check.site, way = way, all = check.all,
		prefix = around.prefix, together = around.together, confine = around.confine,
		unasked = around.unasked or around.checking and "is a check" or nil })
	for _, problem in ipairs(problems or {}) do
		if not problem.line then
			check:add(node, ("workflow: %s"):format(problem.message), "Its path is relative to the file that names it")
			check.list[#check.list].gone = not fs.lstat(path) and path or nil
		else
			problem.path = problem.path or path
			check.list[#check.list + 1] = problem
		end
	end
	return child
end

local function read_templates(check, node)
	for _, item in ipairs(node.items or node.entries or {}) do
		read_templates(check, item.node or item)
	end
	if node.kind == "text" then
		names.template(check, node, "value")
	end
end

-- What the file can't know by itself: which variables it gets, and whether a value that stands here is one of theirs.
local function judge_given(check, step, child, node)
	local known = tables.add({}, child.vars)
	for _, name in ipairs(child.required) do
		known[name] = true
		if node.keys == nil or not node.keys[name] then
			check:add(node, ("workflow: %s needs the variable '%s'"):format(child.path, name), ("Write vars: { %s: … }"):format(name))
		end
	end
	for _, entry in ipairs(node.entries or {}) do
		local value, wrong = step.given[entry.key], nil
		if known[entry.key] == nil then
			check:add(entry, ("%s has no variable '%s'"):format(child.path, entry.key), check_of.meant(entry.key, tables.sorted_keys(known)))
		elseif child.typed[entry.key] and not require("runner.workflow.file.typed_vars").is_late(value) then
			value, wrong = require("runner.workflow.file.typed_vars").take(child.typed[entry.key], value, "payload")
			step.given[entry.key] = value
		end
		if wrong then
			check:add(entry.node, ("vars.%s: %s"):format(entry.key, wrong.message), wrong.suggestion)
		end
	end
end

---What holds only where a file is run by itself. Its steps run on this machine.
---@param check runner.workflow.Check of a file that another one runs
---@param given table values by field
---@param entries table<string, runner.yaml.Entry>
function M.judge(check, given, entries)
	for _, key in ipairs { "max_cost", "concurrency", "recover", "executors" } do
		if entries[key] then
			local message = ("%s of %s holds where that is run by itself, and not here"):format(key, check.path)
			check:hint_in(entries[key].node, 1, "KEY_UNUSED", message)
			check:warn(message)
		end
	end
	if given.on and given.on ~= "none" then
		check:add(entries.on.node, "on: the steps of a file that another one runs stay on this machine", "Write on: none, or remove it")
	end
end

-- What the whole of a run is told of its files.
local function remember(check, child)
	check.children[#check.children + 1] = child
	for name, how in pairs(child.reads.env) do
		check.child_env[name] = check.child_env[name] == "condition" and "condition" or how
	end
end

---@param check runner.workflow.Check
---@param step runner.workflow.Step gets `child`, `given` and the child's steps
---@param given table values by field
---@param entries table<string, runner.yaml.Entry>
---@param around runner.workflow.Around
function M.read(check, step, given, entries, around)
	step.kind, step.steps, step.label = "steps", {}, "workflow " .. (given.path or "")
	if around.placed or (given.on or not entries.on and around.on or "none") ~= "none" then
		return check:add(entries.path.node, "workflow: the steps of another file run on this machine, and this one runs elsewhere",
			"Write on: none, or put the steps here")
	elseif not given.path then
		return
	end
	local node = entries.given and entries.given.node or { kind = "map", entries = {}, keys = {}, line = step.line, column = step.column }
	if node.kind ~= "map" then
		return values.refuse(check, node, "vars", "a map of names and values")
	end
	read_templates(check, node)
	step.given = yaml.value(node)
	local child = load(check, entries.path.node, around)
	if child then
		step.child, step.steps = child, child.all
		judge_given(check, step, child, node)
		remember(check, child)
	end
end

---Read what a file gives to one that runs it, by name: after its steps.
---@param check runner.workflow.Check
---@param node? runner.yaml.Node
---@return table<string, string> outputs templates
function M.outputs(check, node)
	check.order = check.order + 1
	return node and values.map_of(keys.member, keys.member_words, values.template("value"))(check, node, "outputs") or {}
end

return M
