-- install: put a library into a project, and take it out: vendor/NAME/DIGEST/ and runner.lock. The lock
-- decides: it is replaced in one rename, after which the old files go. A process that is killed leaves the
-- old state or the new one, and files that the next call removes. One process at a time (vendor/.lock).

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local ledger = require "runner.ledger"
local layout = require "runner.output.layout"
local vendored = require "runner.project.vendored"

local M = {}

local WAIT_MS = 60000 -- others flush theirs to the disk

local function must(what, ok, why, errno)
	if not ok then
		local code = (errno == "EACCES" or errno == "EPERM" or errno == "EROFS") and "PERMISSION_DENIED" or "UNAVAILABLE"
		errors.raise(code, ("Can't write %s: %s"):format(what, why), { side_effects = "none" })
	end
	return ok
end

-- --- the lock ---------------------------------------------------------------------------------

-- One file a line, sorted: version control shows what changed.
local function write_lock(root, libraries)
	local text = layout.json { version = 1, libraries = libraries } .. "\n"
	must("runner.lock", fs.write(vendored.lock_path(root), text, 420)) -- 0644
end

-- A folder that is a link may be another user's: nothing is written or removed where one leads.
local function linked(root, name)
	for _, path in ipairs { "vendor", name and "vendor/" .. name } do
		local stat = fs.lstat(root .. "/" .. path)
		if stat and stat.type ~= "directory" then
			return path, stat.type == "link" and "a link" or "no folder"
		end
	end
end

---May a library be put there? PRECONDITION where its folder is a link or a file.
---@param root string
---@param name? string nil: any
function M.check_place(root, name)
	local path, what = linked(root, name)
	if path then
		errors.raise("PRECONDITION", ("%s is %s: a library is copied into a folder of the project itself"):format(path, what), {
			side_effects = "none", fix_required = ("Remove %s%s"):format(path, path ~= "vendor" and ", or choose another name: --as NAME" or "") })
	end
end

---Change the libraries of a project, alone.
---@param root string
---@param change fun(libraries: table<string, runner.Library>): any what it returns is returned
function M.alone(root, change)
	M.check_place(root)
	must("vendor/", fs.mkdirs(root .. "/vendor", 493, true)) -- 0755
	local lock <close>, why, about = fs.lock(root .. "/vendor/.lock", { wait_ms = WAIT_MS })
	if not lock then
		local pid = why == "held" and type(about) == "table" and about.pid
		errors.raise(why == "held" and "LOCK_HELD" or "UNAVAILABLE", why == "held"
			and ("Another call%s changes the libraries of this project"):format(pid and (" (process %d)"):format(pid) or "")
			or "Can't lock vendor/.lock: " .. tostring(why), { side_effects = "none" })
	end
	local libraries, problem = vendored.read(root)
	if not libraries then
		error(problem, 0)
	end
	return change(libraries)
end

-- --- files --------------------------------------------------------------------------------------

---What runner.lock is to have of a library.
---@param gathered runner.Gathered
---@param source string as the lock has it
---@return runner.Library
function M.row(gathered, source)
	local files, lines = {}, {}
	for i, file in ipairs(gathered.files) do
		files[file.path] = ledger.digest(file.text)
		lines[i] = ("%s  %s\n"):format(files[file.path], file.path)
	end
	return { source = source, digest = ledger.digest(table.concat(lines)), files = files }
end

-- The names that we give: DIGEST, and new-HEX and new-HEX.old on the way to it. Other tools keep theirs in
-- vendor/NAME too; what has another name isn't ours.
local function is_ours(entry)
	return entry:find "^%x+$" and #entry == 12 or entry:find "^new%-%x+$" or entry:find "^new%-%x+%.old$"
end

-- All of ours but what the lock names, or all where it names none.
local function sweep(root, name, row)
	local dir, kept = root .. "/vendor/" .. name, row and row.digest:sub(1, 12)
	local path, what = linked(root, name)
	if path and not kept then
		attempt.warn("LEFT_BEHIND", ("The files of the library stay: %s is %s"):format(path, what))
	end
	for _, entry in ipairs(not path and fs.list(dir) or {}) do
		if entry ~= kept and is_ours(entry) then
			local ok, message = fs.remove_tree(dir .. "/" .. entry)
			if not ok then
				attempt.warn("LEFT_BEHIND", "Old files of a library could not be removed: " .. message)
			end
		end
	end
	if not kept then
		fs.rmdir(dir)
	end
end

local function write_files(dir, files)
	for _, file in ipairs(files) do
		local path = dir .. "/" .. file.path
		must(path, fs.mkdirs(path:match "^(.*)/", 493, true))
		must(path, fs.write(path, file.text, 420, false))
	end
	must(dir, fs.fsync_tree(dir))
end

-- The folder appears whole, in one rename; one of its name that is not whole makes room.
local function place(root, name, row, files)
	local dir = vendored.folder(root, name, row)
	if fs.lstat(dir) and not vendored.differences(root, name, row) then
		return
	end
	local fresh = ("%s/vendor/%s/new-%x"):format(root, name, host.random() & 0xffffffff)
	local ok, raised = pcall(function()
		write_files(fresh, files)
		if fs.lstat(dir) then
			must(dir, fs.rename(dir, fresh .. ".old"))
		end
		must(dir, fs.rename(fresh, dir))
		must(dir, fs.fsync(root .. "/vendor/" .. name))
	end)
	if not ok then
		fs.remove_tree(fresh)
		error(raised, 0)
	end
end

---Put a library there, inside of M.alone.
---@param root string
---@param libraries table<string, runner.Library> of M.alone
---@param name string
---@param row runner.Library of M.row
---@param files {path: string, text: string}[]
function M.put(root, libraries, name, row, files)
	M.check_place(root, name)
	place(root, name, row, files)
	libraries[name] = row
	write_lock(root, libraries)
	sweep(root, name, row)
end

---Take a library away, inside of M.alone.
---@param root string
---@param libraries table<string, runner.Library> of M.alone
---@param name string
function M.remove(root, libraries, name)
	libraries[name] = nil
	write_lock(root, libraries)
	sweep(root, name, nil)
end

return M
