-- http_request: the table given to ctx:http → a checked request. It refuses
-- whatever could smuggle a second header or another host into a request; the C half
-- relies on that. It sends nothing.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local urls = require "runner.ctx.http_url"

local M = {}

---@class runner.HttpRequest
---@field method string
---@field url runner.Url
---@field headers {name: string, value: string}[]
---@field body? string
---@field from? string|false the file that is the body
---@field to? string the file for the body of a success
---@field temporary? string where that is written first
---@field user? string
---@field password? string
---@field timeout_ms integer 0: none
---@field connect_timeout_ms integer 0: none
---@field follow boolean
---@field max_redirects integer
---@field check boolean
---@field retry? table
---@field repeatable boolean may it be sent twice without asking?
---@field secrets string[] what no error text may hold

local IDEMPOTENT = { GET = true, HEAD = true, PUT = true, DELETE = true, OPTIONS = true }
local SENDS_A_BODY = { POST = true, PUT = true, PATCH = true }
local MAX_REDIRECTS = 10

local KINDS = {
	auth = { "table" },
	bearer = { "string" },
	body = { "string" },
	check = { "boolean" },
	connect_timeout = {}, -- milliseconds() looks
	follow = { "boolean" },
	from = { "string" },
	headers = { "table" },
	json = { "table", "string", "number", "boolean", "userdata" },
	max_redirects = { "number" },
	method = { "string" },
	query = { "table" },
	retry = { "table" },
	timeout = {},
	to = { "string" },
	url = { "string" },
}

local function refuse(message, suggestion)
	errors.raise("INVALID_ARGUMENT", "ctx:http: " .. message, { retryable = false, suggestion = suggestion,
		fix_required = suggestion or "Correct this call of ctx:http in the command file" })
end

local function refuse_key(key)
	local names = require("runner.core.tables").sorted_keys(KINDS)
	local near = type(key) == "string" and require("runner.core.suggest").nearest(key, names)[1]
	refuse(("unknown key '%s'"):format(tostring(key)), near and ("Did you mean '%s'?"):format(near)
		or "Its keys are " .. table.concat(names, ", "))
end

local function check_kinds(spec)
	if type(spec) ~= "table" then
		refuse(("needs a table, got %s"):format(type(spec)), 'Write ctx:http{ url = "https://…" }')
	end
	for key, value in pairs(spec) do
		local kinds = KINDS[key] or refuse_key(key)
		local fits = kinds[1] == nil
		for _, kind in ipairs(kinds) do
			fits = fits or type(value) == kind
		end
		if not fits then
			refuse(("%s must be a %s, got a %s"):format(key, table.concat(kinds, " or a "), type(value)))
		end
	end
end

local function milliseconds(spec, key, default)
	local value = spec[key] == nil and default or spec[key]
	return require("runner.core.rules").duration(value) or require("runner.ctx.misuse").duration("ctx:http", key, value)
end

local function parse_url(spec)
	if not spec.url then
		refuse("url is missing", 'Write ctx:http{ url = "https://…" }')
	end
	local url, why = urls.parse(spec.url)
	if not url then
		refuse("the url can't be used: " .. why)
	end
	if spec.query then
		local ok, problem = urls.add_query(url, spec.query)
		if not ok then
			refuse(problem)
		end
	end
	return url
end

