-- flags: runner's own flags that many calls use, one row each: parsing, checks, help and the
-- reference all read this table. Loaded where one is given (lua/project/argv_parser.lua). The rare flags, and those that only
-- some commands have, are rows of the same shape in lua/declare/contract/. An argument may have
-- the name of a flag that `yields`, and no other (docs/design.md#names-of-arguments).

local host = require "runner.host"
local rules = require "runner.core.rules"

local M = {}

---@class runner.FlagRow
---@field name string as in `args.parse(…).framework`; the flag is `--` and the name with `-` for `_`
---@field type string
---@field short? string
---@field env? string environment variable that is read when the flag is not given
---@field values? string[]
---@field min? number
---@field max? number
---@field default_key? string name in host.default of the value if flag, variable, command and runner.lua give none
---@field section string heading in help
---@field yields? true an argument may have its name: then --runner-NAME and a place in front of the command's name mean ours
---@field front? true it is understood only in front of the command's name
---@field when? string only commands that declare this take it (lua/declare/contract.lua); no argument of these has its name
---@field rare? true a call with it loads lua/project/call_flags.lua; set for all flags of lua/declare/contract/
---@field listed? string commands that declare this list it among their own, though any takes it
---@field secret? true its value is repeated in no message
---@field description string

-- All but text, which is a terminal's.
local function formats()
	local list = host.names "format"
	list[#list] = nil
	return list
end

---@type runner.FlagRow[]
M.rows = {
	{ name = "format", type = "enum", values = formats(), env = "RUNNER_FORMAT",
		yields = true, section = "Output", description = "Format of the result; json off a terminal" },
	{ name = "output", type = "path", yields = true, section = "Output", description = "Write the result to this file" },
	{ name = "quiet", type = "boolean", yields = true, section = "Output", description = "Print no notices" },
	{ name = "verbose", type = "boolean", yields = true, section = "Output", description = "Print more notices" },
	{ name = "debug", type = "boolean", env = "RUNNER_DEBUG", yields = true, rare = true, section = "Output",
		description = "Print on stderr what runner does" },
	{ name = "no_color", type = "boolean", yields = true, section = "Output", description = "No colours" },
	{ name = "help", type = "boolean", short = "h", section = "Help", description = "Describe the command" },
	{ name = "version", type = "boolean", short = "V", yields = true, section = "Help", description = "Print the version" },
	{ name = "plan", type = "boolean", yields = true, section = "Help",
		description = "Print the limits and delays; run nothing" },
	{ name = "instance_id", type = "string", env = "RUNNER_INSTANCE_ID", pattern = "alphanumeric_id", max_length = 64, rare = true,
		yields = true, section = "Settings", description = "Keep locks and runs apart from others" },
	{ name = "timeout", type = "duration", env = "RUNNER_TIMEOUT", default_key = "timeout_ms",
		section = "Limits", description = "Limit for all attempts and waits" },
	{ name = "attempt_timeout", type = "duration", env = "RUNNER_ATTEMPT_TIMEOUT", default_key = "attempt_timeout_ms",
		section = "Limits", description = "Limit for one attempt" },
	{ name = "idle_timeout", type = "duration", env = "RUNNER_IDLE_TIMEOUT", default_key = "idle_timeout_ms",
		section = "Limits", description = "Limit for silence: no output or progress" },
	{ name = "grace", type = "duration", env = "RUNNER_GRACE", default_key = "grace_ms",
		section = "Limits", description = "Time between TERM and KILL" },
	{ name = "retries", type = "integer", min = 0, max = host.bound "retries", env = "RUNNER_RETRIES", default_key = "retries",
		section = "Retries", description = "Retries allowed; 0 turns them off" },
	{ name = "retry_delay", type = "duration", env = "RUNNER_RETRY_DELAY", default_key = "delay_ms",
		section = "Retries", description = "Base delay between attempts" },
	{ name = "warnings_as_errors", type = "boolean", section = "Behaviour",
		description = "Warnings are a failure" },
	{ name = "yes", type = "boolean", section = "Behaviour", description = "Answer yes to every confirmation" },
	{ name = "non_interactive", type = "boolean", section = "Behaviour", description = "Never prompt" },
}

---The default, as text; nil: nothing.
---@param row runner.FlagRow
---@return string?
function M.default(row)
	local value = row.default_key and host.default(row.default_key)
	if value and row.type == "duration" then
		return value == 0 and "none" or host.duration_text(value)
	end
	return value and tostring(value) or nil
end

M.spelling = rules.spelling

---@type table<string, runner.FlagRow> by spelling, "attempt-timeout"
M.by_flag = {}
---@type table<string, runner.FlagRow>
M.by_short = {}

for _, row in ipairs(M.rows) do
	row.flag = M.spelling(row.name)
	M.by_flag[row.flag] = row
	if row.short then
		M.by_short[row.short] = row
	end
end

---The row of a table by spelling that `--spelling` sets, `--no-` forms included.
---@param by_flag table<string, table>
---@param spelling string "timeout", "no-quiet"
---@return table? row, boolean? negated
function M.find_in(by_flag, spelling)
	local row = by_flag[spelling]
	if row then
		return row
	end
	row = by_flag[spelling:match("^no%-(.+)$")]
	if row and row.type == "boolean" then
		return row, true
	end
end

---The row here that `--spelling` would set.
---@param spelling string
---@return runner.FlagRow? row, boolean? negated
function M.find(spelling)
	return M.find_in(M.by_flag, spelling)
end

return M
