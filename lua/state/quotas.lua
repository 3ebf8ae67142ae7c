-- quotas: how many calls a caller's policy has let through, how long they took, and which of its jobs run: for all processes at
-- once, in a JSON file beside the policy, changed under a lock. No environment names it. Ages are kept, and no times: a clock
-- that is set forward or back makes no room while the machine runs. What can't be read or written is an error: nothing is let through.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local LOCK_MS = 20000
local LARGEST = 1 << 24 -- bytes
local ENDS_LARGEST = 1 << 20

---@class runner.Quota
---@field kind "max_calls"|"total_time"
---@field most integer calls, or ms
---@field window_ms? integer nil: as long as the policy is there
---@field means fun(name: string): boolean does it count calls of this command?
---@field asks? boolean above it a person is asked

---@class runner.CountedCall
---@field name string
---@field unit string the same for all attempts of a call
---@field keep_ms integer its time limit, or how long it is remembered where it has none
---@field timed boolean is its time counted?
---@field job? string of the job that makes it: its starter has counted that
---@field folder? string of the job that it starts, for which its time is held until that begins
---@field takes_rest? boolean the job has no limit but what is left
---@field agreed? boolean by a person: what asks one refuses nothing

---The file of a policy's counts, without its ending.
---@param path string of the policy
---@param subject? string
---@param folder? string where the policy says that they are
---@return string
function M.key(path, subject, folder)
	path = fs.realpath(path) or path
	local id = require("runner.ledger").digest(path .. "\0" .. (subject or "")):sub(1, 16)
	local dir, name = path:match "^(.*)/([^/]*)$"
	return ("%s/%s.counts-%s"):format(folder or dir, name, id)
end

-- --- the state ----------------------------------------------------------------------------------

-- Since the machine was started, time asleep included; and which start it was.
local function uptime()
	local seconds = tonumber((fs.read "/proc/uptime" or ""):match "^%d+%.?%d*")
	local boot = (fs.read "/proc/sys/kernel/random/boot_id" or ""):match "%S+"
	return seconds and boot and math.floor(seconds * 1000), boot
end

local function damaged(path)
	error(("%s is damaged: remove it, and what it has counted is forgotten"):format(path), 0)
end

local function whole(v)
	return math.type(v) == "integer" and v >= 0
end

local function is_call(call)
	return type(call) == "table" and type(call.name) == "string" and type(call.unit) == "string" and whole(call.age) and whole(call.keep)
		and (call.ms == nil or whole(call.ms)) and (call.folder == nil or type(call.folder) == "string")
end

local function is_total(total)
	return type(total) == "table" and whole(total.calls) and whole(total.ms)
end

local function check(path, state)
	local ok = type(state) == "table" and state.version == 1 and whole(state.wall) and type(state.calls) == "table"
		and type(state.totals) == "table" and type(state.jobs) == "table" and (state.costs == nil or type(state.costs) == "table")
		and (state.held == nil or type(state.held) == "table")
	for _, call in ipairs(ok and state.calls or {}) do
		ok = ok and is_call(call)
	end
	for _, micros in next, ok and state.costs or {} do
		ok = ok and whole(micros)
	end
	for _, total in next, ok and state.totals or {} do
		ok = ok and is_total(total)
	end
	return ok and state or damaged(path)
end

local function read(key)
	local path = key .. ".json"
	local text, why, code = fs.read(path, LARGEST)
	if text then
		return check(path, json.decode(text))
	elseif code == "ENOENT" then
		return { version = 1, calls = {}, totals = {}, jobs = {} }
	end
	error(("%s can't be read: %s"):format(path, why), 0)
end

local function total_of(state, name)
	state.totals[name] = state.totals[name] or { calls = 0, ms = 0 }
	return state.totals[name]
end

local function close(state, call, ms)
	local total = total_of(state, call.name)
	ms = math.max(math.min(ms, call.keep), 0)
	total.ms, call.ms, call.open = total.ms - (call.ms or 0) + ms, ms, nil
end

