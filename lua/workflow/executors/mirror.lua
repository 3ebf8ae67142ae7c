-- mirror: the folder of a placed step that is on the other side of ssh (via.lua), as the coordinator uses
-- one (step_folder.lua): a copy of it among our own files. What tasks need is written here and pushed
-- before they are submitted; what they leave is pulled once a chunk has its result, which comes last.
-- Whether a fence is free is asked, and known until the next change. Call it inside scheduler tasks.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local step_folder = require "runner.workflow.executors.step_folder"
local via = require "runner.workflow.executors.via"

local M = {}

local FILE = 384 -- 0600

---@class runner.workflow.Mirror: runner.workflow.Unit
---@field executor runner.Executor
---@field run string
---@field number integer
---@field dirty table<string, integer> files that the other side hasn't got whole → bytes that it has
---@field coming table<integer, table> chunk → generation, and how far its files have come, until its result is here
---@field seen table<integer, table> chunk → what was seen of it there
local Mirror = setmetatable({}, { __index = step_folder.Unit })
Mirror.__index = Mirror

local function of(unit, executor, run, number)
	return setmetatable({ dir = unit.dir, about = unit.about, executor = executor, run = run, number = number, dirty = {}, seen = {},
		coming = {} }, Mirror)
end

---Where it is there.
---@return { run: string, number: integer }
function Mirror:address()
	return { run = self.run, number = self.number }
end

-- Ask about this folder. What the other side refuses for good ends the step.
function Mirror:ask(request)
	request.unit, request.lenient = self:address(), self.lenient
	local data, problem = via.ask(self.executor, request)
	if problem and problem.kind == "refused" then
		errors.raise(problem.code, problem.message, { retryable = false, suggestion = problem.suggestion, side_effects = "partial" })
	end
	return data, problem
end

---Make the folder on both sides. Raises UNAVAILABLE where the host can't be reached, PRECONDITION as step_folder.create does.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param executor runner.Executor with via
---@param number integer
---@param here string the directory of the copies
---@param earlier? string the copy that it has had
---@return runner.workflow.Mirror
function M.create(run, step, key, place, executor, number, here, earlier)
	local there = via.first(executor, { unit = { run = run.id, number = number }, make = true, known = earlier ~= nil })
	local settings = setmetatable({ cwd = tostring(there.directory) }, { __index = run.settings })
	local unit = step_folder.create(setmetatable({ settings = settings }, { __index = run }), step, key, place,
		setmetatable({ directory = here }, { __index = executor }), number, earlier)
	local self = of(unit, executor, run.id, number)
	for _, name in ipairs(fs.list(self.dir) or {}) do
		self.dirty[name] = name:find "^scope%-%d+$" and 0 or nil
	end
	self.dirty["secrets.json"], self.dirty["unit.json"] = 0, 0
	return self
end

---A mirror that is known by its row, to end what is placed: nothing is missed if the folder is gone there.
---@param dir string
---@param executor runner.Executor
---@param run string
---@param number integer
---@return runner.workflow.Mirror
function M.at(dir, executor, run, number)
	local self = of(step_folder.at(dir), executor, run, number)
	self.lenient = true
	return self
end

-- --- there ---------------------------------------------------------------------------------------

function Mirror:put_chunk(chunk, first, items)
	step_folder.Unit.put_chunk(self, chunk, first, items)
	self.dirty[chunk .. ".items"] = 0
end

-- The items with it: an earlier process may not have come to send them.
function Mirror:set_generation(chunk, generation)
	step_folder.Unit.set_generation(self, chunk, generation)
	self.dirty[chunk .. ".generation"], self.seen[chunk] = 0, nil
	self.dirty[chunk .. ".items"] = self.dirty[chunk .. ".items"] or fs.lstat(self:path(chunk, "items")) and 0 or nil
end

