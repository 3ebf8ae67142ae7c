-- request: a line of `runner exec` → what it asks for, or why it is none (REQ-O-050). Pure.
--
--   {"_cmd":"db.migrate","_opts":{"timeout":"5s"},"_id":7,"_stdin":"text","to":"v3"}
--
-- What has no underscore in front is an argument. A request comes from the client that writes the lines,
-- often a model: only flags that limit or shape its own call are open to it. It can't confirm
-- anything, can't choose another project, and can't change where its answer goes.

local calls = require "runner.calls.calls"
local errors = require "runner.core.errors"
local flags = require "runner.declare.flags"
local host = require "runner.host"
local json = require "runner.json"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

local ID_MAX = 256 -- bytes
local OF_REQUEST = { unique = true, memory = 64 << 20 }

---@class runner.DispatchRequest
---@field words string[] of the command's name
---@field cmd string as it was given
---@field id? string|number
---@field arguments table
---@field stdin? string
---@field flags string[]
---@field timeout_ms? integer
---@field max_bytes? integer of its answer
---@field dry_run? boolean
---@field live boolean it asks for a real run of a command that is a dry run by default

-- Flags that are passed on. `dry_run`, `timeout` and `live` are members of their own.
---@type table<string, true>
M.open_flags = tables.set [[
	attempt_timeout idle_timeout grace retries retry_delay connect_timeout budget
	fields limit cursor sort max_bytes meta schema_version warnings_as_errors quiet verbose debug
	help version plan schema output_schema show_config validate_only
	idempotency_key rebuild resume_from rollback_on_failure detach no_cache cache_ttl instance_id]]

local CONFIRM = tables.set "yes confirm_destructive"

local function wrong(message, fix)
	local line = host.clean(message):gsub("%c", " ")
	return errors.new("DISPATCH_PARSE_ERROR", line, { phase = "validation", retryable = false, side_effects = "none",
		fix_required = fix })
end

-- --- flags --------------------------------------------------------------------------------

local function word_of(name, value)
	local flag = "--" .. flags.spelling(name)
	if value == true then
		return flag
	elseif value == false then
		return "--no-" .. flags.spelling(name)
	elseif type(value) == "number" then
		return flag .. "=" .. json.encode(value)
	end
	return type(value) == "string" and flag .. "=" .. value or nil
end

-- Members that are no flag of the call's own.
local SPECIAL = {
	timeout = function(request, value)
		local ms = rules.duration(value)
		request.timeout_ms = ms and ms > 0 and ms or nil
		return request.timeout_ms ~= nil
	end,
	dry_run = function(request, value)
		request.dry_run = value
		return type(value) == "boolean"
	end,
	max_bytes = function(request, value)
		request.max_bytes = math.tointeger(value) or type(value) == "string" and require("runner.core.amounts").size(value, 4096) or nil
		return request.max_bytes ~= nil and request.max_bytes > 0
	end,
	live = function(request, value)
		request.live = value
		return value == true
	end,
}

local function take_flag(request, value, name)
	local word = word_of(name, value)
	request.flags[#request.flags + 1] = word
	return word ~= nil
end

local function refusal(name)
	local shown = flags.spelling(name)
	if CONFIRM[name] then
		return wrong(("_opts.%s: a request can't confirm itself"):format(shown),
			"Leave it out; the program that starts exec confirms with --allow NAME")
	end
	return wrong(("_opts.%s can't be given in a request"):format(shown), ("Leave out %s"):format(shown))
end

local function take_option(request, key, value)
	local name = key:gsub("-", "_")
	local take = SPECIAL[name] or M.open_flags[name] and take_flag
	if not take then
		return refusal(name)
	end
	return not take(request, value, name) and wrong(("_opts.%s has a value that the flag can't have"):format(flags.spelling(name)),
		"Give true, false, a string or a number, as on the command line") or nil
end

local function take_options(request, options)
	if options == nil then
		return nil
	elseif type(options) ~= "table" or json.is_array(options) then
		return wrong("_opts is not an object", 'Write "_opts":{"timeout":"5s"}')
	end
	for _, key in ipairs(tables.sorted_keys(options)) do
		local problem = take_option(request, key, options[key])
		if problem then
			return problem
		end
	end
end

-- --- the rest -----------------------------------------------------------------------------

local function is_id(value)
	return type(value) == "number" or type(value) == "string" and #value <= ID_MAX
end

local RESERVED = {
	_cmd = function(request, value)
		request.cmd = type(value) == "string" and value or nil
		request.words = request.cmd and #value <= 1024 and calls.words(value) or nil
		return request.words ~= nil, "_cmd is not the name of a command", 'Write "_cmd":"NAME"'
	end,
	_opts = function() return true end, -- taken last
	_id = function(request, value)
		request.id = is_id(value) and value or nil
		return request.id ~= nil, "_id is neither a number nor a short string", "Give a number, or a string of at most 256 bytes"
	end,
	_stdin = function(request, value)
		request.stdin = value
		return type(value) == "string", "_stdin is not a string", "Give what the command is to read as one string"
	end,
}

local function take_member(request, key, value)
	local reserved = RESERVED[key]
	if reserved then
		local ok, message, fix = reserved(request, value)
		return not ok and wrong(message, fix) or nil
	elseif key:sub(1, 1) == "_" then
		return wrong(("There is no member '%s'"):format(key:sub(1, 64)),
			"Use _cmd, _opts, _id and _stdin; arguments have no _ in front")
	end
	request.arguments[key] = value
end

local function object_of(text)
	local object, why = json.decode(text, OF_REQUEST)
	if type(object) == "table" and not json.is_array(object) then
		return object
	end
	return nil, wrong(object == nil and "The line is no JSON: " .. tostring(why) or "The line is no JSON object",
		'Write one object a line: {"_cmd":"NAME","argument":"value"}')
end

---A request of a line. Where it is none, `partial` has what could be read: its id and name.
---@param text string
---@return runner.DispatchRequest? request
---@return runner.Error? problem
---@return { id?: string|number, cmd?: string } partial
function M.parse(text)
	local request = { arguments = {}, flags = {}, live = false }
	local object, problem = object_of(text)
	for _, key in ipairs(object and tables.sorted_keys(object) or {}) do
		problem = problem or take_member(request, key, object[key])
		RESERVED._id(request, object._id)
	end
	if not problem and not request.cmd then
		problem = wrong("The request has no _cmd", 'Write "_cmd":"NAME"')
	end
	problem = problem or take_options(request, object._opts)
	if not problem and not json.encode(request.arguments) then
		problem = wrong("The arguments are nested too deeply", "Give them with fewer levels")
	end
	return not problem and request or nil, problem, request
end

return M
