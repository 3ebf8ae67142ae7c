-- executors: where the steps of a workflow run: `executors` of the file over those of runner.lua
-- (lua/declare/executors.lua), and `on`, which places a step, with all that is inside it, on one.

local check_of = require "runner.workflow.file.check"
local declared = require "runner.declare.executors"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"
local yaml = require "runner.core.yaml.parser"

local M = {}

---The argument of commands that names an executor.
M.argument = { "on", "string", min_length = 1, description = "Executor for the steps that name none; none: this machine" }

---@alias runner.workflow.Executors table<string, runner.Executor>

-- Report a value inside a list or a map that is empty: its Lua value would leave no trace.
local function has_empty(check, node, name)
	local found = false
	for i, inner in ipairs(node.items or node.entries or {}) do
		local value = inner.node or inner
		if value.kind == "null" then
			values.any_text(check, value, inner.node and ("%s.%s"):format(name, inner.key) or ("%s[%d]"):format(name, i))
			found = true
		end
	end
	return found
end

---The keys of an executor as rows for values.fields.
M.keys = {}
for key, row in pairs(declared.keys) do
	M.keys[key] = { values.shaped(function(check, node, name)
		if has_empty(check, node, name) then
			return nil
		end
		local value = row.accept(yaml.value(node))
		if value == nil then
			values.refuse(check, node, name, row.expected)
		end
		return value
	end, "executor", key), row.field }
end

-- --- executors: ------------------------------------------------------------------------------

local function add(check, out, entry, site)
	local name = entry.key
	if not name:find(declared.NAME) or name == declared.NOWHERE then
		return check:add(entry, ("'%s' is not a valid name in executors: use %s"):format(name, declared.NAME_WORDS))
	end
	local problems = #check.list
	local own = values.fields(check, entry.node, M.keys, "an executor")
	local executor, fault, suggestion = declared.settle(name, site, own)
	if not executor and #check.list == problems then
		check:add(entry, fault, suggestion)
	end
	out[name] = executor or { name = name, faulty = true }
end

---Every executor that a step may name: the site's, and those of the file, whose keys win.
---@param check runner.workflow.Check
---@param node? runner.yaml.Node executors
---@param site? table<string, table> as declare/executors.accept returns them
---@return runner.workflow.Executors executors, table<string, string> faults of the site's, by name
function M.read(check, node, site)
	local out, faults = {}, {}
	if node and node.kind ~= "map" then
		values.refuse(check, node, "executors", "a map such as cluster: { kind: slurm, directory: ~/runner }")
	end
	for _, entry in ipairs(node and node.entries or {}) do
		add(check, out, entry, site and site[entry.key])
	end
	for _, name in ipairs(tables.sorted_keys(site or {})) do
		if not out[name] then
			out[name], faults[name] = declared.settle(name, site[name])
		end
	end
	return out, faults
end

-- --- resources: --------------------------------------------------------------------------------

local some_time = values.shaped(function(check, node, name)
	local ms = values.duration(check, node, name)
	if ms == 0 then
		return values.refuse(check, node, name, "a duration such as 30m or 4h")
	end
	return ms
end, "duration", true)

---The keys of `resources` of a step.
M.resource_keys = { cpus = M.keys.cpus, gpus = M.keys.gpus, memory = M.keys.memory, time = { values.list_of(some_time), "times" } }

---A reader of `resources`.
M.resources = values.shaped(function(check, node, name)
	if node.kind ~= "map" or not node.entries[1] then
		return values.refuse(check, node, name, "a map such as { cpus: 4, memory: [4G, 8G] }")
	end
	local asked = values.fields(check, node, M.resource_keys, name)
	return asked
end, "resources", M.resource_keys)

