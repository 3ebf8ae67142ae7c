-- libraries: what the commands about libraries (runner add, runner library) have in common: the project, the
-- names of libraries, how they are read from where they come from, and what an answer says of one.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local paths = require "runner.core.paths"
local rules = require "runner.core.rules"
local suggest = require "runner.core.suggest"
local tables = require "runner.core.tables"
local fs = require "runner.fs"
local json = require "runner.json"
local locate = require "runner.project.locate"
local vendored = require "runner.project.vendored"
local install = require "runner.vendor.install"

local M = {}

-- A library where it comes from: a folder, or a tar file, which is read entry by entry and never unpacked; and the
-- rules that each of its files must keep. Nothing is written, and nothing of it is run. What breaks a rule is
-- LIBRARY_REFUSED, by its path.

-- --- the files, and their rules --------------------------------------------------------

local MOST_FILES = 1000
local MOST_BYTES = 16 << 20 -- of all files
local DEPTH = 8 -- parts of a path

local SET_ID = 3072 -- 06000: set-user-ID, set-group-ID

---@class runner.Gathered
---@field source string for messages
---@field files {path: string, text: string}[]
---@field bytes integer
---@field paths table<string, string> each path and folder, by what a file system without case calls it
local Gathered = {}
Gathered.__index = Gathered

---@param source string as it was named
---@return runner.Gathered
local function gathered(source)
	return setmetatable({ source = source, files = {}, bytes = 0, paths = {} }, Gathered)
end

---@param message string
---@param fix? string
---@param path? string in the library
function Gathered:refuse(message, fix, path)
	errors.raise("LIBRARY_REFUSED", ("%s: %s"):format(self.source, message), { phase = "validation", side_effects = "none",
		retryable = false, fix_required = fix, context = { source = self.source, path = path } })
end

local PARTS = { commands = true, lib = true }

-- Is it a file that a project gets? Commands, what they require, and what a person should read.
local function is_wanted(path)
	local first, more = path:match "^([^/]*)(.*)$"
	return PARTS[first] or more == "" and (first:find "^README" or first:find "^LICEN[CS]E" or first:find "^COPYING") ~= nil
end

---Refuse what is neither a file nor a folder.
---@param path string
---@param kind string "file", "directory", "link" …
---@param mode? integer
function Gathered:check_type(path, kind, mode)
	if kind == "link" then
		self:refuse(("'%s' is a link"):format(path), "Replace it by the file that it leads to", path)
	elseif kind ~= "file" and kind ~= "directory" then
		self:refuse(("'%s' is neither a file nor a folder"):format(path), "Remove it from the library", path)
	elseif kind == "file" and mode and mode & SET_ID ~= 0 then
		self:refuse(("'%s' is set-user-ID or set-group-ID"):format(path), ("chmod ug-s %s"):format(path), path)
	end
end

-- "A/b" beside "a/c", or "x" beside "X": one file where case doesn't count.
function Gathered:check_twins(path, is_folder)
	local at = 0
	while at do
		at = path:find("/", at + 1, true)
		local part, kind = path:sub(1, at and at - 1 or -1), (at or is_folder) and "folder" or "file"
		local other = self.paths[part:lower()]
		if other and (other.path ~= part or other.kind ~= kind or kind == "file") then
			self:refuse(("'%s' and '%s' would be one file on some systems"):format(other.path, part),
				"Give them names that differ in more than case", part)
		end
		self.paths[part:lower()] = { path = part, kind = kind }
	end
end

---Refuse a path that is not plain: links out of the library, hidden files, other alphabets.
---@param path string
function Gathered:check_path(path)
	if not vendored.is_plain(path) then
		self:refuse(("the name '%s' is not allowed"):format((path:gsub("[^\32-\126]", "?"):sub(1, 200))),
			"Names have letters, digits, '.', '_' and '-', and begin with none of the last two and no dot", path)
	elseif select(2, path:gsub("/", "")) >= DEPTH then
		self:refuse(("'%s' is more than %d folders deep"):format(path, DEPTH), nil, path)
	end
end

---The bytes that one more file may have.
---@return integer
function Gathered:room()
	return math.min(vendored.FILE_BYTES, MOST_BYTES - self.bytes)
