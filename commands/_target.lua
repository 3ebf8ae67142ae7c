-- A target: a directory of releases, one of which is live. Shared by deploy, rollback
-- and releases; not a command itself, since its name begins with "_".
--
--   current → releases/NAME    what a web server serves; it changes in one rename
--   releases/NAME/             complete and on disk before it has this name
--   releases/.…                work in progress, or what a killed run left
--   .deploy/lock, NAME.json    who is working; what was live before NAME, is NAME healthy
--
-- Everything here survives SIGKILL at any instruction: the next run that holds the
-- lock calls clean_up() and finds a complete release live. Whatever can't be removed is a
-- warning, and never keeps a deploy or a rollback from its work.

local fs = require "fs"
local json = require "json"

local M = {}

---@class Target
---@field ctx runner.Context
---@field name string
---@field path string
---@field keep integer releases that prune() leaves
---@field health table? {url=, timeout=, retry=}
---@field lock_wait string|number
local Target = {}
Target.__index = Target

-- --- failures -----------------------------------------------------------------------

local CODES = {
	EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOSPC = "RESOURCE_EXHAUSTED", EDQUOT = "RESOURCE_EXHAUSTED", ENOTSUP = "PRECONDITION", EINVAL = "PRECONDITION",
	ENAMETOOLONG = "PRECONDITION", EEXIST = "PRECONDITION", ENOTDIR = "PRECONDITION",
}

---The value that a file operation returned; fails with the system's message if it is nil.
---@param ctx runner.Context
---@param value any
---@param why? string
---@param name? string "ENOSPC" …
---@return any value
function M.must(ctx, value, why, name)
	if value == nil then
		ctx:fail(CODES[name] or "GENERAL_ERROR", why)
	end
	return value
end

function Target:must(...)
	return M.must(self.ctx, ...)
end

-- --- runner.lua -----------------------------------------------------------------------

local function is_text(v)
	return type(v) == "string" and v ~= ""
end

local function is_count(v)
	return math.type(v) == "integer" and v >= 1
end

local function is_wait(v)
	return type(v) == "number" and v >= 0 or v == "none" or is_text(v) and v:find("^%d+%.?%d*m?[smhd]?$") ~= nil
end

local HEALTH = {
	url = function(v) return is_text(v) and v:find("^https?://[^%s/]") end,
	timeout = is_wait,
	retry = function(v) return type(v) == "table" end,
}

local function is_health(v)
	if type(v) ~= "table" or v.url == nil then
		return false
	end
	for key, value in pairs(v) do
		if not HEALTH[key] or not HEALTH[key](value) then
			return false, key
		end
	end
	return true
end

-- key → its check, the values it takes in words, and its default (nil: required, false: none)
local KEYS = {
	path = { is_text, "a directory such as \"/srv/www\"" },
	keep = { is_count, "a whole number from 1", 5 },
	health = { is_health, "a table of url, timeout and retry: { url = \"http://localhost/health\", timeout = \"5s\" }", false },
	lock_wait = { is_wait, "a duration such as \"10s\"", "10s" },
}

local function refuse(ctx, target, key, found, fix)
	ctx:fail("PRECONDITION", ("config.targets.%s.%s in runner.lua %s"):format(target, tostring(key), found),
		{ fix_required = fix })
end

local function read_config(ctx, name)
	local declared, target = ctx.config.targets[name], { name = name }
	if type(declared) ~= "table" then
		ctx:fail("PRECONDITION", ("config.targets.%s in runner.lua is not a table"):format(name),
			{ fix_required = ("Write %s = { path = \"/srv/www\" }"):format(name) })
	end
	for key in pairs(declared) do
		if not KEYS[key] then
			refuse(ctx, name, key, "is unknown", "Use path, keep, health or lock_wait")
		end
	end
	for key, row in pairs(KEYS) do
		local value = declared[key]
		if value == nil then
			value = row[3]
		end
		local good, part = nil, nil
		if value then
			good, part = row[1](value)
		end
		if value == nil or value and not good then
			refuse(ctx, name, part and key .. "." .. tostring(part) or key, value == nil and "is missing" or "is invalid",
				("Set %s to %s"):format(key, row[2]))
		end
		target[key] = value
	end
	return target
