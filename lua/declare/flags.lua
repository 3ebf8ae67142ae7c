-- flags: the framework's own flags, one row each: parsing, checks, help and the
-- reference follow from here. Loaded in every worker. A command can't declare
-- an argument whose flag or short name stands here.

local M = {}

---@class runner.FlagRow
---@field name string as in `args.parse(…).framework`; the flag is `--` and the name with `-` for `_`
---@field type string
---@field short? string
---@field env? string variable that stands in when the flag is not given
---@field values? string[]
---@field min? number
---@field max? number
---@field default? any what holds without flag, variable, command and runner.lua
---@field section string heading in help
---@field description string

---@type runner.FlagRow[]
M.rows = {
	{ name = "format", type = "enum", values = { "json", "jsonl", "tsv", "plain", "table" }, env = "RUNNER_FORMAT",
		section = "Output", description = "Form of the result; json when stdout is no terminal" },
	{ name = "output", type = "path", section = "Output", description = "Write the result to this file" },
	{ name = "quiet", type = "boolean", section = "Output", description = "No notices on stderr" },
	{ name = "verbose", type = "boolean", section = "Output", description = "More notices on stderr" },
	{ name = "no_color", type = "boolean", section = "Output", description = "No colours" },
	{ name = "help", type = "boolean", short = "h", section = "Help", description = "Describe the command" },
	{ name = "version", type = "boolean", short = "V", section = "Help", description = "Print the version" },
	{ name = "plan", type = "boolean", section = "Help",
		description = "Print every effective limit and delay, run nothing" },
	{ name = "timeout", type = "duration", env = "RUNNER_TIMEOUT", default = "30s",
		section = "Limits", description = "Bounds everything: all attempts and waits" },
	{ name = "attempt_timeout", type = "duration", env = "RUNNER_ATTEMPT_TIMEOUT", default = "none",
		section = "Limits", description = "Bounds one attempt" },
	{ name = "idle_timeout", type = "duration", env = "RUNNER_IDLE_TIMEOUT", default = "none",
		section = "Limits", description = "Bounds silence" },
	{ name = "grace", type = "duration", env = "RUNNER_GRACE", default = "2s",
		section = "Limits", description = "Time to clean up, from TERM to KILL" },
	{ name = "retries", type = "integer", min = 0, max = 1000, env = "RUNNER_RETRIES", default = 0,
		section = "Retries", description = "Repetitions allowed; 0 switches every retry off" },
	{ name = "retry_delay", type = "duration", env = "RUNNER_RETRY_DELAY", default = "1s",
		section = "Retries", description = "Base wait between attempts" },
	{ name = "warnings_as_errors", type = "boolean", section = "Behaviour",
		description = "Fail when there are warnings" },
	{ name = "yes", type = "boolean", section = "Behaviour", description = "Answer every confirmation with yes" },
	{ name = "non_interactive", type = "boolean", section = "Behaviour", description = "Never ask" },
}

---How a name is written on the command line, without the dashes in front.
---@param name string
---@return string
function M.spelling(name)
	return (name:gsub("_", "-"))
end

---@type table<string, runner.FlagRow> by spelling ("attempt-timeout") and by name
M.by_name = {}
---@type table<string, runner.FlagRow>
M.by_short = {}

for _, row in ipairs(M.rows) do
	row.flag = M.spelling(row.name)
	M.by_name[row.name] = row
	M.by_name[row.flag] = row
	if row.short then
		M.by_short[row.short] = row
	end
end

---The framework's row that `--spelling` would set, `--no-` forms included.
---@param spelling string "timeout", "no-quiet"
---@return runner.FlagRow? row, boolean? negated
function M.find(spelling)
	local row = M.by_name[spelling]
	if row and row.flag == spelling then
		return row
	end
	row = M.by_name[spelling:match("^no%-(.+)$")]
	if row and row.type == "boolean" then
		return row, true
	end
end

return M
