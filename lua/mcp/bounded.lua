-- bounded: a message of at most so many bytes. The result of a tool loses the tails of its longest lists and texts, as any
-- answer does (src/common/shorten.h); the whole is a resource that is read in parts. Any resource that is too large is.

local attachments = require "runner.mcp.attachments"
local attempt = require "runner.core.attempt"
local budget = require "runner.core.budget"
local encoding = require "runner.core.encoding"
local host = require "runner.host"
local json = require "runner.json"
local media = require "runner.core.media"
local own_state = require "runner.core.own_state"
local tables = require "runner.core.tables"
local truncate = require "runner.output.truncate"
local visible = require "runner.core.visible"

local M = {}

M.DEFAULT = 32 << 10 -- bytes of a message
local FRAME = 1024 -- bytes of a message around the result
local LEAST = 512 -- of a part
local TRIES = 12

local KEPT_MAX = 256 -- tasks

local kept = 0
local of_tasks, tasks_kept = {}, 0 ---@type table<string, table> what was kept of a task → where it is

---@param value any
---@return integer bytes in a message
function M.size(value)
	return #visible.encode(value)
end
local size = M.size

---Most bytes of a result: what its starter has asked for, or the default, less what stands around it.
---@param around? any
---@return integer
function M.room(around)
	return (budget.most or M.DEFAULT) - math.max(FRAME, around and size(around) + FRAME // 2 or 0)
end
local room = M.room

-- --- results of tools -----------------------------------------------------------------------

local function made(content, structured)
	return { content = json.array { { type = "text", text = assert(json.encode(content)) } },
		structuredContent = structured and content or nil, isError = not content.ok }
end

-- A client asks for the result of a task again and again: its file is written once.
local function remember(task, rest)
	if tasks_kept >= KEPT_MAX then
		of_tasks, tasks_kept = {}, 0
	end
	of_tasks[task], tasks_kept = rest, tasks_kept + 1
end

-- Where the whole is: as the call itself has kept it, or kept now.
local function rest_of(content, task)
	local rest, before = content.meta.rest, of_tasks[task or ""]
	if not rest and before and own_state.kept_answer(before.path:match "[^/]+$") then
		rest = before
	elseif not rest then
		local text = assert(json.encode(content))
		kept = kept + 1
		local name = ("%s%s.%d.json"):format(attempt.launch.request_id, own_state.whose(), kept)
		local path, why = host.keep(name, text)
		rest = { of = "answer", bytes = #text, kind = "application/json", path = path or nil, not_kept = not path and why or nil,
			expires_at = path and os.date("!%Y-%m-%dT%H:%M:%SZ", os.time() + own_state.ANSWERS_KEPT) or nil }
		if path and task then
			remember(task, rest)
		end
	end
	rest.uri = rest.path and attachments.URI .. rest.path:match "[^/]+$" or nil
	return rest
end

-- One row for one cut: a list or text that the call itself has cut was larger before.
local function add_warnings(content, cuts)
	local rows = {}
	for _, warning in ipairs(content.warnings) do
		rows[warning.code == "FIELD_TRUNCATED" and type(warning.context) == "table" and warning.context.field or 0] = warning
	end
	for _, cut in ipairs(cuts) do
		local before = rows[cut.field] and rows[cut.field].context[cut.items and "original_items" or "original_bytes"]
		before = math.type(before) == "integer" and before
		cut.before = before or cut.before
		local row = truncate.warnings { cut }[1]
		if before then
			tables.add(rows[cut.field], row)
		else
			table.insert(content.warnings, row)
		end
	end
end

-- A page ends where it is cut, and its cursor goes on there; of the last page, which has none, meta.rest has all. False: no
-- item has room, or what is behind the cut could be had nowhere.
local function end_page(content, rest)
	local page, data = content.meta.pagination, content.data
	if type(page) ~= "table" then
		return not rest.not_kept
	end
	local n = type(data) == "table" and #(data.items or data) or 0
	local cursor = type(page.next_cursor) == "string" and encoding.from_base64(page.next_cursor) or ""
	local offset, digest = cursor:match "^(%d+)(%..*)$"
	if n == 0 or rest.not_kept and not offset then
		return false
	elseif n < page.returned then
		page.next_cursor = offset and encoding.base64url(("%d%s"):format(offset - page.returned + n, digest)) or json.null
		page.returned, page.truncated, page.has_more = n, true, true
		content.meta.returned_count, content.meta.truncation_hint = content.meta.returned_count and n, nil
		table.insert(content.warnings, { code = "LIST_TRUNCATED", message = ("%d items have room; %s"):format(n,
			offset and "next_cursor goes on behind them" or "meta.rest has all of this page, the last one") })
	end
	return true
end

local function cut_to(text, rest, most)
	local cut, cuts = json.shorten(text, most)
	local content = cut and json.decode(cut)
	if not content or content.ok and not end_page(content, rest) then
		return nil
	end
	add_warnings(content, cuts)
	content.meta.truncated, content.meta.rest = true, rest
	return content
end

-- No cut keeps its form: no half of it passes for a result.
local function too_large(content, rest, row)
	local effects = row and row.danger_level == "safe" and "none" or "complete"
	local failure = content.ok and { code = "OUTPUT_TOO_LARGE", retryable = false, side_effects = effects, phase = "execution",
		message = ("The answer has %d bytes, and %s"):format(rest.bytes, rest.not_kept and "what is cut of it can't be kept: "
			.. rest.not_kept or "its form allows no cut. Read the resource of meta.rest") }
		or { code = content.error.code, retryable = content.error.retryable, side_effects = content.error.side_effects,
			message = tostring(content.error.message):sub(1, 256) }
	failure.message = utf8.len(failure.message) and failure.message or failure.code
	return { ok = false, data = json.null, error = failure, warnings = json.array {}, meta = { truncated = true, rest = rest,
		exit_code = content.ok and 1 or content.meta.exit_code } }
end

local function may_cut(schema)
	local of_result = schema and schema["then"]
	return budget.may_cut(of_result and of_result.properties.data)
end

-- A client that is told a schema needs the structure, too.
local function shortened(content, schema, r, most)
	local rest = rest_of(content, r.task)
	content.meta.rest = nil
	local text, target = assert(json.encode(content)), most
	for _ = 1, may_cut(schema) and TRIES or 0 do
		local cut = cut_to(text, rest, target)
		local result = cut and made(cut, schema ~= nil)
		local bytes = result and size(result)
		if not bytes or bytes <= most then
			return result or nil, rest
		end
		target = target * most // bytes - 64
	end
	return nil, rest
end

local function fit_tool(result, row, r, most)
	local schema = row and row.tool.outputSchema
	if #result.content[1].text <= most and size(result) <= most then
		return result
	end
	local content = json.decode(result.content[1].text)
	local plain = not schema and made(content, false)
	if plain and #plain.content[1].text <= most and size(plain) <= most then
		return plain
	end
	local cut, rest = shortened(content, schema, r, most)
	return cut or made(too_large(content, rest, row), schema ~= nil)
end

-- --- anything -----------------------------------------------------------------------------

local function is_of_tool(result)
	local first = type(result.content) == "table" and result.content[1]
	return first and first.type == "text" and first.text:sub(1, 1) == "{"
end

local function row_of(server, r)
	if r.command then
		for _, row in ipairs(server:rows(false) or {}) do
			r.row = row.command == r.command and row or r.row
		end
	end
	return r.row
end

---The result as it has room in a message.
---@param server runner.mcp.Server
---@param r runner.mcp.Request with `row`, the tool, or `command`, its name, where it is one, and `task`, whose result it is
---@param result table
---@return table
function M.result(server, r, result)
	local inner = is_of_tool(result) and result or type(result.result) == "table" and is_of_tool(result.result) and result.result
	if not inner then
		return result
	end
	local around = tables.add({ id = r.id, server = server and server.outside.info }, result)
	for _, name in ipairs(inner == result and { "content", "structuredContent" } or { "result" }) do
		around[name] = nil
	end
	local most, links, linked = room(around), attachments.links(inner.structuredContent)
	local fitted = fit_tool(inner, row_of(server, r), r, most - linked)
	for _, block in ipairs(attachments.blocks(links, most - size(fitted))) do
		table.insert(fitted.content, block)
	end
	if inner == result then
		fitted._meta = result._meta
		return fitted
	end
	result.result = fitted
	return result
end

-- --- parts of a text -------------------------------------------------------------------------

---A resource that has these bytes for a day; nil: there is room for them in a message, or they can't be kept.
---@param bytes string
---@param kind string
---@return string? uri
---@return string? why they can't be kept
function M.uri_of(bytes, kind)
	if #bytes * 4 // 3 <= room() // 8 then
		return nil
	end
	kept = kept + 1
	local path, why = host.keep(("%s%s.%d.%s"):format(attempt.launch.request_id, own_state.whose(), kept,
		kind == "application/json" and "json" or "txt"), bytes)
	return path and attachments.URI .. path:match "[^/]+$" or nil, why
end

-- As much of a text as has room, up to a border between characters.
local function part_of_text(text, from, most)
	local n = math.min(#text - from, most)
	local part
	repeat
		part = visible.cut(text:sub(from + 1, from + n + 4), n) -- a character has 4 bytes at most
		local bytes = size { part }
		n = bytes > most and n * most // bytes - 64 or n
	until bytes <= most or n < LEAST
	return part
end

---A part of a resource that has room in a message, from a byte on.
---@param uri string without its query
---@param bytes string
---@param kind string
---@param from integer bytes before it
---@param rest? string the resource that has the following parts; nil: this one
---@return table? result nil: there is no such part
function M.part(uri, bytes, kind, from, rest)
	local most, is_text = room { uri, uri }, media.is_text(bytes)
	if from > 0 and from >= #bytes or is_text and utf8.offset(bytes, 0, from + 1) ~= from + 1 then
		return nil
	end
	local part = is_text and part_of_text(bytes, from, most) or bytes:sub(from + 1, from + most // 4 * 3)
	local next_byte = from + #part
	local more = next_byte < #bytes and { ["runner/bytes"] = #bytes, ["runner/next"] = ("%s?from=%d"):format(rest or uri, next_byte) } or nil
	return { contents = json.array { { uri = from > 0 and ("%s?from=%d"):format(uri, from) or uri, mimeType = kind,
		[is_text and "text" or "blob"] = is_text and part or encoding.base64(part), _meta = more } } }
end

return M
