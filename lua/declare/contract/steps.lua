-- steps: what a command of several steps can do besides running them all: begin at a later one,
-- and undo what a failure left.

local rules = require "runner.core.rules"

local function check_resumable(n, fault)
	if n.resumable and not n.steps then
		fault("needs steps", 'Add steps = { "fetch", "build" }')
	end
end

---@type runner.Subject
return {
	keys = {
		resumable = { accept = rules.flag, expected = "true or false", check = check_resumable, manifest = "schema" },
		rollback = { accept = rules.of_type "function", expected = "a function(args, ctx, error)", manifest = "none",
			check = function(n, fault)
				if n.danger_level == "safe" then
					fault("needs a command that changes something", 'Remove it, or write danger_level = "mutating"')
				end
			end },
	},
	flags = {
		{ name = "resume_from", type = "string", when = "resumable", section = "Steps",
			description = "Begin with this step; those before it are skipped" },
		{ name = "rollback_on_failure", type = "boolean", when = "rollback", section = "Steps",
			description = "Undo what was done if the command fails" },
	},
}
