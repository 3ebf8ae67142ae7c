-- runner policy check [FILE]: which commands of this project each rule of a policy means.

local attempt = require "runner.core.attempt"
local caller_policy = require "runner.project.caller_policy"
local catalog = require "runner.project.catalog"
local errors = require "runner.core.errors"
local json = require "runner.json"
local policy_commands = require "runner.project.policy_commands"

-- That of the file, or those that hold for this call.
local function policies(path)
	if path then
		local policy, problem = caller_policy.read(path)
		return { policy or error(problem, 0) }
	end
	return attempt.policy and attempt.policy.list or errors.raise("PRECONDITION", "No policy holds for this call",
		{ side_effects = "none", fix_required = "Name a file: runner policy check agent.json" })
end

local function add_rules(out, policy, entries)
	for _, list in ipairs { "allow", "deny" } do
		for _, rule in ipairs(policy[list] or {}) do
			out[#out + 1] = { policy = policy.path, list = list, rule = rule.text, optional = rule.optional,
				commands = policy_commands.commands(rule, entries, list == "deny"),
				problem = policy_commands.problem(rule, entries, list == "deny") }
		end
	end
end

return {
	args = { { "file", "string", positional = true, description = "The policy; default: those that hold for this call" } },
	exit_codes = {
		POLICY_INVALID = { retryable = false, side_effects = "none", description = "The file is wrong, or a rule means no command" },
		PRECONDITION = { retryable = false, side_effects = "none", description = "No policy holds, and no file is named" },
	},
	rows = "rules",
	columns = { "list", "rule", "commands", "problem" },
	examples = { { description = "What does this policy mean here?", command = "runner policy check agent.json" } },
	run = function(args)
		local entries, rules, first = catalog.all(attempt.project), json.array {}, nil
		for _, policy in ipairs(policies(args.file)) do
			add_rules(rules, policy, entries)
			first = first or not policy.inherited and policy_commands.mismatch(policy, entries)
		end
		if first then
			first.data, first.phase = { rules = rules }, nil
			error(first, 0)
		end
		return { rules = rules }
	end,
}
