-- storage: values that commands keep between runs. ctx:cached keeps them in the directory that the command declares as
-- a cache (filesystem_side_effects): a file for each value; what can't be read counts as missing, and what can't be
-- written is a warning, since a cache may always be lost. ctx:settings and ctx:save_settings keep them in one JSON file
-- for a project and one for the user. Loaded on first use.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

-- --- a cache ---------------------------------------------------------------------------

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

-- The value as JSON, where there is one that is young enough, and that no other user can have put there.
local function read_cached(path, ttl)
	local text = ttl ~= 0 and fs.check_way(path) and fs.read(path)
	local entry = text and json.decode(text)
	if type(entry) ~= "table" or type(entry.saved) ~= "number" or type(entry.value) ~= "string" then
		return nil
	end
	local age = os.time() - entry.saved
	return age >= 0 and not (ttl and age >= ttl) and entry.value or nil
end

local function note_use()
	host.send("META", { name = "cache_used", data = "true" }, true)
end

local function write_cached(path, value)
	local ok, why = fs.check_way(path, 448) -- 0700
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
	local kept = read_cached(path, ttl)
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
		write_cached(path, text)
	end
	return (json.decode(text))
end

-- --- settings --------------------------------------------------------------------------

local FILE = ".runner-config.json" -- of a project, in its root

local function of_project(ctx)
	return (ctx.root or host.getcwd()) .. "/" .. FILE
end

-- As XDG has it; nil: there is no home.
local function of_user()
	local home, base = paths.home(), os.getenv "XDG_CONFIG_HOME"
	base = paths.is_absolute(base) and base or home and home .. "/.config" or nil
	return base and base .. "/runner/config.json"
end

local function read_settings(ctx, path)
	if not (path and ctx.fs.exists(path)) then
		return {}
	end
	local values, why = json.decode(ctx.fs.read(path))
	if type(values) ~= "table" or json.is_array(values) then
		require("runner.core.errors").raise("PRECONDITION", ("%s is no JSON object: %s"):format(path, why or "it is a list"),
			{ side_effects = "none", fix_required = "Correct or remove " .. path })
	end
	return values
end

local function put(into, values)
	for name, v in pairs(values) do
		into[name] = v ~= json.null and v or nil
	end
	return into
end

---The values saved, those of the project over those of the user.
---@param ctx runner.Context
---@return table<string, any>
function M.settings(ctx)
	return put(read_settings(ctx, of_user()), read_settings(ctx, of_project(ctx)))
end

-- Where the values go, and whether that is for all projects.
local function destination(ctx)
	local scope = attempt.command.config_write_scope
	if not scope then
		require("runner.ctx.misuse").raise("ctx:save_settings", "the command does not declare config_write_scope",
			'Add config_write_scope = "local", "global" or "session"')
	elseif scope == "session" then
		return ctx.tempdir .. "/" .. FILE
	elseif not attempt.framework.global then
		return of_project(ctx)
	end
	return of_user() or require("runner.core.errors").raise("PRECONDITION", "There is no directory for the user's settings",
		{ side_effects = "none", fix_required = "Set XDG_CONFIG_HOME, or HOME to a directory that is there" }), true
end

---Save values beside those saved before; json.null removes one. They are the project's, unless
---the caller gives --global to a command that declares config_write_scope = "global".
---@param ctx runner.Context
---@param values table<string, any>
---@return string path of the file
function M.save_settings(ctx, values)
	if type(values) ~= "table" or values[1] ~= nil then
		require("runner.ctx.misuse").raise("ctx:save_settings", "it takes a table of values by name",
			'Write ctx:save_settings{ region = "eu" }')
	end
	local path, for_all = destination(ctx)
	local lock <close> = ctx:lock("settings:" .. path) -- luacheck: ignore
	local text, why = json.encode(put(read_settings(ctx, path), values))
	if not text then
		require("runner.ctx.misuse").raise("ctx:save_settings", why, "Save plain JSON values")
	end
	ctx.fs.mkdirs(path:match "^(.*)/", 448) -- 0700
	ctx.fs.write(path, text .. "\n", 384) -- 0600
	if for_all then
		attempt.warn("GLOBAL_CONFIG_MODIFIED", ("Settings of all projects were changed: %s"):format(path), { path = path })
	end
	return path
end

return M
