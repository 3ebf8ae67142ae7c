-- journal: the store of a task on another machine. The database is in memory; what is committed
-- is first a line of a file in the shared directory, which is on the disk before it takes
-- effect: SQLite itself can't be trusted on every network file system. The same calls are later
-- applied to the run database (lua/workflow/run/import.lua), and to the database of the next
-- task of the same chunk.
--
-- A line is a JSON list: [generation, time, method, arguments…]. The first line of each task is
-- its "begin"; a line of an older generation after that was written by a task that should not
-- have lived any more, and doesn't count. A line that a crash cut short is followed by a "begin".
-- What lies in a shared directory is data: the reader believes nothing of it.

local codec = require "runner.workflow.store.codec"
local database = require "runner.state.database"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local reference = require "runner.core.reference"
local store = require "runner.workflow.store.store"
local tables = require "runner.core.tables"
local writes = require "runner.workflow.store.writes"

local M = {}

local FILE = 384 -- 0600
local PIECE = 65536
local LINE_MAX = 32 << 20 -- an output and its data, both escaped

-- --- reading ---------------------------------------------------------------------------------------

local function is_step(v)
	return type(v) == "table" and type(v.key) == "string"
end

local function is_text(v)
	return type(v) == "string"
end

local function is_table(v)
	return type(v) == "table"
end

local function is_optional(v)
	return v == nil or type(v) == "table"
end

local function is_count(v)
	return math.type(v) == "integer" and v >= 1
end

local HOW = { doubt = true, cut_off = true }

local function is_how(v)
	return HOW[v] or false
end

-- What a line may say: the kinds of its arguments, and whose key it has. The run is that of the
-- journal.
local METHODS = {
	set_step = { is_step, is_text, is_optional, key = function(step) return step.key end },
	leave_inside = { is_text, is_text, key = function(key) return key end },
	warn_step = { is_text, is_optional, key = function(key) return key end },
	start_attempt = { is_step, function(v) return is_table(v) and is_count(v.number) end, key = function(step) return step.key end },
	end_attempt = { is_text, is_count, is_table, function(v) return is_table(v) and is_text(v.state) end, key = function(key) return key end },
	stop_step = { is_text, is_how, key = function(key) return key end },
	item = { is_count, is_table },
	begin = { is_table },
}

