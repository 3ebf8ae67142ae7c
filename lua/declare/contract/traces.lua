-- traces: what a command declares about what it leaves behind: settings that it writes, files,
-- and processes.

local rules = require "runner.core.rules"

local KINDS = rules.one_of("cache", "log", "temp", "credential", "config", "output")

local PARTS = { path = rules.text, type = KINDS, ttl_seconds = rules.whole(0, 2 ^ 31), clearable_with = rules.text }

-- One file or directory; nil: something in it is wrong or unknown.
local function side_effect(v)
	local clean = type(v) == "table"
	local out = rules.accept(PARTS, "filesystem_side_effects", v, nil, function()
		clean = false
	end)
	return clean and out.path and out.type and not (out.type == "output" and (out.ttl_seconds or out.clearable_with)) and out or nil
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

---@type runner.Subject
return {
	keys = {
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
	},
	flags = {
		{ name = "global", type = "boolean", when = "config_write_scope=global", section = "Settings",
			description = "Save settings for all projects, not for this one" },
		{ name = "no_cache", type = "boolean", when = "filesystem_side_effects=cache", yields = true, section = "Behaviour",
			description = "Make every value of ctx:cached anew, and keep none" },
		{ name = "cache_ttl", type = "duration", when = "filesystem_side_effects=cache", yields = true, section = "Behaviour",
			description = "Age from which a value of ctx:cached is made anew; 0 is --no-cache" },
	},
}
