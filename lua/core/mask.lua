-- mask: secrets as marks. Values that are known (a workflow's secrets, arguments declared secret) become *** in what this
-- process writes itself: files, databases, traces. In frames and in what goes to stderr the supervisor replaces them; both find
-- them by src/common/mask.h. Tokens and keys that are found by their form (JSON Web Tokens, keys with the well-known beginnings,
-- private keys in PEM), and what a field declared `high_entropy` holds, become short marks; digests and other base64 stay: they
-- are no secrets (docs/compliance.md). Loaded if there are any.

local encoding = require "runner.core.encoding"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

-- --- values that are known -------------------------------------------------------------------

local MASK = "***"

-- A copy, with what `of` makes of strings, numbers and keys; a table that holds itself comes out holding its copy. theirs: it is none of
-- runner's own, whose codes stay.
local function copied(v, of, seen, theirs)
	local kind = type(v)
	if of[kind] then
		return of[kind](v)
	elseif kind ~= "table" or seen[v] or of.stays and of.stays(v) then
		return seen[v] or v
	end
	local out = {}
	seen[v] = out
	for key, item in next, v do
		local is_ours = not theirs and key == "code" and type(item) == "string" and host.registry_code(item) -- of an error
		out[type(key) == "string" and of.key(key) or key] = is_ours and item or copied(item, of, seen, theirs)
	end
	return setmetatable(out, getmetatable(v))
end

---@class runner.Hide texts that were cut out of a longer one: a secret may lie across the cut
---@field before fun(text: string): string what stood before the cut, without a secret's beginning
---@field after fun(text: string): string what stood after it, without a secret's end
---@field stream fun(): fun(piece: string?): string masks a long text piece by piece; nil ends it

---@param values string[]
---@param number? fun(v: number): any what becomes of a number; nil: a `code` is an error's, unless the call says otherwise
---@return fun(v: any, theirs: boolean?): any mask, runner.Hide hide
function M.masker(values, number)
	local masker = host.masker(values)
	local of = {
		number = number,
		string = function(s) return masker:text(s) end,
		key = function(s) return masker:text(s, true) end,
	}
	local function before(s)
		local n = masker:begun(s)
		return n > 0 and s:sub(1, -n - 1) .. MASK or s
	end
	local function after(s)
		local n = masker:ended(s)
		return n > 0 and MASK .. s:sub(n + 1) or s
	end
	return function(v, theirs) return values[1] and copied(v, of, {}, theirs or number ~= nil) or v end,
		{ before = before, after = after, stream = function() return masker:stream() end }
end

---Masks numbers, too: a secret may be one.
---@param values string[]
---@return fun(v: any): any
function M.of_values(values)
	local secret = {}
	for _, value in ipairs(values) do
		secret[value] = MASK
	end
	return (M.masker(values, function(v) return secret[tostring(v)] or v end))
end

---From here on nothing leaves the run with one of these values in it. Returns the function that masks a copy of what
---doesn't go by the supervisor.
---@param values string[] secrets
---@return fun(v: any): any mask
function M.guard(values)
	host.hide(values)
	return M.of_values(values)
end

-- --- tokens and keys -------------------------------------------------------------------------

local SHOWN = 8 -- characters of a key
local LONG = 24 -- bytes: a shorter key shows none of them

local function part(text)
	local value = json.decode(encoding.from_base64(text) or "")
	return type(value) == "table" and value or nil
end

local TIME_MAX = 253402300799 -- the end of the year 9999

local function time_of(exp)
	local seconds = math.tointeger(exp)
	return seconds and seconds >= 0 and seconds <= TIME_MAX and os.date("!%Y-%m-%dT%H:%M:%SZ", seconds) or "?"
end

-- Three parts, of which the first is the JSON that says how the third was made.
local function web_token(head, body)
	local header, claims = part(head), part(body)
	if not (header and header.alg) then
		return nil
	end
	local subject = claims and (type(claims.sub) == "string" or math.type(claims.sub)) and tostring(claims.sub) or "?"
	return ("[JWT: sub=%s, exp=%s]"):format(subject, time_of(claims and claims.exp))
end

local function key(text)
	return #text >= LONG and ("[KEY: %s...]"):format(text:sub(1, SHOWN)) or "[KEY]"
end

local KEYS = {
	"%f[%w]sk%-[%w_-]+", "%f[%w]gh[opsur]_%w+", "%f[%w]github_pat_[%w_]+", "%f[%w]AKIA[%u%d]+", "%f[%w]AIza[%w_-]+",
	"%f[%w]xox[abeoprs]%-[%w-]+", "%f[%w]glpat%-[%w_-]+",
}
local KEY_LEAST = 20 -- bytes: sk-learn is none

local function token_masked(text)
	text = text:gsub("%f[%w_-](eyJ[%w_-]+)%.([%w_-]+)%.[%w_-]*", web_token)
	for _, pattern in ipairs(KEYS) do
		text = text:gsub(pattern, function(found) return #found >= KEY_LEAST and key(found) or nil end)
	end
	return (text:gsub("%-%-%-%-%-BEGIN [%u ]*PRIVATE KEY%-%-%-%-%-.-%-%-%-%-%-END [%u ]*PRIVATE KEY%-%-%-%-%-", "[KEY: PRIVATE KEY]"))
end

local TOKENS = {
	string = token_masked,
	key = token_masked,
	stays = function(t) return t.type == "binary" and t.encoding == "base64" end, -- F-017's wrapper: its bytes are no text
}

---A copy with every token and key masked.
---@param data any without cycles
---@return any
function M.tokens(data)
	return copied(data, TOKENS, {})
end

---What stands for the text of a field that is declared to hold a secret.
---@param text string
---@return string
function M.token_mark(text)
	local token = token_masked(text)
	if token ~= text then
		return token
	elseif #text >= 40 and text:find "^[%w+/]+=?=?$" then
		return ("[BASE64: %d bytes]"):format(#text:gsub("=", "") * 3 // 4)
	end
	return key(text)
end

return M
