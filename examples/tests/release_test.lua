local test = require "test"

local function git(t, branch, changes, log)
	local program = t.fake.run("git", { args = { "branch" }, stdout = branch .. "\n" })
	t.fake.run("git", { args = { "status" }, stdout = changes })
	t.fake.run("git", { args = { "describe" }, stdout = "v1.4.9\n" })
	t.fake.run("git", { args = { "log" }, stdout = log })
	for _, verb in ipairs { "fetch", "tag" } do
		t.fake.run("git", { args = { verb } })
	end
	return program
end

test("tags the next version and pushes it, again after a failure", function(t)
	local program = git(t, "main", "", "- One\n- Two\n")
	t.fake.run("git", { args = { "push" }, { status = 1, stderr = "connection lost" }, "" })
	local answer = t:call { "release", "minor" }
	t:equal(t:succeeds(answer), { effect = "created", version = "v1.5.0", before = "v1.4.9", changes = 2 })
	local calls = program:calls()
	t:equal(calls[#calls].args, { "push", "--atomic", "origin", "main", "v1.5.0" })
	t:equal(calls[#calls - 1].args[1], "push")
end)

test("does nothing without changes", function(t)
	git(t, "main", "", "")
	t:equal(t:succeeds(t:call "release"), { effect = "noop", version = "v1.4.9" })
end)

test("refuses another branch and a checkout with changes", function(t)
	git(t, "feature", "", "")
	t:equal(t:fails(t:call "release", "PRECONDITION").fix_command, "git switch main")
end)

test("refuses a checkout with changes", function(t)
	git(t, "main", " M a.lua\n", "")
	t:equal(t:fails(t:call "release", "PRECONDITION").message, "The checkout has changes")
end)
