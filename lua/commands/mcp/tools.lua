-- runner mcp tools: the commands as tools of MCP. `runner mcp serve` reads them through this
-- command, in a process of its own: no code of the project runs in the server.

local attempt = require "runner.core.attempt"
local listing = require "runner.mcp.listing"
local json = require "runner.json"
local scope = require "runner.core.scope"
local tools = require "runner.mcp.tools"

return {
	args = listing.arguments {
		{ "all", "boolean", description = "Include commands that a server would not list" },
		{ "read", "array", items = "string", description = "Read the files of these commands only (besides built-in ones)" },
	},
	columns = { "name", "command", "danger_level", "listed", "reason" },
	rows = true,
	examples = {
		{ description = "Show what a server lists", command = "runner mcp tools" },
		{ description = "Show every command, and why it is not listed", command = "runner mcp tools --all" },
	},
	validate = listing.validate,
	run = function(args, ctx)
		local out = json.array {}
		scope.serve() -- built-in commands take what they take in a server
		local options = { only = args.read[1] and args.read, on_read = function(name) ctx:progress(name) end }
		for _, row in ipairs(tools.rows(attempt.project, options)) do
			row.listed = listing.has(args, row)
			row.name = row.tool.name
			row.reason = not row.listed and (row.reason or "--only and --group leave it out") or nil
			out[#out + 1] = (row.listed or args.all) and row or nil
		end
		return out
	end,
}
