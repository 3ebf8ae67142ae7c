-- confinement: `confine` of a workflow and of its steps: what the programs of its claude and shell steps may reach.
-- In the normal form of a command's `confine` (lua/declare/contract/effects.lua), without hosts: those are for ctx:http.

local bounds = require "runner.core.bounds"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"

local M = {}

local shaped = values.shaped

-- As it is written: what a step has printed may not say what it, or another, can reach. And ".." could lead anywhere by a link.
local path = shaped(function(check, node, name)
	local text = values.text(check, node, name)
	if text and text:find("${", 1, true) then
		return values.refuse(check, node, name, "a path without variables: what a step has printed may not widen it")
	elseif text and (("/" .. text .. "/"):find("/../", 1, true) or text:find("\0", 1, true)) then
		return values.refuse(check, node, name, "a path without ..")
	end
	return text
end, "confined_path")

local paths = values.list_of(path)

local named = {}
for _, name in ipairs(tables.sorted_keys(bounds.CAPABILITIES)) do
	named[name] = name
end

local HOSTS = "hosts are held for ctx:http of a command, whose programs then make no connection; run that command in a runner step"

M.network = { ports = { values.list_of(values.whole(1, 65535)) }, udp = { values.boolean } }

local network = shaped(function(check, node, name)
	if node.kind == "boolean" and not node.value then
		return false
	elseif node.kind ~= "map" then
		return values.refuse(check, node, name, "false, or a map with ports")
	end
	local given, entries = values.fields(check, node, M.network, name, function(key)
		return key == "hosts" and HOSTS or nil
	end)
	if not entries.ports and not node.keys.hosts then
		values.refuse(check, node, name, "ports: the TCP ports that it may connect to")
	end
	return given
end, "confined_network", M.network)

M.keys = { write = { paths }, read = { paths }, network = { network },
	capabilities = { values.list_of(values.choice(named, "names of capabilities, such as chown")) }, required = { values.boolean } }

-- A map that says nothing is a mistake.
local function says_something(entries)
	return entries.write or entries.read or entries.network or entries.capabilities
end

---The reader of `confine`.
M.reader = shaped(function(check, node, name)
	if node.kind == "boolean" and not node.value then
		return false
	elseif node.kind ~= "map" then
		return values.refuse(check, node, name, "false, or a map with write, read, network or capabilities")
	end
	local given, entries = values.fields(check, node, M.keys, name)
	if not says_something(entries) then
		return values.refuse(check, node, name, "at least one of write, read, network and capabilities")
	end
	given.required = given.required ~= false
	return given
end, "confine", M.keys)

-- What holds for git, which runner runs where these steps could write: see lua/workflow/run/git.lua.
local function note(check, own)
	local fence = check.all.fence or {}
	for _, name in ipairs { "write", "read", "required" } do
		fence[name] = fence[name] or own[name] and true
	end
	if own.network ~= nil then
		fence.network = false
	end
	check.all.fence = fence
end

---What holds for a step: its own, else the workflow's. One of ours confines itself, so for it that has to be said.
---@param check runner.workflow.Check
---@param step runner.workflow.Step
---@param given table the step's fields
---@param entries table<string, runner.yaml.Entry>
---@param around runner.workflow.Around
function M.settle(check, step, given, entries, around)
	local own = given.confine
	if own == nil then
		own = around.confine
	end
	if step.kind == "runner" and own then
		check:add(entries.confine and entries.confine.node or step, "a runner step isn't confined by the workflow",
			"Declare confine in its command, and write confine: false here")
	end
	step.confine = own or nil
	local _ = own and note(check, own)
end

return M
