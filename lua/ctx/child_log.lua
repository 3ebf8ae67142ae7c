-- child_log: what the programs of a command say goes to stderr, line by line as it comes, where the
-- command declares stderr = "child_log" (REQ-F-038): whoever looks later reads their log. Loaded for
-- such a command alone.

local attempt = require "runner.core.attempt"

local M = {}

local function pass(line)
	io.stderr:write(line, "\n")
end

---Let both streams of a program go to stderr; --quiet silences them.
---@param options table of lua/ctx/proc_spec.lua
function M.take(options)
	if attempt.framework.quiet then
		options.capture = true
	elseif options.capture and not options.on_line then
		options.on_line = pass
	end
end

return M
