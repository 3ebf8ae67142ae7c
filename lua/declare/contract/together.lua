-- together: what stands around a command's run: the commands that it needs, the files that it is made
-- from, and how often and after what failures it may be called.

local rules = require "runner.core.rules"

local MOST = 100

local function command_name(v)
	return rules.text(v) and v:find "^[%w][%w_.-]*[%w_. -]*$" and (v:gsub("%.", " ")) or nil
end

-- "build", or { "build", mode = "fast" }
local function need(v)
	if type(v) == "string" then
		v = { v }
	end
	local name = type(v) == "table" and command_name(v[1])
	local args = {}
	for key, value in next, name and v or {} do
		local kind = type(value)
		if key ~= 1 and (type(key) ~= "string" or kind ~= "string" and kind ~= "number" and kind ~= "boolean" and kind ~= "table") then
			return nil
		elseif key ~= 1 then
			args[key] = value
		end
	end
	return name and { name = name, args = args } or nil
end

local function pattern(v)
	return rules.text(v) and not v:find "%z" and v or nil
end

local function is_plain(n, fault)
	if n.list or n.streams or n.stdout or n.arguments then
		fault("does not go with a command that lists, streams or serves", "Remove it, or the other key")
	end
end

local function check_generates(n, fault)
	if n.generates and not n.sources then
		fault("needs sources", 'Add sources = { "src/**/*.c" }')
	end
end

-- { failures = 5, window = "1m", pause = "30s" }
local function breaker(v)
	local clean = type(v) == "table"
	local parts = { failures = rules.whole(1, 1000), window = rules.duration, pause = rules.duration }
	local out = rules.accept(parts, "breaker", v, nil, function()
		clean = false
	end)
	out.window, out.pause = out.window or 60000, out.pause or 30000
	return clean and out.failures and out.window > 0 and out.pause > 0
		and { failures = out.failures, window_ms = out.window, pause_ms = out.pause } or nil
end

local UNITS = { s = 1000, sec = 1000, second = 1000, m = 60000, min = 60000, minute = 60000, h = 3600000, hour = 3600000,
	d = 86400000, day = 86400000 }

-- "10/min", "100/30s"
local function rate(v)
	local count, per = tostring(v):match "^(%d+)%s*/%s*(%w+)$"
	local window = UNITS[per] or per and per:find "^%d" and rules.duration(per)
	count = math.tointeger(tonumber(count))
	return count and count >= 1 and count <= 10000 and window and window > 0 and { calls = count, window_ms = window } or nil
end

---@type runner.Subject
return {
	keys = {
		needs = { accept = function(v) return rules.list(v, 1, MOST, need) end, manifest = "entry", check = is_plain,
			expected = 'a list of commands such as { "build", { "test", only = "unit" } }' },
		sources = { accept = function(v) return rules.list(v, 1, MOST, pattern) end, manifest = "entry", check = is_plain,
			expected = 'a list of paths and patterns such as { "src/**/*.c" }' },
		generates = { accept = function(v) return rules.list(v, 1, MOST, pattern) end, manifest = "entry", check = check_generates,
			expected = 'a list of paths and patterns such as { "build/app" }' },
		breaker = { accept = breaker, manifest = "entry", expected = '{ failures = 5, window = "1m", pause = "30s" }' },
		rate = { accept = rate, manifest = "entry", expected = 'a text such as "10/min" or "100/30s"' },
	},
	flags = {
		{ name = "rebuild", type = "boolean", when = "sources", yields = true, section = "Behaviour",
			description = "Do the work even if no source has changed" },
	},
}
