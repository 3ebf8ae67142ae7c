-- outputs: what becomes of a step's output: it is in the database while it is short, in a
-- file of the run when it is longer, and marked as cut when it exceeds capture_limit. Also
-- writes output_file. Files are in the state directory, below outputs/RUN/.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local large_value = require "runner.workflow.expr.large_value"
local paths = require "runner.core.paths"
local spool = require "runner.workflow.run.spool"
local step_process = require "runner.workflow.kinds.step_process"

local M = {}

local LONGEST = 180 -- bytes of a file name
local PREVIEW = 4096 -- bytes of a longer output that the database keeps
local CHUNK = 65536
local INLINE = spool.INLINE
local RAW, PART = "~raw", ".%s.part" -- ends of the names of files that are not whole, or not masked

-- --- places -----------------------------------------------------------------------------

local function directory(run_id)
	return paths.outputs(run_id) or errors.raise("PRECONDITION",
		"No directory for outputs: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

---The file of a step's output, or of its data with `suffix`. Nothing is created.
---@param run_id string
---@param key string of the step
---@param suffix? string
---@return string
function M.path(run_id, key, suffix)
	return ("%s/%s%s"):format(directory(run_id), paths.file_name(key, LONGEST), suffix or "")
end

---What the database says of a value that is in a file.
---@param path string as M.path gives it
---@param bytes integer
---@return {file: string, bytes: integer}
function M.stored(path, bytes)
	return { file = path:match "[^/]*$", bytes = bytes }
end

-- --- the data of a loop, or of parallel steps --------------------------------------------------
--
-- A list with { item, ok, output, data } for each item. Of an output that was cut the database has
-- { item, ok, cut = { step, bytes, missing, why } } instead, and steps find a held value there: using that
-- one is refused, and using the whole list is, but no other element.

local function is_cut(value)
	return large_value.is(value) and value.cut ~= nil
end

---The data of one that failed.
---@param e runner.Error
---@param of table what it was: `item` of a loop, `step` of parallel steps
---@return table row
function M.failed_row(e, of)
	return { ok = false, item = of.item, step = of.step, error = { code = e.code, message = e.message } }
end

---The data of one item as it is stored.
---@param ok boolean
---@param given {output: any, data: any} what its last step gave, or a row of M.read
---@param of {item: any, error: table?} what it was
---@return table row
function M.row(ok, given, of)
	local output, data = given.output, given.data
	if not is_cut(output) then
		local value = large_value.value(data)
		if not pcall(large_value.whole, value) then
			value = nil -- what only an earlier process knew is missing here, too
		end
		return { item = of.item, ok = ok, output = large_value.value(output), data = value, error = of.error }
	end
	local row = { item = of.item, ok = ok, cut = { step = output.step, bytes = output.bytes, missing = output.cut, why = output.why } }
	if not is_cut(data) then -- a loop inside: its other elements stay
		row.data = {}
		for i, inner in ipairs(large_value.value(data)) do
			row.data[i] = M.row(inner.ok, inner, inner)
		end
	end
	return row
end

---A stored list as steps see it.
---@param rows table[] decoded; changed
---@return table[] rows
function M.read(rows)
	for _, row in ipairs(rows) do
		local cut = row.cut
		if cut then
			row.output = large_value.new { step = cut.step, bytes = cut.bytes, cut = cut.missing, why = cut.why }
			row.data = row.data and M.read(row.data) or row.output
			row.cut = nil
		end
	end
	return rows
end

-- --- results, as ${…} sees them -------------------------------------------------------------

local function as_data(text)
	return codec.decode { data = text }.data
end

local function as_results(text)
	return M.read(as_data(text))
end

-- Of a loop with an output that was cut the data are there, but for that element's.
local function decoder(row)
	local stored = row.held or {}
	local loop = stored.output and stored.output.cut and not (stored.data and stored.data.cut)
	return loop and as_results or as_data
end

-- What the database says of a value that isn't in its row: { file, bytes } or { cut, bytes,
-- step? of a step inside, why? }. Of a placed step, file is a whole path.
local function held_of(run_id, key, stored, decode)
	return large_value.new { step = stored.step or key, bytes = stored.bytes, cut = stored.cut, why = stored.why,
		file = stored.file and paths.absolute(stored.file, directory(run_id)), get = decode }