function Mirror:put_tasks(token, list, options)
	step_folder.Unit.put_tasks(self, token, list, options)
	self.dirty[token .. ".tasks"] = 0
	self.dirty[token .. ".options"] = options and 0 or nil
end

local function slice_of(path, from, most)
	local file <close> = io.open(path, "rb")
	if not file or not file:seek("set", from) then
		return nil
	end
	return file:read(most) or ""
end

-- As much as one question takes.
local function next_slices(self)
	local slices, room = json.array {}, via.slice(self.executor)
	for name, from in pairs(self.dirty) do
		local stat = fs.stat(self.dir .. "/" .. name)
		local bytes = room > 0 and slice_of(self.dir .. "/" .. name, from, room)
		if not stat then
			self.dirty[name] = nil -- it was removed since
		elseif bytes then
			slices[#slices + 1] = { name = name, from = from, total = stat.size, data = via.packed(bytes) }
			room = via.room(room, #bytes)
		end
	end
	return slices
end

---Send what the other side hasn't got. What it has stays there, if the line is cut.
---@return runner.PlaceProblem? problem
---@return boolean? moved some of it has arrived all the same
function Mirror:push()
	local moved = false
	while next(self.dirty) do
		local slices = next_slices(self)
		local data, problem = self:ask { put = slices }
		local has = data and type(data.put) == "table" and data.put -- not where the folder is gone, and it isn't needed
		for i, slice in ipairs(data and slices or {}) do
			local there = has and (math.tointeger(has[i]) or 0) or slice.total
			self.dirty[slice.name] = there < slice.total and there or nil
			problem = there < slice.from + slice.data.size and { kind = "unknown", code = "UNAVAILABLE",
				message = "what was sent before isn't there any more" } or problem
		end
		if problem then
			return problem, not data and moved
		end
		moved = true
	end
end

-- --- back ----------------------------------------------------------------------------------------

-- Of a chunk: its files; nothing else is written here, whatever an answer says.
local function is_ours(name, chunk)
	local of_chunk, rest = name:match "^(%d+)%.(.+)$"
	local below = rest and rest:match "^out/([^/%z]+)$"
	return of_chunk == tostring(chunk) and (rest == "journal" or rest == "logs" or rest == "result"
		or below ~= nil and below ~= "." and below ~= "..")
end

local function raise_unwritten(path, why)
	errors.raise("OUTPUT_FAILED", ("Can't write %s: %s"):format(path, why or "?"), { retryable = false, fix_required = "Make room there" })
end

-- One file more, or one slice of it; where it is whole, in its place.
local function take(self, wanted, slice)
	local path, bytes = self.dir .. "/" .. wanted.name, via.unpacked(slice.data)
	if slice.name ~= wanted.name or slice.from ~= wanted.from or not bytes or math.tointeger(slice.total) == nil then
		return false
	elseif slice.total ~= (wanted.total or slice.total) then
		wanted.from, wanted.total = 0, nil -- it is another file by now
		return false
	end
	local part = path .. ".part"
	if wanted.from == 0 then
		local ok, why = fs.write(part, "", FILE, false)
		local _ = ok or raise_unwritten(part, why)
	end
	local file <close> = io.open(part, "r+b") or raise_unwritten(part, "it can't be opened")
	local ok, why = file:seek("set", wanted.from)
	ok, why = ok and file:write(bytes), why
	ok, why = ok and file:close(), why
	local _ = ok or raise_unwritten(part, why)
	wanted.from, wanted.total = wanted.from + #bytes, slice.total
	if wanted.from < wanted.total then
		return #bytes > 0
	end
	ok, why = fs.replace(part, path)
	wanted.whole = ok or raise_unwritten(path, why)
	if wanted.last then
		self.coming[wanted.last] = nil
	end
	return true
end

-- The files of a chunk that has a result, its result last: those that aren't here yet, and how much of them is.
local function wanted_of(self, row, files)
	local coming = self.coming[row.chunk]
	if not coming or coming.generation ~= row.generation then
		coming = { generation = row.generation }
		self.coming[row.chunk] = coming
	end
	local list, result = {}, nil
	for _, name in ipairs(files) do
		if type(name) == "string" and is_ours(name, row.chunk) then
			local one = coming[name] or { name = name, from = 0, last = name == row.chunk .. ".result" and row.chunk }
			coming[name] = one
			result = one.last and one or result
			list[#list + 1] = not one.last and not one.whole and one or nil
		end
	end
	list[#list + 1] = result
	fs.mkdir(self:path(row.chunk, "out"), 448)
	return list
end

local function fetch(self, list)
	local at = 1
	while list[at] do
		local names = json.array {}
		for i = at, math.min(at + 200, #list) do
			names[#names + 1] = { name = list[i].name, from = list[i].from }
		end
		local data, problem = self:ask { get = names }
		for _, slice in ipairs(data and type(data.get) == "table" and data.get or {}) do
			if not list[at] or type(slice) ~= "table" or not take(self, list[at], slice) then
				return { kind = "unknown", code = "UNAVAILABLE", message = "what came back is not what was asked for" }
			end
			at = list[at].whole and at + 1 or at
		end
		if not data or #(data.get or {}) == 0 then
			return problem or { kind = "unknown", code = "UNAVAILABLE", message = "a file that was there is gone" }
		end
	end
end

local function note(self, chunks, answer)
	local list = {}
	for i, chunk in ipairs(chunks) do
		local row = answer[i]
		if type(row) == "table" and row.chunk == chunk.chunk then
			self.seen[chunk.chunk] = { fence = row.fence == "free" and "free" or "held" }
			for _, one in ipairs(type(row.files) == "table" and wanted_of(self, chunk, row.files) or {}) do
				list[#list + 1] = one
			end
		end
	end
	return list
end

---Look at chunks there, and take over what those with a result have left. What isn't known then, `fence` calls unknown.
---@param chunks runner.workflow.ChunkRow[] those that are placed
---@return runner.PlaceProblem? problem
function Mirror:refresh(chunks)
	local rows = json.array {}
	for i, chunk in ipairs(chunks) do
		self.seen[chunk.chunk] = nil
		rows[i] = { chunk = chunk.chunk, generation = chunk.generation }
	end
	local problem = rows[1] and next(self.dirty) and self:push()
	if problem or not rows[1] then
		return problem or nil
	end
	local data
	data, problem = self:ask { look = rows }
	if not data then
		return problem
	end
	local list = note(self, chunks, type(data.look) == "table" and data.look or {})
	problem = fetch(self, list)
	if problem then
		self.seen = {}
	end
	return problem
end

function Mirror:fence(chunk)
	local seen = self.seen[chunk]
	return seen and seen.fence or "unknown"
end

-- --- the end -------------------------------------------------------------------------------------

local END_MS = 5000
local unreached = {} -- host → true: several tries were in vain

-- As long as its secrets may be there, an empty file says so here.
local function ask_for_the_end(self, request)
	request.unit, request.lenient = self:address(), true
	local _ = self:holds_secrets() and fs.write(self.dir .. "/secrets.json", "", FILE)
	local ask = unreached[self.executor.via] and via.ask or via.insist
	local data, problem = ask(self.executor, request, END_MS)
	unreached[self.executor.via] = not data or nil
	local _ = data and step_folder.Unit.forget(self)
	return not data and problem or nil
end

---Nothing of it runs any more.
---@return runner.PlaceProblem? problem its secrets may still be there
function Mirror:forget()
	return ask_for_the_end(self, { forget = true })
end

---All of it is imported: there it goes whole, here its logs and long outputs stay.
---@return runner.PlaceProblem? problem the other side still has it
function Mirror:finish()
	local problem = ask_for_the_end(self, { remove = true })
	step_folder.Unit.finish(self, problem and "secrets.json")
	return problem
end

return M
