-- lenient_json: JSON as people and models write it: with comments, trailing commas, names and
-- texts without double quotes. It becomes strict JSON, and only that is read. What can't be
-- read gets a proposal: the strict text that was probably meant. Loaded on first use.

local json = require "runner.json"
local json_text = require "runner.core.json_text"

local M = {}

local LARGEST = 1 << 20 -- bytes of a text that is looked at twice
local PROPOSAL_MAX = 4096 -- bytes of what an error repeats
local DEPTH_MAX = 100 -- a result that holds the value must not become too deep for the envelope

-- --- tokens -------------------------------------------------------------------------------

local WORDS = { ["true"] = "true", ["false"] = "false", null = "null" }
local MEANT = { True = "true", False = "false", None = "null", undefined = "null" }

-- Of the form of a number; one that is too large is no text that lacks its quotes.
local function is_number(word)
	return word:find "^%-?%d+%.?%d*$" or word:find "^%-?%d+%.?%d*[eE][+-]?%d+$"
end

-- A text in single quotes, with the quotes that JSON knows.
local function requote(text)
	text = text:sub(2, -2):gsub("\\'", "'"):gsub('\\?"', '\\"')
	return '"' .. text .. '"'
end

-- What stands at `at`: its kind, its text, and where the next one begins. Nil at the end, and
-- for what is no JSON of any kind.
local function token(source, at)
	while true do
		local next_at = source:match("^%s+()", at) or source:match("^//[^\n]*()", at) or source:match("^/%*.-%*/()", at)
		if not next_at then
			break
		end
		at = next_at
	end
	local char = source:sub(at, at)
	if char == '"' or char == "'" then
		local stop = json_text.end_of_string(source, at)
		local text = stop and source:sub(at, stop)
		return stop and "text", stop and (char == "'" and requote(text) or text), stop and stop + 1
	elseif char:find "[%[%]{}:,]" then
		return char, char, at + 1
	end
	local word, stop = source:match("^([%w_$+.\128-\255-]+)()", at)
	return word and "word", word, stop, at > #source
end

-- --- rewriting ----------------------------------------------------------------------------

local CLOSES = { ["{"] = "}", ["["] = "]" }

-- A rewriting in progress: what is written, the open containers, and what may come next:
-- "value", "key", "colon" or "after" (a value).
local function new_writer()
	return { out = {}, open = {}, wants = "value", guessed = false }
end

local function put(w, text)
	w.out[#w.out + 1] = text
end

local function top(w)
	return w.open[#w.open]
end

local function after_value(w)
	w.wants = "after"
end

-- A comma in front of `}` or `]` is dropped.
local function close(w, kind)
	local opened = table.remove(w.open)
	if not opened or CLOSES[opened] ~= kind then
		return false
	elseif w.out[#w.out] == "," then
		w.out[#w.out] = nil
	elseif w.wants == "colon" or w.wants == "value" and opened == "{" then
		put(w, w.wants == "colon" and ":null" or "null")
		w.guessed = true
	end
	put(w, kind)
	after_value(w)
	return true
end

-- A comma or a colon that was left out.
local function supply(w)
	if w.wants == "colon" then
		put(w, ":")
		w.wants = "value"
	elseif w.wants == "after" and top(w) then
		put(w, ",")
		w.wants = top(w) == "{" and "key" or "value"
	else
		return false
	end
	w.guessed = true
	return true
end

local function value_word(w, word)
	if WORDS[word] or is_number(word) then
		return word
	end
	w.guessed = true
	return MEANT[word] or json.encode(word)
end

local function key_word(w, word)
	w.guessed = w.guessed or not word:find "^[%a_$][%w_$]*$"
	return json.encode(word)
end

local function put_value(w, kind, text)
	if CLOSES[kind] then
		put(w, kind)
		w.open[#w.open + 1] = kind
		w.wants = kind == "{" and "key" or "value"
	else
		put(w, kind == "word" and value_word(w, text) or text)
		after_value(w)
	end
end

local function put_key(w, kind, text)
	if kind ~= "word" and kind ~= "text" then
		return false
	end
	put(w, kind == "word" and key_word(w, text) or text)
	w.wants = "colon"
	return true
end

local function punctuation(w, kind)
	if kind == "," and w.wants == "after" and top(w) then
		put(w, ",")
		w.wants = top(w) == "{" and "key" or "value"
		return true
	elseif kind == ":" and w.wants == "colon" then
		put(w, ":")
		w.wants = "value"
		return true
	end
	return false
end

local function take(w, kind, text)
	if kind == "}" or kind == "]" then
		return close(w, kind)
	elseif kind == "," or kind == ":" then
		return punctuation(w, kind)
	elseif w.wants ~= "key" and w.wants ~= "value" and not supply(w) then
		return false
	elseif w.wants == "key" then
		return put_key(w, kind, text)
	end
	put_value(w, kind, text)
	return true
end

-- The strict text, and whether it is a guess; nil: not even that.
local function rewrite(source)
	local w, at = new_writer(), 1
	while true do
		local kind, text, next_at, ended = token(source, at)
		if not kind then
			if not ended then
				return nil
			end
			break
		elseif not take(w, kind, text) then
			return nil
		end
		at = next_at
	end
	w.guessed = w.guessed or top(w) ~= nil
	while top(w) do
		if not close(w, CLOSES[top(w)]) then
			return nil
		end
	end
	return table.concat(w.out), w.guessed
end

-- --- reading ------------------------------------------------------------------------------

local function is_deeper(value, left)
	if type(value) ~= "table" then
		return false
	elseif left == 0 then
		return true
	end
	for _, item in next, value do
		if is_deeper(item, left - 1) then
			return true
		end
	end
	return false
end

local STRICT = { unique = true, memory = 64 << 20 }

local function read(text)
	local value, why = json.decode(text, STRICT)
	if why == nil and is_deeper(value, DEPTH_MAX) then
		return nil, ("nested too deeply (more than %d levels)"):format(DEPTH_MAX)
	elseif why and not utf8.len(why) then
		why = why:gsub("[\128-\255]", "?") -- the parser quotes bytes, perhaps a part of a character
	end
	return value, why
end

-- What a text that is no strict JSON means, if it is lenient JSON; else a proposal.
local function read_lenient(text)
	local strict, guessed = rewrite(text)
	if not strict then
		return nil, "no JSON"
	end
	local value, why = read(strict)
	if why == nil and guessed then
		return nil, nil, #strict <= PROPOSAL_MAX and strict or nil
	end
	return value, why
end

---Read a text: strict JSON, or JSON with comments (`//`, `/* */`), trailing commas, keys
---without quotes and texts in single quotes. No object has a key twice; integers keep 64 bits;
---at most 100 levels.
---@param text string
---@return any value json.null for null; nil: invalid
---@return string? message what is wrong with it as strict JSON, "line 1 column 5: …"
---@return string? proposal strict JSON that was probably meant
function M.decode(text)
	local value, why = read(text)
	if why == nil or #text > LARGEST or not utf8.len(text) or why:find("nested too deeply", 1, true) then
		return value, why
	end
	local meant, fault, proposal = read_lenient(text)
	if meant ~= nil then
		return meant
	end
	return nil, fault and fault:find "duplicate" and fault or why, proposal
end

return M
