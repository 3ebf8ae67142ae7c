-- remove: runs that are kept no longer: their rows, then their logs and outputs. A run is owned
-- while it goes, so that no process resumes it; and it is in the table `removed` until its files are
-- gone, so that the next one finishes what a killed process has left.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local own_state = require "runner.core.own_state"
local paths = require "runner.core.paths"

local M = {}

local BATCH = 50 -- runs that go in one transaction

---@class runner.workflow.Keeping which runs stay; of what isn't set, nothing follows
---@field keep? integer the newest of all stay
---@field older_than_ms? integer those that ended earlier go
---@field max_size? integer bytes of logs and outputs: oldest first, what exceeds them goes
---@field failed? boolean those that failed may go
---@field interrupted? boolean those that were interrupted may go, unless a step is in doubt
---@field workflow? string only runs of this one
---@field project? string only runs of this one
---@field root? string with `project`: also runs of which it is not known, if their files are below this directory

---@alias runner.workflow.Hold "running"|"placed"|"worktrees"|"in doubt"|"failed"|"interrupted" what keeps a run; placed: tasks of it are on
---  an executor

-- --- why a run stays ------------------------------------------------------------------------

-- Of a run that no process executes, though it may be stored as running: then its runner died.
local function hold_of(db, row)
	if db:live_units(row.id)[1] then
		return "placed"
	elseif fs.lstat(paths.worktrees(row.id) or "") then
		return "worktrees"
	elseif #db:steps_in_doubt(row.id) > 0 or row.state == "running" and db:any_running(row.id) then
		return "in doubt"
	end
	local state = row.state == "running" and "interrupted" or row.state
	return (state == "failed" or state == "interrupted") and state or nil
end

---What keeps a run from being removed: a process executes it, or it can be resumed.
---@param db runner.workflow.Store
---@param row {id: string, state: string}
---@return runner.workflow.Hold?
function M.hold(db, row)
	return db:owner(row.id) and "running" or hold_of(db, row)
end

-- --- which ones ---------------------------------------------------------------------------------

local ROWS = [[
	SELECT id, workflow, state, project, created_ms, coalesce(ended_ms, updated_ms) AS last_ms FROM runs
	WHERE (?1 IS NULL OR workflow = ?1) AND (?2 IS NULL OR project = ?2
		OR project IS NULL AND ?3 IS NOT NULL AND substr(file, 1, length(?3) + 1) = ?3 || '/')
	ORDER BY created_ms DESC, rowid DESC]]

---Bytes of the logs and outputs of a run.
---@param id string
---@return integer
function M.size(id)
	local sum = 0
	for _, path in ipairs(paths.of_run(id)) do
		sum = sum + own_state.tree_size(path)
	end
	return sum
end

-- Whether its age or its size says so; where neither is asked for, it does.
local function exceeds(row, keeping, sum, now_ms)
	local old = keeping.older_than_ms and row.last_ms < now_ms - keeping.older_than_ms
	local large = keeping.max_size and sum > keeping.max_size
	return old or large or not (keeping.older_than_ms or keeping.max_size)
end

