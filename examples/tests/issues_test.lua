local test = require "test"

test("reads all pages, and waits as the server asks", function(t)
	local server
	server = t.fake.http(function(request)
		if #server.requests == 2 then
			return { status = 429, headers = { ["Retry-After"] = "1200" } }
		elseif request.query:find "page=2" and not request.query:find "per_page=100$" then
			return { json = { { number = 2, title = "B", state = "open" } } }
		end
		local link = ('<%s/repos/a/b/issues?page=2>; rel="next"'):format(server.url)
		return { headers = { Link = link }, json = { { number = 1, title = "A", state = "open" } } }
	end)
	local answer = t:call("issues", { repository = "a/b", api = server.url }, { env = { GITHUB_TOKEN = "secret" } })
	local data = t:succeeds(answer)
	t:equal(data.items, { { number = 1, title = "A", state = "open" }, { number = 2, title = "B", state = "open" } })
	t:equal({ data.pages, data.complete }, { 2, true })
	t:equal(answer.waited_ms // 1000, 1200)
	t:equal(server.requests[1].headers.authorization, "Bearer secret")
end)

test("says that a repository is not there", function(t)
	local server = t.fake.http { { status = 404 } }
	t:fails(t:call("issues", { repository = "a/b", api = server.url }), "NOT_FOUND")
end)