local function parse_method(spec)
	local has_body = spec.body ~= nil or spec.json ~= nil or spec.from ~= nil
	local method = (spec.method or (has_body and "POST" or "GET")):upper()
	if not method:find("^[A-Z]+$") or #method > 20 or method == "CONNECT" or method == "TRACE" then
		refuse("the method is not supported", "Use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
	elseif method == "HEAD" and has_body then
		refuse("a HEAD request has no body", "Leave out body, json and from, or use another method")
	elseif method == "HEAD" and spec.to then
		refuse("the answer to HEAD has no body", "Leave out to, or use GET")
	end
	return method
end

-- A path as the C half takes it.
local function path_of(spec, key)
	local path = spec[key]
	if path and (path == "" or path:find("\0", 1, true)) then
		refuse(key .. " is no path", ('Write %s = "file"'):format(key))
	end
	return path
end

local function encode_body(spec, method)
	if spec.from then
		if spec.body or spec.json ~= nil then
			refuse("body, json and from exclude each other", "Give one of them")
		end
		return nil
	end
	if spec.json == nil then
		return spec.body or (SENDS_A_BODY[method] and "") or nil
	elseif spec.body then
		refuse("body and json exclude each other", "Give one of them")
	end
	local text, why = require("runner.json").encode(spec.json)
	if not text then
		refuse("json can't be encoded: " .. tostring(why))
	end
	return text
end

local REFUSED_HEADERS = { ["content-length"] = true, ["transfer-encoding"] = true }

local function add_header(list, name, value)
	local kind = type(value)
	if type(name) ~= "string" or not name:find("^[%w!#$%%&'*+.^_`|~-]+$") then
		refuse("headers has an invalid header name", 'Write headers = { ["X-Name"] = "value" }')
	elseif REFUSED_HEADERS[name:lower()] then
		refuse(("header '%s' is set from the body"):format(name), "Leave it out")
	elseif kind ~= "string" and kind ~= "number" then
		refuse(("header '%s' is a %s"):format(name, kind), "Write a string")
	end
	value = tostring(value)
	if value:find("[\0-\8\10-\31\127]") then
		refuse(("header '%s' holds a line break or control character"):format(name),
			"Remove it: it would start another header")
	end
	list[#list + 1] = { name = name, value = value:match("^%s*(.-)%s*$") }
end

local function has_header(list, name)
	for _, header in ipairs(list) do
		if header.name:lower() == name then
			return true
		end
	end
	return false
end

local function collect_headers(spec)
	local names, list = {}, {}
	for name in pairs(spec.headers or {}) do
		names[#names + 1] = name
	end
	table.sort(names, function(a, b)
		return tostring(a) < tostring(b)
	end)
	for _, name in ipairs(names) do
		local values = spec.headers[name]
		for _, value in ipairs(type(values) == "table" and values or { values }) do
			add_header(list, name, value)
		end
	end
	if spec.json ~= nil and not has_header(list, "content-type") then
		add_header(list, "Content-Type", "application/json")
	end
	return list
end

local function add_bearer(request, token)
	if not token then
		return
	elseif request.user or has_header(request.headers, "authorization") then
		refuse("bearer and another authorization exclude each other", "Give one of them")
	end
	add_header(request.headers, "Authorization", "Bearer " .. token)
	request.secrets[#request.secrets + 1] = token
end

local function add_auth(request, auth)
	local user, password = request.url.user, request.url.password
	if auth then
		user, password = auth.user or auth[1], auth.password or auth[2]
	end
	if auth and (type(user) ~= "string" or type(password) ~= "string" or user:find("[%c:]") or password:find("%c")) then
		refuse("auth needs a user (without ':') and a password", 'Write auth = { "user", password }')
	end
	request.user, request.password = user, password
	request.secrets[#request.secrets + 1] = password
end

local function add_secrets(request)
	for _, secret in ipairs(urls.secrets(request.url)) do
		request.secrets[#request.secrets + 1] = secret
	end
	for _, header in ipairs(request.headers) do
		if urls.secret_name(header.name) then
			request.secrets[#request.secrets + 1] = header.value
		end
	end
	for _, secret in ipairs(urls.proxy_secrets((urls.proxy(request.url)))) do
		request.secrets[#request.secrets + 1] = secret
	end
end

local function redirect_limit(spec)
	local limit = spec.max_redirects or MAX_REDIRECTS
	if math.type(limit) ~= "integer" or limit < 0 or limit > MAX_REDIRECTS then
		refuse(("max_redirects is %s"):format(tostring(limit)), "Write an integer from 0 to " .. MAX_REDIRECTS)
	end
	return limit
end

---Check a spec and make it a request; raises INVALID_ARGUMENT for a wrong one.
---@param spec table what ctx:http was given
---@return runner.HttpRequest
function M.build(spec)
	check_kinds(spec)
	local method = parse_method(spec)
	local request = {
		method = method,
		url = parse_url(spec),
		headers = collect_headers(spec),
		body = encode_body(spec, method),
		from = path_of(spec, "from"), to = path_of(spec, "to"),
		timeout_ms = milliseconds(spec, "timeout", "30s"),
		connect_timeout_ms = milliseconds(spec, "connect_timeout", attempt.framework.connect_timeout or "10s"),
		follow = spec.follow ~= false,
		max_redirects = redirect_limit(spec),
		check = spec.check ~= false,
		retry = spec.retry,
		repeatable = IDEMPOTENT[method] or (spec.retry ~= nil and spec.retry.any_method == true),
		secrets = {},
	}
	add_auth(request, spec.auth)
	add_bearer(request, spec.bearer)
	add_secrets(request)
	return request
end

---The header lines as libcurl takes them. "Name;" is its spelling of an empty
---value, "Name:" suppresses a header of its own.
---@param request runner.HttpRequest
---@return string[]
function M.header_lines(request)
	local lines = { "Expect:" }
	if request.body and not has_header(request.headers, "content-type") then
		lines[#lines + 1] = "Content-Type:"
	end
	for _, header in ipairs(request.headers) do
		lines[#lines + 1] = header.value == "" and header.name .. ";" or header.name .. ": " .. header.value
	end
	return lines
end

local function without(headers, unwanted)
	local kept = {}
	for _, header in ipairs(headers) do
		if not unwanted(header.name:lower()) then
			kept[#kept + 1] = header
		end
	end
	return kept
end

local function bound_to_origin(name)
	return name == "host" or urls.secret_name(name)
end

local function about_the_body(name)
	return name:find("^content%-") ~= nil
end

local function becomes_get(request, status)
	if status == 303 then
		return request.method ~= "HEAD"
	end
	return (status == 301 or status == 302) and request.method == "POST"
end

---The request that a redirect asks for. Credentials stay with their origin
---(scheme, host and port); a POST becomes a GET where browsers do so too
---(RFC 9110, section 15.4).
---@param request runner.HttpRequest
---@param status integer 301, 302, 303, 307 or 308
---@param url runner.Url
---@return runner.HttpRequest
function M.redirected(request, status, url)
	local nextone = setmetatable({ url = url }, { __index = request })
	if urls.origin(url) ~= urls.origin(request.url) then
		nextone.user, nextone.password = false, false
		nextone.headers = without(request.headers, bound_to_origin)
	end
	if becomes_get(request, status) then
		nextone.method, nextone.body, nextone.from = "GET", false, false
		nextone.headers = without(nextone.headers, about_the_body)
	end
	return nextone
end

return M
