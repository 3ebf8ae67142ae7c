-- runner mcp validate: whether a list of tools that is kept in a file, or served, is still what the
-- commands are (REQ-O-035).

local listing = require "runner.mcp.listing"
local attempt = require "runner.core.attempt"
local drift = require "runner.mcp.drift"
local fs = require "runner.fs"
local json = require "runner.json"
local scope = require "runner.core.scope"
local tools = require "runner.mcp.tools"

local LARGEST = 16 << 20 -- bytes

local function tools_of_file(ctx, path)
	local text, why = fs.read(path, LARGEST)
	if not text then
		ctx:fail("NOT_FOUND", ("Can't read %s: %s"):format(path, why), { fix_required = "Name the file of a tools/list" })
	end
	local document, problem = json.decode(text)
	return drift.tools_in(document)
		or ctx:fail("PRECONDITION", ("%s has no tools: %s"):format(path, problem or "it is no answer to tools/list"), { side_effects = "none",
			fix_required = "Save what `runner mcp tools` or tools/list answers" })
end

local function tools_of_server(ctx, url)
	return drift.tools_of_server(ctx, url)
		or ctx:fail("UNAVAILABLE", ("%s does not answer tools/list with tools"):format(url), { side_effects = "none" })
end

return {
	has_network_io = true,
	args = listing.arguments {
		{ "mcp_schema_file", "path", description = "JSON file with a list of tools, or an answer to tools/list" },
		{ "mcp_server_url", "string", pattern = "^https?://.+$", description = "MCP server to ask for its tools" },
	},
	exit_codes = {
		MCP_DRIFT = { retryable = false, side_effects = "none", description = "They differ; data.drift says where" },
		PRECONDITION = { retryable = false, side_effects = "none", description = "The file has no tools" },
		NOT_FOUND = { retryable = false, side_effects = "none", description = "There is no such file" },
		UNAVAILABLE = { retryable = true, side_effects = "none", description = "The server does not answer" },
	},
	examples = {
		{ description = "Is the list in the repository still right?", command = "runner mcp validate --mcp-schema-file tools.json" },
	},
	validate = function(args)
		if (args.mcp_schema_file == nil) == (args.mcp_server_url == nil) then
			return { { field = "mcp_schema_file", code = "INVALID_ARGUMENT", message = "Give --mcp-schema-file or --mcp-server-url",
				fix_required = "Give one of --mcp-schema-file and --mcp-server-url" } }
		end
		return listing.validate(args)
	end,
	run = function(args, ctx)
		local theirs = args.mcp_schema_file and tools_of_file(ctx, args.mcp_schema_file) or tools_of_server(ctx, args.mcp_server_url)
		scope.serve() -- built-in commands take what they take in a server
		local found, count = drift.of(tools.rows(attempt.project), function(row) return listing.has(args, row) end, theirs)
		local data = { drift = found, tools = #theirs }
		if count > 0 then
			ctx:fail("MCP_DRIFT", ("%d differences between the tools and the commands"):format(count), { data = data, side_effects = "none" })
		end
		return data
	end,
}
