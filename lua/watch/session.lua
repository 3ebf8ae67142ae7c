-- session: a command that is run whenever files have changed, until the user ends it. Each run is a
-- runner of its own, below ours: its limits, its tree and its answer are its own.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"

local M = {}

-- --- changes that a run makes itself -----------------------------------------------------

local RUNS = 3

---@class runner.OwnWrites
---@field digests table<string, string|false> of files that have changed in a run; false: gone
---@field times table<string, integer> in so many consecutive runs
---@field aside table<string, true>
local OwnWrites = {}
OwnWrites.__index = OwnWrites

-- The kernel doesn't say who has written a file. So a file that has changed while the run went on counts when its
-- content is another one than after the run before; and where it is another one in three consecutive runs that had
-- no other cause, it is set aside until it changes between runs, so that the command isn't run for ever.
---@return runner.OwnWrites
function M.own_writes()
	return setmetatable({ digests = {}, times = {}, aside = {} }, OwnWrites)
end

---Changes from between two runs: each of them counts.
---@param changed string[]
function OwnWrites:outside(changed)
	for _, path in ipairs(changed) do
		self.digests[path], self.times[path], self.aside[path] = nil, nil, nil
	end
end

---Changes from within a run.
---@param changed string[]
---@param alone boolean the run had no other cause than such changes
---@return string[] counted those that the command is to run again for
---@return string[] aside those that are set aside from now on
function OwnWrites:inside(changed, alone)
	local counted, aside, times = {}, {}, {}
	for _, path in ipairs(changed) do
		local digest = fs.hash(path) or false
		if self.digests[path] == nil or self.digests[path] ~= digest then
			times[path] = alone and (self.times[path] or 0) + 1 or 1
			if times[path] >= RUNS and not self.aside[path] then
				self.aside[path] = true
				aside[#aside + 1] = path
			end
			counted[#counted + 1] = not self.aside[path] and path or nil
		end
		self.digests[path] = digest
	end
	self.times = times
	return counted, aside
end

local ANSWER_MAX = 18 << 20 -- bytes; a result has 16 MiB at most
local GRACE_MS = 10000 -- for the run's own grace and its answer
local EARLY_MS = 2000 -- what changes so soon after a start may well be the work of what was started
local NAMED = 20 -- changed files in a row
local SHOWN = 2 -- in a line

-- --- what is told -------------------------------------------------------------------------------

---A line for people; where the answer is JSON, an entry of the log.
---@param ctx runner.Context
---@param text string
function M.tell(ctx, text)
	if attempt.format ~= "text" then
		ctx:log("info", text)
	elseif not attempt.framework.quiet then
		io.stderr:write("watch: ", host.clean(text), "\n")
	end
end

local function relative(path, here)
	return path:sub(1, #here + 1) == here .. "/" and path:sub(#here + 2) or path
end

local function list_of(list, most, here)
	local out = {}
	for i = 1, math.min(#list, most) do
		out[i] = relative(list[i], here)
	end
	return out
end

local function words_for(list, here)
	local text = table.concat(list_of(list, SHOWN, here), ", ")
	return #list > SHOWN and ("%s and %d more"):format(text, #list - SHOWN) or text
end

---A row as a person reads it.
---@param row table
---@return string
function M.row_text(row)
	local how = row.restarted and "ended, to begin again" or row.exit_code == 0 and "ok"
		or row.code and ("%s (exit %d)"):format(row.code, row.exit_code) or ("failed (exit %d)"):format(row.exit_code)
	local ms = row.duration_ms
	return ("watch: %s: %s after %s"):format(row.command, how, ms < 1000 and ms .. " ms" or ("%.1f s"):format(ms / 1000))
end

-- --- one run ------------------------------------------------------------------------------------

---@class runner.WatchSession
---@field ctx runner.Context
---@field args table
---@field words string[] of the command
---@field name string of the command, without its arguments: one may be a secret
---@field scope runner.WatchScope
---@field changes runner.Changes
---@field made runner.OwnWrites
---@field runs integer
---@field failed integer
---@field told table<string, true> warnings that were given
local Session = {}
Session.__index = Session

-- People see what the run prints; from an answer in JSON its row is made.
function Session:options()
	local argv = { invoke.program() }
	local people = attempt.format == "text"
	if not people then
		argv[2] = "--format=json"
	end
	local retries = attempt.framework.retries -- the command's: watch itself repeats nothing
	return { env = { "RUNNER_OUTER_RETRIES", retries and ("RUNNER_RETRIES=%d"):format(retries) or nil },
		argv = table.move(self.words, 1, #self.words, #argv + 1, argv), argv0 = invoke.name(),
		capture = not people, cap = ANSWER_MAX, grace_ms = GRACE_MS,
		on_line = not people and function(line, stream)
			if stream == "stderr" then
				io.stderr:write(line, "\n")
			end
		end or nil }
end

function Session:tell_cause(cause)
	if cause[1] and not cause.told then
		cause.told = true
		M.tell(self.ctx, words_for(cause, self.scope.here) .. " changed")
	end
end

-- Until the run is over: the first change ends it, and is what the next one is for.
function Session:restarter(run)
	local kernel, turn = self.changes.kernel, 0
	local function wait(ms)
		local said = false
		if run.over then
			return nil
		elseif kernel then
			local fd, events = kernel:watch()
			turn = turn + 1
			local this = turn
			scheduler.after(ms, function()
				if turn == this and not run.over then
					scheduler.forget(fd, events)
				end
			end)
			said = scheduler.ready(fd, events)
			turn = turn + 1
			kernel:wait(0)
		else
			scheduler.sleep(ms)
		end
		if run.over then
			return nil
		end
		return said
	end
	return function()
		repeat
			local changed = self.changes:next(self.args.quiet_ms, wait)
			run.next = changed and self:counted(changed, host.now() - run.began < EARLY_MS, run.alone) or nil
		until not changed or run.next
		if run.next and not run.over then
			run.restarted = true
			self:tell_cause(run.next) -- before what the run says of its end
			run.handle:stop(GRACE_MS)
		end
	end
end

-- Changes that the command is to run for; nil: there are none.
function Session:counted(changed, inside, alone)
	if not inside then
		self.made:outside(changed)
		return changed
	end
	local counted, aside = self.made:inside(changed, alone)
	if aside[1] then
		self.ctx:warn("WATCH_LOOP", ("%s changes in every run: the command seems to write it, and is not run again for it. "
			.. "Leave it out with --ignore"):format(words_for(aside, self.scope.here)))
	end
	counted.inside = true
	return counted[1] and counted or nil
end

function Session:start(run)
	local options = self:options()
	options.on_start = function(handle)
		run.handle = handle
		if self.args.restart then
			scheduler.spawn(self:restarter(run))
		end
	end
	run.result = scheduler.process(options)
	run.over = true
	if self.args.restart and self.changes.kernel then
		scheduler.forget(self.changes.kernel:watch())
	end
end

function Session:report(run, cause)
	local result = run.result
	local envelope = attempt.format ~= "text" and invoke.envelope(result) or nil
	local failure = envelope and not envelope.ok and envelope.error or nil
	local row = { run = self.runs, command = self.name, exit_code = result.status or 128 + (result.signal or 0),
		duration_ms = math.floor(result.duration_ms or 0), restarted = run.restarted or false, code = failure and failure.code,
		message = failure and failure.message or result.error, data = envelope and envelope.data or nil,
		warnings = envelope and type(envelope.warnings) == "table" and envelope.warnings[1] and envelope.warnings or nil,
		retries = envelope and type(envelope.meta) == "table" and envelope.meta.retries or nil,
		changed_count = #cause, changed = json.array(list_of(cause, NAMED, self.scope.here)) }
	self.failed = self.failed + ((row.exit_code ~= 0 and not run.restarted) and 1 or 0)
	if attempt.rows.written or self.args.runs then
		self.ctx:emit(row)
	end
	if not attempt.rows.written then
		M.tell(self.ctx, (M.row_text(row):gsub("^watch: ", "")))
	end
end

-- Returns what the next run is for, if that is known by now.
function Session:run(cause)
	self.runs = self.runs + 1
	self:tell_cause(cause)
	local run = { began = host.now(), alone = cause.inside or false }
	scheduler.run(function() self:start(run) end)
	self:report(run, cause)
	if run.next then
		return run.next
	end
	local changed = self.changes:since(self.args.quiet_ms) -- while it ran
	return changed[1] and self:counted(changed, true, run.alone) or nil
end

-- --- all of them --------------------------------------------------------------------------------

local LIMITS = { ENOSPC = "fs.inotify.max_user_watches", EMFILE = "fs.inotify.max_user_instances" }

-- What may not be noticed, or later; once.
function Session:warn()
	local found = {}
	local blind, unread = self.changes.blind, self.changes.unread
	found[1] = blind and ("The system doesn't watch so many folders (%s, %s): changes are looked for every %.0f s. "
		.. "Watch fewer files, or raise it"):format(blind, LIMITS[blind] or "inotify", self.changes:pause_ms() / 1000) or nil
	found[#found + 1] = unread and ("%s can't be read: changes in it are not noticed"):format(unread) or nil
	for _, text in ipairs(found) do
		local known = text:gsub("%d+ s:?", "")
		if not self.told[known] then
			self.told[known] = true
			self.ctx:warn("WATCH_LIMITED", text)
		end
	end
end

---Run the command now, and for each change; returns after as many runs as the caller wants.
function Session:loop()
	local cause = {}
	while true do
		local next_cause = self:run(cause)
		if self.runs == self.args.runs then
			return
		end
		self:warn()
		cause = next_cause or self.changes:next(self.args.quiet_ms)
		if not next_cause then
			self.made:outside(cause)
		end
	end
end

---@param fields table of runner.WatchSession: ctx, args (restart, quiet_ms, runs), words, name, scope, changes
---@return runner.WatchSession
function M.new(fields)
	fields.runs, fields.failed, fields.told, fields.made = 0, 0, {}, M.own_writes()
	return setmetatable(fields, Session)
end

return M
