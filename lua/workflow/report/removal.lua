-- removal: what the commands that remove runs answer. It reads nothing and changes nothing.

local host = require "runner.host"
local json = require "runner.json"
local reference = require "runner.core.reference"

local M = {}

local SHOWN = 1000 -- rows that an answer holds

---Why a run stays, by what holds it (lua/workflow/store/remove.lua).
M.REASONS = {
	running = "is running", placed = "has tasks on an executor",
	["in doubt"] = "has a step in doubt", failed = "has failed, and can be resumed",
	interrupted = "was interrupted, and can be resumed",
}

local function row_of(row)
	return { id = row.id, short = reference.short(row.id), workflow = row.workflow, state = row.state,
		created = host.rfc3339(row.created_ms), bytes_freed = row.bytes }
end

---@param rows table[] runs that went, or would go
---@return table data
function M.data(rows)
	local out, bytes = json.array {}, 0
	for i, row in ipairs(rows) do
		out[i] = i <= SHOWN and row_of(row) or nil
		bytes = bytes + (row.bytes or 0)
	end
	return { runs = out, total = #rows, bytes_freed = bytes, effect = rows[1] and "deleted" or "noop" }
end

---@param left {id: string, message: string}[] runs whose files could not all be removed
---@param warn fun(code: string, message: string, context: table)
function M.warn(left, warn)
	for _, row in ipairs(left) do
		warn("FILES_LEFT", ("Files of run %s could not be removed: %s. 'runner workflow prune' tries again"):format(row.id, row.message),
			{ run = row.id })
	end
end

return M
