-- import: what a task of a placed step has left in the shared folder, into the run database: its
-- journal's calls once more, in one transaction with whatever the coordinator notes of the chunk.
-- How far a journal has been imported is in the database, so that the same chunk may be imported
-- again, also after a crash in between. It holds one line of the journal in memory.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local journal = require "runner.workflow.store.journal"
local outputs = require "runner.workflow.run.outputs"
local paths = require "runner.core.paths"
local placements = require "runner.workflow.store.placements"
local tables = require "runner.core.tables"
local writes = require "runner.workflow.store.writes"

local M = {}

-- --- the journal's calls, as the run database takes them ------------------------------------------------

local function raise_damaged(unit, chunk, why)
	errors.raise("PRECONDITION", ("What chunk %d left in %s is damaged: %s"):format(chunk, unit.dir, why), { side_effects = "partial",
		fix_required = "Find out what its steps have done, then start the workflow again", context = { directory = unit.dir, chunk = chunk } })
end

-- A value that is in a file: one of this chunk's, by its whole path.
local function located(held, folder)
	if type(held) ~= "table" then
		return held
	end
	local out = { used = placements.used(held.used) }
	for _, name in ipairs { "output", "data" } do
		local stored = held[name]
		local file = type(stored) == "table" and stored.file
		if file and (type(file) ~= "string" or file:find "[/%z]" or file == "" or file:find "^%.%.?$") then
			error("a file outside of its folder", 0)
		end
		out[name] = file and { file = folder .. "/" .. file, bytes = stored.bytes } or stored
	end
	return out
end

local function with(fields, more)
	local out = tables.add({}, fields)
	return tables.add(out, more)
end

-- Where logs and outputs are is ours to say.
local function translate(unit, chunk)
	local folder, log = unit:path(chunk, "out"), unit:path(chunk, "logs")
	return {
		set_step = function(step, state, fields)
			return step, state, fields and with(fields, { held = located(fields.held, folder) })
		end,
		start_attempt = function(step, begun)
			return step, with(begun, { log = begun.log and paths.log_in(folder, step.key, begun.number) })
		end,
		end_attempt = function(key, number, ended, step)
			return key, number, with(ended, { log = ended.log_at and log }), with(step, { held = located(step.held, folder) })
		end,
	}
end

local function same(...)
	return ...
end

-- --- one transaction -------------------------------------------------------------------------------------

local IMPORTED = "SELECT bytes, generation FROM imports WHERE run = ? AND key = ? AND chunk = ?"
local NOTE = "INSERT OR REPLACE INTO imports (run, key, chunk, bytes, generation) VALUES (?, ?, ?, ?, ?)"

local function apply_line(db, run, forms, now, method, ...)
	if writes[method] then
		writes[method](now, run.id, (forms[method] or same)(...))(db)
	end
end

-- Errors of the database are its own; whatever else a line brings about is the line's fault, such
-- as the end of an attempt that has not begun.
local function try(unit, chunk, f, ...)
	local ok, raised = pcall(f, ...)
	local is_error = not ok and errors.is(raised)
	if not ok and (type(raised) == "userdata" or is_error and raised.code ~= "NOT_FOUND") then
		error(raised, 0)
	elseif not ok then
		raise_damaged(unit, chunk, is_error and raised.message or tostring(raised))
	end
	return raised
end

local function apply(db, run, unit, chunk, about, result)
	local known = db:row(IMPORTED, run.id, about.key, chunk) or { bytes = 0, generation = 0 }
	if known.generation >= result.generation then
		return false
	elseif known.bytes > result.bytes then
		raise_damaged(unit, chunk, "its journal is shorter than it was")
	end
	local forms = translate(unit, chunk)
	local generation = journal.replay(unit:path(chunk, "journal"),
		{ from = known.bytes, upto = result.bytes, generation = known.generation, mine = journal.keys_of(about) }, function(...)
			try(unit, chunk, apply_line, db, run, forms, ...)
		end)
	if generation ~= result.generation then
		raise_damaged(unit, chunk, ("its journal ends with generation %d, its result is of %d"):format(generation, result.generation))
	end
	db:run(NOTE, run.id, about.key, chunk, result.bytes, result.generation)
	return true
end

-- --- results, as the engine gives them ------------------------------------------------------------------

-- The log that it names is with what the chunk has left.
local function error_of(unit, fields)
	local log = type(fields.context) == "table" and fields.context.log
	local name = type(log) == "string" and (log:match "/(%d+%.out/[^/]+)$" or log:match "/(%d+%.logs)$")
	if name then
		fields.context.log = ("%s/%s"):format(unit.dir, name)
	end
	return errors.new(fields.code, fields.message, fields)
