---@meta fs
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---Files. On failure every function returns nil, "unlink x: No such file or directory" and "ENOENT".
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
---@field nlink integer how many names it has
---@field dev integer

---@class fs.Lock
local Lock = {}

---Release it.
function Lock:release() end

---The file a path leads to; symbolic links are followed.
---@param path string
---@return fs.Stat? stat
---@return string? message
---@return string? errno
function fs.stat(path) end

---The file at a path itself; a symbolic link is not followed.
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

---Make a directory and its missing parents; it may exist already. A power loss may take them away, unless they are durable.
---@param path string
---@param mode? integer
---@param durable? boolean default false
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.mkdirs(path, mode, durable) end

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

---Can only you and root change where a path leads? Each folder on the way has to be yours or root's, and sticky where
---others may write to it; EPERM names the part that isn't so. With a mode, the folders that are missing on the way are made.
---@param path string
---@param mode? integer
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.check_way(path, mode) end

---Remove a path and everything below it. No link is followed and no mount is entered, and no way is gone that others could
---change (fs.check_way); after a failure the rest is still removed.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.remove_tree(path) end

---Set a file's time to now; creates it if it is missing.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.touch(path) end

---Read a whole file; EFBIG if it has more than `max` bytes (256 MiB).
---@param path string
---@param max? integer
---@return string? text
---@return string? message
---@return string? errno
function fs.read(path, max) end

---Write a whole file atomically: readers see the old one or the new one, even after a crash.
---@param path string
---@param text string
---@param mode? integer
---@param durable? boolean false: don't wait for the disk; a power loss may then empty or undo it
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.write(path, text, mode, durable) end

---Create a file, or fail with EEXIST: of several processes that try, one succeeds.
---@param path string
---@param text string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.create(path, text) end

---Add a line to a regular file, which is made if it is missing: the whole line, or nothing. One process at a time
---may add to a file; a power loss may take away what was not flushed.
---@param path string
---@param line string with its newline
---@param mode? integer of a new file
---@return integer? offset of the line, in bytes
---@return string? message
---@return string? errno
function fs.append(path, line, mode) end

---Flush a file or directory to the disk.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.fsync(path) end

---Flush a path and everything below it to the disk.
---@param path string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.fsync_tree(path) end

---Put a finished file in the place of another, as fs.write does: at once and on the disk, with the owner and, without `mode`, the permissions of the one that is there. EINVAL where that is a device, a pipe or a socket.
---@param from string
---@param to string
---@param mode? integer
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.replace(from, to, mode) end

---Point a symbolic link to another target atomically.
---@param target string
---@param link string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.swap_symlink(target, link) end

---Copy a path and everything below it.
---@param from string
---@param to string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.copy_tree(from, to) end

---Lock a file; nil, "held" and {pid, since, age_ms} if another process has it. ctx:lock does more.
---@param path string
---@param options? {shared?: boolean, wait_ms?: integer}
---@return fs.Lock? lock
---@return string? message
---@return table|string|nil about
function fs.lock(path, options) end

---The holder of an exclusive lock on a file: {pid, since, age_ms}; nil if there is none. Creates and writes nothing.
---@param path string
---@return table? holder
---@return string? message
---@return string? errno
function fs.locked(path) end

---@class fs.Watch a to-be-closed value (local w <close> = …)
---@field wait fun(self: fs.Watch, ms: integer): boolean true: something has happened since the last time; false: nothing, for so long
---@field add fun(self: fs.Watch, path: string): boolean?, string?, string? one more file or directory; nil, a message and the errno's name where it can't be watched
---@field close fun(self: fs.Watch)

---Watch files and directories that are there, to sleep until one changes, is closed by a writer, moved or removed, or something comes or goes in a directory. What another machine does is not noticed.
---@param path string
---@param ... string
---@return fs.Watch? watch
---@return string? message
---@return string? errno
function fs.watch(path, ...) end

---Change the permission bits of what a path leads to.
---@param path string
---@param mode integer 0x1ed is rwxr-xr-x; tonumber("755", 8) says so
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.chmod(path, mode) end

---The paths that match a pattern, sorted: * and ? in a name, [a-z], {one,two}, ** for any directories.
---Names with a dot in front match only where the pattern has one; ** enters no link.
---@param pattern string
---@param dir? string that a relative pattern starts at, and that the paths are relative to; default: the working directory
---@return string[]? paths
---@return string? message
---@return string? errno
function fs.glob(pattern, dir) end

---Every path below a directory and its fs.Stat, in order of names; a failure raises: for path, stat in fs.walk(dir) do. No link is followed.
---@param dir string
---@return fun(): string?, fs.Stat?
function fs.walk(dir) end

---Copy a file of any size with its permissions; one that is there is replaced at once, by the whole copy. Links are followed.
---@param from string
---@param to string
---@return boolean? ok
---@return string? message
---@return string? errno
function fs.copy(from, to) end

---Make an empty file with a name of its own that only this user may read.
---@param dir? string default: ctx.tempdir, which is gone after the run
---@param suffix? string of its name: ".json"
---@return string? path
---@return string? message
---@return string? errno
function fs.tempfile(dir, suffix) end

---The digest of a file's bytes, in hexadecimal.
---@param path string
---@param algorithm? "sha256"|"sha512"|"sha384"|"sha1"|"md5" default "sha256"
---@return string? digest
---@return string? message
---@return string? errno
function fs.hash(path, algorithm) end

return fs
