-- emit: ctx:emit, a row of a command that streams. What becomes of it is for lua/output/rows.lua.

local attempt = require "runner.core.attempt"
local json = require "runner.json"

local M = {}

local function misused(...)
	require("runner.ctx.misuse").raise("ctx:emit", ...)
end

-- Who reads the stream tells rows from its other lines by these.
local function check(row)
	if type(row) ~= "table" or json.is_array(row) and next(row) ~= nil then
		misused(("a row is a table of named fields, not %s"):format(type(row) == "table" and "a list" or type(row)),
			"Write ctx:emit{ name = value, … }, once for each row")
	elseif row._summary ~= nil or row._seq ~= nil or row.heartbeat == true or row.ok ~= nil and row.error ~= nil then
		misused("_summary, _seq, heartbeat = true, and ok beside error belong to the lines that are not rows",
			"Give the field another name")
	elseif attempt.command.rows_may_repeat and row.attempt ~= nil then
		misused("`attempt` is set by runner in every row, since rows_may_repeat is declared", "Give the field another name")
	end
end

---Pass on a row at once: a line of `--format jsonl` and of the table on a terminal; for any
---other format it is kept for `data.items`. Waits while the reader doesn't read.
---@param _ runner.Context
---@param row table named fields
function M.emit(_, row)
	if not attempt.rows then
		misused("the command doesn't say that it streams", "Declare streams = true")
	end
	check(row)
	local problem = attempt.rows.add(row)
	if problem then
		misused(problem)
	end
end

return M
