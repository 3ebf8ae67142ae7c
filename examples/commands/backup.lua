-- runner backup: archives a folder under the day's date and keeps the newest ones. The archive gets its
-- name only when it is whole, so a run that is killed leaves no half of one.

return {
	description = "Archive a folder and keep the newest archives",
	danger_level = "mutating",
	timeout = "1h",
	args = {
		{ "from", "path", required = true, positional = true, description = "Folder to archive" },
		{ "to", "path", required = true, description = "Folder of the archives" },
		{ "keep", "integer", default = 7, min = 1, description = "How many archives to keep" },
	},
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
	examples = { { description = "Keep a week", command = "runner backup docs --to /var/backups/docs" } },
	run = function(args, ctx)
		ctx:lock("backup:" .. args.to)
		ctx.fs.mkdirs(args.to)
		local name = os.date "!%Y-%m-%dT%H%M%SZ" .. ".tar.gz"
		local part = ("%s/.%s.part"):format(args.to, name)
		ctx:defer(function() os.remove(part) end)
		ctx:run { "tar", "-czf", part, "-C", args.from, "." }
		ctx.fs.fsync(part)
		ctx.fs.rename(part, args.to .. "/" .. name)
		local archives, removed = {}, {}
		for _, file in ipairs(ctx.fs.list(args.to)) do
			archives[#archives + 1] = file:find "^%d.*%.tar%.gz$" and file or nil
		end
		for i = 1, #archives - args.keep do
			ctx.fs.unlink(args.to .. "/" .. archives[i])
			removed[#removed + 1] = archives[i]
		end
		return { effect = "created", archive = name, removed = table.concat(removed, " ") }
	end,
}
