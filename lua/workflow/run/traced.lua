-- traced: a run's part in a trace, where the project wants one: its number for the programs that it
-- starts, and at its end its spans. Nothing of that changes how the run ends.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local export = require "runner.telemetry.export"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
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

-- The file of the project, in a directory that there is.
local function file_of(telemetry)
	local path = telemetry.file and paths.absolute(telemetry.file, attempt.project.root or host.getcwd() or ".")
	if path then
		fs.mkdirs(path:match "^(.*)/" or ".")
	end
	return path
end

local function export_all(run, ctx, telemetry)
	local exporter = run.segment.sampled and settings.exporter(telemetry, attempt.launch.version)
	if not exporter then
		return nil
	end
	return export.send(collect(run), exporter, { file = file_of(telemetry), version = attempt.launch.version,
		post = function(spec) return ctx:http(spec) end })
end

-- What became of it; a failure is a line on stderr and no warning, which a caller may take for one.
local function tell(run, done)
	host.send("META", { name = "telemetry", data = json.encode({ trace_id = run.segment.trace_id, spans = done.spans,
		problem = done.problem and run.mask(done.problem) }, { envelope = true }) }, true)
	if done.problem then
		host.send("LOG", { level = "warn", event = "telemetry.failed",
			message = run.mask(("The trace of run %s was not exported: %s"):format(run.id, done.problem)):sub(1, 8000) })
	end
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
	local ok, done = pcall(export_all, run, ctx, telemetry)
	if not ok and type(done) == "userdata" then
		error(done, 0) -- a cancellation
	elseif not ok then
		done = { spans = 0, problem = errors.normalise(done).message }
	end
	tell(run, done or { spans = 0 })
end

return M
