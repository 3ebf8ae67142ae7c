-- path: names of files as texts (POSIX, "/"). Pure, but for path.absolute: no file is looked at,
-- so a link is not followed.

local check = require "runner.library.check"

local M = {}

-- "." and empty parts go; ".." takes the part before it, where there is one.
local function parts_of(path)
	local out, absolute = {}, path:sub(1, 1) == "/"
	for part in path:gmatch "[^/]+" do
		if part == ".." and (#out > 0 and out[#out] ~= ".." or absolute) then
			out[#out] = nil
		elseif part ~= "." then
			out[#out + 1] = part
		end
	end
	return out, absolute
end

local function text_of(parts, absolute)
	local text = (absolute and "/" or "") .. table.concat(parts, "/")
	return text == "" and "." or text
end

---Without ".", empty parts and what ".." takes back. Doesn't look at files: where a part is a
---link, the file may be another one.
---@param path string
---@return string never empty: "."
function M.normalise(path)
	check.strings("path.normalise", path)
	return text_of(parts_of(path))
end

---The parts as one path, normalised. An absolute part begins again, as `cd` would.
---@param ... string
---@return string
function M.join(...)
	check.strings("path.join", ...)
	local all = ""
	for i = 1, select("#", ...) do
		local part = select(i, ...)
		all = part:sub(1, 1) == "/" and part or all == "" and part or part == "" and all or all .. "/" .. part
	end
	return M.normalise(all)
end

---@param path string
---@return boolean
function M.is_absolute(path)
	check.strings("path.is_absolute", path)
	return path:sub(1, 1) == "/"
end

---Absolute and normalised.
---@param path string
---@param from? string an absolute directory that a relative path starts at; default: the working directory
---@return string
function M.absolute(path, from)
	check.strings("path.absolute", path, from or "/")
	return M.join(from or require("runner.host").getcwd(), path)
end

---All but the last part, as dirname(1).
---@param path string
---@return string
function M.dirname(path)
	check.strings("path.dirname", path)
	local bare = path:gsub("(.)/+$", "%1")
	local dir = bare:match "^(.*)/[^/]*$"
	return not dir and "." or dir:find "^/*$" and "/" or (dir:gsub("/+$", ""))
end

---The last part, as basename(1).
---@param path string
---@param ext? string an ending to remove: ".lua"
---@return string
function M.basename(path, ext)
	check.strings("path.basename", path, ext or "")
	local name = path:gsub("(.)/+$", "%1"):match "([^/]*)$"
	if path:find "^/+$" then
		return "/"
	elseif ext and ext ~= "" and #name > #ext and name:sub(-#ext) == ext then
		return name:sub(1, -#ext - 1)
	end
	return name
end

---The ending of the last part with its dot: ".gz" of "a.tar.gz"; "" of ".bashrc" and of "a.".
---@param path string
---@return string
function M.ext(path)
	check.strings("path.ext", path)
	return M.basename(path):match "^.+(%.[^.]+)$" or ""
end

---The last part without its ending.
---@param path string
---@return string
function M.stem(path)
	check.strings("path.stem", path)
	return M.basename(path, M.ext(path))
end

---The way from a directory to a path. Both are absolute or both relative, else this raises.
---@param path string
---@param from string
---@return string "." for the same
function M.relative(path, from)
	check.strings("path.relative", path, from)
	local to, absolute = parts_of(path)
	local start, also = parts_of(from)
	if absolute ~= also then
		check.misuse("path.relative", "one path is absolute and the other is not; path.absolute makes both so")
	end
	local same = 0
	while start[same + 1] and start[same + 1] == to[same + 1] do
		same = same + 1
	end
	local out = {}
	for i = same + 1, #start do
		if start[i] == ".." then
			check.misuse("path.relative", ("it is not known what '..' of '%s' leads to"):format(from))
		end
		out[#out + 1] = ".."
	end
	return text_of(table.move(to, same + 1, #to, #out + 1, out))
end

---Is the path the directory, or below it? By its text alone: use it on what fs.realpath returned
---where links matter.
---@param path string
---@param dir string
---@return boolean
function M.within(path, dir)
	check.strings("path.within", path, dir)
	local parts, absolute = parts_of(path)
	local above, also = parts_of(dir)
	if absolute ~= also or parts[#above + 1] == ".." then
		return false
	end
	for i, part in ipairs(above) do
		if parts[i] ~= part then
			return false
		end
	end
	return true
end

---The parts of a normalised path; of an absolute one the first is "/".
---@param path string
---@return string[]
function M.split(path)
	check.strings("path.split", path)
	local parts, absolute = parts_of(path)
	if absolute then
		table.insert(parts, 1, "/")
	end
	return parts
end

return M
