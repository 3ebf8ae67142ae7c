-- environment: what a run reads of the environment that it began in. What its texts name
-- (`${env.NAME}`) is settled then and stored with the run; what may be a secret is not, and is
-- read again by each process of the run. What scripts read by themselves, and environment files,
-- are only compared. A resume that finds something else says so.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local paths = require "runner.core.paths"
local secrets = require "runner.workflow.run.secrets"
local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = {}

---@class runner.workflow.Surroundings
---@field id string of the run
---@field mask fun(v: any): any
---@field kept {env: table, scripts: table, files: table} what the store has, from now on
---@field before {env: table, scripts: table, files: table} what it had
---@field changes {name: string, rules: "start"|"now", message: string}[]
---@field env fun(name: string): string? what ${env.NAME} is in this run

-- --- what may be stored -------------------------------------------------------------------------

-- Where the call stands is none, though PWD is short for "password" elsewhere.
local PLACES = { PWD = true, OLDPWD = true }

-- A value as it is stored: false: it isn't set; a table: a URL without its password, to compare;
-- nil: nothing of it.
local function form_of(name, value, mask)
	if host.secret_name(name) and not PLACES[name] then
		return nil
	elseif not value then
		return false
	end
	local hidden = secrets.without_password(value)
	if mask(hidden) ~= hidden or secrets.is_in(hidden) then
		return nil
	end
	return hidden == value and value or { url = hidden }
end

---Add the names of the environment variables that a default names to a set.
---@param value any
---@param set table<string, any>
local function names_in(value, set)
	if type(value) == "table" then
		for _, item in pairs(value) do
			names_in(item, set)
		end
	elseif type(value) == "string" and value:find("${env.", 1, true) then
		for _, reference in ipairs(variables.names(assert(variables.parse(value)))) do
			set[reference.name:match "^env%.(.+)" or ""] = "text"
		end
		set[""] = nil
	end
	return set
end

---May a default not be stored, since it is made of what may be a secret?
---@param default any of the file
---@param mask fun(v: any): any
---@return boolean
function M.is_secret(default, mask)
	for name in pairs(names_in(default, {})) do
		if type(form_of(name, os.getenv(name), mask)) ~= "string" then
			return true
		end
	end
	return false
end

-- --- ${env.NAME} ----------------------------------------------------------------------------------

