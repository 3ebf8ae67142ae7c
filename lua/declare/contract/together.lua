-- together: what stands around a command's run: the commands that it needs, the files that it is made
-- from, and how often and after what failures it may be called, or a host be asked.

local rules = require "runner.core.rules"
local throttle = require "runner.declare.throttle"

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

---@type runner.Subject
return {
	keys = {
		needs = { accept = function(v) return rules.list(v, 1, MOST, need) end, manifest = "schema", check = is_plain,
			expected = 'a list of commands such as { "build", { "test", only = "unit" } }' },
		sources = { accept = function(v) return rules.list(v, 1, MOST, pattern) end, manifest = "schema", check = is_plain,
			expected = 'a list of paths and patterns such as { "src/**/*.c" }' },
		generates = { accept = function(v) return rules.list(v, 1, MOST, pattern) end, manifest = "schema", check = check_generates,
			expected = 'a list of paths and patterns such as { "build/app" }' },
		breaker = { accept = throttle.breaker, manifest = "schema", expected = throttle.BREAKER },
		rate = { accept = throttle.rate, manifest = "schema", expected = throttle.RATE },
		hosts = { accept = throttle.hosts, manifest = "schema", expected = throttle.HOSTS },
	},
	flags = {
		{ name = "rebuild", type = "boolean", when = "sources", yields = true, section = "Behaviour",
			description = "Do the work even if no source has changed" },
	},
}
