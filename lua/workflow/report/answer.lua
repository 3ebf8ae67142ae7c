-- answer: what a command that shows a run answers: data, text, and in meta where the next page is; and
-- one that removes runs. And what the commands about runs declare alike.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local reference = require "runner.core.reference"
local tables = require "runner.core.tables"
local host = require "runner.host"
local json = require "runner.json"
local report = require "runner.workflow.report.report"
local run_rows = require "runner.workflow.report.run_rows"
local run_text = require "runner.workflow.report.run_text"

local M = {}

local WARNINGS = 50 -- steps that are warned of

---Problems of the argument `cursor`, for a command's validate.
---@param args table
---@param attempts? boolean the command shows attempts, not steps
---@return table[]?
function M.problems(args, attempts)
	local choice = args.cursor and run_rows.cursor(args.cursor, attempts)
	if args.cursor and (not choice or args.steps and args.steps ~= choice) then
		return { { field = "cursor", code = "INVALID_CURSOR", value = args.cursor,
			message = choice and ("The cursor belongs to --steps %s"):format(choice) or "This is no cursor of this command",
			suggestion = "Leave --cursor out to start with the first page" } }
	end
end

---Tell where the next page is, in meta. Only where something was chosen or is left out: most
---runs are shown whole.
---@param page? table as run_rows.page gives it
---@param opts runner.workflow.PageOptions
function M.send(page, opts)
	if page and (page.has_more or opts.cursor or opts.steps or opts.limit) then
		host.send("META", { name = "pagination", data = json.encode(page, { envelope = true }) }, true)
	end
end

-- Several items of a loop with a warning of one step.
local function warn_together(row)
	local context = row.context
	context.step, context.failed, context.total = row.place, row.count, nil
	context.first = { step = row.key, code = (context.first or {}).code, message = row.message }
	attempt.warn(row.code, ("Step %s: %d times, first: %s"):format(row.place, row.count, row.message), context)
end

-- What is stored to be warned of, but for steps that this process has warned of itself.
local function warn(db, id, warned)
	local rows = db:warnings(id, WARNINGS)
	for _, row in ipairs(rows) do
		if row.count > 1 then
			warn_together(row)
		elseif not (warned and warned[row.key]) then
			attempt.warn(row.code, row.message, row.context)
		end
	end
	local left = rows[1] and rows[1].places - #rows or 0
	if left > 0 then
		attempt.warn("WARNINGS_DROPPED", ("There are more than %d steps with warnings"):format(WARNINGS), { run = id, dropped = left })
	end
end

---A run as the data of a command; sets its text where that is asked for. Says what it warns of.
---@param db table the open store
---@param id string
---@param opts runner.workflow.PageOptions
---@param warned? table<string, true> keys of steps whose warnings have been said
---@return table data
function M.of(db, id, opts, warned)
	local data, page = report.full(db, id, opts)
	M.send(page, opts)
	warn(db, id, warned)
	if attempt.format == "text" then
		display.set { text = run_text.of_run(data) }
	end
	return data
end

---What a run failed of: which step it was first of all, where the message doesn't say.
---@param message string
---@param key? string of the step
---@return string
function M.headline(message, key)
	if key and not message:lower():find("step " .. key:lower(), 1, true) then
		return ("Step %s: %s"):format(key, message)
	end
	return message
end

---The same for a run that has failed.
---@param run table
---@param opts runner.workflow.PageOptions
---@return table data, table? retry of the failed step
function M.of_failure(run, opts)
	local data, retry, page = report.of_failure(run, opts)
	M.send(page, opts)
	pcall(warn, run.db, run.id, run.warned) -- where it can't be read, the failure is told all the same
	return data, retry
end

---The same for a run that has completed: if it can't be read now, it has completed all the same.
---@param run table
---@param opts runner.workflow.PageOptions
---@return table data
function M.of_success(run, opts)
	local ok, data = pcall(M.of, run.db, run.id, opts, run.warned)
	if ok then
		return data
	elseif type(data) == "userdata" then
		error(data, 0) -- a cancellation
	end
	attempt.warn("REPORT_FAILED", ("Run %s has completed, but its steps can't be shown: %s"):format(run.id,
		require("runner.core.errors").normalise(data).message), { run = run.id })
	display.set { rows = false }
	return { id = run.id, workflow = run.workflow.name, state = "completed" }
