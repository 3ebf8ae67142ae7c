-- run_rows: the steps of a run, and its attempts with all that they printed, as data, a page at a time: the
-- chosen ones, as many as an answer has room for. However many there are, and whatever they printed, an
-- answer stays small. It reads the store and the logs, and changes nothing.

local amounts = require "runner.core.amounts"
local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"
local paths = require "runner.core.paths"

local M = {}

---Bytes of all rows of an answer, as JSON; an answer has one row whatever its length.
local ANSWER = 8 << 20

local LIMIT = 200 -- rows
local BATCH = 20
local CHOICES = { a = "all", f = "failed", o = "outline" }

---@class runner.workflow.PageOptions
---@field steps? "failed"|"all" default: all; where there are more than `limit`, without those in loops that ended well
---@field limit? integer rows; default 200, 0: as many as an answer holds
---@field cursor? string
---@field full? boolean whole outputs and data

---@alias runner.workflow.Choice "all"|"failed"|"outline" of steps; outline: not those in loops that ended well

---@class runner.workflow.PageSource
---@field attempts? true its rows are attempts, and a page may end between two of a step
---@field rows fun(choice: runner.workflow.Choice, after: runner.workflow.PagePlace, limit: integer): table[] in order,
---  each with its `position`, and `number`
---@field make fun(row: table): table, integer as the answer has it, and its length as JSON
---@field count fun(choice: "all"|"failed"): integer

---@class runner.workflow.PagePlace the row after which a page starts
---@field position integer of its step
---@field number integer of its attempt

-- --- cursors ---------------------------------------------------------------------------------

local function written(source, choice, place)
	local text = ("%s%x"):format(choice:sub(1, 1), place.position)
	return source.attempts and ("%s.%x"):format(text, place.number) or text
end

---Read a cursor: nil where it is none of such rows.
---@param text string
---@param attempts? boolean
---@return runner.workflow.Choice? choice, runner.workflow.PagePlace? after
function M.cursor(text, attempts)
	local letter, position, dot, number = text:match "^([afo])(%x+)(%.?)(%x*)$"
	if letter and #position <= 12 and #number <= 12 and (dot == ".") == (attempts or false) and (number ~= "") == (dot == ".") then
		return CHOICES[letter], { position = tonumber(position, 16), number = tonumber(number, 16) or 0 }
	end
end

-- After the outline come all rows from the first one.
local function next_cursor(source, choice, after)
	return source.rows(choice, after, 1)[1] and written(source, choice, after)
		or choice == "outline" and written(source, "all", { position = 0, number = 0 }) or nil
end

-- --- a page ------------------------------------------------------------------------------------

