-- safety: what commands that change something declare about it, and the flags that they get
-- (lua/project/safety.lua acts on them).

local rules = require "runner.core.rules"

local function is_safe(n)
	return n.danger_level == "safe"
end

---@type runner.Subject
return {
	keys = {
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
	},
	flags = {
		{ name = "dry_run", type = "boolean", when = "mutating", yields = true, section = "Safety",
			description = "Change nothing; say what would be done" },
		{ name = "confirm_destructive", type = "boolean", when = "destructive", section = "Safety",
			description = "Confirm that a destructive command may run" },
		{ name = "live", type = "boolean", when = "safe_default", section = "Safety",
			description = "Do it; without this flag the command only says what it would do" },
		{ name = "idempotency_key", type = "string", min_length = 1, max_length = 255, when = "mutating", yields = true,
			section = "Safety", description = "Make this call once: a second one with the key gets the first one's data" },
	},
}
