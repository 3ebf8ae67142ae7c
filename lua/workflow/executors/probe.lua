-- probe: does an executor do what runs need of it? Two small tasks are placed on it, as a run would
-- place its own: they look at the shared directory, its locks, the clock and runner itself, each
-- writes what it saw, and the side that asked judges it.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local step_folder = require "runner.workflow.executors.step_folder"

local M = {}

local LOOK_MS, TOGETHER_MS = 100, 20000
local LOOKS = 10 -- at the directory for each one at the queue
local CLOCK_MS = 5000 -- a difference that makes dates of wake-ups wrong

-- --- a task ------------------------------------------------------------------------------------

local function node()
	return (fs.read "/proc/sys/kernel/hostname" or ""):match "%S+" or "?"
end

-- By the listing: a directory that was just read is not answered from an old cache (nfs(5)).
local function there(dir, name)
	for _, found in ipairs(fs.list(dir) or {}) do
		if found == name then
			return true
		end
	end
	return false
end

local function wait_for(dir, name, ms)
	local give_up = host.now() + ms
	while not there(dir, name) and host.now() < give_up do
		scheduler.sleep(LOOK_MS)
	end
	return there(dir, name)
end

local function say(dir, index, row)
	row.node, row.version, row.at_ms = node(), attempt.launch.version, host.wall_ms()
	assert(fs.write(("%s/%d.json"):format(dir, index), json.encode(row), 384)) -- 0600
end

-- The first holds the lock until the second has tried it; the second says what it found.
local function hold(dir)
	local lock = fs.lock(dir .. "/lock")
	say(dir, 1, { locked = lock ~= nil })
	wait_for(dir, "2.json", TOGETHER_MS)
	fs.write(dir .. "/1.end", "", 384)
	if lock then
		lock:release()
	end
end

local function try(dir)
	local first = wait_for(dir, "1.json", TOGETHER_MS) and not there(dir, "1.end")
	local lock = first and fs.lock(dir .. "/lock")
	local together = first and not there(dir, "1.end")
	if lock then
		lock:release()
	end
	say(dir, 2, { together = together or false, locked = lock and true or false })
end

---What a task does, on its node.
---@param dir string as M.run made it
---@param index integer 1 or 2
function M.task(dir, index)
	scheduler.run(function()
		(index == 1 and hold or try)(dir)
	end)
end

-- --- the side that asks ----------------------------------------------------------------------------

local function read(dir, index)
	local row = json.decode(fs.read(("%s/%d.json"):format(dir, index), 4096) or "")
	return type(row) == "table" and type(row.at_ms) == "number" and type(row.node) == "string" and row or nil
end

local function row(name, ok, detail, remedy)
	return { name = name, ok = ok, detail = detail, remedy = not ok and remedy or nil }
end

-- Our own try at the lock that the first task holds; nil: it holds it no more.
local function try_here(dir)
	local lock = fs.lock(dir .. "/lock")
	if lock then
		lock:release()
	end
	return there(dir, "1.end") == false and lock == nil or nil
end

local function tasks_of(place, token)
	local states = place:states { token }
	return states and states[token] and states[token].tasks or {}
end

-- What has come since the last look.
local function look(dir, seen)
	for index = 1, 2 do
		if not seen[index] and there(dir, index .. ".json") then
			seen[index] = read(dir, index)
			seen.held = seen.held or index == 1 and seen[1] and seen[1].locked and try_here(dir)
			seen[index .. "_ms"] = host.wall_ms()
		end
	end
	return seen[1] and seen[2]
end

local function both_ended(tasks)
	return #tasks == 2 and tasks[1].state == "ended" and tasks[2].state == "ended"
end

-- The first reason that the queue gives for tasks that have not begun.
local function why_none(place, token)
	local tasks = tasks_of(place, token)
	if both_ended(tasks) then
		return (": they ended (%s)"):format(tasks[1].ended)
	end
	for _, task in pairs(tasks) do
		if task.why or task.reason then
			return (" (%s)"):format(task.why or task.reason)
		end
	end
	return ""
end

-- Waits until both tasks have said what they saw, or have ended without, or the time is over.
local function watch(place, about)
	local give_up, seen, looks = host.now() + about.wait_ms, {}, 0
	while not look(about.dir, seen) and host.now() < give_up do
		looks = looks + 1
		if looks % LOOKS == 0 and both_ended(tasks_of(place, about.token)) then
			look(about.dir, seen)
			break
		end
		scheduler.sleep(LOOK_MS)
	end
	return seen
end

local function judge_clock(one, from, to)
	local off = one.at_ms < from and one.at_ms - from or one.at_ms > to and one.at_ms - to or 0
	return row("clock", math.abs(off) < CLOCK_MS, off == 0 and "the clock there agrees with ours"
		or ("the clock there differs from ours by %d ms or more"):format(math.abs(off)), "Let both machines keep their clocks by NTP")
