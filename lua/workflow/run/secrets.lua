-- secrets: values that must not be seen, and where they come from. Masking them in whatever
-- leaves the run (logs, the database, the envelope) is lua/core/mask.lua's. Runs in the
-- worker. Values stay in memory and in the environment of steps.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local masks = require "runner.core.mask"
local paths = require "runner.core.paths"
local program_text = require "runner.core.program_text"

local M = {}

local MAX_FILE = 1 << 20

---@class runner.workflow.Secret
---@field name string of the environment variable that the steps get
---@field env string? taken from this variable
---@field file string? taken from this file
---@field value string? as written in the workflow

-- --- where they come from ------------------------------------------------------------

local function from_env(secret)
	local value = os.getenv(secret.env)
	if not value then
		errors.raise("PRECONDITION", ("The secret '%s' needs the environment variable %s, which is not set")
			:format(secret.name, secret.env), { suggestion = ("Set %s before starting the run"):format(secret.env) })
	end
	return value
end

local function from_file(secret, base_dir)
	local path = paths.absolute(secret.file, base_dir)
	local text, message = fs.read(path, MAX_FILE)
	if not text then
		errors.raise("PRECONDITION", ("Can't read the secret '%s': %s"):format(secret.name, message),
			{ suggestion = ("Create %s, readable only by you"):format(path) })
	elseif program_text.has_nul(text) then
		errors.raise("PRECONDITION", ("The secret '%s' in %s contains a NUL byte"):format(secret.name, path),
			{ suggestion = "Store it as text, for example in base64" })
	end
	return (text:gsub("\r?\n$", ""))
end

local function value_of(secret, base_dir)
	if secret.env then
		return from_env(secret)
	elseif secret.file then
		return from_file(secret, base_dir)
	end
	return tostring(secret.value)
end

---Fetch the secrets of a workflow. `mask` copies a value deeply with `***` in
---place of every secret, its longer lines, and its JSON, base64 and URL forms.
---Raises PRECONDITION where a source is missing, never with a value in it.
---@param list runner.workflow.Secret[]
---@param base_dir string that relative files belong to
---@param more? string[] further values that must not be seen
---@return {env: table<string, string>, mask: fun(v: any): any, hide: runner.Hide, values: string[]}
function M.load(list, base_dir, more)
	local env, values = {}, {}
	for i, secret in ipairs(list or {}) do
		values[i] = value_of(secret, base_dir)
		env[secret.name] = values[i]
	end
	table.move(more or {}, 1, more and #more or 0, #values + 1, values)
	local mask, hide = masks.masker(values)
	return { env = env, mask = mask, hide = hide, values = values }
end

return M
