-- serve: `runner mcp serve`: the server (lua/mcp/server.lua) with its client on stdin and stdout,
-- its tasks, its commands. It ends with the end of stdin, when its answers are read no
-- more, and with a cancellation; the scheduler ends every call that still runs.

local attempt = require "runner.core.attempt"
local calls = require "runner.calls.calls"
local catalog = require "runner.mcp.catalog"
local channel = require "runner.task.channel"
local errors = require "runner.core.errors"
local host = require "runner.host"
local notifications = require "runner.mcp.notifications"
local paths = require "runner.core.paths"
local queues = require "runner.mcp.queues"
local resources = require "runner.mcp.resources"
local scheduler = require "runner.task.scheduler"
local scope = require "runner.core.scope"
local server = require "runner.mcp.server"
local task_jobs = require "runner.mcp.task_jobs"
local tool = require "runner.core.tool"
local visible = require "runner.core.visible"

local M = {}

local LINE_MAX = 4 << 20 -- bytes of a message of the client
local WATCH_MS = 2000 -- between two looks at the files, while a client wants to hear of changes
local LINGER_MS = 500 -- for calls that still run at the end of stdin
local STALLED_MS = 3000 -- after the end of stdin, for a client that takes none of what it has left unread
local LAST_WORDS_MS = 200 -- for the client to take the last answers

local INSTRUCTIONS = [[
Each tool is a command of runner. Its answer is {ok, data, error, warnings, meta}: data is the result; error has a code, a
message, and says whether the same call may be repeated (retryable: true, false or "maybe"; retry_after_ms), what it left behind
(side_effects), and often what to do (suggestion, fix_required). A tool that changes something takes dry_run: true, which
changes nothing and says what would be done. A destructive tool asks the person before it runs: no argument confirms it.]]

local NO_PROJECT = "There is no project in %s, nor in a folder above it: no command of one is served. Start the server in its folder, "
	.. "or with --cwd FOLDER"

local function no_project()
	return not attempt.project.root and NO_PROJECT:format(paths.here()) or nil
end

local function instructions()
	local project, none = attempt.project, no_project()
	local about = none and none .. "." or project.name and ("Commands of %s."):format(project.name)
	return about and about .. "\n" .. INSTRUCTIONS or INSTRUCTIONS
end

-- The server is what the client's person knows: the project.
local function info()
	local project, own = attempt.project, tool.own() or {}
	local name = own.name or project.name or (project.root or ""):match "[^/]+$" or "runner"
	return { name = name, title = project.root and name or nil, version = own.version or project.version or attempt.launch.version }
end

local function watch(s, known)
	while true do
		scheduler.sleep(WATCH_MS)
		if notifications.are_wanted(s) then
			known:get(true)
		end
	end
end

-- Ends the server from another task: the reader of lines wakes up.
local function end_with(client, out)
	out:run()
	client:close()
end

-- While too much is unread we don't read either, and don't come to the end of stdin. A client that
-- has ended it and takes nothing more will not take the rest.
local function watch_end(client, out)
	client:wait_ended()
	local before
	repeat
		before = client.written
		scheduler.sleep(STALLED_MS)
	until out:is_full() and client.written == before
	out:give_up "late"
	client:close()
end

local function read_lines(s, client, out)
	while true do
		local line, why, outline = client:read_line()
		if line then
			s:line(line)
		elseif why == "long" then
			s:too_long(LINE_MAX, outline)
		else
			return
		end
		out:wait_for_room()
	end
end

-- A client may leave our stderr unread for ever (transports/stdio.mdx): nothing waits for it.
local function log_to_stderr()
	local log = queues.outbox(channel.open { output = 2 }, scheduler.gate)
	scheduler.spawn(log.run, log)
	return log
end

local function outside_of(out, known, log, at_once)
	local recorded = 0
	return {
		send = function(message, may_drop) out:put(visible.encode(message), may_drop) end, log = function(line) log:put(line, true) end,
		wait_for_room = function() out:wait_for_room() end, spawn = scheduler.spawn, gate = scheduler.gate, now = host.now, run = calls.run,
		sleep = scheduler.sleep, tasks = task_jobs,
		documents = resources.documents, rows = function(exact) return known:get(exact) end,
		left_out = function()
			local none = no_project()
			return none and table.move(known.left_out, 1, #known.left_out, 2, { { message = none } }) or known.left_out
		end,
		record = function(fields)
			recorded = recorded + 1
			local why = attempt.project.audit and require("runner.project.audit").record(attempt.project,
				("%s.%d"):format(attempt.launch.request_id, recorded), fields)
			if why then
				log:put("A refused call can't be recorded in the audit ledger: " .. why, true)
			end
		end,
		info = info(),
		instructions = instructions(), at_once = at_once,
	}
end

-- `printf … | runner mcp serve`: what was asked is answered, if that takes no longer than a moment.
local function linger(s, out)
	local is_over = false
	scheduler.spawn(function()
		scheduler.sleep(LINGER_MS)
		is_over = true
		s.fewer:open()
	end)
	s:wait_for_answers(function() return is_over or out.gone or out.broken ~= nil end)
end

-- The last answers, and the last lines of the log, are waited for no longer than this.
local function say_goodbye(out, log, client)
	scheduler.spawn(function()
		scheduler.sleep(LAST_WORDS_MS)
		out:give_up "late"
		log:give_up "late"
	end)
	out:drain()
	log:drain()
	client:close()
end

local function serve(settings)
	local client <close> = channel.open { max_line = LINE_MAX }
	local out = queues.outbox(client, scheduler.gate)
	local s
	local log = log_to_stderr()
	local known = catalog.new(function() notifications.tools_changed(s) end, function(line) log:put(line, true) end)
	s = server.new(outside_of(out, known, log, settings.parallel), settings)
	if no_project() then
		known:say("NO_PROJECT", no_project())
	end
	scheduler.spawn(end_with, client, out)
	scheduler.spawn(function()
		if client:wait_gone() then
			out.gone = true
			client:close()
			s.fewer:open()
		end
	end)
	scheduler.spawn(watch, s, known)
	scheduler.spawn(watch_end, client, out)
	read_lines(s, client, out)
	linger(s, out)
	s:close()
	say_goodbye(out, log, client)
	return out.broken
end

-- A client that has gone is no failure of ours.
local GONE = { late = true, closed = true }

---Serve until the client goes.
---@param settings runner.mcp.Settings
function M.run(settings)
	calls.prepare()
	scope.serve(attempt.project.root or "")
	local broken = scheduler.run(function() return serve(settings) end)
	if broken and not GONE[broken] and not broken:find "Broken pipe" then
		errors.raise("OUTPUT_FAILED", "Can't write to the client: " .. broken)
	end
end

return M
