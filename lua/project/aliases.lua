-- aliases: other names for commands, with the words that they stand for (`aliases` in runner.lua): their
-- form, and what becomes of a call by one. Those that there are, lua/project/alias_names.lua finds.

local mapped = require "runner.core.mapped"
local rules = require "runner.core.rules"

local M = {}

-- Whoever calls confirms, and sees what: a shorter name doesn't.
local CONFIRM = { ["--confirm-destructive"] = true, ["--live"] = true, ["--yes"] = true, ["-y"] = true }

local function confirms(words)
	for _, word in ipairs(words) do
		if CONFIRM[word:match "^[^=]*"] then
			return true
		end
	end
	return false
end

-- "deploy --target prod", or a list of words
local function words_of(v)
	local words = {}
	for word in (type(v) == "string" and v or ""):gmatch "%S+" do
		words[#words + 1] = word
	end
	words = type(v) == "table" and rules.list(v, 1, 100, rules.text) or words
	return words[1] and words[1]:sub(1, 1) ~= "-" and not confirms(words) and words or nil
end

---The normal form of `aliases`: lists of words by name; nil: something in it is wrong.
---@param v any
---@return table<string, string[]>?
function M.accept(v)
	return mapped(v, function(name, words)
		return type(name) == "string" and rules.is_command_word(name) and words_of(words) or nil
	end)
end

---As a caller would type it.
---@param words string[]
---@return string
function M.typed(words)
	local out = {}
	for i, word in ipairs(words) do
		out[i] = word:find "[^%w_./:=@%%+,-]" and "'" .. word:gsub("'", "'\\''") .. "'" or word
	end
	return table.concat(out, " ")
end

---Put the words of an alias in its place in argv, so that all is as if they had been typed.
---@param a runner.Attempt
---@param words string[]
function M.replace(a, words)
	local word, argv = a.words[1], a.launch.argv
	local longer = table.move(argv, 1, word.index - 1, 1, {})
	table.move(words, 1, #words, #longer + 1, longer)
	table.move(argv, word.index + 1, #argv, #longer + 1, longer)
	a.launch.argv, a.tokens = longer, longer
	a.handed = a.handed and a.handed + #words - 1
	a.words = require("runner.project.args").command_words(longer)
	a.names = {}
	for i, w in ipairs(a.words) do
		a.names[i] = w.word
	end
end

return M
