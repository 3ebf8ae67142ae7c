-- step_rows: the steps of a run as data, a page at a time: however many there are, and
-- whatever they printed, an answer stays small. It reads the store and changes nothing.

local host = require "runner.host"
local json = require "runner.json"
local money = require "runner.core.money"
local paging = require "runner.workflow.report.paging"
local paths = require "runner.core.paths"

local M = {}

local OUTPUT = 4096 -- bytes of a step's output that an answer carries
local DATA = 256 << 10 -- of its data, as JSON
local ROW = 512 << 10 -- of all of it, as JSON
local HISTORY, MESSAGE = 20, 1000 -- what a row keeps that is too long: failures, and bytes of a message
local ALL = 1 << 30 -- substr() of SQLite takes no more

local function time(ms)
	return ms and host.rfc3339(ms) or nil
end

-- --- retries (seed 004: RetryMetadata, RetryAttempt) ----------------------------------------------

local function history_of(attempts)
	local rows, logs = json.array {}, json.array {}
	for _, a in ipairs(attempts) do
		logs[#logs + 1] = a.log
		if a.code then
			rows[#rows + 1] = { attempt_number = a.number, error = a.message, code = a.code,
				timestamp = time(a.ended_ms or a.started_ms), delay_before_next = a.delay_ms and a.delay_ms / 1000 or nil,
				usage_limit = a.limit_ms and true or nil,
				log = a.log }
		end
	end
	return rows, logs
end

-- Attempts and the waits between them, in seconds, without a wait still going on.
local function total_duration(attempts)
	local ms = 0
	for i, a in ipairs(attempts) do
		local waited = attempts[i + 1] and a.delay_ms or 0
		ms = ms + math.max((a.ended_ms or a.started_ms) - a.started_ms, 0) + waited
	end
	return ms / 1000
end

---What became of the attempts of a step.
---@param attempts table[] rows of the store
---@return table retry, string[] logs
function M.retry(attempts)
	local history, logs = history_of(attempts)
	return { attempts = #attempts, total_duration = total_duration(attempts), error_history = history }, logs
end

-- --- a step -------------------------------------------------------------------------------

local function dollars(micros)
	return micros > 0 and money.dollars(micros) or nil
end

-- What the attempts of a step used, from a row of store:usage.
local function usage_of(row)
	return row and { session_id = row.session_id, model = row.model, turns = row.turns, input_tokens = row.input_tokens,
		output_tokens = row.output_tokens, cache_read_tokens = row.cache_read_tokens,
		cache_write_tokens = row.cache_write_tokens, cost_usd = dollars(row.charged_micros) }
end

-- The clock may be set back.
local function duration_of(step)
	return step.ended_ms and step.started_ms and math.max(step.ended_ms - step.started_ms, 0) or nil
end

local function step_row(step, attempts, usage)
	local retry, logs = M.retry(attempts)
	return {
		key = step.key, id = step.id, kind = step.kind, label = step.label, state = step.state, status = step.status,
		code = step.code, message = step.message, output = step.output, data = step.data,
		started = time(step.started_ms), ended = time(step.ended_ms), duration_ms = duration_of(step),
		wake = step.state == "waiting" and time(step.wake_ms) or nil,
		attempts = #attempts, retry = #retry.error_history > 0 and retry or nil, logs = #logs > 0 and logs or nil,
		usage = usage,
	}
end

-- An output longer than `most` bytes is cut; output_bytes has its length, output_path the
-- file that it is in, output_missing how much of it was not kept.
local function cut_output(row, run_id, most, step)
	local stored = step.held and step.held.output or {}
	local bytes = stored.bytes or step.output_bytes or 0
	if bytes > most or stored.bytes then
		row.output = row.output and host.clean(row.output:sub(1, most)) or nil
		row.output_bytes, row.output_missing = bytes, stored.cut
		row.output_path = stored.file and paths.absolute(stored.file, paths.outputs(run_id))
	end
end

-- Of what is too long for an answer: how long it is.
local function shrink(row)
	local size = row.data ~= nil and #(json.encode(row.data) or "")
	row.data, row.data_bytes = nil, row.data_bytes or size or nil
	row.output = row.output and host.clean(row.output:sub(1, OUTPUT))
	row.message = row.message and host.clean(row.message:sub(1, MESSAGE))
	local history = row.retry and row.retry.error_history or {}
	if row.retry then
		row.retry.error_history = json.array(table.move(history, math.max(#history - HISTORY + 1, 1), #history, 1, {}))
		for _, failure in ipairs(row.retry.error_history) do
			failure.error = failure.error and host.clean(failure.error:sub(1, MESSAGE))
		end
	end
	row.logs = row.logs and json.array(table.move(row.logs, math.max(#row.logs - HISTORY + 1, 1), #row.logs, 1, {}))
end

-- A row and its length as JSON.
local function sized(row, most)
	local length = #(json.encode(row) or "")
	if length > most then
		shrink(row)
		length = #(json.encode(row) or "")
	end
	return row, length
end

-- --- a page ---------------------------------------------------------------------------------

---Steps of a run.
---@param db table the open store
---@param id string of the run
---@param opts runner.workflow.PageOptions
---@return {rows: table[], steps_total: integer, steps_by_state: table<string, integer>, cost_usd: number?, pagination: table}
function M.page(db, id, opts)
	local most, row_max = opts.full and ALL or OUTPUT, opts.full and paging.ANSWER or ROW
	local source = {
		rows = function(choice, after, limit)
			return db:step_page(id, { choice = choice, after = after.position, limit = limit, output = most + 1,
				data = opts.full and ALL or DATA })
		end,
		make = function(step)
			local row = step_row(step, db:attempts(id, step.key), usage_of(db:usage(id, step.key)))
			row.data_bytes = step.data == nil and (step.held and step.held.data and step.held.data.bytes or step.data_bytes) or nil
			cut_output(row, id, most, step)
			return sized(row, row_max)
		end,
		count = function(choice)
			return db:count_steps(id, choice)
		end,
	}
	local by_state, total = db:step_counts(id)
	local rows, pagination = paging.page(source, opts, total)
	return { rows = rows, steps_by_state = by_state, steps_total = total, cost_usd = dollars(db:charged(id)),
		pagination = pagination }
end

return M
