-- What failures of steps mean: Spec 185's FR1 and AC1 to AC4, and what must not
-- look like a failure of a server.

local classify = require "runner.workflow.kinds.classify"
local failure_text = require "runner.workflow.kinds.failure_text"
local host = require "runner.host"
local json = require "runner.json"
local replies = require "runner.workflow.kinds.claude_output"

local function result(fields)
	local out = { ok = false, status = 1, stdout = "", stderr = "", duration_ms = 1234, timed_out = false, truncated = false }
	for key, value in pairs(fields) do
		out[key] = value
	end
	return out
end

local function failed(stderr, opts)
	return classify.claude(result { stderr = stderr }, opts)
end

local function replied(text, more)
	local reply = { type = "result", subtype = "error_during_execution", is_error = true, result = text }
	for key, value in pairs(more or {}) do
		reply[key] = value
	end
	return classify.claude(result { status = 0, stdout = json.encode(reply) .. "\n" })
end

local function check(rows)
	for _, row in ipairs(rows) do
		local verdict = failed(row[1])
		local about = ("%s → %s %s"):format(row[1], verdict.code, verdict.message)
		assert.are.equal(row[2], verdict.code, about)
		assert.are.equal(row[3], verdict.transient, about)
		if row[4] then
			assert.are.equal(row[4], verdict.message, about)
		end
		if row[5] then
			assert.are.equal(row[5], verdict.reason, about)
		end
	end
end

