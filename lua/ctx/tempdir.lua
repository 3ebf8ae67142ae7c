-- tempdir: the temporary directory of a run, the same in every attempt. The supervisor
-- removes it; a later run that makes its own removes those of killed runs.

local host = require "runner.host"
local attempt = require "runner.core.attempt"
local session_dir = require "runner.session_dir"

local M = {}

local SWEEP_MS = 5

---Make it, where no attempt before has. Raises UNAVAILABLE.
---@return string path
function M.make()
	local path = attempt.launch.session_dir
	host.send("TEMPDIR", { text = path }) -- so that it is removed, even if we end here
	local ok, why = session_dir.make(path)
	if not ok then
		require("runner.core.errors").raise("UNAVAILABLE", "Can't create the run's temporary directory: " .. tostring(why))
	end
	host.send("TEMPDIR", { text = path }) -- it can be locked now
	if not attempt.framework.stable_output then
		host.send("META", { name = "session_tmp_dir", data = require("runner.json").encode(path, { envelope = true }) })
	end
	host.setenv("RUNNER_TEMPDIR", path)
	if attempt.launch.attempt == 1 then
		session_dir.sweep(path:match("^(.*)/"), SWEEP_MS)
	end
	return path
end

return M