-- What has ended since: each wrote a line of its own, as it may be confined by then.
local function take_ends(state, key)
	local text = fs.read(key .. ".ends", ENDS_LARGEST)
	local open, left = {}, false
	for _, call in ipairs(text and state.calls or {}) do
		open[call.open or 0] = call
	end
	for token, ms in (text or ""):gmatch "(%S+) (%d+)\n" do
		if open[token] then
			close(state, open[token], math.tointeger(tonumber(ms)) or 0)
		end
	end
	for _, call in ipairs(state.calls) do
		left = left or call.open
	end
	return text and text ~= "" and (not left or #text > ENDS_LARGEST // 2) -- those that are still to end count in full then
end

-- It was counted, and is not made.
local function forget(state, call)
	local total = total_of(state, call.name)
	total.calls = math.max(total.calls - 1, 0)
end

-- Is a job that was started still to begin, or has it begun? It has its lock from its starter.
local function is_alive(folder)
	return fs.locked(folder .. "/lock")
end

-- What the passing of time has made of it, and the end of jobs that have never begun.
local function age(state, longest)
	local wall, up, boot = host.wall_ms(), uptime()
	local passed = state.boot == boot and up and state.up and up - state.up or wall - (state.wall or wall)
	passed = math.max(passed, 0)
	local calls = json.array {}
	for _, call in ipairs(state.calls) do
		call.age = call.age + passed
		local held = call.folder and is_alive(call.folder)
		if call.folder and not held then
			forget(state, call)
		elseif call.open and not held and call.age >= call.keep then -- it was killed: it has had all of its time
			close(state, call, call.keep)
		end
		calls[#calls + 1] = (held or not call.folder and (call.age < call.keep or call.age < longest)) and call or nil
	end
	for id, folder in next, state.held or {} do
		if not is_alive(folder) then
			state.held[id], state.costs[id] = nil, nil
		end
	end
	state.calls, state.wall, state.up, state.boot = calls, wall, up, boot
end

local function lock_of(key)
	local dir = key:match "^(.*)/"
	local ok, why = fs.check_way(key .. ".json")
	local lock, problem
	if ok then
		lock, problem = fs.lock(key .. ".lock", { wait_ms = LOCK_MS })
	end
	return lock or error(("%s: %s"):format(dir, tostring(problem or why)), 0)
end

local function longest_of(quotas)
	local longest = 0
	for _, quota in ipairs(quotas) do
		longest = math.max(longest, quota.window_ms or 0)
	end
	return longest
end

-- Look at the state, or change it (`f` returns true), under its lock. Raises a text: why nothing can be counted.
local function with(key, quotas, f)
	local _ <close> = lock_of(key)
	local state = read(key)
	local all_ended = take_ends(state, key)
	age(state, longest_of(quotas))
	local changed, result = f(state)
	if changed then
		local ok, why = fs.write(key .. ".json", assert(json.encode(state)), 384) -- 0600
		if not ok then
			error(tostring(why), 0)
		elseif all_ended then
			fs.write(key .. ".ends", "", 384, false)
		end
	end
	return result
end

-- --- what is used of a quota --------------------------------------------------------------------

local function cost(quota, call)
	return quota.kind == "max_calls" and 1 or call.ms or call.open and call.keep or 0
end

-- The calls that count now, oldest first.
local function counted(state, quota)
	local list = {}
	for _, call in ipairs(state.calls) do
		if quota.means(call.name) and call.age < (quota.window_ms or math.huge) then
			list[#list + 1] = call
		end
	end
	table.sort(list, function(a, b) return a.age > b.age end)
	return list
end

---@return integer used
---@return table[] the calls
local function used(state, quota)
	local list, sum = counted(state, quota), 0
	if quota.window_ms then
		for _, call in ipairs(list) do
			sum = sum + cost(quota, call)
		end
		return sum, list
	end
	for name, total in next, state.totals do
		sum = sum + (quota.means(name) and (quota.kind == "max_calls" and total.calls or total.ms) or 0)
	end
	for _, call in ipairs(quota.kind == "total_time" and list or {}) do
		sum = sum + (call.open and call.keep - (call.ms or 0) or 0)
	end
	return sum, list
end

-- When there is room for one more; nil: never.
local function left_ms(quota, sum, list)
	for _, call in ipairs(quota.window_ms and list or {}) do
		sum = sum - cost(quota, call)
		if sum < quota.most then
			return math.max(quota.window_ms - call.age, 1)
		end
	end
end

-- The first quota that has no room, one that only refuses before one that asks, and how much time is left of the others; `needs_ms`: as
-- much of it must be. A call that was agreed to is bound by those alone that only refuse.
local function refusal(state, quotas, needs_ms, agreed)
	local time, asking
	for i, quota in ipairs(quotas) do
		local sum, list = used(state, quota)
		local room = quota.most - sum
		local full = room < (quota.kind == "total_time" and needs_ms or 1) and { index = i, used = sum, left_ms = left_ms(quota, sum, list) }
		if full and not quota.asks then
			return full
		end
		asking = asking or full or nil
		time = not full and not (agreed and quota.asks) and quota.kind == "total_time" and math.min(time or room, room) or time
	end
	return not agreed and asking or nil, time
end

local function find(state, unit, job)
	for _, call in ipairs(state.calls) do
		if call.unit == unit or job and call.unit == job then
			return call
		end
	end
end

-- --- calls --------------------------------------------------------------------------------------

---May such a call be made now? Nothing is counted. Raises a text.
---@param key string of M.key
---@param quotas runner.Quota[]
---@param call {unit: string, job?: string, agreed?: boolean}
---@param made? string the names of calls that are made before it
---@return {index: integer, used: integer, left_ms?: integer}? refused by which of them
---@return integer? time_ms left of the total time
function M.look(key, quotas, call, made)
	local found = with(key, quotas, function(state)
		local known = find(state, call.unit, call.job)
		if known then -- a job that begins has the time that its starter holds
			return false, { time = known.unit == call.job and known.open and known.keep or nil }
		end
		for name in (made or ""):gmatch "%S+" do
			table.insert(state.calls, { name = name, unit = "", age = 0, keep = 0 })
			total_of(state, name).calls = total_of(state, name).calls + 1
		end
		local refused, time = refusal(state, quotas, 1, call.agreed)
		return false, { refused = refused, time = time }
	end)
	return found.refused, found.time
end

---What is used of each.
---@param key string
---@param quotas runner.Quota[]
---@return integer[]
function M.used(key, quotas)
	return with(key, quotas, function(state)
		local out = {}
		for i, quota in ipairs(quotas) do
			out[i] = used(state, quota)
		end
		return false, out
	end)
end

---Count a call, once for all of its attempts, if there is room for it. Raises a text.
---@param key string
---@param quotas runner.Quota[]
---@param call runner.CountedCall
---@param all runner.Quota[] of the policy: none loses what it has counted
---@return {index: integer, used: integer, left_ms?: integer}? refused
---@return fun()? ended says how long it took; of a call whose time is counted
function M.admit(key, quotas, call, all)
	local began, before, token = host.now(), 0, ("%016x"):format(host.random())
	local refused = with(key, all, function(state)
		local known = find(state, call.unit, call.job)
		if not known then
			local needs_ms = call.timed and not call.takes_rest and math.max(call.keep_ms, 1) or 1
			local refused, left = refusal(state, quotas, needs_ms, call.agreed)
			if refused then
				return false, refused
			end
			known = { name = call.name, unit = call.unit, age = 0, keep = call.takes_rest and left or call.keep_ms }
			table.insert(state.calls, known)
			total_of(state, call.name).calls = total_of(state, call.name).calls + 1
		end
		before = known.unit == call.unit and known.age or 0 -- a job's time begins with it
		known.unit, known.open, known.folder = call.unit, call.timed and token or nil, call.folder
		return true
	end)
	local file = not refused and call.timed and not call.folder and assert(io.open(key .. ".ends", "ab")) or nil
	return refused, file and function()
		file:write(("%s %d\n"):format(token, math.floor(before + host.now() - began)))
		file:close()
	end
end

---Forget a call that was counted, and is not made. Raises a text.
---@param key string
---@param unit string
---@param all runner.Quota[] of the policy
function M.take_back(key, unit, all)
	with(key, all, function(state)
		for i, call in ipairs(state.calls) do
			if call.unit == unit then
				forget(state, table.remove(state.calls, i))
				return true
			end
		end
		return false
	end)
end

-- --- jobs ---------------------------------------------------------------------------------------

local function is_running(job)
	return type(job) == "table" and type(job.folder) == "string" and is_alive(job.folder)
end

---Count a job, whose lock its starter holds, if fewer than `most` of a rule run. Raises a text.
---@param key string
---@param all runner.Quota[] of the policy
---@param rule string
---@param folder? string of the job; nil: it is not counted
---@param most integer
---@return integer? running as many as may be
function M.job(key, all, rule, folder, most)
	return with(key, all, function(state)
		local jobs, running = json.array {}, 0
		for _, job in ipairs(state.jobs) do
			if is_running(job) then
				jobs[#jobs + 1], running = job, running + (job.rule == rule and 1 or 0)
			end
		end
		if running >= most or not folder then
			return false, running >= most and running or nil
		end
		jobs[#jobs + 1], state.jobs = { rule = rule, folder = folder }, jobs
		return true
	end)
end

-- --- costs --------------------------------------------------------------------------------------

local function costs_of(state, id)
	local others, own = 0, 0
	for other, micros in next, state.costs or {} do
		others, own = others + (other ~= id and micros or 0), other == id and micros or own
	end
	return others, own
end

---Reserve what a run may cost: what it asks for, or what others leave; until M.spent says what it was. Raises a text.
---@param key string
---@param all runner.Quota[] of the policy
---@param id? string of the run; nil: nothing is reserved
---@param most integer micro-dollars of all runs
---@param wanted? integer
---@param asks? "open"|"agreed" above it a person is asked: what a run has is kept for it; one that was agreed to gets as much again
---@param folder? string of the job that makes the run: it has it until it begins, or never does
---@return integer? granted with what it has cost so far; nil: there is nothing left
---@return integer used by others
function M.reserve(key, all, id, most, wanted, asks, folder)
	local out = with(key, all, function(state)
		local others, own = costs_of(state, id)
		local left = math.max(most - others, asks and own or 0)
		local granted = math.min(wanted or most, asks == "agreed" and most or left)
		if granted <= 0 or not id then
			return false, { used = others, granted = granted > 0 and granted or nil }
		end
		state.costs, state.held = state.costs or {}, state.held or {}
		state.costs[id], state.held[id] = granted, folder
		return true, { granted = granted, used = others }
	end)
	return out.granted, out.used
end

---What a run has cost by now. Raises a text.
---@param key string
---@param all runner.Quota[]
---@param id string
---@param micros integer
function M.spent(key, all, id, micros)
	with(key, all, function(state)
		state.costs = state.costs or {}
		state.costs[id] = micros > 0 and micros or nil
		return true
	end)
end

---What all runs have cost, or reserved.
---@param key string
---@return integer micros
function M.costs(key)
	return with(key, {}, function(state)
		return false, (costs_of(state))
	end)
end

return M
