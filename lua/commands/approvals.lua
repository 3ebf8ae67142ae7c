-- runner approvals: what waits for a person. What has waited too long gets its default first.

local attempt = require "runner.core.attempt"
local decisions = require "runner.workflow.run.approvals"
local display = require "runner.core.display"
local host = require "runner.host"
local json = require "runner.json"
local reference = require "runner.core.reference"
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

-- What a person would be asked, and who asks.
local function one(gate)
	local row = report.approval(gate)
	local lines = { decisions.question(gate):match "^(.-)\n*$" }
	local function add(label, value)
		lines[#lines + 1] = value and ("%-9s %s"):format(label .. ":", value) or nil
	end
	add("id", row.id)
	add("state", row.outcome and ("%s, %s"):format(row.state, row.outcome) or row.state)
	add("subject", row.subject)
	add("client", row.client and ("%s %s %s"):format(row.client.transport or "", row.client.name or "", row.client.version or ""))
	add("trace", row.trace_id)
	for _, asker in ipairs(row.asked_by) do
		add("asked by", ("user %s, processes %s"):format(asker.uid or "?", table.concat(asker.processes, ", ")))
	end
	add("deadline", row.deadline)
	add("decided", row.decided and ("%s, %s"):format(row.decided, decisions.said(gate)))
	display.set { text = host.clean(table.concat(lines, "\n")) .. "\n" }
	return json.array { row }
end

return {
	list = true,
	default_limit = 50,
	output_schema = { type = "array", items = { type = "object", required = { "id", "message", "state" } } },
	args = {
		{ "id", "string", positional = true, pattern = reference.PATTERN,
			description = "Only this one, decided or not: what is asked, with what arguments and effects, and by whom" },
		{ "decided", "boolean", description = "Also those that are decided" },
		scope.argument(),
	},
	columns = { "id", "command", "workflow", "step", "state", "message", "deadline", "default", "run" },
	exit_codes = { NOT_FOUND = { description = "No approval with this ID" }, CONFLICT = { description = "Several match" } },
	examples = { { description = "What waits", command = "runner approvals" },
		{ description = "What one is about", command = "runner approvals apr_0c0ffee" } },
	run = function(args)
		local project = scope.of(args)
		local db <close> = store.open {}
		expire(db)
		if args.id then
			return one(db:approval(args.id))
		end
		local rows = json.array {}
		for i, gate in ipairs(db:approvals { project = project, state = not args.decided and "pending" or nil }) do
			rows[i] = report.approval(gate)
		end
		return rows
	end,
}
