-- runner workflow plan FILE: the steps, their limits and the exact retry delays.
-- Nothing is run or stored; it gives the warnings that `run` would.

local executors = require "runner.workflow.file.executors"
local graph = require "runner.workflow.report.graph"
local host = require "runner.host"
local plan = require "runner.workflow.run.plan"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local start = require "runner.workflow.run.start"

return {
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file, in YAML" },
		{ "var", "array", items = "string", description = "Workflow variable: name=value" },
		{ "seed", "integer", min = 0, description = "Seed for the jitter of retries; default: random" },
		executors.argument,
		{ "graph", "enum", values = graph.FORMATS, description = "Draw the steps instead: as text, or for Mermaid or Graphviz" },
	},
	columns = { "key", "kind", "label", "timeout_ms", "worst_case_ms" },
	rows = "steps",
	examples = {
		{ description = "The exact waits for one seed", command = "runner workflow plan review.yaml --seed 7" },
		{ description = "A picture of it", command = "runner workflow plan review.yaml --graph dot --format plain | dot -Tsvg" },
	},
	validate = function(args)
		return start.problems(args, true)
	end,
	run = function(args)
		local workflow = assert(start.load(args.file, true, args.on))
		for _, text in ipairs(workflow.warnings) do
			attempt.warn("WORKFLOW_WARNING", text)
		end
		local described = plan.describe(workflow, start.seed(args), start.mask_of(workflow))
		if args.graph then
			local drawn = graph.draw(described, args.graph)
			display.set { text = drawn, plain = drawn, rows = false }
			return { workflow = described.workflow, file = described.file, format = args.graph, graph = drawn }
		end
		display.set { text = host.clean(plan.text(described)) }
		return described
	end,
}
