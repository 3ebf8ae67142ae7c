-- throttle: how often a command was called, or a host asked, and how often that has failed, for all processes
-- of a user: a small JSON file for each command of a project, and each host, changed under a lock, in the folder
-- of the command, or of the project that declares the host. Times are ms since 1970.
-- A call that has not been ended when its time is over counts as a failure, so that a killed
-- one does too.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local own_state = require "runner.core.own_state"
local paths = require "runner.core.paths"

local M = {}

local LOCK_MS = 5000
local MOST = 10000 -- rows of each kind
local LONGEST_MS = 86400000 -- that a service may ask us to stay away

---@class runner.ThrottleState
---@field calls integer[] when each was made, within the window of the rate
---@field failures integer[] when each failed, within the window of the breaker
---@field open? table<string, integer> calls that have not ended → when they count as failed
---@field until_ms? integer the breaker is open until then
---@field pause_ms? integer how long it was opened for
---@field trial_ms? integer after the pause one call tries: until then no other does
---@field trial_from_ms? integer when that one began

local function folder_of(a)
	local project = a.project or {}
	return a.found.folder or project.root or ""
end

-- Where versions before kept the file, all in one folder: by the path where it is now.
local former = {} ---@type table<string, string>

local function file(folder, name, owner)
	local key = folder and ("%s/%s"):format(folder, paths.file_name(name, 180))
	if key then
		former[key] = ("%s/%s"):format(folder:match "^(.*)/", paths.file_name(owner, 180))
	end
	return key
end

---The file of a command; nil: there is no directory for state, and nothing is limited (M.admit warns of it).
---@param a runner.Attempt
---@return string?
function M.key(a)
	return file(own_state.folder(a, "throttle"), "calls", folder_of(a) .. ":" .. a.name)
end

---@class runner.HostRule
---@field host string as declared, "api.example.org" or "api.example.org:8443"
---@field by "command"|"project" who says so
---@field limits runner.Throttle
---@field key? string of its file

