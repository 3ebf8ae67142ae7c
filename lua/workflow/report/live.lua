-- live: a run while it goes on, until it ends: as a tree on the terminal, in plain lines, or its attempts
-- and what they print, for `logs --follow`. Of a run that another process executes it reads the store and
-- the partial logs; of our own it is told what happens. It changes nothing.

local host = require "runner.host"
local logs = require "runner.workflow.report.logs"
local report = require "runner.workflow.report.report"
local run_rows = require "runner.workflow.report.run_rows"
local scheduler = require "runner.task.scheduler"
local requirements = require "runner.core.requirements"
local tree_of = require "runner.workflow.report.tree"

local M = {}

local LOOK_MS = 1000 -- between two looks at a run that goes on, where nothing says that it has changed
local REST_MS = 50 -- at least
local DRAW_MS = 100 -- between two pictures, at least
local ROW = 1 << 19 -- bytes of an attempt as JSON
local LATE_MS = 60000 -- an attempt may be committed so long after its end, and the clock be set back

-- --- what running attempts print -------------------------------------------------------------------

---@class runner.workflow.Printing
---@field readers table<string, runner.workflow.PartialReader> by key and number of the attempt
local Printing = {}
Printing.__index = Printing

local function name_of(row)
	return row.key .. "\0" .. row.number
end

-- each(row, pieces, reader): what attempts (rows of store:running_attempts) have printed since the last look.
function Printing:look(rows, each)
	for _, row in ipairs(rows) do
		local name = name_of(row)
		local reader = self.readers[name] or logs.partial_reader(row.log)
		self.readers[name] = reader
		each(row, reader:read(), reader)
	end
end

-- Let go of all attempts but these.
function Printing:keep(rows)
	local kept = {}
	for _, row in ipairs(rows) do
		kept[name_of(row)] = true
	end
	for name, reader in pairs(self.readers) do
		if not kept[name] then
			reader:close()
			self.readers[name] = nil
		end
	end
end

-- An attempt has ended: what it has printed since the last look, and whether that, with earlier looks, is all.
function Printing:last(row)
	local reader = self.readers[name_of(row)]
	if not reader then
		return {}, false
	end
	local pieces = reader:read()
	reader:close()
	self.readers[name_of(row)] = nil
	return pieces, reader.over
end

-- Is there something that the last look has not seen?
function Printing:has_news()
	for _, reader in pairs(self.readers) do
		if reader:has_news() then
			return true
		end
	end
	return false
end

-- --- a run that another process executes -----------------------------------------------------------

-- look(over, printing) at each change, until the run is over. The state is read before the look: then no
-- attempt is missing after the end. prints: what attempts print is a change, too.
local function follow(db, id, rest_ms, prints, look)
	local printing, version = setmetatable({ readers = {} }, Printing), nil
	local function has_printed()
		return printing:has_news()
	end
	while true do
		local now = db:version()
		local over = report.settled(db, db:list { id = id }[1] or db:find(id)).state ~= "running" -- it may be removed
		if over or now ~= version or has_printed() then
			look(over, printing)
		end
		if over then
			return
		end
		host.sleep(rest_ms)
		version = not db:wait(id, LOOK_MS, now, prints and has_printed or nil) and now or nil -- no process executes it: look again in any case
	end
end

-- --- as a tree, or in plain lines ------------------------------------------------------------------

local function masked_already(text)
	return text
end

-- What they printed last is in their partial logs.
local function show_lines(db, id, tree, printing)
	local rows = db:running_attempts(id, { choice = "all" })
	printing:keep(rows)
	printing:look(rows, function(row, _, reader)
		local line = reader:last_line()
		if line then
			tree:prints(row.key, line)
		end
	end)
end

