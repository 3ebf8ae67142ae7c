-- ctx:http against real servers on loopback (http_server.py, started here).

dofile "tests/lua/lib/needs.lua" (_ENV, "curl")

local errors = require "runner.core.errors"
local host = require "runner.host"
local http = require "runner.ctx.http"
local json = require "runner.json"
local requests = require "runner.ctx.http_request"
local urls = require "runner.ctx.http_url"

local LIB = debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/"
local ENVIRONMENT = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY",
	"all_proxy", "ALL_PROXY", "REQUEST_METHOD", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE", "PROXY_AUTH" }

local folder, certificate, ports, base
local servers = {} -- each lives until its pipe is closed

local function run(command)
	return os.execute(command .. " >/dev/null 2>&1") == true
end

local function make_certificate()
	local cert, key = folder .. "/cert.pem", folder .. "/key.pem"
	local made = run(("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
		.. "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout %s -out %s"):format(key, cert))
	return made and cert or nil, key
end

local function start_server(arguments, environment)
	local found = {}
	-- in the background, or closing the pipe would wait for a server that waits for that
	local pipe = io.popen(("%s python3 %shttp_server.py %s </dev/null 2>/dev/null &"):format(environment or "", LIB,
		arguments), "r")
	servers[#servers + 1] = pipe
	for line in pipe:lines() do
		local name, port = line:match("^(%w+) (%d+)$")
		if name == "ready" then
			return found
		end
		found[name] = port
	end
	error("the test server did not start")
end

local function send(spec, ctx)
	return http.http(ctx or {}, spec)
end

local function failure(spec)
	local ok, e = pcall(send, spec)
	assert.is_false(ok, "no error was raised")
	assert.is_true(errors.is(e), tostring(e))
	return e
end

-- Everything that an error would show, as one text.
local function all_text(value, seen)
	if type(value) ~= "table" then
		return tostring(value) .. "\n"
	end
	local parts = {}
	for k, v in pairs(value) do
		parts[#parts + 1] = tostring(k) .. "=" .. all_text(v, seen)
	end
	return table.concat(parts)
end

local function echo(spec)
	spec.url = spec.url or base .. "/echo"
	local seen = send(spec).json
	seen.body = seen.hex:gsub("%x%x", function(hex)
		return string.char(tonumber(hex, 16))
	end)
	return seen
end

local function escape(text)
	return (text:gsub("[^%w]", function(c)
		return ("%%%02X"):format(c:byte())
	end))
end

setup(function()
	for _, name in ipairs(ENVIRONMENT) do
		host.setenv(name)
	end
	folder = os.tmpname()
	os.remove(folder)
	assert(run("mkdir -m 700 " .. folder))
	local key
	certificate, key = make_certificate()
	ports = start_server(certificate and certificate .. " " .. key or "")
	base = "http://127.0.0.1:" .. ports.http
end)

teardown(function()
	for _, pipe in ipairs(servers) do
		pipe:close()
	end
	run("rm -r " .. folder)
end)

after_each(function()
	for _, name in ipairs(ENVIRONMENT) do
		host.setenv(name)
	end
end)

describe("an answer", function()
	it("leaves no connection open, even if nothing collects garbage", function()
		local fs = require "runner.fs"
		send { url = base .. "/answer?body=first" }
		collectgarbage()
		collectgarbage "stop"
		local before = #fs.list "/proc/self/fd"
		for _ = 1, 5 do
			send { url = base .. "/answer?body=x" }
		end
		local after = #fs.list "/proc/self/fd"
		collectgarbage "restart"
		assert.equal(before, after)
	end)

	it("has status, headers, body, url and duration", function()
		local r = send { url = base .. "/answer?X-One=1&body=hello" }
		assert.is_true(r.ok)
		assert.equal(200, r.status)
		assert.equal("hello", r.body)
		assert.equal("1", r.headers["x-one"])
		assert.equal(base .. "/answer?X-One=1&body=hello", r.url)
		assert.equal("integer", math.type(r.duration_ms))
	end)

	it("joins repeated headers and lower-cases their names", function()
		local r = send { url = base .. "/answer?X-Many=a&x-many=b&X-MANY=" }
		assert.equal("a, b, ", r.headers["x-many"])
	end)

	it("is decoded when it is JSON, and says why when it can't be", function()
		local good = send { url = base .. "/answer?Content-Type=application/problem%2Bjson;charset=utf-8&body=[1,2]" }
		assert.equal(2, good.json[2])
		local bad = send { url = base .. "/answer?Content-Type=application/json&body={" }
		assert.is_nil(rawget(bad, "json"))
		assert.is_string(bad.json_error)
		assert.equal("{", bad.body)
		local plain = send { url = base .. "/answer?Content-Type=text/plain&body=[1]" }
		assert.is_nil(rawget(plain, "json"))
		assert.equal(1, plain.json[1])
	end)

	it("raises when a script asks for JSON that isn't there; try_json says why instead", function()
		for _, query in ipairs { "Content-Type=text/html&body=<form>", "Content-Type=application/json&body={", "body=" } do
			local page = send { url = base .. "/answer?" .. query }
			local ok, e = pcall(function() return page.json.name end)
			assert.same({ false, "GENERAL_ERROR", false, 200 }, { ok, e.code, e.retryable, e.context.status })
			assert.truthy(e.message:find("is not JSON", 1, true))
			local value, why = page:try_json()
			assert.is_nil(value)
			assert.is_string(why)
		end
		local null = send { url = base .. "/answer?Content-Type=application/json&body=null" }
		assert.equal(json.null, null.json)
		assert.same({ 1 }, (send { url = base .. "/answer?body=[1]" }:try_json()))
	end)

	it("returns as data what it was, JSON included", function()
		local r = send { url = base .. "/answer?Content-Type=application/json&body=[1,2]" }
		assert.same({ 1, 2 }, json.decode(json.encode(r)).json)
		r = send { url = base .. "/answer?Content-Type=text/html&body=x" }
		assert.is_nil(json.decode(json.encode(r)).json)
	end)

	it("holds the headers of the final response only", function()
		local r = send { url = base .. "/interim" }
		assert.equal("done", r.body)
		assert.is_nil(r.headers["x-early"])
		assert.equal("1", r.headers["x-late"])
	end)

	it("to HEAD has no body, whatever its length says", function()
		local r = send { url = base .. "/big/17", method = "HEAD" }
		assert.equal("", r.body)
		assert.equal(tostring(17 << 20), r.headers["content-length"])
	end)
end)

describe("a request", function()
	it("names runner and its version", function()
		assert.matches("^runner/%d", echo({}).headers["user-agent"])
		assert.equal("mine", echo({ headers = { ["User-Agent"] = "mine" } }).headers["user-agent"])
	end)

	it("is a GET, or a POST when it has a body", function()
		assert.equal("GET", echo({}).method)
		assert.equal("POST", echo({ body = "x" }).method)
		assert.equal("DELETE", echo({ method = "delete" }).method)
	end)

	it("carries its body byte by byte, with every method that has one", function()
		local bytes = ""
		for i = 0, 255 do
			bytes = bytes .. string.char(i)
		end
		for _, method in ipairs { "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "GET" } do
			local seen = echo { method = method, body = bytes }
			assert.equal(method, seen.method)
			assert.equal("256", seen.headers["content-length"])
			assert.is_nil(seen.headers["content-type"])
			assert.is_nil(seen.headers["expect"])
			assert.equal(bytes, seen.body)
		end
	end)

	it("says length 0 when a POST has no body", function()
		assert.equal("0", echo({ method = "POST" }).headers["content-length"])
		assert.is_nil(echo({ method = "GET" }).headers["content-length"])
	end)

	it("encodes json with its content type", function()
		local seen = echo { json = { release = "1.2.3" } }
		assert.equal("application/json", seen.headers["content-type"])
		assert.equal("1.2.3", json.decode(seen.body).release)
		assert.equal("application/x-own", echo({ json = {}, headers = { ["content-type"] = "application/x-own" } })
			.headers["content-type"])
	end)

	it("adds the query sorted, escaped and with lists repeated", function()
		local seen = echo { url = base .. "/echo?a=0#part", query = { z = true, ["b c"] = "d&e=f/ü", list = { 1, 2 } } }
		assert.equal("/echo?a=0&b%20c=d%26e%3Df%2F%C3%BC&list=1&list=2&z=true", seen.path)
	end)

	it("sends basic credentials from auth or from the url, and bearer tokens", function()
		local basic = "Basic dXNlcjpwQHNz" -- user:p@ss
		assert.equal(basic, echo({ auth = { "user", "p@ss" } }).headers.authorization)
		assert.equal(basic, echo({ auth = { user = "user", password = "p@ss" } }).headers.authorization)
		assert.equal(basic, echo({ url = ("http://user:p%%40ss@127.0.0.1:%s/echo"):format(ports.http) })
			.headers.authorization)
		assert.equal("Bearer t0ken", echo({ bearer = "t0ken" }).headers.authorization)
		assert.is_nil(echo({}).headers.authorization)
	end)

	it("sends its headers in the same order each time", function()
		local names, expected = {}, {}
		for i = 0, 19 do
			names[("X-%02d"):format(i * 7 % 20)] = "v"
			expected[i + 1] = ("X-%02d: v"):format(i)
		end
		local lines = requests.header_lines(requests.build { url = base, headers = names })
		assert.same(expected, table.move(lines, #lines - 19, #lines, 1, {}))
	end)

	it("may have empty and repeated headers", function()
		local seen = echo { headers = { ["X-Empty"] = "", ["X-Number"] = 5, ["X-List"] = { "a", "b" } } }
		assert.equal("", seen.headers["x-empty"])
		assert.equal("5", seen.headers["x-number"])
		assert.equal("b", seen.headers["x-list"])
	end)
end)

describe("a status", function()
	local expected = { [401] = "AUTH_REQUIRED", [402] = "PAYMENT_REQUIRED", [403] = "PERMISSION_DENIED",
		[404] = "NOT_FOUND", [408] = "TIMEOUT", [409] = "CONFLICT", [410] = "NOT_FOUND", [429] = "RATE_LIMITED",
		[504] = "TIMEOUT" }

	it("from 200 to 599 is the registry code that it stands for", function()
		for status = 200, 599 do
			local r = send { url = base .. "/status/" .. status, check = false, method = "HEAD" }
			local code = expected[status] or (status >= 500 and "UNAVAILABLE") or (status >= 400 and "PRECONDITION") or nil
			assert.equal(status, r.status)
			assert.equal(code == nil, r.ok, status)
			assert.equal(code, r.error and r.error.code, status)
		end
	end)

	-- of RFC 9110 and the IANA registry
	it("is named in the message", function()
		for status, name in pairs { [400] = "Bad Request", [401] = "Unauthorized", [404] = "Not Found",
			[408] = "Request Timeout", [418] = "418 from", [422] = "Unprocessable Content", [429] = "Too Many Requests",
			[451] = "Unavailable For Legal Reasons", [500] = "Internal Server Error", [502] = "Bad Gateway",
			[503] = "Service Unavailable", [511] = "Network Authentication Required", [599] = "599 from" } do
			local message = failure({ url = base .. "/status/" .. status, method = "HEAD" }).message
			assert.truthy(message:find(name, 1, true), message)
		end
	end)

	it("that is a failure raises with url, method and status", function()
		local e = failure { url = base .. "/status/503?page=2", method = "PUT", body = "x" }
		assert.equal("UNAVAILABLE", e.code)
		assert.equal("503 Service Unavailable from " .. base .. "/status/503", e.message)
		assert.equal(base .. "/status/503?page=2", e.context.url)
		assert.equal("PUT", e.context.method)
		assert.equal(503, e.context.status)
		assert.equal("body of 503", e.context.body)
		assert.is_nil(e.retryable) -- the registry decides
	end)

	it("that is a failure comes back whole with check = false", function()
		local r = send { url = base .. "/answer?status=409&Content-Type=application/json&body={\"id\":7}", check = false }
		assert.is_false(r.ok)
		assert.equal("CONFLICT", r.error.code)
		assert.equal(409, r.status)
		assert.equal(7, r.json.id)
	end)

	it("without a name of its own is just its number", function()
		assert.equal("499 from " .. base .. "/status/499", failure({ url = base .. "/status/499" }).message)
	end)
end)

describe("Retry-After", function()
	local function after(value, date)
		local query = "Retry-After=" .. escape(value) .. (date and "&Date=" .. escape(date) or "")
		return failure({ url = base .. "/answer?status=503&" .. query }).retry_after_ms
	end

	it("in seconds is the wait", function()
		assert.equal(7000, after("7"))
		assert.equal(0, after("0"))
	end)

	it("as a date of any form is relative to the server's own Date", function()
		local date = "Sun, 06 Nov 1994 08:49:00 GMT"
		assert.equal(37000, after("Sun, 06 Nov 1994 08:49:37 GMT", date))
		assert.equal(37000, after("Sunday, 06-Nov-94 08:49:37 GMT", date))
		assert.equal(37000, after("Sun Nov  6 08:49:37 1994", date))
	end)

	it("as a date without a Date is relative to our clock", function()
		local soon = os.date("!%a, %d %b %Y %H:%M:%S GMT", os.time() + 60)
		local ms = after(soon)
		assert.is_true(ms > 50000 and ms <= 60000, tostring(ms))
	end)

	it("in the past is 0, absurd is a year, and nonsense is nothing", function()
		assert.equal(0, after("Sun, 06 Nov 1994 08:49:37 GMT"))
		assert.equal(365 * 86400 * 1000, after("99999999999999999999"))
		assert.is_nil(after("soon"))
		assert.is_nil(after("-5"))
	end)
end)

describe("redirects", function()
	local function to(target, status, spec)
		spec = spec or {}
		spec.url = ("%s/to?status=%d&url=%s"):format(base, status or 302, escape(target))
		return spec
	end

	it("are followed, ten at most", function()
		local r = send { url = base .. "/redirect/8" }
		assert.equal(base .. "/echo", r.url)
		assert.is_true(send({ url = base .. "/redirect/9" }).ok) -- ten hops
		local e = failure { url = base .. "/redirect/10" }
		assert.equal("PRECONDITION", e.code)
		assert.is_false(e.retryable)
		assert.matches("more than 10 redirects", e.message)
		assert.equal(302, e.context.status)
	end)

	it("obey a smaller limit, and follow = false hands them over", function()
		assert.matches("more than 1 redirects", failure({ url = base .. "/redirect/3", max_redirects = 1 }).message)
		local r = send { url = base .. "/redirect/3", follow = false }
		assert.equal(302, r.status)
		assert.equal("/redirect/2", r.headers.location)
	end)

	it("that go round in a circle end", function()
		local e = failure { url = base .. "/redirect/1000000" }
		assert.matches("more than 10 redirects", e.message)
	end)

	it("keep or change the method as the RFC says", function()
		local expected = { [301] = "GET", [302] = "GET", [303] = "GET", [307] = "POST", [308] = "POST" }
		for status, method in pairs(expected) do
			local seen = send(to(base .. "/echo", status, { body = "data", headers = { ["Content-Type"] = "a/b" } })).json
			assert.equal(method, seen.method, status)
			assert.equal(method == "POST" and "64617461" or "", seen.hex) -- "data"
			assert.equal(method == "POST" and "a/b" or nil, seen.headers["content-type"])
			local put = send(to(base .. "/echo", status, { method = "PUT", body = "data" })).json
			assert.equal(status == 303 and "GET" or "PUT", put.method, status)
		end
	end)

	it("take credentials along only within their origin", function()
		local secret = { auth = { "user", "pass" }, headers = { Cookie = "a=b", ["X-Api-Key"] = "k", ["X-Plain"] = "p" } }
		local same = send(to(base .. "/echo", 307, secret)).json
		assert.is_string(same.headers.authorization)
		assert.equal("a=b", same.headers.cookie)
		assert.equal("k", same.headers["x-api-key"])
		local other = send(to("http://127.0.0.1:" .. ports.other .. "/echo", 307, secret)).json
		assert.equal(tonumber(ports.other), other.port)
		assert.is_nil(other.headers.authorization)
		assert.is_nil(other.headers.cookie)
		assert.is_nil(other.headers["x-api-key"])
		assert.equal("p", other.headers["x-plain"])
		local bearer = to("http://localhost:" .. ports.http .. "/echo", 307, { bearer = "tok" })
		assert.is_nil(send(bearer).json.headers.authorization)
	end)

	it("never leave HTTP", function()
		for _, target in ipairs { "file:///etc/hostname", "ftp://127.0.0.1/", "gopher://127.0.0.1/" } do
			local e = failure(to(target))
			assert.equal("PRECONDITION", e.code)
			assert.is_false(e.retryable)
			assert.matches("doesn't follow", e.message)
		end
	end)

	it("share one timeout", function()
		local started = host.now()
		local e = failure(to(base .. "/hang", 302, { timeout = "300ms" }))
		assert.equal("TIMEOUT", e.code)
		assert.is_true(host.now() - started < 20000)
	end)
end)

describe("a transfer that fails", function()
	it("by its own timeout is TIMEOUT, slow body or no answer", function()
		for _, path in ipairs { "/slow", "/hang" } do
			local started = host.now()
			local e = failure { url = base .. path, timeout = "300ms" }
			local took = host.now() - started
			assert.equal("TIMEOUT", e.code)
			assert.equal("No complete response from " .. base .. path .. " within 300ms", e.message)
			assert.equal("CURLE_OPERATION_TIMEDOUT", e.context.library_code)
			assert.equal("timeout", e.context.limit)
			assert.is_true(took >= 299 and took < 20000, tostring(took))
		end
	end)

	it("at a closed port is NETWORK_ERROR", function()
		local e = failure { url = "http://127.0.0.1:" .. ports.closed }
		assert.equal("NETWORK_ERROR", e.code)
		assert.equal("CURLE_COULDNT_CONNECT", e.context.library_code)
		assert.equal(7, e.context.library_number)
		assert.is_string(e.context.library_message)
	end)

	it("at a host without an address is NETWORK_ERROR", function()
		local e = failure { url = "http://" .. ("a"):rep(64) .. "/" } -- too long for any resolver to ask
		assert.equal("NETWORK_ERROR", e.code)
		assert.equal("CURLE_COULDNT_RESOLVE_HOST", e.context.library_code)
	end)

	it("because the server closes or resets is NETWORK_ERROR", function()
		for _, path in ipairs { "/midbody", "/close", "/reset" } do
			local e = failure { url = base .. path }
			assert.equal("NETWORK_ERROR", e.code, path)
			assert.is_nil(e.retryable)
		end
		assert.equal("CURLE_PARTIAL_FILE", failure({ url = base .. "/midbody" }).context.library_code)
	end)

	it("after a POST was sent may have been done: retryable is maybe", function()
		for _, path in ipairs { "/close", "/hang" } do
			local e = failure { url = base .. path, body = "x", timeout = "300ms" }
			assert.equal("maybe", e.retryable)
			assert.equal("partial", e.side_effects)
		end
		local refused = failure { url = "http://127.0.0.1:" .. ports.closed, body = "x" }
		assert.is_nil(refused.retryable)
	end)

	it("comes back with check = false", function()
		local r = send { url = "http://127.0.0.1:" .. ports.closed, check = false }
		assert.is_false(r.ok)
		assert.is_nil(r.status)
		assert.same({}, r.headers)
		assert.equal("NETWORK_ERROR", r.error.code)
	end)

	it("because the answer is no HTTP is not worth a retry", function()
		local e = failure { url = base .. "/garbage" }
		assert.equal("PRECONDITION", e.code)
		assert.is_false(e.retryable)
	end)
end)

describe("size", function()
	it("up to 16 MiB is fine", function()
		assert.equal(16 << 20, #send({ url = base .. "/big/16" }).body)
	end)

	it("beyond 16 MiB is OUTPUT_TOO_LARGE, announced or not", function()
		for _, path in ipairs { "/big/17", "/chunked", "/headers" } do
			local e = failure { url = base .. path }
			assert.equal("OUTPUT_TOO_LARGE", e.code, path)
			assert.equal("CURLE_FILESIZE_EXCEEDED", e.context.library_code)
			assert.is_string(e.suggestion)
		end
	end)
end)

describe("a spec that is wrong", function()
	local function refused(spec, pattern)
		local e = failure(spec)
		assert.equal("INVALID_ARGUMENT", e.code)
		assert.matches(pattern, e.message)
		return e
	end

	it("by an unknown key gets a did-you-mean", function()
		assert.equal("Did you mean 'timeout'?", refused({ url = base, timout = 5 }, "'timout'").suggestion)
		assert.matches("Its keys are auth, ", refused({ url = base, zzzzzz = 5 }, "'zzzzzz'").suggestion)
	end)

	it("by type or value names the key", function()
		refused("http://x", "needs a table")
		refused({}, "url is missing")
		refused({ url = 5 }, "url must be a string")
		refused({ url = base, timeout = "soon" }, "'timeout' must be a duration .* not \"soon\"")
		refused({ url = base, timeout = -1 }, "'timeout' must be a duration .* not %-1")
		refused({ url = base, max_redirects = 11 }, "max_redirects is 11")
		refused({ url = base, body = "x", json = {} }, "exclude each other")
		refused({ url = base, method = "HEAD", body = "x" }, "HEAD")
		refused({ url = base, auth = { "user" } }, "auth needs")
		refused({ url = base, auth = { "us:er", "x" } }, "auth needs")
		refused({ url = base, bearer = "t", headers = { authorization = "x" } }, "bearer")
		refused({ url = base, query = { a = print } }, "query.a is a function")
		refused({ url = base, json = { f = print } }, "json can't be encoded")
	end)

	it("by its url never reaches a socket or a file", function()
		for _, url in ipairs { "file:///etc/passwd", "ftp://127.0.0.1/", "127.0.0.1", "http://", "http:///x", "//x/",
			"javascript:alert(1)", "http://[::1", "http://a b/", "http://user@/", "http://h:p:1/" } do
			refused({ url = url }, "url can't be used")
		end
	end)

	it("by a line break anywhere can't add a header", function()
		for _, bad in ipairs { "a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rb", "a\0b", "a\27b" } do
			refused({ url = base .. "/echo?" .. bad }, "url can't be used")
			refused({ url = base, headers = { ["X-A"] = bad } }, "line break")
			refused({ url = base, headers = { ["X-A"] = { "fine", bad } } }, "line break")
			refused({ url = base, headers = { [bad] = "x" } }, "header name")
			refused({ url = base, bearer = bad }, "line break")
			refused({ url = base, auth = { "u", bad } }, "auth needs")
			refused({ url = base, auth = { bad, "p" } }, "auth needs")
			refused({ url = base, method = bad }, "method")
		end
		refused({ url = ("http://u:%%0d%%0aX@127.0.0.1:%s/"):format(ports.http) }, "url can't be used")
		refused({ url = base, headers = { ["Content-Length"] = "5" } }, "Content%-Length")
		refused({ url = base, headers = { ["transfer-encoding"] = "chunked" } }, "transfer%-encoding")
		assert.equal("/echo?x=%0D%0AX-Evil%3A%201", echo({ query = { x = "\r\nX-Evil: 1" } }).path)
	end)

	it("is refused with check = false too", function()
		refused({ url = base, timout = 5, check = false }, "timout")
	end)
end)

describe("secrets", function()
	local function silent_about(e, ...)
		local text = all_text(e)
		for _, secret in ipairs { ... } do
			assert.is_nil(text:find(secret, 1, true), secret .. " in " .. text)
		end
	end

	it("of the url are in no error text", function()
		for _, path in ipairs { "/status/500", "/leak", "/hang", "/close", "/redirect/99" } do
			local e = failure { url = ("http://joe:hunter2@127.0.0.1:%s%s?api_key=k3y3k&Access-Token=t0k3n&page=7")
				:format(ports.http, path), timeout = "200ms", bearer = nil }
			silent_about(e, "joe", "hunter2", "k3y3k", "t0k3n")
		end
		local e = failure { url = ("http://joe:hunter2@127.0.0.1:%s/x?sig=s1gn&page=7"):format(ports.http) }
		assert.equal(base .. "/x?sig=***&page=7", e.context.url)
	end)

	it("of a url that can't be used are not repeated", function()
		for _, url in ipairs { "http://joe:hunter2@/", "ftp://joe:hunter2@h/", "http://joe:hunter2@h h/",
			"http://joe:hunter2@h:x:y/" } do
			silent_about(failure { url = url }, "joe", "hunter2")
		end
	end)

	it("that a server echoes are masked", function()
		silent_about(failure { url = base .. "/leak", bearer = "b34r3r" }, "b34r3r")
		silent_about(failure { url = base .. "/leak", auth = { "joe", "hunter2" } }, "hunter2", "am9lOmh1bnRlcjI=")
		silent_about(failure { url = base .. "/leak", headers = { ["X-Auth-Token"] = "t-0(k" } }, "t-0(k")
	end)

	it("of a proxy are in no error text", function()
		host.setenv("http_proxy", "http://joe:hunter2@127.0.0.1:" .. ports.closed)
		local e = failure { url = base }
		silent_about(e, "joe", "hunter2")
		assert.equal("http://***@127.0.0.1:" .. ports.closed, e.context.proxy)
		host.setenv("http_proxy", "nonsense://joe:hunter2@127.0.0.1:" .. ports.closed)
		silent_about(failure { url = base }, "joe", "hunter2")
	end)
end)

describe("the proxy of the environment", function()
	local function via()
		return send({ url = base .. "/echo" }).headers.via
	end

	it("is used for http, in lower and upper case", function()
		for _, name in ipairs { "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY" } do
			assert.is_nil(via())
			host.setenv(name, "http://127.0.0.1:" .. ports.proxy)
			assert.equal("test-proxy", via(), name)
			host.setenv(name)
		end
	end)

	it("is not taken from a CGI request", function()
		host.setenv("HTTP_PROXY", "http://127.0.0.1:" .. ports.closed)
		host.setenv("REQUEST_METHOD", "GET")
		assert.is_nil(via())
	end)

	it("is left out for hosts of no_proxy", function()
		host.setenv("http_proxy", "http://127.0.0.1:" .. ports.closed)
		assert.equal("NETWORK_ERROR", failure({ url = base .. "/echo" }).code)
		for _, name in ipairs { "no_proxy", "NO_PROXY" } do
			for _, value in ipairs { "127.0.0.1", "*", "example.com,127.0.0.1", "127.0.0.0/8" } do
				host.setenv(name, value)
				assert.is_nil(via(), value)
			end
			host.setenv(name, "example.com")
			assert.equal("NETWORK_ERROR", failure({ url = base .. "/echo" }).code)
			host.setenv(name)
		end
	end)

	it("tells in the context whether it was on the way", function()
		host.setenv("http_proxy", "http://127.0.0.1:" .. ports.proxy)
		assert.equal("http://127.0.0.1:" .. ports.proxy, failure({ url = base .. "/status/500" }).context.proxy)
		host.setenv("no_proxy", "localhost,127.0.0.1")
		assert.is_nil(failure({ url = base .. "/status/500" }).context.proxy)
	end)

	it("gets its credentials, and the server does not", function()
		local closing = start_server("", "PROXY_AUTH='Basic am9lOmh1bnRlcjI='")
		local url = "http://127.0.0.1:" .. closing.http .. "/echo"
		host.setenv("http_proxy", "http://127.0.0.1:" .. closing.proxy)
		local refused = failure { url = url }
		assert.equal(407, refused.context.status)
		assert.matches("https_proxy", refused.suggestion)
		host.setenv("http_proxy", "http://joe:hunter2@127.0.0.1:" .. closing.proxy)
		local r = send { url = url }
		assert.equal("test-proxy", r.headers.via)
		assert.is_nil(r.json.headers["proxy-authorization"])
		host.setenv("http_proxy")
		host.setenv("https_proxy", "http://127.0.0.1:" .. closing.proxy)
		local tunnel = failure { url = "https://127.0.0.1:" .. closing.http }
		assert.equal("PRECONDITION", tunnel.code)
		assert.equal(407, tunnel.context.proxy_status)
		assert.is_false(tunnel.retryable)
	end)
end)

describe("TLS", function()
	local function tls(spec)
		if not certificate then
			pending("openssl is not installed")
		end
		spec = spec or {}
		spec.url = spec.url or ("https://localhost:%s/echo"):format(ports.https)
		return spec
	end

	it("refuses a certificate that nobody trusted, and says what to do", function()
		local e = failure(tls())
		assert.equal("PRECONDITION", e.code)
		assert.is_false(e.retryable)
		assert.equal("CURLE_PEER_FAILED_VERIFICATION", e.context.library_code)
		assert.matches("SSL_CERT_FILE", e.suggestion)
	end)

	it("trusts the CA file of the environment", function()
		for _, name in ipairs { "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE" } do
			host.setenv(name, certificate)
			assert.equal("/echo", send(tls()).json.path, name)
			host.setenv(name)
		end
	end)

	it("refuses a name that is not in the certificate", function()
		host.setenv("SSL_CERT_FILE", certificate)
		local e = failure(tls { url = ("https://127.0.0.1:%s/echo"):format(ports.https) })
		assert.equal("PRECONDITION", e.code)
		assert.equal("CURLE_PEER_FAILED_VERIFICATION", e.context.library_code)
	end)

	it("names a CA file that can't be read", function()
		host.setenv("SSL_CERT_FILE", folder .. "/missing.pem")
		local e = failure(tls())
		assert.equal("PRECONDITION", e.code)
		assert.equal("CURLE_SSL_CACERT_BADFILE", e.context.library_code)
		assert.matches("SSL_CERT_FILE", e.suggestion)
	end)

	it("goes through a proxy's tunnel", function()
		host.setenv("SSL_CERT_FILE", certificate)
		for _, name in ipairs { "https_proxy", "HTTPS_PROXY" } do
			host.setenv(name, "http://127.0.0.1:" .. ports.proxy)
			local r = send(tls())
			assert.equal("/echo", r.json.path)
			assert.is_nil(r.headers.via)
			host.setenv(name)
		end
	end)

	it("that breaks while a large body is sent is an error, not a SIGPIPE", function()
		host.setenv("SSL_CERT_FILE", certificate)
		for _ = 1, 3 do
			local e = failure(tls { url = ("https://localhost:%s/close"):format(ports.https), method = "PUT",
				body = ("x"):rep(8 << 20) })
			assert.equal("NETWORK_ERROR", e.code)
		end
	end)

	it("with a server that speaks none is NETWORK_ERROR", function()
		assert.equal("NETWORK_ERROR", failure({ url = "https://127.0.0.1:" .. ports.http }).code)
	end)

	it("drops credentials when a redirect changes the scheme", function()
		host.setenv("SSL_CERT_FILE", certificate)
		local target = escape("http://localhost:" .. ports.http .. "/echo")
		local r = send(tls { url = ("https://localhost:%s/to?status=302&url=%s"):format(ports.https, target),
			bearer = "tok" })
		assert.is_nil(r.json.headers.authorization)
	end)
end)

describe("retry", function()
	local calls
	local names = 0

	-- Stands in for the loop of runner.retry: three tries, a copy of the error.
	local function loop(_, policy, fn)
		calls = { policy = policy, tries = 0 }
		for n = 1, 3 do
			calls.tries = n
			local ok, v = pcall(fn, n)
			if ok then
				return v
			elseif n == 3 then
				error(errors.normalise(v), 0)
			end
		end
	end

	local function flaky(failures)
		names = names + 1
		return ("%s/flaky/%d/%d"):format(base, names, failures)
	end

	local function asked()
		return send({ url = ("%s/count/%d"):format(base, names) }).json.count
	end

	before_each(function()
		calls = nil
		package.loaded["runner.ctx.retry"] = { loop = loop }
	end)

	after_each(function()
		package.loaded["runner.ctx.retry"] = nil
	end)

	it("runs the request through the loop, with the policy alone", function()
		assert.equal(200, send({ url = flaky(2), retry = { retries = 2, delay = "1s", any_method = true } }).status)
		assert.same({ retries = 2, delay = "1s" }, calls.policy)
		assert.equal(3, asked())
	end)

	it("gives the last failure, raised or with check = false", function()
		assert.equal("UNAVAILABLE", failure({ url = flaky(9), retry = {} }).code)
		local r = send { url = flaky(9), retry = {}, check = false }
		assert.is_false(r.ok)
		assert.equal(503, r.status)
		assert.equal("UNAVAILABLE", r.error.code)
	end)

	it("that ends for a reason of its own raises that, with check = false too", function()
		for _, asks_first in ipairs { false, true } do
			package.loaded["runner.ctx.retry"].loop = function(_, _, fn)
				assert.is_false(asks_first and pcall(fn))
				error(errors.new("CANCELLED", "the loop was cancelled"), 0)
			end
			assert.equal("CANCELLED", failure({ url = flaky(9), retry = {}, check = false }).code)
		end
	end)

	it("does not happen without being asked for", function()
		failure { url = flaky(1) }
		assert.is_nil(calls)
		assert.equal(1, asked())
	end)

	it("repeats what is idempotent, and the rest only with any_method", function()
		for _, method in ipairs { "GET", "HEAD", "PUT", "DELETE", "OPTIONS" } do
			assert.equal(200, send({ url = flaky(1), method = method, retry = {} }).status, method)
		end
		for _, method in ipairs { "POST", "PATCH" } do
			local warned
			local ctx = { warn = function(_, code)
				warned = code
			end }
			assert.is_false(pcall(send, { url = flaky(1), method = method, retry = {} }, ctx), method)
			assert.equal(1, asked())
			assert.equal("RETRY_IGNORED", warned)
			assert.equal(200, send({ url = flaky(1), method = method, retry = { any_method = true } }).status)
		end
	end)
end)

describe("urls", function()
	it("keep user and password apart from everything shown", function()
		local url = urls.parse("HTTPS://us%40er:p%3Ass@Host.Example:8443/a?b=c#frag")
		assert.same({ scheme = "https", authority = "Host.Example:8443", path = "/a?b=c", user = "us@er", password = "p:ss" },
			url)
		assert.equal("https://Host.Example:8443/a?b=c", urls.text(url))
		assert.equal("https://host.example:8443", urls.origin(url))
	end)

	it("have the same origin with and without the default port", function()
		assert.equal(urls.origin(urls.parse("http://a")), urls.origin(urls.parse("http://A:80/x")))
		assert.are_not_equal(urls.origin(urls.parse("http://a:443")), urls.origin(urls.parse("https://a")))
		assert.equal("https://[::1]:443", urls.origin(urls.parse("https://[::1]/")))
	end)

	it("are cut where they are long", function()
		assert.is_true(#urls.masked(urls.parse("http://a/" .. ("x"):rep(100000))) < 400)
	end)
end)
