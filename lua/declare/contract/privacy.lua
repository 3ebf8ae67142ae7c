-- privacy: what an answer may show, and what it says about data from outside; for any command.

---@type runner.Subject
return {
	keys = {},
	flags = {
		{ name = "unmask", type = "boolean", yields = true, section = "Output",
			description = "Show tokens and keys in the result; without it they are masked" },
		{ name = "stable_output", type = "boolean", yields = true, section = "Output",
			description = "Leave out of meta what differs between two equal calls" },
		{ name = "no_injection_protection", type = "boolean", yields = true, section = "Output",
			description = "Don't mark data from outside as untrusted; off a terminal it needs --yes too" },
	},
}
