-- kit: runs the probes of a profile against a tool and judges each run by the checks of the
-- CLI Agent Spec that a machine can decide. No judgement is made by anything but these
-- lines: the same tool and profile give the same result.

local checks = require "runner.conformance.checks"
local documents = require "runner.conformance.documents"
local execute = require "runner.conformance.execute"
local order = require "runner.conformance.argument_order"

local M = {}

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
	local kit = setmetatable({ ctx = ctx, profile = profile, outcomes = checks.outcomes() }, Kit)
	for _, probe in ipairs(profile.probes) do
		ctx:log("probe " .. probe.name)
		local run = probe.kind == "stream" and check_stream or check_probe
		run(kit, probe)
	end
	check_help(kit)
	check_manifest(kit)
	order.check(kit)
	return checks.result(profile.tool, kit.outcomes)
end

return M
