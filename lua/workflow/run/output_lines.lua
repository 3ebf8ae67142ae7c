-- output_lines: what a step's program prints, while it runs: its stderr line by line, on a terminal what a
-- claude program says and does (stream-json), and of one that runs for a while all of it, in a
-- partial log. It masks what it passes on; nothing here becomes an output.

local attempt = require "runner.core.attempt"
local claude_output = require "runner.workflow.kinds.claude_output"
local events = require "runner.workflow.report.events"
local host = require "runner.host"
local json = require "runner.json"
local kinds = require "runner.workflow.kinds.kinds"
local scheduler = require "runner.task.scheduler"

local M = {}

local LATER_MS = 250 -- what ends earlier gets no partial log
local MUCH = 65536 -- bytes in a row that are not kept in memory for so long
local MANY = 500 -- changes between the streams

local PIECE = 65536 -- PROC_LINE_MAX: a longer line comes in pieces of this size

local function show(run, key, line)
	local event = claude_output.is_event(line) and json.decode(line)
	if type(event) == "table" then
		for _, text in ipairs(claude_output.event_lines(run.mask(event))) do
			events.live(run, key, text)
		end
	elseif not event and line:find "%S" then
		events.live(run, key, run.mask(line))
	end
end

-- An event of several pieces is too long to be read here.
local function watched(run, turn)
	local claude = run.settings.claude or {}
	return turn.step.kind == "claude" and claude.output == "stream-json" and attempt.launch.stderr_is_tty
		and not attempt.framework.quiet
end

-- --- the partial log ---------------------------------------------------------------------------

local function write(run, turn)
	local printed = turn.printed
	turn.printed, turn.group, run.printing[turn] = nil, nil, nil
	turn.partial = turn.partial or require("runner.workflow.report.logs").partial_writer(turn.log, run.hide)
	for _, group in ipairs(printed or {}) do
		group.text = table.concat(group, "\n") .. (group.open and "" or "\n")
	end
	turn.partial:put(printed or {})
end

local function write_later(run)
	run.writes_later = true
	scheduler.after(LATER_MS, function()
		local now = host.now()
		for turn in pairs(run.printing) do
			if turn.partial or now - turn.printed.since >= LATER_MS then
				write(run, turn)
			end
		end
		run.writes_later = false
		if next(run.printing) then
			write_later(run)
		end
	end)
end

-- The lines that one stream prints next.
local function new_group(run, turn, stream)
	run.printing = run.printing or {}
	turn.printed = turn.printed or { since = host.now() }
	run.printing[turn] = true
	turn.group = { stream = stream }
	turn.printed[#turn.printed + 1] = turn.group
	if not run.writes_later then
		write_later(run)
	end
	return turn.group
end

-- What keeps the lines of an attempt until they are written. (A program may print millions.)
local function keeper(run, turn)
	local group, from, count, room = nil, nil, 0, 0
	return function(line, stream)
		if turn.group ~= group or stream ~= from or not group then
			group, from, count, room = new_group(run, turn, stream), stream, 0, MUCH
		end
		count, room = count + 1, room - #line
		group[count] = line
		if room <= 0 or count == 1 and #turn.printed >= MANY then
			group.open = #line >= PIECE -- the rest of this line follows
			write(run, turn)
		end
	end
end

---An attempt has ended.
---@param run table
---@param turn runner.workflow.Turn
---@param logged boolean it has its log
function M.over(run, turn, logged)
	if turn.partial then
		write(run, turn)
		turn.partial:finish()
	elseif turn.printed then
		turn.printed, turn.group, run.printing[turn] = nil, nil, nil
	end
	if turn.partial and logged then
		turn.partial:remove()
	end
	turn.partial = nil
end

---The run is ended from outside: what its attempts have printed is their log.
---@param run table
function M.cut_off(run)
	for turn in pairs(run.printing or {}) do
		write(run, turn)
	end
end

-- --- line by line ------------------------------------------------------------------------------

---What reports the lines of an attempt's program.
---@param run table
---@param turn runner.workflow.Turn
---@return fun(line: string, stream: "stdout"|"stderr")
function M.reporter(run, turn)
	local continued, shows, keep = {}, watched(run, turn), keeper(run, turn)
	local kind = kinds[turn.step.kind]
	local said = attempt.launch.stderr_is_tty and kind.said
	return function(line, stream)
		keep(line, stream)
		if turn.meter and stream == "stdout" then
			turn.meter:line(line, continued.stdout or #line >= PIECE)
		end
		if stream == "stderr" then
			line = continued.stderr and run.hide.after(line) or line
			events.stderr(run, turn, said and said(line) or line)
		elseif run.screen and turn.step.kind ~= "claude" and not kind.said and not continued.stdout then
			events.printed(run, turn.key, line)
		elseif shows and not continued.stdout and #line < PIECE then
			show(run, turn.key, line)
		end
		continued[stream] = #line >= PIECE
	end
end

local function one_line(text)
	return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- The answer, unless the last line says it already.
local function answer_of(event, last)
	local text = event.type == "result" and claude_output.text(event) or ""
	return text ~= "" and one_line(text) ~= last and text or nil
end

---A text of several lines; what isn't an event stays.
---@param stdout string
---@return string
function M.of_claude(stdout)
	local out = {}
	for line in (stdout:gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n" do
		local event = claude_output.is_event(line) and json.decode(line)
		if type(event) == "table" then
			for _, text in ipairs(claude_output.event_lines(event)) do
				out[#out + 1] = text
			end
			out[#out + 1] = answer_of(event, out[#out])
		else
			out[#out + 1] = line
		end
	end
	return table.concat(out, "\n")
end

return M
