-- runner audit list: the calls in the audit ledger of this project, newest first.

local attempt = require "runner.core.attempt"
local audit = require "runner.tools.audit"
local display = require "runner.core.display"
local json = require "runner.json"
local scope = require "runner.core.scope"

return {
	list = true,
	args = {
		{ "command", "string", description = "Only calls of this command: a dot path such as db.migrate" },
		{ "state", "enum", values = { "ended", "not_run", "open" },
			description = "Only calls that ended, that ended before run, or whose end is not there" },
		scope.argument(),
	},
	columns = { "began", "command", "state", "exit_code", "code", "duration_ms", "request_id" },
	exit_codes = {
		AUDIT_DISABLED = { retryable = false, side_effects = "none", description = "The project keeps no audit ledger" },
	},
	examples = { { description = "What was begun and never ended?", command = "runner audit list --state open" } },
	run = function(args, ctx)
		local project, enough = scope.of(args), attempt.enough or math.huge
		local rows, damaged = audit.calls(function(call)
			return (not project or call.project == project) and scope.is_subject(call.subject)
				and (not args.command or args.command == call.command) and (not args.state or args.state == call.state)
		end, enough)
		display.set { goes_on = #rows >= enough }
		if damaged > 0 then
			ctx:warn("AUDIT_DAMAGED", ("%d lines of the audit ledger are no rows: runner audit verify"):format(damaged))
		end
		return json.array(rows)
	end,
}