end

---The names in config.targets, for the `values` of an argument.
---@param config table
---@return string[]
function M.names(config)
	local names = {}
	for name in pairs(type(config.targets) == "table" and config.targets or {}) do
		names[#names + 1] = type(name) == "string" and name or nil
	end
	table.sort(names)
	return names
end

---A path from runner.lua as an absolute path.
---@param ctx runner.Context
---@param path string
function M.from_root(ctx, path)
	return path:sub(1, 1) == "/" and path or ctx.root .. "/" .. path
end

---The target `name` of config.targets. Changes nothing.
---@param ctx runner.Context
---@param name string
---@return Target
function M.open(ctx, name)
	local self = setmetatable(read_config(ctx, name), Target)
	self.ctx, self.path = ctx, M.from_root(ctx, self.path)
	self.link = self.path .. "/current"
	self.releases, self.state = self.path .. "/releases", self.path .. "/.deploy"
	return self
end

-- --- what is there ----------------------------------------------------------------------

function Target:release(name)
	return self.releases .. "/" .. name
end

function Target:has(name)
	local st = fs.lstat(self:release(name))
	return st ~= nil and st.type == "directory"
end

---The release that `current` points to; nil when there is none yet.
---@return string?
function Target:live()
	local to, why, errno = fs.readlink(self.link)
	if not to and errno ~= "EINVAL" then
		return errno ~= "ENOENT" and self:must(to, why, errno) or nil
	end
	local name = to and to:match("^releases/([^/]+)$")
	if not name then
		self.ctx:fail("PRECONDITION", self.link .. " is not a link to one of the target's releases",
			{ fix_required = "Move it away, or choose another path for the target" })
	end
	return name
end

---The live release, unless it is gone from the disk.
---@return string?
function Target:standing()
	local name = self:live()
	return name and self:has(name) and name or nil
end

---The names of all releases, newest first. Without the lock one may vanish meanwhile.
---@return string[] names, table<string, number> made when, in seconds since the epoch
function Target:list()
	local names, made = {}, {}
	for _, name in ipairs(fs.list(self.releases) or {}) do
		local st = name:sub(1, 1) ~= "." and fs.lstat(self:release(name))
		if st and st.type == "directory" then
			names[#names + 1], made[name] = name, st.mtime
		end
	end
	table.sort(names, function(a, b)
		return made[a] > made[b] or made[a] == made[b] and a < b
	end)
	return names, made
end

---The note of a release: {previous=, verified=, source=}.
---@param name string
---@return table
function Target:note(name)
	local text = fs.read(self.state .. "/" .. name .. ".json")
	local note = text and json.decode(text)
	return type(note) == "table" and note or {}
end

function Target:write_note(name, note)
	self:must(fs.write(self.state .. "/" .. name .. ".json", json.encode(note) .. "\n"))
end

---The release that was live before this one; nil if it is gone.
---@param name string
---@return string?
function Target:before(name)
	local previous = self:note(name).previous
	return previous and self:has(previous) and previous or nil
end

---The release to return to if `release` is unhealthy: the live one, or the one before
---it if the live one is `release` itself or was never verified.
---@param release string
---@return string?
function Target:known_good(release)
	local good = self:standing()
	if good and self.health and not self:note(good).verified then
		good = self:before(good)
	end
	if good == release then
		good = self:before(release)
	end
	return good
end

-- --- changes, under the lock ---------------------------------------------------------------

---Lock out every other deploy and rollback of this target, or fail with LOCKED; with PERMISSION_DENIED
---where another user could lead its folders elsewhere.
function Target:lock()
	for _, folder in ipairs { self.releases, self.state } do
		self:must(fs.check_way(folder .. "/lock", tonumber("777", 8)))
	end
	self.ctx:lock(self.name, { path = self.state .. "/lock", wait = self.lock_wait, code = "LOCKED" })
end

-- What can't be removed is in no run's way: a warning, and the next run tries again.
local function tidied(ctx, ok, why, errno)
	if not ok and errno ~= "ENOENT" then
		ctx:warn("LEFT_BEHIND", "Something of an earlier release could not be removed: " .. why)
	end
	return ok
end

---Remove a release: atomically for others, then piece by piece. If it can't be renamed,
---it stays a release.
---@param name string
---@return boolean? gone from the list of releases
function Target:discard(name)
	local trash = self:release((".trash-%s-%s"):format(name, self.ctx.request_id))
	if not tidied(self.ctx, fs.rename(self:release(name), trash)) then
		return nil
	end
	self:must(fs.fsync(self.releases))
	tidied(self.ctx, fs.remove_tree(trash))
	fs.unlink(self.state .. "/" .. name .. ".json")
	return true
end

---Remove what killed runs left behind.
function Target:clean_up()
	for _, name in ipairs(self:must(fs.list(self.releases))) do
		if name:sub(1, 1) == "." then
			tidied(self.ctx, fs.remove_tree(self:release(name)))
		end
	end
	for _, name in ipairs(self:must(fs.list(self.path))) do
		if name:find("^%.current%.%x+%.tmp$") then
			tidied(self.ctx, fs.unlink(self.path .. "/" .. name))
		end
	end
	for _, name in ipairs(self:must(fs.list(self.state))) do
		local release = name:match("^(.+)%.json$")
		if name:find("%.tmp$") or release and not self:has(release) then
			tidied(self.ctx, fs.unlink(self.state .. "/" .. name))
		end
	end
end

---Where a release is built until it is complete. Each run has its own: a tar that has
---lost its worker, and the lock with it, may still be writing to the other.
---@return string
function Target:incoming()
	return self:release(".incoming-" .. self.ctx.request_id)
end

---A complete tree becomes the release `name`.
---@param tree string from incoming()
---@param name string
function Target:adopt(tree, name)
	self:must(fs.fsync_tree(tree))
	self:must(fs.rename(tree, self:release(name)))
	self:must(fs.fsync(self.releases))
end

function Target:drop(tree)
	tidied(self.ctx, fs.remove_tree(tree))
end

---Make a release live, atomically; nil: none.
---@param name? string
function Target:switch(name)
	if name then
		return self:must(fs.swap_symlink("releases/" .. name, self.link))
	end
	local ok, why, errno = fs.unlink(self.link)
	self:must(ok or errno == "ENOENT" or nil, why, errno)
	self:must(fs.fsync(self.path))
end

---Remove old releases. The live one and the one before it stay.
---@return string[] names of those that are gone
function Target:prune()
	local live, removed = self:live(), json.array {}
	local previous = live and self:before(live)
	for i, name in ipairs(self:list()) do
		if i > self.keep and name ~= live and name ~= previous then
			removed[#removed + 1] = self:discard(name) and name
		end
	end
	return removed
end

-- --- health ---------------------------------------------------------------------------------

local HEALTH_RETRY = { retries = 5, delay = "500ms", max_delay = "5s" }

---Is the live release healthy? Checks as often as health.retry allows.
---@return boolean healthy, table? error of the last check
function Target:is_healthy()
	local h = self.health
	local healthy, answer = pcall(self.ctx.http, self.ctx,
		{ url = h.url, timeout = h.timeout or "5s", retry = h.retry or HEALTH_RETRY })
	if not healthy and (type(answer) ~= "table" or answer.code == "INVALID_ARGUMENT" or answer.code == "INTERNAL_ERROR") then
		refuse(self.ctx, self.name, "health",
			"is invalid: " .. tostring(type(answer) == "table" and answer.message or answer),
			"Set health to " .. KEYS.health[2])
	end
	return healthy, answer
end

return M
