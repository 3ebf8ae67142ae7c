-- http_status: an HTTP status in a line of prose, and the words that go with it.
-- Pure. "API Error: 500" and "HTTP/1.1 503 Service Unavailable" hold one; "took
-- 503ms", "500.txt", "port 5000" and "line 429" do not.

local M = {}

local PHRASES = {
	[400] = "Bad Request", [401] = "Unauthorized", [402] = "Payment Required", [403] = "Forbidden", [404] = "Not Found",
	[405] = "Method Not Allowed", [408] = "Request Timeout", [409] = "Conflict", [410] = "Gone",
	[413] = "Content Too Large", [415] = "Unsupported Media Type", [422] = "Unprocessable Content",
	[429] = "Too Many Requests", [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway",
	[503] = "Service Unavailable", [504] = "Gateway Timeout", [507] = "Insufficient Storage",
	[520] = "Web Server Returned an Unknown Error", [521] = "Web Server Is Down", [522] = "Connection Timed Out",
	[524] = "A Timeout Occurred", [529] = "Overloaded",
}

-- Other phrases that go with the number, in lower case.
local SYNONYMS = { [413] = "request too large", [500] = "server error", [529] = "overloaded" }

-- What comes before a status; lower case. The number is captured with its place.
local BEFORE = {
	"api error[:%s(]+()([45]%d%d)",
	"http/%d[%d.]*%s+()([45]%d%d)",
	"http%s*:?%s*()([45]%d%d)",
	"http[%s_-]*error[%s_-]*c?o?d?e?[:%s(]+()([45]%d%d)",
	"status[%s_-]*c?o?d?e?[\"']?%s*[:=]?%s*[\"']?()([45]%d%d)",
	"error[%s_-]+code[\"']?%s*[:=]?%s*[\"']?()([45]%d%d)",
	"^%s*error[:%s]+()([45]%d%d)%s*$",
	"^%s*error[:%s]+()([45]%d%d)%s*[:,;({%-]",
	"responded with[%sa]+()([45]%d%d)",
	"^%s*()([45]%d%d)%s*$",
	"^%s*()([45]%d%d)%s+error%s*$",
	"()([45]%d%d)%s*{%s*\"type\"%s*:",
	"()([45]%d%d)%s*{%s*\"error\"%s*:",
}

-- Error types in the API's JSON bodies, the most specific first.
local TYPES = {
	{ "overloaded_error", 529 }, { "rate_limit_error", 429 }, { "authentication_error", 401 }, { "permission_error", 403 },
	{ "billing_error", 402 }, { "not_found_error", 404 }, { "request_too_large", 413 }, { "timeout_error", 504 },
	{ "invalid_request_error", 400 }, { "api_error", 500 },
}

-- Words that need no number.
local ALONE = {
	{ "internal server error", 500 }, { "internal_server_error", 500 }, { "bad gateway", 502 },
	{ "service unavailable", 503 }, { "service_unavailable", 503 }, { "service[%a ]-temporarily unavailable", 503 },
	{ "gateway time%-?out", 504 }, { "%f[%a]server error", 500 },
}

-- Is the number at `at` a word by itself, and no quantity, place or file?
local function stands_alone(line, at)
	local before, after = line:sub(at - 1, at - 1), line:sub(at + 3)
	return not before:find "[%w_./-]" and not after:find "^[%w_%%]" and not after:find "^[./-]%w"
		and not after:find "^%s*ms%f[%W]" and not after:find "^%s*milli"
end

local function match_of(line, pattern)
	local from = 1
	while true do
		local start, stop, at, number = line:find(pattern, from)
		if not start then
			return nil
		elseif stands_alone(line, at) and not line:sub(start - 1, start - 1):find "[%w_]" then
			return math.tointeger(tonumber(number)), at
		end
		from = stop + 1
	end
end

local function after_words(line)
	local status, place
	for _, pattern in ipairs(BEFORE) do
		local found, at = match_of(line, pattern)
		if found and (not place or at < place) then
			status, place = found, at
		end
	end
	return status, place
end

-- "503 Service Unavailable", also "503: service unavailable".
local function before_phrase(line)
	for at, number, rest in line:gmatch "()([45]%d%d)[%s:,%-]+()%a" do
		local status = math.tointeger(tonumber(number))
		for _, words in ipairs { PHRASES[status] or false, SYNONYMS[status] or false } do
			if words and stands_alone(line, at) and line:sub(rest, rest + #words - 1) == words:lower() then
				return status, at
			end
		end
	end
end

local function by_words(line, rows)
	for _, row in ipairs(rows) do
		if line:find(row[1]) then
			return row[2]
		end
	end
end

---The HTTP status that a line reports, and where its number is, if it has one.
---The first one: what follows is from the server.
---@param line string
---@return integer? status, integer? at
function M.status(line)
	local lower = line:lower()
	local status, at = before_phrase(lower)
	local other, place = after_words(lower)
	if other and (not at or place < at) then
		status, at = other, place
	end
	if status then
		return status, at
	end
	return by_words(lower, TYPES) or by_words(lower, ALONE)
end

-- The message in the JSON of a line, also where the line was cut.
local function json_message(line)
	local message = line:match '"message"%s*:%s*"(.-[^\\])"'
	return message and message:gsub('\\(["\\/])', "%1")
end

---What a line says beyond its status.
---@param line string
---@param at integer? where the number is
---@return string
function M.detail(line, at)
	local message = json_message(line)
	if message then
		return message
	end
	local rest = at and line:sub(at + 3) or ""
	return (rest:gsub("^[%s:,;()%-]+", ""):gsub("[%s)]+$", ""))
end

---"503 Service Unavailable", followed by the detail.
---@param status integer
---@param detail string
---@return string full, string without the number
function M.words(status, detail)
	local phrase = PHRASES[status] or ""
	local rest = detail
	local repeated = detail:sub(1, #phrase):lower() == phrase:lower() and not detail:find("^[%w_]", #phrase + 1)
	if phrase ~= "" and repeated then
		rest = detail:sub(#phrase + 1):gsub("^[%s:,;.%-]+", "")
	end
	local text = phrase .. (phrase ~= "" and rest ~= "" and ": " or "") .. rest
	return (status .. " " .. text):gsub("%s+$", ""), text
end

return M
