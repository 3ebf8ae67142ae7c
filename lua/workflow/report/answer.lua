-- answer: the arguments with which a command that shows a run chooses steps, and what it
-- answers: data, text, and in meta where the next page is.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local paging = require "runner.workflow.report.paging"
local report = require "runner.workflow.report.report"
local report_text = require "runner.workflow.report.report_text"

local M = {}

---For the args of a declaration.
M.arguments = {
	{ "steps", "enum", values = { "failed", "all" },
		description = "Which steps to show; default: all, but of long loops only the items that failed" },
	{ "limit", "integer", min = 0, max = 1000000, description = "At most this many steps; default 200, 0: as many as an answer holds" },
}
---The first columns of a table, which has a row for each step.
M.columns = { "key", "kind", "state", "attempts", "code", "label", "message" }
M.cursor = { "cursor", "string", description = "Where to go on: meta.pagination.next_cursor of the page before" }

---Problems of the argument `cursor`, for a command's validate.
---@param args table
---@param attempts? boolean the command shows attempts, not steps
---@return table[]?
function M.problems(args, attempts)
	local choice = args.cursor and paging.cursor(args.cursor, attempts)
	if args.cursor and (not choice or args.steps and args.steps ~= choice) then
		return { { field = "cursor", code = "INVALID_CURSOR", value = args.cursor,
			message = choice and ("The cursor belongs to --steps %s"):format(choice) or "This is no cursor of this command",
			suggestion = "Leave --cursor out to start with the first page" } }
	end
end

---Tell where the next page is, in meta. Only where something was chosen or is left out: most
---runs are shown whole.
---@param page? table as paging.page gives it
---@param opts runner.workflow.PageOptions
function M.send(page, opts)
	if page and (page.has_more or opts.cursor or opts.steps or opts.limit) then
		host.send("META", { name = "pagination", data = json.encode(page) }, true)
	end
end

---A run as the data of a command; sets its text where that is asked for.
---@param db table the open store
---@param id string
---@param opts runner.workflow.PageOptions
---@return table data
function M.of(db, id, opts)
	local data, page = report.full(db, id, opts)
	M.send(page, opts)
	if attempt.format == "text" then
		attempt.texts.text = report_text.text(data)
	end
	return data
end

---The same for a run that has failed.
---@param run table
---@param opts runner.workflow.PageOptions
---@return table data, table? retry of the failed step
function M.of_failure(run, opts)
	local data, retry, page = report.of_failure(run, opts)
	M.send(page, opts)
	return data, retry
end

---The same for a run that has completed: if it can't be read now, it has completed all the same.
---@param run table
---@param opts runner.workflow.PageOptions
---@return table data
function M.of_success(run, opts)
	local ok, data = pcall(M.of, run.db, run.id, opts)
	if ok then
		return data
	elseif type(data) == "userdata" then
		error(data, 0) -- a cancellation
	end
	attempt.warn("REPORT_FAILED", ("Run %s has completed, but its steps can't be shown: %s"):format(run.id,
		require("runner.core.errors").normalise(data).message), { run = run.id })
	return { id = run.id, workflow = run.workflow.name, state = "completed" }
end

return M