-- All of a run is the last line.
local function lines_of(tree, ...)
	local lines = tree:lines(...)
	lines[#lines + 1] = tree:total()
	return lines
end

local function draw(db, id, over, printing)
	local tree, run = tree_of.of_rows(db:steps(id, { brief = true }), masked_already, host.wall_ms()), db:find(id)
	tree.began = tree.began - math.max(host.wall_ms() - run.created_ms, 0)
	tree:costs(db:costs(id), run.max_cost_micros)
	show_lines(db, id, tree, printing)
	host.send("PROGRESS", { steps = over and {} or lines_of(tree) })
end

-- In plain lines, what has become of each step.
local function tell(db, id, states)
	for _, row in ipairs(db:steps(id, { brief = true })) do
		if states[row.key] ~= row.state then
			states[row.key] = row.state
			host.send("LOG", { level = "info", message = ("Step %s: %s"):format(row.key, row.state) })
		end
	end
end

---Return once a run is over; on a terminal its steps are shown meanwhile.
---@param db table the open store
---@param id string
function M.watch(db, id)
	local drawn = requirements.is_drawn()
	local states = not drawn and requirements.is_plain() and {}
	follow(db, id, DRAW_MS, drawn, function(over, printing)
		if drawn then
			draw(db, id, over, printing)
		elseif states then
			tell(db, id, states)
		end
	end)
end

---What shows the run of this process as a tree; nil where it isn't shown: not on a terminal, without
---colours, with --quiet. The supervisor gets its lines at most ten times a second, and draws them.
---@param run table
---@return (fun(happens: string, ...): any)? call it with the name of a method of runner.workflow.Tree and what
---  that takes; with "is_over" for the lines that stay
function M.screen(run)
	if not requirements.is_drawn() then
		return nil
	end
	local tree, due, sent_at = tree_of.new(run.workflow.all, run.mask), false, -math.huge
	tree:resumes(run.rows)
	tree:costs(run.db:costs(run.id), run.budget.max)
	local function send()
		due, sent_at = false, host.now()
		host.send("PROGRESS", { steps = lines_of(tree) })
	end
	return function(happens, ...)
		if happens == "is_over" then
			return host.send("PROGRESS", { steps = lines_of(tree, nil, true), state = "over" })
		end
		local told = tree[happens](tree, ...)
		if sent_at < 0 then
			send()
		elseif not due then
			due = true
			scheduler.after(math.max(sent_at + DRAW_MS - host.now(), 0), send)
		end
		return told
	end
end

-- --- its attempts, and what they print -------------------------------------------------------------

-- Those that ended since the last look, and were not passed on.
local function ended_since(db, id, opts, seen)
	local out, since = {}, seen.since
	for _, row in ipairs(db:ended_attempts(id, opts, since - LATE_MS)) do
		local known = name_of(row)
		if not seen[known] then
			seen[known] = true
			out[#out + 1] = row
			seen.since = math.max(seen.since, row.ended_ms or 0)
		end
	end
	return out
end

local function pass_on(row, pieces, emit)
	for _, piece in ipairs(pieces) do
		emit { step = row.key, attempt = row.number, stream = piece.stream, text = piece.text }
	end
end

---Pass on each attempt that has ended, in the order of their ends, and go on until the run ends;
---with `partial`, what attempts print while they run, too.
---@param db table the open store
---@param id string
---@param opts {choice: "all"|"failed", step?: string, attempt?: integer, partial?: boolean}
---@param emit fun(row: table, seen?: boolean) as run_rows.attempt makes it, or { step, attempt, stream, text };
---  seen: of an attempt that has ended, all that it printed was passed on before
function M.attempts(db, id, opts, emit)
	local seen = { since = 0 }
	follow(db, id, REST_MS, opts.partial, function(over, printing)
		for _, stored in ipairs(ended_since(db, id, opts, seen)) do
			local pieces, whole = printing:last(stored)
			pass_on(stored, pieces, emit)
			emit((run_rows.attempt(id, stored, ROW)), whole)
		end
		if opts.partial and not over then
			printing:look(db:running_attempts(id, opts), function(row, pieces)
				pass_on(row, pieces, emit)
			end)
		end
	end)
end

return M
