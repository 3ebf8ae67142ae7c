-- source: a library where it comes from: a folder, or a tar file, which is read entry by entry and never
-- unpacked. Runs nothing of it.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local gather = require "runner.vendor.gather"

local M = {}

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
		if gather.is_wanted(name) then
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
	return gather.is_wanted(path) or gather.is_wanted(path:match "^[^/]+/(.+)$" or "")
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
			files[name] = wanted and must(g, reader:read(math.min(entry.size, gather.MOST_BYTES))) or ""
			kept, bytes = kept + (wanted and 1 or 0), bytes + #files[name]
			if kept > gather.MOST_FILES or bytes > gather.MOST_BYTES then
				g:refuse(("it has more than %d files, or more than %d MiB"):format(gather.MOST_FILES, gather.MOST_BYTES >> 20))
			end
		end
	end
end

local function from_archive(g, path)
	local files = read_archive(g, path)
	local top = top_of(files)
	for _, name in ipairs(require("runner.core.sorted").keys(files)) do
		local inside = name:sub(#top + 1)
		if gather.is_wanted(inside) then
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
	local g = gather.new(shown)
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

return M
