-- bulk_words: thousands of plain texts for one array, as a shell's glob gives them, or of integers. Loaded for a call with
-- that many words; does what lua/project/args.lua does for each, in one loop (src/worker/words.c).

local attempt = require "runner.core.attempt"
local host = require "runner.host"

-- What the loop may take as items of this row: those that have no rule but their type's.
local function kind_of(row)
	local moves = row and row.items == "path" and attempt.place.stands
	if not row or row.type ~= "array" or row.values or row.rare or row.pipe_compatible or moves then
		return nil
	end
	local kind = row.items
	return (kind == "string" or kind == "path" or kind == "integer" and not (row.min or row.max)) and kind
end

---Take the tokens from i on that are positionals of an array of texts or integers, with no option and nothing to say
---against them; where token i is none, leave it to `one`.
---@param s table the state of a parse (lua/project/args.lua)
---@param tokens string[]
---@param i integer
---@param options boolean may a token be an option?
---@param one fun(s: table, tokens: string[], i: integer): integer
---@return integer last the index of the last one that was taken
return function(s, tokens, i, options, one)
	local row = s.slots[s.slot]
	local kind = kind_of(row)
	if not kind then
		return one(s, tokens, i)
	end
	local name = row.name
	local rest, items = host.take_words(s.values[name], tokens, i, kind, options)
	if rest == i then
		return one(s, tokens, i)
	end
	s.values[name], s.given[name] = items, s.given[name] or "positional"
	return rest - 1
end
