-- place: --cwd, --config and --no-config, which decide where a command is looked for and with
-- what settings. So they stand in front of its name. Loaded when one of them is given.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

local function wrong(flag, path, message)
	return require("runner.core.errors").new("VALIDATION_ERROR", message, {
		phase = "validation", side_effects = "none", fix_required = ("Correct the --%s argument before retrying"):format(flag),
		errors = { { field = flag, code = "INVALID_ARGUMENT", message = message, value = path } },
	})
end

local function absolute(path)
	return path:sub(1, 1) == "/" and path or host.getcwd() .. "/" .. path
end

-- The worker is this run's own process: its directory is nobody else's.
local function move_to(path)
	local ok, why = host.chdir(path)
	if not ok then
		return wrong("cwd", path, ("Can't work in '%s': %s"):format(path, why))
	end
	host.send("META", { name = "cwd", data = json.encode(host.getcwd(), { envelope = true }) }, true)
end

---Take the flags that stood in front of the command's name.
---@param front table<string, any> their values
---@return runner.Error? problem
---@return {config?: string, none?: boolean}? settings for lua/project/loader.lua, where they are not those of the project
function M.take(front)
	local config = front.config and absolute(front.config)
	if config and not front.no_config and host.probe(config) ~= "file" then
		return wrong("config", front.config, ("There is no settings file '%s'"):format(front.config))
	end
	local problem = front.cwd and move_to(front.cwd)
	if problem then
		return problem
	end
	return nil, (front.no_config or config) and { none = front.no_config, config = config } or nil
end

return M
