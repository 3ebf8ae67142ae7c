-- entropy: values that are tokens or keys by their form, as short marks: JSON Web Tokens, keys
-- with the well-known beginnings, private keys in PEM, and whatever a field declared
-- `high_entropy` holds. Digests and other base64 stay: they are no secrets (docs/compliance.md).
-- Loaded when a result has the beginning of one.

local base64 = require "runner.core.base64"
local json = require "runner.json"

local M = {}

local SHOWN = 8 -- characters of a key
local LONG = 24 -- bytes: a shorter key shows none of them

-- --- the forms -------------------------------------------------------------------------------

local function part(text)
	local value = json.decode(base64.decode(text) or "")
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

local function masked(text)
	text = text:gsub("%f[%w_-](eyJ[%w_-]+)%.([%w_-]+)%.[%w_-]*", web_token)
	for _, pattern in ipairs(KEYS) do
		text = text:gsub(pattern, function(found)
			return #found >= KEY_LEAST and key(found) or nil
		end)
	end
	return (text:gsub("%-%-%-%-%-BEGIN [%u ]*PRIVATE KEY%-%-%-%-%-.-%-%-%-%-%-END [%u ]*PRIVATE KEY%-%-%-%-%-", "[KEY: PRIVATE KEY]"))
end

-- --- whole values ------------------------------------------------------------------------------

-- F-017's wrapper says what it holds; its bytes are no text.
local function is_binary(t)
	return t.type == "binary" and t.encoding == "base64"
end

local function mask(v, seen)
	if type(v) == "string" then
		return masked(v)
	elseif type(v) ~= "table" or seen[v] or is_binary(v) then
		return seen[v] or v
	end
	local out = {}
	seen[v] = out
	for name, item in next, v do
		out[type(name) == "string" and masked(name) or name] = mask(item, seen)
	end
	return setmetatable(out, getmetatable(v))
end

---A copy with every token and key masked.
---@param data any without cycles
---@return any
function M.mask(data)
	return mask(data, {})
end

---What stands for the text of a field that is declared to hold a secret.
---@param text string
---@return string
function M.mark(text)
	local token = masked(text)
	if token ~= text then
		return token
	elseif #text >= 40 and text:find "^[%w+/]+=?=?$" then
		return ("[BASE64: %d bytes]"):format(#text:gsub("=", "") * 3 // 4)
	end
	return key(text)
end

return M
