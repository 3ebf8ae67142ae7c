-- One question to a queue for all steps of a run that wait for it.

local registry = require "runner.workflow.executors.registry"

local NAME = "runner.workflow.executors.command"

describe("the place that steps of a run share", function()
	local asked, real, run

	before_each(function()
		asked, real, run = {}, package.loaded[NAME], {}
		package.loaded[NAME] = { open = function()
			return { limits = function() return { array = 7 } end, cancel = function() return true end,
				states = function(_, tokens)
					asked[#asked + 1] = table.concat(tokens, " ")
					local answers = {}
					for _, token in ipairs(tokens) do
						answers[token] = { job = "1", tasks = {} }
					end
					return answers
				end }
		end }
	end)

	after_each(function()
		package.loaded[NAME] = real
	end)

	local EXECUTOR = { name = "x", kind = "command", poll_ms = 60000 }

	it("asks once for what both wait for", function()
		local a, b = registry.of(run, EXECUTOR), registry.of(run, EXECUTOR)
		assert.is_truthy(a:states { "t1" } .t1)
		assert.is_truthy(b:states { "t2" } .t2)
		assert.is_truthy(a:states { "t1" } .t1)
		assert.same({ "t1", "t1 t2" }, asked)
	end)

	it("never takes an answer for a token that was not asked for", function()
		local a = registry.of(run, EXECUTOR)
		a:states { "t1" }
		assert.is_truthy(a:states { "t1", "t2" } .t2)
		assert.same({ "t1", "t1 t2" }, asked)
	end)

	it("asks anew each time once something was cancelled, and not for steps that have ended", function()
		local a, b = registry.of(run, EXECUTOR), registry.of(run, EXECUTOR)
		b:states { "t2" }
		registry.close(b)
		a:states { "t1" }
		a:cancel { "t1" }
		a:states { "t1" }
		a:states { "t1" }
		assert.same({ "t2", "t1", "t1", "t1" }, asked)
	end)
end)
