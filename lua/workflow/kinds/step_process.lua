-- step_process: what every kind of step has in common: the environment, working
-- directory and limits of its process, and the fields of its outcome. Runs in the
-- worker; it starts nothing.

local errors = require "runner.core.errors"
local json = require "runner.json"
local variables = require "runner.workflow.expr.variables"
local paths = require "runner.core.paths"
local command_line = require "runner.core.command_line"
local tables = require "runner.core.tables"

local M = {}

local CAP = 1 << 20 -- bytes kept of each stream: head and tail
local GRACE_MS = 2000
local TAIL = 4096
local DATA_MAX = 1 << 20

---Variables that would lead git to another repository than that of the working directory.
M.OWN_REPOSITORY = { GIT_DIR = false, GIT_WORK_TREE = false, GIT_INDEX_FILE = false, GIT_COMMON_DIR = false, GIT_NAMESPACE = false,
	GIT_OBJECT_DIRECTORY = false, GIT_ALTERNATE_OBJECT_DIRECTORIES = false, GIT_PREFIX = false }

-- Later ones win: the workflow's, the step's, the values of a shell text, ours.
local function environment(step, scope, settings, values)
	local env = tables.add({}, settings.env)
	if scope.cwd then -- in a worktree: git finds its repository by the directory
		tables.add(env, M.OWN_REPOSITORY)
	end
	for name, template in pairs(step.env or {}) do
		env[name] = variables.expand(template, scope)
	end
	tables.add(env, values)
	env.RUNNER_AUTOMATION, env.RUNNER_LOG_KEPT = "true", "1"
	return env
end