-- The lines up to an offset, with where each begins. Holds one line in memory.
local function lines_of(file, from, upto)
	local text, at, offset, over = "", 1, from, false
	file:seek("set", from)
	local function more()
		local left = upto - offset - (#text - at + 1)
		local piece = left > 0 and #text - at < LINE_MAX and file:read(math.min(PIECE, left))
		over = not piece
		text, at = text:sub(at) .. (piece or ""), 1
		return piece
	end
	return function()
		while true do
			local stop = text:find("\n", at, true)
			if stop then
				local line, begins = text:sub(at, stop - 1), offset
				at, offset = stop + 1, offset + stop - at + 1
				return line, begins
			elseif over or not more() then
				local rest, begins = text:sub(at), offset -- all of a line but its end, or a part of one
				text, at, offset = "", 1, offset + #rest
				return rest ~= "" and rest or nil, begins
			end
		end
	end
end

-- generation, time, method and arguments; nothing where it is no line of ours.
local function parsed(line)
	local list = codec.decode({ data = line }).data
	local row = type(list) == "table" and METHODS[list[3]]
	if not row or not is_count(list[1]) or math.type(list[2]) ~= "integer" or list[3 + #row + 1] ~= nil then
		return nil
	end
	for i, accept in ipairs(row) do
		if not accept(list[3 + i]) then
			return nil
		end
	end
	return list, row
end

local function raise_damaged(path, offset, why)
	errors.raise("PRECONDITION", ("The journal %s is damaged at byte %d: %s"):format(path, offset, why), { side_effects = "partial",
		fix_required = "Find out what its steps have done, then start the workflow again", context = { file = path, offset = offset } })
end

---@class runner.workflow.Replay
---@field from? integer where to begin; default 0
---@field upto? integer where to end; default: its end
---@field generation? integer the latest one before `from`; default 0
---@field mine fun(key: string): boolean may this journal speak of that step?

-- A line counts where it is of the generation that has begun.
local function judge(path, state, offset, list, row, how)
	local generation, method = list[1], list[3]
	if method == "begin" then
		if generation > state.generation then
			state.generation, state.torn = generation, nil
			return true
		end
		return false
	elseif state.torn then
		raise_damaged(path, state.torn, "no JSON list of a known form")
	elseif generation > state.generation then
		raise_damaged(path, offset, "a line of a task that has not begun")
	elseif row.key and not how.mine(row.key(list[4])) then
		raise_damaged(path, offset, "a step that is none of its chunk")
	end
	return generation == state.generation
end

---Read a journal, line by line. Raises PRECONDITION where it is damaged, or says what it may not.
---@param path string
---@param how runner.workflow.Replay
---@param visit fun(now: integer, method: string, ...: any) for each line that counts
---@return integer generation the latest that has begun; 0: none
---@return integer bytes of whole lines
function M.replay(path, how, visit)
	local stat, message, errno = fs.lstat(path)
	if errno == "ENOENT" then
		return how.generation or 0, 0
	elseif not stat or stat.type ~= "file" then
		raise_damaged(path, 0, message or "it is a " .. stat.type)
	end
	local file <close> = io.open(path, "rb") or raise_damaged(path, 0, "it can't be read")
	local size = file:seek "end" -- of the open file: what NFS says of one by its name may be a minute old
	if (how.upto or 0) > size then
		raise_damaged(path, 0, "it is shorter than it was")
	end
	local state, next_line = { generation = how.generation or 0 }, lines_of(file, how.from or 0, how.upto or size)
	while true do
		local line, offset = next_line()
		if not line then
			if state.torn and how.upto then
				raise_damaged(path, state.torn, "no JSON list of a known form")
			end
			return state.generation, offset
		end
		local list, row = parsed(line)
		if not list then
			state.torn = state.torn or offset
		elseif judge(path, state, offset, list, row, how) then
			visit(table.unpack(list, 2))
		end
	end
end

-- --- the store -------------------------------------------------------------------------------------

---@class runner.workflow.Journal: runner.workflow.Store
---@field file string
---@field bytes integer of whole lines
---@field generation integer
---@field dead runner.Error? why nothing is written any more
local Journal = setmetatable({}, { __index = store.Store })
Journal.__index = Journal
Journal.__name = "runner.workflow.Journal"

local function nothing() end

local function with(fields, name, value)
	local out = tables.add({}, fields)
	out[name] = value
	return out
end

-- Which of its arguments has the fields of a step.
local FIELDS = { set_step = 6, end_attempt = 7 }

-- The arguments after the run's id, as they were given; but logs are where they belong.
local function line_of(self, now, method, ...)
	local list = { self.generation, now, method, ... }
	local fields = FIELDS[method] and list[FIELDS[method]]
	if method == "start_attempt" and list[5].log then
		list[5] = with(list[5], "log", "")
	elseif fields and codec.is_encoded(fields.data) then
		list[FIELDS[method]] = with(fields, "data", codec.decode({ data = fields.data.text }).data)
	end
	return codec.encode("data", list) .. "\n"
end

local function entry(self, method, id, ...)
	local now = host.wall_ms()
	return { line = line_of(self, now, method, ...), write = writes[method] and writes[method](now, id, ...) or nothing }
end

-- The journal has them, then the database. After a failure it is unknown what the file has: nothing
-- more may be written to it.
function Journal:_write(entries)
	if self.dead then
		error(self.dead, 0)
	end
	local ok, raised = pcall(self._put, self, entries)
	if not ok then
		self.dead = errors.normalise(raised)
		self.on_dead()
		error(raised, 0)
	end
	return raised
end

-- No other process writes while the fence holds. Where it doesn't (a lease of NFS has expired), a twin
-- of the same placement would go unnoticed by its generation: its lines are seen here. So is, in front of our "begin", a line of
-- an earlier task that was not there when we read what it had done: it counts.
local function raise_shared(self)
	errors.raise("CONFLICT", "Another task writes to the journal " .. self.file, { retryable = false, side_effects = "partial" })
end

local function check_alone(self, upto)
	if upto < self.bytes then
		raise_shared(self)
	end
	local file <close> = upto > self.bytes and io.open(self.file, "rb")
	for line in file and lines_of(file, self.bytes, upto) or nothing do
		local list = parsed(line)
		if list and (list[1] >= self.generation or not self.begun) then
			raise_shared(self)
		end
	end
	self.bytes = upto
end

local function append(self, text)
	local stat = fs.lstat(self.file)
	check_alone(self, stat and stat.size or 0)
	local at, message, errno = fs.append(self.file, text, FILE)
	if at then
		local ok, why, name = fs.fsync(self.file)
		message, errno = not ok and why or nil, name
	end
	if message then
		errors.raise((errno == "ENOSPC" or errno == "EDQUOT") and "RESOURCE_EXHAUSTED" or "OUTPUT_FAILED", message,
			{ retryable = false, side_effects = "partial", fix_required = "Find out what is wrong with the shared directory: is it full?" })
	end
	check_alone(self, at)
	self.bytes = at + #text
end

local function apply(db, entries)
	local result
	for _, found in ipairs(entries) do
		result = found.write(db)
	end
	return result
end

function Journal:_put(entries)
	self.check()
	local lines = {}
	for i, found in ipairs(entries) do
		lines[i] = found.line
	end
	append(self, table.concat(lines))
	self.check() -- again: who was stopped between the look and the line has been replaced (tests/model/placement.pml)
	return self._database:write(apply, self._database, entries)
end

function Journal:_commit(method, ...)
	local entries = table.move(self._due, 1, #self._due, 1, {})
	entries[#entries + 1] = entry(self, method, ...)
	local result = self:_write(entries)
	self._due = {}
	return result
end

function Journal:soon(method, ...)
	local list = method == "start_attempt" and self._starts or self._due
	list[#list + 1] = entry(self, method, ...)
end

function Journal:flush()
	local starts = self._starts
	self._starts = {}
	if #starts + #self._due > 0 then
		self:_write(table.move(starts, 1, #starts, #self._due + 1, table.move(self._due, 1, #self._due, 1, {})))
		self._due = {}
	end
end

---Steps that are running are not any more: "doubt", for those of an earlier task, or "cut_off".
---@param id string of the run
---@param how "doubt"|"cut_off"
function Journal:stop(id, how)
	self:flush() -- queries don't see what is put off
	for _, key in ipairs(self:running_steps(id)) do
		self:soon("stop_step", id, key, how)
	end
	self:flush()
end

---What an item of a loop came to, for the coordinator.
---@param id string of the run
---@param i integer
---@param outcome table
function Journal:note_item(id, i, outcome)
	self:soon("item", id, i, outcome)
end

local function fill(self, opts)
	local items = {}
	local generation, bytes = M.replay(self.file, { mine = opts.mine }, function(now, method, ...)
		if method == "item" then
			local i, outcome = ...
			items[i] = outcome
		elseif method ~= "begin" then
			writes[method](now, opts.run, ...)(self._database)
		end
	end)
	self.bytes = bytes
	return generation, items
end

---Open a journal for the task that holds the fence: what earlier ones wrote is in the database.
---@param path string
---@param opts {run: string, workflow: string, generation: integer, about: table, mine: (fun(key: string): boolean),
---  check: fun(), on_dead: fun()} about: for the first line; check: called before each write, raises where this task
---  may not write any more; on_dead: called when something could not be written, once
---@return runner.workflow.Journal? journal nil: a task of this generation, or of a later one, has begun before
---@return table<integer, table>? items what its items came to
function M.open(path, opts)
	local self = setmetatable({ path = ":memory:", file = path, readonly = false, _database = database.memory(), _owned = {},
		_due = {}, _starts = {}, generation = opts.generation, check = opts.check, on_dead = opts.on_dead }, Journal)
	self._database:write(writes.create(host.wall_ms(), { id = opts.run, workflow = opts.workflow }), self._database)
	local generation, items = self._database:write(fill, self, opts)
	if generation >= opts.generation then
		return nil
	end
	self:_write { { line = line_of(self, host.wall_ms(), "begin", opts.about), write = nothing } }
	self.begun = true
	return self, items
end

---May a chunk say something of a step? Of those inside its items, or inside its step.
---@param about {key: string, loop: boolean, first: integer?, count: integer?}
---@return fun(key: string): boolean
function M.keys_of(about)
	local key, length = about.key, #about.key
	if not about.loop then
		return reference.holder(key)
	end
	return function(other)
		local i = other:sub(1, length) == key and math.tointeger(tonumber(other:match("^%[(%d+)%]%.", length + 1)))
		return i and i >= about.first and i < about.first + about.count or false
	end
end

return M
