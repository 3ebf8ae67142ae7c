-- changes: which files have changed since the last look. The kernel says when to look (fs.watch);
-- what has changed is found by looking: so a queue that overflows, an editor that renames, a
-- directory that is removed and made again and an order of events need no rules of their own.
-- A directory is watched before it is listed: what comes in between is seen at the next look.

local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local MAX_DEPTH = 100
-- Where nothing has said that something changed: what other machines do on a shared file system, and
-- what comes through a link or a mapping of memory, the kernel doesn't say.
local ANYWAY_MS, SHARE = 1000, 50
local BURST = 20 -- times quiet_ms: no longer is the end of changes waited for
local GONE = { ENOENT = true, ENOTDIR = true }

---@class runner.ChangesOptions
---@field roots string[] files and directories, absolute; they may come and go
---@field enter fun(dir: string, above: any): any|false before a directory is listed: what `takes` gets; false: it is left out
---@field takes fun(path: string, name: string, stat: table, at: any): boolean is this file or directory looked at?

---@class runner.Changes: runner.ChangesOptions
---@field kernel userdata? fs.Watch
---@field unread? string a directory that can't be read
---@field blind? string why the kernel doesn't say everything: an errno's name
---@field files table<string, string> what each file was
---@field count integer of files
---@field folders integer
---@field took_ms number for the last look
local Changes = {}
Changes.__index = Changes

-- A file that has another one of these has changed.
local function mark_of(stat)
	return ("djjj"):pack(stat.mtime, stat.size, stat.ino, stat.mode)
end

function Changes:alarm(path)
	local ok, _, errno = false, nil, nil
	if self.kernel then
		ok, _, errno = self.kernel:add(path)
	end
	if not ok and not GONE[errno] and errno ~= "EACCES" then
		self.blind = self.blind or errno or "EMFILE"
	end
end

-- The nearest directory above what isn't there, so that the kernel says when it comes.
function Changes:alarm_above(path)
	local above = path:match "^(.+)/[^/]+$" or "/"
	if fs.stat(above) or above == "/" then
		self:alarm(above)
	else
		self:alarm_above(above)
	end
end

function Changes:walk(dir, above, now, depth)
	local at = depth <= MAX_DEPTH and self.enter(dir, above)
	if not at then
		return
	end
	self:alarm(dir)
	self.folders = self.folders + 1
	local prefix = dir == "/" and dir or dir .. "/"
	local names, _, errno = fs.list(dir)
	self.unread = self.unread or not names and not GONE[errno] and dir or nil
	for _, name in ipairs(names or {}) do
		local path = prefix .. name
		local stat = fs.lstat(path)
		if stat and stat.type == "link" then
			local target = fs.stat(path)
			stat = target and target.type ~= "directory" and target or stat -- a directory behind a link is not entered
		end
		if stat and self.takes(path, name, stat, at) then
			if stat.type == "directory" then
				self:walk(path, at, now, depth + 1)
			elseif stat.type == "file" or stat.type == "link" then
				now[path] = mark_of(stat)
			end
		end
	end
end

function Changes:root(path, now)
	local stat = fs.stat(path)
	if stat and stat.type == "directory" then
		self:walk(path, nil, now, 1)
	elseif stat then
		self:alarm_above(path) -- an editor may put another file in its place
		self:alarm(path)
		now[path] = mark_of(stat)
	else
		self:alarm_above(path)
	end
end

---Look at all files.
---@return string[] changed paths of those that have come, gone or become others since the last look, sorted
function Changes:look()
	local began, now, changed, count = host.now(), {}, {}, 0
	if self.kernel then
		self.kernel:wait(0) -- what it has said until now is seen below
	end
	self.folders, self.blind, self.unread = 0, nil, nil
	for _, path in ipairs(self.roots) do
		self:root(path, now)
	end
	for path, mark in pairs(now) do
		count = count + 1
		if self.files[path] ~= mark then
			changed[#changed + 1] = path
		end
	end
	for path in pairs(self.files) do
		if not now[path] then
			changed[#changed + 1] = path
		end
	end
	table.sort(changed)
	self.files, self.count, self.took_ms = now, count, host.now() - began
	return changed
end

---How long to sleep at most before the next look, in ms: looking takes a fiftieth of the time.
---@return integer
function Changes:pause_ms()
	return math.ceil(math.max(ANYWAY_MS, self.took_ms * SHARE))
end

---Sleep until the kernel says that something has happened.
---@param ms integer at most
---@return boolean said
function Changes:wait(ms)
	if self.kernel then
		return self.kernel:wait(ms)
	end
	host.sleep(ms)
	return false
end

-- Of many changes at once, such as a checkout, the last one.
local function wait_for_quiet(wait, quiet_ms)
	for _ = 1, BURST do
		local said = wait(quiet_ms)
		if not said then
			return said
		end
	end
	return false
end

---What has changed since the last look: all of it, if more is coming.
---@param quiet_ms integer
---@return string[] changed
function Changes:since(quiet_ms)
	local changed = self:look()
	if changed[1] then
		local seen = {}
		for _, path in ipairs(changed) do
			seen[path] = true
		end
		wait_for_quiet(function(ms) return self:wait(ms) end, quiet_ms)
		for _, path in ipairs(self:look()) do
			changed[#changed + 1] = not seen[path] and path or nil
		end
	end
	return changed
end

---Sleep until files have changed, and nothing has for a while.
---@param quiet_ms integer
---@param wait? fun(ms: integer): boolean? in place of Changes:wait; nil: give up
---@return string[]? changed nil: `wait` gave up
function Changes:next(quiet_ms, wait)
	wait = wait or function(ms) return self:wait(ms) end
	while true do
		local said = wait(self:pause_ms())
		if said then
			said = wait_for_quiet(wait, quiet_ms)
		end
		if said == nil then
			return nil
		end
		local changed = self:look()
		if changed[1] then
			return changed
		end
	end
end

function Changes:__close()
	if self.kernel then
		self.kernel:close()
	end
end

---Begin: what is there now has not changed.
---@param options runner.ChangesOptions
---@return runner.Changes a to-be-closed value
function M.new(options)
	local changes = setmetatable({ roots = options.roots, enter = options.enter, takes = options.takes, files = {}, folders = 0,
		kernel = fs.watch() }, Changes)
	changes:look()
	return changes
end

return M
