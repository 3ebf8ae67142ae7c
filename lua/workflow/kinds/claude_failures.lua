-- claude_failures: the failures of a claude program: how each is recognised, its code, its message, and
-- whether a retry may help. The table in the docs is generated from it. Pure; lua/workflow/kinds/classify.lua
-- classifies a whole result.

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
	{ name = "limit", code = "TIMEOUT", transient = true, display = "Timed out after %s", shows = "the step's own limit" },
	{ name = "timeout", code = "TIMEOUT", transient = true, display = "Network timeout after %s", http = { 408 },
		shows = "HTTP 408; timed out", words = { "timed out", "time%-?out%f[%A]", "deadline exceeded" } },
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
	{ name = "schema", code = "SCHEMA_NOT_MET", transient = false, display = "Process failed: %s",
		shows = "an answer without the structured output that `--json-schema` asks for", words = { "error_max_structured_output_retries" } },
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

-- --- the program's own sentences ---------------------------------------------------------

-- What Claude Code prints in the place of an answer, and the class of failure it means. It counts only at the
-- start of its line: an answer may quote it. What the program was seen to print: tests/claude/records.

local SHORT = 1000 -- bytes; longer ones are answers

-- Class, and patterns in lower case with plain apostrophes; the first that matches counts.
local SENTENCES = {
	{ "invalid command", "^unknown command: /", "^unknown slash command: ", "^no conversation found", "^error: %-%-resume requires",
		"^error: session id .* is already in use", "^error: invalid mcp config", "^mcp config file not found",
		"cannot be used with root/sudo", "^error: input must be provided",
		"^error: piped stdin input exceeds", "^error: option .* is invalid%f[%A]", "^error: when using %-%-print" },
	{ "authentication", "^your account does not have access to claude", "^your anthropic_api_key belongs to a disabled organization",
		"^your organization has disabled", "^this organization has been disabled", "^not logged in", "^invalid api key",
		"^failed to authenticate", "^please run /login", "^oauth token revoked" },
	{ "payment", "^credit balance is too low", "^you've hit your [%a' ]*spend limit" },
	{ "usage limit", "^you've hit your [%w%- ']*limit", "^you've reached your [%w%- ']*limit", "^you're out of usage credits",
		"^you're out of extra usage", "^your org is out of usage", "^your organization is out of usage",
		"^claude ai usage limit reached", "^%d+%-hour limit reached", "^weekly limit reached", "^[%a]+ weekly limit reached" },
	{ "not found", "^there's an issue with the selected model", "^the model .* is not available on your" },
	{ "turn limit", "^error: reached max turns", "^reached maximum number of turns" },
	{ "budget", "^error: exceeded usd budget", "^reached maximum budget" },
	{ "schema", "^error: failed to provide valid structured output" },
	{ "refused", "^prompt is too long", "^request too large", "^pdf too large", "^image was too large",
		"^api error: the model has reached its context window", "^api error: claude's response exceeded .* output token maximum",
		"^api error: claude code is unable to respond .* usage policy" },
	{ "network", "^api error: connection to the api was lost", "^api error: api returned an empty or malformed response",
		"^api error: unable to connect to api" },
}

---The class of a line that is one of Claude Code's own sentences.
---@param line string
---@return runner.workflow.Class?
function M.of_sentence(line)
	local lower = line:lower():gsub("’", "'"):gsub("^%s+", "")
	for _, row in ipairs(SENTENCES) do
		for i = 2, #row do
			if lower:find(row[i]) then
				return M.by_name[row[1]]
			end
		end
	end
end

---Does a line report a failure of the API, whatever it was?
---@param line string
---@return boolean
function M.is_api_error(line)
	return line:find "^%s*API Error%f[%A]" ~= nil
end

---Is this whole output the answer to a slash command that doesn't exist? The program
---exits 0 then, and no model was asked.
---@param text string
---@return boolean
function M.is_unknown_command(text)
	local line = #text <= SHORT and text:match "^%s*([^\n]-)%s*$"
	return line ~= nil and line ~= false and (line:find "^Unknown command: /%S+$" or line:find "^Unknown command: /%S+%. Did you mean /%S+%?$"
		or line:find "^Unknown slash command: %S+$") ~= nil
end

return M