local function add_rules(out, by, hosts, folder, owner)
	for _, host_name in ipairs(require("runner.core.tables").sorted_keys(hosts or {})) do
		local name = "@" .. host_name
		out[#out + 1] = { host = host_name, by = by, limits = hosts[host_name], key = file(folder, name, owner .. name) }
	end
end

---What the command and its project declare of hosts.
---@param a runner.Attempt
---@return runner.HostRule[]
function M.hosts(a)
	local out, project = {}, a.project or {}
	if a.command and a.command.hosts then
		add_rules(out, "command", a.command.hosts, own_state.folder(a, "throttle"), folder_of(a) .. ":" .. a.name)
	end
	if project.hosts then
		add_rules(out, "project", project.hosts, own_state.of_project(a, "throttle"), project.root or "")
	end
	return out
end

local function list(v)
	return type(v) == "table" and v or {}
end

local function read(path)
	local text = fs.read(path .. ".json", 1 << 20) or fs.read(former[path] .. ".json", 1 << 20)
	local state = list(json.decode(text or ""))
	local out = { calls = {}, failures = {}, open = {}, until_ms = math.tointeger(state.until_ms), pause_ms = math.tointeger(state.pause_ms),
		trial_ms = math.tointeger(state.trial_ms), trial_from_ms = math.tointeger(state.trial_from_ms) }
	for _, name in ipairs { "calls", "failures" } do
		for _, at in ipairs(list(state[name])) do
			out[name][#out[name] + 1] = math.tointeger(at)
		end
	end
	for id, due in next, list(state.open) do
		out.open[tostring(id)] = math.tointeger(due)
	end
	return out
end

local function within(times, from, now)
	local out = {}
	for _, at in ipairs(times) do
		out[#out + 1] = at > from and at <= now and #out < MOST and at or nil -- none of a clock that was ahead
	end
	return out
end

-- For how long it is open.
local function pause_of(state, breaker)
	return math.min(math.max(state.pause_ms or 0, breaker.pause_ms), math.max(LONGEST_MS, breaker.pause_ms))
end

-- What the passing of time has made of it.
local function age(state, command, now)
	for id, due in pairs(state.open) do
		if due <= now then
			state.open[id] = nil
			state.failures[#state.failures + 1] = due
		end
	end
	table.sort(state.failures)
	state.calls = command.rate and within(state.calls, now - command.rate.window_ms, now) or {}
	local breaker = command.breaker
	if not breaker then
		return
	end
	local failures = within(state.failures, now - breaker.window_ms, now)
	if not state.until_ms and #failures >= breaker.failures then
		state.until_ms = failures[#failures] + breaker.pause_ms
	elseif state.until_ms and state.until_ms > now + pause_of(state, breaker) then
		state.until_ms = now + pause_of(state, breaker) -- the clock was set back
	end
	if state.trial_ms and not (state.trial_from_ms and state.trial_from_ms <= now) then
		state.trial_ms, state.trial_from_ms = nil, nil -- so it was here
	end
	state.failures = failures
end

local function lost(why)
	require("runner.core.attempt").warn("THROTTLE_LOST", "Calls are not counted: " .. why)
end

-- Change the state under its lock. Where that can't be done, nothing is limited: a warning says so.
local function change(key, command, f)
	local ok, why = fs.mkdirs(key:match "^(.*)/", 448, true) -- 0700
	local lock <close>, problem = ok and fs.lock(key .. ".lock", { wait_ms = LOCK_MS }) or nil, why
	if not lock then
		lost(tostring(problem or "the lock can't be had"))
		return nil
	end
	local now, state = host.wall_ms(), read(key)
	age(state, command, now)
	local result = f(state, now)
	ok, why = fs.write(key .. ".json", assert(json.encode(state)), 384, false) -- 0600
	if not ok then
		lost(tostring(why))
	end
	return result
end

---Make the folders that its calls and requests are counted in, while a command that is confined still can.
---@param a runner.Attempt
---@param out string[] they are added
function M.prepare(a, out)
	local keys = { (a.command.rate or a.command.breaker) and M.key(a) or nil }
	for _, rule in ipairs(M.hosts(a)) do
		keys[#keys + 1] = rule.key
	end
	for _, key in ipairs(keys) do
		out[#out + 1] = key:match "^(.*)/"
		fs.mkdirs(out[#out], 448, true) -- 0700
		if not fs.lstat(key .. ".json") then
			fs.rename(former[key] .. ".json", key .. ".json")
		end
	end
end

-- Why no call may be made now.
local function refusal(state, command, now)
	local rate, breaker = command.rate, command.breaker
	local left = breaker and state.until_ms and math.max(state.until_ms, state.trial_ms or 0) - now or 0
	if left > 0 then
		return { by = "breaker", left_ms = left, failures = math.max(#state.failures, breaker.failures) }
	elseif rate and #state.calls >= rate.calls then
		return { by = "rate", left_ms = math.max(state.calls[#state.calls - rate.calls + 1] + rate.window_ms - now, 1) }
	end
end

---May it be called now? If so, the call is counted.
---@param key? string of M.key; nil: nothing is counted, and a warning says so
---@param command table normal form
---@param limit_ms? integer how long the call may take; nil: without end, and a killed one is not noticed
---@return string? call for M.conclude
---@return { by: "rate"|"breaker", left_ms: integer, failures?: integer }? refused
function M.admit(key, command, limit_ms)
	local call = ("%016x"):format(host.random())
	if not key then
		lost("there is no directory for state: " .. paths.NO_STATE)
		return call
	end
	return call, change(key, command, function(state, now)
		local why = refusal(state, command, now)
		if why then
			return why
		end
		if state.until_ms then
			state.trial_ms, state.trial_from_ms = now + (limit_ms or command.breaker.pause_ms), now
		end
		state.calls[#state.calls + 1] = now
		state.open[call] = command.breaker and limit_ms and now + limit_ms or nil
	end)
end

-- Open the breaker if that is one failure too many.
local function failed(state, breaker, now, pause_ms)
	state.failures[#state.failures + 1] = now
	if state.trial_ms or #state.failures >= breaker.failures then
		state.pause_ms = pause_ms
		state.until_ms, state.trial_ms, state.trial_from_ms = now + pause_of(state, breaker), nil, nil
	end
end

---The call has ended.
---@param key? string
---@param command table
---@param call string of M.admit
---@param verdict "failed"|"succeeded"|"other"|"unknown"|"unsent" other: a failure that says nothing of what the
---command talks to, but that it answers; unknown: nothing is known of that; unsent: the call wasn't made at all
---@param pause_ms? integer of "failed": it asked us to stay away so long
function M.conclude(key, command, call, verdict, pause_ms)
	if not key or not command.breaker and verdict ~= "unsent" then
		return
	end
	change(key, command, function(state, now)
		state.open[call] = nil
		if verdict == "failed" then
			failed(state, command.breaker, now, pause_ms)
		elseif verdict == "unknown" or verdict == "unsent" then
			state.trial_ms, state.trial_from_ms = nil, nil -- so another one may try
			state.calls[#state.calls] = verdict == "unknown" and state.calls[#state.calls] or nil
		elseif verdict == "succeeded" or state.trial_ms then
			state.failures, state.until_ms, state.pause_ms, state.trial_ms, state.trial_from_ms = {}, nil, nil, nil, nil
		end
	end)
end

---What holds now; nothing is changed.
---@param key? string
---@param command table
---@return table
function M.describe(key, command)
	local state, now = key and read(key) or { calls = {}, failures = {}, open = {} }, host.wall_ms()
	age(state, command, now)
	local refused = refusal(state, command, now)
	local rate, breaker = command.rate, command.breaker
	return {
		rate = rate and { calls = rate.calls, window_ms = rate.window_ms, made = #state.calls } or nil,
		breaker = breaker and { failures = breaker.failures, window_ms = breaker.window_ms, pause_ms = breaker.pause_ms,
			failed = #state.failures, open = state.until_ms ~= nil } or nil,
		left_ms = refused and refused.left_ms or 0,
	}
end

return M
