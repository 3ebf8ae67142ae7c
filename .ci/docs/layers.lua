-- layers: which room may use which, from the bottom up: the one table behind the picture
-- in docs/architecture.md (.ci/docs/generate.lua) and the test of the borders
-- (tests/lua/borders_spec.lua). A room is a folder; of its files, each may use its own
-- room and the rooms of `uses`, and nothing else of ours.

local M = {}

---@class runner.Room
---@field name string how the table speaks of it
---@field path string the folder (with a slash at its end), or one file
---@field uses string[] names of rooms
---@field owns string what it is there for

-- The names of the bindings are in a table of their own: src/bindings/bindings.def.
local BINDINGS = "bindings"

---@type runner.Room[]
M.rooms = {
	{ name = "common", path = "src/common/", uses = {}, owns = "bytes, time, JSON, the exit-code registry, frames" },
	{ name = "engine", path = "src/engine/", uses = { "common" }, owns = "processes, policies and limits, for both sides of the fork" },
	{ name = "supervisor", path = "src/supervisor/", uses = { "common", "engine" }, owns = "time, retries, signals, the tree, the envelope; never Lua" },
	{ name = "worker", path = "src/worker/", uses = { "common", "engine" }, owns = "one attempt's process: its Lua state, modules, memory, cancellation" },
	{ name = BINDINGS, path = "src/bindings/", uses = { "common", "engine", "worker" }, owns = "what Lua may call: files, processes, HTTP, JSON, SQLite, regular expressions, the terminal" },
	{ name = "main", path = "src/main.c", uses = { "engine", "supervisor", "worker", BINDINGS }, owns = "ties the two processes and the bindings together" },
	{ name = "libc", path = "src/libc/", uses = {}, owns = "what the static build has in place of musl's: copies of memory" },
	{ name = "embed", path = "src/embed.c", uses = {}, owns = "a build tool: lua/ as chunks inside the binary" },

	{ name = "core", path = "lua/core/", uses = { BINDINGS }, owns = "errors, the attempt's state, rules for tables, YAML" },
	{ name = "declare", path = "lua/declare/", uses = { BINDINGS, "core" }, owns = "what a command file may say, and the messages for what it may not" },
	{ name = "project", path = "lua/project/", uses = { BINDINGS, "core", "declare", "state", "telemetry" }, owns = "from argv to a settled run" },
	{ name = "output", path = "lua/output/", uses = { BINDINGS, "core" }, owns = "a result as text" },
	{ name = "library", path = "lua/library/", uses = { BINDINGS, "core", "output" }, owns = "what scripts may require: runner.path, runner.text …" },
	{ name = "task", path = "lua/task/", uses = { BINDINGS, "core" }, owns = "several things at once: coroutines over processes and timers" },
	{ name = "ctx", path = "lua/ctx/", uses = { BINDINGS, "core", "declare", "task", "invoke", "state", "types" }, owns = "what a script may do" },
	{ name = "invoke", path = "lua/invoke.lua", uses = { BINDINGS, "core" }, owns = "one of our own commands as a child" },
	{ name = "state", path = "lua/state/", uses = { BINDINGS, "core" }, owns = "the database: opening, migrations, locks that prove an owner" },
	{ name = "telemetry", path = "lua/telemetry/", uses = { BINDINGS, "core" }, owns = "traces: their numbers, OTLP, and where spans go" },
	{ name = "types", path = "lua/types/", uses = {}, owns = "the script API for editors (LuaCATS): data, embedded as it is" },
	{ name = "agent_spec", path = "lua/agent_spec/", uses = {}, owns = "JSON Schemas of the CLI Agent Spec: data, embedded as they are" },
	{ name = "conformance", path = "lua/conformance/", uses = { BINDINGS, "core", "agent_spec" }, owns = "whether a tool keeps the CLI Agent Spec: probes, checks, levels" },
	{ name = "jobs", path = "lua/jobs/", uses = { BINDINGS, "core", "project", "invoke" }, owns = "runs that go on without their caller: their folders, how they start, what is said of them" },
	{ name = "calls", path = "lua/calls/", uses = { BINDINGS, "core", "declare", "task", "invoke" }, owns = "requests of a client, each a run of its own: their form, what they may ask, their envelopes" },
	{ name = "import", path = "lua/import/", uses = { BINDINGS, "core", "declare", "workflow.expr" }, owns = "the tasks of a justfile, Makefile, Taskfile.yml or package.json → ours" },
	{ name = "tools", path = "lua/tools/", uses = { BINDINGS, "core", "declare", "project", "output", "state", "types" }, owns = "help, completion, lint, previews, templates" },
	{ name = "mcp", path = "lua/mcp/", uses = { BINDINGS, "core", "declare", "project", "output", "task", "jobs", "calls", "tools" }, owns = "the commands as tools of a model: the Model Context Protocol, and what a person is asked" },

	{ name = "bundle", path = "lua/bundle/", uses = { BINDINGS, "core", "project" }, owns = "a project and runner as one program: packing it, and being one" },
	{ name = "vendor", path = "lua/vendor/", uses = { BINDINGS, "core", "project", "output" }, owns = "libraries of commands: read from a folder or an archive, put into a project, taken out" },
	{ name = "testkit", path = "lua/testkit/", uses = { BINDINGS, "core", "output", "task", "invoke" }, owns = "the tests of a project's own commands: what they declare, what stands in for the world, how they are reported" },
	{ name = "watch", path = "lua/watch/", uses = { BINDINGS, "core", "task", "invoke" }, owns = "files that change, and a command that is run again for them" },
	{ name = "profile", path = "lua/profile/", uses = { BINDINGS, "core" }, owns = "where the time of a call went: pages of its workers, phases, stacks, the flame graph" },

	{ name = "workflow.expr", path = "lua/workflow/expr/", uses = { BINDINGS, "core" }, owns = "`${…}`, where in a shell text it stands, conditions" },
	{ name = "workflow.file", path = "lua/workflow/file/", uses = { BINDINGS, "core", "declare", "project", "workflow.expr" }, owns = "a YAML file → its normal form, or every problem of it" },
	{ name = "workflow.import", path = "lua/workflow/import/", uses = { BINDINGS, "core", "workflow.expr", "workflow.file" }, owns = "workflow files of other tools → ours" },
	{ name = "workflow.kinds", path = "lua/workflow/kinds/", uses = { BINDINGS, "core", "invoke", "workflow.expr" }, owns = "each kind of step: its request, its outcome, what a failure means" },
	{ name = "workflow.store", path = "lua/workflow/store/", uses = { BINDINGS, "core", "state" }, owns = "runs, steps and attempts in the database" },
	{ name = "workflow.report", path = "lua/workflow/report/", uses = { BINDINGS, "core", "task", "telemetry" }, owns = "a run as events, logs, data, text" },
	{ name = "workflow.executors", path = "lua/workflow/executors/", uses = { BINDINGS, "core", "task", "invoke", "state", "workflow.expr", "workflow.file", "workflow.store" },
		owns = "steps on other machines: what is submitted where, what became of it, the queues that run it" },
	{ name = "workflow.run", path = "lua/workflow/run/", owns = "the engine: which step now, attempts, waits, hooks, in doubt",
		uses = { BINDINGS, "core", "task", "telemetry", "state", "workflow.expr", "workflow.file", "workflow.kinds", "workflow.store", "workflow.report", "workflow.executors" } },

	{ name = "commands", path = "lua/commands/", owns = "the built-in commands",
		uses = { BINDINGS, "core", "declare", "project", "output", "invoke", "tools", "import", "state", "jobs", "calls", "mcp", "conformance", "bundle", "vendor", "testkit", "watch", "profile", "workflow.file", "workflow.import", "workflow.store", "workflow.report", "workflow.executors", "workflow.run" } },
	{ name = "boot", path = "lua/boot.lua", uses = { BINDINGS, "core", "project", "ctx", "output", "jobs", "tools" }, owns = "one attempt: the phases from argv to the answer" },
}

-- Uses that close a circle, and why they may: "user module → used module".
M.circles = {
	["project.builtins → commands"] = "a built-in command is found by its name, as a file is; it is loaded when it is called",
}

return M
