-- context: `ctx`, what runner offers to a running command: the plain facts. Its methods are
-- in lua/ctx/methods.lua.

local attempt = require "runner.core.attempt"

local meta = {}

function meta.__index(ctx, key)
	meta.__index = require("runner.ctx.methods").index
	return meta.__index(ctx, key)
end

local M = {}

---@param values table the arguments
---@return runner.Context
function M.new(values)
	local launch, command = attempt.launch, attempt.command or {}
	return setmetatable({
		interactive = command.interactive and launch.stdin_is_tty and launch.stderr_is_tty or false,
		args = values, attempt = launch.attempt, config = attempt.project and attempt.project.config or {},
		root = attempt.project and attempt.project.root,
		dry_run = attempt.dry_run or values.dry_run == true,
		request_id = launch.request_id, _deferred = {},
	}, meta)
end

return M
