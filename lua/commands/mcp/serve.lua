-- runner mcp serve: the commands as tools of MCP, for a client that starts this program and talks
-- to it over stdin and stdout.

local listing = require "runner.mcp.listing"

return {
	stdout = "protocol",
	protocol = "mcp-stdio",
	args = listing.arguments {
		{ "progressive", "boolean", description = "List three tools only: to search the commands, to describe one, to call one" },
		{ "parallel", "integer", min = 1, max = 256, default = 4, description = "How many calls run at a time" },
	},
	examples = {
		{ description = "Serve every command but the destructive ones", command = "runner mcp serve" },
		{ description = "Let the agent ask for a destructive command, too", command = "runner mcp serve --allow \"db drop\"" },
	},
	validate = listing.validate,
	run = function(args)
		require("runner.mcp.serve").run(args)
	end,
}
