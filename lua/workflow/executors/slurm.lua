-- slurm: a place whose tasks Slurm runs. A submission is one array, its name is the token: an id is no
-- identity, since a controller that lost a job gives its number out again. Nothing here remembers
-- anything: what is asked is asked of the controller. Call it inside scheduler tasks. The script and the
-- arguments of a submission, and what sbatch, squeue and scontrol print, are in pure functions, tested
-- with recorded output of Slurm 22.05; formats are those of sbatch(1), squeue(1) and scontrol(1).

local fs = require "runner.fs"
local command_line = require "runner.core.command_line"
local programs = require "runner.workflow.executors.programs"
local tables = require "runner.core.tables"

local M = {}

-- --- a submission ----------------------------------------------------------------------------

---The script of a task. The job *is* runner: exec, so that its end is the end of the job, and what Slurm signals
---is runner.
---@param argv string[] without the index of the task, which is the last word
---@param executor runner.Executor
---@return string
function M.script(argv, executor)
	local lines = { executor.prologue and "#!/bin/bash -l" or "#!/bin/sh" }
	for _, name in ipairs(tables.sorted_keys(executor.environment)) do
		lines[#lines + 1] = ("export %s=%s"):format(name, command_line.quoted(executor.environment[name]))
	end
	lines[#lines + 1] = executor.prologue
	lines[#lines + 1] = ("exec %s \"$SLURM_ARRAY_TASK_ID\""):format(command_line.line(argv))
	return table.concat(lines, "\n") .. "\n"
end

local function time_text(ms)
	local seconds = math.max((ms + 999) // 1000, 1)
	return ("%d:%02d"):format(seconds // 60, seconds % 60)
end

local FLAGS = { { "partition", "--partition=" }, { "account", "--account=" }, { "qos", "--qos=" },
	{ "cpus", "--cpus-per-task=" }, { "gpus", "--gpus=" } }

---The arguments of sbatch for an executor, without those of one submission.
---@param executor runner.Executor
---@param memory? string
---@return string[]
local function resource_flags(executor, memory)
	local out = { "--nodes=1", "--ntasks=1" }
	for _, row in ipairs(FLAGS) do
		out[#out + 1] = executor[row[1]] and row[2] .. executor[row[1]] or nil
	end
	out[#out + 1] = memory and "--mem=" .. memory or nil
	out[#out + 1] = executor.time_ms and "--time=" .. time_text(executor.time_ms) or nil
	return table.move(executor.options, 1, #executor.options, #out + 1, out)
end

---The command line of a submission. --export=NONE: what this process has in its environment reaches no
---node; --no-requeue: a second incarnation is ours to start.
---@param s { token: string, tasks: integer, dir: string, executor: runner.Executor, memory?: string }
---@return string[]
function M.sbatch(s)
	local at_once = s.executor.at_once and s.executor.at_once < s.tasks and "%" .. s.executor.at_once or ""
	local argv = { "sbatch", "--parsable", "--export=NONE", "--no-requeue", "--job-name=" .. s.token,
		("--array=1-%d%s"):format(s.tasks, at_once), "--chdir=" .. s.dir, "--open-mode=append",
		("--output=%s/%s.out"):format((s.dir:gsub("%%", "%%%%")), s.token) }
	local resources = resource_flags(s.executor, s.memory)
	return table.move(resources, 1, #resources, #argv + 1, argv)
end

---The id that sbatch --parsable prints, "123" or "123;cluster".
---@param text string
---@return string?
function M.job(text)
	return text:match "^(%d+)\n?$" or text:match "^(%d+);[%w_.-]+\n?$"
end

-- --- refusals -----------------------------------------------------------------------------------

-- What sbatch says → what it is, what it means at the site, and what to do. First match wins.
local REFUSALS = {
	{ "partition", "refused", "the partition doesn't exist, or isn't open to you",
		"sinfo lists the partitions; set partition of the executor" },
	{ "invalid account", "refused", "the account, or its combination with the partition or QOS, isn't yours",
		"sacctmgr show associations user=$USER lists yours; set account of the executor" },
	{ "invalid qos", "refused", "the quality of service doesn't exist, or isn't yours",
		"sacctmgr show qos lists them; set qos of the executor" },
	{ "maxsubmit", "busy", "so many jobs of yours are queued that the site takes no more" },
	{ "qosmaxsubmit", "busy", "so many jobs of yours are queued that the site takes no more" },
	{ "violates accounting/qos policy", "busy", "a limit of the site on your jobs is reached: their number, size or time" },
	{ "job submit limit", "busy", "so many jobs of yours are queued that the site takes no more" },
	{ "temporarily unable to accept", "busy", "the controller takes no jobs for now" },
	{ "resource temporarily unavailable", "busy", "the controller takes no jobs for now" },
	{ "job array specification", "refused", "an array is larger than the site allows (MaxArraySize)" },
	{ "node configuration is not available", "refused", "no node has so much memory, so many processors or such a feature",
		"sinfo -o '%P %c %m %f %G' lists what nodes have; lower memory, cpus or gpus of the executor" },
	{ "memory specification", "refused", "no node has so much memory", "Lower memory of the executor" },
	{ "invalid feature", "refused", "no node has this feature", "Correct options of the executor" },
	{ "generic resource", "refused", "the cluster has no such GPUs", "sinfo -o '%P %G' lists them; correct gpus of the executor" },
	{ "time limit", "refused", "the partition doesn't allow so much time", "sinfo -o '%P %l' lists the limits; lower time of the executor" },
	{ "unrecognized option", "refused", "sbatch doesn't know a word of options", "Correct options of the executor" },
	{ "invalid option", "refused", "sbatch doesn't know a word of options", "Correct options of the executor" },
	{ "reservation is invalid", "refused", "the reservation doesn't exist, or isn't yours", "Correct options of the executor" },
	{ "invalid license", "refused", "the cluster has no such license", "Correct options of the executor" },
	{ "dependency problem", "refused", "a job that it should wait for can't be waited for", "Correct options of the executor" },
	{ "invalid node name", "refused", "the cluster has no such node", "Correct options of the executor" },
	{ "invalid wckey", "refused", "the workload characterization key isn't yours", "Correct options of the executor" },
	{ "burst buffer", "refused", "the cluster has no such burst buffer", "Correct options of the executor" },
	{ "operation not supported", "refused", "the cluster doesn't support what options ask for", "Correct options of the executor" },
	{ "invalid %-%-", "refused", "sbatch doesn't take a value of the executor" },
	{ "access/permission denied", "refused", "you may not submit here" },
	{ "user's group not permitted", "refused", "your groups may not use this partition" },
}

---What a failed sbatch means: whatever isn't known leaves open whether the job is in the queue.
---@param said string what it printed, in one line
---@return runner.PlaceProblem
function M.refusal(said)
	local text = said:lower()
	for _, row in ipairs(REFUSALS) do
		if text:find(row[1]) then
			return { kind = row[2], code = row[2] == "busy" and "UNAVAILABLE" or "PRECONDITION",
				message = ("Slurm: %s (%s)"):format(row[3], said), suggestion = row[4]
					or row[2] == "busy" and "Nothing needs to be done: it is submitted again later" or nil }
		end
	end
	return { kind = "unknown", code = "UNAVAILABLE", message = said }
end

-- --- squeue -------------------------------------------------------------------------------------

local FORMAT = "%i|%j|%T|%r|%N"

-- %T of squeue(1) → pending, running or ended, and how it ended. What has left the node but is not
-- yet tidied up (COMPLETING) runs.
local STATES = {
	PENDING = { "pending" }, CONFIGURING = { "pending" }, REQUEUED = { "pending" }, REQUEUE_HOLD = { "pending" },
	REQUEUE_FED = { "pending" }, RESV_DEL_HOLD = { "pending" }, SPECIAL_EXIT = { "pending" },
	RUNNING = { "running" }, EXPEDITING = { "running" }, COMPLETING = { "running" }, RESIZING = { "running" }, SIGNALING = { "running" },
	STAGE_OUT = { "running" }, STOPPED = { "running" }, SUSPENDED = { "running" },
	COMPLETED = { "ended", "completed" }, FAILED = { "ended", "failed" }, CANCELLED = { "ended", "cancelled" },
	TIMEOUT = { "ended", "timeout" }, DEADLINE = { "ended", "timeout" }, OUT_OF_MEMORY = { "ended", "out_of_memory" },
	NODE_FAIL = { "ended", "node_failed" }, PREEMPTED = { "ended", "preempted" }, BOOT_FAIL = { "ended", "boot_failed" },
	REVOKED = { "ended", "cancelled" },
}

-- %r of squeue(1) → what a person makes of it. Patterns, first match wins.
local REASONS = {
	{ "^None$", nil }, { "^Priority$", "jobs of a higher priority are in front" }, { "^Resources$", "waits for nodes to be free" },
	{ "^JobArrayTaskLimit$", "at_once of the executor is reached" }, { "^Dependency", "waits for another job" },
	{ "^BeginTime$", "its time to begin has not come" }, { "^JobHeld", "held: scontrol release lets it go" },
	{ "^QOSMax.*PerUser", "a limit of the QOS on your jobs is reached; it starts as others end" },
	{ "^QOS", "a limit of the QOS is reached; it starts as other jobs end" },
	{ "^Assoc", "a limit of your account is reached; it starts as other jobs end" },
	{ "^MaxGRES", "a limit on GPUs is reached" }, { "^PartitionDown", "the partition is down" },
	{ "^PartitionInactive", "the partition takes no jobs" }, { "^PartitionTimeLimit$", "asks for more time than the partition allows" },
	{ "^PartitionNodeLimit$", "asks for more nodes than the partition allows" },
	{ "^PartitionConfig", "asks for more than the partition has" },
	{ "^ReqNodeNotAvail", "the nodes that could run it are down, drained or reserved" },
	{ "^NodeDown$", "its node is down" }, { "^BadConstraints$", "no node fits what it asks for" },
	{ "^Reservation", "waits for a reservation" },
	{ "^Licenses$", "waits for a license" }, { "^AccountNotAllowed$", "the partition doesn't take this account" },
	{ "^QOSNotAllowed$", "the partition doesn't take this QOS" }, { "^InvalidAccount$", "the account is invalid" },
	{ "^InvalidQOS$", "the QOS is invalid" }, { "^launch_failed", "its node could not start it; scontrol release tries again" },
}

---What a reason means, for people; nil: there is nothing to say.
---@param reason string
---@return string?
function M.why(reason)
	for _, row in ipairs(REASONS) do
		if reason:find(row[1]) then
			return row[2]
		end
	end
	return reason ~= "" and reason or nil
end

local RANK = { unknown = 4, running = 3, pending = 2, ended = 1 }
local UNKNOWN = { state = "unknown" }

local function higher(one, other)
	return (not one or RANK[other.state] > RANK[one.state]) and other or one
end

-- A late twin of a submission has the same name: what lives hides what has ended. A line without an index is
-- of all tasks that have none of their own: Slurm has never split them off.
local function add_task(placement, job, index, task)
	placement.unsure = nil
	if index then
		placement.tasks[index] = higher(placement.tasks[index], task)
	else
		placement.rest = higher(placement.rest, task)
	end
	placement.job = (not placement.job or tonumber(job) > tonumber(placement.job)) and job or placement.job
end

-- One line of squeue: name, job, index, task; of a state that a later Slurm may have, it is unknown whether the
-- task lives; nil: it is no such line.
local function read_line(line)
	local job, of_array, name, state, reason, node = line:match "^(%d+)(_?%d*)|([%w.-]+)|([^|]+)|(.*)|([^|]*)$"
	if not job or of_array == "_" then
		return nil
	end
	local known = STATES[state] or { "unknown" }
	return name, job, math.tointeger(tonumber(of_array:sub(2))), { state = known[1], ended = known[2],
		reason = reason ~= "None" and reason or nil, why = known[1] == "pending" and M.why(reason) or nil, node = node ~= "" and node or nil }
end

-- What a line that can't be read is about: the token that it names; else all of them.
local function tokens_of(line, tokens)
	for _, token in ipairs(tokens) do
		if line:find(("|%s|"):format(token), 1, true) then
			return { token }
		end
	end
	return tokens
end

---What squeue --array printed of these tokens.
---@param text string
---@param tokens string[]
---@return table<string, runner.workflow.Answer> answers
---@return string? line the first one that isn't what it should be
function M.states(text, tokens)
	local out, strange = {}, nil
	local function of(token)
		out[token] = out[token] or { tasks = {}, unsure = true }
		return out[token]
	end
	local known = {}
	for _, token in ipairs(tokens) do
		known[token] = true
	end
	for line, ending in text:gmatch "([^\n]*)(\n?)" do
		local name, job, index, task = read_line(line)
		local cut = ending == "" and line ~= ""
		if cut or ending ~= "" and not name then
			strange = strange or line
			for _, token in ipairs(cut and tokens or tokens_of(line, tokens)) do
				of(token).rest = UNKNOWN
			end
		elseif known[name] then
			add_task(of(name), job, index, task)
		end
	end
	return out, strange
end

-- --- scontrol show config -----------------------------------------------------------------------

---The largest array that the controller takes: indexes end one below MaxArraySize.
---@param text string
---@return integer?
function M.largest_array(text)
	local size = math.tointeger(tonumber(text:match "\nMaxArraySize%s*=%s*(%d+)\n"))
	local tasks = math.tointeger(tonumber(text:match "\nSchedulerParameters%s*=[^\n]*max_array_tasks=(%d+)"))
	return size and size > 1 and math.min(size - 1, tasks or math.huge) or nil
end

-- Variables of the environment that make Slurm's programs show less than there is, look elsewhere, or submit something else
-- than runner says: those of all releases from 22.05 to 26.11. What is meant for submissions (SBATCH_ACCOUNT …) is passed on.
local UNSET = {
	SQUEUE_ = [[ACCOUNT ALL ARRAY FEDERATION FORMAT FORMAT2 LICENSES LOCAL NAMES PARTITION PRIORITY QOS SIB SIBLING SORT STATES USERS]],
	SCANCEL_ = [[ACCOUNT BATCH CRON CTLD FULL HURRY INTERACTIVE NAME PARTITION QOS STATE USER VERBOSE WCKEY]],
	SCONTROL_ = [[ALL FEDERATION FUTURE LOCAL SIB SIBLING]],
	SLURM_ = [[BITSTR_LEN CLUSTERS DEBUG_FLAGS EXIT_ERROR TIME_FORMAT TOPO_LEN]],
	SBATCH_ = [[ARRAY_INX CLUSTERS DEBUG ERROR EXPORT INPUT JOB_NAME NO_REQUEUE OPEN_MODE OUTPUT REQUEUE SIGNAL WAIT]],
}

-- Those that are set here, in order.
local function unset_here()
	local list = {}
	for prefix, names in pairs(UNSET) do
		for name in names:gmatch "%S+" do
			list[#list + 1] = os.getenv(prefix .. name) and prefix .. name or nil
		end
	end
	table.sort(list)
	return list
end

local SMALLEST = 1000 -- Slurm's own default of MaxArraySize, less one
local NAMES = 200 -- in one squeue, so that its command line stays short

---@class runner.Place
---@field executor runner.Executor
---@field env table<string, string> of the programs that are started here
local Slurm = {}
Slurm.__index = Slurm

---@param executor runner.Executor
---@param env? table<string, string>
---@return runner.Place
function M.open(executor, env)
	local own = tables.add({}, env or {})
	for _, name in ipairs(unset_here()) do
		own[name] = false
	end
	return setmetatable({ executor = executor, env = own, user = tostring(assert(fs.stat "/proc/self").uid) }, Slurm)
end

function Slurm:_run(argv, stdin)
	return programs.run(argv, { stdin = stdin, env = self.env })
end

---@return { array: integer } the most tasks of a submission
function Slurm:limits()
	if not self.array then
		local result = self:_run { "scontrol", "show", "config" }
		self.array = result.ok and M.largest_array(result.stdout) or nil
	end
	return { array = self.array or SMALLEST }
end

---Submit an array. The caller has committed the token before.
---@param s { token: string, tasks: integer, dir: string, argv: string[], executor: runner.Executor, memory?: string }
---@return { job: string }?, runner.PlaceProblem? problem
function Slurm:submit(s)
	local result = self:_run(M.sbatch(s), M.script(s.argv, s.executor))
	local job = result.ok and M.job(result.stdout)
	if job then
		return { job = job }
	elseif result.error then
		return nil, { kind = "refused", code = "PRECONDITION", message = programs.said("sbatch", result),
			suggestion = "Is this a machine of the cluster from which jobs are submitted?" }
	elseif result.ok then
		return nil, { kind = "unknown", code = "UNAVAILABLE", message = "sbatch printed no job id" }
	elseif result.timed_out or result.signal then
		return nil, programs.unknown("sbatch", result)
	end
	return nil, M.refusal(programs.said("sbatch", result))
end

function Slurm:_squeue(names)
	local result = self:_run { "squeue", "--noheader", "--array", "--states=all", "--user=" .. self.user,
		"--name=" .. table.concat(names, ","), "--format=" .. FORMAT }
	if not result.ok then
		return nil, programs.unknown("squeue", result)
	end
	local states, line = M.states(result.stdout, names)
	return states, line and { kind = "unknown", code = "UNAVAILABLE",
		message = ("squeue printed a line that can't be read: %s"):format(line:sub(1, 200)) } or nil
end

---What the controller knows of these tokens: one that it doesn't know is not in the answer.
---@param tokens string[]
---@return table<string, runner.workflow.Answer>? states nil: conclude nothing
---@return runner.PlaceProblem? problem also of an answer that is not whole
function Slurm:states(tokens)
	local out, unread = {}, nil
	for first = 1, #tokens, NAMES do
		local some, problem = self:_squeue(table.move(tokens, first, math.min(first + NAMES - 1, #tokens), 1, {}))
		if not some then
			return nil, problem
		end
		tables.add(out, some)
		unread = unread or problem
	end
	return out, unread
end

---End the tasks of these tokens, pending or running. It comes back before they are gone.
---@param tokens string[]
---@return true? ok, runner.PlaceProblem? problem
function Slurm:cancel(tokens)
	for _, token in ipairs(tokens) do
		local result = self:_run { "scancel", "--user=" .. self.user, "--name=" .. token }
		if not result.ok then
			return nil, programs.unknown("scancel", result)
		end
	end
	return true
end

-- --- check ---------------------------------------------------------------------------------------

function Slurm:_check_controller(rows)
	local result = self:_run { "scontrol", "show", "config" }
	local unset, version = unset_here(), result.ok and result.stdout:match "\nSLURM_VERSION%s*=%s*(%S+)"
	rows[1] = { name = "controller", ok = version ~= nil and version ~= false,
		detail = version and ("Slurm %s answers; arrays have up to %d tasks%s"):format(version, self:limits().array,
				unset[1] and "; not passed on from the environment: " .. table.concat(unset, ", ") or "")
			or programs.said("scontrol", result),
		remedy = not version and "Install Slurm's client programs, and check that slurmctld runs: scontrol ping" or nil }
	return version
end

function Slurm:_check_request(rows)
	local memory = self.executor.memory
	local argv = { "sbatch", "--test-only", "--export=NONE", "--no-requeue" }
	local resources = resource_flags(self.executor, memory and memory[#memory])
	local result = self:_run(table.move(resources, 1, #resources, #argv + 1, argv), "#!/bin/sh\ntrue\n")
	local said = programs.said("sbatch", result)
	local problem = not result.ok and M.refusal(said)
	rows[#rows + 1] = { name = "request", ok = result.ok, detail = problem and problem.message
		or "a task with these resources can be submitted" .. (memory and " with " .. memory[#memory] or ""),
		remedy = problem and (problem.suggestion or "Ask the site which partition, account and limits are yours") or nil }
end

---Whether the queue is there, and would take a task.
---@return { name: string, ok: boolean, detail: string, remedy?: string }[]
function Slurm:check()
	local rows = {}
	if self:_check_controller(rows) then
		self:_check_request(rows)
	end
	return rows
end

return M
