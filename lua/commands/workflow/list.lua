-- runner workflow list: the runs in the store, newest first.

local json = require "runner.json"
local report = require "runner.workflow.report.report"
local store = require "runner.workflow.store.store"

-- A run whose runner died is still stored as "running".
local STORED = { interrupted = { "interrupted", "running" } }

local function newest_first(rows, most)
	table.sort(rows, function(a, b)
		return a.created_ms > b.created_ms
	end)
	return table.move(rows, 1, math.min(#rows, most), 1, {})
end

local function find(db, args)
	local found = {}
	for _, stored in ipairs(STORED[args.state] or { args.state or false }) do
		local rows = db:list { state = stored or nil, workflow = args.workflow, limit = args.limit }
		for _, row in ipairs(rows) do
			row = report.settled(db, row)
			found[#found + 1] = (not args.state or row.state == args.state) and row or nil
		end
	end
	return STORED[args.state] and newest_first(found, args.limit) or found
end

return {
	description = "List workflow runs",
	danger_level = "safe",
	args = {
		{ "state", "enum", values = { "running", "completed", "failed", "interrupted", "cancelled" },
			description = "Only runs in this state" },
		{ "workflow", "string", description = "Only runs of this workflow" },
		{ "limit", "integer", min = 1, max = 10000, default = 50, description = "At most this many" },
	},
	columns = { "id", "workflow", "state", "created", "duration_ms", "failed_step", "code" },
	examples = { { description = "Runs that can be resumed", command = "runner workflow list --state failed" } },
	run = function(args)
		local db <close> = store.open { readonly = true }
		local rows = json.array {}
		for i, row in ipairs(find(db, args)) do
			rows[i] = report.summary(row)
		end
		return rows
	end,
}
