-- runner ship: copies a build to each host and switches it over. Every host is tried; the answer
-- says which have the new version, and running it again only repeats what is missing.

local function ssh(ctx, host, ...)
	return ctx:run { retry_on = { exit = 255 }, "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, "--", ... }
end

local function ship(ctx, host, build, version)
	local target = "releases/" .. version
	local now = ssh(ctx, host, "readlink", "current", "||", "true").stdout:match "%S+"
	if now == target then
		return { effect = "noop" }
	end
	ctx:run { "rsync", "-a", "--delete", build .. "/", host .. ":" .. target .. "/" }
	ssh(ctx, host, "ln", "-sfn", target, "current")
	return { effect = "updated", before = now or "none" }
end

return {
	description = "Deploy a build to all hosts",
	danger_level = "mutating",
	timeout = "15m",
	args = {
		{ "build", "path", positional = true, required = true, description = "Folder to deploy" },
		{ "version", "string", required = true, pattern = "^[\\w.-]+$", description = "Name of the release" },
		{ "hosts", "array", items = "string", description = "Other hosts than those of runner.lua" },
	},
	exit_codes = { TIMEOUT = { retryable = "maybe", side_effects = "partial" } },
	examples = { { description = "Deploy version 1.2", command = "runner ship build --version 1.2" } },
	run = function(args, ctx)
		local hosts = #args.hosts > 0 and args.hosts or ctx.config.hosts
		local done = ctx:each(hosts, function(host)
			ctx:step("ship to " .. host)
			return ctx:retry(function() return ship(ctx, host, args.build, args.version) end,
				{ retries = 3, delay = "10s", on = { "UNAVAILABLE" } })
		end)
		done.effect = "updated"
		return done
	end,
}
