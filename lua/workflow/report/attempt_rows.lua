-- attempt_rows: the attempts of a run with all that they printed, as data, a page at a time.
-- It reads the store and the logs, and changes nothing.

local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"
local paging = require "runner.workflow.report.paging"

local M = {}

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
function M.row(id, stored, most)
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
---@return table[] rows, table pagination as paging.page gives it
function M.page(db, id, opts)
	local source = {
		attempts = true,
		make = function(stored)
			return M.row(id, stored, paging.ANSWER)
		end,
		rows = function(choice, after, limit)
			return db:attempt_page(id, { choice = choice, step = opts.step, attempt = opts.attempt, after = after, limit = limit })
		end,
		count = function(choice)
			return db:count_attempts(id, { choice = choice, step = opts.step, attempt = opts.attempt })
		end,
	}
	local _, steps = db:step_counts(id)
	return paging.page(source, opts, opts.step and 0 or steps)
end

return M
