-- http_response: a response as a script sees it: its headers, its body as JSON, as an error or in a file (`to`), and the
-- facts that a failure keeps. No fact holds a credential. Loaded by ctx:http.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local returned = require "runner.core.returned"
local urls = require "runner.ctx.http_url"

local M = {}

local BODY_SHOWN = 1024 -- bytes of an error's body in its context

---@class runner.HttpResult
---@field ok boolean
---@field status? integer nil when no answer came
---@field headers table<string, string> lower-case names; repeated ones joined by ", "
---@field body string
---@field json any the decoded body; raises where that is not JSON
---@field json_error? string why a body that is said to be JSON is none
---@field url string the last one, after redirects
---@field duration_ms integer
---@field error? runner.Error with check = false

---What libraries and servers say may echo what was sent.
---@param text string
---@param secrets string[]
---@return string
function M.scrub(text, secrets)
	for _, secret in ipairs(secrets) do
		if #secret >= 3 then
			text = text:gsub(secret:gsub("%p", "%%%0"), "***")
		end
	end
	text = text:gsub("//[^/%s@]*@", "//***@")
	return (text:gsub("([Bb]asic )[%w+/=]+", "%1***"):gsub("([Bb]earer )[%w%p]+", "%1***"))
end

---@param head string status line and headers as they came
---@return table<string, string> headers lower-case names; repeated ones joined by ", "
function M.headers(head)
	local headers = {}
	for name, value in head:gmatch("\n([^:%s]+):[ \t]*([^\r\n]*)") do
		name, value = name:lower(), value:match("^(.-)%s*$")
		headers[name] = headers[name] and headers[name] .. ", " .. value or value
	end
	return headers
end

local function is_json(headers)
	local kind = (headers["content-type"] or ""):lower():match("^[^;%s]*")
	return kind == "application/json" or kind:find("%+json$") ~= nil
end

local function is_text(headers)
	return is_json(headers) or (headers["content-type"] or ""):lower():find("^text/") ~= nil
end

-- Cut to whole characters.
local function excerpt(body)
	body = (attempt.mask or tostring)(body)
	return #body > BODY_SHOWN and (body:sub(1, BODY_SHOWN):gsub("[\xC0-\xFF][\x80-\xBF]*$", "")) or body
end

---The facts of every failure.
---@param request runner.HttpRequest
---@param status? integer
---@return table
function M.context(request, status)
	return {
		url = urls.masked(request.url),
		method = request.method,
		status = status,
		proxy = urls.shown_proxy(request.url),
	}
end

---The same, and the head of the body where it is text.
---@param request runner.HttpRequest
---@param result runner.HttpResult
---@return table
function M.context_with_body(request, result)
	local context = M.context(request, result.status)
	if is_text(result.headers) and result.body ~= "" then
		context.body = excerpt(M.scrub(result.body, request.secrets))
	end
	return context
end

-- --- the body as JSON ---------------------------------------------------------------

local requests = setmetatable({}, { __mode = "k" }) -- result → request; not in what a script returns

local Response = {}

local function decoded(result)
	if result.body == "" then
		return nil, "it is empty"
	end
	return require("runner.json").decode(result.body)
end

---The decoded body, or nil and why it is not JSON.
---@return any value, string? why
function Response:try_json()
	return decoded(self)
end

local function raise_no_json(result, why)
	local request = requests[result]
	local context = M.context_with_body(request, result)
	context.content_type = result.headers["content-type"]
	errors.raise("GENERAL_ERROR", ("The response from %s is not JSON: %s"):format(urls.brief(request.url), why), {
		retryable = false, context = context,
		suggestion = "Is it the right URL, and are you logged in? response:try_json() gives nil instead of raising",
	})
end

local meta = { __name = "runner.HttpResult" }

function meta.__index(result, key)
	if key ~= "json" then
		return Response[key]
	end
	local value, why = decoded(result)
	if value == nil then
		raise_no_json(result, why)
	end
	return value
end

-- A field where the server says that it is JSON, so that a script can return the whole.
local function add_json(result)
	if not is_json(result.headers) or result.body == "" then
		return
	end
	local value, why = decoded(result)
	rawset(result, value == nil and "json_error" or "json", value == nil and why or value)
end

---@param request runner.HttpRequest
---@param reply table of runner.http_client; {}: none came
---@param duration_ms integer
---@return runner.HttpResult
function M.new(request, reply, duration_ms)
	local result = setmetatable({
		ok = true,
		status = reply.status,
		headers = M.headers(reply.head or ""),
		body = reply.body or "",
		url = urls.text(request.url),
		duration_ms = duration_ms,
	}, meta)
	requests[result] = request
	add_json(result)
	return result
end

-- --- the body in a file ----------------------------------------------------------------

-- A file in the place of a device or a pipe would take it away; a directory can't be replaced.
local function check_place(path)
	local stat = fs.stat(path)
	if stat and stat.type ~= "file" or path:sub(-1) == "/" then
		errors.raise("PRECONDITION", ("The body can't go to %s: it is a %s, not a file"):format(path, stat and stat.type or "directory"),
			{ side_effects = "none", fix_required = "Name a file in `to`" })
	end
end

---Make a request with a place for its body: `exchange` finds it as request.temporary. What isn't a
---success, or raises, leaves no file.
---@param request runner.HttpRequest
---@param exchange fun(request: runner.HttpRequest): runner.HttpResult, runner.Error?
---@return runner.HttpResult result with `path` and `size` where the file has been written
---@return runner.Error? failure
function M.to_file(request, exchange)
	check_place(request.to)
	local dir, name = request.to:match "^(.*/)([^/]*)$"
	request.temporary = ("%s.%s.%012x.tmp"):format(dir or "", (name or request.to):sub(1, 200), host.random() & 0xffffffffffff)
	local _ <close> = setmetatable({}, { __close = function()
		fs.unlink(request.temporary) -- gone by then, if all went well
	end })
	local result, failure = exchange(request)
	if not failure and result.status >= 200 and result.status < 300 then
		local stat = fs.stat(request.temporary)
		if not stat then
			errors.raise("GENERAL_ERROR", ("The file for %s is gone"):format(request.to))
		end
		returned.check(fs.replace(request.temporary, request.to))
		result.path, result.size = request.to, stat.size
	end
	return result, failure
end

return M
