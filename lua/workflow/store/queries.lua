-- queries: reads from the run database. Every function is a method of the store
-- (`db:list{…}`); none writes.

local amounts = require "runner.core.amounts"
local codec = require "runner.workflow.store.codec"
local json = require "runner.json"
local paths = require "runner.core.paths"
local usage = require "runner.workflow.store.usage"

local M = {}

local LIST_MAX = 50
local ROWS_MAX = 100 -- of each list in the statistics

local function decoded(rows)
	for _, row in ipairs(rows) do
		codec.decode(row)
	end
	return rows
end

-- --- one run -----------------------------------------------------------------------------

local STEP = [[position, key, id, kind, label, state, round, attempts, spent_ms, wake_ms, wait_ms,
	status, code, message, started_ms, ended_ms, held, item]]
-- One that is put back waits for nothing: it will begin.
local STATE = "CASE WHEN state = 'waiting' AND wake_ms IS NULL AND code IS NULL THEN 'pending' ELSE state END AS state"
local SHOWN = STEP:gsub("state", STATE, 1)
local STEPS = "SELECT " .. SHOWN .. ", data, output FROM steps WHERE run = ? ORDER BY position"
local STEPS_BRIEF = "SELECT " .. SHOWN .. " FROM steps WHERE run = ? ORDER BY position"

---The steps of a run that have started, in that order.
---@param id string
---@param opts? {brief?: boolean} brief: without output and data
---@return table[]
function M:steps(id, opts)
	return decoded(self:_open():rows(opts and opts.brief and STEPS_BRIEF or STEPS, id))
end

local ONE = "SELECT " .. STEP .. ", data, output FROM steps WHERE run = ? AND key = ?"

---A step of a run; nil: it has not started.
---@param id string
---@param key string
---@return table?
function M:step(id, key)
	local row = self:_open():row(ONE, id, key)
	return row and codec.decode(row)
end

local WITH_WORKTREE = [[
	SELECT key, state, data FROM steps WHERE run = ? AND kind = 'steps' AND data LIKE '%"worktree":{%' ORDER BY position]]

