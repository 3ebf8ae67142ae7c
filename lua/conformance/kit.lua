-- kit: runs the probes of a profile against a tool and judges each run by the checks of the
-- CLI Agent Spec that a machine can decide. No judgement is made by anything but these
-- lines: the same tool and profile give the same result.

local documents = require "runner.conformance.documents"
local execute = require "runner.conformance.execute"
local json = require "runner.json"
local json_schema = require "runner.core.json_schema"

local M = {}

-- A global option means the same wherever it stands, two of its values in
-- one call are an error, and an option of the command takes effect after a positional too.

local CHECK = "argument_order"

local joined = execute.joined

-- Where an option with its value may stand; the last is the reference.
local function placements(order, value)
	local option, path, rest = { order.global_flag, value }, order.command_path, order.local_args
	return {
		{ where = "before the command", argv = joined(option, path, rest) },
		{ where = "after the command", argv = joined(path, option, rest) },
		{ where = "at the end", argv = joined(path, rest, option) },
	}
end

local function not_zero(kit, run)
	return kit:unended(run) or run.exit_code ~= 0 and ("it exited with %d"):format(run.exit_code) or nil
end

-- The runs of one value, by place; nil when one of them failed.
local function runs_of(kit, order, value)
	local runs = {}
	for i, place in ipairs(placements(order, value)) do
		local run = kit:run(("%s %s %s"):format(order.global_flag, value, place.where), place.argv)
		local problem = not_zero(kit, run)
		if problem then
			kit:judge(CHECK, run, problem)
			return nil
		end
		runs[i] = run
	end
	return runs
end

local function same_data(a, b)
	local left, right = documents.envelope(a.stdout), documents.envelope(b.stdout)
	if not left or not right then
		return left == right and a.stdout == b.stdout -- another format: the bytes
	end
	return json_schema.equal(left.data, right.data)
end

