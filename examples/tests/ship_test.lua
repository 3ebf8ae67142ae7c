local test = require "test"

local function world(t)
	local ssh = t.fake.run("ssh", "releases/1.0\n")
	return ssh, t.fake.run "rsync"
end

test("copies the build to all hosts and switches them over", function(t)
	local ssh, rsync = world(t)
	local data = t:succeeds(t:call("ship", { build = "build", version = "1.1" }))
	t:equal(data.summary, { total = 3, succeeded = 3, failed = 0 })
	t:equal(data.results[1].before, "releases/1.0")
	t:equal(#rsync:calls(), 3)
	local args = ssh:calls()[2].args
	t:equal(table.concat(args, " ", 5), "web1 -- ln -sfn releases/1.1 current")
end)

test("does nothing where the version is live", function(t)
	local _, rsync = world(t)
	local data = t:succeeds(t:call("ship", { build = "build", version = "1.0", hosts = { "web9" } }))
	t:equal(data.results[1].effect, "noop")
	t:equal(#rsync:calls(), 0)
end)

test("tries a host that can't be reached again, and the others all the same", function(t)
	t.fake.run("rsync")
	t.fake.run("ssh", { script = 'case "$*" in *web2*) exit 255;; esac; echo releases/1.0' })
	local answer = t:call("ship", { build = "build", version = "1.1" })
	t:fails(answer, "PARTIAL_FAILURE")
	t:equal(answer.data.summary, { total = 3, succeeded = 2, failed = 1 })
	t:equal(answer.data.results[2].error.code, "UNAVAILABLE")
	t:check(answer.waited_ms > 10000, "it waited before it tried again")
end)
