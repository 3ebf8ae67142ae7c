-- search: texts that fit a question, the best first: BM25 over the words of several fields, by their stems, with words that
-- are used for one another, and misspelt ones. No word must occur. `help --search` and `search` of `mcp serve --progressive`
-- use it. Pure.

local suggest = require "runner.core.suggest"
local words_of = require "runner.core.search_words"

local M = {}

local FIELDS = { { "name", 4 }, { "keywords", 4 }, { "description", 2 }, { "more", 0.7 } }
local SATURATION, LENGTH = 1.2, 0.3 -- k1 and b of BM25
local SYNONYM, JOINED, MISSPELT, PART = 0.55, 1.0, 0.7, 0.4 -- what a word counts that isn't the one that was asked for
local ENOUGH = 0.5 -- of the best one's score: what has less is not shown

local function each_word(text, visit)
	for word in text:lower():gmatch "[%w\128-\255]+" do
		visit(word)
	end
end

---@class runner.SearchText
---@field name string "db migrate", or "db.migrate"
---@field description? string
---@field keywords? string
---@field more? string what else may be asked for: its arguments, their values, its examples

-- How much of each stem a text has, and its length.
local function weighed(text)
	local found, length = {}, 0
	for _, field in ipairs(FIELDS) do
		local here = {}
		each_word(text[field[1]] or "", function(word)
			local stem = words_of.stem(word)
			if not here[stem] and not words_of.empty[word] then
				here[stem] = true
				found[stem] = (found[stem] or 0) + field[2]
				length = length + 1
			end
		end)
	end
	return found, length
end

local function index_of(texts)
	local index = { texts = {}, holders = {}, average = 0 }
	for i, text in ipairs(texts) do
		local found, length = weighed(text)
		index.texts[i] = { found = found, length = length }
		index.average = index.average + length / #texts
		for stem in next, found do
			index.holders[stem] = (index.holders[stem] or 0) + 1
		end
	end
	return index
end

-- Stems that stand for a word of the question, with what each counts.
local function meant_by(stem, index)
	local out = { [stem] = 1 }
	for other in next, words_of.same[stem] or {} do
		out[other] = SYNONYM
	end
	for one in next, out do
		if index.holders[one] then
			return out
		end
	end
	local all = {} -- no text has any of them: a misspelling, or a part of a word
	for other in next, index.holders do
		all[#all + 1] = other
	end
	table.sort(all)
	for _, near in ipairs(#stem > 3 and suggest.nearest(stem, all, 2) or {}) do
		out[near] = MISSPELT
	end
	for _, other in ipairs(#stem > 2 and all or {}) do
		out[other] = out[other] or other:find(stem, 1, true) and PART or nil
	end
	return out
end

-- The words of a question: each with the stems that it may mean. Two that are one word somewhere ("roll back") count as that.
local function asked_of(question, index)
	local words, asked, before = {}, {}, nil
	each_word(question, function(word)
		local joined = before and words_of.stem(before .. word)
		if joined and (index.holders[joined] or words_of.same[joined]) then
			words[#words + 1] = { stem = joined, weight = JOINED }
		end
		words[#words + 1] = not words_of.empty[word] and { stem = words_of.stem(word), weight = 1 } or nil
		before = word
	end)
	for i, word in ipairs(words) do
		asked[i] = { weight = word.weight, stems = meant_by(word.stem, index) }
	end
	return asked
end

local function rarity(stem, index)
	local holders = index.holders[stem] or 0
	return math.log(1 + (#index.texts - holders + 0.5) / (holders + 0.5))
end

-- The best of the stems that a word may mean.
local function score_of(text, asked, index)
	local sum = 0
	local norm = SATURATION * (1 - LENGTH + LENGTH * text.length / index.average)
	for _, word in ipairs(asked) do
		local best = 0
		for stem, weight in next, word.stems do
			local amount = text.found[stem]
			if amount then
				best = math.max(best, weight * rarity(stem, index) * amount * (SATURATION + 1) / (amount + norm))
			end
		end
		sum = sum + best * word.weight
	end
	return sum
end

---The texts that fit, the best first; among equals their order is kept.
---@param texts runner.SearchText[]
---@param question string
---@return integer[] places of them in `texts`
function M.rank(texts, question)
	local index, found = index_of(texts), {}
	local asked = asked_of(question, index)
	for i, text in ipairs(index.texts) do
		local score = score_of(text, asked, index)
		found[#found + 1] = score > 0 and { place = i, score = score } or nil
	end
	table.sort(found, function(a, b)
		return a.score > b.score or a.score == b.score and a.place < b.place
	end)
	local out = {}
	for i, one in ipairs(found) do
		out[i] = one.score >= ENOUGH * found[1].score and one.place or nil
	end
	return out
end

return M
