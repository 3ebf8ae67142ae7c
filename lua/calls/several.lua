-- several: the calls of one command line (`runner + build + test`), one after the other or side by side. Each is a run of its
-- own, as if it had been typed by itself: its limits, retries, policy, confirmation and row of the ledger. At a terminal each
-- has that in its turn; elsewhere, and side by side, its lines on stderr are ours and its envelope is read.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local rules = require "runner.core.rules"
local scheduler = require "runner.task.scheduler"
local tool = require "runner.core.tool"

local M = {}

local ENVELOPE_MAX = 18 << 20 -- bytes; a result has 16 MiB at most
local GRACE_MS = 10000 -- for the call's own grace and its answer
local DATA_MAX = 12 << 20 -- bytes of all answers; ours has 16 MiB at most
local POLL_MS = 20
local SHOWN = 40 -- lines of one that has failed, which are shown once more

---@class runner.Part
---@field name string as it is typed
---@field shown string the same, with a number where another one has it
---@field words string[] its command line
---@field needs boolean does it need other commands?
---@field plain boolean has it nothing but its name?

---@class runner.Several
---@field parts runner.Part[]
---@field at_once integer
---@field keep_going boolean
---@field dry_run boolean
---@field on_terminal boolean each has the terminal in its turn
---@field side_by_side boolean their lines have their names
---@field directory string where they note which needed commands have run (lua/ctx/needs.lua)

-- --- one call -----------------------------------------------------------------------------------