local function note(around, name, rules, message)
	around.changes[#around.changes + 1] = { name = name, rules = rules, message = message }
end

-- Without the values: a name is enough, and who knows what they hold.
local function note_settled(around, name, now)
	note(around, name, "start", ("The environment variable %s %s: the run goes on with the value that it began with"):format(name,
		now == false and "is not set now" or "has another value now"))
end

local APPEARED = "The environment variable %s was not set when the run began, and is set now: "

-- Only a condition has used that it was missing: a text has failed for it.
local function appeared(around, name, how, now)
	if how == "condition" then
		note(around, name, "start", APPEARED:format(name) .. "for the conditions of this run it stays unset")
		return false
	end
	note(around, name, "now", APPEARED:format(name) .. "the run goes on with the value that it has now")
	return now
end

-- What the run has of a variable from now on.
local function settled(around, name, how, mask)
	local value, was = os.getenv(name), around.before.env[name]
	local now = form_of(name, value, mask)
	if was == nil then
		return now
	elseif was == false and value then
		return appeared(around, name, how, now)
	elseif type(was) == "string" and value ~= was then
		note_settled(around, name, now)
	elseif type(was) == "table" and (type(now) ~= "table" or now.url ~= was.url) then
		note(around, name, "now", ("The environment variable %s has another value than when the run began: the run goes on with the one of now")
			:format(name))
		return now
	end
	return was
end

---What a run reads: of a new one as it is now, else as it was stored.
---@param id string of the run
---@param workflow runner.workflow.Workflow
---@param stored? table of the run's row
---@param mask fun(v: any): any
---@param defaults table<string, any> of variables, which are expanded now
---@return runner.workflow.Surroundings
function M.of(id, workflow, stored, mask, defaults)
	stored = stored or {}
	local around = { id = id, mask = mask, kept = { env = {}, scripts = {}, files = {} }, changes = {},
		before = { env = stored.env or {}, scripts = stored.scripts or {}, files = stored.files or {} } }
	local names = names_in(defaults, {})
	for name in pairs(around.before.env) do
		names[name] = "text"
	end
	tables.add(names, workflow.reads.env)
	for _, name in ipairs(tables.sorted_keys(names)) do
		around.kept.env[name] = settled(around, name, names[name], mask)
	end
	function around.env(name)
		local value = around.kept.env[name]
		if value == false then
			return nil
		end
		return type(value) == "string" and value or os.getenv(name)
	end
	return around
end

-- --- what steps get ----------------------------------------------------------------------------

-- Of one run only: the same value has another digest in another run.
local function digest_of(around, text)
	return host.digest(around.id .. "\0" .. text)
end

local function compare_file(around, path, text)
	local digest, was = digest_of(around, text), around.before.files[path]
	around.kept.files[path] = digest
	if was and was ~= digest then
		note(around, path, "now", ("The environment file %s has changed since the run began: steps get what it says now"):format(path))
	end
end

-- Scripts read the environment of this call, but for what the file sets.
local function compare_scripts(around, workflow, scope, env)
	for _, name in ipairs(tables.sorted_keys(workflow.reads.scripts)) do
		local value, was = os.getenv(name), around.before.scripts[name]
		local ours = env[name] or scope.vars[name] ~= nil or workflow.captures[name] or variables.loop[name] or host.secret_name(name)
			or value and type(form_of(name, value, around.mask)) ~= "string"
		local now = value and digest_of(around, value) or false
		if not ours then
			around.kept.scripts[name] = now
		end
		if not ours and was ~= nil and was ~= now then
			note(around, name, "now", ("The environment variable %s, which scripts read, has another value than when the run began: they get the "
				.. "one of now. ${env.%s} is what the run began with"):format(name, name))
		end
	end
end

-- What is settled and has another value by now: programs find what the texts say.
local function settled_environment(around)
	local env = {}
	for name, value in pairs(around.kept.env) do
		env[name] = type(value) == "string" and not PLACES[name] and value ~= os.getenv(name) and value or nil
	end
	return env
end

---The environment that the run adds for steps: what is settled first, then env files, then the
---file's own, then secrets; the later wins.
---@param workflow runner.workflow.Workflow
---@param scope runner.workflow.Scope
---@param known {env: table<string, string>} the secrets
---@param cwd string
---@param around runner.workflow.Surroundings
---@return table<string, string>
function M.of_steps(workflow, scope, known, cwd, around)
	local env = settled_environment(around)
	for _, path in ipairs(workflow.env_files) do
		path = paths.absolute(variables.expand(path, scope), cwd)
		local text, why = fs.read(path)
		if not text then
			errors.raise("PRECONDITION", ("Can't read the environment file %s: %s"):format(path, why),
				{ side_effects = "none", suggestion = "Create it, or fix env_files: its paths are relative to the run's working directory" })
		end
		compare_file(around, path, text)
		tables.add(env, require("runner.core.dotenv").parse(text, path))
	end
	for name, text in pairs(workflow.env) do
		env[name] = variables.expand(text, scope)
	end
	tables.add(env, known.env)
	compare_scripts(around, workflow, scope, env)
	return env
end

-- --- and what is told ------------------------------------------------------------------------------

---What the store keeps; nil: nothing was read.
---@param around runner.workflow.Surroundings
---@return table?
function M.stored(around)
	local out
	for part, values in pairs(around.kept) do
		if next(values) ~= nil then
			out = out or {}
			out[part] = values
		end
	end
	return out
end

---Say what is another than when the run began.
---@param around runner.workflow.Surroundings
---@param mask fun(v: any): any
function M.warn(around, mask)
	for _, change in ipairs(around.changes) do
		local message = mask(change.message)
		attempt.warn("ENVIRONMENT_CHANGED", message, { name = change.name, rules = change.rules })
		host.send("LOG", { level = "warn", event = "run.environment", message = message })
	end
end

return M
