-- watch: a run that another process executes, as a tree on the terminal, until it ends. It reads
-- the store and changes nothing.

local host = require "runner.host"
local printing = require "runner.workflow.report.printing"
local report = require "runner.workflow.report.report"
local tree_of = require "runner.workflow.report.tree"

local M = {}

local LOOK_MS = 1000 -- between two looks, where nothing says that something has changed
local REST_MS = 100 -- at least, so that a busy run isn't read all the time

local function masked_already(text)
	return text
end

M.is_seen = require("runner.core.surroundings").is_drawn

-- What they printed last is in their partial logs.
local function show_lines(db, id, tree, prints)
	local rows = db:running_attempts(id, { choice = "all" })
	prints:keep(rows)
	prints:look(rows, function(row, _, reader)
		local line = reader:last_line()
		if line then
			tree:prints(row.key, line)
		end
	end)
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

local function draw(db, id, over, prints)
	local tree = tree_of.of_rows(db:steps(id, { brief = true }), masked_already, host.wall_ms())
	show_lines(db, id, tree, prints)
	host.send("PROGRESS", { steps = over and {} or tree:lines() })
end

---Return once the run is over; on a terminal its steps are shown meanwhile.
---@param ctx runner.Context
---@param db table the open store
---@param id string
function M.run(ctx, db, id)
	local seen, version, prints = M.is_seen(), nil, printing.new()
	local states = not seen and require("runner.core.surroundings").is_plain() and {}
	local function has_printed()
		return prints:has_news()
	end
	repeat
		local now = db:version()
		local over = report.settled(db, db:list { id = id }[1] or db:find(id)).state ~= "running" -- it may be removed
		if seen and (over or now ~= version or has_printed()) then
			draw(db, id, over, prints)
		elseif states and (over or now ~= version) then
			tell(db, id, states)
		end
		if not over then
			ctx:sleep(REST_MS / 1000)
			version = not db:wait(id, LOOK_MS, now, seen and has_printed or nil) and now or nil -- nobody executes it: look again in any case
		end
	until over
end

return M
