-- runner executor reach: what an executor with `via: ssh HOST` starts on that host: one request on
-- stdin (lua/workflow/executors/reach.lua). People don't call it.

local errors = require "runner.core.errors"
local json = require "runner.json"

return {
	timeout = "20m",
	grace = "5s",
	stdin = true,
	exit_codes = {
		TIMEOUT = { retryable = false, side_effects = "partial" },
		PRECONDITION = { description = "The request is of another version, or its folder is missing or not ours alone", retryable = false,
			side_effects = "none" },
		OUTPUT_FAILED = { description = "The directory can't be written", retryable = false, side_effects = "partial" },
	},
	examples = { { description = "As another machine calls it", command = "runner executor reach <request.json" } },
	run = function()
		local text = io.stdin:read "a"
		local request = text:sub(-1) == "\n" and json.decode(text)
		if type(request) ~= "table" or type(request.executor) ~= "table" then
			errors.raise("UNAVAILABLE", "The request is not whole", { retryable = true, side_effects = "none" })
		end
		local reach = require "runner.workflow.executors.reach"
		local data, clean_up = reach.answer(request)
		if clean_up then
			clean_up()
		end
		data.effect = "created"
		return data
	end,
}