-- What of a step only its executor can give it.
local function judge_resources(check, step, entry, around)
	local executor = step.on and check.executors[step.on]
	if not entry then
		return
	elseif around.placed then
		check:add(entry.node, "resources: this step is inside one that runs elsewhere, whose tasks run all of it",
			"Put it on the step that has on")
	elseif executor and executor.kind == "local" then
		check:add(entry.node, ("resources: the executor '%s' runs processes of this machine, and holds nothing back for them"):format(step.on),
			"Remove it, or name an executor of kind slurm or command")
	elseif not step.on and not around.on then
		check:hint_in(entry.node, 1, "RESOURCES_UNUSED", "resources: the step runs here, unless --on or on: names an executor")
	end
end

-- --- on: ---------------------------------------------------------------------------------------

---What is wrong with the name of an executor.
---@param name string
---@param executors runner.workflow.Executors
---@param faults table<string, string>
---@return string? message, string? suggestion
function M.fault(name, executors, faults)
	if executors[name] or name == declared.NOWHERE then
		return nil
	elseif faults[name] then
		return faults[name], "Complete it in runner.lua, or in executors of the file"
	end
	local known = tables.sorted_keys(executors)
	for _, broken in ipairs(tables.sorted_keys(faults)) do
		known[#known + 1] = broken
	end
	return ("there is no executor '%s'"):format(name), check_of.meant(name, known)
		or known[1] and "Known: " .. table.concat(known, ", ") or "Describe it under executors, here or in runner.lua"
end

---A reader of `on`.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string
---@return string?
function M.on(check, node, name)
	local text = values.text(check, node, name)
	local message, suggestion
	if text then
		message, suggestion = M.fault(text, check.executors, check.faults)
	end
	if message then
		check:add(node, ("%s: %s"):format(name, message), suggestion)
	end
	return not message and text or nil
end
values.shaped(M.on, "text")

local function inside(around, name)
	return setmetatable({ placed = name }, { __index = around })
end

local function judge_claude(check, step, around)
	if step.kind == "claude" and (around.placed or step.on) then
		check.placed_claude = check.placed_claude or step
	end
end

---Where a step runs: sets its `on`, `chunk` and `resources`. Only the outermost placed step has them: what
---is inside it runs where it does.
---@param check runner.workflow.Check
---@param step runner.workflow.Step
---@param given table values by field
---@param entries table<string, runner.yaml.Entry>
---@param around runner.workflow.Around
---@return runner.workflow.Around of the steps inside it
function M.place(check, step, given, entries, around)
	local name = given.on
	if entries.on and around.placed then
		check:add(entries.on.node, "on: this step is inside one that runs elsewhere, and runs where that does",
			"Remove one of the two")
	elseif not entries.on and not around.placed then
		name = around.on
	end
	step.on = not around.placed and name ~= declared.NOWHERE and name or nil
	step.chunk = step.on and given.chunk
	if step.on and (check.inner or check.last) then
		check:add(entries.on.node, "on: last steps, and those of a file that another one runs, stay on this machine", "Remove it")
	end
	judge_claude(check, step, around)
	step.resources = step.on and given.resources
	judge_resources(check, step, entries.resources, around)
	if entries.chunk and not entries.on and not step.on and around.placed then
		check:add(entries.chunk.node, "chunk: the items run here, one after the other: write on: with the name of an executor")
	elseif entries.chunk and not entries.on and not around.on then -- on: none, as --on says it, is no mistake of the loop
		check:hint_in(entries.chunk.node, 1, "CHUNK_UNUSED",
			"chunk: the items run here, one after the other, unless --on or on: names an executor")
	end
	return step.on and inside(around, step.on) or around
end

---Refuse a budget that several machines would have to share.
---@param check runner.workflow.Check
---@param entry? runner.yaml.Entry max_cost of the workflow
function M.judge_budget(check, entry)
	local step = check.placed_claude
	if entry and step then
		check:add(entry.node, ("max_cost: the claude step on line %d runs on an executor, and machines don't share a budget")
			:format(step.line), "Give each claude step a max_cost of its own, or run it here: on: none")
	end
end

return M
