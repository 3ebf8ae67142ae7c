-- children: what a command declares about the programs that it starts.

local rules = require "runner.core.rules"

---@type runner.Subject
return {
	keys = {
		preserve_locale = { accept = rules.flag, expected = "true or false", manifest = "schema" },
	},
	flags = {},
}
