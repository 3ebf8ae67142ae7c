-- effects: what a command changes, and may change: how that is confirmed or only shown (lua/project/safety.lua), what it leaves
-- behind, what `run` and all that it starts may reach (lua/project/confinement.lua), and what it says of the programs that it starts.

local bounds = require "runner.core.bounds"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

-- --- confirmed, or only shown ----------------------------------------------------------------

local function is_safe(n)
	return n.danger_level == "safe"
end

-- --- what it leaves behind -------------------------------------------------------------------

local KINDS = rules.one_of("cache", "log", "temp", "credential", "config", "output")

local SIDE_EFFECT = { path = rules.text, type = KINDS, ttl_seconds = rules.whole(0, 2 ^ 31), clearable_with = rules.text }

-- One file or directory; nil: something in it is wrong or unknown.
local function side_effect(v)
	local out = tables.accepted(SIDE_EFFECT, v)
	return out and out.path and out.type and not (out.type == "output" and (out.ttl_seconds or out.clearable_with)) and out or nil
end

local BACKGROUND = { "cleanup_command", "max_lifetime_seconds" }

local function check_background(n, fault)
	for _, key in ipairs(n.spawns_background_process and BACKGROUND or {}) do
		if n[key] == nil then
			fault("needs " .. key, ("Add %s: how the process ends"):format(key))
		end
	end
end

local function needs_background(n, fault)
	if not n.spawns_background_process then
		fault("needs spawns_background_process = true", "Add spawns_background_process = true")
	end
end

local function changes_something(n, fault)
	if n.danger_level == "safe" then
		fault("needs a command that changes something", 'Remove it, or write danger_level = "mutating"')
	end
end

-- --- what it may reach -----------------------------------------------------------------------

local MOST = 64 -- paths of a list

-- ".." could lead anywhere by a link, and rules are compared as they are written.
local function path(v)
	return rules.text(v) and not v:find("\0", 1, true) and not ("/" .. v .. "/"):find("/../", 1, true) and v or nil
end

local function paths(v)
	return rules.list(v, 0, MOST, path)
end

local function capabilities(v)
	return rules.list(v, 0, MOST, function(name)
		return bounds.CAPABILITIES[name] and name or nil
	end)
end

local function hosts(v)
	return rules.list(v, 1, MOST, require("runner.declare.throttle").host_name)
end

local function ports(v)
	return rules.list(v, 1, MOST, rules.whole(1, 65535))
end

local NETWORK = { hosts = hosts, ports = ports, udp = rules.flag }

-- false; or what is left of it. Beside UDP, no host could be held.
local function network(v)
	if v == false then
		return false
	end
	local out = tables.accepted(NETWORK, v)
	return out and (out.hosts or out.ports) and not (out.hosts and out.udp) and out or nil
end

local CONFINE = { write = paths, read = paths, network = network, capabilities = capabilities, required = rules.flag }

-- A key that says nothing is no mistake of the kernel's: the author meant something else.
local function confine(v)
	local out = tables.accepted(CONFINE, v)
	if not out or not (out.write or out.read or out.network ~= nil or out.capabilities) then
		return nil
	end
	out.required = out.required ~= false
	return out
end

-- --- programs that it starts -----------------------------------------------------------------

local names = rules.list_of(rules.text, 0)

local SUBPROCESS = { binary = rules.text, user_controlled_args = names, hardcoded_args = names }

local function subprocess(v)
	local out = tables.accepted(SUBPROCESS, v)
	return out and out.binary and out or nil
end

local function name_of(arg)
	return type(arg) == "table" and (arg.name or arg[1]) or nil
end

-- A name that is no argument's would check nothing.
local function check_subprocess(n, fault)
	local known = {}
	for _, arg in ipairs(n.args or {}) do
		known[name_of(arg) or 0] = true
	end
	for _, name in ipairs(n.subprocess and n.subprocess.user_controlled_args or {}) do
		if not known[name] then
			fault(("names '%s' in user_controlled_args, which is no argument"):format(name), "Name arguments of args")
		end
	end
end

