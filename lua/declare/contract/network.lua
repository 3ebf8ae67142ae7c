-- network: what a command that says it uses the network declares, and the flags that it gets.

local rules = require "runner.core.rules"

---@type runner.Subject
return {
	keys = {
		has_network_io = { accept = rules.flag, expected = "true or false", manifest = "entry" },
	},
	flags = {
		{ name = "connect_timeout", type = "duration", when = "has_network_io", section = "Network",
			description = "Limit for making a connection; an explicit one of ctx:http wins" },
		{ name = "proxy", type = "string", when = "has_network_io", section = "Network",
			description = "URL of the proxy for ctx:http; overrides the environment" },
		{ name = "no_proxy", type = "boolean", when = "has_network_io", section = "Network",
			description = "Connect directly, whatever the environment says" },
	},
}