end

-- Decoded when it is first asked for: of most loops it never is.
local function data_of(key, data, decode)
	if not codec.is_encoded(data) then
		return decode == as_results and M.read(data) or data
	end
	local value
	return large_value.new { step = key, bytes = #data.text, get = function()
		value = value or decode(data.text)
		return value
	end }
end

-- ${steps.ID.output_path}: written when it is asked for, unless the output is in a file.
local function path_of(run_id, key, given)
	local output = given.output
	if large_value.is(output) then
		return large_value.file(output)
	elseif output == nil then
		return nil
	end
	local path = M.path(run_id, key)
	spool.write(path, output, false)
	return path
end

---A result in the scope of later steps.
---@param run table
---@param key string of the step
---@param row {output: string?, data: any, held: table?, status: integer?, session_id: string?} of the store, or an outcome
---@param ok boolean
---@return table
function M.result(run, key, row, ok)
	local decode, stored = decoder(row), row.held or {}
	local given = { output = stored.output and held_of(run.id, key, stored.output) or row.output,
		data = stored.data and held_of(run.id, key, stored.data, decode) or data_of(key, row.data, decode),
		status = row.status, ok = ok, session_id = row.session_id, key = key }
	given.output_path = large_value.new { step = key, bytes = 0, get = function() return path_of(run.id, key, given) end }
	return given
end

-- --- the output of a program -----------------------------------------------------------------

local function limit_of(step)
	return step.capture_limit or INLINE
end

---Before a step's program starts: how much of its output is kept, and where what exceeds
---the memory goes.
---@param run table
---@param turn table
---@param request table
function M.prepare(run, turn, request)
	local limit = limit_of(turn.step)
	local kept = turn.step.capture ~= false and limit > INLINE
	if not (kept or request.output_file) then
		return
	end
	request.spill = M.path(run.id, turn.key, RAW)
	request.spill_max = not request.output_file and limit < math.huge and limit or nil
	fs.mkdirs(request.spill:match "^(.*)/", 448, true) -- if it fails, the first long output says so
end

