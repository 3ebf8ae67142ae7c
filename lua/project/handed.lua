-- handed: arguments that ctx:call hands over on stdin (lua/invoke.lua), where no other
-- process can see them as it sees an argv. Loaded if RUNNER_ARGUMENTS says that there are any.

local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

---Append them to argv. Children of this run inherit neither them nor the variable.
---@param argv string[]
---@return runner.Error? problem
function M.append(argv)
	host.setenv("RUNNER_ARGUMENTS", nil)
	host.take_stdin()
	local words = require("runner.json").decode(io.read "a" or "")
	for i, word in ipairs(type(words) == "table" and words or { false }) do
		if type(word) ~= "string" then
			return errors.new("VALIDATION_ERROR", ("RUNNER_ARGUMENTS is set, but stdin has no JSON array of strings (item %d)"):format(i),
				{ fix_required = "Unset RUNNER_ARGUMENTS: ctx:call sets it for the command that it calls" })
		end
		argv[#argv + 1] = word
	end
end

return M
