-- raw_stdout: a call of a command whose stdout is not runner's answer (lua/declare/contract/input.lua): its
-- arguments, its limits, and the flags that make no sense there. Loaded for such a command alone.

local args = require "runner.project.args"
local attempt = require "runner.core.attempt"
local host = require "runner.host"

local M = {}

-- What would need an answer on stdout, or another call.
local REFUSED = {
	passthrough = { "detach", "stream", "heartbeat_ms", "fields", "raw_payload", "input_file", "token_limit", "token_offset",
		"token_count" },
	protocol = { "detach", "stream", "heartbeat_ms", "fields", "output", "dry_run", "idempotency_key", "token_limit",
		"token_offset", "token_count" },
}

local function owner_of_stdout(command)
	return command.raw == "protocol" and "the protocol " .. command.protocol or "another program"
end

-- What makes calls for a client takes what it finds on stdout for our answer: another program
-- could write half of one there, or two, or that all went well.
local function refuse_call(command, parsed)
	if attempt.call.is_call then
		parsed.problems[#parsed.problems + 1] = { field = "command", code = "INVALID_ARGUMENT",
			message = "It can't be called in a request: stdout belongs to " .. owner_of_stdout(command),
			suggestion = "Run it by itself", fix_required = "Run it by itself" }
	end
end

local function refuse(command, parsed)
	refuse_call(command, parsed)
	for _, name in ipairs(REFUSED[command.raw]) do
		local value = parsed.framework[name]
		if value ~= nil and value ~= false then
			local flag = "--" .. name:gsub("_", "-")
			parsed.problems[#parsed.problems + 1] = { field = name, code = "INVALID_ARGUMENT",
				message = ("%s can't be used here: stdout belongs to %s"):format(flag, owner_of_stdout(command)),
				suggestion = "Leave out " .. flag, fix_required = "Leave out " .. flag }
		end
	end
end

-- The words for the other program. A lone --help is its own, spelt as it wants it.
local function words(tokens, first, command)
	local argv = table.move(tokens, first, #tokens, 1, {})
	if command.help_argv and #argv == 1 and (argv[1] == "--help" or argv[1] == "-h") then
		return table.move(command.help_argv, 1, #command.help_argv, 1, {})
	end
	return argv
end

---As args.parse. Of a command that passes its arguments on, only what stands in front of its
---name is runner's; the rest is `values.argv`, untouched.
---@param rows table[]
---@param tokens string[]
---@param opts table with `command` and `in_front`
---@return runner.Parsed
function M.parse(rows, tokens, opts)
	local command, parsed = opts.command
	if command.raw == "passthrough" then
		parsed = args.parse(rows, table.move(tokens, 1, opts.in_front, 1, {}), opts)
		parsed.values.argv = require("runner.json").array(words(tokens, opts.in_front + 1, command))
	else
		parsed = args.parse(rows, tokens, opts)
	end
	refuse(command, parsed)
	return parsed
end

local BY_CALLER = { flag = true, environment = true, ["outer run"] = true }

-- What a server may take once it serves: as long as its client stays, unless the caller of
-- runner has set a limit. The declared one is that of its start.
local function serve_without_limits(settled)
	for _, name in ipairs { "attempt_timeout", "idle_timeout" } do
		if settled.sources[name] == "runner.lua" then
			settled[name .. "_ms"] = 0
		end
	end
	if not BY_CALLER[settled.sources.timeout] then
		settled.serve_ms = 0
	end
end

---Settle what holds for a call: one attempt, since bytes that are out can't be taken back.
---@param a runner.Attempt
---@param settled table from settings.settle
function M.settle(a, settled)
	settled.policy.retries = 0
	if a.command.raw == "protocol" then
		serve_without_limits(settled)
	end
end

---A server begins to serve: the deadlines that it sees are those that hold from here on.
---@param settled table
function M.begin(settled)
	settled.timeout_ms = settled.serve_ms
	host.set_limits(settled.serve_ms, settled.attempt_timeout_ms)
	host.export_deadline(settled.serve_ms)
end

return M
