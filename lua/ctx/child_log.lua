-- child_log: what the programs of a command say goes to stderr, line by line as it comes: where the
-- command declares stderr = "child_log" (REQ-F-038), so that whoever looks later reads their log, or where
-- a program is run with echo = true. Loaded for these alone.

local attempt = require "runner.core.attempt"

local M = {}

local function pass(line)
	io.stderr:write(line .. "\n") -- in one piece: what is drawn below it stays
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

---Let both streams of a program go to stderr as well; --quiet silences them.
---@param options table of lua/ctx/proc_spec.lua
function M.echo(options)
	local on_line = options.on_line
	options.on_line = function(line, stream)
		if not attempt.framework.quiet then
			pass(line)
		end
		if on_line then
			on_line(line, stream)
		end
	end
end

return M
