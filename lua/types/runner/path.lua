---@meta runner.path
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---Paths as texts: nothing here looks at a file, but for path.absolute.
---@class runner.path
local path = {}

---Without ".", empty parts and what ".." takes back. Doesn't look at files: where a part is a
---link, the file may be another one.
---@param path string
---@return string never empty: "."
function path.normalise(path) end

---The parts as one path, normalised. An absolute part begins anew, as `cd` would.
---@param ... string
---@return string
function path.join(...) end

---@param path string
---@return boolean
function path.is_absolute(path) end

---Absolute and normalised.
---@param path string
---@param from? string an absolute directory that a relative path starts at; default: the working directory
---@return string
function path.absolute(path, from) end

---All but the last part, as dirname(1).
---@param path string
---@return string
function path.dirname(path) end

---The last part, as basename(1).
---@param path string
---@param ext? string an ending to remove: ".lua"
---@return string
function path.basename(path, ext) end

---The ending of the last part with its dot: ".gz" of "a.tar.gz"; "" of ".bashrc" and of "a.".
---@param path string
---@return string
function path.ext(path) end

---The last part without its ending.
---@param path string
---@return string
function path.stem(path) end

---The way from a directory to a path. Both are absolute or both relative, else this raises.
---@param path string
---@param from string
---@return string "." for the same
function path.relative(path, from) end

---Is the path the directory, or below it? By its text alone: use it on what fs.realpath returned
---where links matter.
---@param path string
---@param dir string
---@return boolean
function path.within(path, dir) end

---The parts of a normalised path; of an absolute one the first is "/".
---@param path string
---@return string[]
function path.split(path) end

return path