end

-- --- runs that were removed ------------------------------------------------------------------------

local REMOVED = 1000 -- rows that an answer holds

---Why a run stays, by what holds it (lua/workflow/store/remove.lua).
M.KEPT = {
	running = "is running", placed = "has tasks on an executor", worktrees = "has worktrees",
	["in doubt"] = "has a step in doubt", failed = "has failed, and can be resumed",
	interrupted = "was interrupted, and can be resumed",
}

local function removed_row(row)
	return { id = row.id, short = reference.short(row.id), workflow = row.workflow, state = row.state,
		created = host.rfc3339(row.created_ms), bytes_freed = row.bytes }
end

---@param rows table[] runs that went, or would go
---@return table data
function M.removed(rows)
	local out, bytes = json.array {}, 0
	for i, row in ipairs(rows) do
		out[i] = i <= REMOVED and removed_row(row) or nil
		bytes = bytes + (row.bytes or 0)
	end
	return { runs = out, total = #rows, bytes_freed = bytes, effect = rows[1] and "deleted" or "noop" }
end

---@param left {id: string, message: string}[] runs whose files could not all be removed
---@param say fun(code: string, message: string, context: table)
function M.warn_left(left, say)
	for _, row in ipairs(left) do
		say("FILES_LEFT", ("Files of run %s could not be removed: %s. 'runner workflow prune' tries again"):format(row.id, row.message),
			{ run = row.id })
	end
end

-- What the commands about runs declare alike: the argument that names a run, those that choose
-- its steps, the columns of a table of steps, and the exit codes beyond those of every command.

-- --- arguments ---------------------------------------------------------------------------------------

---For the args of a declaration, as those that follow.
M.run = { "id", "string", positional = true, required = true, pattern = reference.PATTERN,
	description = "Run: its ID, the beginning or end of it, @last, or a workflow for its newest run",
	suggestion = "Give a run ID or @last; 'runner workflow list' shows the runs" }

M.steps = { "steps", "enum", values = { "failed", "all" },
	description = "Which steps to show; default: all, but of long loops only the items that failed" }
M.limit = { "limit", "integer", min = 0, max = 1000000,
	description = "At most this many steps; default 200, 0: as many as an answer holds" }
M.cursor = { "cursor", "string", description = "Where to go on: meta.pagination.next_cursor of the page before" }
M.html = { "html", "path", description = "Write a page for a browser to this file instead" }

---The first columns of a table, which has a row for each step.
M.columns = { "key", "kind", "state", "attempts", "code", "label", "message" }

-- --- exit codes ----------------------------------------------------------------------------------------

---Of commands that take the ID of a run.
M.id_codes = { NOT_FOUND = { description = "No run with this ID" }, CONFLICT = { description = "Ambiguous ID: several runs match" } }

-- The identical call would start another run.
local function final(description, code)
	return { code = code, retryable = false, side_effects = "partial", description = description }
end

---How a run may fail: with the code of the failed step, or with a step in doubt.
---@param more? table<string, table> further codes
---@return table<string, table>
function M.run_codes(more)
	local out = {
		TIMEOUT = final "A time limit was reached",
		RATE_LIMITED = final "A step failed: too many requests",
		UNAVAILABLE = final "A step failed: a service or the network was unavailable",
		AUTH_REQUIRED = final "A step failed: its credentials were rejected",
		PAYMENT_REQUIRED = final "A step failed: payment is required",
		STEP_IN_DOUBT = final("A step was running when its runner died, and it is not known whether it finished", 81),
		BUDGET_EXHAUSTED = final("The budget of a step or of the run is used up", 82),
		GROUP_TAKEN = { code = 86, retryable = true, side_effects = "none",
			description = "Another run with the same key of concurrency is running, and when_taken is refuse" },
		CHECK_FAILED = final("The check of a step failed, after all its repairs", 84),
		APPROVAL_PENDING = final "A step waits for a person: runner approve",
		APPROVAL_REJECTED = final "A person has refused what a step asked, or no person agreed in time",
		MERGE_CONFLICT = final("The branch of a worktree conflicts with the branch that it is to be merged into", 85),
	}
	return tables.add(out, more)
end

return M
