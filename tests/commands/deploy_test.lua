-- Tests of runner deploy, rollback and releases; tests/cli/deploy.bats has those that kill them.

local test = require "test"

local PROJECT = [[
return { commands = %q, config = { targets = {
	prod = { path = "www", keep = 2, health = %s },
} } }
]]

-- A project with one target, and a site to deploy there.
local function project(t, health)
	t:files { ["runner.lua"] = PROJECT:format(t.root .. "/commands", health or "nil"), ["site/index.html"] = "one" }
	return function(words)
		return t:call(words, nil, { cwd = t.dir })
	end
end

test("deploys a site, does nothing the second time, and goes back", function(t)
	local call = project(t)
	local first = t:succeeds(call { "deploy", "site", "--target", "prod" })
	t:equal(first.effect, "created")
	t:equal(t:read "www/current/index.html", "one")
	t:equal(t:succeeds(call { "deploy", "site", "--target", "prod" }).effect, "noop")
	t:files { ["site/index.html"] = "two" }
	t:succeeds(call { "deploy", "site", "--target", "prod" })
	t:equal(t:read "www/current/index.html", "two")
	t:succeeds(call { "rollback", "--target", "prod", "--yes" })
	t:equal(t:read "www/current/index.html", "one")
	local releases = t:succeeds(call { "releases", "--target", "prod" })
	t:equal(#releases, 2)
	for _, release in ipairs(releases) do
		t:equal(release.live, release.name == first.release)
	end
end)

test("restores the release before, when the new one is not healthy", function(t)
	local server = t.fake.http { "fine", { status = 500 } }
	local call = project(t, ("{ url = %q, timeout = '5s', retry = { retries = 2, delay = '20s' } }"):format(server.url))
	t:succeeds(call { "deploy", "site", "--target", "prod" })
	t:files { ["site/index.html"] = "broken" }
	local answer = call { "deploy", "site", "--target", "prod" }
	t:equal(t:fails(answer, "UNHEALTHY").side_effects, "none")
	t:equal(t:read "www/current/index.html", "one")
	t:equal(#server.requests, 4)
	t:check(answer.waited_ms > 20000, answer.waited_ms)
end)

test("names the targets that there are", function(t)
	local e = t:fails(project(t) { "deploy", "site", "--target", "nowhere" })
	t:contains(e.message .. (e.suggestion or ""), "prod")
end)
