-- via: a place that this machine reaches by ssh. Each question is one call of ssh, which starts
-- `runner self executor reach` there (lua/workflow/executors/reach.lua): one JSON document goes in,
-- one envelope comes back. Nothing is believed of an answer that isn't whole; a request that was
-- cut off is refused there. Call it inside scheduler tasks.

local command_line = require "runner.core.command_line"
local encoding = require "runner.core.encoding"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local programs = require "runner.workflow.executors.programs"
local scheduler = require "runner.task.scheduler"
local tables = require "runner.core.tables"

local M = { VERSION = 1 }

local SLICE, LEAST = 3 << 20, 64 << 10 -- bytes of files in one question or answer, at most and at least
local EACH = 128 -- what a file costs beside its bytes

local LIMIT_MS = 90000 -- the programs there have a minute
local REST_MS = 2000 -- a link that has just failed is not tried again at once
local TRIES, TRY_MS = 3, 3000 -- of the first question, and the last

-- The user's configuration says how the host is reached. What it could change beyond that is off: questions, forwardings,
-- commands, and a master connection of ours that would stay behind (one of the user's is used).
local OPTIONS = { "BatchMode=yes", "ConnectTimeout=5", "ConnectionAttempts=1", "ServerAliveInterval=5", "ServerAliveCountMax=3",
	"ControlMaster=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RemoteCommand=none",
	"RequestTTY=no", "LogLevel=ERROR" }

-- What no later try would change, as ssh itself says it last. What a shell there prints is none of it.
local FOR_GOOD = { "Permission denied %([%w,-]+%)%.?$", "^Host key verification failed%.?$", "^Bad owner or permissions on ",
	": terminating, %d+ bad configuration options", "^Unable to negotiate with .+: no matching " }

---Bytes as they travel: text as it is, which is faster by far, else base64. (JSON writes six bytes for a control character.)
---@param bytes string
---@return { size: integer, text: string?, base64: string? } part
function M.packed(bytes)
	if utf8.len(bytes) and not bytes:find "[%z\1-\8\11\12\14-\31\127]" then
		return { size = #bytes, text = bytes }
	end
	return { size = #bytes, base64 = encoding.base64(bytes) }
end

---@param part any
---@return string? bytes nil: it is neither, or not what was sent
function M.unpacked(part)
	if type(part) ~= "table" then
		return nil
	end
	local bytes = type(part.text) == "string" and part.text or type(part.base64) == "string" and encoding.from_base64(part.base64)
	return bytes and #bytes == part.size and bytes or nil
end

-- A path for the shell there: "~/" is its HOME.
local function word(path)
	local below = path:match "^~/(.*)$"
	return below and "~/" .. command_line.quoted(below) or command_line.quoted(path)
end

---The command line of a call.
---@param executor runner.Executor with via
---@return string[]
function M.ssh(executor)
	local argv = { "ssh", "-T" }
	for _, option in ipairs(OPTIONS) do
		argv[#argv + 1] = "-o"
		argv[#argv + 1] = option
	end
	local command = ("exec %s self executor reach --format json --quiet --max-bytes 16777216"):format(word(executor.runner or "runner"))
	return table.move({ "--", executor.via, command }, 1, 3, #argv + 1, argv)
end

-- What may be said in one line.
local function line(v)
	return type(v) == "string" and v ~= "" and v:gsub("%c+", " "):sub(1, 500) or nil
end

-- ssh has not brought an answer. for_good: before anything is done, trying again is of no use; later it may be, as
-- the line, the key and the program may be back before the tasks have ended.
local function unreached(executor, result)
	local last = result.status == 255 and (result.stderr or ""):gsub("%s+$", ""):match "[^\r\n]*$" or ""
	local for_good = result.error and true
	for _, pattern in ipairs(FOR_GOOD) do
		for_good = for_good or last:find(pattern) and true
	end
	return { kind = "unknown", for_good = for_good, code = for_good and "PRECONDITION" or "UNAVAILABLE",
		message = ("%s can't be reached: %s"):format(executor.via, programs.said("ssh", result)),
		suggestion = ("Is it up, and does this work, without a question: ssh -o BatchMode=yes %s true"):format(executor.via) }
end

-- The envelope: the last line that is one. Start files of a shell may print, too, also in front of it in its line.
local function envelope_of(text)
	local found
	for candidate in text:gmatch "[^\n]+" do
		found = json.decode(candidate:match '{"ok":.*' or "") or found
	end
	return type(found) == "table" and found or nil
end

---What a call of ssh came to.
---@param executor runner.Executor
---@param result runner.Result
---@return table? data, runner.PlaceProblem? problem
function M.answer(executor, result)
	local envelope = result.error == nil and envelope_of(result.stdout or "")
	local data, e = envelope and envelope.data, envelope and envelope.error
	if envelope and envelope.ok == true and type(data) == "table" and data.reach == M.VERSION then
		return data
	elseif type(e) == "table" and errors.well_formed(e.code) then
		local suggestion = line(e.suggestion) or line(e.fix_required)
		local is_ours = e.code == "PRECONDITION" or result.status == 2 -- nothing was done; of other ends that isn't known
		return nil, { kind = is_ours and "refused" or "unknown", code = is_ours and "PRECONDITION" or "UNAVAILABLE", suggestion = suggestion,
			message = ("runner on %s: %s"):format(executor.via, line(e.message) or e.code) }
	elseif result.status == 127 or result.status == 126 then
		return nil, { kind = "unknown", for_good = true, code = "PRECONDITION",
			message = ("There is no runner on %s: %s"):format(executor.via, programs.said("ssh", result)),
			suggestion = "Install runner there, in PATH of a shell that ssh starts; or set runner of the executor to its path there" }
	elseif result.ok or envelope then
		return nil, { kind = "unknown", code = "UNAVAILABLE", message = ("%s printed no answer of runner"):format(executor.via),
			suggestion = ("Is this runner %s: ssh %s runner --version"):format(host.launch().version, executor.via) }
	end
	return nil, unreached(executor, result)
end

-- --- a question ------------------------------------------------------------------------------

local LISTS = { "options", "memory", "submit", "states", "cancel" }

-- The executor as it is there.
local function described(executor)
	local out = {}
	for key, value in next, executor do
		out[key] = key ~= "via" and value or nil
	end
	for _, name in ipairs(LISTS) do
		out[name] = executor[name] and json.array(table.move(executor[name], 1, #executor[name], 1, {}))
	end
	return out
end

local failed = {} -- host → { at, problem }: one that doesn't answer costs one limit of time, not one for each question
local slices = {} -- host → what its line has carried

---How many bytes of files the next question or answer takes.
---@param executor runner.Executor
---@return integer
function M.slice(executor)
	return slices[executor.via] or SLICE
end

---What is left of a slice with so many bytes of a file more.
---@param room integer
---@param bytes integer
---@return integer
function M.room(room, bytes)
	return room - bytes - EACH
end

-- What a line is too slow for, or too short-lived, goes in smaller pieces; what it has carried, it may carry twice of.
local function adjust(executor, sent, result, problem)
	local slice = M.slice(executor)
	if problem and problem.kind == "unknown" and not problem.for_good then
		slices[executor.via] = math.max(slice // 2, LEAST)
	elseif math.max(#sent, #(result.stdout or "")) >= slice then
		slices[executor.via] = math.min(slice * 2, SLICE)
	end
end

---Ask the other side. What isn't answered may have been done there.
---@param executor runner.Executor
---@param request table gets version, runner and executor
---@param timeout_ms? integer
---@return table? data, runner.PlaceProblem? problem
function M.ask(executor, request, timeout_ms)
	local last = failed[executor.via]
	if last and host.now() - last.at < REST_MS then
		return nil, last.problem
	end
	request.version, request.runner, request.executor = M.VERSION, host.launch().version, described(executor)
	request.slice = request.get and M.slice(executor)
	local sent = assert(json.encode(request)) .. "\n"
	local result = programs.run(M.ssh(executor), { stdin = sent, timeout_ms = timeout_ms or LIMIT_MS })
	local data, problem = M.answer(executor, result)
	local _ = (request.get or request.put) and adjust(executor, sent, result, problem)
	failed[executor.via] = problem and problem.kind == "unknown" and { at = host.now(), problem = problem } or nil
	return data, problem
end

---Ask several times: a link that is down for a moment is tried again.
---@param executor runner.Executor
---@param request table
---@param timeout_ms? integer of each time
---@return table? data, runner.PlaceProblem? problem
function M.insist(executor, request, timeout_ms)
	for n = 1, TRIES do
		local data, problem = M.ask(executor, request, timeout_ms)
		if data or problem.for_good or problem.kind == "refused" or n == TRIES then
			return data, problem
		end
		scheduler.sleep(TRY_MS)
	end
end

---Ask what has to be known before anything is done.
---@param executor runner.Executor
---@param request table
---@return table data raises UNAVAILABLE or PRECONDITION
function M.first(executor, request)
	local data, problem = M.insist(executor, request)
	if not data then
		local is_over = problem.for_good or problem.kind == "refused"
		errors.raise(problem.code, problem.message, { suggestion = problem.suggestion, side_effects = "none",
			retryable = not is_over, context = { transient = not is_over } })
	end
	return data
end

-- --- the place -------------------------------------------------------------------------------

local Via = {}
Via.__index = Via

---@param executor runner.Executor
---@return runner.Place
function M.open(executor)
	return setmetatable({ executor = executor }, Via)
end

local FEWEST = 1000

---@return { array: integer }
function Via:limits()
	if not self.array then
		local data = M.ask(self.executor, { limits = true })
		self.array = data and math.tointeger(data.limits)
	end
	return { array = self.array or FEWEST }
end

-- A problem as it was found there.
local KINDS = { refused = true, busy = true, unknown = true }

local function problem_of(v)
	if type(v) == "table" and KINDS[v.kind] then
		return { kind = v.kind, code = errors.well_formed(v.code) and v.code or "UNAVAILABLE", message = line(v.message) or "it was " .. v.kind,
			suggestion = line(v.suggestion) }
	end
	return { kind = "unknown", code = "UNAVAILABLE", message = "the answer says nothing of it" }
end

local STATES = tables.set "pending running ended unknown"

-- A task of a placement; what isn't understood may live.
local function task_of(v)
	if type(v) ~= "table" or not STATES[v.state] then
		return { state = "unknown" }
	end
	return { state = v.state, ended = line(v.ended), reason = line(v.reason), why = line(v.why), node = line(v.node) }
end

local function read_states(placements, tokens)
	local out = {}
	for _, token in ipairs(tokens) do
		local v = placements[token]
		local one = type(v) == "table" and { job = line(v.job), tasks = {}, rest = v.rest and task_of(v.rest) or nil,
			unsure = v.unsure == true or nil }
		for index, task in next, one and type(v.tasks) == "table" and v.tasks or {} do
			one.tasks[math.tointeger(tonumber(index)) or 0] = task_of(task)
		end
		out[token] = one or nil
	end
	return out
end

---@param s { token: string, tasks: integer, unit: runner.workflow.Mirror, memory?: string, executor: runner.Executor }
---@return { job: string }?, runner.PlaceProblem? problem
function Via:submit(s)
	local problem, moved
	repeat
		problem, moved = s.unit:push()
		local _ = moved and scheduler.sleep(REST_MS)
	until not moved
	if problem then -- nothing was asked of the queue
		return nil, { kind = problem.kind == "unknown" and "busy" or problem.kind, code = problem.code, message = problem.message,
			suggestion = problem.suggestion }
	end
	local data, unanswered = M.ask(s.executor, { unit = s.unit:address(), submit = { token = s.token, tasks = s.tasks, memory = s.memory } })
	if not data then
		return nil, unanswered
	end
	local job = type(data.submit) == "table" and line(data.submit.job)
	if job then
		return { job = job }
	end
	return nil, problem_of(data.submit)
end

---@param tokens string[]
---@return table<string, runner.workflow.Answer>? states
---@return runner.PlaceProblem? problem also of an answer that is not whole
function Via:states(tokens)
	local data, problem = M.ask(self.executor, { run = self.run, states = json.array(table.move(tokens, 1, #tokens, 1, {})) })
	if not data then
		return nil, problem
	end
	local found = type(data.states) == "table" and data.states or {}
	local problem_there = found.problem and problem_of(found.problem)
	if type(found.placements) ~= "table" then
		return nil, problem_there or problem_of(nil)
	end
	return read_states(found.placements, tokens), problem_there
end

---@param tokens string[]
---@return true? ok, runner.PlaceProblem? problem
function Via:cancel(tokens)
	local data, problem = M.ask(self.executor, { cancel = json.array(table.move(tokens, 1, #tokens, 1, {})) })
	if data and data.cancel ~= true then
		problem = problem_of(data.cancel)
	end
	return not problem or nil, problem
end

local function check(executor, wait_ms)
	local from = host.now()
	local data, problem = M.ask(executor, { limits = true })
	local rows = { { name = "link", ok = data ~= nil, detail = data and ("ssh reaches runner %s on %s, in %d ms"):format(host.launch().version,
		executor.via, math.floor(host.now() - from)) or problem.message, remedy = problem and problem.suggestion } }
	if data then
		data, problem = M.ask(executor, { check = wait_ms }, wait_ms + LIMIT_MS)
	end
	for _, row in ipairs(data and type(data.check) == "table" and data.check or {}) do
		rows[#rows + 1] = { name = line(row.name) or "?", ok = row.ok == true, detail = line(row.detail) or "", remedy = line(row.remedy) }
	end
	if rows[1].ok and not rows[2] then
		rows[2] = { name = "check", ok = false, detail = problem and problem.message or "the answer says nothing of it", remedy = "Try again" }
	end
	return rows
end

---The whole check, made there; outside of scheduler tasks.
---@param executor runner.Executor
---@param wait_ms integer for its tasks
---@return { name: string, ok: boolean, detail: string, remedy?: string }[]
function M.check(executor, wait_ms)
	return scheduler.run(function()
		return check(executor, wait_ms)
	end)
end

return M