end

---Refuse a file that is too large, or one too many.
---@param path string
---@param size integer bytes
function Gathered:check_size(path, size)
	if #self.files >= MOST_FILES then
		self:refuse(("it has more than %d files"):format(MOST_FILES))
	elseif size > vendored.FILE_BYTES then
		self:refuse(("'%s' is larger than %d MiB"):format(path, vendored.FILE_BYTES >> 20), nil, path)
	elseif size > self:room() then
		self:refuse(("its files are larger than %d MiB together"):format(MOST_BYTES >> 20), nil, path)
	end
end

---@param path string checked
---@param text string
function Gathered:add(path, text)
	self:check_size(path, #text)
	self:check_twins(path)
	self.files[#self.files + 1] = { path = path, text = text }
	self.bytes = self.bytes + #text
end

---Is there a command in it?
function Gathered:finish()
	table.sort(self.files, function(a, b)
		return a.path < b.path
	end)
	for _, file in ipairs(self.files) do
		if vendored.command_of(file.path) then
			return self
		end
	end
	self:refuse("there is no command in it", "A library has its commands in commands/, and what they require in lib/")
end

local MOST_ENTRIES, MOST_UNPACKED = 10000, 64 << 20 -- of an archive, what is left out included

-- --- a folder ---------------------------------------------------------------------------------

local function unreadable(path, why)
	errors.raise("PERMISSION_DENIED", ("Can't read %s: %s"):format(path, why), { side_effects = "none" })
end

local function add_path(g, root, path)
	local stat, why = fs.lstat(root .. "/" .. path)
	if not stat then
		unreadable(path, why)
	end
	g:check_path(path)
	g:check_type(path, stat.type, stat.mode)
	if stat.type == "file" then
		g:check_size(path, stat.size)
		local text, problem = fs.read(root .. "/" .. path, g:room())
		return g:add(path, text or unreadable(path, problem))
	end
	g:check_twins(path, true)
	local names, problem = fs.list(root .. "/" .. path)
	for _, name in ipairs(names or unreadable(path, problem)) do
		add_path(g, root, path .. "/" .. name)
	end
end

local function from_folder(g, root)
	local names, why = fs.list(root)
	for _, name in ipairs(names or unreadable(root, why)) do
		if is_wanted(name) then
			add_path(g, root, name)
		end
	end
	return g:finish()
end

-- --- an archive -------------------------------------------------------------------------------

local function must(g, value, why, code)
	if value == nil and why then
		if code == "EILSEQ" or code == "E2BIG" then
			g:refuse("it is no tar file, or a damaged one: " .. tostring(why))
		end
		errors.raise(code == "PRECONDITION" and code or "UNAVAILABLE", tostring(why), { side_effects = "none",
			fix_required = code == "PRECONDITION" and "Install libarchive (Debian: libarchive13), or unpack it and add the folder" or nil })
	end
	return value
end

-- "./a/" → "a"; "" for the archive's own folder. What leads elsewhere stays as it is, and is refused.
local function tidy(path)
	return (path:gsub("^%./+", ""):gsub("/+$", ""):gsub("^%.$", ""))
end

-- Every entry is checked, those that are left out too: an archive is made to be unpacked.
local function check_entry(g, entry, count)
	g:check_type(entry.path, entry.type, entry.mode)
	if count > MOST_ENTRIES or entry.unpacked + entry.size > MOST_UNPACKED then
		g:refuse(("it has more than %d entries, or more than %d MiB"):format(MOST_ENTRIES, MOST_UNPACKED >> 20))
	end
	local path = tidy(entry.path)
	if path:find "^/" or ("/" .. path .. "/"):find("/../", 1, true) then
		g:refuse(("'%s' leads out of the archive"):format(path), "Make the archive with relative paths", path)
	end
	return path
end

-- Archives often have one folder at the top, name-1.0/: where commands/ is there, it is not part of the paths.
local function top_of(files)
	local top
	for path in pairs(files) do
		local first = path:match "^([^/]+)/"
		if not first or top and first ~= top then
			return ""
		end
		top = first
	end
	return top and top ~= "commands" and top ~= "lib" and top .. "/" or ""
end

-- Is it wanted, whether or not there is a folder at the top?
local function may_be_wanted(path)
	return is_wanted(path) or is_wanted(path:match "^[^/]+/(.+)$" or "")
end

-- path → text of all files that may be wanted, "" of others.
local function read_archive(g, path)
	local reader <close> = must(g, require("runner.archive").open(path))
	local files, kept, bytes, count = {}, 0, 0, 0
	while true do
		local entry = must(g, reader:next())
		if not entry then
			return files
		end
		count = count + 1
		local name = check_entry(g, entry, count)
		if files[name] then
			g:refuse(("'%s' is in it twice"):format(name), nil, name)
		elseif entry.type == "file" then
			local wanted = may_be_wanted(name)
			files[name] = wanted and must(g, reader:read(math.min(entry.size, MOST_BYTES))) or ""
			kept, bytes = kept + (wanted and 1 or 0), bytes + #files[name]
			if kept > MOST_FILES or bytes > MOST_BYTES then
				g:refuse(("it has more than %d files, or more than %d MiB"):format(MOST_FILES, MOST_BYTES >> 20))
			end
		end
	end
end

local function from_archive(g, path)
	local files = read_archive(g, path)
	local top = top_of(files)
	for _, name in ipairs(require("runner.core.tables").sorted_keys(files)) do
		local inside = name:sub(#top + 1)
		if is_wanted(inside) then
			g:check_path(inside)
			g:add(inside, files[name])
		end
	end
	return g:finish()
end

-- --- either -----------------------------------------------------------------------------------

---Read a library. Raises LIBRARY_REFUSED, NOT_FOUND, PERMISSION_DENIED, PRECONDITION (no libarchive).
---@param path string of a folder or a tar file, absolute
---@param shown string as it was named
---@return runner.Gathered
function M.read(path, shown)
	local stat, why, code = fs.stat(path)
	local g = gathered(shown)
	if not stat then
		errors.raise(code == "EACCES" and "PERMISSION_DENIED" or "NOT_FOUND", ("Can't read the library %s: %s"):format(shown, why), {
			side_effects = "none", fix_required = "Name a folder with commands/, or a .tar or .tar.gz file of one" })
	elseif stat.type == "directory" then
		return from_folder(g, path)
	elseif stat.type ~= "file" then
		g:refuse("it is neither a folder nor a file")
	end
	return from_archive(g, path)
end

---The name that a library has by its path: without the folders, the version and the ending.
---@param path string "../tools-1.2.tar.gz"
---@return string "tools"
function M.name_of(path)
	local name = path:gsub("/+$", ""):match "[^/]*$"
	name = name:gsub("%.tar%.gz$", ""):gsub("%.tgz$", ""):gsub("%.tar$", "")
	return (name:gsub("%-v?%d[%w.-]*$", ""))
end

M.codes = { TIMEOUT = { retryable = true, side_effects = "none" } }

---The directory of the project; PRECONDITION where there is none.
---@return string
function M.root()
	local project = attempt.project
	if not project.root then
		errors.raise("PRECONDITION", "There is no project here to keep a library in", { side_effects = "none",
			fix_required = "Go to a directory with commands/ or runner.lua, or make one: runner new hello" })
	end
	return project.root
end

---The libraries of the project.
---@return table<string, runner.Library>
function M.libraries()
	local libraries, problem = vendored.read(M.root())
	return libraries or error(problem, 0)
end

---The names to act on: those that were given, which must exist, or all.
---@param libraries table<string, runner.Library>
---@param given? string[]
---@return string[]
function M.chosen(libraries, given)
	local all = tables.sorted_keys(libraries)
	for _, name in ipairs(given or {}) do
		if not libraries[name] then
			local near = suggest.nearest(name, all, 1)[1]
			errors.raise("NOT_FOUND", ("There is no library '%s' in this project"):format(name), { side_effects = "none",
				suggestion = near and ("Did you mean '%s'?"):format(near)
					or all[1] and "The libraries are " .. table.concat(all, ", ") or "Add one with runner add PATH" })
		end
	end
	return given and given[1] and given or all
end

-- --- names ------------------------------------------------------------------------------------

local function real(path)
	return require("runner.fs").realpath(path) or path
end

---The group that the commands of a new library are to have.
---@param path string of the library, as it was given
---@param as? string the name that was asked for
---@return string
function M.name(path, as)
	return as or M.name_of(real(paths.absolute(path, paths.here())))
end

-- A command or a group of the project itself, as it is typed.
local function own_command(name)
	local project = attempt.project
	for _, entry in ipairs(project.root and require("runner.project.catalog").list(project) or {}) do
		if entry.folder == project.commands and (entry.name .. "."):sub(1, #name + 1) == name .. "." then
			return (entry.name:gsub("%.", " "))
		end
	end
end

---What is wrong with a new library, before it is read: its name can't be that of a command or a group, and
---it can't be the project.
---@param path string
---@param as? string
---@return runner.Problem?
function M.problem(path, as)
	local root, name = attempt.project.root, M.name(path, as)
	if root and real(paths.absolute(path, paths.here())) == real(root) then
		return { field = "path", message = "The project can't be a library of its own", fix_required = "Name another folder, or an archive" }
	end
	local own = own_command(name)
	local message = not rules.is_command_word(name)
			and ("'%s' can't be the name of a library: it has letters, digits, '-' and '_', and begins with a letter or digit"):format(name)
		or (require("runner.project.builtins").names[name] or locate.fixed[name]) and ("'%s' is a built-in command"):format(name)
		or own and ("The project has a command '%s' of its own"):format(own)
	return message and { field = "as", message = message, fix_required = ("Choose a name: runner add %s --as NAME"):format(path) } or nil
end

-- --- sources ----------------------------------------------------------------------------------

-- The way from one folder to a path: "../shared/tools".
local function relative(from, to)
	local up = ""
	while to:sub(1, #from + 1) ~= from .. "/" do
		from, up = from:match "^(.*)/[^/]*$", up .. "../"
	end
	return up .. to:sub(#from + 2)
end

---A source as runner.lock has it: absolute if it was given so, else from the project, so that the lock means
---the same in every checkout.
---@param root string
---@param path string as it was given, from the working directory
---@return string
function M.recorded(root, path)
	if path:sub(1, 1) == "/" then
		return path
	end
	return relative(real(root), real(paths.absolute(path, paths.here())))
end

---Read a library (lua/vendor/M.lua).
---@param path string as it was given, or as the lock has it
---@param from string the directory that it starts at
---@return runner.Gathered
function M.gather(path, from)
	return M.read(real(paths.absolute(path, from)), path)
end

---Change the libraries, or only note it where this is a dry run.
---@param ctx runner.Context
---@param root string
---@param change fun(libraries: table<string, runner.Library>, put: fun(name: string, row?: runner.Library, files?: table)): any
---`put` replaces a library, or removes it where there is no row
function M.change(ctx, root, change)
	if ctx.dry_run then
		local libraries = M.libraries()
		install.check_place(root)
		return change(libraries, function(name, row)
			if row then
				install.check_place(root, name)
				ctx.fs.mkdirs(vendored.folder(root, name, row))
			else
				ctx.fs.remove_tree(vendored.folder(root, name, libraries[name]))
			end
			ctx.fs.write(vendored.lock_path(root), "")
		end)
	end
	return install.alone(root, function(libraries)
		return change(libraries, function(name, row, files)
			local act = row and install.put or install.remove
			act(root, libraries, name, row, files)
		end)
	end)
end

-- --- answers ----------------------------------------------------------------------------------

---The commands of a library, as they are typed.
---@param name string
---@param row runner.Library
---@return string[]
local function commands_of(name, row)
	local out = json.array {}
	for _, path in ipairs(tables.sorted_keys(row.files)) do
		local below = vendored.command_of(path)
		out[#out + 1] = below and ("%s %s"):format(name, (below:gsub("%.", " "))) or nil
	end
	return out
end

---What an answer says of a library.
---@param root string
---@param name string
---@param row runner.Library
---@return table
function M.about(root, name, row)
	return { library = name, source = row.source, digest = row.digest, commands = commands_of(name, row),
		files = #tables.sorted_keys(row.files),
		folder = vendored.folder(root, name, row):sub(#root + 2) }
end

return M
