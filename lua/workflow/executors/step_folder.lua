-- step_folder: the folder of a placed step in the directory that the machines share: what its tasks
-- need, and what they leave there. The coordinator makes it; tasks open it on their nodes. Who
-- may write into it could make us run anything, so it is private (0700), and a folder or a file
-- that isn't ours, or is a link, is refused. It starts nothing and knows no engine.
--
--   DIR/unit.json       the step and all that it needs (lua/workflow/executors/payload.lua)
--   DIR/secrets.json    the environment's values, and what is to be masked
--   DIR/K.items         {"first":i,"count":n}, then one item of chunk K in each line
--   DIR/K.generation    the number of the placement that may write
--   DIR/TOKEN.tasks     what the tasks of a placement are: "CHUNK GENERATION MEMORY[ again]"
--   DIR/TOKEN.options   what the user has decided on steps in doubt
--   DIR/K.lock          the fence: locked while anything of a task lives
--   DIR/K.journal       what its steps have done (lua/workflow/store/journal.lua)
--   DIR/K.result        how the chunk ended; K.logs, K.out/: its logs and its long outputs

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local payload = require "runner.workflow.executors.payload"
local paths = require "runner.core.paths"

local M = {}

local FOLDER, FILE = 448, 384 -- 0700, 0600
local OTHERS = 63 -- 0077
local HEAD = 256 -- bytes: more than the first line of items has
local NAME_MAX = 180
local TOKEN_MAX = 60
local MOST = 64 << 20 -- bytes of a file that is read whole
local STALE = 10 -- times that NFS may say that a file was replaced while it was read

---@class runner.workflow.Unit
---@field dir string
---@field about table what unit.json says, of an opened one: see payload.pack
local Unit = {}
Unit.__index = Unit
Unit.__name = "runner.workflow.Unit"
M.Unit = Unit

-- --- what may be trusted -----------------------------------------------------------------------

local function raise(message, fix, context)
	errors.raise("PRECONDITION", message, { fix_required = fix, side_effects = "none", context = context })
end

local function our_uid()
	local uid = (fs.read "/proc/self/status" or ""):match "\nUid:%s+%d+%s+(%d+)"
	return math.tointeger(tonumber(uid)) or raise("Can't tell who we are: /proc/self/status can't be read", "Mount /proc")
end

-- What is there, unless it isn't what it has to be; nil: nothing is.
local function checked(path, kind)
	local stat, message, errno = fs.lstat(path)
	if errno == "ENOENT" then
		return nil
	elseif not stat then
		raise("Can't look at " .. path .. ": " .. message, "Make the shared directory accessible")
	end
	local wrong = stat.type ~= kind and ("is a %s, not a %s"):format(stat.type, kind)
		or stat.uid ~= our_uid() and "belongs to another user"
		or stat.mode & OTHERS ~= 0 and "is open to other users"
	if wrong then
		raise(("%s %s, so it isn't used"):format(path, wrong), "Find out who put it there; then remove it", { path = path })
	end
	return stat
end

-- A private folder, made where it is missing.
local function folder(path)
	local made, message, errno = fs.mkdir(path, FOLDER)
	if not made and errno ~= "EEXIST" then
		raise(("Can't create %s: %s"):format(path, message), "Name a directory that exists and that you may write to")
	end
	checked(path, "directory")
	return path
end

local function read(path)
	local text, message, errno
	for _ = 1, STALE do
		if not checked(path, "file") then
			return nil
		end
		text, message, errno = fs.read(path, MOST)
		if errno ~= "ESTALE" then
			break
		end
	end
	return text or errno ~= "ENOENT" and raise(("Can't read %s: %s"):format(path, message), "Make the shared directory readable") or nil
end

local function decoded(path, text)
	local value = codec.decode({ data = text }).data
	return type(value) == "table" and value or raise(path .. " is damaged", payload.DAMAGED, { path = path })
end

---Raises RESOURCE_EXHAUSTED where there is no room, PRECONDITION where nobody may write, OUTPUT_FAILED for whatever else.
---@param path string
---@param text string
local function write(path, text)
	local ok, message, errno = fs.write(path, text, FILE)
	if not ok then
		payload.raise_unwritten(message, errno, { path = path })
	end
end

M.write = write

-- --- making and opening --------------------------------------------------------------------------

