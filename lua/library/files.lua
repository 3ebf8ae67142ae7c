-- files: the functions of `require "fs"` that are made of others: glob, walk, copy, tempfile, hash.
-- The C module loads this when a script asks for the first of them. As there, a failure is nil,
-- a message and the errno's name.

local check = require "runner.library.check"
local fs = require "runner.fs"
local globs = require "runner.core.globs"
local host = require "runner.host"
local returned = require "runner.core.returned"

local M = {}

-- --- glob ------------------------------------------------------------------------------------

local GONE = { ENOENT = true, ENOTDIR = true }

local Glob = {}
Glob.__index = Glob

-- The names in a directory; none where it is gone or no directory.
function Glob:names(dir)
	local names, why, errno = fs.list(dir == "" and "." or dir)
	if not names and not GONE[errno] then
		error({ why, errno }, 0)
	end
	return names or {}
end

function Glob:add(path)
	if not self.seen[path] then
		self.seen[path] = true
		self.found[#self.found + 1] = path
	end
end

-- `at` is "" or ends in a slash; the real place is below self.dir.
function Glob:below(at, parts, n)
	local part = parts[n]
	if not part then
		return at ~= "" and self:add((at:gsub("(.)/$", "%1")))
	elseif part == "**" then
		self:below(at, parts, n + 1)
		for _, name in ipairs(self:names(self.dir .. at)) do
			local stat = name:sub(1, 1) ~= "." and fs.lstat(self.dir .. at .. name)
			if stat and stat.type == "directory" then
				self:below(at .. name .. "/", parts, n)
			elseif stat and n == #parts then
				self:add(at .. name)
			end
		end
		return
	end
	local pattern = globs.name_pattern(part)
	if not pattern then
		return fs.lstat(self.dir .. at .. part) and self:below(at .. part .. "/", parts, n + 1)
	end
	for _, name in ipairs(self:names(self.dir .. at)) do
		if name:find(pattern) and (name:sub(1, 1) ~= "." or part:sub(1, 1) == ".") then
			self:below(at .. name .. "/", parts, n + 1)
		end
	end
end

---The paths that match a pattern, sorted: * and ? inside a name, [a-z], {one,two}, and ** for any
---directories. Names with a dot in front match only where the pattern has one; ** enters no link.
---@param pattern string
---@param dir? string that a relative pattern starts at, and that the paths are relative to; default: the working directory
---@return string[]? paths empty where nothing matches
---@return string? message, string? errno
function M.glob(pattern, dir)
	check.strings("fs.glob", pattern, dir or "")
	local glob = setmetatable({ found = {}, seen = {}, dir = dir and dir ~= "" and (dir:gsub("/*$", "") .. "/") or "" }, Glob)
	local base = glob.dir
	local ok, raised = pcall(function()
		for _, one in ipairs(globs.expand(pattern)) do
			local parts = {}
			for part in one:gmatch "[^/]+" do
				parts[#parts + 1] = part
			end
			local absolute = one:sub(1, 1) == "/"
			glob.dir = absolute and "" or base
			glob:below(absolute and "/" or "", parts, 1)
		end
	end)
	if not ok and type(raised) == "table" and raised[2] then
		return nil, raised[1], raised[2]
	elseif not ok then
		error(raised, 0)
	end
	table.sort(glob.found)
	return glob.found
end

-- --- walk ------------------------------------------------------------------------------------

---Every path below a directory and its fs.Stat, a directory before what is in it, in order of names:
---for path, stat in fs.walk(dir) do. No link is followed; a failure raises.
---@param dir string
---@return fun(): string?, table?
function M.walk(dir)
	check.strings("fs.walk", dir)
	local stack = { { dir = dir:gsub("(.)/+$", "%1"), names = returned.check(fs.list(dir)), at = 0 } }
	return function()
		local top = stack[#stack]
		while top and top.at >= #top.names do
			stack[#stack] = nil
			top = stack[#stack]
		end
		if not top then
			return nil
		end
		top.at = top.at + 1
		local path = (top.dir == "/" and "" or top.dir) .. "/" .. top.names[top.at]
		local stat = returned.check(fs.lstat(path))
		if stat.type == "directory" then
			stack[#stack + 1] = { dir = path, names = returned.check(fs.list(path)), at = 0 }
		end
		return path, stat
	end
end

-- --- files ---------------------------------------------------------------------------------

local function beside(path)
	local dir, name = path:match "^(.*/)([^/]*)$"
	return ("%s.%s.%012x.tmp"):format(dir or "", (name or path):sub(1, 200), host.random() & 0xffffffffffff)
end

---Copy a file with its permissions, of any size; one that is there is replaced at once, by the
---whole copy. Links are followed. For directories there is fs.copy_tree.
---@param from string
---@param to string
---@return boolean? ok
---@return string? message, string? errno
function M.copy(from, to)
	check.strings("fs.copy", from, to)
	local stat, why, errno = fs.stat(from)
	if not stat then
		return nil, why, errno
	elseif stat.type ~= "file" then
		return nil, ("copy %s: not a file"):format(from), stat.type == "directory" and "EISDIR" or "EINVAL"
	end
	local temporary = beside(to)
	for _, step in ipairs { { fs.copy_tree, fs.realpath(from) or from, temporary }, { fs.replace, temporary, to, stat.mode & 511 } } do -- 0777
		local ok, problem, name = step[1](step[2], step[3], step[4])
		if not ok then
			fs.unlink(temporary)
			return nil, problem, name
		end
	end
	return true
end

---Make an empty file that only this user may read, and that has a name of its own.
---@param dir? string default: ctx.tempdir, which is gone after the run
---@param suffix? string of its name: ".json"
---@return string? path
---@return string? message, string? errno
function M.tempfile(dir, suffix)
	check.strings("fs.tempfile", dir or "", suffix or "")
	if not dir then
		local ctx = require("runner.core.attempt").ctx
		dir = ctx and ctx.tempdir or os.getenv "TMPDIR" or "/tmp"
	end
	for _ = 1, 100 do
		local path = ("%s/tmp-%016x%s"):format(dir, host.random(), suffix or "")
		local ok, why, errno = fs.create(path, "")
		if ok then
			ok, why, errno = fs.chmod(path, tonumber("600", 8))
		end
		if ok then
			return path
		elseif errno ~= "EEXIST" then
			return nil, why, errno
		end
	end
	return nil, ("tempfile %s: no free name"):format(dir), "EEXIST"
end

---The digest of a file's bytes, in hexadecimal.
---@param path string
---@param algorithm? "sha256"|"sha512"|"sha384"|"sha1"|"md5" default "sha256"
---@return string? digest
---@return string? message, string? errno
function M.hash(path, algorithm)
	check.strings("fs.hash", path, algorithm or "")
	return require("runner.digest").file(algorithm or "sha256", path)
end

return M
