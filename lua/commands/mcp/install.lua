-- runner mcp install CLIENT: what a client of MCP has to be told to start this server, printed, or
-- written into the client's file beside what it has.

local attempt = require "runner.core.attempt"
local listing = require "runner.mcp.listing"
local clients = require "runner.mcp.clients"
local display = require "runner.core.display"
local fs = require "runner.fs"
local host = require "runner.host"
local layout = require "runner.output.layout"
local policy_commands = require "runner.project.policy_commands"
local tables = require "runner.core.tables"

local LARGEST, PRIVATE, PUBLIC = 4 << 20, 384, 420 -- bytes; 0600, 0644

-- The file as it is, through links, so that a link stays one.
local function read(ctx, path)
	local real = fs.realpath(path) or path
	local about = fs.stat(real)
	if not about then
		return real, "", PRIVATE
	end
	local text, why = fs.read(real, LARGEST)
	if not text then
		ctx:fail("PRECONDITION", ("Can't read %s: %s"):format(real, why), { side_effects = "none" })
	end
	return real, text, about.mode and about.mode & 511 or PUBLIC
end

-- The policies that hold for this call hold for the server; --policy holds for the server alone.
local function policies(path)
	local list = table.move(attempt.policy and attempt.policy.list or {}, 1, 16, 1, {})
	if path then
		local caller_policy = require "runner.project.caller_policy"
		local policy, problem = caller_policy.read(require("runner.core.paths").absolute(path, host.getcwd()))
		list[#list + 1] = policy
		problem = problem or policy_commands.mismatch(policy, require("runner.project.catalog").all(attempt.project))
			or caller_policy.take_subject(nil, { list = list })
		if problem then
			error(problem, 0)
		end
	end
	return list
end

local function merge(ctx, installation, path, text)
	local merged, why = clients.merged(installation, text)
	if not merged then
		ctx:fail("CONFLICT", ("%s is no JSON that an entry can be added to: %s"):format(path, why), { side_effects = "none",
			suggestion = "Add the entry of `runner mcp install` without --write by hand" })
	end
	return merged
end

local function write(ctx, path, text, mode)
	ctx.fs.mkdirs((path:match "^(.*)/[^/]+$"))
	ctx.fs.write(path, text, mode)
end

local function shown(installation)
	local text = layout.json { [installation.key] = { [installation.name] = installation.server } }
	display.set { text = ("%s:\n\n%s\n"):format(installation.path, text), plain = text .. "\n" }
end

return {
	dry_run = true,
	args = listing.arguments {
		{ "client", "enum", values = tables.sorted_keys(clients.rows), positional = true, required = true, description = "Client to set up" },
		{ "write", "boolean", description = "Write it into the client's file, beside what that has" },
		{ "name", "string", pattern = "^[A-Za-z0-9_-]{1,64}$", description = "Name of the server; default: that of the project's folder" },
		{ "policy", "path", description = "A policy for the server, which need not allow this call" },
		{ "progressive", "boolean", description = "Serve three tools in place of one for each command" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		CONFLICT = { retryable = false, side_effects = "none", description = "The client's file is not what it should be" } },
	examples = {
		{ description = "See what Claude Code needs", command = "runner mcp install claude-code" },
		{ description = "Set up Cursor for this project", command = "runner mcp install cursor --write" },
	},
	validate = listing.validate,
	run = function(args, ctx)
		local list = policies(args.policy)
		local installation = clients.installation(args.client, args, list)
		if not installation then
			ctx:fail("PRECONDITION", "No folder for the client's file: neither XDG_CONFIG_HOME nor HOME is an absolute path")
		end
		if not attempt.project.root then
			ctx:warn("NO_PROJECT", "There is no project here, nor in a folder above: the server will serve no command of one. "
				.. "Install it in the project's folder")
		end
		local refused = policy_commands.call({ "mcp", "serve" }, nil, list)
		if refused then
			ctx:warn("POLICY_REFUSES", refused)
		end
		local data = { path = installation.path, effect = "noop",
			config = { [installation.key] = { [installation.name] = installation.server } } }
		if not args.write then
			shown(installation)
			return data
		elseif installation.homeless then
			ctx:fail("PRECONDITION", "No folder for the client's file: HOME is no directory",
				{ side_effects = "none", fix_required = "Set XDG_CONFIG_HOME, or HOME to a directory that is there" })
		end
		local path, text, mode = read(ctx, installation.path)
		local merged = merge(ctx, installation, path, text)
		if merged ~= text then
			write(ctx, path, merged, mode)
			data.effect = text == "" and "created" or "updated"
		end
		return data
	end,
}
