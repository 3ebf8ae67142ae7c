-- runner workflow check FILE: every problem of a workflow file, with its place.

local start = require "runner.workflow.run.start"

local function count(steps)
	local n = 0
	for _, step in ipairs(steps) do
		n = n + 1 + count(step.steps or {}) + count(step.on_failure and step.on_failure.steps or {})
			+ count(step.on_success and step.on_success.steps or {})
	end
	return n
end

return {
	description = "Check a workflow file",
	danger_level = "safe",
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file, in YAML" },
	},
	examples = { { description = "List every problem, with line and column", command = "runner workflow check review.yaml" } },
	validate = function(args)
		local workflow, problems = start.load(args.file, false)
		return not workflow and start.rows(args.file, problems) or nil
	end,
	run = function(args)
		local workflow = assert(start.load(args.file, false))
		return { file = args.file, workflow = workflow.name, steps = count(workflow.steps), valid = true }
	end,
}
