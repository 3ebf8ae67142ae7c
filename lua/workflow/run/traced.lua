-- traced: a run's part in a trace, where the project wants one: its number for the programs that it
-- starts, and at its end its spans. Nothing of that changes how the run ends.

local export = require "runner.telemetry.export"
local host = require "runner.host"
local settings = require "runner.telemetry.settings"
local spans = require "runner.workflow.report.spans"

local M = {}

---Begin a segment: what the run starts from now on is in its trace.
---@param run table
---@param telemetry runner.Telemetry
function M.begin(run, telemetry)
	run.segment = spans.begin(run.id, run.db:find(run.id).resumes, settings.parent(), host.wall_ms(), telemetry.content)
	host.setenv("TRACEPARENT", spans.traceparent(run.segment))
end

local function collect(run)
	local usage, db = {}, run.db
	for _, row in ipairs(db:attempts_usage(run.id)) do
		usage[row.key .. "\0" .. row.number] = row
	end
	return spans.of(run.segment, db:find(run.id), db:steps(run.id, { brief = not run.segment.content }), db:attempts(run.id),
		function(key, number) return usage[key .. "\0" .. number] end, host.wall_ms())
end

---Export the spans of the segment; once.
---@param run table
---@param ctx runner.Context
---@param telemetry runner.Telemetry
function M.finish(run, ctx, telemetry)
	if run.segment.over then
		return
	end
	run.segment.over = true
	export.all(run.segment, telemetry, ctx, run.mask, function()
		return collect(run)
	end, "run " .. run.id)
end

return M
