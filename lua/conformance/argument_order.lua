-- argument_order: a global option means the same wherever it stands, two of its values in
-- one call are an error, and an option of the command takes effect after a positional too.

local documents = require "runner.conformance.documents"
local execute = require "runner.conformance.execute"
local json_schema = require "runner.core.json_schema"

local M = {}

local CHECK = "argument_order"

local joined = execute.joined

-- Where an option with its value may stand; the last is the reference.
local function placements(order, value)
	local option, path, rest = { order.global_flag, value }, order.command_path, order.local_args
	return {
		{ where = "before the command", argv = joined(option, path, rest) },
		{ where = "after the command", argv = joined(path, option, rest) },
		{ where = "at the end", argv = joined(path, rest, option) },
	}
end

local function not_zero(kit, run)
	return kit:unended(run) or run.exit_code ~= 0 and ("it exited with %d"):format(run.exit_code) or nil
end

-- The runs of one value, by place; nil when one of them failed.
local function runs_of(kit, order, value)
	local runs = {}
	for i, place in ipairs(placements(order, value)) do
		local run = kit:run(("%s %s %s"):format(order.global_flag, value, place.where), place.argv)
		local problem = not_zero(kit, run)
		if problem then
			kit:judge(CHECK, run, problem)
			return nil
		end
		runs[i] = run
	end
	return runs
end

local function same_data(a, b)
	local left, right = documents.envelope(a.stdout), documents.envelope(b.stdout)
	if not left or not right then
		return left == right and a.stdout == b.stdout -- another format: the bytes
	end
	return json_schema.equal(left.data, right.data)
end

local function judge_places(kit, order)
	local given = runs_of(kit, order, order.value)
	local other = given and runs_of(kit, order, order.alternate_value)
	if not other then
		return false
	end
	for i, run in ipairs(given) do
		local _, problem = documents.envelope(run.stdout)
		kit:judge(CHECK, run, problem
			or not same_data(run, given[#given]) and "its data differs from that of the option at the end" or nil)
		kit:judge(CHECK, other[i], other[i].stdout == run.stdout
			and ("%s prints the same as %s: the option was ignored"):format(order.alternate_value, order.value)
			or not same_data(other[i], other[#other]) and "its output differs from that of the option at the end" or nil)
	end
	return true
end

local function judge_conflict(kit, order)
	local flag = order.global_flag
	local run = kit:run(flag .. " given twice", joined({ flag, order.value }, order.command_path, order.local_args,
		{ flag, order.alternate_value }))
	kit:judge(CHECK, run, kit:unended(run)
		or run.exit_code ~= 2 and ("two values of %s exited with %d, not 2"):format(flag, run.exit_code) or nil)
end

local function judge_positional(kit, order)
	local path, positional, option = order.command_path, { order.positional }, order.local_args
	local after = kit:run("option after the positional", joined(path, positional, option))
	local before = kit:run("option before the positional", joined(path, option, positional))
	local without = kit:run("no option", joined(path, positional))
	for _, run in ipairs { after, before, without } do
		local problem = not_zero(kit, run)
		if problem then
			return kit:judge(CHECK, run, problem)
		end
	end
	return kit:judge(CHECK, after, not same_data(after, before) and "the option means something else before the positional"
		or same_data(after, without) and "the option after the positional had no effect" or nil)
end

---Run the variants of a profile's `argument_order`.
---@param kit runner.ConformanceKit
function M.check(kit)
	local order = kit.profile.argument_order
	if not order then
		kit.outcomes[CHECK].skipped_reason = "the profile has no argument_order"
		return
	end
	if judge_places(kit, order) then
		judge_conflict(kit, order)
		if order.positional then
			judge_positional(kit, order)
		end
	end
end

return M
