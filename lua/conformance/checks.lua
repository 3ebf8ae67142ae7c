-- checks: the table of what is checked, and the outcomes that the probes fill in. A check
-- names the entries of the CLI Agent Spec that it proves, the failure modes that it finds,
-- and the level that needs it.

local json = require "runner.json"

local M = {}

---@class runner.ConformanceCheck
---@field id string
---@field title string
---@field level 1|2|3 the lowest level that needs it
---@field failure_modes string[]
---@field requirements string[]

---@type runner.ConformanceCheck[]
M.list = {
	{ id = "no_hang_stdin_closed", level = 1, title = "Ends by itself when stdin is empty",
		failure_modes = { "§10", "§11" }, requirements = { "REQ-F-009", "REQ-F-010" } },
	{ id = "no_hang_stdin_open", level = 1, title = "Ends by itself when stdin is open and silent",
		failure_modes = { "§50", "§10" }, requirements = { "REQ-F-009" } },
	{ id = "json_envelope", level = 1, title = "Off a terminal, stdout is exactly one valid envelope",
		failure_modes = { "§2", "§3", "§18" }, requirements = { "REQ-F-003", "REQ-F-004", "REQ-F-006", "REQ-C-013" } },
	{ id = "exit_code_contract", level = 1, title = "The exit code is in the table, and is meta.exit_code",
		failure_modes = { "§1" }, requirements = { "REQ-F-001" } },
	{ id = "stdout_no_ansi", level = 1, title = "Off a terminal, stdout has no terminal escape sequences",
		failure_modes = { "§8" }, requirements = { "REQ-F-007" } },
	{ id = "no_color_honored", level = 1, title = "NO_COLOR=1 removes colour from stdout and stderr",
		failure_modes = { "§8" }, requirements = { "REQ-F-008" } },
	{ id = "help_off_stdout", level = 1, title = "--help exits 0 and writes no prose to stdout",
		failure_modes = { "§3" }, requirements = { "REQ-F-048" } },
	{ id = "invalid_input_exit_2", level = 1, title = "Invalid input exits 2",
		failure_modes = { "§14", "§1" }, requirements = { "REQ-F-002" } },
	{ id = "dry_run_preview", level = 1, title = "A destructive command previews with its dry-run flag",
		failure_modes = { "§23" }, requirements = { "REQ-C-004" } },
	{ id = "destructive_refuses_unconfirmed", level = 2, title = "A destructive command exits 2 unless it is confirmed",
		failure_modes = { "§23", "§10" }, requirements = { "REQ-C-005", "REQ-O-021" } },
	{ id = "manifest_valid", level = 3, title = "The manifest is valid",
		failure_modes = { "§52", "§21" }, requirements = { "REQ-O-041" } },
	{ id = "argument_order", level = 3,
		title = "A global option means the same before and after the command; conflicting repeats exit 2",
		failure_modes = { "§69" }, requirements = { "REQ-F-067", "REQ-F-079" } },
	{ id = "stream_contract", level = 3,
		title = "A stream is JSON objects and ends with one line that agrees with the exit code",
		failure_modes = { "§5", "§76" }, requirements = { "REQ-O-004" } },
	{ id = "stream_sigint", level = 3, title = "SIGINT ends a stream with CANCELLED, data.partial and exit code 130",
		failure_modes = { "§16" }, requirements = { "REQ-O-004" } },
}

---@class runner.ConformanceOutcome
---@field check runner.ConformanceCheck
---@field runs integer runs that were looked at
---@field failures table[] runner.conformance.execute's evidence
---@field skipped_reason? string

---An empty outcome for every check, by id.
---@return table<string, runner.ConformanceOutcome>
function M.outcomes()
	local all = {}
	for _, check in ipairs(M.list) do
		all[check.id] = { check = check, runs = 0, failures = {} }
	end
	return all
end

local function status_of(outcome)
	if outcome.failures[1] then
		return "fail"
	end
	return outcome.runs == 0 and "skip" or "pass"
end

local function row_of(outcome)
	local check, status = outcome.check, status_of(outcome)
	return {
		id = check.id, title = check.title, status = status, level = check.level,
		failure_modes = check.failure_modes, requirements = check.requirements,
		runs_checked = outcome.runs, failures = json.array(outcome.failures),
		skipped_reason = status == "skip" and (outcome.skipped_reason or "the profile has no probe for it") or nil,
	}
end

-- A level passes when all its checks pass, those of the levels below included. A check
-- that was skipped proves nothing.
local function verdict(rows, level)
	local incomplete = false
	for _, row in ipairs(rows) do
		if row.level <= level and row.status == "fail" then
			return "fail"
		end
		incomplete = incomplete or row.level <= level and row.status == "skip"
	end
	return incomplete and "incomplete" or "pass"
end

---The outcomes as a ConformanceResult of the spec.
---@param tool string
---@param outcomes table<string, runner.ConformanceOutcome>
---@return table
function M.result(tool, outcomes)
	local rows, summary = {}, { pass = 0, fail = 0, skip = 0 }
	for i, check in ipairs(M.list) do
		rows[i] = row_of(outcomes[check.id])
		summary[rows[i].status] = summary[rows[i].status] + 1
	end
	return {
		schema_version = "1.0", tool = tool, checks = rows,
		levels = { level_1 = verdict(rows, 1), level_2 = verdict(rows, 2), level_3 = verdict(rows, 3) },
		summary = { passed = summary.pass, failed = summary.fail, skipped = summary.skip },
	}
end

return M
