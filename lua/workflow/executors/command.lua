-- command: a place that three programs of the user's drive: submit, states, cancel. Each reads one JSON
-- object on stdin and prints one (docs/scale.md#any-other-queue). What they print is data, never trusted.
-- Call it inside scheduler tasks.

local json = require "runner.json"
local programs = require "runner.workflow.executors.programs"
local tables = require "runner.core.tables"

local M = {}

local VERSION = 1
local MOST = 1000 -- tasks of a submission

local Command = {}
Command.__index = Command

---@param executor runner.Executor
---@param env? table<string, string>
---@return runner.Place
function M.open(executor, env)
	return setmetatable({ executor = executor, env = env or {} }, Command)
end

---@return { array: integer }
function Command:limits()
	return { array = math.min(MOST, self.executor.at_once or MOST) }
end

-- One of the three programs → what it printed; and its result.
function Command:_call(name, request)
	request.version = VERSION
	local env = setmetatable({ RUNNER_EXECUTOR = self.executor.name }, { __index = self.env })
	tables.add(env, self.env)
	local result = programs.run(self.executor[name], { stdin = assert(json.encode(request)) .. "\n", env = env })
	local answer = not result.error and json.decode(result.stdout or "") or nil
	return type(answer) == "table" and answer or nil, result
end

-- --- what they print, pure ---------------------------------------------------------------------

local KINDS = { refused = "PRECONDITION", busy = "UNAVAILABLE", unknown = "UNAVAILABLE" }

local function line(v)
	return type(v) == "string" and v:gsub("%c+", " "):sub(1, 300) or nil
end

---What a submit program said.
---@param answer table?
---@param ok boolean it exited with 0
---@return { job: string }?, runner.PlaceProblem? problem nil: it said nothing that is understood
function M.submitted(answer, ok)
	local e = answer and answer.error
	if type(e) == "table" and KINDS[e.kind] then
		return nil, { kind = e.kind, code = KINDS[e.kind], message = line(e.message) or "the submission was " .. e.kind,
			suggestion = line(e.suggestion) }
	elseif ok and answer and type(answer.job) == "string" and answer.job:find "^[%w_.:/-]+$" and #answer.job <= 200 then
		return { job = answer.job }
	end
end

local STATES = { pending = true, running = true, ended = true }
local ENDS = { completed = true, failed = true, out_of_memory = true, node_failed = true, timeout = true, cancelled = true,
	preempted = true, boot_failed = true }

local UNKNOWN = { state = "unknown" }

-- One that isn't understood may live or not.
local function task_of(v)
	if type(v) ~= "table" or not STATES[v.state] or v.state == "ended" and not ENDS[v.ended] then
		return UNKNOWN
	end
	return { state = v.state, ended = v.state == "ended" and v.ended or nil, reason = line(v.reason), why = line(v.why) or line(v.reason),
		node = line(v.node) }
end

-- What it says of a placement, whose tasks are by number: {"1": {…}} or a list. Numbered otherwise, any of them may be meant.
local function answer_of(v)
	if type(v) ~= "table" or type(v.tasks) ~= "table" then
		return { tasks = {}, unsure = true }, true
	end
	local out, strange = { job = line(v.job), tasks = {} }, false
	for key, entry in next, v.tasks do
		local index, task = math.tointeger(tonumber(key)), task_of(entry)
		if not index or index < 1 then
			return { job = out.job, tasks = {}, rest = UNKNOWN }, true
		end
		out.tasks[index], strange = task, strange or task == UNKNOWN
	end
	return out, strange
end

---What a states program said; nil: it is no answer, so that nothing may be concluded.
---@param answer table?
---@param tokens string[]
---@return table<string, runner.workflow.Answer>?
---@return boolean? strange something in it is not understood; what it is about stays open
function M.read_states(answer, tokens)
	local placements, out, strange = answer and answer.placements, {}, false
	if type(placements) ~= "table" then
		return nil
	end
	for _, token in ipairs(tokens) do
		if placements[token] ~= nil and placements[token] ~= json.null then
			local unclear
			out[token], unclear = answer_of(placements[token])
			strange = strange or unclear
		end
	end
	return out, strange
end

-- --- the five functions -----------------------------------------------------------------------

-- The executor as the programs get it: what it asks for.
local function resources(executor)
	local out = {}
	for _, key in ipairs { "name", "partition", "account", "qos", "cpus", "gpus", "time_ms", "at_once", "prologue", "environment" } do
		out[key] = executor[key]
	end
	out.options = json.array(table.move(executor.options, 1, #executor.options, 1, {}))
	return out
end

---@param s { token: string, tasks: integer, dir: string, argv: string[], executor: runner.Executor, memory?: string }
---@return { job: string }?, runner.PlaceProblem? problem
function Command:submit(s)
	local answer, result = self:_call("submit", { token = s.token, tasks = s.tasks, directory = s.dir, memory = s.memory,
		argv = json.array(table.move(s.argv, 1, #s.argv, 1, {})), executor = resources(s.executor) })
	local submitted, problem = M.submitted(answer, result.ok)
	if submitted or problem then
		return submitted, problem
	elseif result.error then
		return nil, { kind = "refused", code = "PRECONDITION", message = programs.said(self.executor.submit[1], result),
			suggestion = "Correct submit of the executor" }
	end
	return nil, { kind = "unknown", code = "UNAVAILABLE",
		message = result.ok and ("%s printed no {\"job\": …}"):format(self.executor.submit[1]) or programs.said(self.executor.submit[1], result) }
end

---@param tokens string[]
---@return table<string, runner.workflow.Answer>? states
---@return runner.PlaceProblem? problem also of an answer that is not whole
function Command:states(tokens)
	local answer, result = self:_call("states", { tokens = json.array(table.move(tokens, 1, #tokens, 1, {})) })
	if not result.ok then
		return nil, programs.unknown(self.executor.states[1], result)
	end
	local states, strange = M.read_states(answer, tokens)
	return states, (strange or not states) and { kind = "unknown", code = "UNAVAILABLE",
		message = ("%s printed something that can't be read: %s"):format(self.executor.states[1], (result.stdout:gsub("%c+", " "):sub(1, 200))) }
		or nil
end

---@param tokens string[]
---@return true? ok, runner.PlaceProblem? problem
function Command:cancel(tokens)
	local _, result = self:_call("cancel", { tokens = json.array(table.move(tokens, 1, #tokens, 1, {})) })
	if not result.ok then
		return nil, programs.unknown(self.executor.cancel[1], result)
	end
	return true
end

---Whether the programs are there and speak the format.
---@return { name: string, ok: boolean, detail: string, remedy?: string }[]
function Command:check()
	local states, problem = self:states { "rn-check.0" }
	local unknown = states and not states["rn-check.0"]
	return { { name = "states", ok = unknown or false,
		detail = problem and problem.message or unknown and "it answers, and doesn't know a token that was never submitted"
			or "it says that it knows a token that was never submitted",
		remedy = not unknown and "Correct the program: docs/scale.md#any-other-queue" or nil } }
end

return M
