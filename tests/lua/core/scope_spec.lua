-- Which project's records a call sees, by its policies.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local scope = require "runner.core.scope"
local tool = require "runner.core.tool"

local function with(root, ...)
	local list = {}
	for i, folders in ipairs { ... } do
		list[i] = { path = "/p.json", folders = folders or nil }
	end
	attempt.project, attempt.policy = { root = root }, { list = list }
end

describe("the scope of a call", function()
	local before = { attempt.project, attempt.policy }
	after_each(function()
		attempt.project, attempt.policy = before[1], before[2]
		tool.become(nil)
	end)

	it("is the root of its project, or none, or the name of the program that carries it", function()
		with "/srv/a"
		assert.equal("/srv/a", scope.project())
		with(nil)
		assert.equal("", scope.project())
		tool.become { name = "x", project = "program:x" }
		assert.equal("program:x", scope.own())
	end)

	it("is of the subject of its policies, else of who started it", function()
		local host = require "runner.host"
		local outside = os.getenv "RUNNER_SUBJECT"
		host.setenv("RUNNER_SUBJECT", "b")
		attempt.policy = nil
		assert.same({ "b", true, false, false }, { scope.subject(), scope.is_subject "b", scope.is_subject "a", scope.is_subject(nil) })
		attempt.policy = { list = {}, subject = "a" }
		assert.same({ "a", false, true }, { scope.subject(), scope.is_subject "b", scope.is_subject "a" })
		host.setenv("RUNNER_SUBJECT", outside)
		attempt.policy = nil
		assert.equal(outside, scope.subject())
	end)

	it("is open to whole IDs, unless a policy has folders", function()
		with("/srv/a", false)
		assert.same({ false, true, true, true }, { scope.is_closed(), scope.sees "/srv/b", scope.sees "", scope.sees(nil) })
		assert.same({ "/srv/a" }, { scope.of {} })
		assert.is_nil(scope.of { all = true })
		with("/srv/a", false, { "/srv/a/commands" })
		assert.same({ true, true, false, false, false },
			{ scope.is_closed(), scope.sees "/srv/a", scope.sees "/srv/b", scope.sees "", scope.sees(nil) })
		assert.equal("POLICY_DENIED", select(2, pcall(scope.of, { all = true })).code)
	end)

	it("is nothing where no folder is in the project or around it", function()
		local dir = os.tmpname()
		os.remove(dir)
		assert(fs.mkdirs(dir .. "/real/commands", 448))
		assert(os.execute(("ln -s real '%s/link'"):format(dir)))
		local real = assert(fs.realpath(dir .. "/real"))
		for _, case in ipairs { { { "/srv" }, true }, { { "/srv/a" }, true },
			{ { "/srv/a/" }, true }, { { "/srv/a/commands" }, true }, { { "/" }, true },
			{ { "/srv/ab" }, false }, { { "/srv/b/commands" }, false }, { { "/sr" }, false }, { {}, false }, { { "/x", "/srv/a/lib" }, true } } do
			with("/srv/a", case[1])
			assert.equal(case[2], (pcall(scope.own)), table.concat(case[1], ","))
		end
		with(real, { dir .. "/link/commands" })
		assert.equal(real, scope.own())
		with("/srv/a", { "/srv" }, { "/opt" })
		assert.equal("folders", select(2, pcall(scope.own)).context.rule)
		fs.remove_tree(dir)
	end)
end)
