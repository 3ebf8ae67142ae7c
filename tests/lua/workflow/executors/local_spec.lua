-- The place of kind local (lua/workflow/executors/local.lua): tasks that are processes of this machine.

local host = require "runner.host"
local place_of = require "runner.workflow.executors.local"
local scheduler = require "runner.task.scheduler"

local SLEEPS = { "sh", "-c", "exec sleep 10", "sh" }

-- The tasks of a submission once each has ended, and how long that took.
local function ended(place, token)
	local from = host.now()
	local tasks = place:states({ token })[token].tasks
	for _, task in ipairs(tasks) do
		while task.state ~= "ended" and host.now() < from + 20000 do
			scheduler.sleep(5)
		end
	end
	return tasks, host.now() - from
end

describe("a submission of kind local", function()
	it("that is cancelled at once runs nothing", function()
		scheduler.run(function()
			local place = place_of.open { at_once = 2 }
			place:submit { token = "t", tasks = 3, dir = "/", argv = SLEEPS }
			place:cancel { "t" }
			local tasks, took_ms = ended(place, "t")
			for i = 1, 3 do
				assert.same({ "ended", "cancelled" }, { tasks[i].state, tasks[i].ended }, i)
			end
			assert.is_true(took_ms < 5000, took_ms)
		end)
	end)
end)
