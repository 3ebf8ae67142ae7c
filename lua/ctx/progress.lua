-- progress: what a command reports while it runs: the methods of ctx that send STEP,
-- PROGRESS, LOG and WARN frames.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {
	whole = {}, ---@type {total: any, unit: any} what ctx:progress said last of all the work
}

local NAME_MAX = 200

local function misused(method, ...)
	require("runner.ctx.misuse").raise("ctx:" .. method, ...)
end

local function undeclared(method, name, steps)
	local near = require("runner.core.suggest").nearest(name, steps, 1)[1]
	misused(method, ("step '%s' is not declared; the steps are %s"):format(name, table.concat(steps, ", ")),
		near and ("Rename it to '%s', or add '%s' to steps"):format(near, name) or ("Add '%s' to steps"):format(name))
end

local function check_step(method, name)
	local steps = attempt.command and attempt.command.steps
	if type(name) ~= "string" or name == "" or #name > NAME_MAX then
		misused(method, ("it needs the name of a step, a string of at most %d bytes"):format(NAME_MAX))
	elseif not steps or #steps == 0 then
		return
	end
	for _, known in ipairs(steps) do
		if known == name then
			return
		end
	end
	undeclared(method, name, steps)
end

-- Does it stand before the step that --resume-from names?
local function comes_before(name, from)
	for _, step in ipairs(attempt.command.steps) do
		if step == name or step == from then
			return step ~= from
		end
	end
end

local skipped -- steps of this attempt

-- The result of a run that began later has its skipped steps (REQ-O-010).
local function leave_out(name)
	skipped = skipped or require("runner.json").array {}
	table.insert(skipped, name)
	attempt.add("skipped_steps", skipped)
	host.send("STEP", { name = name, state = "skipped" })
end

---A step begins; the one before is completed.
---@param _ runner.Context
---@param name string one of the declared steps
---@return boolean wanted false: the caller begins with a later one (--resume-from)
function M.step(_, name)
	check_step("step", name)
	local from = attempt.framework.resume_from
	if from and comes_before(name, from) then
		leave_out(name)
		return false
	end
	host.send("STEP", { name = name, state = "running" })
	return true
end

---A step is left out.
---@param _ runner.Context
---@param name string
function M.skip(_, name)
	check_step("skip", name)
	host.send("STEP", { name = name, state = "skipped" })
end

local PROGRESS_MAX = 60000 -- bytes: a frame has room for them, and for the suggestion

-- The largest `done` so far, and whether a smaller one has been reported.
local most, fell = nil, false

-- Callers compare what is done with what was: it never falls (REQ-C-034).
local function compare(progress)
	local done = type(progress) == "table" and rawget(progress, "done") or nil
	if math.type(done) and most and done < most and not fell then
		fell = true
		attempt.warn("PROGRESS_FELL", ("ctx:progress: done fell from %s to %s"):format(most, done), { before = most, done = done })
	end
	most = math.type(done) and math.max(most or done, done) or most
end

-- Progress on one line; nil: it has no text of its own.
local function text_of(progress)
	if math.type(progress) then
		return ("%3.0f%%"):format(progress * 100)
	elseif type(progress) == "string" then
		return progress:sub(1, 1000)
	elseif type(progress) ~= "table" then
		return nil
	end
	local done, total, unit = progress.done, progress.total, progress.unit
	if math.type(done) then
		return tostring(done) .. (math.type(total) and "/" .. tostring(total) or "") .. (type(unit) == "string" and " " .. unit:sub(1, 100) or "")
	end
end

local bar -- of this attempt, once a person sees one

-- The same as a person sees it: where a line can be drawn again, or in lines that stay.
local function line_of(progress, text)
	local done, total = progress, 1
	if type(progress) == "table" then
		done, total = progress.done, math.type(progress.total) and progress.total or nil
	end
	if not text or not attempt.launch.stderr_is_tty or attempt.framework.heartbeat_interval then
		return text
	end
	done = math.type(done) and done or nil
	local display = require "runner.ctx.progress_display"
	bar = bar or display.bar()
	if require("runner.core.requirements").is_plain() then
		local line = bar:plain(text, done, total, host.now())
		if line then
			host.send("LOG", { level = "info", message = line })
		end
		return text
	end
	return done and bar:line(text, done, total, host.now(), require("runner.terminal").columns()) or display.turning(text)
end

---Report how far the work is: kept for the envelope of a run that is cut off by a limit,
---a signal or a crash.
---@param _ runner.Context
---@param progress number|table a fraction 0…1, or data such as { done = 3, total = 10, unit = "files" }
---@param suggestion? string how to go on from here: the error.suggestion of such an envelope, until another is given
function M.progress(_, progress, suggestion)
	local data, why = require("runner.json").encode(progress, { max = PROGRESS_MAX, envelope = true })
	if progress ~= progress or progress == nil then
		data, why = nil, "it needs a fraction from 0 to 1, or data"
	end
	if not data then
		misused("progress", why, "Write ctx:progress(0.5), or a table of data")
	end
	compare(progress)
	if type(progress) == "table" then
		M.whole = { total = progress.total or M.whole.total, unit = progress.unit or M.whole.unit }
	end
	host.send("PROGRESS", { data = data, text = line_of(progress, text_of(progress)),
		suggestion = suggestion and tostring(suggestion):sub(1, 4000) })
end

local LEVELS = { debug = true, info = true, warn = true, error = true }

---A log line on stderr.
---@param _ runner.Context
---@param level "debug"|"info"|"warn"|"error"|string the level, or the message at level info
---@param message? string
function M.log(_, level, message)
	if message == nil then
		level, message = "info", level
	elseif not LEVELS[level] then
		misused("log", ("the level is debug, info, warn or error, not %s"):format(require("runner.ctx.misuse").shown(level)),
			'Write ctx:log("info", message), or ctx:log(message)')
	end
	host.send("LOG", { level = level, message = tostring(message):sub(1, 65000) })
end

---A warning in the envelope.
---@param _ runner.Context
---@param code string
---@param message string
---@param context? table
function M.warn(_, code, message, context)
	if not require("runner.core.errors").well_formed(code) then
		misused("warn", ("it needs a code first, such as SLOW_DISK, not %s"):format(require("runner.ctx.misuse").shown(code)),
			"Write ctx:warn(code, message), with a code in capitals")
	end
	if type(context or {}) ~= "table" then
		misused("warn", ('the context is a table of facts such as { path = "/srv" }, not a %s'):format(type(context)))
	end
	attempt.warn(code, message == nil and code or tostring(message), context)
end

return M
