-- runner policy init [FILE]: a policy that allows what the audit ledger of this project says was called, and no more.

local attempt = require "runner.core.attempt"
local audit = require "runner.tools.audit"
local caller_policy = require "runner.project.caller_policy"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local limits = require "runner.project.policy_limits"
local rules = require "runner.core.rules"
local scope = require "runner.core.scope"
local tables = require "runner.core.tables"

local MOST_VALUES = 10 -- that are listed; more numbers are bounds, more texts are any
local HOUR_MS = 3600000
local NUMERIC = { integer = true, number = true, duration = true }
local LISTED = tables.set "string path enum integer number boolean duration"

-- --- what was called ------------------------------------------------------------------------------

local function is_of(call, args, from_ms)
	local client = type(call.client) == "table" and call.client or {}
	local at = limits.expires(call.began or call.decided or call.ended)
	return at and at >= from_ms and type(call.command) == "string" and scope.is_subject(call.subject) and not call.command:find "^policy%."
		and (not args.client or client.name == args.client or client.transport == args.client)
end

-- Has it done its work? A dry run has not, nor has what was refused, by a person or before `run`.
local function is_made(call)
	local row = call.code and host.registry_code(call.code)
	return call.began and not call.dry_run and call.decision ~= "refused"
		and not (row and row.entry == "ARG_ERROR" and call.side_effects == "none")
end

