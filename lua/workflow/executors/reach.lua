-- reach: the other side of via.lua, on a machine of the cluster: one request of a coordinator that has
-- no way to its queue and its folders but ssh. It is done in order: files come, the queue is asked, the folder is looked
-- at, files go. It remembers nothing but what lies in the folder: a submission is made once, however often it is asked for.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local probe = require "runner.workflow.executors.probe"
local registry = require "runner.workflow.executors.registry"
local scheduler = require "runner.task.scheduler"
local step_folder = require "runner.workflow.executors.step_folder"
local via = require "runner.workflow.executors.via"

local M = {}

local FILE = 384 -- 0600
local WAIT_MS = 50000 -- for an earlier call that is still submitting

local function raise(message, fix)
	errors.raise("PRECONDITION", message, { retryable = false, side_effects = "none", fix_required = fix })
end

local function home_path(path)
	local home = os.getenv "HOME"
	return path and home and path:gsub("^~", function() return home end) or path
end

---@class runner.workflow.Reached
---@field executor runner.Executor
---@field place runner.Place
---@field request table

local function opened(request)
	if request.version ~= via.VERSION or request.runner ~= host.launch().version then
		raise(("runner %s is here, and %s asks"):format(host.launch().version, tostring(request.runner)), "Install the same version on both")
	end
	local executor = request.executor
	executor.directory, executor.runner = home_path(executor.directory), home_path(executor.runner)
	if type(executor.directory) ~= "string" or not executor.directory:find "^/" or executor.kind == "local" or executor.via then
		raise("The request names no directory here", "Set directory of the executor, and HOME here")
	end
	return { executor = executor, place = registry.open(executor), request = request }
end

-- --- its folders ---------------------------------------------------------------------------------

local function folder_of(reached, run, number)
	return ("%s/%s/%d"):format(step_folder.root(reached.executor.directory), paths.file_name(run, 180), number)
end

-- The unit of the request; made where that is wanted. nil: it is gone, and isn't needed.
local function unit_of(reached)
	local address, request = reached.request.unit, reached.request
	local dir = folder_of(reached, address.run, math.tointeger(address.number))
	if request.make then
		step_folder.make(dir, request.known)
	elseif not fs.lstat(dir) then
		return not request.lenient and raise(("The folder of its tasks, %s, isn't there any more, nor what they had left in it"):format(dir),
			"Put it back, else run the workflow again") or nil
	end
	step_folder.check(dir)
	return step_folder.at(dir)
end

local function is_plain(name)
	return type(name) == "string" and #name <= 200 and name:find "^%w[%w._-]*$" ~= nil
end

-- A slice of a file that comes; with the last one it is in its place. How much of it is here then; 0: send it anew.
local function put(unit, slice)
	local path = unit.dir .. "/" .. (is_plain(slice.name) and slice.name or raise("A file has no plain name"))
	local bytes = via.unpacked(slice.data) or raise("What came is not what was sent", "Try again")
	local part, upto = path .. ".part", slice.from + #bytes
	if upto == slice.total and slice.from == 0 then
		step_folder.write(path, bytes)
		return upto
	elseif slice.from == 0 then
		step_folder.write(part, "")
	end
	local stat = fs.lstat(part)
	if not stat or stat.size < slice.from then
		return 0
	end
	local file <close> = assert(io.open(part, "r+b"))
	assert(file:seek("set", slice.from))
	local ok, message = file:write(bytes)
	if ok then
		ok, message = file:close()
	end
	if not ok then
		errors.raise("RESOURCE_EXHAUSTED", ("Can't write %s: %s"):format(part, message or "there is no room"),
			{ retryable = false, fix_required = "Make room there" })
	end
	if upto == slice.total then
		assert(fs.replace(part, path))
	end
	return upto
end

-- --- the queue -----------------------------------------------------------------------------------

-- TOKEN.submit is locked by the call that submits, TOKEN.trying there once it may have, TOKEN.job what it was told.
local function note_job(base, job)
	fs.write(base .. ".job", job, FILE)
	return { job = job }
end

local function submit_once(reached, unit, base, s)
	local place = reached.place
	local earlier = fs.read(base .. ".job", 4096)
	if earlier then
		return { job = earlier }
	elseif fs.lstat(base .. ".trying") then
		local states, problem = place:states { s.token }
		local unsure = states and states[s.token] and states[s.token].unsure
		if not states or unsure then
			return problem or { kind = "unknown", code = "UNAVAILABLE", message = "the queue is not sure of " .. s.token }
		elseif states[s.token] then
			return note_job(base, states[s.token].job or "known")
		end
	end
	step_folder.write(base .. ".trying", "")
	local executor = reached.executor
	local program = executor.runner or fs.readlink "/proc/self/exe"
	local answer, problem = place:submit { token = s.token, tasks = s.tasks, dir = unit.dir, executor = executor, memory = s.memory,
		argv = { program, "workflow", "chunk", unit.dir, s.token } }
	if answer then
		return note_job(base, answer.job)
	elseif problem.kind ~= "unknown" then
		fs.unlink(base .. ".trying")
	end
	return problem
