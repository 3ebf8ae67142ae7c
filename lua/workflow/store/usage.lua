-- usage: what attempts of claude steps used, in the run database: session, model, turns,
-- tokens and cost. It is written with the start and the end of the attempt; the queries are
-- methods of the store. It decides nothing about budgets.
--
-- Money is in whole micro-dollars. What an attempt is charged is its cost; where that is
-- not known (it runs, was killed, or reported none) its whole reservation.

local M = { queries = {} }

---@class runner.workflow.Usage
---@field session_id? string
---@field model? string
---@field turns? integer
---@field input_tokens? integer
---@field output_tokens? integer
---@field cache_read_tokens? integer
---@field cache_write_tokens? integer
---@field reserved_micros? integer
---@field cost_micros? integer

local COLUMNS = { "session_id", "model", "turns", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
	"reserved_micros", "cost_micros" }

local NAMES = table.concat(COLUMNS, ", ")
local PUT = ("INSERT OR REPLACE INTO usage (run, key, number, %s) VALUES (?, ?, ?%s)"):format(NAMES, (", ?"):rep(#COLUMNS))

---SQL: what a row of `usage` named u is charged.
M.CHARGED = "coalesce(u.cost_micros, u.reserved_micros, 0)"

local function nothing() end

---What stores what is known of an attempt, in place of what was; for the transaction that
---starts or ends it.
---@param id string of the run
---@param key string of the step
---@param usage? runner.workflow.Usage read at once; nil: nothing is known
---@return fun(db: runner.workflow.Database, number: integer) write number: of the attempt
function M.write(id, key, usage)
	if not usage then
		return nothing
	end
	local values = { n = #COLUMNS }
	for i, name in ipairs(COLUMNS) do
		values[i] = usage[name]
	end
	return function(db, number)
		db:run(PUT, id, key, number, table.unpack(values, 1, values.n))
	end
end

-- Beside max(), SQLite takes plain columns from the row that has the maximum.
local OF_STEP = [[
	SELECT key, max(number) AS number, session_id, model, sum(turns) AS turns, sum(input_tokens) AS input_tokens,
		sum(output_tokens) AS output_tokens, sum(cache_read_tokens) AS cache_read_tokens,
		sum(cache_write_tokens) AS cache_write_tokens, sum(]] .. M.CHARGED .. [[) AS charged_micros
	FROM usage u WHERE run = ? AND key = ? GROUP BY key]]
local CHARGED = "SELECT coalesce(sum(" .. M.CHARGED .. "), 0) AS micros FROM usage u WHERE run = ?"

---What a step used: sums over all attempts, session and model of the latest one.
---@param id string of the run
---@param key string
---@return {key: string, charged_micros: integer}? and the other fields of runner.workflow.Usage; nil: nothing is known
function M.queries:usage(id, key)
	return self:_open():row(OF_STEP, id, key)
end

local OF_ATTEMPTS = [[
	SELECT key, number, session_id, model, input_tokens, output_tokens, cost_micros FROM usage WHERE run = ?]]

---What each claude attempt of a run used.
---@param id string
---@return table[]
function M.queries:attempts_usage(id)
	return self:_open():rows(OF_ATTEMPTS, id)
end

---What the steps of a run were charged together.
---@param id string
---@return integer micros
function M.queries:charged(id)
	return self:_open():row(CHARGED, id).micros
end

return M