-- Their stderr, or their stdout, is another program's already.
local function check_stderr(n, fault)
	if n.arguments or n.stdout then
		fault(("can't be used with %s"):format(n.arguments and 'arguments = "passthrough"' or 'stdout = "protocol"'), "Remove one of them")
	end
end

-- --- the rows ---------------------------------------------------------------------------

---@type runner.Subject
return {
	keys = {
		-- confirmed, or only shown
		dry_run = { accept = rules.flag, expected = "true or false", manifest = "schema", check = function(n, fault)
			if n.dry_run and is_safe(n) then
				fault("needs a command that changes something", 'Remove it, or write danger_level = "mutating"')
			end
		end },
		safe_default = { accept = rules.flag, expected = "true or false", manifest = "entry", check = function(n, fault)
			if n.safe_default and n.danger_level ~= "destructive" then
				fault("needs a destructive command", 'Remove it, or write danger_level = "destructive"')
			end
		end },
		requires_person = { accept = rules.flag, expected = "true or false", manifest = "schema", check = function(n, fault)
			if n.requires_person and not n.interactive then
				fault("needs interactive = true", "Add interactive = true")
			end
		end },
		-- what it leaves behind
		config_write_scope = { accept = rules.one_of("local", "global", "session"), check = changes_something, manifest = "entry",
			expected = '"local", "global" or "session"' },
		filesystem_side_effects = { accept = rules.list_of(side_effect, 1), manifest = "entry",
			expected = 'a list such as { { path = ".cache/x", type = "cache" } }; type is cache, log, temp, credential, config or output;'
				.. " ttl_seconds and clearable_with are optional, and not for output" },
		spawns_background_process = { accept = rules.flag, expected = "true or false", check = check_background, manifest = "entry" },
		cleanup_command = { accept = rules.text, expected = "the command line that ends the process", check = needs_background,
			manifest = "entry" },
		max_lifetime_seconds = { accept = rules.whole(1, 2 ^ 31), expected = "a whole number of seconds", check = needs_background,
			manifest = "entry" },
		-- what it may reach
		confine = { accept = confine, manifest = "schema",
			expected = 'at least one of write = { "out" }, read = { "data" }, network = false and capabilities = { "chown" }, '
				.. 'and required = false if it may do without; network is false, { hosts = { "api.example.org" }, ports = { 443 } }, '
				.. "or { ports = { 443 }, udp = true }" },
		-- programs that it starts
		stderr = { accept = rules.one_of "child_log", expected = '"child_log"', check = check_stderr, manifest = "entry" },
		preserve_locale = { accept = rules.flag, expected = "true or false", manifest = "schema" },
		subprocess = { accept = subprocess, check = check_subprocess, manifest = "entry",
			expected = '{ binary = "git", user_controlled_args = { "branch" } }, with hardcoded_args = { … } if there are any' },
	},
	flags = {
		-- confirmed, or only shown
		{ name = "dry_run", type = "boolean", short = "n", when = "mutating", yields = true, section = "Safety",
			description = "Change nothing; say what would be done" },
		{ name = "confirm_destructive", type = "boolean", when = "destructive", section = "Safety",
			description = "Confirm that a destructive command may run" },
		{ name = "live", type = "boolean", when = "safe_default", section = "Safety",
			description = "Do it; without this flag the command only says what it would do" },
		{ name = "idempotency_key", type = "string", min_length = 1, max_length = 255, when = "mutating", yields = true,
			section = "Safety", description = "Make this call once: a second one with the key gets the first one's data" },
		-- what it leaves behind
		{ name = "global", type = "boolean", when = "config_write_scope=global", section = "Settings",
			description = "Save settings for all projects, not for this one" },
		{ name = "no_cache", type = "boolean", when = "filesystem_side_effects=cache", yields = true, section = "Behaviour",
			description = "Make every value of ctx:cached anew, and keep none" },
		{ name = "cache_ttl", type = "duration", when = "filesystem_side_effects=cache", yields = true, section = "Behaviour",
			description = "Age from which a value of ctx:cached is made anew; 0 is --no-cache" },
	},
}
