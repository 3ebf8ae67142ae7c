-- runner approvals: what waits for a person. What has waited too long gets its default first.

local attempt = require "runner.core.attempt"
local decisions = require "runner.workflow.run.approvals"
local json = require "runner.json"
local report = require "runner.workflow.report.report"
local scope = require "runner.core.scope"
local store = require "runner.workflow.store.store"

-- Those of this project, whose audit ledger has it: also where only its workflows have run.
local function expire(db)
	local own, settings = scope.own(), attempt.project or {}
	if settings.unread and settings.audit and db:approvals { project = own, state = "pending" }[1] then
		require("runner.project.audit").note(attempt)
	end
	decisions.expire(db, nil, own)
end

return {
	list = true,
	default_limit = 50,
	output_schema = { type = "array", items = { type = "object", required = { "id", "message", "state" } } },
	args = {
		{ "decided", "boolean", description = "Also those that are decided" },
		scope.argument(),
	},
	columns = { "id", "command", "workflow", "step", "state", "message", "deadline", "default", "run" },
	examples = { { description = "What waits", command = "runner approvals" } },
	run = function(args)
		local project = scope.of(args)
		local db <close> = store.open {}
		expire(db)
		local rows = json.array {}
		for i, gate in ipairs(db:approvals { project = project, state = not args.decided and "pending" or nil }) do
			rows[i] = report.approval(gate)
		end
		return rows
	end,
}