describe("FR1 and test_error_classification", function()
	it("AC1: a 500 is transient, and every other 5xx", function()
		check {
			{ "500 Internal Server Error", "UNAVAILABLE", true, "HTTP 500: Internal Server Error", "500 Internal Server Error" },
			{ "Internal Server Error", "UNAVAILABLE", true, "HTTP 500: Internal Server Error", "500 Internal Server Error" },
			{ "500", "UNAVAILABLE", true }, { "HTTP 500", "UNAVAILABLE", true }, { "HTTP 500: error", "UNAVAILABLE", true,
				"HTTP 500: Internal Server Error: error" }, { "HTTP/1.1 503 Service Unavailable", "UNAVAILABLE", true,
				"HTTP 503: Service Unavailable", "503 Service Unavailable" }, { "HTTP/2 502", "UNAVAILABLE", true },
			{ "Request failed with status code 502", "UNAVAILABLE", true, "HTTP 502: Bad Gateway" },
			{ "error: 504", "UNAVAILABLE", true }, { "Error: 500: boom", "UNAVAILABLE", true }, { "500 error", "UNAVAILABLE", true },
			{ '{"status":500,"x":1}', "UNAVAILABLE", true }, { "statusCode: 503", "UNAVAILABLE", true },
			{ "Error code: 500 - {'type': 'error'}", "UNAVAILABLE", true }, { "bad gateway", "UNAVAILABLE", true,
				"HTTP 502: Bad Gateway" }, { "the service is temporarily unavailable", "UNAVAILABLE", true },
			{ 'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}', "UNAVAILABLE", true,
				"HTTP 500: Internal Server Error", "500 Internal Server Error" },
			{ 'API Error (503 {"type":"error","error":{"message":"upstream \\"a\\" is down"}})', "UNAVAILABLE", true,
				'HTTP 503: Service Unavailable: upstream "a" is down' },
			{ '{"type":"error","error":{"type":"api_error"}}', "UNAVAILABLE", true, "HTTP 500: Internal Server Error" },
			{ "HTTP 599 strange", "UNAVAILABLE", true, "HTTP 599: strange", "599 strange" },
		}
	end)

	it("AC2: overloaded and rate limits are transient", function()
		check {
			{ "overloaded", "UNAVAILABLE", true, "Service overloaded: overloaded" },
			{ "API is overload", "UNAVAILABLE", true }, { "Error: Overloaded", "UNAVAILABLE", true },
			{ 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "UNAVAILABLE", true,
				"Service overloaded: 529 Overloaded", "529 Overloaded" },
			{ '{"error":{"type":"overloaded_error","message":"Overloaded"}}', "UNAVAILABLE", true,
				"Service overloaded: 529 Overloaded" },
			{ "rate limit exceeded", "RATE_LIMITED", true, "Service overloaded: rate limit exceeded" },
			{ "429 Too Many Requests", "RATE_LIMITED", true, "Service overloaded: 429 Too Many Requests" },
			{ "HTTP 429", "RATE_LIMITED", true }, { "rate_limit_error", "RATE_LIMITED", true },
			{ "You've hit your limit · resets 1pm", "RATE_LIMITED", true }, { "5-hour limit reached ∙ resets 3am", "RATE_LIMITED", true },
		}
	end)

	it("network failures are transient", function()
		for _, text in ipairs { "connect ECONNREFUSED 127.0.0.1:443", "read ECONNRESET", "connect ETIMEDOUT",
			"getaddrinfo ENOTFOUND api.example.org", "Error: socket hang up", "Connection refused", "TypeError: fetch failed",
			"getaddrinfo EAI_AGAIN x", "API Error: Connection error.", "curl: (6) Could not resolve host: x",
			"authentication server: connection reset by peer", "Network error", "no route to host" } do
			local verdict = failed(text)
			assert.are.equal("NETWORK_ERROR", verdict.code, text)
			assert.is_true(verdict.transient)
			assert.are.equal("Network error: " .. text, verdict.message)
		end
	end)

	it("AC8: a timeout is transient and says how long it was", function()
		local verdict = classify.claude(result { status = nil, signal = "SIGTERM", timed_out = true, duration_ms = 600010,
			stderr = "authentication" }, { limit_ms = 600000 })
		assert.are.same({ code = "TIMEOUT", message = "Timed out after 600s", reason = "timed out after 600s",
			transient = true }, verdict)
		assert.are.equal("Timed out after 1.5s", classify.claude(result { timed_out = true, duration_ms = 1512 }).message)
		check { { "Request timed out.", "TIMEOUT", true, "Network timeout after 1s" }, { "Network timeout", "TIMEOUT", true },
			{ "HTTP 408", "TIMEOUT", true, "Network timeout after 1s", "408 Request Timeout" } }
	end)

	it("AC3: authentication fails fast", function()
		check {
			{ "authentication failed", "AUTH_REQUIRED", false, "Authentication failed: authentication failed" },
			{ "Unauthorized", "AUTH_REQUIRED", false }, { "401", "AUTH_REQUIRED", false },
			{ "HTTP 401 Unauthorized", "AUTH_REQUIRED", false, "Authentication failed: 401 Unauthorized", "401 Unauthorized" },
			{ "403 Forbidden", "AUTH_REQUIRED", false }, { "Invalid API key · Please run /login", "AUTH_REQUIRED", false },
			{ "OAuth token has expired. Please obtain a new token", "AUTH_REQUIRED", false },
			{ "invalid x-api-key", "AUTH_REQUIRED", false }, { "authentication_error", "AUTH_REQUIRED", false },
			{ 'API Error: 401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}', "AUTH_REQUIRED", false,
				"Authentication failed: 401 Unauthorized: invalid x-api-key" },
		}
	end)

	it("AC4: an invalid command fails fast", function()
		check {
			{ "error: unknown option '--foo'", "PRECONDITION", false, "Invalid command: error: unknown option '--foo'" },
			{ "error: unknown option '--foo'\n\nOptions:\n  --timeout <ms>  request timeout\n", "PRECONDITION", false,
				"Invalid command: error: unknown option '--foo'" },
			{ "too few words\nUsage: claude [options]\n  --x  on network error", "PRECONDITION", false, "Invalid command: too few words" },
			{ "Unknown command: /nope", "PRECONDITION", false }, { "Unknown slash command: nope", "PRECONDITION", false },
			{ "Claude command syntax error", "PRECONDITION", false }, { "Invalid command", "PRECONDITION", false },
			{ "error: missing required argument 'x'", "PRECONDITION", false },
		}
		local verdict = classify.claude(result { status = 127, stderr = "sh: 1: node: not found\n" })
		assert.are.equal("PRECONDITION", verdict.code)
		assert.is_false(verdict.transient)
		assert.are.equal("Invalid command: sh: 1: node: not found", verdict.message)
		assert.are.equal("Invalid command: exited with status 126", classify.claude(result { status = 126 }).message)
	end)

	it("other 4xx are permanent", function()
		check {
			{ "HTTP 400: bad", "PRECONDITION", false, "HTTP 400: Bad Request: bad" }, { "404 Not Found", "NOT_FOUND", false },
			{ "HTTP 413", "PRECONDITION", false }, { "status 422", "PRECONDITION", false },
			{ 'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}',
				"PRECONDITION", false, "HTTP 400: Bad Request: prompt is too long", "400 Bad Request: prompt is too long" },
			{ "HTTP 402", "PAYMENT_REQUIRED", false, "HTTP 402: Payment Required" },
			{ "Credit balance is too low", "PAYMENT_REQUIRED", false, "Payment required: Credit balance is too low" },
			{ 'API Error: 400 {"message":"it says: connection refused, 500 Internal Server Error"}', "PRECONDITION", false },
		}
	end)

	it("anything else is a process error, transient unless switched off", function()
		local verdict = failed "something\nwent wrong\n"
		assert.are.same({ code = "SUBPROCESS_FAILED", message = "Process failed: went wrong", reason = "went wrong",
			transient = true }, verdict)
		assert.is_false(failed("went wrong", { unknown_transient = false }).transient)
		assert.is_true(failed("HTTP 500", { unknown_transient = false }).transient)
		assert.are.equal("Process failed: exited with status 3", classify.claude(result { status = 3 }).message)
		assert.are.equal("Process failed: killed by SIGKILL",
			classify.claude({ ok = false, signal = "SIGKILL", stdout = "", stderr = "", duration_ms = 1 }).message)
		verdict = classify.claude(result { error = "can't start claude: No such file or directory", errno = "ENOENT" })
		assert.are.equal("Process failed: can't start claude: No such file or directory", verdict.message)
		assert.is_true(verdict.transient)
	end)

	it("a number that is no status does not look like one", function()
		for _, text in ipairs { "took 1500 ms", "500.txt is missing", "port 5000", "line 429", "took 503ms", "error in file500",
			"error 500 files changed", "at x.js:500:12", "listening on port 503", "status 1500", "HTTP 5000", "v1.500.2", "500 ms",
			"http://host:500/x", "exit code 4", "status 500.5", "status 503 ms", "read 429 bytes", "Error: 500 files",
			"1500", "500%", "status 503ms",
			"id 401-500-429", "x500 internal server", "pid 502 bad", "resource temporarily unavailable" } do
			local verdict = failed(text)
			assert.are.equal("SUBPROCESS_FAILED", verdict.code, text .. " → " .. verdict.message)
			assert.are.equal("Process failed: " .. text, verdict.message)
		end
	end)

	it("what came last counts", function()
		check {
			{ "503 Service Unavailable, trying again\n401 Unauthorized", "AUTH_REQUIRED", false },
			{ "401 Unauthorized, logging in\n503 Service Unavailable\n    at x.js:429:12", "UNAVAILABLE", true },
		}
	end)

	it("a megabyte of anything is judged quickly", function()
		for _, text in ipairs { "token ", "service ", "500 ", "http ", "status 5", "x\n", "error 5\n", "\"message\":\"" } do
			local started = os.clock()
			failed(text:rep((1 << 20) // #text), { rules = { { pattern = "(a+)+[bc]" } } })
			assert.is_true(os.clock() - started < 2, text)
		end
	end)

	it("the reason is one clean line of bounded length", function()
		local verdict = failed("\27[31m" .. ("x\ty "):rep(1000) .. "\27[0m\n\n")
		assert.is_nil(verdict.reason:find "[%c\27]")
		assert.is_true(utf8.len(verdict.reason) <= 201)
		assert.is_truthy(utf8.len(failed("\xff\xfe wrong").message))
	end)
end)

describe("the JSON result of a claude program", function()
	it("tells of a failure with exit status 0", function()
		local verdict = replied 'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}'
		assert.are.equal("UNAVAILABLE", verdict.code)
		assert.are.equal("500 Internal Server Error", verdict.reason)
		assert.are.equal("AUTH_REQUIRED", replied("Invalid API key · Please run /login").code)
		assert.are.equal("Process failed: what now", replied("what now").message)
	end)

	it("is cut behind 200 characters, and keeps the first", function()
		assert.are.equal("Process failed: " .. ("é"):rep(199) .. "x", replied(("é"):rep(199) .. "x").message)
		assert.are.equal("Process failed: x" .. ("é"):rep(199) .. "…", replied("x" .. ("é"):rep(200)).message)
	end)

	it("may be the last line of a stream, or the last of a list", function()
		local reply = '{"type":"result","subtype":"error_during_execution","is_error":true,"result":"API Error: 529 x"}'
		local stream = '{"type":"system"}\n{"type":"assistant","message":"HTTP 401"}\n' .. reply .. "\n"
		assert.are.equal("UNAVAILABLE", classify.claude(result { status = 0, stdout = stream }).code)
		assert.are.equal("UNAVAILABLE", classify.claude(result { stdout = '[{"type":"system"},' .. reply .. "]" }).code)
		assert.are.equal("UNAVAILABLE", classify.claude(result { stdout = "cut off…\n" .. reply .. "\nbye\n" }).code)
	end)

	it("uses its status and its subtype", function()
		local verdict = replied("Something broke", { api_error_status = 529 })
		assert.are.equal("Service overloaded: 529 Overloaded: Something broke", verdict.message)
		verdict = replied(json.null, { subtype = "error_max_turns" })
		assert.is_false(verdict.transient)
		assert.are.equal("SUBPROCESS_FAILED", verdict.code)
		assert.are.equal("NETWORK_ERROR", replied(json.null, { errors = { "read ECONNRESET" } }).code)
	end)

	it("has a status in one of four fields, from 400 to 599", function()
		for value, status in pairs { [400] = 400, [599] = 599, [503.0] = 503, ["529"] = 529, [399] = false, [600] = false, [200] = false,
				[503.5] = false, [""] = false, ["503x"] = false, [-503] = false } do
			for _, name in ipairs { "api_error_status", "status", "status_code" } do
				assert.are.equal(status or nil, replies.status { [name] = value }, ("%s %q"):format(name, value))
			end
			assert.are.equal(status or nil, replies.status { error = { status = value } }, ("error.status %q"):format(value))
		end
		assert.are.equal(503, replies.status { api_error_status = 200, status = 503, status_code = 500, error = { status = 429 } })
		assert.are.equal(500, replies.status { status_code = 500, error = { status = 429 } })
		for _, reply in ipairs { {}, { error = "503" }, { error = true }, { status = true }, { status = {} } } do
			assert.is_nil(replies.status(reply))
		end
	end)

	it("goes before stderr, and an answer on stdout is not judged beside it", function()
		local reply = '{"type":"result","is_error":true,"subtype":"x","result":"HTTP 503"}'
		assert.are.equal("UNAVAILABLE", classify.claude(result { stdout = reply, stderr = "unauthorized" }).code)
		assert.are.equal("SUBPROCESS_FAILED", classify.claude(result { stdout = "HTTP 404", stderr = "boom" }).code)
		assert.are.equal("AUTH_REQUIRED", classify.claude(result { stdout = "Invalid API key · Please run /login\n" }).code)
	end)
end)

describe("the wait that a failure asks for", function()
	local NOON = 1750507200000 -- 2025-06-21 12:00:00 UTC
	local zone

	setup(function()
		zone = os.getenv "TZ"
		host.setenv("TZ", "UTC")
		os.time { year = 2000, month = 1, day = 1 }
	end)

	teardown(function()
		host.setenv("TZ", zone)
		os.time { year = 2000, month = 1, day = 1 }
	end)

	it("is read from the texts in use", function()
		for text, ms in pairs {
			["Retry-After: 12"] = 12000, ["retry-after-ms: 1500"] = 1500, ['{"retry_after": 3.5}'] = 3500, ["retry after 20"] = 20000,
			["< retry-after: Sat, 21 Jun 2025 12:01:30 GMT"] = 90000, ["Retry-After: Fri, 20 Jun 2025 12:00:00 GMT"] = 0,
			['{"retry-after":"Sat, 21 Jun 2025 13:00:00 GMT"}'] = 3600000,
			["Please try again in 30 seconds."] = 30000, ["try again in 2h 30m"] = 9000000, ["try again in about 5 minutes"] = 300000,
			["retrying in 250ms"] = 250, ["please wait 20s"] = 20000, ["resets in 1 hour and 5 minutes"] = 3900000,
			["resets 1pm"] = 3600000, ["resets at 1 PM"] = 3600000, ["resets 12:30pm"] = 1800000, ["resets 13:00"] = 3600000,
			["resets 11am"] = 23 * 3600000, ["resets 12am"] = 12 * 3600000, ["resets 11:57am"] = 0, ["resets 12pm"] = 0,
			["resets 3:45pm (Europe/Berlin)"] = 6300000, ["resets 9am (America/New_York)"] = 3600000,
			["resets 1pm (UTC)"] = 3600000,
			["usage limit reached|1750507277"] = 77000,
		} do
			assert.are.equal(ms, failure_text.find(text, NOON), text)
		end
		assert.are.equal("Sat Jun 21 12:00:00 2025", os.date("%c", NOON // 1000))
	end)

	it("is not read from a clock in a zone that isn't known here, and that is said once", function()
		local attempt, said = require "runner.core.attempt", {}
		local warn = attempt.warn
		attempt.warn = function(code, _, context) said[#said + 1] = code .. " " .. context.zone end
		assert.is_nil(failure_text.find("resets 1pm (Nowhere/Land)", NOON))
		assert.is_nil(failure_text.find("resets 1pm (Nowhere/Land)", NOON))
		assert.is_nil(failure_text.find("resets 1pm (PST)", NOON))
		attempt.warn = warn
		assert.same({ "UNKNOWN_TIME_ZONE Nowhere/Land", "UNKNOWN_TIME_ZONE PST" }, said)
	end)

	it("is not read from what is no time", function()
		for _, text in ipairs { "", "wait 5 apples", "resets 25pm", "resets 13pm", "resets 1", "resets 10:75", "retry-after: soon",
			"limit reached|12", "await 3", "Retry-After: Mon, 21 Jun 2025 12:01:30 GMT" } do
			assert.is_nil(failure_text.find(text, NOON), text)
		end
	end)

	it("belongs to transient failures alone", function()
		assert.are.equal(12000, failed("HTTP 429\nRetry-After: 12").retry_after_ms)
		assert.is_nil(failed("HTTP 401\nRetry-After: 12").retry_after_ms)
		local verdict = classify.claude(result { status = 0, stdout = json.encode { type = "result", is_error = true,
			result = "You've hit your limit · resets 1pm (UTC)" } }, { now_ms = NOON })
		assert.are.equal("RATE_LIMITED", verdict.code)
		assert.are.equal(3600000, verdict.retry_after_ms)
	end)
end)

describe("rules of a workflow", function()
	local function ruled(fields, ...)
		return classify.shell(result(fields), { retry = true, rules = { ... } })
	end

	it("make a failure transient by status, text or pattern, and may name its code", function()
		local rule = { exit = { [75] = true }, code = "UNAVAILABLE" }
		assert.are.equal("UNAVAILABLE", ruled({ status = 75 }, rule).code)
		assert.is_true(ruled({ status = 75 }, rule).transient)
		assert.is_false(ruled({ status = 74 }, rule).transient)
		assert.is_true(ruled({ stderr = "lock is (busy)\n" }, { stderr = "(busy)" }).transient)
		assert.is_true(ruled({ stderr = "a\nE17: no\nb" }, { pattern = "^E\\d+: (no|yes)$" }).transient)
		assert.is_false(ruled({ stderr = "a\nxE17: no\nb" }, { pattern = "^E\\d+" }).transient)
		assert.is_true(ruled({ stderr = "nothing \xff E1" }, { pattern = "E1" }).transient)
	end)

	it("hold when all of one rule holds, and one rule is enough", function()
		local both = { exit = { [1] = true }, stderr = "busy" }
		assert.is_false(ruled({ stderr = "idle" }, both).transient)
		assert.is_true(ruled({ stderr = "busy" }, both).transient)
		assert.is_true(ruled({ stderr = "idle" }, both, { stderr = "idle" }).transient)
	end)

	it("add to the classes of claude, also against a permanent one", function()
		local opts = { rules = { { pattern = "flaky login" } } }
		assert.is_true(failed("HTTP 500", opts).transient)
		assert.is_true(failed("unauthorized: flaky login", opts).transient)
		assert.is_false(failed("unauthorized", opts).transient)
	end)

	it("or name the only classes that are", function()
		local opts = { on = { "TIMEOUT", "RATE_LIMITED" }, retry = true }
		assert.is_false(failed("HTTP 500", opts).transient)
		assert.is_true(failed("HTTP 429", opts).transient)
		assert.is_false(failed("what", opts).transient)
		assert.is_true(classify.shell(result { timed_out = true }, opts).transient)
		assert.is_false(classify.shell(result {}, opts).transient)
	end)
end)

describe("a shell step", function()
	it("fails by its status alone, and is transient only where retry is declared", function()
		local verdict = classify.shell(result { status = 3, stderr = "a\nHTTP 500\n" })
		assert.are.same({ code = "SUBPROCESS_FAILED", message = "Shell command exited with status 3: HTTP 500",
			reason = "exited with status 3: HTTP 500", transient = false }, verdict)
		assert.is_true(classify.shell(result {}, { retry = true }).transient)
		verdict = classify.shell(result { timed_out = true, signal = "SIGTERM" }, { limit_ms = 2000, retry = true })
		assert.are.equal("TIMEOUT", verdict.code)
		assert.are.equal("Shell command timed out after 2s", verdict.message)
		assert.are.equal("Shell command was killed by SIGSEGV",
			classify.shell({ signal = "SIGSEGV", stderr = "", stdout = "", duration_ms = 1 }).message)
	end)
end)

describe("a runner step", function()
	local function called(envelope, status, opts)
		return classify.call(result { status = status, stdout = json.encode(envelope) }, opts)
	end

	it("means what its envelope says", function()
		local verdict = called({ ok = false, error = { code = "LOCK_HELD", message = "held", retryable = true,
			retry_after_ms = 1000 } }, 4)
		assert.are.same({ code = "LOCK_HELD", message = "held", reason = "LOCK_HELD: held", transient = true,
			retry_after_ms = 1000 }, verdict)
		local maybe = { ok = false, error = { code = "COMMAND_CRASHED", message = "gone", retryable = "maybe" } }
		assert.is_false(called(maybe, 1).transient)
		assert.is_true(called(maybe, 1, { maybe = true }).transient)
		assert.is_true(called(maybe, 1, { rules = { { exit = { [1] = true } } } }).transient)
	end)

	it("is a failed process without a valid one", function()
		for _, stdout in ipairs { "", "hello", "{}", '{"ok":true}', '{"ok":false}', '{"ok":false,"error":{"code":1}}', "[]" } do
			local verdict = classify.call(result { stdout = stdout, stderr = "boom" })
			assert.are.equal("SUBPROCESS_FAILED", verdict.code, stdout)
			assert.are.equal("Runner command exited with status 1: boom", verdict.message)
			assert.is_false(verdict.transient)
		end
		assert.matches("no valid envelope", classify.call(result { ok = true, status = 0 }).message)
		assert.are.equal("TIMEOUT", classify.call(result { status = 143, timed_out = true,
			stdout = '{"ok":false,"error":{"code":"CANCELLED","message":"x","retryable":false}}' }).code)
	end)
end)

describe("classify.table", function()
	it("has a row for each class, with codes of the registry", function()
		local seen = {}
		for _, row in ipairs(classify.table()) do
			assert.is_nil(seen[row.name])
			seen[row.name] = true
			assert.is_string(row.shows)
			assert.is_boolean(row.transient)
			assert.is_nil(row.display:find("%", 1, true))
			assert.matches("^[A-Z_]+$", row.code)
		end
		assert.is_true(seen["rate limit"] and seen.unknown)
	end)
end)
