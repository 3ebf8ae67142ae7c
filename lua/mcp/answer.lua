-- answer: an envelope as the result of a tool (CallToolResult). structuredContent is the envelope
-- without what says nothing about this call; the text is the same as JSON, since not every
-- client shows structured content to its model (server/tools.mdx).

local json = require "runner.json"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

-- Members of meta that repeat what the caller knows, or what no next step depends on.
local DROPPED = { command = true, duration_ms = true, timeout_ms = true, timestamp = true, schema_version = true,
	tool_version = true, cwd = true, config_sources = true, effective_config_hash = true, headless = true, trace_id = true,
	attempt = true, max_attempts = true, limits = true, schema_ref = true, retry_seed = true, session_tmp_dir = true,
	instance_id = true, retry_history = true }

-- What is the same for a whole server: said once, and again when it has changed.
local STEADY, said = { "audit_log_path", "policy", "confined" }, {}

local function or_null(v)
	return v == nil and json.null or v
end

local function shortened(meta)
	local out = {}
	for name, v in next, meta or {} do
		if not DROPPED[name] then
			out[name] = v
		end
	end
	out.attachments = out.attachments and require("runner.mcp.attachments").named(out.attachments)
	for _, name in ipairs(STEADY) do
		local text = out[name] ~= nil and json.encode(out[name]) or nil
		if text and said[name] == text then
			out[name] = nil
		end
		said[name] = text or said[name]
	end
	return out
end

---The content that a model reads.
---@param envelope table
---@return table
local function content_of(envelope)
	return { ok = envelope.ok, data = or_null(envelope.data), error = or_null(envelope.error),
		warnings = envelope.warnings or json.array {}, meta = shortened(envelope.meta) }
end

---@param envelope table
---@return table result a CallToolResult without what an era adds
function M.of(envelope)
	local content = content_of(envelope)
	local text = assert(json.encode(content))
	if visible.may_hide(text) then -- the text is JSON again
		content = visible.value(content)
		text = assert(json.encode(content))
	end
	return { content = json.array { { type = "text", text = text } }, structuredContent = content,
		isError = not envelope.ok }
end

---A failure that no command has answered: an envelope in the form of any other.
---@param code string of the registry
---@param message string
---@param more? table further members of error
---@return table result
function M.refusal(code, message, more)
	local failure = { code = code, message = message, retryable = false, side_effects = "none", phase = "validation" }
	tables.add(failure, more)
	return M.of { ok = false, error = failure }
end

---A raised value as a sentence.
---@param raised any
---@return string
function M.raised(raised)
	return type(raised) == "table" and type(raised.message) == "string" and raised.message or tostring(raised)
end

return M
