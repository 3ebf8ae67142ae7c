-- concurrency: one run at a time of those with the same key, over all projects and processes of a user. The commit in which a run
-- starts gives it a turn. Ahead of it is a run with the same key that has an earlier turn, is running, and has a live owner: the
-- lock that ends with its process and the last of its steps. So nothing has to be released, and nothing goes stale.

local cancellation = require "runner.workflow.run.cancellation"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local owner = require "runner.state.owner"
local subjects = require "runner.core.scope"
local variables = require "runner.workflow.expr.variables"
local waiting = require "runner.core.waiting"

local M = {}

local LONGEST = 200 -- bytes of a key
local SURE_MS = 50 -- who removes the lock of a dead owner holds it for an instant

---What the file says, for this run. Raises PRECONDITION where the key is empty or long.
---@param workflow runner.workflow.Workflow
---@param scope runner.workflow.Scope
---@param mask fun(v: any): any
---@return {key: string, when_taken: string}?
function M.of(workflow, scope, mask)
	local given = workflow.concurrency
	local key = given and mask(variables.expand(given.key, scope))
	if given and (not key:find "%S" or #key > LONGEST) then
		errors.raise("PRECONDITION", ("The key of concurrency is %s: '%s'"):format(key:find "%S" and "longer than 200 bytes" or "empty",
			key:sub(1, LONGEST)), { side_effects = "none", fix_required = "Give its variables values that name what the runs have in common" })
	end
	return given and { key = key, when_taken = given.when_taken }
end

-- The run before this one; any_turn: this one has none yet. So who waits for the one before it is cancelled before its turn comes.
local function ahead(db, run, any_turn)
	for _, row in ipairs(db:ahead(run.concurrency.key, run.id, any_turn)) do
		if db:owner(row.id) and not db:wait(row.id, SURE_MS) then
			return row
		end
	end
end

local function is_own(row)
	return subjects.is_subject(row.subject)
end

-- Nothing is said of a run of another subject but that there is one.
local function raise_taken(run, row)
	local own = is_own(row)
	errors.raise("GROUP_TAKEN", ("%s holds '%s'"):format(own and ("Run %s of %s"):format(row.id, row.workflow) or "A run of another subject",
		run.concurrency.key), { retryable = true, side_effects = "none", suggestion = own and "runner workflow wait " .. row.id or nil,
		context = { holder = own and row.id or nil, key = run.concurrency.key } })
end

-- A step of a run that starts a run with the same key would wait for itself, or cancel itself.
local function raise_own(run, row)
	errors.raise("CONFLICT", ("Run %s holds '%s', and this call is made by one of its steps"):format(row.id, run.concurrency.key), {
		retryable = false, side_effects = "none", fix_required = "Give one of the two workflows another concurrency.key",
		context = { holder = row.id, key = run.concurrency.key } })
end

---What the commit has to check that starts the run: nothing of it is done where this raises.
---@param db runner.workflow.Store
---@param run table with `concurrency`
---@return fun()?
function M.guard(db, run)
	return run.concurrency and function()
		local row = ahead(db, run, true)
		if row and owner.is_above(db:owner(row.id)) then
			raise_own(run, row)
		elseif row and run.concurrency.when_taken == "refuse" then
			raise_taken(run, row)
		elseif row and run.concurrency.when_taken == "cancel" and not is_own(row) then
			raise_taken(run, row)
		end
	end or nil
end

---Wait until no run is ahead of this one, or end those that are.
---@param run table that has its turn
---@param ctx runner.Context
function M.wait(run, ctx)
	local row, told = ahead(run.db, run), nil
	while row do
		if run.concurrency.when_taken == "cancel" and is_own(row) then
			events.taking(run, row, "cancels")
			cancellation.run(ctx, run.db, row.id)
		else
			if told ~= row.id then
				events.taking(run, row, "waits for")
			end
			told = row.id
			run.db:wait(row.id, waiting.FOREVER)
		end
		row = ahead(run.db, run)
	end
end

return M
