-- lua_mistakes: common mistakes in a file that is no Lua, or returns nothing: which it is, where, and what to write. It says only
-- what is sure: with the mistake mended the file is Lua, or Lua's next complaint is of a later line. Else Lua's own words are
-- the better ones. Loaded for a file that is wrong.

local M = {}

local MOST = 65536 -- bytes of a text that is read, several times
local TRIES = 8 -- places of a line that are mended, and read again

local function line_at(text, at)
	return 1 + select(2, text:sub(1, at - 1):gsub("\n", ""))
end

-- The line that has a byte, without the blanks around it, up to a byte of it.
local function shown(text, at, last)
	local from = at - (text:sub(1, at - 1):reverse():find("\n", 1, true) or at) + 1
	return (text:sub(from, last or (text:find("\n", at, true) or #text + 1) - 1):gsub("^%s+", ""):gsub("%s+$", ""))
end

-- --- tokens ------------------------------------------------------------------------------------

-- Where a comment or a quoted text ends that begins here; nil: none does.
local function quoted_end(text, at)
	local begin = text:match("^%-%-()", at)
	local level = text:match("^%[(=*)%[", begin or at)
	if level then
		return select(2, text:find("]" .. level .. "]", at, true)) or #text
	elseif begin then
		return (text:find("\n", at, true) or #text + 1) - 1
	end
	local quote = text:match("^[\"']", at)
	local stop = quote and at + 1
	while stop and stop <= #text and text:sub(stop, stop) ~= quote and text:sub(stop, stop) ~= "\n" do
		stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
	end
	return stop
end

local function tokens_of(text)
	local out, at, line, from, start = {}, 1, 1, 1, 1 -- start: of the line
	while true do
		at = text:match("^%s*()", at)
		if at > #text then
			return out
		end
		local stop = quoted_end(text, at) or text:match("^[%w_]+()", at) and text:match("^[%w_]+()", at) - 1
			or text:match("^[=~<>]=()", at) and at + 1 or at
		for place in text:sub(from, at - 1):gmatch "\n()" do
			line, start = line + 1, from + place - 1
		end
		from = at
		if not text:find("^%-%-", at) then
			out[#out + 1] = { text = text:sub(at, stop), first = at, last = stop, line = line, leads = not out[1] or out[#out].line_end ~= line }
			out[#out].line_end = line + select(2, text:sub(at, stop):gsub("\n", ""))
			out[#out].indent = at - start
		end
		at = math.min(stop, #text) + 1 -- a text may have no end
	end
end

-- --- is it sure? -------------------------------------------------------------------------------

-- Is a text Lua, or wrong at a later line than this?
local function is_mended(text, line)
	local chunk, message = load(text, "=x", "t", {})
	local later = message and tonumber(message:match "^x:(%d+):")
	return chunk ~= nil or later ~= nil and later > line and not message:find "near <eof>", chunk ~= nil
end

local function with(text, at, word)
	return text:sub(1, at - 1) .. word .. text:sub(at)
end

-- --- mistakes: each gives its line, what it is, and what to write; nil: it is another ---------------

local function missing_return(text, tokens, line, near)
	for _, token in ipairs(near == "{" and tokens or {}) do
		if token.line == line and token.text == "{" and load(text:sub(1, token.first - 1), "=x", "t", {})
			and is_mended(with(text, token.first, "return "), line) then
			return line, "return is missing in front of the {", "Write return " .. shown(text, token.first):match "{.*"
		end
	end
end

local VALUES = { ["}"] = true, [")"] = true, ["true"] = true, ["false"] = true, ["nil"] = true, ["end"] = true }

-- Does a value end in front of this token, and another one, or NAME =, begin with it? A name in a text's middle is none of ours.
local function is_between(tokens, i)
	local before, token, after = tokens[i - 1], tokens[i], tokens[i + 1] or tokens[i]
	if not before or before.text:find "^[\"']" and before.last + 1 == token.first then
		return false
	end
	local ends = VALUES[before.text] or before.text:find "^[\"'%d]" or before.text:find "^%[=*%["
		or before.text:find "^[%a_]" and i > 2 and tokens[i - 2].text == "=" and before.line_end < token.line
	return ends and (token.text:find "^[\"'%d{%[]" or VALUES[token.text] or after.text == "=")
end

local function missing_comma(text, tokens, line, near)
	local tries = 0
	for i, token in ipairs(tokens) do
		local before = tokens[i - 1]
		tries = tries + (token.line == line and token.text == near and 1 or 0)
		if token.line == line and token.text == near and tries <= TRIES and is_between(tokens, i)
			and is_mended(with(text, before.last + 1, ","), line)
			and not select(2, is_mended(with(text, before.last + 1, "},"), line)) then
			local at_end = before.line_end < line
			return before.line_end, at_end and "a comma is missing at the end of the line" or ("a comma is missing behind %s"):format(before.text),
				at_end and ("Write %s,"):format(shown(text, before.last, before.last)) or ("Write %s, %s"):format(before.text, token.text)
		end
	end
end

local INSTEAD = { let = "local", const = "local", var = "local", ["#"] = "--", ["/"] = "--" }

-- `let`, and what begins a comment elsewhere.
local function of_elsewhere(text, tokens, line)
	for i, token in ipairs(tokens) do
		local ours, before = token.line == line and INSTEAD[token.text], tokens[i - 1]
		local last = token.text == "/" and text:match("^//()", token.first) or token.last + 1
		local begins = token.leads and (token.first > 1 or token.text ~= "#") or before and before.text:find "^[,;{}]$"
		if ours and begins and (token.text ~= "/" or last > token.first + 1) then
			local mended = text:sub(1, token.first - 1) .. ours .. text:sub(last)
			if is_mended(mended, line) then
				return line, ("Lua has no %s"):format(text:sub(token.first, last - 1)), ("Write %s: %s"):format(ours, shown(mended, token.first))
			end
		end
	end
end

-- What other languages write, and Lua.
local FOREIGN = { { "!", "=", "~=", "!=" }, { "&", "&", "and", "&&" }, { "|", "|", "or", "||" }, { ":", nil, " =" }, { "=", nil, "==" } }

-- Is it the token at which Lua has stopped, or the : in front of that, which begins a call?
local function is_stop(tokens, i, near, message)
	local back = message:find("<name> expected", 1, true) and 1 or message:find("function arguments expected", 1, true) and 2 or 0
	return tokens[i].text == near or tokens[i].text == ":" and back > 0 and tokens[i + back] ~= nil and tokens[i + back].text == near
end

local function foreign(text, tokens, line, near, message)
	for i, token in ipairs(tokens) do
		for _, row in ipairs(token.line == line and is_stop(tokens, i, near, message) and FOREIGN or {}) do
			local after = tokens[i + 1] or token
			local last = row[2] and after.text == row[2] and after.last or token.last
			local is_it = row[1] == token.text and (row[2] == nil or after.text == row[2] and after.first == token.last + 1)
				and (token.text ~= "=" or message:find("'then' expected", 1, true) or message:find("'do' expected", 1, true))
			local mended = text:sub(1, token.first - 1) .. row[3] .. text:sub(last + 1)
			if is_it and is_mended(mended, line) then
				return line, ("Lua has no %s here"):format(row[4] or token.text),
					("Write %s: %s"):format(row[3]:match "%S+", shown(mended, token.first))
			end
		end
	end
end

local OPENS = { ["function"] = "end", ["if"] = "end", ["do"] = "end", ["repeat"] = "until", ["{"] = "}", ["("] = ")", ["["] = "]" }
local CLOSES = { ["end"] = true, ["until"] = true, ["}"] = true, [")"] = true, ["]"] = true }

-- The opening word that has no end, and the token in front of which that is missing: where the next one that closes stands further
-- left than it, below one that opened there; or what closes something else.
local function without_end(tokens, eof)
	local open, loop = {}, nil
	for _, token in ipairs(tokens) do
		local top, word = open[#open], token.text
		if CLOSES[word] then
			local is_left = word == "end" and top and token.leads and token.indent < top.indent
			for i = is_left and #open - 1 or 0, 1, -1 do
				if open[i].indent == token.indent and OPENS[open[i].word] == "end" and open[#open].word ~= "{" then
					return top, token
				end
			end
			if not top or OPENS[top.word] ~= word then
				return top and OPENS[top.word] == "end" and top or nil, token
			end
			open[#open] = nil
		elseif word == "for" or word == "while" then
			loop = { name = word, line = token.line }
		elseif OPENS[word] then
			local of_loop = word == "do" and loop or {}
			open[#open + 1] = { word = word, name = of_loop.name or word, line = of_loop.line or token.line, indent = token.indent_of_line }
			loop = word ~= "do" and loop or nil
		end
	end
	local top = open[#open]
	return top and OPENS[top.word] == "end" and top or nil, eof
end

-- The word, and the token in front of which Lua misses its end.
local function end_by_lua(tokens, line, near, message)
	local name, at = message:match "'end' expected %(to close '(%a+)' at line (%d+)%)"
	for _, token in ipairs(name and tokens or {}) do
		if token.line == line and token.text == near then
			return { name = name, line = math.tointeger(tonumber(at)) }, token
		end
	end
end

local function missing_end(text, tokens, line, near, message)
	local indent = 0
	for _, token in ipairs(tokens) do
		indent = token.leads and token.indent or indent
		token.indent_of_line = indent
	end
	local eof = { first = #text + 1, leads = true, text = "the end of the file", line = line_at(text, #text) }
	local open, at = end_by_lua(tokens, line, near, message)
	if not open or not load(with(text, at.first, "\nend "), "=x", "t", {}) then
		open, at = without_end(tokens, eof)
	end
	if open and load(with(text, at.first, "\nend "), "=x", "t", {}) then
		return open.line, ("the %s of this line has no end"):format(open.name),
			at == eof and "Write end as the last line" or at.leads and ("Write end in a line of its own, above line %d"):format(at.line)
			or ("Write end in front of %s"):format(at.text)
	end
end

-- --- texts that end too early ----------------------------------------------------------------------

-- The ]] that ends a text between [[ and ]] in the middle of it, at what its script has, as in `[[ -f x ]]`.
local function early_end(text)
	local code = require("runner.declare.lint").code_of(text)
	for at in text:gmatch "()%]%]" do
		local rest = code:match("^  %s*(.*)", at)
		if rest and rest:find "^;?%s*[^%s,;})%].]" and not rest:find "^[,;]?%s*%[?[%w_]*%s*%]?%s*=" and not rest:find "^return%f[%W]" then
			return at
		end
	end
end

local function inner_brackets(text, tokens)
	local at = early_end(text)
	for _, token in ipairs(at and tokens or {}) do
		if token.last == at + 1 then
			return line_at(text, at), ("the text that begins with [[ in line %d ends at this ]], in the middle of it"):format(token.line),
				("Write [ … ] for a test, since sh has no [[ … ]]; to keep ]] in a text, begin it with [=[ in line %d and end it with ]=]")
					:format(token.line)
		end
	end
end

---What is wrong with a text that is no Lua.
---@param text string
---@param message string of `load`
---@return integer? line nil: that isn't sure
---@return string? what
---@return string? fix
function M.find(text, message)
	local line, near = tonumber(message:match ":(%d+):"), message:match "near '([^']*)'[^\n]*" or message:match "near (<%a+>)"
	if #text > MOST then
		return nil
	end
	local tokens = tokens_of(text)
	for _, reader in ipairs { inner_brackets, missing_return, of_elsewhere, missing_comma, foreign, missing_end } do
		local at, what, fix = reader(text, tokens, line, near, message)
		if at then
			return at, what, fix
		end
	end
end

local TELLS = { run = true, tasks = true, description = true, shell = true }

---The local table that a file has made, and not returned; nil: it can't be told which.
---@param text string
---@return string? name
---@return integer? line the last one
function M.not_returned(text)
	local tokens, depth, names, own = #text <= MOST and tokens_of(text) or {}, 0, {}, nil
	for i, token in ipairs(tokens) do
		if depth == 0 and token.text == "local" and #tokens > i + 2 and tokens[i + 2].text == "=" and tokens[i + 3].text == "{" then
			own = tokens[i + 1].text
			names[#names + 1] = own
		elseif own and TELLS[token.text] and tokens[i + 1] and tokens[i + 1].text == "=" then
			names = { own }
			break
		end
		depth = depth + (OPENS[token.text] and 1 or CLOSES[token.text] and -1 or 0)
	end
	if #names == 1 and load(text .. "\nreturn " .. names[1], "=x", "t", {}) then
		return names[1], tokens[#tokens].line_end
	end
end

return M