---The runs that go, oldest first, as far as can be told without owning them.
---@param db runner.workflow.Store
---@param keeping runner.workflow.Keeping
---@param now_ms integer since the epoch
---@return table[] rows with id, workflow, state, created_ms
function M.chosen(db, keeping, now_ms)
	local out, sum = {}, 0
	for i, row in ipairs(db:_open():rows(ROWS, keeping.workflow, keeping.project, keeping.root)) do
		row.nth = i
		if keeping.max_size and sum <= keeping.max_size then
			sum = sum + M.size(row.id)
		end
		if i > (keeping.keep or 0) and exceeds(row, keeping, sum, now_ms) then
			local hold = M.hold(db, row)
			if not hold or keeping[hold] then
				out[#out + 1] = row
			end
		end
	end
	table.sort(out, function(a, b) return a.nth > b.nth end)
	return out
end

---How many runs of other projects the same would choose, were it for all.
---@param db runner.workflow.Store
---@param keeping runner.workflow.Keeping with `project`
---@param now_ms integer since the epoch
---@return integer
function M.others(db, keeping, now_ms)
	local of_all, count = {}, 0
	for name, value in next, keeping do
		of_all[name] = name ~= "project" and name ~= "root" and value or nil
	end
	for _, row in ipairs(M.chosen(db, of_all, now_ms)) do
		count = count + (row.project ~= keeping.project and 1 or 0)
	end
	return count
end

-- --- removing ---------------------------------------------------------------------------------------

local ROW = "SELECT id, workflow, state, created_ms, source_id FROM runs WHERE id = ?"
-- What is shared, or left behind, is of all subjects: not of what this one sees.
local NO_RUN_LEFT = "DELETE FROM sources WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM main.runs WHERE source_id = ?1)"
local IS_THERE = "SELECT 1 FROM main.runs WHERE id = ?"

-- Its folders in shared directories, one a line: they are known by its rows alone.
local function folders_of(database, id)
	local list = {}
	for i, unit in ipairs(database:rows("SELECT directory FROM units WHERE run = ? AND directory IS NOT NULL", id)) do
		list[i] = unit.directory
	end
	return list[1] and table.concat(list, "\n") or nil
end

local function delete_rows(database, rows)
	for _, row in ipairs(rows) do
		database:run("INSERT OR IGNORE INTO removed (run, folders) VALUES (?, ?)", row.id, folders_of(database, row.id))
		database:run("DELETE FROM main.runs WHERE id = ?", row.id)
		if row.source_id then
			database:run(NO_RUN_LEFT, row.source_id)
		end
	end
end

local function forget(database, rows)
	for _, row in ipairs(rows) do
		database:run("DELETE FROM removed WHERE run = ?", row.id)
	end
end

local NAME_MAX = 180 -- bytes, as lua/workflow/executors/step_folder.lua names it

-- The folder around a unit's, if that is one of this run: a row may have been edited by hand.
local function own_folder(folder, id)
	local around, name = folder:match "^(/.+/runner%-%d+/([^/]+))/%d+$"
	local own = around and name == paths.file_name(id, NAME_MAX) and not (folder .. "/"):find("/../", 1, true)
	return own and around or nil
end

-- The folders of its steps on executors, and the folder around them, which is empty then.
local function remove_folders(database, id)
	local row = database:row("SELECT folders FROM removed WHERE run = ?", id)
	local bytes = 0
	for folder in (row and row.folders or ""):gmatch "[^\n]+" do
		local around = own_folder(folder, id)
		bytes = bytes + (around and own_state.tree_size(folder) or 0)
		local ok, message = true, nil
		if around then
			ok, message = fs.remove_tree(folder)
		end
		if not ok then
			return nil, message
		end
		fs.rmdir(around or "") -- unless another one is in it
	end
	return bytes
end

-- The bytes that it had; nil and why not: something stays, and the run in `removed` with it.
local function remove_files(database, id)
	local of_folders, why = remove_folders(database, id)
	if not of_folders then
		return nil, why
	end
	local bytes = M.size(id) + of_folders
	for _, path in ipairs(id ~= "" and paths.of_run(id) or {}) do -- no run has an empty ID: that would be all directories
		local ok, message = fs.remove_tree(path)
		if not ok then
			return nil, message
		end
	end
	return bytes
end

-- The rows of those that may go now, with their locks; the others go to `kept`, with what holds them.
local function owned(db, ids, allows, kept)
	local rows = {}
	for _, id in ipairs(ids) do
		local ok, lock = pcall(db.own, db, id)
		local held = not ok and errors.is(lock) and lock.code == "LOCK_HELD"
		if not ok and not held then
			error(lock, 0)
		end
		local row = ok and db:_open():row(ROW, id)
		local hold = held and "running" or row and hold_of(db, row)
		if row and (not hold or allows[hold]) then
			row.lock = lock
			rows[#rows + 1] = row
		elseif ok then
			lock:release()
		end
		kept[#kept + 1] = hold and not allows[hold] and { id = id, hold = hold } or nil
	end
	return rows
end

local function release(rows)
	for _, row in ipairs(rows) do
		row.lock:release()
		row.lock, row.source_id = nil, nil
	end
end

local function remove_batch(db, ids, allows, out)
	local database, rows, clean = db:_open(), owned(db, ids, allows, out.kept), {}
	database:write(delete_rows, database, rows)
	for _, row in ipairs(rows) do
		local bytes, message = remove_files(database, row.id)
		row.bytes = bytes or 0
		clean[#clean + 1] = bytes and row or nil
		out.left[#out.left + 1] = not bytes and { id = row.id, message = message } or nil
		out.removed[#out.removed + 1] = row
	end
	database:write(forget, database, clean)
	release(rows)
end

---What removing runs would do: their `bytes`, and a call for each directory that would go.
---@param db runner.workflow.Store
---@param rows table[] get `bytes`
---@param note fun(path: string)
function M.preview(db, rows, note)
	for _, row in ipairs(rows) do
		local list = paths.of_run(row.id)
		row.bytes = M.size(row.id)
		for folder in (folders_of(db:_open(), row.id) or ""):gmatch "[^\n]+" do
			if own_folder(folder, row.id) then
				list[#list + 1], row.bytes = folder, row.bytes + own_state.tree_size(folder)
			end
		end
		for _, path in ipairs(list) do
			if fs.lstat(path) then
				note(path)
			end
		end
	end
end

---Remove runs. Each is looked at again once it is owned: it may be resumed at this moment.
---@param db runner.workflow.Store open for writing
---@param ids string[] whole ones; an unknown one is nothing
---@param allows table<runner.workflow.Hold, true> what does not keep a run; never "running"
---@return {removed: table[], kept: {id: string, hold: runner.workflow.Hold}[], left: {id: string, message: string}[]} done
---  removed: rows with `bytes`; left: removed, but files of it could not be
function M.runs(db, ids, allows)
	local out = { removed = {}, kept = {}, left = {} }
	for from = 1, #ids, BATCH do
		remove_batch(db, table.move(ids, from, math.min(from + BATCH - 1, #ids), 1, {}), allows, out)
	end
	return out
end

---Remove the files of runs that an earlier process has removed without coming so far.
---@param db runner.workflow.Store open for writing
---@return integer runs
function M.finish(db)
	local database, clean = db:_open(), {}
	for _, left in ipairs(database:rows "SELECT run AS id FROM removed") do
		local ok, lock = pcall(db.own, db, left.id)
		if ok then
			clean[#clean + 1] = not database:row(IS_THERE, left.id) and remove_files(database, left.id) and left or nil
			lock:release()
		end
	end
	if clean[1] then
		database:write(forget, database, clean)
	end
	return #clean
end

return M
