-- placement: where a command's options may stand.

local rules = require "runner.core.rules"

---@type runner.Subject
return {
	keys = {
		option_placement = { accept = rules.one_of("any", "strict"), expected = '"any" or "strict"', manifest = "entry" },
	},
	flags = {},
}
