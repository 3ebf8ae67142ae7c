-- gitignore: which files git leaves alone, by gitignore(5): the .gitignore of each directory,
-- .git/info/exclude and the user's git/ignore. Reads files and runs no program. What git keeps
-- although a pattern names it is left alone here.

local fs = require "runner.fs"
local globs = require "runner.core.globs"

local M = {}

local SIZE_MAX = 1 << 20 -- bytes; of a longer file nothing is taken

---@class runner.IgnoreRule
---@field parts runner.GlobPart[]
---@field keep boolean "!pattern": what an earlier rule named is not left alone
---@field directory boolean only directories
---@field anywhere boolean the pattern is of a name, in any directory below

---@class runner.IgnoreLevel the rules of one directory
---@field up? runner.IgnoreLevel
---@field base string the directory, with a slash at its end
---@field rules runner.IgnoreRule[]

---One line of a file → a rule; nil: there is none in it.
---@param line string
---@return runner.IgnoreRule?
function M.rule(line)
	line = line:gsub("\r$", "")
	while line:find " $" and not line:find "\\ $" do
		line = line:sub(1, -2)
	end
	local keep, text = line:match "^(!?)(.*)$"
	if text == "" or keep == "" and text:sub(1, 1) == "#" then
		return nil
	end
	local body, slash = text:match "^(.-)(/?)$"
	local parts = globs.parts(body, true)
	return parts[1] and { parts = parts, keep = keep ~= "", directory = slash ~= "", anywhere = not body:find "/" } or nil
end

local function rules_of(path)
	local rules = {}
	for line in (fs.read(path, SIZE_MAX) or ""):gmatch "[^\n]+" do
		rules[#rules + 1] = M.rule(line)
	end
	return rules
end

local function level(base, path, up)
	local rules = rules_of(path)
	return rules[1] and { up = up, base = base, rules = rules } or up
end

---The rules in a directory, on top of those of the directories above it.
---@param dir string
---@param up? runner.IgnoreLevel
---@return runner.IgnoreLevel?
function M.below(dir, up)
	local base = dir == "/" and dir or dir .. "/"
	return level(base, base .. ".gitignore", up)
end

local function matches(rule, at, path, name, is_directory)
	if rule.directory and not is_directory then
		return false
	elseif rule.anywhere then
		return rule.parts[1].any or globs.part_matches(rule.parts[1], name, true)
	end
	local names = globs.names(path:sub(#at.base + 1))
	local last = rule.parts[#rule.parts]
	if last.any and #names < #rule.parts then -- "a/**" is what is in a, not a
		return false
	end
	return globs.matches(rule.parts, names, true)
end

---Does git leave this path alone? Its directory is one that git does not.
---@param at runner.IgnoreLevel? of its directory
---@param path string
---@param name string the last part of it
---@param is_directory boolean
---@return boolean
function M.ignores(at, path, name, is_directory)
	while at do
		for i = #at.rules, 1, -1 do
			if matches(at.rules[i], at, path, name, is_directory) then
				return not at.rules[i].keep
			end
		end
		at = at.up
	end
	return false
end

local function user_file()
	local config, home = os.getenv "XDG_CONFIG_HOME", os.getenv "HOME"
	return config and config ~= "" and config .. "/git/ignore" or home and home ~= "" and home .. "/.config/git/ignore" or nil
end

-- The directories from `dir` up to the top of its repository, the top first.
local function chain(dir)
	local list, at = {}, dir
	while at do
		table.insert(list, 1, at)
		if fs.lstat(at .. "/.git") then
			return list, at
		end
		at = at ~= "/" and (at:match "^(.+)/[^/]+$" or "/") or nil
	end
	return { dir }
end

---The rules that hold in a directory; nothing where git leaves the directory itself alone.
---@param dir string absolute, without "." and ".."
---@return runner.IgnoreLevel? level
---@return boolean ignored
function M.at(dir)
	local list, top = chain(dir)
	local user, base = user_file(), (top or dir) .. "/"
	local at = user and level(base, user, nil)
	at = top and level(base, top .. "/.git/info/exclude", at) or at
	for i, one in ipairs(list) do
		if i > 1 and M.ignores(at, one, one:match "[^/]+$", true) then
			return nil, true
		end
		at = M.below(one, at)
	end
	return at, false
end

return M
