-- scope: which files `runner watch` looks at: those that patterns name, or a whole folder,
-- without what version control keeps for itself, what .gitignore names and what editors leave
-- for a moment. Made into the options of lua/watch/changes.lua.

local fs = require "runner.fs"
local globs = require "runner.core.globs"
local paths = require "runner.core.paths"

local M = {}

-- Which files git leaves alone, by gitignore(5): the .gitignore of each directory,
-- .git/info/exclude and the user's git/ignore. Reads files and runs no program. What git keeps
-- although a pattern names it is left alone here.

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

local KEPT_APART = { [".git"] = true, [".hg"] = true, [".svn"] = true, [".jj"] = true, [".bzr"] = true, _darcs = true, CVS = true }
-- Swap files, backups and locks of editors; what NFS and FUSE keep of removed files.
local PASSING = { "^%..*%.sw[a-z]$", "~$", "^%.#", "^#.*#$", "^4913$", "^%.nfs%x+$", "^%.fuse_hidden", "^%.goutputstream%-",
	"%.kate%-swp$", "___jb_%a+___$", "^%.DS_Store$" }

---@class runner.WatchPattern
---@field base string the directory that the first wildcard is in; or the file itself
---@field parts runner.GlobPart[] of what is below the base
---@field dots boolean names with a dot in front match too

-- One pattern without braces.
local function pattern_of(text, from)
	local full = paths.absolute(text, from)
	local fixed, rest, below = {}, {}, false
	for name in full:gmatch "[^/]+" do
		below = below or name == "**" or globs.name_pattern(name) ~= nil
		if name == ".." and not below then
			fixed[#fixed] = nil
		elseif name ~= "." then
			table.insert(below and rest or fixed, name)
		end
	end
	local base = "/" .. table.concat(fixed, "/")
	-- Without a wildcard it is a file, or a folder with all that is in it.
	return { base = base, parts = below and globs.parts(table.concat(rest, "/")) or { { any = true } }, dots = not below }
end

---@param list string[] patterns: relative ones are of `from`
---@param from string absolute
---@return runner.WatchPattern[]
function M.patterns(list, from)
	local out = {}
	for _, text in ipairs(list) do
		for _, one in ipairs(globs.expand(text)) do
			out[#out + 1] = pattern_of(one, from)
		end
	end
	return out
end

-- The names of a path below the base of a pattern; nil: it isn't there.
local function below(pattern, path)
	local base = pattern.base == "/" and "/" or pattern.base .. "/"
	return path:sub(1, #base) == base and globs.names(path:sub(#base + 1)) or nil
end

local function is_named(patterns, path, is_directory)
	for _, pattern in ipairs(patterns) do
		local names = below(pattern, path)
		if names and (is_directory and globs.leads or globs.matches)(pattern.parts, names, pattern.dots) or path == pattern.base then
			return true
		end
	end
	return false
end

local function is_passing(name)
	for _, pattern in ipairs(PASSING) do
		if name:find(pattern) then
			return true
		end
	end
	return false
end

-- The lines of --ignore, as those of a .gitignore in this directory.
local function level_of(lines, base)
	local rules = {}
	for i, line in ipairs(lines) do
		rules[i] = M.rule(line)
	end
	return { base = base == "/" and base or base .. "/", rules = rules }
end

local function roots_of(patterns)
	local roots, seen = {}, {}
	for _, pattern in ipairs(patterns) do
		if not seen[pattern.base] then
			seen[pattern.base] = true
			roots[#roots + 1] = pattern.base
		end
	end
	return roots
end

---@class runner.WatchScope
---@field patterns runner.WatchPattern[] what is looked at
---@field without runner.WatchPattern[] what isn't
---@field ignore string[] lines as in a .gitignore, of `here`
---@field here string
---@field gitignore boolean do .gitignore files count?

---@param scope runner.WatchScope
---@return runner.ChangesOptions
function M.options(scope)
	local ignore, state = level_of(scope.ignore, scope.here), paths.state()
	local function enter(dir, above)
		if not scope.gitignore then
			return {}
		elseif above then
			return { level = M.below(dir, above.level) }
		end
		return { level = (M.at(dir)) } -- who names a folder that git leaves alone means it
	end
	local function takes(path, name, stat, at)
		local is_directory = stat.type == "directory"
		return not (is_directory and (KEPT_APART[name] or path == state) or is_passing(name)
			or M.ignores(at.level, path, name, is_directory) or M.ignores(ignore, path, name, is_directory)
			or not is_directory and is_named(scope.without, path, false))
			and is_named(scope.patterns, path, is_directory)
	end
	return { roots = roots_of(scope.patterns), enter = enter, takes = takes }
end

return M
