-- runner audit verify: was a row of the audit ledger changed, removed or added?

local audit = require "runner.tools.audit"
local errors = require "runner.core.errors"

return {
	args = {},
	exit_codes = {
		AUDIT_DISABLED = { retryable = false, side_effects = "none", description = "The project keeps no audit ledger" },
		AUDIT_DAMAGED = { retryable = false, side_effects = "none", description = "The ledger is not as it was written" },
	},
	examples = { { description = "Is the ledger whole?", command = "runner audit verify" } },
	run = function()
		local found = audit.verify()
		local first = found.problems[1]
		if first then
			errors.raise("AUDIT_DAMAGED", ("Line %d of %s: %s"):format(first.line, found.path, first.problem), { data = found })
		end
		return found
	end,
}