---The worktrees of the steps of a run that have not been removed.
---@param id string
---@return {key: string, state: string, worktree: runner.workflow.Worktree}[]
function M:worktrees(id)
	local out = {}
	for _, row in ipairs(decoded(self:_open():rows(WITH_WORKTREE, id))) do
		out[#out + 1] = { key = row.key, state = row.state, worktree = row.data.worktree }
	end
	return out
end

local function keys_of(rows)
	for i, row in ipairs(rows) do
		rows[i] = row.key
	end
	return rows
end

-- Which steps a page has: all of them, those that did not end well, or these with all that
-- are not in a loop.
local OPEN = "state NOT IN ('completed', 'skipped')"
local CHOICES = { all = "1", failed = OPEN, outline = "(instr(s.key, '[') = 0 OR " .. OPEN .. ")" }
local PAGE = "SELECT " .. SHOWN .. [[,
		CASE WHEN output = '' THEN '' ELSE substr(CAST(output AS BLOB), 1, ?4) END AS output, length(CAST(output AS BLOB)) AS output_bytes,
		CASE WHEN length(data) <= ?5 THEN data END AS data, length(CAST(data AS BLOB)) AS data_bytes
	FROM steps s WHERE run = ?1 AND position > ?2 AND %s ORDER BY position LIMIT ?3]]
local COUNT = "SELECT count(*) AS steps FROM steps s WHERE run = ? AND %s"
local COUNTS = "SELECT " .. STATE .. ", count(*) AS steps FROM steps WHERE run = ? GROUP BY 1 ORDER BY 1"

---Some of the steps of a run, in the order of their starts.
---@param id string
---@param page {choice: "all"|"failed"|"outline", after: integer, limit: integer, output: integer, data: integer}
---  after: the position before; output: bytes of each that are read; data: a longer one is left out
---@return table[] rows with output_bytes and data_bytes
function M:step_page(id, page)
	return decoded(self:_open():rows(PAGE:format(CHOICES[page.choice]), id, page.after, page.limit, page.output, page.data))
end

local UNFINISHED = "SELECT key FROM steps WHERE run = ? AND " .. OPEN .. " ORDER BY key"
local IN_DOUBT = "SELECT key FROM steps WHERE run = ? AND state = 'interrupted' AND code = 'STEP_IN_DOUBT' ORDER BY key"

---The keys of steps that have started and not ended well, sorted.
---@param id string
---@return string[]
function M:unfinished_steps(id)
	return keys_of(self:_open():rows(UNFINISHED, id))
end

---The keys of steps in doubt, sorted.
---@param id string
---@return string[]
function M:steps_in_doubt(id)
	return keys_of(self:_open():rows(IN_DOUBT, id))
end

-- Items of a loop have one place: their key without its indices (\1), of three loops.
local DEEPEST = 3
local FOLD = [[
	SELECT %s, CASE instr(place, '[') WHEN 0 THEN place
		ELSE substr(place, 1, instr(place, '[') - 1) || char(1) || substr(place, instr(place, ']') + 1) END AS place
	FROM (%s)]]

local function folded(sql, columns)
	for _ = 1, DEEPEST do
		sql = FOLD:format(columns, sql)
	end
	return sql
end

local function place_text(place)
	return (place:gsub("\1", "[]"))
end

local PLACES = folded("SELECT w.*, s.position, key AS place FROM warnings w JOIN steps s USING (run, key) WHERE w.run = ?",
	"key, code, message, context, position")
local WARNINGS = "SELECT key, code, message, context, place, count(*) AS count, min(position) AS first, count(*) OVER () AS places FROM ("
	.. PLACES .. ") GROUP BY place, code ORDER BY place <> key, first LIMIT ?"

---What is to be warned of, step by step; what is inside of loops comes last, a row for each place,
---with its first warning.
---@param id string
---@param most integer
---@return runner.workflow.StepWarning[] with key, place, count (of the warnings there), and places, of how many the run has any
function M:warnings(id, most)
	local rows = self:_open():rows(WARNINGS, id, most)
	for _, row in ipairs(rows) do
		row.context = json.decode(row.context)
		row.place = place_text(row.place)
	end
	return rows
end

---The keys of the steps that have a warning with this code, sorted.
---@param id string
---@param code string
---@return string[]
function M:warned_steps(id, code)
	return keys_of(self:_open():rows("SELECT key FROM warnings WHERE run = ? AND code = ? ORDER BY key", id, code))
end

local OTHERS = [[
	SELECT EXISTS (SELECT 1 FROM attempts WHERE run = ?1 AND (key <> ?2 OR number > 1))
		OR EXISTS (SELECT 1 FROM attempts WHERE run = ?1)
		AND (SELECT count(*) FROM chunks WHERE run = ?1 AND generation > 0) > 1 AS others]]

---Has more been begun in a run than the first attempt of this step? So it has, maybe, where other chunks were placed.
---@param id string
---@param key string
---@return boolean
function M:has_other_attempts(id, key)
	return self:_open():row(OTHERS, id, key).others == 1
end

---How many of the steps of a run are chosen.
---@param id string
---@param choice "all"|"failed"|"outline"
---@return integer
function M:count_steps(id, choice)
	return self:_open():row(COUNT:format(CHOICES[choice]), id).steps
end

---How many steps of a run are in each state.
---@param id string
---@return table<string, integer> by_state, integer total
function M:step_counts(id)
	local by_state, total = {}, 0
	for _, row in ipairs(self:_open():rows(COUNTS, id)) do
		by_state[row.state], total = row.steps, total + row.steps
	end
	return by_state, total
end

local ATTEMPT = [[a.key, a.number, a.round, a.nth, a.started_ms, a.ended_ms, a.status, a.signal, a.code, a.message,
	a.delay_ms, a.limit_ms, a.log]]
local OF_RUN = "SELECT " .. ATTEMPT .. [[
	FROM steps s JOIN attempts a ON a.run = s.run AND a.key = s.key WHERE s.run = ? ORDER BY s.position, a.number]]
local OF_STEP = "SELECT " .. ATTEMPT .. " FROM attempts a WHERE a.run = ? AND a.key = ? ORDER BY a.number"

-- As writes.lua stores it.
local function set_log(row, id)
	local path, at = (row.log or ""):match "^(.*)@(%d+)$"
	if at then
		row.log, row.log_at = path ~= "" and path or paths.log_lines(id), math.tointeger(at)
	elseif row.log == "" then
		row.log = paths.log(id, row.key, row.number)
	end
end

-- Where a log is, where the row doesn't say it.
local function with_logs(id, rows)
	for _, row in ipairs(rows) do
		set_log(row, id)
	end
	return rows
end

---The attempts of a run, or of one of its steps: step by step in the order in which they
---started, and each step's oldest first. log_at: offset in `log`, which other attempts share.
---@param id string
---@param key? string
---@return table[]
function M:attempts(id, key)
	local db = self:_open()
	return with_logs(id, key and db:rows(OF_STEP, id, key) or db:rows(OF_RUN, id))
end

-- The attempts of a step, or of all: ?2 is its key, ?3 the number of the attempt.
local CHOSEN_ATTEMPTS = [[
	FROM steps s JOIN attempts a ON a.run = s.run AND a.key = s.key
	WHERE s.run = ?1 AND %s AND %s AND (?3 IS NULL OR a.number = ?3)]]
local ATTEMPT_PAGE = "SELECT s.position, " .. ATTEMPT .. CHOSEN_ATTEMPTS .. [[
	AND s.position >= ?4 AND (s.position > ?4 OR a.number > ?5) ORDER BY s.position, a.number LIMIT ?6]]
local COUNT_ATTEMPTS = "SELECT count(*) AS attempts" .. CHOSEN_ATTEMPTS

local function chosen_attempts(sql, page)
	return sql:format(CHOICES[page.choice], page.step and "s.key = ?2" or "?2 IS NULL")
end

---Some of the attempts of a run, in the order of M.attempts, with the `position` of their step.
---@param id string
---@param page {choice: "all"|"failed"|"outline", step?: string, attempt?: integer, after: {position: integer,
---  number: integer}, limit: integer} choice: of steps; after: the attempt before
---@return table[]
function M:attempt_page(id, page)
	return with_logs(id, self:_open():rows(chosen_attempts(ATTEMPT_PAGE, page), id, page.step, page.attempt,
		page.after.position, page.after.number, page.limit))
end

---How many attempts of a run are chosen.
---@param id string
---@param page {choice: "all"|"failed"|"outline", step?: string, attempt?: integer} as attempt_page
---@return integer
function M:count_attempts(id, page)
	return self:_open():row(chosen_attempts(COUNT_ATTEMPTS, page), id, page.step, page.attempt).attempts
end

local ENDED = "SELECT " .. ATTEMPT .. CHOSEN_ATTEMPTS .. [[
	AND (a.ended_ms >= ?4 OR a.ended_ms IS NULL AND a.code IS NOT NULL)
	ORDER BY a.ended_ms IS NULL, a.ended_ms, s.position, a.number]]

---The attempts of a run that have ended, at this time or later, in the order of their ends; those
---in doubt, whose end is unknown, last.
---@param id string
---@param page {choice: "all"|"failed"|"outline", step?: string, attempt?: integer} as attempt_page
---@param since_ms integer
---@return table[]
function M:ended_attempts(id, page, since_ms)
	return with_logs(id, self:_open():rows(chosen_attempts(ENDED, page), id, page.step, page.attempt, since_ms))
end

local RUNNING = "SELECT " .. ATTEMPT .. CHOSEN_ATTEMPTS .. [[
	AND s.state = 'running' AND a.ended_ms IS NULL AND a.code IS NULL ORDER BY s.position, a.number]]

---The attempts of a run that have begun, and not ended.
---@param id string
---@param page {choice: "all"|"failed"|"outline", step?: string, attempt?: integer} as attempt_page
---@return table[]
function M:running_attempts(id, page)
	return with_logs(id, self:_open():rows(chosen_attempts(RUNNING, page), id, page.step, page.attempt))
end

local CODES = [[
	SELECT code, count(*) AS attempts, count(delay_ms) AS retries, coalesce(sum(delay_ms), 0) AS wait_ms
	FROM attempts WHERE run = ? AND code IS NOT NULL GROUP BY code ORDER BY attempts DESC, code]]

---How the attempts of a run have failed, the most frequent code first.
---@param id string
---@return {code: string, attempts: integer, retries: integer, wait_ms: integer}[]
function M:codes(id)
	return self:_open():rows(CODES, id)
end

---A number that changes when another process has committed something.
---@return integer
function M:version()
	return self:_open():row("PRAGMA data_version").data_version
end

local ATTEMPTED = "SELECT DISTINCT key FROM attempts WHERE run = ?"

---The keys of steps that have made an attempt, sorted.
---@param id string
---@return string[]
function M:attempted_steps(id)
	return keys_of(self:_open():rows(ATTEMPTED, id))
end

---The keys of the steps that are stored as running.
---@param id string
---@return string[]
function M:running_steps(id)
	return keys_of(self:_open():rows("SELECT key FROM steps WHERE run = ? AND state = 'running'", id))
end

---Is a step of the run stored as running?
---@param id string
---@return boolean
function M:any_running(id)
	return self:_open():row("SELECT 1 FROM steps WHERE run = ? AND state = 'running'", id) ~= nil
end

-- What no sequence of transactions leaves, even if its process is killed.
local CONTRADICTIONS = [[
	SELECT s.run, s.key, 'is running, but its run has ended' AS problem FROM steps s JOIN runs r ON r.id = s.run
		WHERE s.state = 'running' AND r.state <> 'running' AND (?1 IS NULL OR s.run = ?1)
	UNION ALL SELECT a.run, a.key, 'isn''t running, but its attempt ' || a.number || ' is'
		FROM attempts a JOIN steps s ON s.run = a.run AND s.key = a.key
		WHERE a.ended_ms IS NULL AND a.code IS NULL AND s.state <> 'running' AND (?1 IS NULL OR a.run = ?1)
	UNION ALL SELECT s.run, s.key, 'is running, but none of its attempts is' FROM steps s
		WHERE s.state = 'running' AND s.attempts > 0 AND (?1 IS NULL OR s.run = ?1) AND NOT EXISTS (
			SELECT 1 FROM attempts a WHERE a.run = s.run AND a.key = s.key AND a.ended_ms IS NULL AND a.code IS NULL)]]

---Steps whose rows contradict those of their run or their attempts.
---@param id? string of one run; default: all
---@return {run: string, key: string, problem: string}[]
function M:contradictions(id)
	return self:_open():rows(CONTRADICTIONS, id)
end

-- --- many runs -----------------------------------------------------------------------------

local LIST = [[
	SELECT id, workflow, file, state, retryable, code, message, failed_step, owner, resumes, request_id,
		created_ms, updated_ms, ended_ms, project, subject, actors,
		(SELECT count(*) FROM steps WHERE run = runs.id) AS steps,
		(SELECT count(*) FROM steps WHERE run = runs.id AND state IN ('completed', 'skipped')) AS steps_completed,
		(SELECT count(*) FROM steps WHERE run = runs.id AND state = 'failed') AS steps_failed,
		(SELECT count(*) FROM attempts WHERE run = runs.id) AS attempts
	FROM runs %s ORDER BY created_ms DESC, rowid DESC LIMIT ?]]

---Runs, newest first, with the counts `steps` (started ones), `steps_completed`
---(skipped ones included), `steps_failed` and `attempts`.
---@param opts? {id?: string, state?: string, workflow?: string, project?: string, limit?: integer} limit: default 50
---@return table[]
function M:list(opts)
	opts = opts or {}
	local where, values = {}, {}
	for _, name in ipairs { "id", "state", "workflow", "project" } do
		if opts[name] then
			where[#where + 1] = name .. " = ?"
			values[#values + 1] = opts[name]
		end
	end
	values[#values + 1] = opts.limit or LIST_MAX
	local condition = where[1] and "WHERE " .. table.concat(where, " AND ") or ""
	return decoded(self:_open():rows(LIST:format(condition), table.unpack(values)))
end

local AHEAD = [[
	SELECT id, workflow, subject FROM main.runs WHERE concurrency = ?1 AND state = 'running' AND id <> ?2
		AND (?3 OR turn < (SELECT turn FROM main.runs WHERE id = ?2)) ORDER BY turn DESC]]

---The runs of all subjects with this key that are stored as running, with an earlier turn than a run has, the latest first.
---@param key string
---@param id string of the run
---@param any_turn? boolean it has none yet
---@return {id: string, workflow: string, subject?: string}[]
function M:ahead(key, id, any_turn)
	return self:_open():rows(AHEAD, key, id, any_turn or false)
end

local TO_RECOVER = [[
	SELECT id, workflow, project, cwd FROM runs
	WHERE state IN ('running', 'interrupted') AND recover = 1 AND (state = 'running' OR code = 'CANCELLED'
			OR code = 'APPROVAL_PENDING' AND EXISTS (SELECT 1 FROM approvals a JOIN steps s ON s.run = a.run AND s.key = a.key
				WHERE a.run = runs.id AND s.state = 'waiting' AND (a.state IN ('approved', 'rejected') OR a.deadline_ms <= ?3)))
		AND updated_ms >= ?1 AND (?2 IS NULL OR project = ?2) AND (?4 IS NULL OR id = ?4)
	ORDER BY created_ms]]

---The runs that `workflow recover` may resume: they declare it, and have no end but one by the machine or the session, or wait for
---what is decided. One that is still executed has an owner.
---@param since_ms integer of their last change
---@param project? string default: of all
---@param now_ms integer
---@param id? string only this run
---@return {id: string, workflow: string, project?: string, cwd: string}[]
function M:to_recover(since_ms, project, now_ms, id)
	return self:_open():rows(TO_RECOVER, since_ms, project, now_ms, id)
end

-- --- statistics ------------------------------------------------------------------------------

local CHOSEN = "(?1 IS NULL OR r.workflow = ?1) AND (?2 IS NULL OR r.created_ms >= ?2) AND (?3 IS NULL OR r.project = ?3)"

local BY_STATE = "SELECT CASE r.code WHEN 'APPROVAL_PENDING' THEN 'waiting' ELSE r.state END AS state, count(*) AS runs FROM runs r WHERE "
	.. CHOSEN .. " GROUP BY 1"

local FIGURES = [[count(*) AS attempts, coalesce(sum(a.nth > 1), 0) AS retries,
	coalesce(sum(a.delay_ms), 0) AS wait_ms]]

local BY_CODE = "SELECT a.code, count(DISTINCT a.run) AS runs, " .. FIGURES .. [[
	FROM runs r JOIN attempts a ON a.run = r.id
	WHERE a.code IS NOT NULL AND ]] .. CHOSEN .. [[
	GROUP BY a.code ORDER BY attempts DESC, a.code LIMIT ?4]]

-- What claude steps used: of attempts a, and their usage u.
local USED = ("coalesce(sum(%s), 0) AS cost_micros, "):format(usage.CHARGED) .. [[
	coalesce(sum(u.input_tokens), 0) AS input_tokens, coalesce(sum(u.output_tokens), 0) AS output_tokens]]

local ATTEMPTS_USED = [[
	FROM runs r JOIN attempts a ON a.run = r.id
	LEFT JOIN usage u ON u.run = a.run AND u.key = a.key AND u.number = a.number
	WHERE ]] .. CHOSEN

local TOTALS = ("SELECT %s, %s %s"):format(FIGURES, USED, ATTEMPTS_USED)

-- What a place has had as rounds, @2, is at its end. The steps are grouped before they are folded: they are fewer.
local BY_STEP = ("SELECT r.workflow, a.key AS place, %s, count(a.code) AS failures,"):format(FIGURES) .. [[
		sum(max(a.ended_ms - a.started_ms, 0)) AS ms, count(a.ended_ms) AS ended,
		max(max(a.ended_ms - a.started_ms, 0)) AS max_ms,
	]] .. USED .. ATTEMPTS_USED .. [[
	GROUP BY r.workflow, a.key]]
local SUMS = "attempts retries wait_ms failures cost_micros input_tokens output_tokens"
BY_STEP = [[
	SELECT workflow, CASE WHEN instr(place, '@') = 0 OR instr(substr(place, instr(place, '@')), '.') > 0 THEN place
			ELSE substr(place, 1, instr(place, '@') - 1) END AS key,
		count(*) AS steps, CAST(sum(ms) / nullif(sum(ended), 0) AS INTEGER) AS mean_ms, max(max_ms) AS max_ms]]
	.. SUMS:gsub("%S+", ", sum(%0) AS %0")
	.. (" FROM (%s) GROUP BY workflow, key"):format(folded(BY_STEP, "workflow, ms, ended, max_ms, " .. SUMS:gsub(" ", ", ")))
	.. " ORDER BY retries DESC, attempts DESC, workflow, key LIMIT ?4"

local BY_WORKFLOW = ("SELECT r.workflow, count(DISTINCT r.id) AS runs, %s, %s %s"):format(FIGURES, USED, ATTEMPTS_USED) .. [[
	GROUP BY r.workflow ORDER BY cost_micros DESC, attempts DESC, r.workflow LIMIT ?4]]

-- Days are those of UTC, on which the attempts began.
local DAY = "date(a.started_ms / 1000, 'unixepoch')"
local BY_DAY = ("SELECT %s AS day, count(DISTINCT r.id) AS runs, %s, %s %s"):format(DAY, FIGURES, USED, ATTEMPTS_USED)
	.. (" GROUP BY %s ORDER BY day DESC LIMIT ?4"):format(DAY)

-- Costs in dollars.
local function priced(rows)
	for _, row in ipairs(rows) do
		row.cost_usd, row.cost_micros = amounts.dollars(row.cost_micros), nil
	end
	return json.array(rows)
end

-- Of a loop, a row for each step in it; `steps` says how many these were.
local function folded_rows(rows)
	for _, row in ipairs(rows) do
		row.key, row.steps = place_text(row.key), row.steps > 1 and row.steps or nil
	end
	return priced(rows)
end

---Counts of attempts and retries, and what claude steps used. A retry is any attempt but the
---first of its round; total_wait_ms is the sum of the planned delays.
---@param opts? {workflow?: string, since_ms?: integer, project?: string} since_ms: runs created then or later
---@return {runs: integer, by_state: table<string, integer>, attempts: integer, retries: integer,
---  total_wait_ms: integer, cost_usd: number, input_tokens: integer, output_tokens: integer, by_code: table[],
---  by_step: table[], by_workflow: table[], by_day: table[]}
function M:stats(opts)
	opts = opts or {}
	local database, workflow, since, project = self:_open(), opts.workflow, opts.since_ms, opts.project
	local function rows(sql)
		return database:rows(sql, workflow, since, project, ROWS_MAX)
	end
	local totals = priced(database:rows(TOTALS, workflow, since, project))[1]
	local stats = {
		runs = 0, by_state = {}, attempts = totals.attempts, retries = totals.retries, total_wait_ms = totals.wait_ms,
		cost_usd = totals.cost_usd, input_tokens = totals.input_tokens, output_tokens = totals.output_tokens,
		by_code = json.array(rows(BY_CODE)), by_step = folded_rows(rows(BY_STEP)),
		by_workflow = priced(rows(BY_WORKFLOW)), by_day = priced(rows(BY_DAY)),
	}
	for _, row in ipairs(database:rows(BY_STATE, workflow, since, project)) do
		stats.by_state[row.state] = row.runs
		stats.runs = stats.runs + row.runs
	end
	return stats
end

return M
