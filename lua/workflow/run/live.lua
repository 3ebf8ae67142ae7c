-- live: what a step's program prints, while it runs: its stderr line by line and, on a
-- terminal, what a claude program says and does (stream-json). It masks what it passes on;
-- nothing here becomes an output.

local attempt = require "runner.core.attempt"
local claude_events = require "runner.workflow.kinds.claude_events"
local events = require "runner.workflow.report.events"
local json = require "runner.json"

local M = {}

local PIECE = 65536 -- PROC_LINE_MAX: a longer line comes in pieces of this size

local function show(run, key, line)
	local event = claude_events.is_event(line) and json.decode(line)
	if type(event) == "table" then
		for _, text in ipairs(claude_events.lines(run.mask(event))) do
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

---What reports the lines of an attempt's program.
---@param run table
---@param turn runner.workflow.Turn
---@return fun(line: string, stream: "stdout"|"stderr")
function M.reporter(run, turn)
	local continued, shows = {}, watched(run, turn)
	return function(line, stream)
		if stream == "stderr" then
			events.stderr(run, turn, continued.stderr and run.hide.after(line) or line)
		elseif run.screen and turn.step.kind ~= "claude" and not continued.stdout then
			events.printed(run, turn.key, line)
		elseif shows and not continued.stdout and #line < PIECE then
			show(run, turn.key, line)
		end
		continued[stream] = #line >= PIECE
	end
end

return M
