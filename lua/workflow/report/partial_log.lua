-- partial_log: what an attempt has printed so far, as lines of JSON beside the place of its log, which
-- is written when it ends (docs/design.md#workflow-logs): for those who follow the run, and for what
-- is left where the runner was killed. Writing hides secrets, and a failure costs the file alone.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local FILE = 384 -- 0600
local FOLDER = 448 -- 0700
local FULL = 1 << 20 -- bytes of a file: what is older than the last two is left out
local NO_FOLDER = { ENOENT = true, ENOTDIR = true }
local OMITTED = "[… earlier output omitted …]\n"

local function path_of(log)
	return (log:gsub("%.json$", "") .. ".part")
end

local function older(path)
	return path .. ".old"
end

-- --- writing -----------------------------------------------------------------------------------

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
function M.writer(log, hide)
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
	local done, _, errno = fs.append(self.path, text, FILE)
	if not done and NO_FOLDER[errno] and fs.mkdirs(self.path:match "^(.*)/", FOLDER) then
		done = fs.append(self.path, text, FILE)
	end
	self.size, self.broken = self.size + #text, not done or nil
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

-- --- reading ---------------------------------------------------------------------------------------

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
function M.reader(log)
	return setmetatable({ path = path_of(log), n = 0, at = 0, over = false }, Reader)
end

function Reader:_take(text, out)
	local record = json.decode(text)
	if type(record) ~= "table" or math.type(record.n) ~= "integer" or record.n <= self.n then
		return
	end
	if record.n > self.n + 1 then
		out[#out + 1] = { stream = record.stream or "stdout", text = OMITTED }
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
function M.record(log)
	local reader, texts = M.reader(log), { stdout = {}, stderr = {} }
	for _, piece in ipairs(reader:read()) do
		table.insert(texts[piece.stream], piece.text)
	end
	reader:close()
	return reader.n > 0 and { stdout = table.concat(texts.stdout), stderr = table.concat(texts.stderr), partial = true } or nil
end

return M
