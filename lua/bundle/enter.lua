-- enter: a program that carries a project has that one, wherever it is called. Runs before
-- lua/boot.lua, in such a program alone. The files are unpacked into a private folder of the user's
-- cache, once; each run compares them with the archive, and writes anew what somebody changed.

local archive = require "runner.bundle.archive"
local places = require "runner.project.folders"
local fs = require "runner.fs"
local host = require "runner.host"
local locate = require "runner.project.locate"
local spoken = require "runner.bundle.spoken"

local PRIVATE = 448 -- 0700
local LOCK_MS = 5000

local function cache()
	local folder, home = os.getenv "XDG_CACHE_HOME", os.getenv "HOME"
	if folder and folder:sub(1, 1) == "/" then
		return folder .. "/runner/bundles"
	end
	return home and home:sub(1, 1) == "/" and home .. "/.cache/runner/bundles" or nil
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
	if not ok then
		error("the project of this program can't be unpacked: " .. tostring(why), 0)
	end
	local dir = path .. "/bundle"
	return is_whole(dir, files) and dir or assert(write_all(dir, files))
end

local function enter()
	local digest, called = host.bundle()
	local bytes, why = host.bundle_bytes()
	if not bytes then
		error("this program is damaged: " .. why, 0)
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
	spoken.as((called or ""):match "([^/]+)$" or head.name or "runner", head.version)
end

return enter
