-- returned: what a command's `run` gave back. Lua's own way to fail, `return nil, "message", errno`, as an error object with
-- the registry's code for each errno; and the result with what ctx adds to it (open_url, background_pid …). Loaded when there is
-- one of these.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

-- --- failures --------------------------------------------------------------------------------

local CODES = {
	ENOENT = "NOT_FOUND", EEXIST = "ALREADY_EXISTS", EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED",
	ENOSPC = "RESOURCE_EXHAUSTED", EDQUOT = "RESOURCE_EXHAUSTED", EMFILE = "RESOURCE_EXHAUSTED",
	ENFILE = "RESOURCE_EXHAUSTED", ENOMEM = "RESOURCE_EXHAUSTED", ETIMEDOUT = "TIMEOUT",
}

-- "ENOENT" of "ENOENT" or 2; nil for anything else.
local function errno_of(about)
	if math.type(about) == "integer" then
		return host.errno_name(about)
	end
	return type(about) == "string" and about:find "^E[A-Z0-9]+$" and about or nil
end

-- Had it changed something before? Then it must not be made again by itself, however
-- well the same code is to be repeated elsewhere.
local function half_done()
	local command = attempt.command
	return attempt.ctx ~= nil and command ~= nil and command.danger_level ~= "safe"
end

---The error of a failed system call. GENERAL_ERROR where its name says no more.
---After `run` began in a command that changes something: partial, not retryable.
---@param message string
---@param about any the errno's name or number; or a code of the registry, which is taken as it is
---@return runner.Error
function M.error(message, about)
	local errno = errno_of(about)
	if not errno and errors.well_formed(about) and host.registry_code(about) then
		return errors.new(about, message)
	end
	local e = errors.new(errno and CODES[errno] or "GENERAL_ERROR", message ~= "" and message or "run failed without a message",
		{ context = errno and { errno = errno } or nil })
	if errno and half_done() then
		e.retryable, e.side_effects = false, "partial"
	end
	return e
end

---What a call has returned, or its failure as an error: for functions that give nil, a message and an errno.
---@generic T
---@param value T|nil|false
---@param message? string
---@param about? any as M.error takes it
---@return T
function M.check(value, message, about)
	return value or error(M.error(message, about), 0)
end

-- os.execute and file:close of a popen: nil, "exit", 3.
local function ended_badly(how, number)
	if (how == "exit" or how == "signal") and math.type(number) == "integer" then
		return errors.new("SUBPROCESS_FAILED", how == "exit" and ("A program exited with status %d"):format(number)
			or ("A program was killed by signal %d"):format(number))
	end
end

---What `run` returned, if that is a failure: nil or false, and then a message or an
---error object (as pcall gives it). A lone nil or false is a value.
---@param value any
---@param about any
---@param third any
---@return runner.Error?
function M.failure(value, about, third)
	if value then
		return nil
	elseif type(about) == "string" then
		return ended_badly(about, third) or M.error(about, third)
	elseif errors.is(about) then
		return about
	end
end

-- --- additions -------------------------------------------------------------------------------

---The result with them. A member of the author's takes precedence over one of ours; a list has no place
---for members, so that a warning has them.
---@param data any as attempt.wrap leaves it
---@param additions table<string, any>
---@return any
function M.with_additions(data, additions)
	if type(data) == "table" and (data[1] ~= nil or json.is_array(data)) then
		attempt.warn("RESULT_IS_LIST", "The result is a list, so that it can't have further members; they are in context", additions)
		return data
	end
	local out = {}
	for key, v in pairs(additions) do
		out[key] = v
	end
	for key, v in pairs(type(data) == "table" and data or {}) do
		out[key] = v
	end
	return out
end

return M
