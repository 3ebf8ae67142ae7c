-- start: a job from a call: its folder, and the runner that makes the call there, in a session of
-- its own. Whoever finds the folder's record finds a job that runs, has ended, or is lost:
-- the lock is taken before the record is written, and handed over with the start.

local errors = require "runner.core.errors"
local folder = require "runner.jobs.folder"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local process = require "runner.process"

local M = {}

local PRIVATE_FOLDER, PRIVATE_FILE = 448, 384 -- 0700, 0600
local RESERVE = (" "):rep(4096) -- JOB_RESERVE of src/supervisor/job.h
local CHUNK = 1 << 16

-- What belongs to the run that starts the job, and not to the job.
local NOT_INHERITED = { "RUNNER_DEADLINE_MS", "RUNNER_OUTER_RETRIES", "RUNNER_TEMPDIR", "RUNNER_ARGUMENTS", "RUNNER_NEEDS" }

local function need(result, message, errno)
	if not result then
		folder.raise(message, errno)
	end
	return result
end

-- What the job reads from a file: the words that it is handed, and behind them the caller's
-- stdin, as far as the command reads it.
local function spool(a, path, words)
	need(fs.write(path, words .. (a.spooled or ""), PRIVATE_FILE))
	if a.spooled or not a.command.stdin or a.launch.stdin_is_tty then
		return
	end
	host.take_stdin()
	local file = assert(io.open(path, "ab"))
	for text in function() return io.read(CHUNK) end do
		local ok, message = file:write(text)
		need(ok, message, "ENOSPC")
	end
	local ok, message = file:close()
	need(ok, message, "ENOSPC")
	need(fs.fsync(path))
end

local function environment(path, words)
	local env = table.move(NOT_INHERITED, 1, #NOT_INHERITED, 1, {})
	env[#env + 1], env[#env + 2] = "RUNNER_JOB=" .. path, "RUNNER_LOG_KEPT=1"
	if words ~= "" then
		env[#env + 1] = ("RUNNER_ARGUMENTS=stdin:%d"):format(#words)
	end
	return env
end

-- The first of the words that the job gets on stdin, where nobody sees them in a list of
-- processes: those that we got there, and all where one may be a secret.
local function first_handed(a)
	return a.handed or a.mask and 1 or #a.launch.argv + 1
end

-- The same call; a person's yes is passed on.
local function words(a)
	local argv = { invoke.program() }
	if a.unconfirmed or a.vouched and a.command.danger_level == "destructive" then
		argv[2] = "--confirm-destructive"
	end
	return table.move(a.launch.argv, 1, first_handed(a) - 1, #argv + 1, argv)
end

local function handed_words(a)
	local first = first_handed(a)
	local some = a.handed or first <= #a.launch.argv
	return some and assert(json.encode(json.array(table.move(a.launch.argv, first, #a.launch.argv, 1, {})))) or ""
end

local function write_files(a, path, record)
	need(fs.write(path .. "/answer.part", RESERVE, PRIVATE_FILE))
	need(fs.write(path .. "/log", "", PRIVATE_FILE))
	need(fs.write(path .. "/progress", "", PRIVATE_FILE)) -- so that it can be watched from the start
	spool(a, path .. "/input", handed_words(a))
	need(fs.write(path .. "/record.json", assert(json.encode(record, { envelope = true })) .. "\n", PRIVATE_FILE))
end

local function spawn(a, path, lock)
	local input <close> = assert(io.open(path .. "/input", "rb"))
	local argv = words(a)
	local handle, message, _, context = process.start {
		argv = argv, argv0 = invoke.name(), env = environment(path, handed_words(a)), detach = true, lock = lock, stdin_file = input,
		stderr = path .. "/log", cwd = a.came_from,
	}
	if not handle then
		errors.raise("RESOURCE_EXHAUSTED", "Can't start the job: " .. tostring(message), { side_effects = "none",
			context = type(context) == "table" and context or nil })
	end
	fs.unlink(path .. "/input") -- the job has it open: what may be secret in it stays nowhere
end

-- A cancellation comes before the job runs, or when its caller has been told of it.
local function fill(a, path, record, lock, tell)
	write_files(a, path, record)
	host.shielded(function()
		spawn(a, path, lock)
		tell(record.id)
	end)
end

---Start a job that makes this very call.
---@param a runner.Attempt
---@param record table what is remembered of it, without secrets
---@param tell fun(id: string) called when it runs: no cancellation comes in between
---@return string id
function M.job(a, record, tell)
	local id = "job_" .. a.launch.request_id:match "[^_]+$"
	local path = folder.root() .. "/" .. id
	need(fs.mkdirs(path, PRIVATE_FOLDER))
	local lock, why, about = fs.lock(path .. "/lock")
	need(lock, why, about)
	record.id = id
	local ok, raised = host.protect(fill, a, path, record, lock, tell) -- a cancellation, too: what is half made goes
	lock:release()
	if not ok and not fs.locked(path .. "/lock") then -- else it runs: we are told to end just after its start
		fs.remove_tree(path)
	end
	if not ok then
		error(raised, 0)
	end
	pcall(folder.forget_old, host.wall_ms())
	return id
end

return M
