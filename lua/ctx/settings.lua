-- settings: ctx:settings and ctx:save_settings, values that commands keep between runs, in one
-- JSON file for a project and one for the user. Loaded on first use.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

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

local function read(ctx, path)
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
	return put(read(ctx, of_user()), read(ctx, of_project(ctx)))
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
	local text, why = json.encode(put(read(ctx, path), values))
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
