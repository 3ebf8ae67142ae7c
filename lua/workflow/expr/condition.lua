-- condition: the conditions of `when:`. A small language that only compares:
-- == != < <= > >= && || ! and or not ( ), texts, numbers, true, false, null,
-- ${path} and bare paths. Runs in the worker. It calls nothing and fails only for
-- an unknown variable or for values that have no order.

local errors = require "runner.core.errors"
local json = require "runner.json"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- --- tokens ------------------------------------------------------------------------------

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
local function tokens_of(text)
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

local MAX_DEPTH = 100

---@class runner.workflow.Node
---@field kind "value"|"text"|"path"|"not"|"and"|"or"|"compare"
---@field offset integer

-- --- grammar ------------------------------------------------------------------------
-- or < and < not < comparison < ! < value. A syntax error is raised as a table and
-- caught by parse.

local OR, AND = { ["or"] = true, ["||"] = true }, { ["and"] = true, ["&&"] = true }
local COMPARE = { ["=="] = true, ["!="] = true, ["<"] = true, ["<="] = true, [">"] = true, [">="] = true }

local function fail(token, message)
	error({ message = message, offset = token.offset }, 0)
end

local function peek(state)
	return state.tokens[state.at]
end

local function take(state, set)
	local token = peek(state)
	if token.kind == "symbol" and (set == nil or set[token.symbol]) then
		state.at = state.at + 1
		return token
	end
end

local parse_or

local function shown(token)
	return token.symbol and "'" .. token.symbol .. "'" or "the end"
end

local function parse_group(state, open)
	state.depth = state.depth + 1
	if state.depth > MAX_DEPTH then
		fail(open, ("nested more than %d deep"):format(MAX_DEPTH))
	end
	local node = parse_or(state)
	if not take(state, { [")"] = true }) then
		fail(open, "unclosed '('")
	end
	state.depth = state.depth - 1
	return node
end

local function parse_value(state)
	local token = peek(state)
	if token.kind == "symbol" or token.kind == "end" then
		if not take(state, { ["("] = true }) then
			fail(token, ("missing value before %s"):format(shown(token)))
		end
		return parse_group(state, token)
	end
	state.at = state.at + 1
	return token
end

local function parse_prefixed(state, set, parse)
	local token = take(state, set)
	if not token then
		return parse(state)
	end
	state.depth = state.depth + 1
	if state.depth > MAX_DEPTH then
		fail(token, ("nested more than %d deep"):format(MAX_DEPTH))
	end
	local node = { kind = "not", offset = token.offset, parse_prefixed(state, set, parse) }
	state.depth = state.depth - 1
	return node
end

local function parse_bang(state)
	return parse_prefixed(state, { ["!"] = true }, parse_value)
end

local function parse_comparison(state)
	local left = parse_bang(state)
	local token = take(state, COMPARE)
	if not token then
		return left
	end
	local node = { kind = "compare", operator = token.symbol, offset = token.offset, left, parse_bang(state) }
	local second = take(state, COMPARE)
	if second then
		fail(second, "comparisons can't be chained: join two of them with 'and'")
	end
	return node
end

local function parse_not(state)
	return parse_prefixed(state, { ["not"] = true }, parse_comparison)
end

