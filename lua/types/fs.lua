---@meta fs
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---Files. Every function gives nil, "unlink x: No such file or directory" and "ENOENT" on failure.
---@class fs
local fs = {}

---@class fs.Stat
---@field type "file"|"directory"|"link"|string
---@field size integer
---@field mtime number seconds since 1970
---@field mode integer permission bits
---@field uid integer
---@field gid integer
---@field ino integer
---@field dev integer

---@class fs.Lock
local Lock = {}

---Give it back.
function Lock:release() end

---What a path leads to.
---@param path string
---@return fs.Stat? stat
---@return string? message
---@return string? errno
function fs.stat(path) end

---What a path is: a symbolic link is not followed.
---@param path string
---@return fs.Stat? stat
---@return string? message
---@return string? errno
function fs.lstat(path) end

---The names in a directory, sorted.
---@param path string
---@return string[]? names
---@return string? message
---@return string? errno
function fs.list(path) end

---Make a directory.
---@param path string
---@param mode? integer
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.mkdir(path, mode) end

---Make a directory and what is missing above it; one that exists is fine.
---@param path string
---@param mode? integer
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.mkdirs(path, mode) end

---@param from string
---@param to string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.rename(from, to) end

---@param target string
---@param link string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.symlink(target, link) end

---@param path string
---@return string? target
---@return string? message
---@return string? errno
function fs.readlink(path) end

---The absolute path without links, "." and "..".
---@param path string
---@return string? path
---@return string? message
---@return string? errno
function fs.realpath(path) end

---Remove a file or a link.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.unlink(path) end

---Remove an empty directory.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.rmdir(path) end

---Remove a path and all below it; no link is followed.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.remove_tree(path) end

---Set a file's time to now; makes it when it is missing.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.touch(path) end

---A whole file; EFBIG when it has more than `max` bytes (256 MiB).
---@param path string
---@param max? integer
---@return string? text
---@return string? message
---@return string? errno
function fs.read(path, max) end

---Write a whole file: readers see the old one or the new one, also after a crash.
---@param path string
---@param text string
---@param mode? integer
---@param durable? boolean false: don't wait for the disk; a power loss may then empty or undo it
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.write(path, text, mode, durable) end

---Write a file whose name is free, else EEXIST: of those that try at once, one does.
---@param path string
---@param text string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.create(path, text) end

---Wait until a file or directory is on the disk.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.fsync(path) end

---The same for all below a path.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.fsync_tree(path) end

---Point a link elsewhere from one instant to the next.
---@param target string
---@param link string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.swap_symlink(target, link) end

---Copy a path and all below it.
---@param from string
---@param to string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.copy_tree(from, to) end

---Lock a file; nil, "held" and {pid, since, age_ms} when another process has it. ctx:lock does more.
---@param path string
---@param options? {shared?: boolean, wait_ms?: integer}
---@return fs.Lock? lock
---@return string? message
---@return table|string|nil about
function fs.lock(path, options) end

---Who holds the lock of a file for itself alone: {pid, since, age_ms}; nil when nobody does. Nothing is made or written.
---@param path string
---@return table? holder
---@return string? message
---@return string? errno
function fs.locked(path) end

return fs
