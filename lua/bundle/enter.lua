-- enter: a program that carries a project has that one, wherever it is called. Runs before
-- lua/boot.lua, in such a program alone. The files are unpacked into a private folder of the user's
-- cache, once; each run compares them with the archive, and writes anew what somebody changed.

local archive = require "runner.bundle.archive"
local fs = require "runner.fs"
local host = require "runner.host"
local locate = require "runner.project.locate"
local spoken = require "runner.bundle.spoken"

local PRIVATE = 448 -- 0700

local function cache()
	local folder, home = os.getenv "XDG_CACHE_HOME", os.getenv "HOME"
	if folder and folder:sub(1, 1) == "/" then
		return folder .. "/runner/bundles"
	end
	return home and home:sub(1, 1) == "/" and home .. "/.cache/runner/bundles" or nil
end

local function is_whole(dir, files)
	for _, file in ipairs(files) do
		if fs.read(dir .. "/" .. file.path) ~= file.text then
			return false
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

-- The folder appears whole, in one rename; of several calls that try, one succeeds.
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
	if ok and fs.stat(dir) then
		fs.rename(dir, fresh .. ".old")
	end
	local mine = ok and fs.rename(fresh, dir)
	fs.remove_tree(fresh)
	fs.remove_tree(fresh .. ".old")
	if mine or is_whole(dir, files) then
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
	locate.folders = function(project)
		return { project and project.commands or root .. "/commands" }
	end
	spoken.as((called or ""):match "([^/]+)$" or head.name or "runner", head.version)
end

return enter