-- How many rows there were; nil: the answer has no room for more.
local function add(page, source, choice, limit)
	local batch = source.rows(choice, page.after, limit)
	for _, stored in ipairs(batch) do
		local row, length = source.make(stored)
		if page.bytes + length > ANSWER and page.rows[1] then
			return nil
		end
		page.rows[#page.rows + 1], page.bytes = row, page.bytes + length
		page.after = { position = stored.position, number = stored.number }
	end
	return #batch
end

---A page of rows, and what meta.pagination says of it.
---@param source runner.workflow.PageSource
---@param opts runner.workflow.PageOptions
---@param total integer steps of the run: many are shown in outline
---@return table[] rows, {total: integer, returned: integer, truncated: boolean, has_more: boolean, next_cursor: string}
function M.page(source, opts, total)
	local most = opts.limit == 0 and math.maxinteger or opts.limit or LIMIT
	local choice, after = M.cursor(opts.cursor or "", source.attempts)
	choice = choice or opts.steps or total > most and "outline" or "all"
	local page = { rows = json.array {}, bytes = 0, after = after or { position = 0, number = 0 } }
	repeat
		local limit = math.min(BATCH, most - #page.rows)
	until limit <= 0 or add(page, source, choice, limit) ~= limit
	if choice == "outline" and not (after or page.rows[1]) then
		return M.page(source, { steps = "all", limit = opts.limit }, total)
	end
	local cursor = next_cursor(source, choice, page.after)
	return page.rows, { total = source.count(choice == "failed" and choice or "all"), returned = #page.rows,
		truncated = cursor ~= nil, has_more = cursor ~= nil, next_cursor = cursor or json.null }
end

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
	local rows, log_paths = json.array {}, json.array {}
	for _, a in ipairs(attempts) do
		log_paths[#log_paths + 1] = a.log
		if a.code then
			rows[#rows + 1] = { attempt_number = a.number, error = a.message, code = a.code,
				timestamp = time(a.ended_ms or a.started_ms), delay_before_next = a.delay_ms and a.delay_ms / 1000 or nil,
				usage_limit = a.limit_ms and true or nil,
				log = a.log }
		end
	end
	return rows, log_paths
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
---@return table retry, string[] log_paths
function M.retry(attempts)
	local history, log_paths = history_of(attempts)
	return { attempts = #attempts, total_duration = total_duration(attempts), error_history = history }, log_paths
end

-- --- a step -------------------------------------------------------------------------------

local function dollars(micros)
	return micros > 0 and amounts.dollars(micros) or nil
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

-- What a block has as data is where it was (lua/workflow/run/block.lua).
local function repairs_of(step)
	return step.kind == "steps" and type(step.data) == "table" and step.data.rounds.repair or nil
end

local function worktree_of(step)
	local tree = step.kind == "steps" and type(step.data) == "table" and step.data.worktree
	return tree and not tree.over and { branch = tree.branch, path = tree.path, base = tree.base } or nil
end

local function step_row(step, attempts, usage)
	local retry, log_paths = M.retry(attempts)
	local is_block = step.kind == "steps"
	return {
		key = step.key, item = step.item, id = step.id, kind = step.kind, label = step.label, state = step.state, status = step.status,
		code = step.code, message = step.message, output = step.output, data = not is_block and step.data or nil, repairs = repairs_of(step),
		started = time(step.started_ms), ended = time(step.ended_ms), duration_ms = duration_of(step),
		wake = step.state == "waiting" and time(step.wake_ms) or nil,
		attempts = #attempts, retry = #retry.error_history > 0 and retry or nil, logs = #log_paths > 0 and log_paths or nil,
		usage = usage, used = step.held and step.held.used, worktree = worktree_of(step),
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
function M.steps(db, id, opts)
	local most, row_max = opts.full and ALL or OUTPUT, opts.full and ANSWER or ROW
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
	local rows, pagination = M.page(source, opts, total)
	return { rows = rows, steps_by_state = by_state, steps_total = total, cost_usd = dollars(db:charged(id)),
		pagination = pagination }
end

local HEAD = 4096 -- bytes that are left of a stream which alone is too long for an answer
local STREAMS = { "stdout", "stderr" }

local function text_of(record, stream)
	local text = record and record[stream]
	return type(text) == "string" and text or nil
end

local function row_of(id, stored)
	local record = logs.of(id, stored)
	return {
		step = stored.key, attempt = stored.number, log = stored.log, status = stored.status, signal = stored.signal,
		code = stored.code, message = stored.message, missing = not record or nil,
		partial = record and record.partial == true or nil,
		stdout = text_of(record, "stdout"), stderr = text_of(record, "stderr"),
	}
end

---An attempt as an answer has it, and its length as JSON. Of streams that make it longer than
---`most` only the beginning is left, with stdout_bytes and stderr_bytes.
---@param id string of the run
---@param stored table row of store:attempts
---@param most integer bytes
---@return table row, integer length
function M.attempt(id, stored, most)
	local row = row_of(id, stored)
	local length = #(json.encode(row) or "")
	if length <= most then
		return row, length
	end
	for _, stream in ipairs(STREAMS) do
		local text = row[stream] or ""
		row[stream], row[stream .. "_bytes"] = host.clean(text:sub(1, HEAD)), #text
	end
	return row, #(json.encode(row) or "")
end

---Attempts of a run, or of one of its steps.
---@param db table the open store
---@param id string of the run
---@param opts runner.workflow.PageOptions with `step` and `attempt`, which choose among them
---@return table[] rows, table pagination as M.page gives it
function M.attempts(db, id, opts)
	local source = {
		attempts = true,
		make = function(stored)
			return M.attempt(id, stored, ANSWER)
		end,
		rows = function(choice, after, limit)
			return db:attempt_page(id, { choice = choice, step = opts.step, attempt = opts.attempt, after = after, limit = limit })
		end,
		count = function(choice)
			return db:count_attempts(id, { choice = choice, step = opts.step, attempt = opts.attempt })
		end,
	}
	local _, steps = db:step_counts(id)
	return M.page(source, opts, opts.step and 0 or steps)
end

return M
