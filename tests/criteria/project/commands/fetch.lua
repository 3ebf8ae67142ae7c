return {
	description = "Ask a server", danger_level = "safe", has_network_io = true, args = { { "url", "string",
		default = "http://127.0.0.1:9/" } },
	run = function(args, ctx) return { body = ctx:http({ url = args.url, retry = { retries = 0 } }).body } end,
}
