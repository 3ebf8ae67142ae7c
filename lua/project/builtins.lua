-- builtins: the built-in commands: their names, and what lists say of each (its file in lua/commands has the rest), so
-- that a list loads none of them. Loaded for a name that no file of the project has, and for lists.

local rules = require "runner.core.rules"

local M = {}

---@type table<string, {description: string, danger_level: string, hidden?: true}> by dot path
M.rows = {
	add = { description = "Add a library of commands to this project", danger_level = "mutating" },
	approvals = { description = "List what waits for a person", danger_level = "safe" },
	approve = { description = "Agree to what waits for a person", danger_level = "mutating" },
	["audit.list"] = { description = "List the calls that the project's audit ledger has, newest first", danger_level = "safe" },
	["audit.verify"] = { description = "Check that no row of the project's audit ledger was changed, removed or added",
		danger_level = "safe" },
	bundle = { description = "Make one program of this project and runner", danger_level = "mutating" },
	changelog = { description = "Show what changed in the project's commands", danger_level = "safe" },
	["check-permissions"] = { description = "Check whether your credential covers what commands need", danger_level = "safe" },
	cleanup = { description = "Remove temporary files, caches and logs that commands declare to leave", danger_level = "mutating" },
	completion = { description = "Complete commands, flags and values in your shell", danger_level = "safe" },
	-- by itself; a profile names what it runs
	conformance = { description = "Check a command-line tool against the CLI Agent Spec", danger_level = "safe" },
	doctor = { description = "Check the machine, that files load, and that the programs commands need are there", danger_level = "safe" },
	exec = { description = "Make the calls that stdin asks for, a JSON request a line, and answer each with its envelope",
		danger_level = "safe" },
	["executor.check"] = { description = "Check an executor: its queue, and two tasks on it", danger_level = "mutating" },
	["executor.list"] = { description = "List the places where steps of workflows may run", danger_level = "safe" },
	["executor.reach"] = { description = "The other side of `via: ssh`: an executor calls it", danger_level = "mutating", hidden = true },
	["executor.probe"] = { description = "A task of `executor check`: it calls this itself", danger_level = "mutating", hidden = true },
	flame = { description = "Run a command, and show where its time goes: a flame graph and a table", danger_level = "mutating" },
	["generate-skills"] = { description = "Write a skill for coding agents about the commands", danger_level = "mutating" },
	help = { description = "Describe a command, or list all commands", danger_level = "safe" },
	["job.cancel"] = { description = "Cancel a job", danger_level = "mutating" },
	["job.list"] = { description = "List jobs, newest first", danger_level = "safe" },
	["job.logs"] = { description = "Show what a job has written to stderr", danger_level = "safe" },
	["job.status"] = { description = "Show whether a job runs, and how it ended", danger_level = "safe" },
	["job.wait"] = { description = "Wait for a job, and answer as it did", danger_level = "safe" },
	["library.check"] = { description = "Compare the files of libraries with runner.lock", danger_level = "safe" },
	["library.list"] = { description = "List the libraries of this project", danger_level = "safe" },
	["library.remove"] = { description = "Remove a library from this project", danger_level = "mutating" },
	["library.update"] = { description = "Take libraries anew from where they came from", danger_level = "mutating" },
	init = { description = "Write a file of tasks", danger_level = "mutating" },
	lint = { description = "Check command files and runner.lua", danger_level = "safe" },
	manifest = { description = "Print every command with its arguments and exit codes, for agents", danger_level = "safe" },
	["mcp.install"] = { description = "Print, or write, what a client of MCP needs to start the server", danger_level = "mutating" },
	["mcp.serve"] = { description = "Serve the commands to an agent over MCP, on stdin and stdout", danger_level = "safe" },
	["mcp.tools"] = { description = "Show the commands as tools of MCP, and which of them a server lists", danger_level = "safe" },
	["mcp.validate"] = { description = "Compare a list of MCP tools with the commands", danger_level = "safe" },
	new = { description = "Write a command file to start from", danger_level = "mutating" },
	["policy.check"] = { description = "Say which commands each name in the allow and deny of a policy means", danger_level = "safe" },
	["policy.init"] = { description = "Write a policy that allows what was called", danger_level = "mutating" },
	reject = { description = "Refuse what waits for a person", danger_level = "mutating" },
	several = { description = "Run several commands in one call", danger_level = "safe", hidden = true },
	status = { description = "Show what runner and the commands keep on this machine", danger_level = "safe" },
	test = { description = "Run the tests of this project's commands", danger_level = "mutating" },
	types = { description = "Set up your editor for the script API and workflow files", danger_level = "mutating" },
	-- whatever the command is, its own run says and asks
	watch = { description = "Run a command now, and again whenever files change", danger_level = "safe" },
	["workflow.cancel"] = { description = "Cancel a run permanently", danger_level = "mutating" },
	["workflow.check"] = { description = "Check a workflow file", danger_level = "safe" },
	["workflow.chunk"] = { description = "Run a task of a placed step (called by executors)", danger_level = "mutating", hidden = true },
	["workflow.import"] = { description = "Turn a workflow file of prodigy into one of runner's", danger_level = "mutating" },
	["workflow.list"] = { description = "List workflow runs", danger_level = "safe" },
	["workflow.logs"] = { description = "Show the output of the steps of a run", danger_level = "safe" },
	["workflow.new"] = { description = "Write a workflow file to start from", danger_level = "mutating" },
	["workflow.plan"] = { description = "Show what a workflow would do", danger_level = "safe" },
	["workflow.prune"] = { description = "Remove old runs with their logs and outputs", danger_level = "destructive" },
	["workflow.recover"] = { description = "Resume the runs that a power cut or a shutdown has ended", danger_level = "mutating" },
	["workflow.resume"] = { description = "Resume a run where it stopped", danger_level = "mutating" },
	["workflow.retry"] = { description = "Run a step of a run again, and all that follow it", danger_level = "mutating" },
	["workflow.rm"] = { description = "Remove runs with their logs and outputs", danger_level = "destructive" },
	["workflow.run"] = { description = "Run a workflow file", danger_level = "mutating" },
	["workflow.show"] = { description = "Show a run with its steps and attempts", danger_level = "safe" },
	["workflow.stats"] = { description = "Count attempts, retries, waits and costs across runs", danger_level = "safe" },
	["workflow.unit"] = { description = "Print a systemd unit that recovers runs at boot", danger_level = "safe" },
	["workflow.wait"] = { description = "Wait for a run, and answer as it did", danger_level = "safe" },
	["workflow.worktrees"] = { description = "List worktrees of runs, and remove those not needed", danger_level = "mutating" },
}

