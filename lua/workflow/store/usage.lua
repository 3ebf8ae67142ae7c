-- usage: what attempts of claude steps used, in the run database: session, model, turns,
-- tokens and cost. It is written with the start and the end of the attempt; the queries are
-- methods of the store. It decides nothing about budgets.
--
-- Money is in whole micro-dollars. What an attempt is charged is its cost; where that is
-- not known (it runs, was killed, or reported none) its whole reservation.

local reference = require "runner.core.reference"

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
---@field prices? table<string, table> by model, as its result shows them

local COLUMNS = { "session_id", "model", "turns", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
	"reserved_micros", "cost_micros" }

local NAMES = table.concat(COLUMNS, ", ")
local PUT = ("INSERT OR REPLACE INTO usage (run, key, number, %s) VALUES (?, ?, ?%s)"):format(NAMES, (", ?"):rep(#COLUMNS))

---SQL: what a row of `usage` named u is charged.
M.CHARGED = "coalesce(u.cost_micros, u.reserved_micros, 0)"

local PRICE = [[
	INSERT INTO prices (run, model, input, output, cache_read, cache_write, turn) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET input = min(input, excluded.input), output = min(output, excluded.output),
		cache_read = min(cache_read, excluded.cache_read), cache_write = min(cache_write, excluded.cache_write),
		turn = max(turn, excluded.turn)]]
local PRICES = "SELECT model, input, output, cache_read, cache_write, turn FROM prices WHERE run = ?"

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
	local prices = usage.prices or {}
	return function(db, number)
		db:run(PUT, id, key, number, table.unpack(values, 1, values.n))
		for model, p in pairs(prices) do
			db:run(PRICE, id, model, p.input, p.output, p.cache_read, p.cache_write, p.turn)
		end
	end
end

local CHARGE = "UPDATE usage SET cost_micros = ? WHERE run = ? AND key = ? AND number = ? AND cost_micros IS NULL"

---What stores what an attempt is charged that an earlier process began, where that was not known.
---@param id string of the run
---@param rows {key: string, number: integer, micros: integer}[]
---@return fun(db: runner.workflow.Database)
function M.charge(id, rows)
	return function(db)
		for _, row in ipairs(rows) do
			db:run(CHARGE, row.micros, id, row.key, row.number)
		end
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

---What its results showed that tokens cost, by model.
---@param id string
---@return table<string, runner.workflow.Prices>
function M.queries:prices(id)
	local out = {}
	for _, row in ipairs(self:_open():rows(PRICES, id)) do
		out[row.model] = row
	end
	return out
end

local UNCHARGED = [[
	SELECT key, number, u.reserved_micros FROM usage u JOIN attempts a USING (run, key, number)
	WHERE u.run = ? AND u.cost_micros IS NULL AND u.reserved_micros IS NOT NULL AND a.status IS NULL AND a.signal IS NULL]]

---The attempts of a run that have a reservation and no cost, and that no process saw end.
---@param id string
---@return {key: string, number: integer, reserved_micros: integer}[]
function M.queries:uncharged(id)
	return self:_open():rows(UNCHARGED, id)
end

local INSIDE = "run = ?1 AND key <> ?3 AND substr(key, 1, length(?2) + 1) = ?2 || '.' AND (?4 = '' OR instr(key, ?4 || '@') > 0)"
local USED_INSIDE = ("SELECT (SELECT coalesce(sum(%s), 0) FROM usage u WHERE %s) AS micros,"):format(M.CHARGED, INSIDE)
	.. (" (SELECT coalesce(sum(spent_ms), 0) FROM steps WHERE %s) AS ms"):format(INSIDE)

---What the steps inside another one were charged, and how long they have taken, together.
---@param id string of the run
---@param key string of the step that holds them
---@param but string a key that isn't counted
---@return {micros: integer, ms: integer}
function M.queries:used_inside(id, key, but)
	local base, rounds = reference.split(key)
	return self:_open():row(USED_INSIDE, id, base, but, rounds)
end

local COSTS = "SELECT key, sum(" .. M.CHARGED .. [[) AS micros FROM usage u JOIN attempts a USING (run, key, number)
	WHERE run = ? AND (a.ended_ms IS NOT NULL OR a.code IS NOT NULL) GROUP BY key HAVING micros > 0]]

---What the attempts of a run that are over were charged, by step; what those that run have reserved isn't there.
---@param id string
---@return table<string, integer> micros by key
---@return integer sum
function M.queries:costs(id)
	local costs, sum = {}, 0
	for _, row in ipairs(self:_open():rows(COSTS, id)) do
		costs[row.key], sum = row.micros, sum + row.micros
	end
	return costs, sum
end

---What the steps of a run were charged together.
---@param id string
---@return integer micros
function M.queries:charged(id)
	return self:_open():row(CHARGED, id).micros
end

return M
