local test = require "test"

test("passes when all checks do", function(t)
	local check = t.fake.run("luacheck", "fine")
	t.fake.run "make"
	local data = t:succeeds(t:call "ci")
	t:equal({ #data.checks, data.checks[1].name, data.checks[1].ok }, { 2, "lint", true })
	t:equal(check:calls()[1].args, { "-q", "." })
end)

test("runs the others after one has failed, and shows what that said", function(t)
	t.fake.run("luacheck", { stdout = ("x\n"):rep(30), stderr = "unused variable", status = 1 })
	local make = t.fake.run "make"
	local answer = t:call "ci"
	t:equal(t:fails(answer, "CHECKS_FAILED").message, "1 of 2 checks failed: lint")
	t:equal(answer.exit_code, 80)
	t:contains(answer.data.checks[1].output, "unused variable")
	t:equal(#make:calls(), 1)
end)

test("knows its checks", function(t)
	t:fails(t:call { "ci", "nothing" }, "NOT_FOUND")
end)
