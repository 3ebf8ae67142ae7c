-- Tests of runner health, as the users of this project write theirs: 'runner test' runs them.

local test = require "test"

test("says how a healthy server answered", function(t)
	local server = t.fake.http "fine"
	local data = t:succeeds(t:call("health", { url = server.url }))
	t:equal({ data.url, data.status }, { server.url .. "/", 200 })
	t:equal(server.requests[1].method, "GET")
end)

test("waits as a busy server asks, and tries again", function(t)
	local server = t.fake.http { { status = 503, headers = { ["Retry-After"] = "20" } }, { status = 429 }, "fine" }
	local answer = t:call("health", { url = server.url })
	t:succeeds(answer)
	t:equal(answer.meta.attempt, 3)
	t:check(answer.waited_ms >= 20000, answer.waited_ms)
end)

test("gives up after three retries", function(t)
	local server = t.fake.http { { status = 503 } }
	t:fails(t:call("health", { url = server.url }), "UNAVAILABLE")
	t:equal(#server.requests, 4)
end)

test("does not repeat a request that can't succeed", function(t)
	local server = t.fake.http { { status = 404 } }
	t:fails(t:call("health", { url = server.url }), "NOT_FOUND")
	t:equal(#server.requests, 1)
end)

test("takes nothing but a URL", function(t)
	t:equal(t:call("health", { url = "ftp://example.com" }).exit_code, 2)
end)
