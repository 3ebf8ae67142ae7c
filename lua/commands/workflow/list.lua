-- runner workflow list: the runs of this project, newest first.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local host = require "runner.host"
local json = require "runner.json"
local report = require "runner.workflow.report.report"
local scope = require "runner.core.scope"
local store = require "runner.workflow.store.store"

-- A run whose runner died is still stored as "running", and one that waits for a person as "interrupted".
local STORED = { interrupted = { "interrupted", "running" }, waiting = { "interrupted" } }

-- More than there can be; a list without a limit of its own reads them all.
local ALL = 1 << 40

local function by_age(rows)
	table.sort(rows, function(a, b)
		return a.created_ms > b.created_ms
	end)
	return rows
end

-- Those of a page and one more. What is stored doesn't tell running runs from interrupted
-- ones: then all are read, and those that stay decide.
local function find(db, args)
	local in_doubt = STORED[args.state] or args.state == "running"
	local found, project, most = {}, scope.of(args), in_doubt and ALL or attempt.enough or ALL
	for _, stored in ipairs(STORED[args.state] or { args.state or false }) do
		local rows = db:list { state = stored or nil, workflow = args.workflow, project = project, limit = most }
		for _, row in ipairs(rows) do
			row = report.settled(db, row)
			found[#found + 1] = (not args.state or row.state == args.state) and row or nil
		end
	end
	display.set { goes_on = #found >= most }
	return STORED[args.state] and by_age(found) or found
end

-- A person at a terminal gets what they would read and type; a caller that chooses fields gets those.
local function is_for_people()
	return attempt.format == "text" and attempt.launch.stdout_is_tty and not attempt.framework.fields
		and not attempt.framework.output
end

local function text_of(runs, short, created_ms)
	local run_text = require "runner.workflow.report.run_text"
	local rows = run_text.table(runs, short, created_ms, host.wall_ms())
	local lines = rows[1] and require("runner.output.tables").lines(rows, run_text.COLUMNS) or { "no runs" }
	return host.clean(table.concat(lines, "\n")) .. "\n"
end

return {
	list = true,
	default_limit = 50,
	output_schema = {
		type = "array",
		items = { type = "object", required = { "id", "workflow", "state", "created" } },
	},
	args = {
		{ "state", "enum", values = { "running", "waiting", "completed", "failed", "interrupted", "cancelled" },
			description = "Only runs in this state" },
		{ "workflow", "string", description = "Only runs of this workflow" },
		scope.argument(),
	},
	columns = { "id", "workflow", "state", "created", "duration_ms", "failed_step", "code", "short" },
	examples = { { description = "Runs that can be resumed", command = "runner workflow list --state failed" } },
	run = function(args)
		local db <close> = store.open { readonly = true }
		local rows, ids, created_ms = json.array {}, {}, {}
		for i, row in ipairs(find(db, args)) do
			rows[i], ids[i], created_ms[row.id] = report.summary(row, args.all), row.id, row.created_ms
		end
		if is_for_people() then
			local short = db:short_ids(ids)
			for _, row in ipairs(rows) do
				short[row.id] = row.short == row.id and row.id or short[row.id]
			end
			display.set { text = function(shown)
				return text_of(shown, short, created_ms)
			end }
		end
		return rows
	end,
}
