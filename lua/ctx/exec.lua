-- exec: ctx:exec, a program that a person works with (psql, ssh, an editor), with the terminal as its stdin,
-- stdout and stderr. Where nobody is at a terminal it raises INPUT_REQUIRED. Loaded on first use.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local outcome = require "runner.ctx.proc_outcome"
local proc = require "runner.ctx.proc"
local specs = require "runner.ctx.proc_spec"

local M = {}

-- Our own streams are pipes; a program that is found is started on the terminal.
local ON_TERMINAL = { "sh", "-c", 'command -v -- "$0" >/dev/null || exit 127; exec "$0" "$@" </dev/tty >/dev/tty 2>/dev/tty' }

---Hand the terminal to a program, and wait for its end. The command must declare interactive.
---@param ctx runner.Context
---@param spec table { "psql", "shop", cwd=, env=, timeout=, grace=, check=, ok_statuses= }
---@return runner.Result
function M.exec(ctx, spec)
	local options = specs.command("exec", ctx, spec)
	if not (attempt.launch.person and ctx.interactive) then
		errors.raise("INPUT_REQUIRED", ("'%s' needs a person at a terminal: %s"):format(options.argv[1], ctx.interactive
			and "there is none" or "the command does not declare interactive = true, or nobody may be asked"))
	end
	local argv = options.argv
	options.argv = table.move(argv, 1, #argv, #ON_TERMINAL + 1, table.move(ON_TERMINAL, 1, #ON_TERMINAL, 1, {}))
	options.capture, options.foreground = false, true
	return outcome.public(outcome.conclude(options, argv, proc.ended(options)))
end

return M
