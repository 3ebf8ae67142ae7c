-- runner audit list: the calls in the audit ledger of this project, newest first.

local audit = require "runner.tools.audit"
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
		local calls, damaged = audit.calls()
		local rows, project = json.array {}, scope.of(args)
		for i = #calls, 1, -1 do
			local call = calls[i]
			if (not project or call.project == project)
				and (not args.command or args.command == call.command) and (not args.state or args.state == call.state) then
				rows[#rows + 1] = call
			end
		end
		if damaged > 0 then
			ctx:warn("AUDIT_DAMAGED", ("%d lines of the audit ledger are no rows: runner audit verify"):format(damaged))
		end
		return rows
	end,
}
