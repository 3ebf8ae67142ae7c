-- runner tail: the lines of a log that fit a pattern, as rows; with --follow also those to come,
-- until somebody ends it. A log that is rotated away is opened anew.

local fs = require "fs"

local function emit_lines(ctx, file, args, counts)
	for line in file:lines() do
		counts.lines = counts.lines + 1
		if line:lower():find(args.match:lower(), 1, true) then
			counts.matched = counts.matched + 1
			ctx:emit { line = counts.lines, text = line }
		end
	end
end

local function follow(ctx, file, args, counts)
	local inode = fs.stat(args.file).ino
	while true do
		local watch <close> = fs.watch(args.file)
		emit_lines(ctx, file, args, counts)
		local now = fs.stat(args.file)
		if now and now.ino ~= inode then
			file, inode = assert(io.open(args.file)), now.ino
		elseif watch then
			watch:wait(1000)
		end
	end
end

return {
	description = "Show the lines of a log that have a text in them",
	danger_level = "safe",
	timeout = "none",
	streams = true,
	args = {
		{ "file", "path", positional = true, required = true, description = "The log" },
		{ "match", "string", default = "", description = "Text that lines must have; upper and lower case are the same" },
		{ "follow", "boolean", description = "Go on with what is written later" },
	},
	examples = { { description = "Errors as they come", command = "runner tail app.log --match error --follow" } },
	run = function(args, ctx)
		local counts = { lines = 0, matched = 0 }
		local file = assert(io.open(args.file))
		emit_lines(ctx, file, args, counts)
		if args.follow then
			follow(ctx, file, args, counts)
		end
		return counts
	end,
}
