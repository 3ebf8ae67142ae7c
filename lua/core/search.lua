-- search: texts that fit a question, the best first: BM25 over the words of several fields, by their stems, with words that
-- are used for one another, and misspelt ones. No word must occur. `help --search` and `search` of `mcp serve --progressive`
-- use it. Pure.

local suggest = require "runner.core.suggest"
local words_of = require "runner.core.search_words"

local M = {}

local FIELDS = { { "name", 3 }, { "keywords", 4 }, { "description", 2 }, { "more", 0.7 } }
local SATURATION, LENGTH = 1.2, 0.3 -- k1 and b of BM25
local JOINED, SAID, MISSPELT, PART = 1.0, 0.9, 0.7, 0.4 -- what a word counts that isn't the one that was asked for
local WEAK, SPOKEN = 0.5, 0.5 -- a word that says little; one of a phrase that has been understood
local MOST_WORDS = 64 -- of a question
local APART = 4 -- words from one of a phrase to the next
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

local function add_meanings(out, stem, weight)
	out[stem] = math.max(out[stem] or 0, weight)
	for other, near in next, words_of.same[stem] or {} do
		out[other] = math.max(out[other] or 0, weight * near)
	end
end

-- Stems that stand for a word of the question, with what each counts: of itself, and of the phrases that it begins.
local function meant_by(stem, said, index)
	local out = {}
	add_meanings(out, stem, 1)
	for means in next, said do
		add_meanings(out, means, SAID)
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

-- Where the words of a phrase stand that begins at a place; nil: they don't.
local function places_of(phrase, stems, i)
	local places = { i }
	for n = 2, #phrase do
		local last = places[n - 1]
		for k = last + 1, math.min(last + APART, #stems) do
			places[n] = places[n] or stems[k] == phrase[n] and k or nil
		end
		if not places[n] then
			return nil
		end
	end
	return places
end

-- What the phrases of a question mean, by the place of their first words, and how much is left of each word that is part of one.
local function phrases_in(stems)
	local said, left = {}, {}
	for i, stem in ipairs(stems) do
		said[i] = {}
		for _, phrase in ipairs(words_of.phrases[stem] or {}) do
			for n, at in ipairs(places_of(phrase.words, stems, i) or {}) do
				said[i][phrase.means] = true
				left[at] = n > 1 and SPOKEN or left[at]
			end
		end
	end
	return said, left
end

local function rarity(stem, index)
	local holders = index.holders[stem] or 0
	return math.log(1 + (#index.texts - holders + 0.5) / (holders + 0.5))
end

-- The words of a question: each with the stems that it may mean. Two that are one word somewhere ("roll back") count as that.
local function asked_of(question, index)
	local words, stems, asked = {}, {}, {}
	each_word(question, function(word)
		if #words < MOST_WORDS then
			words[#words + 1], stems[#stems + 1] = word, words_of.stem(word)
		end
	end)
	local said, left = phrases_in(stems)
	for i, stem in ipairs(stems) do
		local joined = words[i - 1] and words_of.stem(words[i - 1] .. words[i])
		if joined and (index.holders[joined] or words_of.same[joined]) then
			asked[#asked + 1] = { weight = JOINED, stems = meant_by(joined, {}, index), most = math.huge }
		end
		if not words_of.empty[words[i]] or next(said[i]) then
			local weight = next(said[i]) and 1 or words_of.weak[words[i]] and WEAK or 1
			local most = not next(said[i]) and index.holders[stem] and rarity(stem, index) or math.huge -- others count no more than it
			asked[#asked + 1] = { weight = weight * (left[i] or 1), stems = meant_by(stem, said[i], index), most = most }
		end
	end
	return asked
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
				best = math.max(best, weight * math.min(word.most, rarity(stem, index)) * amount * (SATURATION + 1) / (amount + norm))
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
