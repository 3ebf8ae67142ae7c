-- spool: a text that is collected piece by piece: in memory while it is short, in a private
-- file when it gets long. It knows no steps.

local errors = require "runner.core.errors"
local fs = require "runner.fs"

local M = {}

local FOLDER, FILE = 448, 384 -- 0700, 0600
local CHUNK = 65536
local HEAD = 4096
local MANY = 1000 -- short pieces take more memory than their text

---The most bytes of a value that are kept in memory and in the database.
M.INLINE = 1 << 20

---@class runner.workflow.Spool
---@field path string
---@field bytes integer so far
---@field parts string[]? what is in memory; nil: all is in the file
local Spool = {}
Spool.__index = Spool

local function raise(path, why)
	errors.raise("OUTPUT_FAILED", ("Can't write %s: %s"):format(path, why), { retryable = false,
		fix_required = "Make room on the disk of the state directory" })
end

---@param path string of the file, should it be needed; an older one is replaced
---@return runner.workflow.Spool
function M.new(path)
	return setmetatable({ path = path, bytes = 0, parts = {} }, Spool)
end

-- A file with a text, whole or not at all. mode: as M.create has it.
local function put(path, text, mode, durable)
	local ok, why = true, nil
	if mode == nil then
		ok, why = fs.mkdirs(path:match "^(.*)/", FOLDER, true)
	end
	if ok then
		ok, why = fs.write(path, text, mode == nil and FILE or mode or nil, durable)
	end
	return ok or raise(path, why)
end

---Write a whole text to a private file (0600), whose directory is created: a reader that opens its
---path sees all of it, or what was there before. Raises OUTPUT_FAILED.
---@param path string
---@param text string
---@param durable boolean false: a power loss may lose it
---@return true
function M.write(path, text, durable)
	return put(path, text, nil, durable)
end

---An empty file, open for writing. Raises OUTPUT_FAILED.
---@param path string
---@param mode? integer|false default: a private one (0600), whose name and directory are on the disk; false: what the umask leaves
---@return file*
function M.create(path, mode)
	put(path, "", mode, mode == nil)
	local file, why = io.open(path, "r+b")
	return file or raise(path, why)
end

function Spool:_write(text)
	local ok, why = self._file:write(text)
	if not ok then
		raise(self.path, why)
	end
end

function Spool:_move_to_file()
	local parts = self.parts
	self._head = self:head()
	self._file, self.parts = M.create(self.path), nil
	for _, part in ipairs(parts) do
		self:_write(part)
	end
end

---@param text string
function Spool:add(text)
	self.bytes = self.bytes + #text
	if self.parts then
		if #self.parts == MANY then
			self.parts = { table.concat(self.parts) }
		end
		self.parts[#self.parts + 1] = text
		if self.bytes > M.INLINE then
			self:_move_to_file()
		end
	else
		self:_write(text)
	end
end

---How it begins, for people: at most 4 KiB.
---@return string
function Spool:head()
	return self._head or table.concat(self.parts):sub(1, HEAD)
end

---Add what a file holds.
---@param path string
function Spool:add_file(path)
	local file <close> = io.open(path, "rb") or raise(self.path, "can't read " .. path)
	for text in file:lines(CHUNK) do
		self:add(text)
	end
end

---Leave nothing but the head.
function Spool:drop()
	self._head, self.parts = self:head(), nil
	if self._file then
		self._file:close()
		self._file = nil
		fs.unlink(self.path)
	end
end

---The whole text, or nil where it is in the file, which has reached the disk then.
---@return string?
function Spool:finish()
	if self.parts then
		return table.concat(self.parts)
	end
	local ok, why = self._file:close()
	self._file = nil
	if ok then
		ok, why = fs.fsync(self.path)
	end
	return not ok and raise(self.path, why) or nil
end

return M
