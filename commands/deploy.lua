-- runner deploy --target prod [SOURCE]: make a directory or a .tar.gz live, atomically:
-- all of it or nothing. For a target's layout on disk see _target.lua.

-- A file beside this one. Where it is asks `debug`, which a file that is only read can't call at its top.
local function beside(name)
	return dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. name)
end

local function target_names(config)
	return beside("_target.lua").names(config)
end

-- The path of the source, and how the caller wrote it.
local function source_path(args, ctx, from_root)
	local configured = ctx.config.source
	if args.source then
		return args.source, args.source
	elseif type(configured) == "string" then
		return from_root(ctx, configured), configured
	end
	ctx:fail("PRECONDITION", "Nothing to deploy: no source was given",
		{ fix_required = ("Name one: runner deploy --target %s ./site, or set config.source in runner.lua")
			:format(args.target) })
end

-- A new release named `wanted`, or after its content; or an existing one.
local function unpack(ctx, target, source, wanted, digest_of)
	local digest = source:digest()
	local name = digest and (wanted or digest:sub(1, 12))
	if not (name and target:has(name)) then
		local tree = target:incoming()
		ctx:defer(function()
			target:drop(tree)
		end)
		source:unpack(tree, function(...)
			return target:must(...)
		end)
		digest = digest_of(ctx, tree)
		name = wanted or digest:sub(1, 12)
		if not target:has(name) then
			target:adopt(tree, name)
			return name, true
		end
	end
	if digest_of(ctx, target:release(name)) ~= digest then
		ctx:fail("CONFLICT", ("Release %s already exists with different content"):format(name),
			{ fix_required = "Choose another name with --release", side_effects = "none" })
	end
	return name, false
end

local function skip_rest(ctx, ...)
	for _, step in ipairs { ... } do
		ctx:skip(step)
	end
end

-- The live release is unhealthy: restore the previous state, and fail.
local function return_to(ctx, target, release, previous, is_new, answer)
	target:switch(previous)
	if is_new then
		target:discard(release)
	end
	ctx:fail("UNHEALTHY", ("%s is not healthy with release %s: %s"):format(target.name, release, answer.message), {
		side_effects = "none",
		suggestion = previous and ("Release %s is live again; fix the new one"):format(previous)
			or "No release is live, as before; fix the new one",
		context = { release = release, live = previous, health = answer.context, cause = answer.code },
	})
end

-- Make it live; unless it proves healthy, switch back, however this run ends.
local function activate(ctx, target, release, source)
	local previous, unproven = target:known_good(release), true
	target:write_note(release, { previous = previous, verified = false, source = source.given })
	ctx:defer(function()
		if unproven and target.health then
			target:switch(previous)
		end
	end)
	target:switch(release)
	return previous, function()
		unproven = false
	end
end

local function verify(ctx, target, release, previous, is_new)
	if not target.health then
		return ctx:skip "verify"
	end
	ctx:step "verify"
	local healthy, answer = target:is_healthy()
	if not healthy then
		return_to(ctx, target, release, previous, is_new, answer)
	end
end

local function prune(ctx, target)
	ctx:step "prune"
	local ok, removed = pcall(target.prune, target)
	if not ok then
		ctx:warn("PRUNE_FAILED", "Old releases could not be removed: " .. tostring(removed))
		return nil
	end
	return removed
end

local function run(args, ctx)
	local targets, sources = beside "_target.lua", beside "_source.lua"
	ctx:step "validate"
	local target = targets.open(ctx, args.target)
	local source = sources.open(ctx, source_path(args, ctx, targets.from_root))
	source:check()
	target:lock()
	target:clean_up()

	ctx:step "unpack"
	local was_live = target:standing()
	local release, is_new = unpack(ctx, target, source, args.release, sources.digest)
	local note = target:note(release)
	if release == was_live and (note.verified or not target.health) then
		skip_rest(ctx, "activate", "verify", "prune")
		return { target = target.name, release = release, previous = target:before(release), effect = "noop" }
	end

	ctx:step "activate"
	local previous, proven = activate(ctx, target, release, source)
	verify(ctx, target, release, previous, is_new)
	proven()
	target:write_note(release, { previous = previous, verified = true, source = source.given })
	return {
		target = target.name, release = release, previous = previous,
		removed = prune(ctx, target), effect = was_live and "updated" or "created",
	}
end

return {
	description = "Make a directory or a .tar.gz the live release of a target",
	danger_level = "mutating",
	args = {
		{ "target", "enum", values = target_names, required = true, code = "INVALID_ENVIRONMENT",
			env = "DEPLOY_TARGET", description = "Where to deploy: a name in config.targets of runner.lua" },
		{ "source", "path", positional = true,
			description = "Directory or .tar.gz to deploy; default: config.source of runner.lua" },
		{ "release", "string", pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$",
			description = "Name of the release; default: made from its content" },
	},
	output_schema = {
		type = "object", required = { "target", "release", "effect" },
		properties = {
			target = { type = "string" }, release = { type = "string" },
			previous = { type = "string", description = "What was live before" },
			removed = { type = "array", items = { type = "string" }, description = "Old releases that went" },
			effect = { enum = { "created", "updated", "noop" } },
		},
	},
	timeout = "5m",
	attempt_timeout = "2m",
	retry = { retries = 3, delay = "1s", on = { "LOCKED", "UNAVAILABLE", "RATE_LIMITED", "TIMEOUT" } },
	exit_codes = {
		TIMEOUT = { retryable = true, side_effects = "partial", retry_after_ms = 0, retry_strategy = "immediate" },
		RATE_LIMITED = { retryable = true, side_effects = "none", retry_after_ms = 30000,
			retry_strategy = "exponential_backoff" },
		LOCKED = { code = 79, description = "Another deploy or rollback of the target is running", retryable = true,
			side_effects = "none", retry_after_ms = 5000, retry_strategy = "linear_backoff" },
		NOT_FOUND = { description = "The source does not exist" },
		CONFLICT = { description = "A release of this name has different content" },
		UNHEALTHY = { code = 80, description = "The health check failed; the previous release is live again",
			retryable = "maybe", side_effects = "none" },
	},
	steps = { "validate", "unpack", "activate", "verify", "prune" },
	examples = {
		{ description = "Deploy the source set in runner.lua", command = "runner deploy --target prod" },
		{ description = "Deploy an archive as 1.2.3",
			command = "runner deploy --target prod site.tar.gz --release 1.2.3" },
	},
	run = run,
}