local function by_command(args, ctx)
	local project, out, only_tried = scope.own(), {}, {}
	local from_ms = args.since and host.wall_ms() - rules.milliseconds(args.since) or 0
	local calls, damaged = audit.calls(function(call) return call.project == project and is_of(call, args, from_ms) end, math.huge)
	for _, call in ipairs(calls) do
		local list = is_made(call) and out or only_tried
		list[call.command] = list[call.command] or {}
		table.insert(list[call.command], call)
	end
	local tried = {}
	for _, name in ipairs(tables.sorted_keys(only_tried)) do
		tried[#tried + 1] = not out[name] and command_line.typed(name) or nil
	end
	if tried[1] then
		ctx:warn("POLICY_INCOMPLETE", "Commands of which there are only dry runs and calls that were refused are left out: "
			.. table.concat(tried, ", "))
	end
	if damaged > 0 then
		ctx:warn("AUDIT_DAMAGED", ("%d lines of the audit ledger are no rows: runner audit verify"):format(damaged))
	end
	return out
end

-- --- one rule -------------------------------------------------------------------------------------

-- The most that began within an hour.
local function peak(calls)
	local times, most = {}, 0
	for _, call in ipairs(calls) do
		times[#times + 1] = limits.expires(call.began)
	end
	table.sort(times)
	local first = 1
	for i, at in ipairs(times) do
		while at - times[first] >= HOUR_MS do
			first = first + 1
		end
		most = math.max(most, i - first + 1)
	end
	return most
end

-- The distinct values of an argument, and whether a call had none; nil: one is not known.
local function values_of(row, calls)
	local kind, list, seen, absent = row.items or row.type, json.array {}, {}, nil
	for _, call in ipairs(calls) do
		local value = type(call.args) == "table" and call.args[row.name]
		if value == nil or value == json.null then
			absent = true
		elseif call.args == nil or value == false and kind ~= "boolean" then
			return nil
		end
		local items = row.type == "array" and type(value) == "table" and value or value ~= nil and value ~= json.null and { value } or {}
		absent = absent or items[1] == nil or nil -- to a policy, an empty list is no value
		for _, item in ipairs(items) do
			local key = json.encode(item) or ""
			if key:find("***", 1, true) then
				return nil
			elseif not seen[key] then
				list[#list + 1], seen[key] = item, true
			end
		end
	end
	return list, absent
end

-- What an argument may be; nil: anything.
local function condition(row, calls)
	local kind = row.items or row.type
	local list, absent
	if LISTED[kind] and not row.secret then
		list, absent = values_of(row, calls)
	end
	if not list then
		return nil
	elseif NUMERIC[kind] and #list > MOST_VALUES then
		table.sort(list)
		return { min = list[1], max = list[#list], absent = absent }
	elseif #list > MOST_VALUES then
		return nil
	end
	table.sort(list, function(a, b) return tostring(a) < tostring(b) end)
	list[#list + 1] = absent and json.null or nil
	return list[1] ~= nil and list or nil
end

local function rule_of(command, calls, unbound)
	local rule, most = {}, peak(calls)
	for _, row in ipairs(command.args) do
		local what = condition(row, calls)
		if what then
			rule.args = rule.args or {}
			rule.args[row.name] = what
		else
			unbound[#unbound + 1] = ("%s of '%s'"):format(row.name, command_line.typed(command.name))
		end
	end
	if command.raw == "passthrough" then
		unbound[#unbound + 1] = ("argv of '%s'"):format(command_line.typed(command.name))
	end
	rule.max_calls = most > 0 and ("%d/h"):format(most) or nil
	return rule
end

-- --- the policy -----------------------------------------------------------------------------------

local function policy_of(args, ctx)
	local allow, danger, unbound, gone, used = {}, "safe", {}, {}, by_command(args, ctx)
	local known = {}
	for _, entry in ipairs(catalog.all(attempt.project)) do
		known[entry.name] = entry
	end
	for _, name in ipairs(tables.sorted_keys(used)) do
		local command = known[name] and catalog.load(known[name], attempt.project)
		if command then
			allow[command_line.typed(name)] = rule_of(command, used[name], unbound)
			danger = caller_policy.LEVELS[command.danger_level] > caller_policy.LEVELS[danger] and command.danger_level or danger
		else
			gone[#gone + 1] = command_line.typed(name)
		end
	end
	if gone[1] then
		ctx:warn("POLICY_INCOMPLETE", "Commands that were called and are not here any more are left out: " .. table.concat(gone, ", "))
	end
	if unbound[1] then
		ctx:warn("POLICY_UNBOUND", "Arguments that may have any value: " .. table.concat(unbound, ", "))
	end
	return { subject = args.subject, max_danger = danger, allow = allow }
end

local function text_of(policy)
	local lines = {}
	for _, name in ipairs(tables.sorted_keys(policy.allow)) do
		lines[#lines + 1] = ("    %s: %s"):format(json.encode(name), next(policy.allow[name]) and json.encode(policy.allow[name]) or "{}")
	end
	return ('{\n%s  "max_danger": %s,\n  "allow": {\n%s\n  }\n}\n'):format(policy.subject and ('  "subject": %s,\n'):format(
		json.encode(policy.subject)) or "", json.encode(policy.max_danger), table.concat(lines, ",\n"))
end

return {
	args = {
		{ "file", "path", positional = true, description = "Write it there; default: only show it" },
		{ "client", "string", description = "Only what this client called: a name, or exec, or mcp-stdio" },
		{ "since", "duration", description = "Only what was called in the last 7d, say" },
		{ "subject", "string", description = "Whose policy it is" },
	},
	dry_run = true,
	exit_codes = {
		AUDIT_DISABLED = { retryable = false, side_effects = "none", description = "The project keeps no audit ledger" },
		CONFLICT = { retryable = false, side_effects = "none", description = "The file exists, and is left as it is" },
		NOT_FOUND = { retryable = false, side_effects = "none", description = "The ledger has no such call" },
		TIMEOUT = { retryable = false, side_effects = "partial" },
	},
	examples = { { description = "Allow what this agent did in a week, and no more",
		command = "runner policy init agent.json --client claude-code --since 7d" } },
	run = function(args, ctx)
		local policy = policy_of(args, ctx)
		if not next(policy.allow) then
			errors.raise("NOT_FOUND", "The audit ledger has no such call", { side_effects = "none", fix_required = "Make the calls first" })
		end
		local text, effect = text_of(policy), "noop"
		if args.file and ctx.dry_run then
			effect = "would_create"
		elseif args.file then
			local ok, why, code = fs.create(args.file, text)
			if not ok then
				errors.raise(code == "EEXIST" and "CONFLICT" or "UNAVAILABLE", ("Can't write %s: %s"):format(args.file, why),
					{ side_effects = "none", retryable = false, fix_required = "Name a file that isn't there" })
			end
			effect = "created"
		else
			require("runner.core.display").set { text = text }
		end
		return { effect = effect, path = args.file, policy = policy }
	end,
}
