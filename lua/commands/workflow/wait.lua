-- runner workflow wait ID: wait until a run ends, and answer as it did.

local answer = require "runner.workflow.report.answer"
local errors = require "runner.core.errors"
local host = require "runner.host"
local waiting = require "runner.core.waiting"
local report = require "runner.workflow.report.report"
local store = require "runner.workflow.store.store"

-- The row of the run once it is over; nil: the time is. Who resumes it meanwhile is waited for too.
local function ended(db, id, limit_ms)
	local give_up = limit_ms and host.now() + limit_ms or math.huge
	repeat
		local left = math.max(math.floor(math.min(give_up - host.now(), waiting.FOREVER)), 0)
		local row = db:wait(id, left) and report.settled(db, db:list { id = id }[1] or db:find(id)) -- it may be removed
		if row and row.state ~= "running" then
			return row
		end
	until host.now() >= give_up
end

local function incomplete(id, data, limit_ms)
	local again = ("runner workflow wait %s --for %s"):format(id, host.duration_text(limit_ms))
	data.continue_command = again
	return errors.new("INCOMPLETE", ("Run %s is still running"):format(id),
		{ retryable = true, side_effects = "none", data = data, suggestion = again, context = { run = id } })
end

local STOPPED = { interrupted = "was interrupted", cancelled = "was cancelled" }

-- As the run itself has answered, but that this call was not cancelled.
local function failure(id, data)
	local stopped = data.code ~= "STEP_IN_DOUBT" and STOPPED[data.state]
	local message = data.message and answer.headline(data.message, data.failed_step) or ("Run %s has failed"):format(id)
	return errors.new(stopped and "RUN_STOPPED" or data.code or "GENERAL_ERROR", stopped and ("Run %s %s"):format(id, stopped) or message,
		{ retryable = false, side_effects = "partial", data = data, context = { run = id, step_key = data.failed_step },
			suggestion = data.state == "waiting" and "runner approvals"
				or "runner workflow resume " .. id .. (data.state == "cancelled" and " --force" or "") })
end

return {
	timeout = "none",
	args = { answer.run, waiting.argument, answer.steps, answer.limit },
	columns = answer.columns,
	exit_codes = answer.run_codes {
		NOT_FOUND = answer.id_codes.NOT_FOUND, CONFLICT = answer.id_codes.CONFLICT,
		INCOMPLETE = { retryable = true, side_effects = "none", description = "It is still running" },
		RUN_STOPPED = { code = 83, retryable = false, side_effects = "partial", description = "The run was interrupted or cancelled" },
	},
	rows = "steps",
	examples = { { description = "Ten minutes at most", command = "runner workflow wait @last --for 10m" } },
	run = function(args)
		local db <close> = store.open { readonly = true }
		local id, limit_ms = db:resolve(args.id), waiting.limit(args)
		local row = ended(db, id, limit_ms)
		local data = answer.of(db, id, args)
		if not row then
			error(incomplete(id, data, limit_ms), 0)
		elseif data.state ~= "completed" then
			error(failure(id, data), 0)
		end
		return data
	end,
}
