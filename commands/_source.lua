-- A source: the directory or .tar.gz that deploy makes a release of. Not a command
-- itself, since its name begins with "_". It reads the source, writes only into the
-- directory it is given, and rejects anything that points outside of a release.

local fs = require "fs"
local hash = require "runner.hash"

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

---The source at `path`. Changes nothing.
---@param ctx runner.Context
---@param path string
---@param given string as the caller wrote it, for messages and the release's note
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
	self.ctx:fail("PRECONDITION", ("%s contains %s: %s"):format(self.given, what, name),
		{ fix_required = "Remove it from the source", side_effects = "none" })
end

-- That of GNU, of busybox and of libarchive take the same short options.
local function tar_failed(self, result)
	local fix = "Pack it again: tar -czf site.tar.gz -C site ."
	if result.error or (result.stderr or ""):find "option" then
		fix = "Install tar, that of GNU, busybox or libarchive; or deploy a directory, which needs none"
	end
	local why = result.error or result.stderr:match("[^\n]+") or "tar failed"
	self.ctx:fail("PRECONDITION", ("%s can't be unpacked: %s"):format(self.given, why), { fix_required = fix, side_effects = "none" })
end

---Reject an archive that is broken, or has files outside of itself.
function Source:check()
	if not self.archive then
		return
	end
	local bad
	local result = self.ctx:run { "tar", "-tzf", self.path, env = ENV, check = false, on_line = function(line, stream)
		if stream ~= "stderr" and (line:sub(1, 1) == "/" or ("/" .. line .. "/"):find("/../", 1, true)) then
			bad = bad or line
		end
	end }
	if bad then
		refuse(self, "a path that points outside of it", bad)
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
				refuse(self, "a link that is broken or points outside of it", shown:sub(2))
			end
		elseif kind ~= "file" then
			refuse(self, "a " .. kind, shown:sub(2))
		end
	end
end

---Create and fill `tree`.
---@param tree string
---@param must fun(value: any, why: string?, errno: string?): any
function Source:unpack(tree, must)
	if self.archive then
		must(fs.mkdir(tree))
		local result = self.ctx:run { "tar", "-xzmof", self.path, "-C", tree, "--no-same-permissions", env = ENV, check = false }
		if not result.ok then
			tar_failed(self, result)
		end
	else
		local ok, why, errno = fs.copy_tree(self.path, tree)
		if errno == "EINVAL" then
			self.ctx:fail("PRECONDITION", self.given .. " contains the target itself",
				{ fix_required = "Deploy a directory that doesn't contain the target", side_effects = "none" })
		elseif errno == "ENOTSUP" then
			refuse(self, "something that is not a file, directory or link", why:match("^copy_tree (.-) → ") or why)
		end
		must(ok, why, errno)
	end
	check_tree(self, must(fs.realpath(tree)), "")
end

-- Add what a folder has, in the order of its names, as a text that no other tree has.
local function add_folder(dir, below, out)
	local names, why = fs.list(dir)
	if not names then
		error(why, 0)
	end
	table.sort(names)
	for _, name in ipairs(names) do
		local path, st = dir .. "/" .. name, assert(fs.lstat(dir .. "/" .. name))
		local content = st.type == "file" and hash.file(path) or st.type == "link" and assert(fs.readlink(path)) or ""
		out[#out + 1] = ("%s %o %s%s\0%s\0"):format(st.type, st.type == "link" and 0 or st.mode & 511, below, name, content)
		if st.type == "directory" then
			add_folder(path, below .. name .. "/", out)
		end
	end
end

---SHA-256 over names, modes and contents of a tree, whatever its owners and times.
---@param ctx runner.Context
---@param tree string
---@return string hex
function M.digest(ctx, tree)
	local out = {}
	local ok, e = pcall(add_folder, tree, "", out)
	if not ok then
		ctx:fail("PRECONDITION", ("%s can't be read: %s"):format(tree, type(e) == "table" and e.message or e),
			{ fix_required = "Make every file in it readable, and don't change it during the deploy", side_effects = "none" })
	end
	return hash.text(table.concat(out))
end

---The digest of the release it will become; nil if that takes unpacking.
---@return string?
function Source:digest()
	return not self.archive and M.digest(self.ctx, self.path) or nil
end

return M
