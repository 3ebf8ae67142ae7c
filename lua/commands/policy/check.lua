-- runner policy check [FILE [CALL …]]: which commands of this project each rule of a policy means, what is used of it, and what it says
-- of a call.

local amounts = require "runner.core.amounts"
local attempt = require "runner.core.attempt"
local caller_policy = require "runner.project.caller_policy"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local limits = require "runner.project.policy_limits"
local policy_commands = require "runner.project.policy_commands"

-- That of the file, or those that hold for this call.
local function policies(path)
	if path then
		local policy, problem = caller_policy.read(require("runner.core.paths").absolute(path, host.getcwd()))
		return { policy or error(problem, 0) }
	end
	return attempt.policy and attempt.policy.list or errors.raise("PRECONDITION", "No policy holds for this call",
		{ side_effects = "none", fix_required = "Name a file: runner policy check agent.json" })
end

-- The first problem is the error; its message counts the others, which are in the rows.
local function problem_of(policy, rows, entries)
	local wrong = {}
	for _, row in ipairs(rows) do
		wrong[#wrong + 1] = row.problem
	end
	local first = not policy.inherited and wrong[1] and (policy_commands.mismatch(policy, entries)
		or caller_policy.invalid(policy.path, ("%s: %s"):format(policy.path, wrong[1]), "Correct the policy"))
	if first and wrong[2] then
		first.message = ("%s; and %d more: see data.rules"):format(first.message, #wrong - 1)
	end
	return first
end

local OWN = { POLICY_DENIED = true, POLICY_INVALID = true, PRECONDITION = true }
local OF_RULE = { policy = true, rule = true, command = true, subject = true }

-- What a refusal says: the rule, and what would be allowed.
local function refused(e)
	local context = {}
	for name, v in next, e.context do
		context[name] = not OF_RULE[name] and v or nil
	end
	return { policy = e.context.policy, rule = e.context.rule, context = next(context) and context,
		why = e.message:match "is not allowed: (.*)$" or e.message }
end

-- What would become of a call, and what it would end with before anything is done.
local function judge(policy, words)
	local found = require("runner.calls.checked").call(policy.path, words)
	local e = found.problem
	local data = { command = found.command and command_line.typed(found.command), allowed = not e, asked = not e and found.asked or nil,
		above = not e and found.above or nil,
		refused = e and e.code == "POLICY_DENIED" and e.context and refused(e) or nil }
	if e and e.code ~= "POLICY_DENIED" then
		data.error = { code = e.code, message = e.message }
	end
	if e and not OWN[e.code] and not host.registry_code(e.code) then -- a code of its command's own, which is none of ours
		e.code, e.message = "CALLS_FAILED", ("It ends with %s: %s"):format(e.code, e.message)
	end
	return data, e
end

local function fail(e, data)
	e.data, e.phase = data, nil
	error(e, 0)
end

return {
	option_placement = "strict",
	args = { { "file", "string", positional = true, description = "The policy; default: those that hold for this call" },
		{ "call", "array", items = "string", variadic = true, description = "A call that is not made: a command with its arguments" } },
	exit_codes = {
		CALLS_FAILED = { retryable = false, side_effects = "none", description = "The call ends with a code of its own: see data.call.error" },
		POLICY_DENIED = { retryable = false, side_effects = "none", description = "The policy refuses the call" },
		POLICY_INVALID = { retryable = false, side_effects = "none", description = "The file is wrong, or a rule means no command" },
		PRECONDITION = { retryable = false, side_effects = "none", description = "No policy holds, and no file is named" },
	},
	rows = "rules",
	columns = { "list", "rule", "commands", "says", "used", "problem" },
	examples = {
		{ description = "What does this policy mean here?", command = "runner policy check agent.json" },
		{ description = "May it make this call?", command = "runner policy check agent.json deploy --env prod" },
	},
	run = function(args)
		local entries, data, first = catalog.all(attempt.project), { rules = json.array {} }, nil
		local list = policies(args.file)
		for _, policy in ipairs(list) do
			local rows = policy_commands.rows(policy, entries)
			table.move(rows, 1, #rows, #data.rules + 1, data.rules)
			first = first or problem_of(policy, rows, entries)
			if policy.total_cost_usd then
				local used, problem = limits.cost(policy)
				data.total_cost_usd = { policy = policy.path, says = amounts.dollars(policy.total_cost_usd), used = used, problem = problem,
					above = policy.above }
			end
		end
		if first then
			fail(first, data)
		elseif args.call[1] then
			local problem
			data.call, problem = judge(list[1], args.call)
			if problem then
				fail(problem, data)
			end
		end
		return data
	end,
}