---The folder of our units in a shared directory, made where it is missing. Raises PRECONDITION
---where another user could write to it, or put another one in its place.
---@param directory string absolute, there
---@return string path
function M.root(directory)
	local path = ("%s/runner-%d"):format(directory, our_uid())
	local safe, message, errno = fs.check_way(path)
	if not safe and errno == "EPERM" then
		raise(message, "Name a directory that others can't change, or make it sticky (chmod +t)")
	end
	return folder(path)
end

local function of(dir, about)
	return setmetatable({ dir = dir, about = about }, Unit)
end

-- What its tasks have begun can go on only where they began it: their items and journals are there.
local function check_same(key, dir, earlier)
	if earlier ~= dir then
		raise(("Step %s: its tasks began in %s; they can't go on in %s"):format(key, earlier, dir),
			"Give the executor the directory that it had; else run the workflow again", { path = earlier })
	elseif not checked(dir, "directory") then
		raise(("Step %s: the folder of its tasks, %s, isn't there any more, nor what they had left in it"):format(key, dir),
			"Put it back, or mount what it is on; else run the workflow again", { path = dir })
	end
end

---Make the folder of a unit.
---@param dir string
---@param known? boolean it has been there before: raises PRECONDITION where it isn't any more
function M.make(dir, known)
	if known and not checked(dir, "directory") then
		raise(("The folder of its tasks, %s, isn't there any more, nor what they had left in it"):format(dir),
			"Put it back, or mount what it is on; else run the workflow again", { path = dir })
	end
	folder(dir:match "^(.*)/")
	folder(dir)
end

---Raises PRECONDITION where the folder of a unit, or one above it that is ours, is not ours alone.
---@param dir string
function M.check(dir)
	for _, path in ipairs { dir:match "^(.*)/[^/]+/[^/]+$" or dir, dir:match "^(.*)/[^/]+$" or dir, dir } do
		if not checked(path, "directory") then
			raise(("The folder of the unit, %s, isn't there"):format(path), "Check that this machine mounts the shared directory",
				{ path = path })
		end
	end
end

---Make the folder of a unit, with unit.json and secrets.json. May be called again for the same
---one: both are written again, the rest stays. Raises PRECONDITION where the folder that it had
---is another one, or is gone.
---@param run table the run: id, workflow, scope, settings, seed, mask, secrets
---@param step runner.workflow.Step
---@param key string of the step in the run
---@param place runner.workflow.Place of the step
---@param executor {directory: string, wait_here_ms: integer?} wait_here_ms: a longer wait of an item is
---  left to the coordinator; default: 60000
---@param number integer of the unit in its run
---@param earlier? string the folder that it has had
---@return runner.workflow.Unit
function M.create(run, step, key, place, executor, number, earlier)
	local dir = ("%s/%s/%d"):format(M.root(executor.directory), paths.file_name(run.id, NAME_MAX), number)
	if earlier then
		check_same(key, dir, earlier)
	end
	M.make(dir)
	local about, private = payload.pack(run, step, key, place, dir)
	about.number, about.wait_here_ms, about.sizes = number, executor.wait_here_ms, #(executor.memory or {})
	write(dir .. "/secrets.json", codec.encode("data", private))
	write(dir .. "/unit.json", codec.encode("data", about))
	return of(dir, about)
end

---Open the folder of a unit. Raises PRECONDITION where it is missing, damaged or not ours alone.
---@param dir string absolute
---@return runner.workflow.Unit
function M.open(dir)
	M.check(dir)
	local path = dir .. "/unit.json"
	local about = decoded(path, read(path) or raise(path .. " isn't there", payload.DAMAGED, { path = path }))
	if about.format ~= payload.FORMAT then
		raise(("%s is of another version of runner: %s"):format(path, tostring(about.runner)), "Install the same runner on every machine",
			{ path = path })
	end
	return of(dir, about)
end

---A unit whose folder is known, without looking at what is in it.
---@param dir string
---@return runner.workflow.Unit
function M.at(dir)
	return of(dir)
end

---What unit.json and secrets.json say, for an engine.
---@return runner.workflow.Parcel
function Unit:payload()
	local path = self.dir .. "/secrets.json"
	return payload.unpack(self.about, decoded(path, read(path)
		or raise("The secrets of the unit aren't there any more: its step has ended", "Resume the run")), self.dir)
end

-- --- files of a chunk ----------------------------------------------------------------------------

