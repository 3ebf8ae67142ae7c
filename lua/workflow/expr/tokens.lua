-- tokens: the tokens of a condition (`when:`): strings, numbers, names, operators.
-- Pure; lua/workflow/expr/expression.lua has the grammar.

local json = require "runner.json"
local variables = require "runner.workflow.expr.variables"

local M = {}

local SYMBOLS = { "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")" }
local KEYWORDS = { ["and"] = "and", ["or"] = "or", ["not"] = "not" }
local VALUES = { ["true"] = true, ["false"] = false, null = json.null }
local ESCAPES = { n = "\n", t = "\t", r = "\r", ["\\"] = "\\", ['"'] = '"', ["'"] = "'" }

local function unescape(body)
	return (body:gsub("\\(.)", function(c)
		return ESCAPES[c] or "\\" .. c
	end))
end

-- The end of the quoted string that starts at `at`; nil when there is none.
local function quote_end(text, at)
	local quote, i = text:sub(at, at), at + 1
	while i <= #text do
		local c = text:sub(i, i)
		if c == quote then
			return i
		end
		i = i + (c == "\\" and 2 or 1)
	end
end

-- Each reads a word at `at`: token, next position | nil (not mine) | nil, message.
local function read_quoted(text, at)
	if not text:find("^[\"']", at) then
		return nil
	end
	local stop = quote_end(text, at)
	if not stop then
		return nil, "this quote is never closed"
	end
	local template, message = variables.parse(unescape(text:sub(at + 1, stop - 1)))
	if not template then
		return nil, message
	end
	return { kind = "text", template = template }, stop + 1
end

local function read_variable(text, at)
	if not text:find("^%$", at) then
		return nil
	end
	local path = text:match("^%${([^}]*)}", at)
	if not path or not variables.is_path(path) then
		return nil, "write a variable as ${name}"
	end
	return { kind = "path", path = path }, at + #path + 3
end

local function read_number(text, at)
	local word = text:match("^[+-]?%.?%d[%w_.]*", at)
	if not word then
		return nil
	end
	local n = word:find("^[+-]?%d*%.?%d+$") and tonumber(word) or word:find("^[+-]?%d+%.?%d*[eE]%d+$") and tonumber(word)
	if not n then
		return nil, ("'%s' is not a number; quote strings"):format(word)
	end
	return { kind = "value", value = n, source = word }, at + #word
end

local function read_word(text, at)
	local word = text:match("^[%a_][%w_.-]*", at)
	if not word then
		return nil
	elseif KEYWORDS[word] then
		return { kind = "symbol", symbol = word }, at + #word
	elseif VALUES[word] ~= nil then
		return { kind = "value", value = VALUES[word] }, at + #word
	elseif not variables.is_path(word) then
		return nil, ("'%s' is not a variable; quote strings"):format(word)
	end
	return { kind = "path", path = word, bare = true }, at + #word
end

local function read_symbol(text, at)
	for _, symbol in ipairs(SYMBOLS) do
		if text:sub(at, at + #symbol - 1) == symbol then
			return { kind = "symbol", symbol = symbol }, at + #symbol
		end
	end
	if text:find("^=", at) then
		return nil, "'=' doesn't compare: write =="
	elseif text:find("^[&|]", at) then
		local c = text:sub(at, at)
		return nil, ("'%s' is not an operator: write %s%s or '%s'"):format(c, c, c, c == "&" and "and" or "or")
	end
end

local READERS = { read_quoted, read_variable, read_number, read_word, read_symbol }

local function next_token(text, at)
	for _, read in ipairs(READERS) do
		local token, rest = read(text, at)
		if token then
			token.offset = at
			return token, rest
		elseif rest then
			return nil, rest
		end
	end
	return nil, ("unexpected '%s'; quote strings"):format(text:match("^[%z\1-\127\194-\244][\128-\191]*", at) or "?")
end

---All tokens of a text, and an "end".
---@param text string
---@return table[]? tokens, string? message, integer? offset
function M.read(text)
	local tokens, at = {}, text:find("%S") or #text + 1
	while at <= #text do
		local token, rest = next_token(text, at)
		if not token then
			return nil, rest, at
		end
		tokens[#tokens + 1] = token
		at = text:find("%S", rest) or #text + 1
	end
	tokens[#tokens + 1] = { kind = "end", offset = #text + 1 }
	return tokens
end

return M
