-- runner mcp serve: the commands as tools of MCP, for a client that starts this program and talks
-- to it over stdin and stdout.

local arguments = require "runner.mcp.arguments"

return {
	description = "Serve the commands to an agent over MCP, on stdin and stdout",
	danger_level = "safe",
	stdout = "protocol",
	protocol = "mcp-stdio",
	args = arguments.selection {
		{ "progressive", "boolean", description = "List three tools only: to search the commands, to describe one, to call one" },
		{ "parallel", "integer", min = 1, max = 256, default = 4, description = "How many calls run at a time" },
	},
	examples = {
		{ description = "Serve every command but the destructive ones", command = "runner mcp serve" },
		{ description = "Let the agent ask for a destructive command, too", command = "runner mcp serve --allow \"db drop\"" },
	},
	validate = arguments.validate,
	run = function(args)
		require("runner.mcp.serve").run(args)
	end,
}