local function entry(name, value)
	value = variables.text(value)
	if command_line.has_nul(value) then
		errors.raise("PRECONDITION", ("The environment variable %s would contain a NUL byte"):format(name),
			{ suggestion = "Pass the value in a file" })
	elseif #name + #value >= command_line.MAX then
		errors.raise("PRECONDITION", ("The environment variable %s is %d bytes long; the system allows at most %d")
			:format(name, #value, command_line.MAX), { suggestion = "Write the value to a file (output_file) and pass its name" })
	end
	return name .. "=" .. value
end

-- false: a variable that is to be unset, as process.start takes it.
local function entries(env)
	local list = {}
	for name, value in pairs(env) do
		list[#list + 1] = value == false and name or entry(name, value)
	end
	table.sort(list)
	return list
end

-- A path of the step; relative ones start at `from`.
local function path_of(step, key, scope, from)
	local path = variables.expand(step[key], scope)
	if path == "" or command_line.has_nul(path) then
		errors.raise("PRECONDITION", ("%s of step %s %s"):format(key, step.key, path == "" and "is empty once its variables are expanded"
			or "would contain a NUL byte"), { suggestion = ("Set the variables in %s so that it is a path"):format(key) })
	end
	return paths.absolute(path, from)
end

-- Where it runs, and the file that its output goes to.
local function places(step, scope, settings)
	local from = scope.cwd or settings.cwd
	local cwd = step.working_dir and path_of(step, "working_dir", scope, from or ".") or from
	return cwd, step.output_file and path_of(step, "output_file", scope, cwd or ".") or nil
end

-- The system passes no NUL and no argument above its limit.
local function check_argument(text, n, what)
	if command_line.has_nul(text) then
		errors.raise("PRECONDITION", ("%s contains a NUL byte, which a program argument can't contain"):format(what),
			{ suggestion = "Pass the value in a file" })
	elseif #text > command_line.MAX then
		errors.raise("PRECONDITION", ("%s is %d bytes long; the system passes at most %d to a program in one piece")
			:format(what, #text, command_line.MAX), { suggestion = "Write the long part to a file and pass its name", context = { argument = n } })
	end
end

---What runner.process.start takes, and the text for logs.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param settings {cwd: string, env: table<string, any>, self: string, claude: table}
---@param argv string[]
---@param described string the expanded text of the step
---@param values? table<string, string> more environment
---@return table options
function M.options(step, scope, settings, argv, described, values)
	for i, argument in ipairs(argv) do
		check_argument(argument, i, ("The text of step %s"):format(step.key or step.kind))
	end
	local cwd, output_file = places(step, scope, settings)
	local options = {
		argv = argv, env = entries(environment(step, scope, settings, values)), cwd = cwd, output_file = output_file,
		cap = CAP, grace_ms = step.grace_ms or GRACE_MS, capture = true, shepherd = true,
		timeout_ms = step.timeout_ms, described = described,
	}
	if step.confine then
		require("runner.workflow.kinds.confinement").prepare(step, options, scope.cwd or settings.cwd, scope.writable)
	end
	return options
end

---Its process has ended.
---@param options table of M.options
function M.finish(options)
	if options.tempdir then
		require("runner.workflow.kinds.confinement").finish(options)
	end
end

---What retry rules and the classification need to know of a step.
---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@return table
function M.rules(step, result, settings)
	local retry, limit = step.retry, step.timeout_ms
	if limit and result.duration_ms < limit then
		limit = nil -- a shorter limit ended it
	end
	return { rules = retry and retry.rules, on = retry and retry.policy and retry.policy.on, retry = retry ~= nil,
		mask = settings.mask, limit_ms = limit, maybe = retry and retry.policy and retry.policy.maybe,
		unknown_transient = retry and retry.unknown_transient }
end

-- What is a JSON object or array is data too.
local function data_of(text)
	if #text > DATA_MAX or not text:find "^%s*[{[]" then
		return nil
	end
	local v = json.decode(text)
	return type(v) == "table" and v or nil
end

local NEWLINES = { [10] = true, [13] = true }

---A text without the newlines at its end, as $( ) gives it. (A pattern would take a time
---that is quadratic in the length of a run of newlines.)
---@param text string
---@return string
function M.trimmed(text)
	local last = #text
	while NEWLINES[text:byte(last)] do
		last = last - 1
	end
	return text:sub(1, last)
end

---The outcome of a success.
---@param result runner.Result
---@param output string newlines at its end are left out, as $( ) does
---@param data any default: the output, where it is JSON
---@return table
function M.success(result, output, data)
	output = M.trimmed(output)
	if data == nil then
		data = data_of(output)
	end
	return { ok = true, output = output, data = data, status = result.status, duration_ms = result.duration_ms,
		truncated = result.truncated }
end

---Make a failure of a success with a number in its data that is too low. The output may be `score` alone.
---@param threshold table<string, number> the least, by member
---@param outcome table changed
function M.hold_to(threshold, outcome)
	local data = type(outcome.data) == "table" and outcome.data or { score = tonumber(outcome.output) }
	for _, name in ipairs(tables.sorted_keys(threshold)) do
		local value = data[name]
		if type(value) ~= "number" or value < threshold[name] then
			outcome.ok, outcome.code, outcome.transient = false, "CHECK_FAILED", false
			outcome.message = ("%s of its data is %s, and has to be %s at least"):format(name, value == nil and "missing" or json.encode(value),
				json.encode(threshold[name]))
			return
		end
	end
end

---The outcome of a failure.
---@param result runner.Result
---@param verdict runner.workflow.Verdict
---@param output string
---@param settings table
---@return table
function M.failure(result, verdict, output, settings)
	local stderr = settings.mask and settings.mask(result.stderr) or result.stderr -- before it is cut
	return {
		ok = false, output = M.trimmed(output), status = result.status, signal = result.signal,
		duration_ms = result.duration_ms, truncated = result.truncated, suggestion = result.suggestion,
		code = verdict.code, message = verdict.message, reason = verdict.reason, transient = verdict.transient,
		retry_after_ms = verdict.retry_after_ms, resets = verdict.resets,
		context = { status = result.status, signal = result.signal, errno = result.errno,
			stderr = stderr ~= "" and stderr:sub(-TAIL) or nil },
	}
end

return M
