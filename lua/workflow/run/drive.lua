-- drive: what `workflow run` and `workflow resume` share: they open the store, execute
-- the run, and fill in the envelope.

local engine = require "runner.workflow.run.engine"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local report = require "runner.workflow.report.report"
local attempt = require "runner.core.attempt"
local store = require "runner.workflow.store.store"
local report_text = require "runner.workflow.report.report_text"

local M = {}

-- The failed step's retries go into the error, the whole run into its data. The way to
-- retry is resume: the identical call would start another run.
local function explain(run, raised)
	local e = errors.normalise(raised)
	local data, retry = report.of_failure(run)
	e.data = data
	e.retryable, e.side_effects = false, e.side_effects or "partial"
	e.context = e.context or {}
	e.context.run = run.id
	if retry then
		e.context.attempts, e.context.total_duration = retry.attempts, retry.total_duration
		e.context.error_history = retry.error_history
	end
	e.suggestion = e.suggestion or "runner workflow resume " .. run.id
	return e
end

---@param ctx runner.Context
---@param what "started"|"resumed"
---@param open fun(db: table): table the run, owned
---@return table data
function M.run(ctx, what, open)
	local db = store.open {}
	ctx:defer(function()
		db:close()
	end)
	local run = open(db)
	events.run(run, what)
	local ok, raised = pcall(engine.execute, run, ctx)
	if not ok then
		error(explain(run, raised), 0)
	end
	local data = report.full(db, run.id)
	attempt.texts.text = report_text.text(data)
	return data
end

return M
