-- runner rollback --target prod [--to RELEASE]: make an earlier release live again. Only
-- the link changes; nothing is copied or removed.

-- A file beside this one. Where it is asks `debug`, which a file that is only read can't call at its top.
local function beside(name)
	return dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. name)
end

local function target_names(config)
	return beside("_target.lua").names(config)
end

local function choose(args, ctx, target, live)
	local release = args.to or target:before(live)
	if release and target:has(release) then
		return release
	end
	ctx:fail("NOT_FOUND", release and ("%s has no release %s"):format(target.name, release)
		or ("%s has no release before %s"):format(target.name, live),
		{ suggestion = "Name one with --to: " .. table.concat(target:list(), ", ") })
end

local function verify(ctx, target, release)
	if not target.health then
		return ctx:skip "verify"
	end
	ctx:step "verify"
	local healthy, answer = target:is_healthy()
	if not healthy then
		ctx:fail("UNHEALTHY",
			("Release %s is live, but %s is not healthy: %s"):format(release, target.name, answer.message),
			{ context = { release = release, health = answer.context, cause = answer.code } })
	end
end

local function run(args, ctx)
	local target = beside("_target.lua").open(ctx, args.target)
	ctx:step "validate"
	if not target:live() then
		ctx:fail("NOT_FOUND", ("No release of %s is live"):format(target.name),
			{ suggestion = ("Run 'runner deploy --target %s' first"):format(target.name) })
	end
	target:lock()
	target:clean_up()
	local live = target:live()
	local release = choose(args, ctx, target, live)
	if release == live then
		ctx:skip "activate"
		ctx:skip "verify"
		return { target = target.name, release = release, effect = "noop" }
	end
	ctx:step "activate"
	target:switch(release)
	verify(ctx, target, release)
	return { target = target.name, release = release, replaced = live, effect = "updated" }
end

return {
	description = "Make an earlier release of a target live again",
	danger_level = "mutating",
	args = {
		{ "target", "enum", values = target_names, required = true, code = "INVALID_ENVIRONMENT",
			env = "DEPLOY_TARGET", description = "A name in config.targets of runner.lua" },
		{ "to", "string", pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$",
			description = "The release; default: the one that was live before" },
	},
	timeout = "1m",
	output_schema = {
		type = "object", required = { "target", "release", "effect" },
		properties = { target = { type = "string" }, release = { type = "string" },
			replaced = { type = "string", description = "What was live before" }, effect = { enum = { "updated", "noop" } } },
	},
	retry = { retries = 3, delay = "1s", on = { "LOCKED" } },
	exit_codes = {
		-- without --to, a second call would go back one more release
		TIMEOUT = { retryable = false, side_effects = "partial" },
		LOCKED = { code = 79, description = "Another deploy or rollback of the target is running", retryable = true,
			side_effects = "none", retry_after_ms = 5000, retry_strategy = "linear_backoff" },
		NOT_FOUND = { description = "No such release, or none before the live one" },
		UNHEALTHY = { code = 80, description = "The health check failed; the earlier release stays live",
			retryable = false, side_effects = "complete" },
	},
	steps = { "validate", "activate", "verify" },
	examples = { { description = "Go back one release", command = "runner rollback --target prod" } },
	run = run,
}
