-- gather: the files of a library as they are read from a folder or an archive, with the rules that each must
-- keep. Nothing is written and nothing is run. What breaks a rule is LIBRARY_REFUSED, by its path.

local errors = require "runner.core.errors"
local vendored = require "runner.project.vendored"

local M = {}

M.MOST_FILES = 1000
M.MOST_BYTES = 16 << 20 -- of all files
M.DEPTH = 8 -- parts of a path

local SET_ID = 3072 -- 06000: set-user-ID, set-group-ID

---@class runner.Gathered
---@field source string for messages
---@field files {path: string, text: string}[]
---@field bytes integer
---@field paths table<string, string> each path and folder, by what a file system without case calls it
local Gathered = {}
Gathered.__index = Gathered

---@param source string as it was named
---@return runner.Gathered
function M.new(source)
	return setmetatable({ source = source, files = {}, bytes = 0, paths = {} }, Gathered)
end

---@param message string
---@param fix? string
---@param path? string in the library
function Gathered:refuse(message, fix, path)
	errors.raise("LIBRARY_REFUSED", ("%s: %s"):format(self.source, message), { phase = "validation", side_effects = "none",
		retryable = false, fix_required = fix, context = { source = self.source, path = path } })
end

local PARTS = { commands = true, lib = true }

---Is it a file that a project gets? Commands, what they require, and what a person should read.
---@param path string
---@return boolean
function M.is_wanted(path)
	local first, more = path:match "^([^/]*)(.*)$"
	return PARTS[first] or more == "" and (first:find "^README" or first:find "^LICEN[CS]E" or first:find "^COPYING") ~= nil
end

---Refuse what is neither a file nor a folder.
---@param path string
---@param kind string "file", "directory", "link" …
---@param mode? integer
function Gathered:check_type(path, kind, mode)
	if kind == "link" then
		self:refuse(("'%s' is a link"):format(path), "Replace it by the file that it leads to", path)
	elseif kind ~= "file" and kind ~= "directory" then
		self:refuse(("'%s' is neither a file nor a folder"):format(path), "Remove it from the library", path)
	elseif kind == "file" and mode and mode & SET_ID ~= 0 then
		self:refuse(("'%s' is set-user-ID or set-group-ID"):format(path), ("chmod ug-s %s"):format(path), path)
	end
end

-- "A/b" beside "a/c", or "x" beside "X": one file where case doesn't count.
function Gathered:check_twins(path, is_folder)
	local at = 0
	while at do
		at = path:find("/", at + 1, true)
		local part, kind = path:sub(1, at and at - 1 or -1), (at or is_folder) and "folder" or "file"
		local other = self.paths[part:lower()]
		if other and (other.path ~= part or other.kind ~= kind or kind == "file") then
			self:refuse(("'%s' and '%s' would be one file on some systems"):format(other.path, part),
				"Give them names that differ in more than case", part)
		end
		self.paths[part:lower()] = { path = part, kind = kind }
	end
end

---Refuse a path that is not plain: links out of the library, hidden files, other alphabets.
---@param path string
function Gathered:check_path(path)
	if not vendored.is_plain(path) then
		self:refuse(("the name '%s' is not allowed"):format((path:gsub("[^\32-\126]", "?"):sub(1, 200))),
			"Names have letters, digits, '.', '_' and '-', and begin with none of the last two and no dot", path)
	elseif select(2, path:gsub("/", "")) >= M.DEPTH then
		self:refuse(("'%s' is more than %d folders deep"):format(path, M.DEPTH), nil, path)
	end
end

---The bytes that one more file may have.
---@return integer
function Gathered:room()
	return math.min(vendored.FILE_BYTES, M.MOST_BYTES - self.bytes)
end

---Refuse a file that is too large, or one too many.
---@param path string
---@param size integer bytes
function Gathered:check_size(path, size)
	if #self.files >= M.MOST_FILES then
		self:refuse(("it has more than %d files"):format(M.MOST_FILES))
	elseif size > vendored.FILE_BYTES then
		self:refuse(("'%s' is larger than %d MiB"):format(path, vendored.FILE_BYTES >> 20), nil, path)
	elseif size > self:room() then
		self:refuse(("its files are larger than %d MiB together"):format(M.MOST_BYTES >> 20), nil, path)
	end
end

---@param path string checked
---@param text string
function Gathered:add(path, text)
	self:check_size(path, #text)
	self:check_twins(path)
	self.files[#self.files + 1] = { path = path, text = text }
	self.bytes = self.bytes + #text
end

---Is there a command in it?
function Gathered:finish()
	table.sort(self.files, function(a, b)
		return a.path < b.path
	end)
	for _, file in ipairs(self.files) do
		if vendored.command_of(file.path) then
			return self
		end
	end
	self:refuse("there is no command in it", "A library has its commands in commands/, and what they require in lib/")
end

return M
