-- audit: reads the audit ledger of a project: its calls, and whether it was changed.

local attempt = require "runner.core.attempt"
local audit = require "runner.project.audit"
local errors = require "runner.core.errors"
local json = require "runner.json"
local ledger = require "runner.ledger"

local M = {}

local SHOWN = 20 -- problems
local MANY <const> = 1000
local PIECE <const> = 64 << 10 -- bytes that are read at a time; longer than any row

local function unreadable(path, why)
	errors.raise("AUDIT_UNAVAILABLE", "Can't read the audit ledger: " .. why, { side_effects = "none", context = { path = path } })
end

-- The ledger's path and its open file; nil: nothing has been written yet.
local function open()
	local project = attempt.project
	if not project.audit then
		errors.raise("AUDIT_DISABLED", "This project keeps no audit ledger", { side_effects = "none" })
	end
	local path = audit.path(project)
	if not path then
		errors.raise("AUDIT_UNAVAILABLE", "There is no directory for the audit ledger", { side_effects = "none" })
	end
	local file, why, errno = io.open(path, "rb")
	if not file and errno ~= 2 then
		unreadable(path, why)
	end
	return path, file
end

---Is each row as it was written, and does each follow the one before it?
---@return {path: string, rows: integer, head: string?, problems: {line: integer, problem: string}[]}
function M.verify()
	local path, file <close> = open()
	local rows, last, problems = 0, nil, {}
	if file then
		rows, last, problems = ledger.verify(file, SHOWN)
	end
	if not rows then
		unreadable(path, last)
	end
	return { path = path, rows = rows, head = rows > 0 and last or nil, problems = json.array(problems) }
end

local COPIED = { "command", "uid", "user", "cwd", "project", "args", "policy", "dry_run", "trace_id", "job", "danger_level",
	"exit_code", "code", "side_effects", "attempts", "duration_ms", "client", "decision", "by", "flag", "rule", "policy_file", "reason",
	"subject", "login_uid" }

-- What a row says of a call of which later rows have been seen: those come first.
local function take(call, row)
	for _, key in ipairs(COPIED) do
		if call[key] == nil and row[key] ~= json.null then
			call[key] = row[key]
		end
	end
	if row.event == "begin" then
		call.began = row.time
	elseif row.event == "decision" then
		call.decided = call.decided or row.time
	else
		call.ended = call.ended or row.time
	end
end

local function state_of(call)
	local never = call.decision and call.decision ~= "confirmed"
	return (call.ended or never) and (call.began and "ended" or "not_run") or "open"
end

-- The lines of a file from its end on, with the places where they begin: `take` gets each. Between two pieces,
-- `is_enough(at)` may say that what is before that place isn't needed.
local function backwards(file, take_line, is_enough)
	local at, rest = file:seek "end", ""
	repeat
		local n = math.min(PIECE, at)
		at = file:seek("set", at - n)
		local text = (file:read(n) or "") .. rest
		local first = at == 0 and 1 or (text:find("\n", 1, true) or #text) + 1
		local places, place = {}, first
		while place <= #text do
			places[#places + 1], place = place, (text:find("\n", place, true) or #text) + 1
		end
		for i = #places, 1, -1 do
			take_line(text:sub(places[i], (places[i + 1] or #text + 1) - 1), at + places[i] - 1)
		end
		rest = first <= 2 * PIECE and text:sub(1, first - 1) or "" -- longer than any row: what is left of it is none
	until at == 0 or is_enough(at + first - 1)
end

-- The calls, each with `first`, the place of its first row so far, and `bound`: no row of it is before that.
local Calls = {}
Calls.__index = Calls

function Calls:take(line, place)
	local row = json.decode(line)
	local id = type(row) == "table" and row.request_id
	if type(id) ~= "string" then
		self.damaged = self.damaged + 1
		return
	end
	local key = id .. tostring(row.job) -- a job has the ID of the call that made it
	local call = self.by_key[key]
	if not call then
		call, self.count = { request_id = id }, self.count + 1
	end
	self.by_key[key], self.places[call] = call, place
	local bound = math.type(row.from) == "integer" and row.from <= place and row.from or 0
	self.bounds[call] = math.max(self.bounds[call] or 0, bound)
	take(call, row)
end

-- The calls that match, newest first, among those whose first row is known when all from `at` on has been read; and
-- whether there are as many as are needed before any of which it isn't.
function Calls:sorted(at, matches, enough)
	local found, places, bounds = {}, self.places, self.bounds
	for key, call in next, self.by_key do
		local is_whole = bounds[call] >= at
		call.state = state_of(call)
		if not is_whole or matches(call) then
			found[#found + 1] = call
		else
			self.by_key[key], places[call], bounds[call] = nil, nil, nil
		end
	end
	table.sort(found, function(a, b) return places[a] > places[b] end)
	for i = 1, math.min(enough, #found) do
		if bounds[found[i]] < at then
			return found, false
		end
	end
	return found, #found >= enough
end

---The calls that match, newest first. One that has begun and not ended is "open": it runs, or nothing was left of
---it that could say how it ended.
---@param matches fun(call: table): any
---@param enough number the ledger is read from its end on, no further than that many calls need
---@return table[] calls, integer damaged lines of those read that are no row
function M.calls(matches, enough)
	local _, file <close> = open()
	local calls = setmetatable({ by_key = {}, places = {}, bounds = {}, count = 0, damaged = 0 }, Calls)
	local look_at = 0 -- so many calls are looked through, which takes a time for each
	if file then
		backwards(file, function(...) calls:take(...) end, function(at)
			local found, is_enough
			if calls.count >= look_at then
				found, is_enough = calls:sorted(at, matches, enough)
				calls.count, look_at = #found, #found < MANY and 0 or 2 * #found
			end
			return is_enough
		end)
	end
	local found = calls:sorted(0, matches, enough)
	return found, calls.damaged
end

return M