-- Where an envelope is read, our own; and runner's flags that were given for all of them.
local function flags(several)
	local f, settings = attempt.framework, attempt.place.settings or {}
	local list = several.on_terminal and {} or table.move(tool.LIST, 1, #tool.LIST, 1, {}) -- our own answer is masked
	local function add(wanted, flag)
		list[#list + 1] = wanted and flag or nil
	end
	add(f.quiet, "--quiet")
	add(f.verbose and not f.debug, "--verbose") -- which sets it
	add(f.yes, "--yes")
	add(f.non_interactive, "--non-interactive")
	add(f.debug, "--debug")
	add(f.warnings_as_errors, "--warnings-as-errors")
	add(f.no_injection_protection, "--no-injection-protection")
	add(several.on_terminal and f.unmask, "--runner-unmask")
	add(f.width, "--width=" .. tostring(f.width))
	add(settings.none, "--no-config")
	add(settings.config, "--config=" .. tostring(settings.config))
	return list
end

local function environment(several, part)
	local retries = attempt.framework.retries -- those of each
	local env = { "RUNNER_OUTER_RETRIES", retries and ("RUNNER_RETRIES=%d"):format(retries) or nil }
	for _, name in ipairs { "attempt_timeout", "idle_timeout", "grace" } do
		local limit = attempt.framework[name]
		env[#env + 1] = limit and ("RUNNER_%s=%s"):format(name:upper(), limit == 0 and "none" or ("%dms"):format(rules.milliseconds(limit)))
	end
	env[#env + 1] = not several.on_terminal and attempt.launch.stderr_is_tty and "RUNNER_TERMINAL=lines" or nil
	env[#env + 1] = several.dry_run and "RUNNER_DRY_RUN=1" or nil
	env[#env + 1] = part.needs and ("RUNNER_NEEDS=%s\n"):format(several.directory) or "RUNNER_NEEDS"
	env[#env + 1] = not several.on_terminal and (attempt.framework.verbose or attempt.launch.stderr_is_tty) and "RUNNER_LOG_KEPT=1" or nil
	return env
end

-- The lines of a call, each as soon as it comes.
local function listener(several, part)
	local watched = attempt.launch.stderr_is_tty
	return function(line, stream)
		if stream == "stderr" then
			line = watched and invoke.said(invoke.drawn(line)) or line
			if several.side_by_side then
				line = invoke.marked(part.shown, line, watched)
				table.insert(part.lines, line)
				if #part.lines > SHOWN then
					table.remove(part.lines, 1)
				end
				several.last = part
			end
			io.stderr:write(line, "\n")
		end
	end
end

local function options_of(several, part)
	local own = flags(several)
	local argv = table.move(own, 1, #own, 2, { invoke.program() })
	local options = { argv = table.move(part.words, 1, #part.words, #argv + 1, argv), argv0 = invoke.name(),
		env = environment(several, part), cap = ENVELOPE_MAX, grace_ms = GRACE_MS, capture = not several.on_terminal,
		columns = not several.on_terminal and invoke.columns(several.side_by_side and part.shown or nil) or nil,
		foreground = several.on_terminal, on_line = not several.on_terminal and listener(several, part) or nil,
		on_start = function(handle) part.handle = handle end }
	options.stdin_file = several.on_terminal and assert(io.open("/dev/tty", "r")) or nil
	return options
end

-- A call without arguments is what others may need: it has the lock and leaves the mark that they look for.
local function mark_of(several, part)
	return part.plain and invoke.mark(several.directory, part.name, {})
end

-- Taken by the first of its name.
local function lock(several, part, mark)
	if mark and not several.locked[mark] then
		part.lock = fs.lock(mark .. ".lock", { wait_ms = 0 })
		several.locked[mark] = part.lock and true or nil
	end
	return not mark or several.locked[mark]
end

local function unlock(several, part)
	if part.lock then
		local _ <close> = part.lock
		part.lock, several.locked[mark_of(several, part)] = nil, nil
	end
end

-- Has another one had it run, while we waited for that?
local function has_run(several, part)
	local mark, waited = mark_of(several, part), false
	while not lock(several, part, mark) do
		waited = true
		scheduler.sleep(POLL_MS)
	end
	return waited and fs.lstat(mark .. ".done") ~= nil
end

local function note_run(several, part)
	local mark = mark_of(several, part)
	if mark then
		fs.create(mark .. ".done", "")
	end
end

-- What is known if we are ended.
local function note_rows(several, rows)
	local known = json.array {}
	for i, part in ipairs(several.parts) do
		local row = rows[i]
		known[i] = { command = part.name, state = row and row.state or part.lines and "cancelled" or "not_run",
			exit_code = row and row.exit_code, duration_ms = row and row.duration_ms, request_id = row and row.request_id }
	end
	local data = attempt.format ~= "text" and json.encode({ calls = known }, { max = 60000, envelope = true })
	if data then
		host.send("PROGRESS", { data = data, name = "data" })
	end
end

local function pass_on_warnings(name, envelope)
	for _, warning in ipairs(type(envelope.warnings) == "table" and envelope.warnings or {}) do
		local context = type(warning.context) == "table" and warning.context or {}
		context.command = context.command or name
		attempt.warn(warning.code, warning.message, context)
	end
end

local function take_data(several, row, envelope, size)
	several.size = several.size + size
	if several.size <= DATA_MAX then
		row.data = envelope.data
		return
	end
	several.size = several.size - size
	attempt.warn("FIELD_TRUNCATED", ("The data of '%s' is left out: all of them have more than an answer holds"):format(row.command),
		{ command = row.command, original_bytes = size })
end

-- What became of it: a row of our answer, and the error that it ended with.
local function conclude(several, part, result)
	local envelope = not several.on_terminal and invoke.envelope(result) or nil
	local row = { command = part.name, state = result.status == 0 and "succeeded" or "failed", exit_code = result.status,
		duration_ms = math.floor(result.duration_ms or 0) }
	if envelope then
		pass_on_warnings(part.name, envelope)
		take_data(several, row, envelope, #result.stdout)
		row.error = not envelope.ok and envelope.error or nil
		local meta = type(envelope.meta) == "table" and envelope.meta or {}
		row.request_id, row.attachments = meta.request_id, meta.attachments
	end
	if row.state == "succeeded" and (envelope or several.on_terminal or result.noted) then
		note_run(several, part)
		return row
	end
	row.state = part.stopped and "cancelled" or "failed"
	local e = envelope and not envelope.ok and invoke.failure(envelope)
		or not several.on_terminal and invoke.lost(part.name, result)
		or errors.new("CALLS_FAILED", result.error or result.signal or ("exit %d"):format(result.status),
			{ side_effects = result.status == 2 and "none" or "partial" })
	row.error = row.error or not several.on_terminal and { code = e.code, message = e.message } or nil
	return row, e
end

-- --- all of them --------------------------------------------------------------------------------

local function stop_others(parts, failed)
	for _, part in ipairs(parts) do
		if part.handle and not part.over and part ~= failed then
			part.stopped = true
			part.handle:stop(GRACE_MS)
		end
	end
end

-- What the failed one has said, below what the others have said since.
local function show_last(several, failed)
	if several.side_by_side and several.last ~= failed and attempt.launch.stderr_is_tty and failed.lines[1] then
		io.stderr:write(("\n%s failed:\n%s\n"):format(failed.shown, table.concat(failed.lines, "\n")))
	end
end

local Loan = { __close = function() host.lend_terminal(-1) end }

---Make the calls.
---@param several runner.Several
---@return table[] rows one for each, in order
---@return {part: runner.Part, error: runner.Error, row: table}? failed the first that has failed
function M.run(several)
	local rows, failed, at = json.array {}, nil, 0
	several.locked, several.size = {}, 0
	for _, part in ipairs(several.at_once >= #several.parts and several.parts or {}) do
		lock(several, part, mark_of(several, part)) -- before one that needs it has it run
	end
	local function next_task()
		at = at + 1
		local part = (several.keep_going or not failed) and several.parts[at]
		return part and function()
			part.lines = {}
			note_rows(several, rows)
			local result = has_run(several, part) and { status = 0, stdout = "", noted = true } or scheduler.process(options_of(several, part))
			part.over = true
			return { part = part, result = result }
		end or nil
	end
	local _ <close> = several.on_terminal and setmetatable({ host.lend_terminal(1) }, Loan) or nil
	scheduler.run(function()
		scheduler.each(next_task, several.at_once, function(i, result)
			if result.error then
				error(result.error, 0)
			end
			local part = result.value.part
			local row, e = conclude(several, part, result.value.result)
			rows[i] = row
			if e and not failed then
				failed = { part = part, error = e, row = row }
				if not several.keep_going then
					stop_others(several.parts, part)
				end
			end
			unlock(several, part)
			note_rows(several, rows)
		end, { keep_going = true })
	end)
	for i, part in ipairs(several.parts) do
		rows[i] = rows[i] or { command = part.name, state = "not_run" }
	end
	if failed then
		show_last(several, failed.part)
	end
	return rows, failed
end

return M
