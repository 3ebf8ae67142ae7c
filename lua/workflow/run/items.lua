-- items: what a foreach loops over, one item after the other: a list, or the lines of a
-- file, which are read as they are needed. It runs nothing.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local variables = require "runner.workflow.expr.variables"

local M = {}

local CHUNK = 65536
local LINE_MAX = 1 << 20

---@class runner.workflow.Items
---@field next fun(): any the next item; nil: there are no more. Raises if the file has changed
---@field stored any what `resume` needs to loop over the same ones

-- --- a list ---------------------------------------------------------------------------

local function of_list(list, most)
	local at, last = 0, math.min(#list, most or #list)
	local stored = json.array(last < #list and table.move(list, 1, last, 1, {}) or list)
	return { stored = stored, next = function()
		at = at + 1
		return stored[at]
	end }
end

local function lines_of(text)
	local items = {}
	for line in text:gmatch("[^\r\n]+") do
		items[#items + 1] = line
	end
	return items
end

local function expanded(items, scope)
	local out = {}
	for i, item in ipairs(items) do
		out[i] = type(item) == "string" and variables.value(item, scope) or item
	end
	return out
end

-- --- the lines of a file ----------------------------------------------------------------

local function raise_unreadable(path, why)
	errors.raise("PRECONDITION", ("foreach can't read %s: %s"):format(path, why),
		{ suggestion = "Create the file before the loop starts, or fix its path" })
end

local function raise_changed(path)
	errors.raise("CONFLICT", ("The file of a foreach, %s, has changed since the loop started"):format(path),
		{ suggestion = "Restore the file and resume, or start the workflow again" })
end

-- The first `bytes` of a file in chunks, and the digest of what came so far.
local function chunks(path, bytes)
	local file, why = io.open(path, "rb")
	if not file then
		raise_unreadable(path, why)
	end
	local left, digest = bytes, ""
	return function()
		local text = left > 0 and file:read(math.min(CHUNK, left))
		if not text then
			left = 0
			return nil, digest
		end
		left, digest = left - #text, host.digest(digest .. text)
		return text, digest
	end
end

local function digest_of(path, bytes)
	local digest
	for _, so_far in chunks(path, bytes) do
		digest = so_far
	end
	return digest or ""
end

-- Its items are the lines it has now; what is appended later is none of them.
local function describe(path)
	local stat, why = fs.stat(path)
	if not stat or stat.type ~= "file" then
		raise_unreadable(path, why or "it is not a regular file")
	end
	return { file = path, bytes = stat.size, digest = digest_of(path, stat.size) }
end

local function check_length(path, line)
	if #line > LINE_MAX then
		errors.raise("PRECONDITION", ("foreach: a line of %s is longer than 1 MiB"):format(path),
			{ suggestion = "Write one item per line" })
	end
	return line
end

-- The lines that are not empty, without what ends them.
local function line_reader(described)
	local read, text, at = chunks(described.file, described.bytes), "", 1
	local function more()
		local piece, digest = read()
		if piece then
			text, at = check_length(described.file, text:sub(at)) .. piece, 1
		elseif digest ~= described.digest then
			raise_changed(described.file)
		end
		return piece
	end
	return function()
		while true do
			local from, to = text:find("[^\r\n]+", at)
			if from and (to < #text or not more()) then
				at = to + 1
				return check_length(described.file, text:sub(from, to))
			elseif not from then
				at = #text + 1
				if not more() then
					return nil
				end
			end
		end
	end
end

local function of_file(described, most)
	local read, count = line_reader(described), 0
	return { stored = described, next = function()
		count = count + 1
		if count <= (most or math.huge) then
			return read()
		end
	end }
end

-- Those of an earlier process, if the file is still what it was.
local function again(stored, most)
	if stored.file == nil then
		return of_list(stored)
	elseif digest_of(stored.file, stored.bytes) ~= stored.digest then
		raise_changed(stored.file)
	end
	return of_file(stored, most)
end

-- --- what the step says --------------------------------------------------------------------

local function file_of(step, scope, cwd)
	if step.items_file then
		return paths.absolute(variables.expand(step.items_file, scope), cwd)
	end
	return type(step.items) == "string" and variables.file(step.items, scope)
end

local function list_of(step, scope)
	local items = step.items
	if type(items) == "string" then
		items = variables.value(items, scope)
	else
		items = expanded(items, scope)
	end
	if type(items) == "string" then
		return lines_of(items)
	elseif type(items) ~= "table" or items[1] == nil and next(items) ~= nil then
		errors.raise("PRECONDITION", ("foreach needs a list, not %s"):format(variables.text(items)))
	end
	return items
end

---What to loop over. Raises PRECONDITION where it isn't a list, CONFLICT where its file has
---changed since an earlier process began the loop.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param from {cwd: string, stored: any} stored: `stored` of the earlier process
---@return runner.workflow.Items
function M.of(step, scope, from)
	if type(from.stored) == "table" then
		return again(from.stored, step.max_items)
	end
	local path = file_of(step, scope, from.cwd)
	if path then
		return of_file(describe(path), step.max_items)
	end
	return of_list(list_of(step, scope), step.max_items)
end

return M
