-- logs: what became of each attempt of a step, with all its output, so that a retry does not
-- hide what went wrong (docs/design.md#workflow-logs): a JSON file for each failure and each
-- long output, and a line of one file for each short success. What an attempt has printed so far
-- is in a partial log beside the place of its log, as lines of JSON: for those who follow the run, and
-- for what is left where the runner was killed. Runs in the worker. Callers pass records without
-- secrets; of a partial log its writer hides them, and a failure costs the file alone. Only the owner
-- may read the files.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

local FOLDER, FILE = 448, 384 -- 0700, 0600
local NO_FOLDER = { ENOENT = true, ENOTDIR = true }
local SHORT = 64 << 10 -- bytes of a record that shares a file
local PIECE = 4096
local FULL = 1 << 20 -- bytes of a partial log: what is older than the last two of its files is left out

---Stands in a partial log where some of it is missing.
M.OMITTED = "[… earlier output omitted …]\n"

local function known(path)
	return path or errors.raise("PRECONDITION", "No directory for logs: " .. paths.NO_STATE,
		{ suggestion = "Set XDG_STATE_HOME to a writable directory" })
end

---Where the log of an attempt is that has a file of its own. Nothing is created.
---@param run_id string
---@param key string of the step
---@param number integer of the attempt, over all rounds
---@return string
function M.path(run_id, key, number)
	return known(paths.log(run_id, key, number))
end

-- --- writing ---------------------------------------------------------------------------

-- f(path, …), with the directory of path made where it is missing.
local function in_folder(f, path, ...)
	local done, message, errno = f(path, ...)
	if done or not NO_FOLDER[errno] then
		return done, message, errno
	end
	done, message, errno = fs.mkdirs(path:match "^(.*)/", FOLDER, true)
	if not done then
		return nil, message, errno
	end
	return f(path, ...)
end

---Write a record, whole or not at all; directories are created. The log of a failure is on
---disk when this returns. The output of a success is committed with its step, so its log waits
---for no disk: a power loss may lose it, a killed process doesn't.
---@param run_id string
---@param path string as M.path
---@param record table without secrets, with `step` and `number`
---@param succeeded? boolean
---@return string? path of the file that has it; nil: it can't be written
---@return integer|string? at offset of its line, nil in a file of its own; or why not
---@return string? errno "ENOSPC" …
function M.write(run_id, path, record, succeeded)
	local text, why = json.encode(record)
	if not text then
		return nil, why
	end
	text = text .. "\n"
	local shared = (succeeded or paths.shares_log(run_id)) and #text <= SHORT
	local to = shared and known(paths.log_lines(run_id)) or path
	local done, message, errno = in_folder(shared and fs.append or fs.write, to, text, FILE, not succeeded)
	if done and shared and not succeeded then
		local ok
		ok, message, errno = fs.fsync(to)
		done = ok and done
	end
	if not done then
		return nil, message, errno
	end
	return to, shared and done or nil
end

-- --- reading ---------------------------------------------------------------------------

local function damaged(path, why)
	return nil, ("The log %s is damaged: %s"):format(path, why or "not a JSON object")
end

---Read a file of its own back.
---@param path string
---@return table? record, string? message, string? errno nil: it isn't JSON
function M.read(path)
	local text, message, errno = fs.read(path)
	if not text then
		return nil, message, errno
	end
	local record, why = json.decode(text)
	if type(record) ~= "table" then
		return damaged(path, why)
	end
	return record
end

-- The line at an offset, at most as long as a line may be.
local function line_at(path, at)
	local file <close>, message = io.open(path, "rb")
	if not file then
		return nil, message
	end
	local ok, why = file:seek("set", at)
	local text = ""
	while ok and not text:find("\n", 1, true) and #text < SHORT do
		local piece = file:read(PIECE)
		if not piece then
			break
		end
		text = text .. piece
	end
	return ok and text:match "^[^\n]*", why
end

-- After a power loss another line may be where a lost one was. A key may be masked.
local function is_of(record, key, number)
	return type(record) == "table" and record.number == number
		and (record.step == key or tostring(record.step):find("***", 1, true) ~= nil)
end

-- A success whose end was never committed: its runner was killed in between.
local function search(path, key, number)
	local file <close> = io.open(path, "rb")
	local mark = '"step":' .. json.encode(key)
	for line in file and file:lines() or function() end do
		local record = line:find(mark, 1, true) and json.decode(line) or nil
		if is_of(record, key, number) then
			return record
		end
	end
end

-- Of an attempt without a log: it is not over, or its end was never seen.
local function unfinished(run_id, row)
	return search(known(paths.log_lines(run_id)), row.key, row.number)
		or M.partial_record(row.log)
end

---The record of an attempt; `partial` where it is what it had printed so far.
---@param run_id string
---@param row table of store:attempts
---@return table? record, string? message nil where the file is missing
function M.of(run_id, row)
	if row.log_at then
		local line, message = line_at(row.log, row.log_at)
		local record = line and json.decode(line)
		if is_of(record, row.key, row.number) then
			return record
		end
		return damaged(row.log, message or ("no log of step %s, attempt %d"):format(row.key, row.number))
	elseif not row.log then
		return nil
	end
	local record, message, errno = M.read(row.log)
	if errno == "ENOENT" and row.status == nil then
		return unfinished(run_id, row)
	end
	return record, message
end

-- --- a partial log -----------------------------------------------------------------------------

local function path_of(log)
	return (log:gsub("%.json$", "") .. ".part")
end

local function older(path)
	return path .. ".old"
end

---@class runner.workflow.PartialLog
---@field path string
---@field n integer records so far
---@field size integer bytes of the file
---@field masks table<string, fun(piece: string?): string> of each stream
---@field broken? true it can't be written
local Writer = {}
Writer.__index = Writer

---Nothing is created before something is put.
---@param log string path of the attempt's log
---@param hide runner.Hide
---@return runner.workflow.PartialLog
function M.partial_writer(log, hide)
	return setmetatable({ path = path_of(log), n = 0, size = 0,
		masks = { stdout = hide.stream(), stderr = hide.stream() } }, Writer)
end

function Writer:_record(fields)
	self.n = self.n + 1
	fields.n = self.n
	return json.encode(fields) .. "\n"
end

function Writer:_append(text)
	if self.size > 0 and self.size + #text > FULL then
		fs.rename(self.path, older(self.path))
		self.size = 0
	end
	self.size, self.broken = self.size + #text, not in_folder(fs.append, self.path, text, FILE) or nil
end

function Writer:_hidden(stream, text)
	local shown = self.masks[stream](text)
	return shown ~= "" and self:_record { stream = stream, text = host.clean(shown) } or ""
end

---Add what was printed; it is there for readers when this returns.
---@param pieces {stream: "stdout"|"stderr", text: string}[]
function Writer:put(pieces)
	local records = {}
	for i, piece in ipairs(self.broken and {} or pieces) do
		records[i] = self:_hidden(piece.stream, piece.text)
	end
	local text = table.concat(records)
	if text ~= "" then
		self:_append(text)
	end
end

---The attempt is over: who reads this has read all.
function Writer:finish()
	if not self.broken then
		self:_append(self:_hidden "stdout" .. self:_hidden "stderr" .. self:_record { over = true })
	end
end

---There is a log now.
function Writer:remove()
	fs.unlink(self.path)
	fs.unlink(older(self.path))
end

---@class runner.workflow.PartialReader
---@field path string
---@field n integer of the last record that was read
---@field at integer where the next one begins
---@field over boolean the attempt has ended, and all of it was read
---@field text? string of the last record that isn't blank
---@field file? file*
---@field ino? integer
local Reader = {}
Reader.__index = Reader

---@param log string path of the attempt's log
---@return runner.workflow.PartialReader
function M.partial_reader(log)
	return setmetatable({ path = path_of(log), n = 0, at = 0, over = false }, Reader)
end

function Reader:_take(text, out)
	local record = json.decode(text)
	if type(record) ~= "table" or math.type(record.n) ~= "integer" or record.n <= self.n then
		return
	end
	if record.n > self.n + 1 then
		out[#out + 1] = { stream = record.stream or "stdout", text = M.OMITTED }
	end
	self.n, self.over = record.n, record.over == true
	if type(record.text) == "string" and (record.stream == "stdout" or record.stream == "stderr") then
		out[#out + 1] = { stream = record.stream, text = record.text }
		self.text = record.text:find "%S" and record.text or self.text
	end
end

-- The records that are whole by now.
function Reader:_rest(out)
	local text = self.file and self.file:seek("set", self.at) and self.file:read "a" or ""
	local from = self.at
	for line, after in text:gmatch "([^\n]*)\n()" do
		self:_take(line, out)
		self.at = from + after - 1
	end
end

function Reader:_open(path, ino)
	self:close()
	self.file, self.at, self.ino = io.open(path, "rb"), 0, ino
end

---What came since the last time.
---@return {stream: "stdout"|"stderr", text: string}[]
function Reader:read()
	local out = {}
	if not self.ino then
		self:_open(older(self.path))
	end
	self:_rest(out)
	local stat = fs.stat(self.path)
	if stat and stat.ino ~= self.ino then
		self:_rest(out) -- it may have grown before it was replaced
		self:_open(self.path, stat.ino)
		self:_rest(out)
	end
	return out
end

---The last line of what was read, of those that aren't blank.
---@return string?
function Reader:last_line()
	local last
	for line in (self.text or ""):gmatch "[^\n]+" do
		last = line:find "%S" and line or last
	end
	return last
end

---Is there something to read?
---@return boolean
function Reader:has_news()
	local stat = fs.stat(self.path)
	return stat ~= nil and (stat.ino ~= self.ino or stat.size > self.at)
end

function Reader:close()
	if self.file then
		self.file:close()
		self.file = nil
	end
end

---What is there of an attempt that has no log.
---@param log string path of the log that it would have
---@return {stdout: string, stderr: string, partial: true}?
function M.partial_record(log)
	local reader, texts = M.partial_reader(log), { stdout = {}, stderr = {} }
	for _, piece in ipairs(reader:read()) do
		table.insert(texts[piece.stream], piece.text)
	end
	reader:close()
	return reader.n > 0 and { stdout = table.concat(texts.stdout), stderr = table.concat(texts.stderr), partial = true } or nil
end

return M
