-- cached: ctx:cached, values that a command keeps between runs in the directory that it declares
-- as a cache (filesystem_side_effects). A file for each value; what can't be read counts as
-- missing, and what can't be written is a warning, since a cache may always be lost. Loaded on
-- first use.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local fs = require "runner.fs"
local paths = require "runner.core.paths"

local M = {}

local LONGEST = 200 -- bytes of a file name, without ".json"

local function misused(...)
	require("runner.ctx.misuse").raise("ctx:cached", ...)
end

local function declared()
	for _, row in ipairs(attempt.command.filesystem_side_effects or {}) do
		if row.type == "cache" then
			return row
		end
	end
	misused("the command declares no cache", 'Add filesystem_side_effects = { { path = ".cache/NAME", type = "cache" } }')
end

-- Whole seconds: what may be older counts as missing. nil: it never grows too old.
local function time_to_live(cache)
	local given = attempt.framework
	local ttl = given.no_cache and 0 or given.cache_ttl or cache.ttl_seconds
	return ttl and math.floor(ttl)
end

-- The value as JSON, where there is one that is young enough.
local function read(path, ttl)
	local text = ttl ~= 0 and fs.read(path)
	local entry = text and json.decode(text)
	if type(entry) ~= "table" or type(entry.saved) ~= "number" or type(entry.value) ~= "string" then
		return nil
	end
	local age = os.time() - entry.saved
	return age >= 0 and not (ttl and age >= ttl) and entry.value or nil
end

local function note_use()
	if not attempt.framework.stable_output then
		host.send("META", { name = "cache_used", data = "true" }, true)
	end
end

local function write(path, value)
	local ok, why = fs.mkdirs(path:match "^(.*)/", 448) -- 0700
	if ok then
		ok, why = fs.write(path, json.encode { saved = os.time(), value = value }, 384, false) -- 0600
	end
	if not ok then
		attempt.warn("CACHE_NOT_WRITTEN", "A value was not kept for later runs: " .. tostring(why), { path = path })
	end
end

---The value that an earlier run kept under this key, else what make() returns, which is kept. Both
---come as JSON would bring them, so that the first run gets what the next one gets. make's errors
---pass through; nil is not kept. A dry run keeps nothing. REQ-O-018.
---@param ctx runner.Context
---@param key string
---@param make fun(): any
---@return any
function M.cached(ctx, key, make)
	if type(key) ~= "string" or key == "" or type(make) ~= "function" then
		misused("it needs a key and a function", 'Write ctx:cached("key", function() return … end)')
	end
	local cache = declared()
	local ttl = time_to_live(cache)
	local path = ("%s/%s.json"):format(paths.declared(cache.path, ctx.root or host.getcwd()), paths.file_name(key, LONGEST))
	local kept = read(path, ttl)
	if kept then
		note_use()
		return (json.decode(kept))
	end
	local value = make()
	if value == nil then
		return nil
	end
	local text, why = json.encode(value)
	if not text then
		misused(why, "Return plain JSON values")
	elseif ttl ~= 0 and not ctx.dry_run then
		write(path, text)
	end
	return (json.decode(text))
end

return M