end

local function judge_lock(one, two, held)
	local remedy = "Name a directory on a file system whose locks hold between machines: NFS 4, Lustre with -o flock"
	if not one.locked then
		return row("lock", false, ("%s could not lock a file in the directory"):format(one.node), remedy)
	elseif two.together and two.locked then
		return row("lock", false, ("%s and %s held the same lock at the same time"):format(one.node, two.node), remedy)
	elseif not two.together and not held then
		return row("lock", false, "the two tasks never ran at the same time, so that it is not known whether locks hold",
			"Try again when there is room for two tasks")
	end
	local between = two.together and (one.node == two.node and ("two tasks on %s"):format(one.node)
		or ("%s and %s"):format(one.node, two.node)) or nil
	return row("lock", true, ("a lock holds between %s"):format(
		table.concat({ between or one.node, held and "this machine" or nil }, ", and ")))
end

-- Nodes as the queue names them, where it does.
local function name_nodes(seen, tasks)
	for index = 1, 2 do
		seen[index].node = tasks[index] and tasks[index].node or seen[index].node
	end
end

local function judge(rows, seen, from, nodes)
	local one, two = seen[1], seen[2]
	name_nodes(seen, nodes)
	rows[#rows + 1] = row("tasks", true, ("two tasks ran, on %s and %s, and wrote into the directory"):format(one.node, two.node))
	local same = one.version == attempt.launch.version and two.version == one.version
	rows[#rows + 1] = row("runner", same, same and ("runner %s is there"):format(one.version)
		or ("runner %s is there, and %s here"):format(tostring(one.version), attempt.launch.version),
		"Install the same version on the nodes, or set runner of the executor to its path")
	rows[#rows + 1] = judge_clock(one, from, seen["1_ms"])
	rows[#rows + 1] = judge_lock(one, two, seen.held)
end

local function place_tasks(place, executor, dir, token)
	local argv = { executor.runner or invoke.program(), "self", "executor", "probe", dir }
	return place:submit { token = token, tasks = 2, dir = dir, argv = argv, executor = executor,
		memory = executor.memory and executor.memory[1] }
end

-- What two tasks find there.
local function try_out(place, executor, about, rows)
	local from = host.wall_ms()
	local submitted, problem = place_tasks(place, executor, about.dir, about.token)
	rows[#rows + 1] = row("submission", submitted ~= nil, submitted and ("two tasks were submitted as %s"):format(submitted.job or "job")
		or problem.message, problem and problem.suggestion)
	if not submitted then
		return
	end
	local seen = watch(place, about)
	if seen[1] and seen[2] then
		return judge(rows, seen, from, tasks_of(place, about.token))
	end
	local count = (seen[1] and 1 or 0) + (seen[2] and 1 or 0)
	rows[#rows + 1] = row("tasks", false, ("%d of 2 tasks wrote into the directory within %s%s"):format(count,
		host.duration_text(about.wait_ms), why_none(place, about.token)),
		("Is the directory the same on the nodes, and is runner there? What the tasks printed is in %s/*.out"):format(about.dir))
	about.telling = true
end

---A folder for the files of a check, private and new, and the token of its submission.
---@param executor runner.Executor
---@return { dir: string, token: string }
function M.prepare(executor)
	local name = ("check-%016x"):format(host.random() & math.maxinteger)
	local dir = step_folder.root(executor.directory) .. "/" .. name
	step_folder.make(dir)
	return { dir = dir, token = "rn-" .. name }
end

---The same inside a scheduler task.
---@param place runner.Place
---@param executor runner.Executor
---@param about { dir: string, token: string, wait_ms: integer }
---@return { name: string, ok: boolean, detail: string, remedy?: string }[] rows
function M.check(place, executor, about)
	local rows = {}
	for i, found in ipairs(place:check()) do
		rows[i] = found
	end
	for _, found in ipairs(rows) do
		if not found.ok then
			return rows
		end
	end
	rows[#rows + 1] = row("directory", true, ("%s is ours alone"):format(about.dir:match "^(.*)/"))
	try_out(place, executor, about, rows)
	return rows
end

---Check an executor: what its queue says of itself, then two tasks.
---@param place runner.Place
---@param executor runner.Executor with a directory
---@param about { dir: string, token: string, wait_ms: integer } gets telling = true where files in dir say more
---@return { name: string, ok: boolean, detail: string, remedy?: string }[] rows
function M.run(place, executor, about)
	return scheduler.run(function()
		return M.check(place, executor, about)
	end)
end

---End the tasks of a check and remove its folder, whatever has become of it; what tasks printed stays
---where it tells more.
---@param place runner.Place
---@param about { dir: string, token: string, telling?: boolean }
function M.clean_up(place, about)
	scheduler.run(function()
		place:cancel { about.token }
	end)
	if not about.telling then
		fs.remove_tree(about.dir)
	end
end

return M
