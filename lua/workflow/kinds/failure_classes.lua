-- failure_classes: the failures of a claude program: how each is recognised, its code,
-- its message, and whether a retry may help. The table in the docs is generated from
-- it. Pure; lua/workflow/kinds/classify.lua classifies a whole result.

local M = {}

---@class runner.workflow.Class
---@field name string
---@field shows string for the docs: how it is recognised
---@field code string of the registry
---@field transient boolean
---@field display string of the message; %d the HTTP status, %s the detail
---@field plain string? the display where there is no HTTP status
---@field http integer[]? statuses
---@field range integer[]? first and last of the other statuses
---@field words string[]? patterns in a line in lower case
---@field exits integer[]? exit statuses of the program

-- Order counts: a line belongs to the first class with words in it.
---@type runner.workflow.Class[]
M.rows = {
	{ name = "invalid command", code = "PRECONDITION", transient = false, display = "Invalid command: %s", exits = { 126, 127 },
		shows = "exit status 126 or 127; usage text; unknown command, option or argument; syntax error",
		words = { "unknown command", "unknown option", "unknown argument", "unknown flag", "unknown slash command",
			"unrecogni[sz]ed option", "unrecogni[sz]ed argument", "unrecogni[sz]ed command", "unrecogni[sz]ed flag",
			"unrecogni[sz]ed subcommand", "invalid command", "invalid option", "unexpected argument",
			"missing required argument", "too many arguments", "syntax error", "^%s*usage:" } },
	{ name = "overloaded", code = "UNAVAILABLE", transient = true, display = "Service overloaded: %s", http = { 529 },
		shows = "HTTP 529; overloaded", words = { "%f[%a]overload" } },
	{ name = "usage limit", code = "RATE_LIMITED", transient = true, display = "Usage limit reached: %s",
		shows = "Claude Code's own words: You've hit your session limit, You're out of usage credits …",
		words = { "claude ai usage limit reached", "hit your %a* ?limit" } },
	{ name = "rate limit", code = "RATE_LIMITED", transient = true, display = "Service overloaded: %s", http = { 429 },
		shows = "HTTP 429; rate limit, too many requests, usage limit reached",
		words = { "rate[ _-]?limit", "too many requests", "usage limit", "limit reached", "quota exceeded" } },
	{ name = "network", code = "NETWORK_ERROR", transient = true, display = "Network error: %s",
		shows = "ECONNRESET, ETIMEDOUT, ENOTFOUND …; connection refused, socket hang up, fetch failed",
		words = { "econnreset", "econnrefused", "econnaborted", "etimedout", "enotfound", "eai_again", "ehostunreach",
			"enetunreach", "enetdown", "und_err_", "socket hang up", "connection refused", "connection reset",
			"connection closed", "connection error", "connection timed out", "connection aborted", "network error",
			"network is unreachable", "no route to host", "could not resolve", "name resolution", "getaddrinfo",
			"fetch failed", "unable to connect", "failed to connect", "tls handshake" } },
	{ name = "timeout", code = "TIMEOUT", transient = true, display = "Network timeout after %s", http = { 408 },
		shows = "the step's own limit; HTTP 408; timed out", words = { "timed out", "time%-?out%f[%A]", "deadline exceeded" } },
	{ name = "authentication", code = "AUTH_REQUIRED", transient = false, display = "Authentication failed: %s",
		http = { 401, 403 }, shows = "HTTP 401 or 403; unauthorized, invalid API key, expired login",
		words = { "authentication", "unauthori[sz]ed", "invalid api key", "invalid x%-api%-key", "run /login",
			"not logged in", "oauth[%a ]* expired", "token[%a ]* expired", "invalid bearer token", "%f[%a]forbidden" } },
	{ name = "payment", code = "PAYMENT_REQUIRED", transient = false, display = "HTTP %d: %s", http = { 402 },
		shows = "HTTP 402; the credit balance is too low, the monthly spend limit is reached", plain = "Payment required: %s",
		words = { "credit balance is too low", "payment required" } },
	{ name = "turn limit", code = "SUBPROCESS_FAILED", transient = false, display = "Process failed: %s",
		shows = "Reached max turns; the result's subtype is error_max_turns", words = { "error_max_turns" } },
	{ name = "budget", code = "BUDGET_EXHAUSTED", transient = false, display = "Process failed: %s",
		shows = "Exceeded USD budget; the result's subtype is error_max_budget_usd", words = { "error_max_budget_usd" } },
	{ name = "schema", code = "INVALID_RESULT", transient = false, display = "Process failed: %s",
		shows = "Failed to provide valid structured output", words = { "error_max_structured_output_retries" } },
	{ name = "refused", code = "PRECONDITION", transient = false, display = "Request refused: %s",
		shows = "prompt or request too long, context window or output maximum reached, usage policy" },
	{ name = "not found", code = "NOT_FOUND", transient = false, display = "HTTP %d: %s", plain = "Not found: %s", http = { 404 },
		shows = "HTTP 404; an issue with the selected model" },
	{ name = "request", code = "PRECONDITION", transient = false, display = "HTTP %d: %s", range = { 400, 499 },
		shows = "any other HTTP 4xx" },
	{ name = "server error", code = "UNAVAILABLE", transient = true, display = "HTTP %d: %s", range = { 500, 599 },
		shows = "any other HTTP 5xx; internal server error, bad gateway, service unavailable" },
	{ name = "unknown", code = "SUBPROCESS_FAILED", transient = true, display = "Process failed: %s",
		shows = "anything else: another exit status, a signal, a program that can't be started" },
}

---@type table<string, runner.workflow.Class>
M.by_name = {}
for _, class in ipairs(M.rows) do
	M.by_name[class.name] = class
end

local function first(fits)
	for _, class in ipairs(M.rows) do
		if fits(class) then
			return class
		end
	end
end

---Is `v` in the list, if there is one?
---@param list any[]?
---@param v any
---@return boolean
function M.has(list, v)
	for _, item in ipairs(list or {}) do
		if item == v then
			return true
		end
	end
	return false
end

---@param status integer 400 to 599
---@return runner.workflow.Class
function M.of_http(status)
	return first(function(class) return M.has(class.http, status) end)
		or first(function(class) return class.range and status >= class.range[1] and status <= class.range[2] end)
end

---@param status integer?
---@return runner.workflow.Class?
function M.of_exit(status)
	return first(function(class) return M.has(class.exits, status) end)
end

---@param line string
---@return runner.workflow.Class?
function M.of_words(line)
	local lower = line:lower()
	return first(function(class)
		for _, words in ipairs(class.words or {}) do
			if lower:find(words) then
				return true
			end
		end
	end)
end

return M
