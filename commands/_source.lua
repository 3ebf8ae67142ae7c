-- A source: the directory or .tar.gz that deploy makes a release of. No command
-- itself, since its name begins with "_". It reads the source, writes only into
-- the directory it is told to, and lets nothing in that leads out of a release.

local fs = require "fs"

local M = {}

---@class Source
---@field ctx runner.Context
---@field path string absolute, without links
---@field given string as the caller wrote it
---@field archive boolean
local Source = {}
Source.__index = Source

-- Neither variables of the caller nor the locale change what tar does.
local ENV = { TAR_OPTIONS = false, LC_ALL = "C" }

---The source at `path`; touches nothing.
---@param ctx runner.Context
---@param path string
---@param given string for people, and for the note of the release
---@return Source
function M.open(ctx, path, given)
	local real, why, errno = fs.realpath(path)
	local st
	if real then
		st, why, errno = fs.stat(real)
	end
	if not st then
		ctx:fail(errno == "EACCES" and "PERMISSION_DENIED" or "NOT_FOUND", ("Nothing to deploy: %s"):format(why),
			{ suggestion = "Name a directory or a .tar.gz" })
	end
	local kind = st.type
	local archive = kind == "file" and (real:find("%.tar%.gz$") or real:find("%.tgz$")) ~= nil
	if kind ~= "directory" and not archive then
		ctx:fail("PRECONDITION", given .. " is neither a directory nor a .tar.gz",
			{ fix_required = "Name a directory, or pack one: tar -czf site.tar.gz -C site ." })
	end
	return setmetatable({ ctx = ctx, path = real, given = given, archive = archive }, Source)
end

local function refuse(self, what, name)
	self.ctx:fail("PRECONDITION", ("%s holds %s: %s"):format(self.given, what, name),
		{ fix_required = "Remove it from the source", side_effects = "none" })
end

local function first_line(result)
	return result.error or result.stderr:match("[^\n]+") or "tar failed"
end

local function tar_failed(self, result)
	self.ctx:fail("PRECONDITION", ("%s can't be unpacked: %s"):format(self.given, first_line(result)),
		{ fix_required = "Pack it again: tar -czf site.tar.gz -C site .", side_effects = "none" })
end

---Refuse an archive that is broken, or names files outside of itself.
function Source:check()
	if not self.archive then
		return
	end
	local bad
	local result = self.ctx:run { "tar", "--force-local", "-tzf", self.path, env = ENV, on_line = function(line, stream)
		if stream ~= "stderr" and (line:sub(1, 1) == "/" or ("/" .. line .. "/"):find("/../", 1, true)) then
			bad = bad or line
		end
	end }
	if bad then
		refuse(self, "a path that leads out of it", bad)
	elseif not result.ok then
		tar_failed(self, result)
	end
end

-- Every entry is a file, a directory, or a link to something inside.
local function check_tree(self, root, below)
	local dir = root .. below
	for _, name in ipairs(fs.list(dir) or {}) do
		local path, shown = dir .. "/" .. name, below .. "/" .. name
		local kind = fs.lstat(path).type
		if kind == "directory" then
			check_tree(self, root, shown)
		elseif kind == "link" then
			local real = fs.realpath(path)
			if fs.readlink(path):sub(1, 1) == "/" or not real or (real .. "/"):sub(1, #root + 1) ~= root .. "/" then
				refuse(self, "a link that leads nowhere or out of it", shown:sub(2))
			end
		elseif kind ~= "file" then
			refuse(self, "a " .. kind, shown:sub(2))
		end
	end
end

---Fill `tree`, which does not exist yet.
---@param tree string
---@param must fun(value: any, why: string?, errno: string?): any
function Source:unpack(tree, must)
	if self.archive then
		must(fs.mkdir(tree))
		local result = self.ctx:run { "tar", "--force-local", "-xzf", self.path, "-C", tree, "--touch",
			"--no-same-owner", "--no-same-permissions", env = ENV }
		if not result.ok then
			tar_failed(self, result)
		end
	else
		local ok, why, errno = fs.copy_tree(self.path, tree)
		if errno == "EINVAL" then
			self.ctx:fail("PRECONDITION", self.given .. " holds the target itself",
				{ fix_required = "Deploy a directory that the target is no part of", side_effects = "none" })
		elseif errno == "ENOTSUP" then
			refuse(self, "what is neither a file, a directory nor a link", why:match("^copy_tree (.-) → ") or why)
		end
		must(ok, why, errno)
	end
	check_tree(self, must(fs.realpath(tree)), "")
end

---SHA-256 over names, modes and contents of a tree, whoever made it and when.
---@param ctx runner.Context
---@param tree string
---@return string hex
function M.digest(ctx, tree)
	local result = ctx:pipeline {
		{ "tar", "-cf", "-", "--sort=name", "--format=gnu", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner",
			"--mode=ug-s,o-t", "--hard-dereference", "." },
		{ "sha256sum" },
		cwd = tree, env = ENV,
	}
	if not result.ok then
		ctx:fail("PRECONDITION", ("%s can't be read: %s"):format(tree, first_line(result)),
			{ fix_required = "Make every file of it readable, and let nobody change it meanwhile", side_effects = "none" })
	end
	return result.stdout:match("^%x+")
end

---The digest of what it will become; nil when only unpacking can tell.
---@return string?
function Source:digest()
	return not self.archive and M.digest(self.ctx, self.path) or nil
end

return M
