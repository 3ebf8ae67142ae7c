-- throttle: how much a declaration lets a command have, in the normal form: `limits` of its resources, and `rate` and `breaker`,
-- of a command or of a host that ctx:http asks (`hosts` has both by the name of the host). lua/state/throttle.lua keeps the
-- numbers. Loaded where there is one.

local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

M.BREAKER = '{ failures = 5, window = "1m", pause = "30s" }' -- what to write, for messages
M.RATE = 'a text such as "10/min" or "100/30s"'
M.HOSTS = 'rules by host such as { ["api.example.org"] = { rate = "10/min", breaker = { failures = 5 } } }, '
	.. "without scheme and path, an international name as xn--…"

local UNITS = { s = 1000, sec = 1000, second = 1000, m = 60000, min = 60000, minute = 60000, h = 3600000, hour = 3600000,
	d = 86400000, day = 86400000 }

---@class runner.Throttle at least one of them
---@field rate? { calls: integer, window_ms: integer }
---@field breaker? { failures: integer, window_ms: integer, pause_ms: integer }

---"10/min", "100/30s"
---@param v any
---@return { calls: integer, window_ms: integer }? nil: it is wrong
function M.rate(v)
	local count, per = tostring(v):match "^(%d+)%s*/%s*(%w+)$"
	local window = UNITS[per] or per and per:find "^%d" and rules.duration(per)
	count = math.tointeger(tonumber(count))
	return count and count >= 1 and count <= 10000 and window and window > 0 and { calls = count, window_ms = window } or nil
end

---{ failures = 5, window = "1m", pause = "30s" }
---@param v any
---@return { failures: integer, window_ms: integer, pause_ms: integer }? nil: it is wrong
function M.breaker(v)
	local out = tables.accepted({ failures = rules.whole(1, 1000), window = rules.duration, pause = rules.duration }, v)
	local window, pause = out and out.window or 60000, out and out.pause or 30000
	return out and out.failures and window > 0 and pause > 0
		and { failures = out.failures, window_ms = window, pause_ms = pause } or nil
end

local function row(v)
	local out = tables.accepted({ rate = M.rate, breaker = M.breaker }, v)
	return out and next(out) and out or nil
end

-- "API.example.org.:8443" → "api.example.org:8443". Which spellings of an address are the same one, libcurl
-- says when a request is made; it asks no host whose name isn't ASCII.
---@param v any
---@return string? host or host:port; nil: it is none
function M.host_name(v)
	if type(v) ~= "string" or #v > 300 or v:find "[^%g]" or v:find "[/?#@\\*%%]" then
		return nil
	end
	local name, port = v:lower():match "^(%[[%x:.]+%]):?(%d*)$"
	if not name then
		name, port = v:lower():match "^([^:%[%]]+):?(%d*)$"
	end
	local number = port ~= "" and math.tointeger(tonumber(port)) or nil
	if not name or v:sub(-1) == ":" or port ~= "" and not (number and number >= 1 and number <= 65535) then
		return nil
	end
	name = name:gsub("%.$", "")
	return name ~= "" and not name:find "^%." and (number and name .. ":" .. number or name) or nil
end

---What holds for the hosts that ctx:http asks, by host or host:port in lower case.
---@param v any
---@return table<string, runner.Throttle>? nil: something in it is wrong, or a host is there twice
function M.hosts(v)
	local out = tables.mapped(v, function(key, declared)
		local name = M.host_name(key)
		return name and row(declared) or nil, name or nil
	end)
	return out and next(out) and out or nil
end

-- The resource limits of a declaration. A part of lua/declare/command.lua, loaded where there are any.

M.rules = {
	memory = require("runner.core.amounts").size, cpu = rules.duration,
	processes = rules.whole(1, 1000000), open_files = rules.whole(16, 1000000),
}

---Walk them. "none" is nil here, but for memory: there it lifts the default.
---@param limits any as declared
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
---@return {memory_bytes?: integer, cpu_ms?: integer, processes?: integer, open_files?: integer}
function M.walk(limits, report)
	local l = rules.accept(M.rules, "limits", limits, "limits", report)
	return { memory_bytes = l.memory, cpu_ms = l.cpu ~= 0 and l.cpu or nil, processes = l.processes,
		open_files = l.open_files }
end

return M
