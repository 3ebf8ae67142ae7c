return {
	description = "Pass all on", danger_level = "safe", arguments = "passthrough",
	run = function(args, ctx) return ctx:delegate { "sh", "-c", 'echo "$@"; exit 5', "sh", table.unpack(args.argv) } end,
}
