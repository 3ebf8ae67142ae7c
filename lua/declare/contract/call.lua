-- call: flags of runner's own that few calls use, for any command.

---@type runner.Subject
return {
	keys = {},
	flags = {
		{ name = "cwd", type = "path", front = true, yields = true, section = "Settings",
			description = "Work in this directory, as if runner had been called there" },
		{ name = "config", type = "path", front = true, yields = true, section = "Settings",
			description = "Read this file in place of runner.lua" },
		{ name = "context", type = "string", front = true, yields = true, section = "Settings",
			description = "Use these settings of contexts in runner.lua" },
		{ name = "no_config", type = "boolean", front = true, yields = true, section = "Settings",
			description = "Read no runner.lua" },
		{ name = "policy", type = "path", front = true, yields = true, section = "Settings",
			description = "Allow no more than this JSON file says, to this call and to what it starts" },
		{ name = "plain", type = "boolean", yields = true, section = "Output",
			description = "At a terminal, a plain line for each change: no colours, no line that moves (RUNNER_PLAIN=1)" },
		{ name = "width", type = "integer", min = 0, max = 1000, yields = true, section = "Output",
			description = "Columns of help and other prose; 0: one line a paragraph" },
	},
}
