-- runner health URL: is it well? The plainest example of retries: each attempt asks
-- once, the policy below asks again, and a server's Retry-After is waited for.

return {
	description = "Ask a URL whether it is well",
	danger_level = "safe",
	args = {
		{ "url", "string", pattern = "^https?://\\S+$", positional = true, required = true,
			description = "What to ask: http:// or https://" },
	},
	timeout = "1m",
	retry = { retries = 3, delay = "1s", max_delay = "30s", on = { "UNAVAILABLE", "RATE_LIMITED", "TIMEOUT" } },
	examples = { { description = "Ask a local server", command = "runner health http://localhost:8080/" } },
	run = function(args, ctx)
		local answer = ctx:http { url = args.url, timeout = "10s" }
		return { url = answer.url, status = answer.status, response_ms = answer.duration_ms }
	end,
}