---The path of a file of a chunk.
---@param chunk integer
---@param name "items"|"generation"|"lock"|"journal"|"logs"|"out"|"result"
---@return string
function Unit:path(chunk, name)
	return ("%s/%d.%s"):format(self.dir, chunk, name)
end

---Write the items of a chunk.
---@param chunk integer
---@param first integer the first item's number in the loop, from 1
---@param items any[]
function Unit:put_chunk(chunk, first, items)
	local lines = { codec.encode("data", { first = first, count = #items }) }
	for i, item in ipairs(items) do
		lines[i + 1] = codec.encode("data", item)
	end
	write(self:path(chunk, "items"), table.concat(lines, "\n") .. "\n")
end

local function is_head(value)
	return type(value) == "table" and math.type(value.first) == "integer" and value.first > 0
		and math.type(value.count) == "integer" and value.count >= 0
end

---Which items of the loop a chunk has. Raises PRECONDITION where its file doesn't say it.
---@param chunk integer
---@return integer first, integer count
function Unit:range(chunk)
	local path = self:path(chunk, "items")
	checked(path, "file")
	local file <close> = io.open(path, "rb")
	local head = codec.decode({ data = (file and file:read(HEAD) or ""):match "^[^\n]*" }).data
	if not is_head(head) then
		raise(path .. " is damaged", payload.DAMAGED, { path = path })
	end
	return head.first, head.count
end

---The items of a chunk. Raises PRECONDITION where the file isn't what put_chunk wrote.
---@param chunk integer
---@return integer first, any[] items
function Unit:items(chunk)
	local path, items, head = self:path(chunk, "items"), {}, nil
	for line in (read(path) or raise(path .. " isn't there", "Resume the run", { path = path })):gmatch "([^\n]*)\n" do
		local value = codec.decode({ data = line }).data
		if head then
			items[#items + 1] = value
		else
			head = is_head(value) and value or {}
		end
	end
	if not head or head.count ~= #items then
		raise(path .. " is damaged", "Resume the run", { path = path })
	end
	return head.first, items
end

---Say which placement of a chunk may write from now on.
---@param chunk integer
---@param generation integer
function Unit:set_generation(chunk, generation)
	write(self:path(chunk, "generation"), ("%d\n"):format(generation))
end

---@param chunk integer
---@return integer? generation nil: it has none yet
function Unit:generation(chunk)
	return math.tointeger(tonumber((read(self:path(chunk, "generation")) or ""):match "^(%d+)\n$"))
end

-- --- tasks of a placement ------------------------------------------------------------------------

---Is it a token: letters, digits, dots and dashes, at most 60?
---@param text string
---@return boolean
local function is_token(text)
	return #text <= TOKEN_MAX and text:find "^%w[%w.-]*$" ~= nil
end

---Write what the tasks of a placement are.
---@param token string
---@param list {chunk: integer, generation: integer, memory: integer, again: boolean?}[] again: what has failed
---  for good is tried once more, as `resume` does
---@param options? {retry_in_doubt: boolean?, mark_done: table<string, true>?} what the user has decided
function Unit:put_tasks(token, list, options)
	local lines = {}
	for i, task in ipairs(list) do
		lines[i] = ("%d %d %d%s\n"):format(task.chunk, task.generation, task.memory, task.again and " again" or "")
	end
	if options then
		write(("%s/%s.options"):format(self.dir, token), codec.encode("data", options))
	end
	write(("%s/%s.tasks"):format(self.dir, token), table.concat(lines))
end

---@class runner.workflow.Task
---@field chunk integer
---@field generation integer
---@field memory integer
---@field again boolean
---@field options {retry_in_doubt: boolean?, mark_done: table<string, true>?}

---A task of a placement. Raises PRECONDITION where the placement hasn't got it.
---@param token string
---@param index integer from 1
---@return runner.workflow.Task
function Unit:task(token, index)
	local path, number = ("%s/%s.tasks"):format(self.dir, token), 0
	for line in (is_token(token) and read(path) or ""):gmatch "([^\n]*)\n" do
		number = number + 1
		local chunk, generation, memory, again = line:match "^(%d+) (%d+) (%d+)(.*)$"
		if number == index and chunk and (again == "" or again == " again") then
			local options = read(("%s/%s.options"):format(self.dir, token))
			return { chunk = math.tointeger(chunk), generation = math.tointeger(generation), memory = math.tointeger(memory),
				again = again == " again", options = options and decoded(path, options) or {} }
		end
	end
	return raise(("%s has no task %d"):format(path, index), "Give the token and the number that the coordinator has given", { path = path })
end

-- --- the fence, and what is left ------------------------------------------------------------

---Take the fence of a chunk, for this process and the shepherds of its steps.
---@param chunk integer
---@return userdata? lock of runner.fs; nil: another task holds it
function Unit:take(chunk)
	local lock, why, about = fs.lock(self:path(chunk, "lock"), { wait_ms = 500 }) -- others look at it for an instant
	if not lock and why ~= "held" then
		raise(("Can't lock the chunk: %s"):format(why), "The shared directory must support flock, on every machine", { reason = about })
	end
	return lock
end

---Does anything of a task of this chunk live? Takes no lock and leaves no file.
---@param chunk integer
---@return "free"|"held"
function Unit:fence(chunk)
	local holder, message, errno = fs.locked(self:path(chunk, "lock"))
	if errno then
		raise(("Can't look at the lock of the chunk: %s"):format(message), "The shared directory must support flock", { reason = errno })
	end
	return holder and "held" or "free"
end

local STATES = { completed = true, failed = true, parked = true, doubt = true, memory = true }

---@class runner.workflow.ChunkResult
---@field generation integer
---@field state "completed"|"failed"|"parked"|"doubt"|"memory" memory: it needs more, which there is
---@field bytes integer of the journal that it stands on
---@field wake_ms integer? of a parked one: when its first item goes on, ms since the epoch
---@field wait_ms integer? how long that is after its end
---@field error table? of one that failed or is in doubt: the fields of a runner.Error
---@field failed {key: string, transient: boolean}? the step that failed
---@field items table? of a loop: item → { key = of the step that gave its result, failed? } or { error }
---@field warnings {code: string, message: string}[]? for the run's envelope
---@field started_ms integer
---@field ended_ms integer
---@field host string

local function is_result(value)
	local function whole(v)
		return math.type(v) == "integer" and v >= 0
	end
	return STATES[value.state] and whole(value.generation) and whole(value.bytes) and (value.wake_ms == nil or whole(value.wake_ms))
		and (value.wait_ms == nil or whole(value.wait_ms)) and (value.state ~= "parked" or value.wake_ms)
		and (value.error == nil or type(value.error) == "table" and errors.well_formed(value.error.code))
		and (value.items == nil or type(value.items) == "table") and whole(value.started_ms) and whole(value.ended_ms)
end

---How a chunk ended. Raises PRECONDITION for a file that says something else.
---@param chunk integer
---@return runner.workflow.ChunkResult? nil: it hasn't
function Unit:result(chunk)
	local path = self:path(chunk, "result")
	local text = read(path)
	local value = text and decoded(path, text)
	if value and not is_result(value) then
		raise(path .. " is damaged", "Find out who wrote it; then remove it and resume the run", { path = path })
	end
	return value
end

---Is all of the journal that a result stands on to be seen from here? What is cached of a file may be older.
---@param chunk integer
---@param result runner.workflow.ChunkResult
---@return boolean
function Unit:is_whole(chunk, result)
	local stat = fs.lstat(self:path(chunk, "journal"))
	return result.bytes == 0 or stat ~= nil and stat.size >= result.bytes
end

---Write how a chunk ended: whole or not at all, and on the disk.
---@param chunk integer
---@param result runner.workflow.ChunkResult
function Unit:put_result(chunk, result)
	write(self:path(chunk, "result"), codec.encode("data", result))
end

-- --- the end -------------------------------------------------------------------------------------

---The step is over, and all of it is imported: leave its logs and its long outputs alone.
---@param kept? string a file that stays, too
function Unit:finish(kept)
	for _, name in ipairs(fs.list(self.dir) or {}) do
		if not name:find "%.logs$" and not name:find "%.out$" and name ~= kept then
			fs.unlink(self.dir .. "/" .. name)
		end
	end
end

---@return boolean
function Unit:holds_secrets()
	return fs.lstat(self.dir .. "/secrets.json") ~= nil
end

---Nothing of the step runs any more; a resumed run writes them again.
function Unit:forget()
	fs.unlink(self.dir .. "/secrets.json")
end

---Remove the folder, and that of the run where this was the last unit in it.
---@return true? removed, string? message
function Unit:remove()
	local done, message = fs.remove_tree(self.dir)
	if done then
		fs.rmdir(self.dir:match "^(.*)/")
	end
	return done, message
end

return M