---Remove what attempts that were cut off left: outputs as the programs wrote them, with the
---secrets in them, and half-written copies. Only while no program of the run executes.
---@param run_id string
function M.sweep(run_id)
	local dir = paths.outputs(run_id)
	local part = PART:format(run_id)
	for _, name in ipairs(dir and fs.list(dir) or {}) do
		if name:sub(-#RAW) == RAW or name:sub(-#part) == part then
			fs.unlink(dir .. "/" .. name)
		end
	end
end

---The result with all of stdout in memory, for kinds that have to read it whole.
---@param kind string of the step
---@param result runner.Result
---@param request table
---@return runner.Result
function M.whole(kind, result, request)
	local text = result.spilled and kind ~= "shell" and fs.read(request.spill)
	if not text then
		return result
	end
	return setmetatable({ stdout = text, stdout_dropped = 0 }, { __index = result })
end

-- Newlines at the end are left out, as $( ) does; they are held back until more comes.
local function without_last_newlines()
	local pending = ""
	return function(text)
		local body = step_process.trimmed(text)
		if body == "" then
			pending = pending .. text
			return ""
		end
		local out = pending .. body
		pending = text:sub(#body + 1)
		return out
	end
end

-- A copy without secrets, whole or not at all. Its length, or nil and why not.
local function copy(run, from, to, mode)
	local temporary = to .. PART:format(run.id)
	local mask, trim, bytes = run.hide.stream(), without_last_newlines(), 0
	local input <close> = assert(io.open(from, "rb"))
	local output <close> = spool.create(temporary, mode)
	local function put(text)
		text = trim(text)
		bytes = bytes + #text
		assert(output:write(text))
	end
	for text in input:lines(CHUNK) do
		put(mask(text))
	end
	put(mask(nil))
	assert(output:close())
	assert(fs.replace(temporary, to))
	return bytes
end

-- What f(…) returns, or nil and why it failed.
local function try(f, ...)
	local ok, value = pcall(f, ...)
	if ok then
		return value
	elseif type(value) == "userdata" then
		error(value, 0) -- a cancellation
	end
	return nil, errors.normalise(value).message
end

local function try_copy(run, from, to, mode)
	local bytes, why = try(copy, run, from, to, mode)
	if not bytes then
		fs.unlink(to .. PART:format(run.id))
	end
	return bytes, why
end

local function refuse(outcome, message, fix)
	outcome.ok, outcome.code, outcome.transient = false, "OUTPUT_FAILED", false
	outcome.message, outcome.fix_required = message, fix
end

local function mode_of(path)
	local stat = fs.stat(path)
	return stat and stat.mode & 511 or false
end

local function write_whole(run, request, result, text)
	if result.stdout_dropped == 0 then
		return fs.write(request.output_file, text)
	elseif result.spilled then
		return try_copy(run, request.spill, request.output_file, mode_of(request.output_file))
	end
	return nil, "keeping the output failed: " .. (result.spill_error or "it was cut")
end

-- output_file: whole or not at all.
local function save(run, request, result, outcome)
	local path = request.output_file
	local ok, why, errno = fs.check_way(path)
	if ok or errno ~= "EPERM" then
		ok, why = write_whole(run, request, result, outcome.output or "")
	end
	if not ok then
		refuse(outcome, ("Can't write the output to %s: %s"):format(path, why),
			"Create the directory of output_file, make room on its disk, or name another file")
	end
end

local function mark_cut(outcome, bytes, missing, why)
	local cut = { cut = missing, bytes = bytes, why = why }
	outcome.held, outcome.data = { output = cut, data = cut }, nil
end

local function mark_file(outcome, path, bytes)
	local stored = M.stored(path, bytes)
	local is_data = outcome.output:find "^%s*[{[]"
	outcome.held = { output = stored, data = outcome.data == nil and is_data and stored or nil }
	outcome.output = host.clean(outcome.output:sub(1, PREVIEW))
end

-- What exceeds the memory: kept in a file up to capture_limit, else cut.
local function keep_long(run, turn, request, result, outcome)
	local bytes = INLINE + result.stdout_dropped
	local why = result.spill_error ~= "EFBIG" and result.spill_error or nil
	if outcome.ok and result.spilled and turn.step.capture ~= false and bytes <= limit_of(turn.step) then
		local path = M.path(run.id, turn.key)
		local copied, problem = try_copy(run, request.spill, path)
		if copied then
			return mark_file(outcome, path, copied)
		end
		why = problem
	end
	mark_cut(outcome, bytes, result.stdout_dropped, why)
end

-- The first bytes of a text are kept for people.
local function cut_text(outcome, text, kept, why)
	outcome.output = host.clean(text:sub(1, kept))
	mark_cut(outcome, #text, #text - kept, why)
end

-- A text in memory: short enough for the database, for a file, or too long.
local function keep_text(run, turn, outcome)
	local text, limit = outcome.output or "", limit_of(turn.step)
	if #text > limit then
		cut_text(outcome, text, limit)
	elseif #text > INLINE and turn.step.capture ~= false then
		local path = M.path(run.id, turn.key)
		local written, why = try(spool.write, path, text, true)
		if not written then
			return cut_text(outcome, text, PREVIEW, why)
		end
		mark_file(outcome, path, #text)
	end
end

---After a program has ended: writes output_file, and keeps the output or marks it as cut.
---@param run table
---@param turn table
---@param request table
---@param result runner.Result as M.whole gives it
---@param outcome table masked; gets `held`, and may become a failure
function M.settle(run, turn, request, result, outcome)
	if outcome.ok and result.output_lost then
		refuse(outcome, "Part of the step's output was lost: reading it failed, or there was no memory for it",
			"Free memory, find out what the step has done, and resume the run")
	end
	if outcome.ok and request.output_file then
		save(run, request, result, outcome)
	end
	if result.stdout_dropped > 0 then
		keep_long(run, turn, request, result, outcome)
	else
		keep_text(run, turn, outcome)
	end
	if result.spilled then
		fs.unlink(request.spill)
	end
	step_process.finish(request)
end

return M
