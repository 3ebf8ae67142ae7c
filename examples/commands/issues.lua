-- runner issues: reads all pages of an API, a row at a time. It waits as the server asks when
-- that has had enough of us, and follows the Link header to the next page.

local function next_link(response)
	for url, rel in (response.headers.link or ""):gmatch '<([^>]+)>; rel="(%w+)"' do
		if rel == "next" then
			return url
		end
	end
end

return {
	description = "List the issues of a repository, from all pages",
	danger_level = "safe",
	timeout = "1h",
	streams = true,
	args = {
		{ "repository", "string", positional = true, required = true, pattern = "^[\\w.-]+/[\\w.-]+$", description = "OWNER/NAME" },
		{ "api", "string", default = "https://api.github.com", description = "Base URL of the API" },
		{ "pages", "integer", default = 100, min = 1, description = "Read at most so many" },
	},
	examples = { { description = "All open issues, a line each", command = "runner issues lua/lua --format jsonl" } },
	run = function(args, ctx)
		local url, pages = ("%s/repos/%s/issues?per_page=100"):format(args.api, args.repository), 0
		while url and pages < args.pages do
			local response = ctx:http { url = url, bearer = os.getenv "GITHUB_TOKEN", headers = { Accept = "application/vnd.github+json" },
				retry = { retries = 5, max_delay = "30m" } }
			for _, issue in ipairs(response.json) do
				ctx:emit { number = issue.number, title = issue.title, state = issue.state }
			end
			url, pages = next_link(response), pages + 1
		end
		return { pages = pages, complete = url == nil }
	end,
}