end

local function submit(reached, unit, s)
	local base = unit.dir .. "/" .. (is_plain(s.token) and s.token or raise("The token is none"))
	local lock, why = fs.lock(base .. ".submit", { wait_ms = WAIT_MS })
	if not lock then
		return { kind = "unknown", code = "UNAVAILABLE", message = "an earlier call still submits this: " .. tostring(why) }
	end
	local answer = submit_once(reached, unit, base, s)
	lock:release()
	return answer
end

-- Another call is just submitting it: it is neither known nor unknown.
local function is_in_the_making(reached, token)
	local run, number = reached.request.run, math.tointeger(tonumber(token:match "%-(%d+)%.%d+$"))
	return run and number and is_plain(token) and fs.locked(("%s/%s.submit"):format(folder_of(reached, run, number), token))
end

local function by_text(tasks)
	local out = {}
	for index, task in pairs(tasks) do
		out[tostring(index)] = task
	end
	return out
end

local function states_of(reached, tokens)
	local states, problem = reached.place:states(tokens)
	local out = states and {}
	for _, token in ipairs(states and tokens or {}) do
		local found = states[token] or is_in_the_making(reached, token) and { tasks = {}, unsure = true }
		out[token] = found and { job = found.job, rest = found.rest, unsure = found.unsure, tasks = by_text(found.tasks) } or nil
	end
	return { placements = out, problem = problem }
end

-- --- what is there -------------------------------------------------------------------------------

local function files_of(unit, chunk)
	local list = json.array {}
	for _, name in ipairs { "journal", "logs", "result" } do
		list[#list + 1] = fs.lstat(unit:path(chunk, name)) and ("%d.%s"):format(chunk, name) or nil
	end
	for _, name in ipairs(fs.list(unit:path(chunk, "out")) or {}) do
		list[#list + 1] = ("%d.out/%s"):format(chunk, name)
	end
	return list
end

-- The fence before the result, as poll.folder looks.
local function look(unit, row)
	local chunk = math.tointeger(row.chunk)
	if not unit then
		return { chunk = chunk, fence = "free" }
	end
	local result, fence = unit:result(chunk), "held"
	if not result or result.generation ~= row.generation then
		fence = unit:fence(chunk)
		result = unit:result(chunk)
	end
	return { chunk = chunk, fence = fence, files = result and result.generation == row.generation and files_of(unit, chunk) or nil }
end

-- Slices, in the order in which they are asked for, as far as one answer takes them.
local function get(unit, list, most)
	local out, room = json.array {}, most
	for _, wanted in ipairs(list) do
		local chunk, rest = tostring(wanted.name):match "^(%d+)%.(.+)$"
		local plain = chunk and (is_plain(wanted.name) or rest:find "^out/[^/%z]+$")
		local path = plain and unit.dir .. "/" .. wanted.name or raise("A file has no plain name")
		local stat = fs.lstat(path)
		local file <close> = stat and stat.type == "file" and io.open(path, "rb") or nil
		if not file or room <= 0 then
			break
		end
		file:seek("set", wanted.from)
		local bytes = file:read(room) or ""
		room = via.room(room, #bytes)
		out[#out + 1] = { name = wanted.name, from = wanted.from, total = stat.size, data = via.packed(bytes) }
		if wanted.from + #bytes < stat.size then
			break
		end
	end
	return out
end

local function check(reached, wait_ms)
	local about = probe.prepare(reached.executor)
	about.wait_ms = wait_ms
	local rows = probe.check(reached.place, reached.executor, about)
	reached.clean_up = about
	return json.array(rows)
end

local function each(list, f, unit)
	local out = json.array {}
	for i, row in ipairs(list) do
		out[i] = f(unit, row) or json.null
	end
	return out
end

local function answer(request)
	local reached, out = opened(request), { reach = via.VERSION }
	local unit = request.unit and unit_of(reached)
	out.put = unit and request.put and each(request.put, put, unit) or nil
	out.directory = reached.executor.directory
	out.limits = request.limits and reached.place:limits().array or nil
	out.submit = unit and request.submit and submit(reached, unit, request.submit) or nil
	if request.cancel then
		local ok, problem = reached.place:cancel(request.cancel)
		out.cancel = ok or problem
	end
	out.states = request.states and states_of(reached, request.states) or nil
	out.look = request.unit and request.look and each(request.look, function(_, row) return look(unit, row) end) or nil
	out.get = unit and request.get and get(unit, request.get, request.slice) or nil
	if unit and request.forget then
		unit:forget()
	end
	if unit and request.remove then
		unit:remove()
	end
	out.check = request.check and check(reached, request.check) or nil
	return out, reached.clean_up and function()
		probe.clean_up(reached.place, reached.clean_up)
	end or nil
end

---Do what a request asks.
---@param request table as via.ask makes it
---@return table data, fun()? clean_up
function M.answer(request)
	return scheduler.run(function()
		return answer(request)
	end)
end

return M
