-- queries: reads from the run database. Every function is a method of the store
-- (`db:list{…}`); none writes.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local json = require "runner.json"

local M = {}

local LIST_MAX = 50
local ROWS_MAX = 100 -- of each list in the statistics
local SHOWN_IDS = 5
local SUGGEST_FROM = 4 -- characters: a shorter id resembles too many

local function decoded(rows)
	for _, row in ipairs(rows) do
		codec.decode(row)
	end
	return rows
end

-- --- one run -----------------------------------------------------------------------------

-- char(1114111) ends the range of a prefix: no UTF-8 sorts after it.
local MATCHING = [[
	SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2]]

local RUN = [[
	SELECT runs.*, sources.source FROM runs LEFT JOIN sources ON sources.id = runs.source_id WHERE runs.id = ?]]

---Raise that the run is unknown.
---@param id string
---@param near? string the one probably meant
function M.raise_unknown(id, near)
	errors.raise("NOT_FOUND", ("No run '%s'"):format(id),
		{ suggestion = near and ("Did you mean '%s'?"):format(near) or "runner workflow list", context = { run = id } })
end

local RECENT = "SELECT id FROM runs ORDER BY id DESC LIMIT 200"

-- Of the newest runs, the one whose prefix is nearest; run_ may be missing.
local function nearest(database, id)
	local wanted, prefixes, ids = id:lower():gsub("^run_", ""), {}, {}
	for i, row in ipairs(#wanted >= SUGGEST_FROM and database:rows(RECENT) or {}) do
		prefixes[i] = row.id:lower():gsub("^run_", ""):sub(1, #wanted)
		ids[prefixes[i]] = ids[prefixes[i]] or row.id
	end
	return ids[require("runner.core.suggest").nearest(wanted, prefixes, 1)[1]]
end

local function raise_ambiguous(prefix, found)
	local ids = {}
	for i, row in ipairs(found) do
		ids[i] = i <= SHOWN_IDS and row.id or "…"
	end
	errors.raise("CONFLICT", ("Ambiguous ID '%s': several runs match: %s"):format(prefix, table.concat(ids, ", ")),
		{ suggestion = "Give more of the ID; 'runner workflow list' shows them", context = { prefix = prefix, runs = ids } })
end

local function full_id(database, id)
	local found = id ~= "" and database:rows(MATCHING, id, SHOWN_IDS + 1) or {}
	if #found == 0 then
		M.raise_unknown(id, nearest(database, id))
	elseif #found > 1 and found[1].id ~= id then
		raise_ambiguous(id, found)
	end
	return found[1].id
end

---A run by its id or a prefix that only it has; raises NOT_FOUND or CONFLICT.
---@param id string
---@return table run
function M:find(id)
	local database = self:_open()
	local run = codec.decode(database:row(RUN, full_id(database, id)))
	run.source_id = nil
	return run
end

local STEP = [[position, key, id, kind, label, state, round, attempts, spent_ms, wake_ms, wait_ms,
	status, code, message, started_ms, ended_ms]]
local STEPS = "SELECT " .. STEP .. ", data, output FROM steps WHERE run = ? ORDER BY position"
local STEPS_BRIEF = "SELECT " .. STEP .. " FROM steps WHERE run = ? ORDER BY position"

---The steps of a run that have started, in that order.
---@param id string
---@param opts? {brief?: boolean} brief: without output and data
---@return table[]
function M:steps(id, opts)
	return decoded(self:_open():rows(opts and opts.brief and STEPS_BRIEF or STEPS, id))
end

local ATTEMPTS = [[
	SELECT key, number, round, nth, started_ms, ended_ms, status, signal, code, message, delay_ms, log
	FROM attempts WHERE run = ?1 AND (?2 IS NULL OR key = ?2) ORDER BY rowid]]

---The attempts of a run, or of one of its steps, oldest first.
---@param id string
---@param key? string
---@return table[]
function M:attempts(id, key)
	return self:_open():rows(ATTEMPTS, id, key)
end

-- --- many runs -----------------------------------------------------------------------------

local LIST = [[
	SELECT id, workflow, file, state, retryable, code, message, failed_step, owner, resumes, request_id,
		created_ms, updated_ms, ended_ms,
		(SELECT count(*) FROM steps WHERE run = runs.id) AS steps,
		(SELECT count(*) FROM steps WHERE run = runs.id AND state IN ('completed', 'skipped')) AS steps_completed,
		(SELECT count(*) FROM steps WHERE run = runs.id AND state = 'failed') AS steps_failed,
		(SELECT count(*) FROM attempts WHERE run = runs.id) AS attempts
	FROM runs %s ORDER BY created_ms DESC, rowid DESC LIMIT ?]]

---Runs, newest first, with the counts `steps` (started ones), `steps_completed`
---(skipped ones included), `steps_failed` and `attempts`.
---@param opts? {id?: string, state?: string, workflow?: string, limit?: integer} limit: default 50
---@return table[]
function M:list(opts)
	opts = opts or {}
	local where, values = {}, {}
	for _, name in ipairs { "id", "state", "workflow" } do
		if opts[name] then
			where[#where + 1] = name .. " = ?"
			values[#values + 1] = opts[name]
		end
	end
	values[#values + 1] = opts.limit or LIST_MAX
	local condition = where[1] and "WHERE " .. table.concat(where, " AND ") or ""
	return decoded(self:_open():rows(LIST:format(condition), table.unpack(values)))
end

-- --- statistics ------------------------------------------------------------------------------

local CHOSEN = "(?1 IS NULL OR r.workflow = ?1) AND (?2 IS NULL OR r.created_ms >= ?2)"

local BY_STATE = "SELECT r.state, count(*) AS runs FROM runs r WHERE " .. CHOSEN .. " GROUP BY r.state"

local FIGURES = [[count(*) AS attempts, coalesce(sum(a.nth > 1), 0) AS retries,
	coalesce(sum(a.delay_ms), 0) AS wait_ms]]

local TOTALS = "SELECT " .. FIGURES .. " FROM runs r JOIN attempts a ON a.run = r.id WHERE " .. CHOSEN

local BY_CODE = "SELECT a.code, count(DISTINCT a.run) AS runs, " .. FIGURES .. [[
	FROM runs r JOIN attempts a ON a.run = r.id
	WHERE a.code IS NOT NULL AND ]] .. CHOSEN .. [[
	GROUP BY a.code ORDER BY attempts DESC, a.code LIMIT ?3]]

local BY_STEP = "SELECT r.workflow, a.key, " .. FIGURES .. [[, count(a.code) AS failures,
		CAST(avg(a.ended_ms - a.started_ms) AS INTEGER) AS mean_ms, max(a.ended_ms - a.started_ms) AS max_ms
	FROM runs r JOIN attempts a ON a.run = r.id
	WHERE ]] .. CHOSEN .. [[
	GROUP BY r.workflow, a.key ORDER BY retries DESC, attempts DESC, r.workflow, a.key LIMIT ?3]]

---Counts of attempts and retries. A retry is any attempt but the first of its round;
---total_wait_ms is the sum of the planned delays.
---@param opts? {workflow?: string, since_ms?: integer} since_ms: runs created then or later
---@return {runs: integer, by_state: table<string, integer>, attempts: integer, retries: integer,
---  total_wait_ms: integer, by_code: table[], by_step: table[]}
function M:stats(opts)
	local database, workflow, since = self:_open(), opts and opts.workflow, opts and opts.since_ms
	local totals = database:row(TOTALS, workflow, since)
	local stats = {
		runs = 0, by_state = {}, attempts = totals.attempts, retries = totals.retries, total_wait_ms = totals.wait_ms,
		by_code = json.array(database:rows(BY_CODE, workflow, since, ROWS_MAX)),
		by_step = json.array(database:rows(BY_STEP, workflow, since, ROWS_MAX)),
	}
	for _, row in ipairs(database:rows(BY_STATE, workflow, since)) do
		stats.by_state[row.state] = row.runs
		stats.runs = stats.runs + row.runs
	end
	return stats
end

return M
