-- http_message: HTTP/1.1 as a stand-in for a server needs it: bytes of a request → the request, an
-- answer → bytes. Knows no socket. What it can't read is a problem of the test, which says so.

local json = require "runner.json"

local M = {}

local HEAD_MAX = 1 << 16

---@class runner.HttpSeen a request that came
---@field method string
---@field path string without the query
---@field query string "" for none
---@field target string as it came; of a proxy the whole URL
---@field headers table<string, string> by lower-case name
---@field body string

local function headers_of(text)
	local headers = {}
	for name, value in text:gmatch "\n([^:\r\n]+):[ \t]*([^\r\n]*)" do
		name = name:lower()
		headers[name] = headers[name] and headers[name] .. ", " .. value or value
	end
	return headers
end

-- The body of chunks and where it ends; nil: more has to come.
local function chunked(bytes, at)
	local parts = {}
	while true do
		local size, from = bytes:match("^(%x+)[^\r\n]*\r\n()", at)
		local n = size and tonumber(size, 16)
		if not n or #bytes < from + n + 1 then
			return nil
		elseif n == 0 then
			return table.concat(parts)
		end
		parts[#parts + 1], at = bytes:sub(from, from + n - 1), from + n + 2
	end
end

---What has come so far as a request.
---@param bytes string
---@return runner.HttpSeen? request nil: more has to come, or see `problem`
---@return string? problem
function M.parse(bytes)
	local head, at = bytes:match "^(.-\r\n)\r\n()"
	if not head then
		return nil, #bytes > HEAD_MAX and "the head of a request is too long" or nil
	end
	local method, target = head:match "^(%u+) (%S+) HTTP/1%.%d\r\n"
	if not method then
		return nil, "what came is no HTTP/1.1 request: " .. head:match "^[^\r\n]*"
	end
	local headers = headers_of(head)
	local length = tonumber(headers["content-length"] or 0) or 0
	local body
	if (headers["transfer-encoding"] or ""):find "chunked" then
		body = chunked(bytes, at)
	elseif #bytes - at + 1 >= length then
		body = bytes:sub(at, at + length - 1)
	end
	local path, query = target:gsub("^%a+://[^/]*", ""):match "^([^?]*)%??(.*)$"
	return body and { method = method, path = path, query = query, target = target, headers = headers, body = body } or nil
end

-- A client asks before it sends a long body.
---@param bytes string what has come so far
---@return boolean
function M.expects_continue(bytes)
	return bytes:lower():find("\r\nexpect: 100-continue", 1, true) ~= nil
end

local REASONS = {
	[200] = "OK", [201] = "Created", [204] = "No Content", [301] = "Moved Permanently", [302] = "Found", [304] = "Not Modified",
	[400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [404] = "Not Found", [409] = "Conflict",
	[429] = "Too Many Requests", [500] = "Internal Server Error", [502] = "Bad Gateway", [503] = "Service Unavailable",
	[504] = "Gateway Timeout",
}

local KEYS = { status = "number", headers = "table", body = "any", json = "any", drop = "boolean" }

---Whether a value can be an answer; nil, or what is wrong.
---@param answer any
---@return string?
function M.wrong_answer(answer)
	if type(answer) == "string" then
		return nil
	elseif type(answer) ~= "table" then
		return ("an answer is a string or a table, not a %s"):format(type(answer))
	end
	for key, value in next, answer do
		if not KEYS[key] or KEYS[key] ~= "any" and KEYS[key] ~= type(value) then
			return ("an answer has status, headers, body, json and drop, not %s = %s"):format(tostring(key), tostring(value))
		end
	end
end

---An answer as bytes.
---@param answer string|table
---@param to_head boolean without its body: the request was HEAD
---@return string
function M.bytes(answer, to_head)
	answer = type(answer) == "string" and { body = answer } or answer
	local status, body = math.floor(answer.status or 200), tostring(answer.body or "")
	local headers = { ["content-type"] = "text/plain; charset=utf-8", connection = "close" }
	if answer.json ~= nil then
		body, headers["content-type"] = assert(json.encode(answer.json)), "application/json"
	end
	for name, value in next, answer.headers or {} do
		headers[tostring(name):lower()] = tostring(value)
	end
	if status ~= 204 and status ~= 304 then
		headers["content-length"] = #body
	end
	local lines = { ("HTTP/1.1 %d %s\r\n"):format(status, REASONS[status] or "Status") }
	for name, value in next, headers do
		lines[#lines + 1] = ("%s: %s\r\n"):format(name, value)
	end
	return table.concat(lines) .. "\r\n" .. ((to_head or status == 204 or status == 304) and "" or body)
end

return M
