-- reopening: what `workflow resume` and `workflow retry` declare alike: they execute a run that is there, in the project that it
-- began in.

local attempt = require "runner.core.attempt"
local declarations = require "runner.workflow.report.declarations"
local run_command = require "runner.workflow.run.run_command"
local start = require "runner.workflow.run.start"

---A declaration. A run that has completed, and of which nothing is to run again, answers as it did.
---@param go_on fun(project: table, context: string?, id: string) takes up the place where the run began
---@param own table `args` of its own, `codes` and `examples`, perhaps `check`
---@return table
return function(go_on, own)
	local args = { declarations.run }
	table.move(own.args, 1, #own.args, 2, args)
	for _, argument in ipairs {
		{ "force", "boolean", description = "Also if the file has changed or the run was cancelled" },
		{ "retry_in_doubt", "boolean", description = "Run a step again even though it may have finished" },
		start.max_cost_argument, declarations.steps, declarations.limit,
	} do
		args[#args + 1] = argument
	end
	return {
		timeout = "none", grace = "10s", args = args, columns = declarations.columns, rows = "steps",
		exit_codes = declarations.run_codes(own.codes), examples = own.examples,
		run = function(given, ctx)
			if own.check then
				own.check(given)
			end
			return run_command.run(ctx, "resumed", given, function(db)
				local row = db:find(given.id)
				if row.state ~= "completed" or given.failed or given.from then
					go_on(attempt.project, row.context, row.id)
				end
				return start.reopen(db, given)
			end)
		end,
	}
end
