-- envelope: an answer that no run gave: of a request that is not one, and of a call whose
-- supervisor could not answer. It has the form of every envelope (docs/schema/envelope.json).

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local tool = require "runner.core.tool"

local M = {}

local MAX_RETRIES = 3 -- what the supervisor advises, too
local PASSED_ON = { "fix_required", "fix_command", "suggestion", "errors", "context" }

local function hints_of(e)
	return host.hints(e.code, { retryable = e.retryable ~= nil and tostring(e.retryable) or nil, side_effects = e.side_effects,
		retry_after_ms = e.retry_after_ms, retry_strategy = e.retry_strategy }, nil, attempt.launch.exit_table)
end

local function error_of(e, hints)
	local out = { code = e.code, message = host.clean(e.message), side_effects = hints.side_effects, phase = e.phase or "execution" }
	out.retryable = hints.retryable == "maybe" and "maybe" or hints.retryable == "true"
	out.retry_after_ms = (out.retryable == true or hints.rate_limited) and hints.retry_after_ms or nil
	out.retry_strategy = out.retryable == true and hints.retry_strategy or nil
	out.max_retries = out.retryable and MAX_RETRIES or nil
	for _, name in ipairs(PASSED_ON) do
		out[name] = e[name]
	end
	return out
end

local function meta_of(command, exit_code, duration_ms)
	local launch = attempt.launch
	return { command = command, exit_code = exit_code, duration_ms = duration_ms, timeout_ms = 0, request_id = launch.request_id,
		timestamp = host.rfc3339(host.wall_ms()), schema_version = "1.0",
		tool_version = (tool.own() or {}).told or launch.version, attempt = 1, max_attempts = 1,
		config_sources = json.array {}, effective_config_hash = host.digest "" }
end

---The envelope of a failure that no run reported.
---@param e runner.Error
---@param command string its name as in meta: "db.migrate"; "" where it isn't known
---@param duration_ms? integer
---@return table envelope
---@return integer exit_code
function M.failure(e, command, duration_ms)
	local hints = hints_of(e)
	local envelope = { ok = false, data = json.null, error = error_of(e, hints), warnings = json.array {},
		meta = meta_of(command, hints.exit_code, duration_ms or 0) }
	return envelope, hints.exit_code
end

local function encoded(value)
	return assert(json.encode(value, { envelope = true }))
end

---An envelope as runner prints it: one line, its keys in their order.
---@param envelope table
---@return string
function M.line(envelope)
	return ('{"ok":%s,"data":%s,"error":%s,"warnings":%s,"meta":%s}\n'):format(tostring(envelope.ok), encoded(envelope.data),
		encoded(envelope.error), encoded(envelope.warnings), encoded(envelope.meta))
end

---The line of an envelope with more members at the end of its `meta`.
---@param line string as runner prints it
---@param members string JSON members, not empty: '"a":1,"b":2'
---@return string? line nil: it is not one
function M.with_meta(line, members)
	local head = line:match "^(.*[^{,%s])}}\n?$"
	return head and head .. "," .. members .. "}}\n"
end

return M
