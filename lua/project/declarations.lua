-- declarations: what lists and completion say of command files (description, danger, hidden), from a cache
-- where a file is unchanged, so that a thousand of them need not be loaded for a Tab. A file of the cache
-- belongs to one folder of commands; it is text that is compared and never evaluated, nothing is run
-- because of it, and without it files are loaded (docs/design.md#known-projects). Loaded for lists alone; only
-- commands that read a whole project write it.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local fs = require "runner.fs"
local host = require "runner.host"
local listing = require "runner.listing"
local paths = require "runner.core.paths"

local M = {}

local PRIVATE_FOLDER, PRIVATE_FILE = 448, 384 -- 0700, 0600
local FILE_MAX = 8 << 20 -- bytes
local KEPT_MS = 30 * 24 * 3600 * 1000
local LONGEST = 4096 -- bytes of a line; what is longer is loaded each time

---A script for a shell is text wherever it goes, unless a flag says otherwise.
---@param a runner.Attempt of `completion`
function M.settle_script(a)
	if a.call.names[2] and not (" " .. table.concat(a.call.argv, " ") .. " "):find " %-%- " then
		a.launch.format = "plain"
	end
end

-- --- what a file requires --------------------------------------------------------------------

local graph, loading = {}, nil -- path → set of paths that it requires; the set of what loads now

local STANDARD = { _G = true, coroutine = true, debug = true, io = true, math = true, os = true, package = true,
	string = true, table = true, utf8 = true }

local early -- modules of scripts that were loaded before the first look, by path

local function loaded_early()
	local out = {}
	for name in next, package.loaded do
		if type(name) == "string" and not STANDARD[name] and name:sub(1, 7) ~= "runner." then
			out[package.searchpath(name, package.path) or name] = true
		end
	end
	return out
end

-- Call f, which loads `path`, and remember what that requires in turn.
local function noted(path, f, ...)
	local outer = loading
	loading = {}
	local result = table.pack(pcall(f, ...))
	graph[path] = graph[path] or loading
	loading = outer
	if outer then
		outer[path] = true
	end
	if not result[1] then
		error(result[2], 0)
	end
	return table.unpack(result, 2, result.n)
end

local function path_of_module(name)
	return type(name) == "string" and (package.searchpath(name, package.path) or package.searchpath(name, package.cpath))
end

-- A module without a file is runner's own, and as old as the program.
local function watching(f, path_of)
	return function(name, ...)
		local path = path_of(name)
		if not path then
			return f(name, ...)
		end
		return noted(path, f, name, ...)
	end
end

local function as_it_is(name)
	return type(name) == "string" and name
end

-- All that a file requires, and what that requires; nil: some of it is unknown.
local function closure(direct, out)
	for path in next, direct do
		if early[path] and not graph[path] then
			return nil
		elseif not out[path] then
			out[path] = true
			if not closure(graph[path] or {}, out) then
				return nil
			end
		end
	end
	return out
end

---f(...) of a command file, and the files that it requires. The caller puts the globals back.
---@param f function
---@param ... any
---@return table<string, true>? required nil: unknown
---@return any ... of f
function M.watched(f, ...)
	rawset(_G, "require", watching(_G.require, path_of_module))
	rawset(_G, "dofile", watching(_G.dofile, as_it_is))
	rawset(_G, "loadfile", watching(_G.loadfile, as_it_is))
	early = early or loaded_early()
	loading = {}
	local direct = loading
	local result = table.pack(f(...))
	loading = nil
	return closure(direct, {}), table.unpack(result, 1, result.n)
end

-- --- lines -----------------------------------------------------------------------------------

local marks = {} -- of required files: each is asked for once

local function mark_of(path)
	if marks[path] == nil then
		marks[path] = listing.mark(path) or false
	end
	return marks[path]
end

local function is_plain(path)
	return not path:find "[%c|=]"
end

-- "path=mark|path=mark"; nil: one of them is too young, or gone.
local function required_text(required)
	local out = {}
	for path in next, required do
		local mark = mark_of(path)
		if not mark or not is_plain(path) then
			return nil
		end
		out[#out + 1] = path .. "=" .. mark
	end
	return table.concat(out, "|")
end

local function required_unchanged(text)
	for path, mark in text:gmatch "([^|=]+)=([^|]+)" do
		if mark_of(path) ~= mark then
			return false
		end
	end
	return true
end

-- The program that wrote it: another one may check declarations otherwise.
local function header()
	local mark = not os.getenv "RUNNER_LUA" and listing.mark "/proc/self/exe"
	return mark and ("runner %s %s\n"):format(attempt.launch.version, mark)
end

-- --- one folder --------------------------------------------------------------------------------

---@class runner.DeclarationCache
---@field text string the file's lines, after a newline
---@field at integer where the last one was found
---@field fresh table<string, string> new lines, by the name of the file
local Cache = {}
Cache.__index = Cache

-- Each program has its own: two of them would else write it again, again and again.
local function path_for(folder, first)
	local state = paths.state()
	return state and ("%s/declarations/%s-%s"):format(state, host.digest(folder), host.digest(first))
end

local function open(folder, first)
	local path = path_for(folder, first)
	local text = path and listing.own(path, FILE_MAX)
	if not text or text:sub(1, #first) ~= first or text:sub(-1) ~= "\n" then
		text = first
	end
	return setmetatable({ folder = folder, text = text, at = 1, first = first, fresh = {} }, Cache)
end

---What is known of a file.
---@param name string below the folder
---@param mark string|false of catalog.list
---@return {description: string, danger_level: string, hidden?: true, aliases?: string[]}? the caller's own
function Cache:get(name, mark)
	if not mark then
		return nil
	end
	local at, shown, danger, required, aliases, description = listing.line(self.text, self.at, "\n" .. name .. "\t" .. mark .. "\t")
	if not at then
		return nil
	end
	self.at = at -- the search goes on there, since both are sorted
	if required == "" or required_unchanged(required) then
		return { description = description, danger_level = danger, hidden = shown == "h" or nil,
			aliases = aliases ~= "" and command_line.name_words((aliases:gsub(" ", "."))) or nil }
	end
end

---Remember a file that has just been loaded.
---@param name string
---@param mark string|false
---@param command table normal form
---@param required table<string, true>? of M.watched
function Cache:put(name, mark, command, required)
	local texts = mark and required and required_text(required)
	local description = command.description or ""
	if not texts or not is_plain(name) or description:find "[\t\n]" then
		return
	end
	local line = ("%s\t%s\t%s\t%s\t%s\t%s\t%s\n"):format(name, mark, command.hidden and "h" or "v", command.danger_level, texts,
		table.concat(command.aliases or {}, " "), description)
	self.fresh[name] = #line <= LONGEST and line or nil
end

-- What other programs have kept of a folder, and not for a month.
local function forget_old(dir, of)
	for _, name in ipairs(fs.list(dir) or {}) do
		local stat = name:sub(1, #of) == of and fs.lstat(dir .. name)
		if stat and stat.mtime * 1000 < host.wall_ms() - KEPT_MS then
			os.remove(dir .. name)
		end
	end
end

-- Nothing above our own folder is created.
function Cache:save()
	local path, state = path_for(self.folder, self.first), paths.state()
	if next(self.fresh) == nil or not path or not fs.stat(state) then
		return
	end
	local lines = {}
	for line, name in self.text:sub(#self.first + 1):gmatch "(([^\t\n]*)[^\n]*\n)" do
		lines[#lines + 1] = not self.fresh[name] and line or nil
	end
	for _, line in next, self.fresh do
		lines[#lines + 1] = line
	end
	table.sort(lines)
	local text = self.first .. table.concat(lines)
	if listing.fits(#text) then
		fs.mkdir(state .. "/declarations", PRIVATE_FOLDER)
		fs.write(path, text, PRIVATE_FILE, false)
		forget_old(state .. "/declarations/", host.digest(self.folder))
	end
end

-- --- all folders -----------------------------------------------------------------------------

---@class runner.DeclarationCaches
local Caches = {}
Caches.__index = Caches

-- The cache that has an entry of catalog.list, its name there and its mark; nil: there is none.
local function place_of(self, entry)
	local folder, first = entry.folder, self.first
	if not folder or not first then
		return nil
	end
	local cache = self.open[folder]
	if not cache then
		cache = open(folder, first)
		self.open[folder] = cache
	end
	return cache, entry.path:sub(#folder + 2), entry.mark
end

---What is known of an entry of catalog.list without loading it.
---@return {description: string, danger_level: string, hidden?: true, aliases?: string[]}? the caller's own
function Caches:get(entry)
	local cache, name, mark = place_of(self, entry)
	return cache and cache:get(name, mark)
end

---Remember an entry that has just been loaded.
---@param command table normal form
---@param required table<string, true>? of M.watched
function Caches:put(entry, command, required)
	local cache, name, mark = place_of(self, entry)
	if cache then
		cache:put(name, mark, command, required)
	end
end

function Caches:save()
	for _, cache in next, self.open do
		cache:save()
	end
end

---The caches of a call.
---@return runner.DeclarationCaches
function M.caches()
	return setmetatable({ open = {}, first = header() or nil }, Caches)
end

return M
