-- install: put a library into a project, and take it out: vendor/NAME/DIGEST/ and runner.lock. The lock
-- decides: it is replaced in one rename, behind which the old files go. A process that is killed leaves the
-- old state or the new one, and files that the next call removes. One process at a time (vendor/.lock).

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local ledger = require "runner.ledger"
local pretty = require "runner.output.pretty"
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
	local text = pretty.text { version = 1, libraries = libraries } .. "\n"
	must("runner.lock", fs.write(vendored.lock_path(root), text, 420)) -- 0644
end

---Change the libraries of a project, alone.
---@param root string
---@param change fun(libraries: table<string, runner.Library>): any what it returns is returned
function M.alone(root, change)
	must("vendor/", fs.mkdirs(root .. "/vendor", 493)) -- 0755
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

-- All but what the lock names, and nothing where it names none.
local function sweep(root, name, row)
	local dir, kept = root .. "/vendor/" .. name, row and row.digest:sub(1, 12)
	for _, entry in ipairs(fs.list(dir) or {}) do
		if entry ~= kept then
			fs.remove_tree(dir .. "/" .. entry)
		end
	end
	if not kept then
		fs.rmdir(dir)
	end
end

local function write_files(dir, files)
	for _, file in ipairs(files) do
		local path = dir .. "/" .. file.path
		must(path, fs.mkdirs(path:match "^(.*)/", 493))
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
