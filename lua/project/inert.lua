-- inert: the files of a project that its user has not called yet: read for what they declare, and not run
-- (docs/design.md#known-projects). The reading itself is done by lua/project/inert_state.lua, in a process of its
-- own; here its bytes become a value again, whose functions are never called. Loaded for such a project.

local computed = require "runner.declare.computed"
local errors = require "runner.core.errors"
local host = require "runner.host"
local locate = require "runner.project.locate"

local M = {}

local MAX_DEPTH = 200
local WHY = {
	start = "no process could be started to read it",
	work = "reading it takes too much work or memory",
	spent = "reading other files of the project took too much work",
}

-- --- the value ----------------------------------------------------------------------------------

local function uncalled()
	local function f() end
	computed.uncalled[f] = true
	return f
end

local read

local function read_table(s, depth)
	local made = {}
	s.tables[#s.tables + 1] = made
	while s.bytes:byte(s.at) ~= 125 do -- "}"
		local key = read(s, depth + 1)
		made[key] = read(s, depth + 1)
	end
	s.at = s.at + 1
	return made
end

local UNPACKED = { s = "<s4", i = "<j", n = "<n", r = "<I4" }

function read(s, depth)
	local kind, at = s.bytes:sub(s.at, s.at), s.at + 1
	s.at = at
	if depth > MAX_DEPTH then
		error "too deep"
	elseif UNPACKED[kind] then
		local value
		value, s.at = string.unpack(UNPACKED[kind], s.bytes, at)
		return kind == "r" and s.tables[value] or value
	elseif kind == "{" then
		return read_table(s, depth)
	elseif kind == "t" or kind == "f" then
		return kind == "t"
	elseif kind == "X" then
		s.stubs = true -- what it is isn't known
		return uncalled()
	elseif kind == "F" then
		return uncalled()
	end
	return kind ~= "z" and error "not a value" or nil
end

-- --- files --------------------------------------------------------------------------------------

---The problem of a file that can't be read so.
---@param path string
---@param reason string
---@return runner.Error problem its `unread` is the reason
function M.problem(path, reason)
	local root = locate.project_root() or path:match "^(.*)/" or "."
	local e = errors.new("PRECONDITION", ("%s is not run, since no command of this project has run for you, and can't be read "
		.. "without that: %s"):format(path, reason), { phase = "validation", side_effects = "none", context = { path = path },
		fix_required = ("Run a command of the project, or trust it: set RUNNER_TRUST=%s"):format(root) })
	e.unread = reason
	return e
end

---The problem of a file whose value is not known where it matters.
---@param path string
---@return runner.Error
function M.partial(path)
	return M.problem(path, "some of what it declares comes from a module of runner's, which is not loaded for that")
end

---What a file returns, with functions that do nothing.
---@param path string
---@param text string of the file
---@return any value
---@return runner.Error? problem
---@return true? partial some of the value is not known: it came from a module of runner's
function M.value(path, text)
	local bytes, why = host.read_inert(text, path, package.path .. "\n" .. package.cpath)
	if not bytes then
		return nil, M.problem(path, WHY[why])
	elseif bytes:sub(1, 1) ~= "V" then
		return nil, M.problem(path, bytes:sub(2))
	end
	local s = { bytes = bytes, at = 2, tables = {} }
	local ok, value = pcall(read, s, 0)
	if not ok then
		return nil, M.problem(path, "it returns no declaration")
	end
	return value, nil, s.stubs
end

return M
