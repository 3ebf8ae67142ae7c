-- runner health URL: is it healthy? The simplest example of retries: each attempt sends
-- one request, the policy below retries it, and a server's Retry-After is respected.

return {
	description = "Check that a URL is healthy",
	danger_level = "safe",
	args = {
		{ "url", "string", pattern = "^https?://\\S+$", positional = true, required = true,
			description = "URL to check: http:// or https://" },
	},
	timeout = "1m",
	output_schema = {
		type = "object", required = { "url", "status", "response_ms" },
		properties = { url = { type = "string" }, status = { type = "integer" }, response_ms = { type = "integer" } },
	},
	retry = { retries = 3, delay = "1s", max_delay = "30s", on = { "UNAVAILABLE", "RATE_LIMITED", "TIMEOUT" } },
	examples = { { description = "Check a local server", command = "runner health http://localhost:8080/" } },
	run = function(args, ctx)
		local answer = ctx:http { url = args.url, timeout = "10s" }
		return { url = answer.url, status = answer.status, response_ms = answer.duration_ms }
	end,
}
