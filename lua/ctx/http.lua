-- http: ctx:http, loaded on first use. It sends a checked request through the C half
-- (runner.http_client), follows redirects, and reports failures with the registry's
-- codes. Its error messages never contain a credential.

local attempt = require "runner.core.attempt"
local client = require "runner.http_client"
local errors = require "runner.core.errors"
local host = require "runner.host"
local requests = require "runner.ctx.http_request"
local responses = require "runner.ctx.http_response"
local urls = require "runner.ctx.http_url"
local waiting = require "runner.core.waiting"

local M = {}

local POLLIN = 1 -- of poll(2)
local REDIRECTS = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

local CODES = {
	[401] = "AUTH_REQUIRED", [402] = "PAYMENT_REQUIRED", [403] = "PERMISSION_DENIED",
	[404] = "NOT_FOUND", [408] = "TIMEOUT", [409] = "CONFLICT", [410] = "NOT_FOUND",
	[429] = "RATE_LIMITED", [504] = "TIMEOUT",
}

local REASONS = {
	[400] = "Bad Request", [401] = "Unauthorized", [402] = "Payment Required", [403] = "Forbidden",
	[404] = "Not Found", [405] = "Method Not Allowed", [406] = "Not Acceptable",
	[407] = "Proxy Authentication Required", [408] = "Request Timeout", [409] = "Conflict",
	[410] = "Gone", [411] = "Length Required", [412] = "Precondition Failed",
	[413] = "Content Too Large", [414] = "URI Too Long", [415] = "Unsupported Media Type",
	[416] = "Range Not Satisfiable", [417] = "Expectation Failed", [421] = "Misdirected Request",
	[422] = "Unprocessable Content", [423] = "Locked", [424] = "Failed Dependency",
	[425] = "Too Early", [426] = "Upgrade Required", [428] = "Precondition Required",
	[429] = "Too Many Requests", [431] = "Request Header Fields Too Large",
	[451] = "Unavailable For Legal Reasons", [500] = "Internal Server Error",
	[501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable",
	[504] = "Gateway Timeout", [505] = "HTTP Version Not Supported",
	[506] = "Variant Also Negotiates", [507] = "Insufficient Storage", [508] = "Loop Detected",
	[510] = "Not Extended", [511] = "Network Authentication Required",
}

-- What the C half calls a kind of failure, for the reader.
local KINDS = {
	ca_file = { "Can't load the CA certificates for %s",
		"Check the file that CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE names" },
	certificate = { "The certificate of %s is not trusted",
		"Fix the server's certificate, or name your own CA file in SSL_CERT_FILE" },
	connect = { "No connection to %s", "Is the server running, and are host and port right?" },
	broken = { "Lost the connection to %s" },
	file = { "A file for the request to %s can't be used", "Check the paths in to and from, and the space on the disk" },
	login = { "%s refused the login" },
	memory = { "Not enough resources for a request to %s" },
	other = { "The request to %s failed" },
	refused = { "Connecting to %s is not allowed", "Name the host in confine.network.hosts of the command" },
	protocol = { "%s does not speak HTTP", "Is it an HTTP server, and is http:// or https:// right?" },
	proxy = { "Can't reach the proxy for %s",
		"Check http_proxy, https_proxy and no_proxy" },
	resolve = { "Can't resolve the host of %s", "Is the host name right?" },
	tls = { "No TLS connection to %s" },
	too_large = { "The response from %s is too large (at most 16 MiB)", "Request less: a page, a range, a filter" },
	tunnel = { "The proxy refused to connect to %s",
		"Put the proxy's user and password into https_proxy, or exclude the host with no_proxy" },
	url = { "%s is not a valid URL" },
}

---The error code of an HTTP status; nil if it is not a failure.
---@param status integer
---@return string?
local function code_of(status)
	return CODES[status] or (status >= 500 and "UNAVAILABLE") or (status >= 400 and "PRECONDITION") or nil
end

local function status_failure(request, result)
	local code = code_of(result.status)
	if not code then
		return nil
	end
	local retry_after = result.headers["retry-after"]
	local reason = REASONS[result.status]
	return errors.new(code, ("%d%s from %s"):format(result.status, reason and " " .. reason or "",
		urls.brief(request.url)), {
		context = responses.context_with_body(request, result),
		retry_after_ms = retry_after and client.retry_after(retry_after, result.headers.date),
		suggestion = result.status == 407 and KINDS.tunnel[2] or nil,
	})
end

local LIMITS = {
	attempt = function(request)
		return ("No complete response from %s before the command's deadline"):format(urls.brief(request.url))
	end,
	connect_timeout = function(request)
		return ("No connection to %s within %s"):format(urls.brief(request.url),
			host.duration_text(request.connect_timeout_ms))
	end,
	timeout = function(request)
		return ("No complete response from %s within %s"):format(urls.brief(request.url),
			host.duration_text(request.timeout_ms))
	end,
}

-- May the server have done the work although no answer came?
local function uncertain(request, details)
	local sent = details.kind == "broken" or (details.kind == "timeout" and details.limit)
	return sent and not request.repeatable
end

local function refine(code, details)
	local tunnel = details.proxy_status or 0
	if details.kind == "timeout" then
		details.limit = details.limit or "connect_timeout"
	elseif tunnel >= 400 and tunnel < 500 then
		details.kind, code = "tunnel", "PRECONDITION"
	end
	return code
end

local function transport_context(request, text, details)
	local context = responses.context(request, details.status)
	context.library_code = details.library_code
	context.library_number = details.library_number
	context.library_message = text
	context.proxy_status = details.proxy_status
	context.limit = details.limit
	return context
end

-- The same keys for every failure on the way to the server (REQ-F-037).
local function network_context(request, details)
	local null = require("runner.json").null
	local source, proxy = urls.proxy_source(request.url)
	local _, no_proxy = urls.proxy(request.url)
	return {
		url = urls.masked(request.url), status_code = details.status or null, proxy_used = proxy or null,
		proxy_source = source or null, no_proxy = no_proxy or null, ssl_verify = true,
		suggestion = "curl -v " .. require("runner.core.command_line").quoted(urls.masked(request.url)),
	}
end

local function transport_failure(request, message, code, details)
	local doubt = uncertain(request, details)
	code = refine(code, details)
	local words = KINDS[details.kind] or KINDS.other
	local text = responses.scrub(message, request.secrets)
	local retryable
	if code == "PRECONDITION" or details.kind == "refused" then
		retryable = false
	elseif doubt then
		retryable = "maybe"
	end
	local limit = LIMITS[details.limit]
	local summary = limit and limit(request) or words[1]:format(urls.brief(request.url)) .. ": " .. text
	return errors.new(code, summary, {
		context = transport_context(request, text, details), network_context = network_context(request, details),
		suggestion = words[2],
		fix_required = details.kind == "too_large" and words[2] or nil,
		retryable = retryable,
		side_effects = doubt and "partial" or details.kind == "refused" and "none" or nil,
	})
end

local function raise_no_library(why)
	errors.raise("PRECONDITION", "ctx:http needs libcurl, which can't be opened: " .. why, {
		retryable = false,
		suggestion = "Install the Debian package libcurl4 (or libcurl3-gnutls)",
		fix_required = "Install libcurl",
		fix_command = "apt-get install libcurl4",
	})
end

-- In a task of ctx:parallel the others go on while this one waits.
local function performed(spec)
	local tasks = waiting.tasks()
	if not tasks then
		return client.perform(spec)
	end
	local transfer, message, code, details = client.begin(spec)
	while transfer do
		local reply, about, kind, more = client.step(transfer)
		if reply ~= "wait" then
			return reply, about, kind, more
		end
		tasks.ready(about, POLLIN)
	end
	return nil, message, code, details
end

-- May its host be asked? A call to be closed, or nil where nothing limits it; a failure if it may not.
local function admitted(request, left_ms)
	local hosts = (attempt.project or {}).hosts or (attempt.command or {}).hosts
	if hosts then
		return require("runner.ctx.http_hosts").admit(request, left_ms)
	end
end

-- Debian's libcurl knows Debian's certificates; the one inside a static runner knows none.
local function ca_for(url, proxy)
	local ca = urls.ca()
	if ca or require("runner.about").build().linkage == "dynamic" then
		return ca
	end
	ca = urls.system_ca()
	if not ca and (url.scheme == "https" or (proxy or ""):find "^[Hh][Tt][Tt][Pp][Ss]://") then
		errors.raise("PRECONDITION", ("No CA certificates are here to check %s with"):format(urls.brief(url)), {
			retryable = false,
			suggestion = "Install your distribution's ca-certificates, or name a file of them in SSL_CERT_FILE",
			fix_required = "Provide CA certificates",
		})
	end
	return ca
end

-- The reply; nil, a message, a code and details.
local function sent(request, left_ms, spec)
	if client.gated() then
		local started = host.now()
		local connection, message, code, details = require("runner.ctx.http_hosts").connect(request, left_ms)
		if not connection then
			return nil, message, code, details
		end
		spec.connection = connection
		spec.timeout_ms = left_ms > 0 and math.max(1, left_ms - math.floor(host.now() - started)) or 0
	end
	return performed(spec)
end

local function perform(request, left_ms)
	local call <close>, refused = admitted(request, left_ms)
	if refused then
		return nil, refused
	end
	local url = request.url
	local proxy, no_proxy = urls.proxy(url)
	proxy = not client.gated() and proxy or nil -- one could reach any host
	local ca = ca_for(url, proxy)
	if attempt.trace then
		attempt.trace(("ctx:http %s %s%s"):format(request.method, urls.brief(url), proxy and " through a proxy" or ""))
	end
	local reply, message, code, details = sent(request, left_ms, {
		url = urls.text(url),
		method = request.method,
		headers = requests.header_lines(request),
		body = request.body or nil,
		from = request.from or nil,
		to = request.temporary,
		fresh = not request.repeatable, -- libcurl sends again what met a dead connection
		user = request.user or nil,
		password = request.user and request.password or nil,
		proxy = proxy or "",
		no_proxy = no_proxy or "",
		ca = ca,
		timeout_ms = left_ms,
		connect_timeout_ms = request.connect_timeout_ms,
	})
	if not reply and details.kind == "library" then
		raise_no_library(message)
	end
	local failure = not reply and transport_failure(request, message, code, details) or nil
	if call then
		call:ended(reply, failure)
	end
	return reply or nil, failure
end

local function redirect_failure(request, reply, why)
	local context = responses.context(request, reply.status)
	return errors.new("PRECONDITION", ("%d from %s: %s"):format(reply.status, urls.brief(request.url), why), {
		context = context,
		retryable = false,
		suggestion = "Request the final URL, or set follow = false to see the redirect",
	})
end

-- The next request, or nil if this response is final, or nil and a failure.
local function next_hop(request, reply, hops)
	if not (request.follow and REDIRECTS[reply.status] and reply.redirect) then
		return nil
	end
	local url, why = urls.parse(reply.redirect)
	if not url then
		return nil, redirect_failure(request, reply, "it redirects to a URL that runner doesn't follow: " .. why)
	elseif hops >= request.max_redirects then
		return nil, redirect_failure(request, reply, ("more than %d redirects"):format(request.max_redirects))
	end
	return requests.redirected(request, reply.status, url)
end

local function left_of(request, started)
	if request.timeout_ms == 0 then
		return 0
	end
	return math.max(1, request.timeout_ms - math.floor(host.now() - started))
end

local function elapsed(started)
	return math.floor(host.now() - started + 0.5)
end

local SAFE = { GET = true, HEAD = true, OPTIONS = true }

-- One request with its redirects: a result, and what is wrong with it or nil.
local function exchange(request)
	local started, hops, method = host.now(), 0, request.method
	while true do
		local reply, failure = perform(request, left_of(request, started))
		local unsent = not reply and (failure.context.throttled_by or failure.context.limit == "confine")
		if unsent and hops > 0 and not SAFE[method] then -- what came before was sent
			failure.side_effects, failure.retryable = "partial", not request.repeatable and "maybe" or nil
		end
		if not reply then
			return responses.new(request, {}, elapsed(started)), failure
		end
		local following, refusal = next_hop(request, reply, hops)
		if not following then
			local result = responses.new(request, reply, elapsed(started))
			return result, refusal or status_failure(request, result)
		end
		request, hops = following, hops + 1
	end
end

local function loop_policy(retry)
	local policy = {}
	for key, value in pairs(retry) do
		policy[key] = value
	end
	policy.any_method = nil
	return policy
end

local function with_retries(ctx, request, once)
	if not request.retry then
		return once()
	elseif request.repeatable then
		return require("runner.ctx.retry").loop(ctx, loop_policy(request.retry), once, true)
	end
	if ctx and ctx.warn then
		ctx:warn("RETRY_IGNORED", ("ctx:http does not retry %s by itself; set retry.any_method = true if the request "
			.. "is idempotent"):format(request.method))
	end
	return once()
end

---@class runner.HttpSpec
---@field url string http:// or https://
---@field method? string default GET, or POST with a body
---@field query? table<string, string|number|boolean|table> appended to the url; a list repeats its name
---@field headers? table<string, string|number|string[]>
---@field body? string
---@field json? any encoded as the body, with its Content-Type
---@field auth? string[]|{user: string, password: string} Basic authentication
---@field bearer? string
---@field timeout? string|number the whole request with its redirects, default "30s"
---@field connect_timeout? string|number default "10s"
---@field follow? boolean follow redirects, default true
---@field max_redirects? integer 0 to 10, default 10
---@field from? string a file as the body, of any size
---@field to? string a file for the body of a success, of any size: it appears whole or not at all
---@field check? boolean raise on failure, default true
---@field retry? table a policy as in ctx:retry; any_method = true for POST and PATCH as well

---Send a request. A failure raises an error with the registry's code (429 is
---RATE_LIMITED, 5xx UNAVAILABLE, no connection NETWORK_ERROR …), Retry-After as
---its `retry_after_ms` and the facts as `context`; with check = false it comes
---back as `error` of the result. A wrong spec always raises INVALID_ARGUMENT.
---@param ctx table
---@param spec runner.HttpSpec
---@return runner.HttpResult
function M.http(ctx, spec)
	local request = requests.build(spec)
	local result, failure
	local function once()
		if request.to then
			result, failure = responses.to_file(request, exchange)
		else
			result, failure = exchange(request)
		end
		if failure then
			error(failure, 0)
		end
		return result
	end
	if request.check then
		return with_retries(ctx, request, once)
	end
	local ok, raised = pcall(with_retries, ctx, request, once)
	-- A loop may raise a copy of the failure; its context is the same table.
	if ok then
		return result
	elseif not (errors.is(raised) and failure and raised.context == failure.context) then
		error(raised, 0)
	end
	result.ok, result.error = false, raised
	return result
end

return M
