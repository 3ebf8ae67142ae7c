-- place: --cwd, --config, --context and --no-config, which decide where a command is looked for and with
-- what settings, and --policy, which decides what may be called. So they stand in front of its name.
-- Loaded when a flag does, or where a policy holds.

local args = require "runner.project.args"
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

-- A policy is read before anything of the project is: what it refuses is not even loaded.
local function take_policy(a, front, given)
	if given.policy and not front.policy then
		return wrong("policy", nil, "--policy needs the path of a file")
	elseif front.policy or os.getenv "RUNNER_POLICY" then
		local caller_policy = require "runner.project.caller_policy"
		return caller_policy.take(a, front.policy) or caller_policy.placed(a, front)
	end
end

---Take the flags that stand in front of the command's name: sets `came_from`, and `settings` for
---lua/project/loader.lua, where they are not those of the project.
---@param a runner.Attempt
---@return runner.Error? problem
function M.take(a)
	local parsed = args.parse({}, table.move(a.tokens, 1, a.in_front, 1, {}))
	local front = parsed.framework
	local refused = take_policy(a, front, parsed.framework_given)
	if refused or not (front.cwd or front.config or front.no_config or front.context or front.policy) then
		return refused
	end
	a.came_from = host.getcwd()
	local config = front.config and absolute(front.config)
	if config and not front.no_config and host.probe(config) ~= "file" then
		return wrong("config", front.config, ("There is no settings file '%s'"):format(front.config))
	end
	local problem = front.cwd and move_to(front.cwd)
	if problem then
		return problem
	end
	local settings = { none = front.no_config, config = config, context = front.context }
	a.settings = next(settings) and settings or nil
end

---Lay the settings of a context over those of the file (REQ-O-024).
---@param project table of the file
---@param name string of the context
---@return runner.Error? problem
function M.apply_context(project, name)
	local chosen = (project.contexts or {})[name]
	if not chosen then
		local names = require("runner.core.sorted").keys(project.contexts or {})
		local problem = wrong("context", name, ("There is no context '%s' in %s"):format(name, project.file or "runner.lua, which is not read"))
		problem.suggestion = names[1] and "The contexts are " .. table.concat(names, ", ") or 'Write contexts = { NAME = { … } } in runner.lua'
		return problem
	end
	for key, v in next, chosen do
		project[key] = v
	end
	local problem = chosen.dotenv and require("runner.project.dotenv").apply(chosen.dotenv, project.file)
	if problem then
		return problem
	end
	host.send("META", { name = "context", data = json.encode(name, { envelope = true }) }, true)
end

return M
