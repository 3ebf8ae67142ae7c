-- runner workflow recover: resume, each in its project, the runs that a power cut, a crash or a shutdown has ended and
-- whose files declare `recover: true`. Each is a call of `workflow resume`: what that refuses is reported.

local calls = require "runner.calls.calls"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local resumed = require "runner.calls.resumed"
local rules = require "runner.core.rules"
local scope = require "runner.core.scope"
local store = require "runner.workflow.store.store"

-- Those that no process executes.
local function find(since_ms)
	local db <close> = store.open { readonly = true }
	local found = {}
	for _, row in ipairs(db:to_recover(since_ms, scope.is_closed() and scope.own() or nil, host.wall_ms())) do
		found[#found + 1] = not db:owner(row.id) and row or nil
	end
	return found
end

local function row_of(run, outcome)
	outcome.id, outcome.workflow, outcome.project = run.id, run.workflow, scope.label(run.project)
	return outcome
end

local function announce(run)
	host.send("LOG", { level = "info", event = "run.recovering", message = ("Run %s of %s is resumed"):format(run.id, run.workflow) })
end

local function say(row)
	local why = row.message and (": %s"):format(row.message) or ""
	host.send("LOG", { level = row.message and "warn" or "info", event = "run.recovered", message = ("Run %s of %s: %s%s")
		:format(row.id, row.workflow, row.outcome, why) })
end

local function resume_all(found, at_once)
	local requests, rows = {}, json.array {}
	for i, run in ipairs(found) do
		requests[i] = resumed.request(run, function() end, function() announce(run) end)
		requests[i].arguments.recover = true -- it may have ended in another way while it waits here
	end
	calls.all(requests, at_once, function(i, envelope)
		rows[i] = row_of(found[i], resumed.outcome(envelope))
		say(rows[i])
	end)
	return rows
end

local function conclude(rows)
	local failed = 0
	for _, row in ipairs(rows) do
		failed = failed + (row.outcome == "failed" and 1 or 0)
	end
	local data = { runs = rows, effect = rows[1] and "updated" or "noop" }
	if failed > 0 then
		errors.raise("PARTIAL_FAILURE", ("%d of %d runs could not be recovered"):format(failed, #rows),
			{ data = data, retryable = false, suggestion = "See data.runs: each has its own error" })
	end
	return data
end

return {
	timeout = "none",
	grace = "15s",
	dry_run = true,
	args = {
		{ "since", "duration", default = "30d", description = "Only runs that were under way within this time" },
		{ "parallel", "integer", default = 4, min = 1, max = 64, description = "How many go on at once" },
	},
	columns = { "id", "workflow", "project", "outcome", "code", "message" },
	rows = "runs",
	exit_codes = { PARTIAL_FAILURE = { retryable = false, side_effects = "partial", description = "Some runs failed, or need a person" } },
	examples = {
		{ description = "See which runs would be resumed", command = "runner workflow recover --dry-run" },
		{ description = "At each boot, as this user", command = "runner workflow unit" },
	},
	run = function(args, ctx)
		local found = find(host.wall_ms() - rules.milliseconds(args.since))
		if not ctx.dry_run then
			return conclude(resume_all(found, args.parallel))
		end
		local rows = json.array {}
		for i, run in ipairs(found) do
			rows[i] = row_of(run, { outcome = "would be resumed" })
		end
		return { runs = rows }
	end,
}