-- What is for those who write commands and set up a machine: a program that was made of a project has none of it.
local OF_A_PROJECT = "add bundle conformance flame generate-skills init library.check library.list library.remove library.update lint "
	.. "new test types workflow.import workflow.new"
for name in (type(require("runner.host").bundle()) == "string" and OF_A_PROJECT or ""):gmatch "%S+" do
	M.rows[name] = nil
end

---@type table<string, true> the first words of their names
M.names = {}
for name in next, M.rows do
	M.names[name:match "^[^.]+"] = true
end

---The built-in command that words begin with.
---@param words string[]
---@param first integer where its name begins
---@return runner.Found?
function M.find(words, first)
	local name, below = words[first], words[first + 1]
	if first == 1 and name:find "^%++$" then -- runner + build + test
		return { name = "several", words = 1 }
	end
	if M.rows[name] and rules.is_command_word(name) then
		return { name = name, words = first }
	end
	local full = below and rules.is_command_word(below) and name .. "." .. below
	return M.rows[full] and { name = full, words = first + 1 } or nil
end

---What its file declares, and what lists say of it.
---@param name string dot path
---@return table
function M.declaration(name)
	return require("runner.core.tables").add(require("runner.commands." .. name), M.rows[name])
end

---What lists say of it.
---@param name string dot path, perhaps with "self." in front
---@return {description: string, danger_level: string, hidden?: true} the caller's own
function M.row(name)
	local row = M.rows[name] or M.rows[name:match "^self%.(.*)$"]
	return { description = row.description, danger_level = row.danger_level, hidden = row.hidden }
end

---Dot paths of the built-in commands, sorted.
---@return string[]
function M.list()
	return require("runner.core.tables").sorted_keys(M.rows)
end

return M
