-- scope: which files `runner watch` looks at: those that patterns name, or a whole folder,
-- without what version control keeps for itself, what .gitignore names and what editors leave
-- for a moment. Made into the options of lua/watch/changes.lua.

local gitignore = require "runner.watch.gitignore"
local globs = require "runner.core.globs"
local paths = require "runner.core.paths"

local M = {}

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
		rules[i] = gitignore.rule(line)
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
			return { level = gitignore.below(dir, above.level) }
		end
		return { level = (gitignore.at(dir)) } -- who names a folder that git leaves alone means it
	end
	local function takes(path, name, stat, at)
		local is_directory = stat.type == "directory"
		return not (is_directory and (KEPT_APART[name] or path == state) or is_passing(name)
			or gitignore.ignores(at.level, path, name, is_directory) or gitignore.ignores(ignore, path, name, is_directory)
			or not is_directory and is_named(scope.without, path, false))
			and is_named(scope.patterns, path, is_directory)
	end
	return { roots = roots_of(scope.patterns), enter = enter, takes = takes }
end

return M
