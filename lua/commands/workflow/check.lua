-- runner workflow check FILE: every problem of a workflow file, with its place; what is
-- valid and probably not meant is a warning.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_name = require "runner.core.command_name"
local executors = require "runner.workflow.file.executors"
local locate = require "runner.project.locate"
local start = require "runner.workflow.run.start"

local function count(steps)
	local n = 0
	for _, step in ipairs(steps) do
		n = n + 1 + count(step.steps or {}) + count(step.on_failure and step.on_failure.steps or {})
			+ count(step.on_success and step.on_success.steps or {})
	end
	return n
end

-- What `runner:` steps call is looked up where the check runs, as a run from here would.
local function warn_of_commands(path, steps, project)
	for _, step in ipairs(steps) do
		local words = step.kind == "runner" and not step.text:find("${", 1, true) and command_name.words((step.text:gsub("%s+", ".")))
		if words and not locate.find(words, project) then
			local e = catalog.not_found(words, project)
			attempt.warn("UNKNOWN_COMMAND", ("%s:%d:%d: runner: %s: no such command here. %s"):format(path, step.line, step.column,
				step.text, e.suggestion or ""), { file = path, line = step.line, column = step.column })
		end
		for _, below in ipairs { step.steps or {}, step.on_failure and step.on_failure.steps or {},
			step.on_success and step.on_success.steps or {} } do
			warn_of_commands(path, below, project)
		end
	end
end

local function warn_of(path, hints)
	for _, hint in ipairs(hints) do
		attempt.warn(hint.code, ("%s:%d:%d: %s"):format(path, hint.line, hint.column, hint.message),
			{ file = path, line = hint.line, column = hint.column })
	end
end

return {
	description = "Check a workflow file",
	danger_level = "safe",
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file, in YAML" },
		executors.argument,
	},
	examples = { { description = "List every problem, with line and column", command = "runner workflow check review.yaml" } },
	validate = function(args)
		local workflow, problems = start.load(args.file, false, args.on)
		return not workflow and start.rows(args.file, problems) or nil
	end,
	run = function(args)
		local workflow = assert(start.load(args.file, false, args.on))
		warn_of(args.file, workflow.hints)
		warn_of_commands(args.file, workflow.steps, attempt.project)
		return { file = args.file, workflow = workflow.name, steps = count(workflow.steps), valid = true }
	end,
}
