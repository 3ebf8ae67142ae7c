-- enter: a program that carries a project has that one, wherever it is called. Runs before
-- lua/boot.lua, in such a program alone. The files are unpacked into a private folder of the user's
-- cache, once; each run compares them with the archive, and writes again what has been changed.

local archive = require "runner.bundle.archive"
local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local locate = require "runner.project.locate"
local paths = require "runner.core.paths"
local places = require "runner.project.folders"
local tool_name = require "runner.project.tool_name"

local PRIVATE = 448 -- 0700
local LOCK_MS = 5000

local function cache()
	local folder, home = os.getenv "XDG_CACHE_HOME", paths.home()
	if folder and folder:sub(1, 1) == "/" then
		return folder .. "/runner/bundles"
	end
	return home and home .. "/.cache/runner/bundles" or nil
end

-- Folders of the archive → the names in them. Not the project's own: a command may have written there.
local function folders_of(files)
	local folders = {}
	for _, file in ipairs(files) do
		local path = file.path
		while path:find "/" do
			local folder, name = path:match "^(.*)/([^/]+)$"
			folders[folder] = folders[folder] or {}
			folders[folder][name], path = true, folder
		end
	end
	return folders
end

-- All that is in the archive, as files and no links, and nothing beside it: a file more would be a command.
local function is_whole(dir, files)
	for _, file in ipairs(files) do
		local path = dir .. "/" .. file.path
		local stat = fs.lstat(path)
		if not stat or stat.type ~= "file" or fs.read(path) ~= file.text then
			return false
		end
	end
	for folder, names in pairs(folders_of(files)) do
		for _, name in ipairs(fs.list(dir .. "/" .. folder) or {}) do
			if not names[name] then
				return false
			end
		end
	end
	return true
end

local function write_all(dir, files)
	for _, file in ipairs(files) do
		local path = dir .. "/" .. file.path
		local ok, why = fs.mkdirs(path:match "^(.*)/", PRIVATE)
		if ok then
			ok, why = fs.write(path, file.text, 384, false) -- 0600
		end
		if not ok then
			return nil, why
		end
	end
	return dir
end

-- One call at a time: what another has put there meanwhile may be in use.
local function put(fresh, dir, files)
	local _ <close> = fs.lock(dir .. ".lock", { wait_ms = LOCK_MS })
	if is_whole(dir, files) then
		return true
	elseif fs.lstat(dir) then
		fs.rename(dir, fresh .. ".old")
	end
	return fs.rename(fresh, dir)
end

-- The folder appears whole, in one rename.
local function unpacked(parent, digest, files)
	local dir = parent .. "/" .. digest
	if is_whole(dir, files) then
		return dir
	end
	local ok, why = fs.mkdirs(parent, PRIVATE)
	local fresh = ("%s.%x"):format(dir, host.random())
	if ok then
		ok, why = write_all(fresh, files)
	end
	local there = ok and put(fresh, dir, files)
	fs.remove_tree(fresh)
	fs.remove_tree(fresh .. ".old")
	if there or is_whole(dir, files) then
		return dir
	end
	return nil, why
end

-- Where the cache can't be written: the directory of this run, which goes with it.
local function in_tempdir(files)
	local path = host.launch().session_dir
	host.send("TEMPDIR", { text = path })
	local ok, why = require("runner.session_dir").make(path)
	host.send("TEMPDIR", { text = path })
	local dir = path .. "/bundle"
	if ok and not is_whole(dir, files) then
		ok, why = write_all(dir, files)
	end
	return ok and dir or errors.raise("PRECONDITION", "The project of this program can't be unpacked: " .. tostring(why), {
		side_effects = "none", fix_required = "Make room in XDG_CACHE_HOME or TMPDIR, and let them be written to" })
end

local function find_project()
	local digest, called = host.bundle()
	local bytes, why = host.bundle_bytes()
	if not bytes then
		errors.raise("BUNDLE_DAMAGED", "This program is damaged: " .. why, { side_effects = "none" })
	end
	local head, files = archive.unpack(bytes)
	local parent = cache()
	local root = parent and unpacked(parent, digest, files) or in_tempdir(files)
	locate.project_root = function()
		return root, head.has_file
	end
	places.list = function(project)
		return { project and project.commands or root .. "/commands" }
	end
	local name = (called or ""):match "([^/]+)$" or head.name or "runner"
	tool_name.as(name, head.version, "program:" .. (head.name or name))
end

---@return boolean answered true: there is no project, and the caller has been told
local function enter()
	local ok, raised, _, cancelled = host.protect(find_project)
	if ok then
		return false
	elseif cancelled or not errors.is(raised) then
		error(cancelled and "cancelled" or raised, 0)
	end
	raised.phase = "validation"
	attempt.begin()
	require("runner.project.failure").early("", raised, attempt.launch.argv)
	return true
end

return enter
