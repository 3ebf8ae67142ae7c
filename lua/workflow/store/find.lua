-- find: which run a text means: its ID, @last, the name of its workflow, the beginning or the
-- end of the ID (lua/core/reference.lua). The functions of M.queries are methods of the store.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"

local M = { queries = {} }

local SHOWN_IDS = 5
local SUGGEST_FROM = 4 -- characters: a shorter id resembles too many

---Raise that the run is unknown.
---@param id string
---@param near? string the one probably meant
---@param elsewhere? boolean another project has one
function M.raise_unknown(id, near, elsewhere)
	local how = elsewhere and "Give the whole ID of a run of another project: runner workflow list --all"
		or near and ("Did you mean '%s'?"):format(near)
	errors.raise("NOT_FOUND", id == reference.LAST and "There is no run yet in this project" or ("No run '%s'"):format(id),
		{ suggestion = how or "runner workflow list", context = { run = id } })
end

-- --- the one that is meant -------------------------------------------------------------------

local EXACT = "SELECT id, project FROM runs WHERE id = ?"
local LAST = "SELECT id FROM runs WHERE project = ? ORDER BY created_ms DESC, rowid DESC LIMIT 1"
local OF_WORKFLOW = "SELECT id FROM runs WHERE project = ? AND workflow = ? ORDER BY created_ms DESC, rowid DESC LIMIT 1"
-- reference.matches: ?1 is the text, ?2 whether it may be an end; of the project ?4, or of all
local MATCHING = [[
	SELECT id, workflow, state FROM runs
	WHERE (?4 IS NULL OR project = ?4) AND (substr(id, 1, length(?1)) = ?1 COLLATE NOCASE
		OR substr(id, instr(id, '_') + 1, length(?1)) = ?1 COLLATE NOCASE
		OR ?2 AND substr(id, -length(?1)) = ?1 COLLATE NOCASE)
	ORDER BY id LIMIT ?3]]

-- The one that the text names, and needs no search: a whole ID; or in this project @last, or a workflow.
local function named(database, text)
	local row = database:row(EXACT, text)
	if row and scope.sees(row.project) then
		return row
	end
	local own = scope.own()
	return text == reference.LAST and database:row(LAST, own) or database:row(OF_WORKFLOW, own, text)
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

local RECENT = "SELECT id, workflow FROM runs WHERE project = ? ORDER BY id DESC LIMIT 200"

-- Of the newest runs, the one whose prefix is nearest, or a workflow; run_ may be missing.
local function nearest(database, id)
	local wanted, names, meant = id:lower():gsub("^run_", ""), {}, {}
	for _, row in ipairs(#wanted >= SUGGEST_FROM and database:rows(RECENT, scope.own()) or {}) do
		local prefix = row.id:lower():gsub("^run_", ""):sub(1, #wanted)
		for name, target in pairs { [prefix] = row.id, [row.workflow] = row.workflow } do
			names[#names + 1] = not meant[name] and name or nil
			meant[name] = meant[name] or target
		end
	end
	table.sort(names)
	return meant[require("runner.core.suggest").nearest(wanted, names, 1)[1]]
end

---The ID of the run that a text means: a whole ID; or of the runs of this project @last, the name of a
---workflow for its newest one, the beginning or the end of an ID that no other has. Raises NOT_FOUND or CONFLICT.
---@param text string
---@return string id
function M.queries:resolve(text)
	local database = self:_open()
	local row = text ~= "" and named(database, text)
	if row then
		return row.id
	end
	local function matching(project)
		return text ~= "" and database:rows(MATCHING, text, #text >= reference.LEAST_END, SHOWN_IDS + 1, project) or {}
	end
	local found = matching(scope.own())
	if #found == 0 then
		M.raise_unknown(text, nearest(database, text), not scope.is_closed() and #matching() > 0)
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
