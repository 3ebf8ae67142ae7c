-- secrets: values that must not be seen: where they come from, and whether a value holds one, by its
-- form. Masking them in whatever leaves the run (logs, the database, the envelope) is
-- lua/core/mask.lua's. Runs in the worker. Values stay in memory and in the environment of steps.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local masks = require "runner.core.mask"
local paths = require "runner.core.paths"
local command_line = require "runner.core.command_line"

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
	elseif command_line.has_nul(text) then
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

---Those that can be read now, to hide them where the run has not begun: what can't be is not needed yet.
---@param list runner.workflow.Secret[]
---@param base_dir string that relative files belong to
---@param values string[] gets them
function M.readable(list, base_dir, values)
	for _, secret in ipairs(list) do
		local is_there = not secret.file or host.probe(paths.absolute(secret.file, base_dir)) == "file" -- a FIFO is read once
		local ok, value = pcall(is_there and value_of or error, secret, base_dir)
		values[#values + 1] = ok and value or nil
	end
end

---What was raised, without secrets, but for the key of its step, which is a word of ours: by it the run knows the step.
---@param raised any
---@param mask fun(v: any): any
---@return runner.Error
function M.hide_in_error(raised, mask)
	local e = errors.normalise(raised)
	local masked = mask(e)
	if masked.context then
		masked.context.step_key = e.context.step_key
	end
	return masked
end

-- --- by the form of a value ------------------------------------------------------------------------
--
-- What may be a token, the password of a URL, what a secret's name stands before. Rather too much is
-- taken for one than too little.

-- Names of what identifies a session, in a value; a variable is named so for other things, too.
local SESSIONS = { session = true, sessionid = true, session_id = true, sid = true }

local REACH = 64 -- bytes of a name, at most
local LONGEST = 8 << 10 -- bytes: a longer value isn't looked through, and taken for one with a secret

-- A password may have "@" and "/" in it.
local PASSWORD = "(://[^/@%s:]*):%S*@"

---@param value string
---@return string value without the passwords of URLs
function M.without_password(value)
	return #value <= LONGEST and value:gsub(PASSWORD, "%1:***@") or value
end

local function is_token(value)
	return host.may_hold_secrets(value) and require("runner.core.mask").tokens(value) ~= value
end

local function is_name(name, in_query)
	return SESSIONS[name:lower()] or host.secret_name(name, in_query)
end

-- "auth-service:8080"
local function is_port(value, name, after)
	return name:find "^[%w-]+[-.][%w.-]+$" and value:find("^%d%d?%d?%d?%d?%f[/,%z]", after)
end

-- A colon divides paths, hosts and ports, too, so what it names begins something, and has a value.
local function begins(value, name, before, after)
	return (before == "" or before:find "[\n\"',;{[(&?|-]") and not value:find("^//", after) and not is_port(value, name, after)
end

-- name=value, name: value, "name": "value"
local function is_named(value)
	for at, mark in value:gmatch "()([=:])" do
		local before, name = value:sub(math.max(1, at - REACH), at - 1):match "([^%w_ .-]?)[ .-]*([%w_][%w_ .-]*)[\"']?%s*$"
		local named = name and (mark == "=" or begins(value, name, before, at + 1)) and value:find("^%s*[\"']?%s*[^%s,;&\"']", at + 1)
		if named and is_name(name, before:find "[?&]" ~= nil) then
			return true
		end
	end
	return false
end

-- --name value
local function is_flag(value)
	for name in value:gmatch "%f[%S]%-%-?([%w_-]+)%s+[^%s-]" do
		if is_name(name) then
			return true
		end
	end
	return false
end

-- user:password@host; "@" and the digest of an image is none.
local function has_login(value)
	local text = value:gsub("@sha%d+:", "")
	return text:find "[^%s:/@\"']:/?[^%s/]%S*@" ~= nil
end

---Is there a secret in a value?
---@param value string
---@return boolean
function M.is_in(value)
	if #value > LONGEST then
		return true
	end
	local bare, lower = value:gsub(PASSWORD, "%1@"), value:lower()
	return is_token(bare) or is_named(bare) or is_flag(bare) or has_login(bare)
		or lower:find "%f[%a]bearer%s+%S" ~= nil or lower:find "%f[%a]basic%s+%S" ~= nil
end

return M