local function judge_places(kit, order)
	local given = runs_of(kit, order, order.value)
	local other = given and runs_of(kit, order, order.alternate_value)
	if not other then
		return false
	end
	for i, run in ipairs(given) do
		local _, problem = documents.envelope(run.stdout)
		kit:judge(CHECK, run, problem
			or not same_data(run, given[#given]) and "its data differs from that of the option at the end" or nil)
		kit:judge(CHECK, other[i], other[i].stdout == run.stdout
			and ("%s prints the same as %s: the option was ignored"):format(order.alternate_value, order.value)
			or not same_data(other[i], other[#other]) and "its output differs from that of the option at the end" or nil)
	end
	return true
end

local function judge_conflict(kit, order)
	local flag = order.global_flag
	local run = kit:run(flag .. " given twice", joined({ flag, order.value }, order.command_path, order.local_args,
		{ flag, order.alternate_value }))
	kit:judge(CHECK, run, kit:unended(run)
		or run.exit_code ~= 2 and ("two values of %s exited with %d, not 2"):format(flag, run.exit_code) or nil)
end

local function judge_positional(kit, order)
	local path, positional, option = order.command_path, { order.positional }, order.local_args
	local after = kit:run("option after the positional", joined(path, positional, option))
	local before = kit:run("option before the positional", joined(path, option, positional))
	local without = kit:run("no option", joined(path, positional))
	for _, run in ipairs { after, before, without } do
		local problem = not_zero(kit, run)
		if problem then
			return kit:judge(CHECK, run, problem)
		end
	end
	return kit:judge(CHECK, after, not same_data(after, before) and "the option means something else before the positional"
		or same_data(after, without) and "the option after the positional had no effect" or nil)
end

---Run the variants of a profile's `argument_order`.
---@param kit runner.ConformanceKit
function M.check_order(kit)
	local order = kit.profile.argument_order
	if not order then
		kit.outcomes[CHECK].skipped_reason = "the profile has no argument_order"
		return
	end
	if judge_places(kit, order) then
		judge_conflict(kit, order)
		if order.positional then
			judge_positional(kit, order)
		end
	end
end

-- The table of what is checked, and the outcomes that the probes fill in. A check
-- names the entries of the CLI Agent Spec that it proves, the failure modes that it finds,
-- and the level that needs it.

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

---@class runner.ConformanceKit
---@field ctx table
---@field profile runner.ConformanceProfile
---@field outcomes table<string, runner.ConformanceOutcome>
local Kit = {}
Kit.__index = Kit

local SHOWN_PROBLEMS = 3
local ESCAPE = "\27%[[0-9;?]*%a"

-- Codes a tool may exit with: the table and INCOMPLETE, its own range, and the two signals.
local function is_allowed(code)
	return code <= 14 or code >= 79 and code <= 125 or code == 130 or code == 143
end

---@param id string of a check
---@param run runner.ConformanceRun
---@param problem string? nil: the run passes
---@return boolean passed
function Kit:judge(id, run, problem)
	local outcome = self.outcomes[id]
	outcome.runs = outcome.runs + 1
	if problem then
		outcome.failures[#outcome.failures + 1] = execute.evidence(run, problem)
	end
	return not problem
end

local function argv_of(self, arguments)
	return execute.joined(self.profile.command, arguments)
end

---@param label string
---@param arguments string[]
---@param env? table<string, string>
---@return runner.ConformanceRun
function Kit:run(label, arguments, env)
	return execute.closed(self.ctx, label, argv_of(self, arguments), self.profile.timeout_seconds, env)
end

---Why a run did not end by itself; nil: it did.
---@param run runner.ConformanceRun
---@return string?
function Kit:unended(run)
	if run.timed_out then
		return ("still running after %g s, and killed"):format(self.profile.timeout_seconds)
	elseif not run.exit_code then
		return "killed by a signal, or not started"
	end
end

local function exit_problem(run, document)
	if not is_allowed(run.exit_code) then
		return ("exit code %d is none of 0–14, 79–125, 130 and 143"):format(run.exit_code)
	elseif document and document.meta.exit_code ~= run.exit_code then
		return ("meta.exit_code is %s, the process exited with %d"):format(tostring(document.meta.exit_code), run.exit_code)
	end
end

-- What holds for every run off a terminal that ended by itself.
local function judge_envelope(self, run)
	local document, problem = documents.envelope(run.stdout)
	self:judge("json_envelope", run, problem)
	self:judge("exit_code_contract", run, exit_problem(run, document))
	self:judge("stdout_no_ansi", run, run.stdout:find(ESCAPE) and "stdout has terminal escape sequences" or nil)
	return document
end

local function judge_no_color(self, probe)
	local run = self:run(probe.name .. " with NO_COLOR=1", probe.argv, { NO_COLOR = "1" })
	self:judge("no_color_honored", run, self:unended(run)
		or (run.stdout:find(ESCAPE) or run.stderr:find(ESCAPE)) and "it writes terminal escape sequences" or nil)
end

local function judge_destructive(self, probe, plain)
	self:judge("destructive_refuses_unconfirmed", plain, plain.exit_code ~= 2
		and ("without confirmation it exited with %d; 2 says that nothing was done"):format(plain.exit_code) or nil)
	local flag = probe.dry_run_flag
	local preview = self:run(("%s %s"):format(probe.name, flag), execute.joined(probe.argv, { flag }))
	local problem = self:unended(preview)
	if not problem then
		local document = judge_envelope(self, preview)
		problem = preview.exit_code ~= 0 and ("the preview exited with %d"):format(preview.exit_code)
			or not document and "the preview printed no valid envelope" or nil
	end
	self:judge("dry_run_preview", preview, problem)
end

local function check_probe(self, probe)
	local plain = self:run(probe.name, probe.argv)
	if not self:judge("no_hang_stdin_closed", plain, self:unended(plain)) then
		return
	end
	local open = execute.open(self.ctx, probe.name, argv_of(self, probe.argv), self.profile.timeout_seconds)
	self:judge("no_hang_stdin_open", open, self:unended(open))
	judge_envelope(self, plain)
	judge_no_color(self, probe)
	if probe.kind == "invalid" then
		self:judge("invalid_input_exit_2", plain, plain.exit_code ~= 2
			and ("invalid input exited with %d"):format(plain.exit_code) or nil)
	elseif probe.kind == "destructive" then
		judge_destructive(self, probe, plain)
	end
end

local function check_help(self)
	local run = self:run("--help", { "--help" })
	local problem = self:unended(run)
	if not problem and run.exit_code ~= 0 then
		problem = ("--help exited with %d"):format(run.exit_code)
	elseif not problem and run.stdout:find "%S" and not documents.envelope(run.stdout) then
		problem = "--help wrote prose to stdout; it belongs to stderr"
	end
	self:judge("help_off_stdout", run, problem)
end

local function manifest_problem(run)
	local document, problem = documents.envelope(run.stdout)
	if not document then
		return problem
	end
	local wrong = documents.problems("manifest-response", document.data, SHOWN_PROBLEMS)
	return wrong and "data is no valid manifest: " .. wrong
end

local function check_manifest(self)
	if not self.profile.manifest then
		self.outcomes.manifest_valid.skipped_reason = "the profile names no manifest command"
		return
	end
	local run = self:run("manifest", self.profile.manifest)
	self:judge("manifest_valid", run, self:unended(run) or manifest_problem(run))
end

-- --- streams -----------------------------------------------------------------------------

local function ending_problem(run, reading, seconds)
	if run.timed_out then
		return ("still running after %g s and %d lines, and killed"):format(seconds, #run.lines)
	elseif not reading.terminal then
		return ('it ended after %d lines without the line that ends a stream ("_summary": true, or an error envelope)')
			:format(#run.lines)
	elseif reading.terminal._summary == true then
		return run.exit_code ~= 0 and ("its summary line was followed by exit code %s"):format(tostring(run.exit_code)) or nil
	elseif reading.valid and reading.terminal.meta.exit_code ~= run.exit_code then
		return ("its error line says exit_code %d, the process exited with %s"):format(reading.terminal.meta.exit_code,
			tostring(run.exit_code))
	end
end

local function sigint_problem(probe, run, reading)
	local last = reading.terminal
	if not run.signalled_after then
		return ("only %d of %d lines came: it was not interrupted"):format(#run.lines, probe.after_lines)
	elseif run.timed_out then
		return "still running after SIGINT, and killed"
	elseif run.exit_code ~= 130 then
		return ("SIGINT ended in exit code %s, not 130"):format(tostring(run.exit_code))
	elseif not last or last._summary == true or not reading.valid then
		return "SIGINT did not end in an error envelope"
	elseif last.error.code ~= "CANCELLED" then
		return ("SIGINT ended in %s, not CANCELLED"):format(last.error.code)
	elseif type(last.data) ~= "table" or last.data.partial ~= true then
		return "data.partial is not true after SIGINT"
	end
end

local function check_stream(self, probe)
	local seconds = probe.deadline_seconds or self.profile.timeout_seconds
	local run = execute.stream(self.ctx, probe.name, argv_of(self, probe.argv), seconds, probe.after_lines)
	local reading = documents.stream(run.lines)
	local problems = table.move(reading.problems, 1, SHOWN_PROBLEMS, 1, {})
	problems[#problems + 1] = ending_problem(run, reading, seconds)
	self:judge("stream_contract", run, problems[1] and table.concat(problems, "; ") or nil)
	if probe.after_lines then
		self:judge("stream_sigint", run, sigint_problem(probe, run, reading))
	end
end

---Run all probes of a profile.
---@param ctx table of the command
---@param profile runner.ConformanceProfile
---@return table result a ConformanceResult
function M.check(ctx, profile)
	local kit = setmetatable({ ctx = ctx, profile = profile, outcomes = M.outcomes() }, Kit)
	for _, probe in ipairs(profile.probes) do
		ctx:log("probe " .. probe.name)
		local run = probe.kind == "stream" and check_stream or check_probe
		run(kit, probe)
	end
	check_help(kit)
	check_manifest(kit)
	M.check_order(kit)
	return M.result(profile.tool, kit.outcomes)
end

return M
