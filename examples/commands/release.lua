-- runner release: tags the next version and pushes it, if the checkout is clean and on main.

local function git(ctx, ...)
	return (ctx:run { "git", ... }.stdout:gsub("%s+$", ""))
end

local function next_version(last, part)
	local major, minor, patch = last:match "^v(%d+)%.(%d+)%.(%d+)$"
	if part == "major" then
		return ("v%d.0.0"):format(major + 1)
	elseif part == "minor" then
		return ("v%d.%d.0"):format(major, minor + 1)
	end
	return ("v%d.%d.%d"):format(major, minor, patch + 1)
end

return {
	description = "Tag the next version and push it",
	danger_level = "mutating",
	timeout = "5m",
	args = {
		{ "part", "enum", values = { "major", "minor", "patch" }, default = "patch", positional = true,
			description = "Which number goes up" },
	},
	exit_codes = { TIMEOUT = { retryable = "maybe", side_effects = "partial" } },
	examples = { { description = "A bug-fix release", command = "runner release" } },
	run = function(args, ctx)
		local branch = git(ctx, "branch", "--show-current")
		if branch ~= "main" then
			ctx:fail("PRECONDITION", ("Releases are made on main, not on '%s'"):format(branch), { fix_command = "git switch main" })
		elseif git(ctx, "status", "--porcelain") ~= "" then
			ctx:fail("PRECONDITION", "The checkout has changes", { fix_command = "git stash" })
		end
		git(ctx, "fetch", "--tags")
		local last = ctx:run { "git", "describe", "--tags", "--abbrev=0", "--match=v*", check = false }.stdout:match "%S+" or "v0.0.0"
		local notes = git(ctx, "log", "--format=- %s", last == "v0.0.0" and "HEAD" or last .. "..HEAD")
		if notes == "" then
			return { effect = "noop", version = last }
		end
		local version = next_version(last, args.part)
		git(ctx, "tag", "--annotate", version, "--message", version .. "\n\n" .. notes)
		ctx:retry(function()
			ctx:run { "git", "push", "--atomic", "origin", "main", version, retry_on = { stderr = "connection" } }
		end, { retries = 2, delay = "5s" })
		return { effect = "created", version = version, before = last, changes = select(2, notes:gsub("\n", "")) + 1 }
	end,
}