end

local function given_of(run, key, row, ok)
	local given = outputs.result(run, key, row, ok)
	if not ok then -- as lua/workflow/run/scope.lua leaves it after a failure
		return { ok = false, output = given.output or "", status = row.status, error = { code = row.code, message = row.message } }
	end
	return given
end

-- What a failed step leaves is its output, and nothing of one that holds others.
local function item_result(run, about, i, outcome)
	if type(outcome.error) == "table" then
		return { ok = false, error = error_of(about.unit, outcome.error) }
	elseif type(outcome.key) ~= "string" then
		return { ok = true }
	end
	local key = ("%s[%d].%s%s"):format(about.key, i, outcome.key, about.suffix)
	local within = ("%s[%d].%s."):format(about.key, i, outcome.key)
	if type(outcome.inside) == "string" and outcome.inside:sub(1, #within) == within then -- of a block: its last step
		key = outcome.inside
	end
	local row = run.db:step(run.id, key)
	if not row then
		return { ok = false, error = errors.new("PRECONDITION", ("Nothing is known of step %s"):format(key)) }
	end
	return { ok = true, value = given_of(run, key, row, not outcome.failed) }
end

local function of_items(run, about, result)
	local n = 0
	return function()
		local outcome
		repeat
			n = n + 1
			outcome = result.items[n]
		until outcome ~= false
		if type(outcome) == "table" and n <= about.count then
			local i = about.first + n - 1
			return i, item_result(run, about, i, outcome)
		end
	end
end

local function of_step(run, about, result)
	local row = result.state ~= "parked" and result.state ~= "doubt" and run.db:step(run.id, about.key)
	local given = row and outputs.result(run, about.key, row, result.state == "completed")
	local one = result.state == "completed" and given and { ok = true, value = given }
		or result.state == "failed" and { ok = false, error = error_of(about.unit, result.error), left = given or nil }
	return function()
		local found = one
		one = nil
		if found then
			return 1, found
		end
	end
end

-- What the engine has to know of the step that failed.
local function remember_failure(run, result, e)
	local failed = type(result.failed) == "table" and result.failed
	local key = e.context and e.context.step_key
	if key then
		run.failures[key] = { key = key, transient = failed and failed.transient == true or false }
		e.transient = run.failures[key].transient
	end
	return e
end

local WARNINGS, MESSAGE = 100, 8192 -- what an envelope takes

local function pass_on_warnings(list)
	for i, warning in ipairs(type(list) == "table" and list or {}) do
		if i <= WARNINGS and type(warning) == "table" and errors.well_formed(warning.code) and type(warning.message) == "string" then
			attempt.warn(warning.code, warning.message:sub(1, MESSAGE))
		end
	end
end

-- --- the whole ---------------------------------------------------------------------------------------------

local function about_of(unit, chunk)
	local about, first, count = unit.about, nil, nil
	if about.loop then
		first, count = unit:range(chunk)
	end
	return { unit = unit, key = about.key, suffix = about.suffix, loop = about.loop, first = first, count = count }
end

---@class runner.workflow.Imported
---@field state "completed"|"failed"|"parked"|"doubt"
---@field wake_ms integer? of a parked one
---@field error runner.Error? of one that failed or is in doubt; run.failures knows its step
---@field transient boolean? of one that failed
---@field result runner.workflow.ChunkResult
---@field results fun(): integer?, runner.TaskResult? the items that are over, in order, each as the engine gives it;
---  of a step that is no loop the one result, with `left` of a failure

---Take over what a chunk has done. The first time in one transaction; again, it only reads.
---@param run table the run: id, db, failures
---@param unit runner.workflow.Unit opened, or made
---@param chunk integer
---@param generation integer the latest one: the result of another is refused
---@param also? fun(db: runner.workflow.Database) for the same transaction, the first time
---@return runner.workflow.Imported? nil: it has no result of this generation
function M.chunk(run, unit, chunk, generation, also)
	local result = unit:result(chunk)
	if not result or result.generation ~= generation then
		return nil
	end
	local about = about_of(unit, chunk)
	result.items = result.items or {}
	local is_new = run.db:together(function(db)
		local applied = apply(db, run, unit, chunk, about, result)
		if applied and also then
			also(db)
		end
		return applied
	end)
	pass_on_warnings(is_new and result.warnings)
	local e = result.error and remember_failure(run, result, error_of(unit, result.error))
	return { state = result.state, wake_ms = result.wake_ms, error = e or nil, transient = e and e.transient, result = result,
		results = (about.loop and of_items or of_step)(run, about, result) }
end

return M
