-- find: which run a text means: its ID, @last, the name of its workflow, the beginning or the
-- end of the ID (lua/core/reference.lua). The functions of M.queries are methods of the store.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local reference = require "runner.core.reference"

local M = { queries = {} }

local SHOWN_IDS = 5
local SUGGEST_FROM = 4 -- characters: a shorter id resembles too many

---Raise that the run is unknown.
---@param id string
---@param near? string the one probably meant
function M.raise_unknown(id, near)
	errors.raise("NOT_FOUND", id == reference.LAST and "There is no run yet" or ("No run '%s'"):format(id),
		{ suggestion = near and ("Did you mean '%s'?"):format(near) or "runner workflow list", context = { run = id } })
end

-- --- the one that is meant -------------------------------------------------------------------

local EXACT = "SELECT id FROM runs WHERE id = ?"
local LAST = "SELECT id FROM runs ORDER BY created_ms DESC, rowid DESC LIMIT 1"
local OF_WORKFLOW = "SELECT id FROM runs WHERE workflow = ? ORDER BY created_ms DESC, rowid DESC LIMIT 1"
-- reference.matches: ?1 is the text, ?2 whether it may be an end
local MATCHING = [[
	SELECT id, workflow, state FROM runs
	WHERE substr(id, 1, length(?1)) = ?1 COLLATE NOCASE
		OR substr(id, instr(id, '_') + 1, length(?1)) = ?1 COLLATE NOCASE
		OR ?2 AND substr(id, -length(?1)) = ?1 COLLATE NOCASE
	ORDER BY id LIMIT ?3]]

-- The one that the text names, and needs no search: an ID, @last, a workflow.
local function named(database, text)
	return database:row(EXACT, text) or text == reference.LAST and database:row(LAST) or database:row(OF_WORKFLOW, text)
end

local function raise_ambiguous(text, found)
	local ids, shown = {}, {}
	for i, row in ipairs(found) do
		ids[i] = i <= SHOWN_IDS and row.id or "…"
		shown[i] = i <= SHOWN_IDS and ("%s (%s, %s)"):format(row.id, row.workflow, row.state) or "…"
	end
	errors.raise("CONFLICT", ("Ambiguous ID '%s': several runs match: %s"):format(text, table.concat(shown, ", ")),
		{ suggestion = "Give more of the ID, or its end; 'runner workflow list' shows them", context = { prefix = text, runs = ids } })
end

local RECENT = "SELECT id, workflow FROM runs ORDER BY id DESC LIMIT 200"

-- Of the newest runs, the one whose prefix is nearest, or a workflow; run_ may be missing.
local function nearest(database, id)
	local wanted, names, meant = id:lower():gsub("^run_", ""), {}, {}
	for _, row in ipairs(#wanted >= SUGGEST_FROM and database:rows(RECENT) or {}) do
		local prefix = row.id:lower():gsub("^run_", ""):sub(1, #wanted)
		for name, target in pairs { [prefix] = row.id, [row.workflow] = row.workflow } do
			names[#names + 1] = not meant[name] and name or nil
			meant[name] = meant[name] or target
		end
	end
	table.sort(names)
	return meant[require("runner.core.suggest").nearest(wanted, names, 1)[1]]
end

---The ID of the run that a text means: an ID, @last, the name of a workflow for its newest run,
---the beginning or the end of an ID that no other run has. Raises NOT_FOUND or CONFLICT.
---@param text string
---@return string id
function M.queries:resolve(text)
	local database = self:_open()
	local row = text ~= "" and named(database, text)
	if row then
		return row.id
	end
	local found = text ~= "" and database:rows(MATCHING, text, #text >= reference.LEAST_END, SHOWN_IDS + 1) or {}
	if #found == 0 then
		M.raise_unknown(text, nearest(database, text))
	elseif #found > 1 then
		raise_ambiguous(text, found)
	end
	return found[1].id
end

local SHORTEST, LONGEST = 6, 12 -- characters
local SHARED = "SELECT upper(substr(id, ?1)) AS tail FROM runs GROUP BY tail HAVING count(*) > 1"

---The shortest end of each ID, of 6 characters or more, that no other run's has: `resolve` takes it.
---@param ids string[]
---@return table<string, string> by ID
function M.queries:short_ids(ids)
	local out, left = {}, ids
	for n = SHORTEST, LONGEST do
		local shared, longer = {}, {}
		for _, row in ipairs(left[1] and self:_open():rows(SHARED, -n) or {}) do
			shared[row.tail] = true
		end
		for _, id in ipairs(left) do
			out[id] = id:sub(-n)
			longer[#longer + 1] = shared[out[id]:upper()] and id or nil
		end
		left = longer
	end
	for _, id in ipairs(left) do
		out[id] = id
	end
	return out
end

local RUN = [[
	SELECT runs.*, sources.source FROM runs LEFT JOIN sources ON sources.id = runs.source_id WHERE runs.id = ?]]

---The run that a text means, as resolve has it.
---@param text string
---@return table run
function M.queries:find(text)
	local run = codec.decode(self:_open():row(RUN, self:resolve(text)))
	run.source_id = nil
	return run
end

return M