local function parse_joined(state, kind, set, parse)
	local node = { kind = kind, offset = peek(state).offset, parse(state) }
	while take(state, set) do
		node[#node + 1] = parse(state)
	end
	return node[2] and node or node[1]
end

local function parse_and(state)
	return parse_joined(state, "and", AND, parse_not)
end

function parse_or(state)
	return parse_joined(state, "or", OR, parse_and)
end

local function parse_all(state)
	local node = parse_or(state)
	local rest = peek(state)
	if rest.kind ~= "end" then
		fail(rest, "missing operator, such as == or 'and', before this")
	end
	return node
end

---Read a condition.
---@param text string
---@return runner.workflow.Node? ast, string? message, integer? offset 1-based
function M.parse(text)
	local tokens, message, offset = tokens_of(text)
	if not tokens then
		return nil, message, offset
	end
	local ok, result = pcall(parse_all, { tokens = tokens, at = 1, depth = 0 })
	if ok then
		return result
	elseif type(result) ~= "table" or not result.offset then
		error(result, 0)
	end
	return nil, result.message, result.offset
end

local function collect(node, out)
	if node.kind == "path" then
		out[#out + 1] = { name = node.path, offset = node.offset }
	elseif node.kind == "text" then
		for _, part in ipairs(variables.names(node.template)) do
			out[#out + 1] = { name = part.name, offset = node.offset }
		end
	end
	for _, child in ipairs(node) do
		collect(child, out)
	end
	return out
end

---The variables of a condition, in order of their places.
---@param ast runner.workflow.Node
---@return {name: string, offset: integer}[]
function M.names(ast)
	return collect(ast, {})
end

-- --- meaning -----------------------------------------------------------------------------

-- A missing value is null where absence is meaningful: a skipped step, an environment
-- variable. A misspelt plain name is an error.
local function path_value(node, scope)
	local v, found = variables.lookup(scope, node.path)
	if found then
		return v
	elseif variables.is_of_group(scope, node.path) or scope.choosing and node.path:find "^item%." then
		return json.null
	end
	if node.bare then
		errors.raise("PRECONDITION", ("The variable %s in a condition has no value"):format(node.path),
			{ suggestion = ("Quote it to mean the string '%s', or set the variable: --var %s=VALUE"):format(node.path,
				node.path) })
	end
	return variables.unknown(scope, node.path)
end

---The number that a value is compared as; nil: it isn't one.
---@param v any
---@return number?
local function number_of(v)
	if type(v) == "number" then
		return v
	elseif type(v) ~= "string" then
		return nil
	end
	local word = v:match "^%s*([+-]?[%d.]+[eE]?[+-]?%d*)%s*$"
	return word and tonumber(word)
end

local function is_true(v)
	if v == json.null or v == false or v == "" or v == "false" then
		return false
	elseif type(v) == "table" then
		return next(v) ~= nil
	end
	return number_of(v) ~= 0
end

local function equal(a, b)
	local x, y = number_of(a), number_of(b)
	if x and y then
		return x == y
	elseif a == json.null or b == json.null then
		return a == b
	end
	return variables.text(a) == variables.text(b)
end

M.number = number_of

-- Numbers as numbers, texts by their bytes, nothing else.
local function ordered(a, b)
	local x, y = number_of(a), number_of(b)
	if x and y then
		return x, y
	elseif type(a) == "string" and type(b) == "string" then
		return a, b
	end
	errors.raise("PRECONDITION", ("A condition compares %s with %s, which have no order"):format(variables.text(a),
		variables.text(b)), { suggestion = "Compare two numbers or two strings" })
end

local function less(a, b)
	local x, y = ordered(a, b)
	return x < y
end

local COMPARISONS = {
	["=="] = equal,
	["!="] = function(a, b) return not equal(a, b) end,
	["<"] = less,
	[">"] = function(a, b) return less(b, a) end,
	["<="] = function(a, b) return not less(b, a) end,
	[">="] = function(a, b) return not less(a, b) end,
}

local ORDERS = { ["<"] = true, [">"] = true, ["<="] = true, [">="] = true }

local value_of

local KINDS = {
	value = function(node) return node.value end,
	text = function(node, scope) return variables.expand(node.template, scope) end,
	path = path_value,
	["not"] = function(node, scope) return not is_true(value_of(node[1], scope)) end,
	compare = function(node, scope)
		local a, b = value_of(node[1], scope), value_of(node[2], scope)
		if scope.choosing and ORDERS[node.operator] and (a == json.null or b == json.null) then
			return false
		end
		return COMPARISONS[node.operator](a, b)
	end,
	["and"] = function(node, scope)
		for _, child in ipairs(node) do
			if not is_true(value_of(child, scope)) then
				return false
			end
		end
		return true
	end,
	["or"] = function(node, scope)
		for _, child in ipairs(node) do
			if is_true(value_of(child, scope)) then
				return true
			end
		end
		return false
	end,
}

function value_of(node, scope)
	return KINDS[node.kind](node, scope)
end

---Does the condition hold? False are false, null, 0, "", "false" and empty
---tables. Numbers are compared as numbers where both sides look like numbers.
---@param ast runner.workflow.Node
---@param scope runner.workflow.Scope
---@return boolean
function M.eval(ast, scope)
	return is_true(value_of(ast, scope))
end

return M
