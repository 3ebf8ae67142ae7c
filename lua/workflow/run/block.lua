-- block: steps with a check and a repair. A block's row in the store has as data where it is: do, check, repair, and
-- again. What runs there are ordinary steps with rows of their own, so that a resumed run goes on where the store says
-- it was; one more round of them has keys that end in @2, as those of hooks have.

local children = require "runner.workflow.run.children"
local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local hooks = require "runner.workflow.run.hooks"
local host = require "runner.host"
local json = require "runner.json"
local last_steps = require "runner.workflow.run.last_steps"
local large_value = require "runner.workflow.expr.large_value"
local outputs = require "runner.workflow.run.outputs"
local resumed_results = require "runner.workflow.run.resumed_results"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local secrets = require "runner.workflow.run.secrets"
local reference = require "runner.core.reference"
local tolerated_failures = require "runner.workflow.run.tolerated_failures"

local M = {}

local SHOWN = 2000 -- bytes of a failure that are kept for the repair

---@class runner.workflow.Way where a block is
---@field phase "do"|"check"|"merge"|"repair"
---@field rounds {do: integer, check: integer, merge: integer?, repair: integer} the last one of each that has begun
---@field ended? {state: string, code: string, error: string} of last steps: how their workflow ended
---@field granted integer repairs before those that this resume, or start, may make
---@field worktree? runner.workflow.Worktree
---@field head? string the commit that was checked out when the block began
---@field failure? {key: string, code: string, error: string, of: "do"|"check"|"merge", round: integer} the last one; round: of its steps

---@class runner.workflow.Block
---@field run table
---@field step runner.workflow.Step
---@field key string
---@field place runner.workflow.Place in its worktree
---@field outer runner.workflow.Scope around it
---@field save fun() what `way` says by now
---@field way runner.workflow.Way
---@field given? table the result of its steps
---@field left? table what the step that has failed has left
---@field problem? runner.Error the last failure, where it was in this process
---@field sequence fun(run: table, steps: runner.workflow.Step[], place: runner.workflow.Place): table?

-- The commit that is checked out, for a check that wants a new one.
local function head_of(run, step, key, scope)
	local head = step.check and step.check.head
	if head then
		local hook = { text = "git rev-parse --verify HEAD", working_dir = head.working_dir, interpreter = "sh" }
		local result = hooks.run(run, hook, key, scope, "head")
		return result.ok and result.stdout:match "^%x+" or errors.raise("PRECONDITION",
			("Step %s: commit: true needs a git repository with a commit: %s"):format(key, (result.stderr or ""):match "[^\n]+" or "git failed"),
			{ fix_required = "Run it in a repository, or set working_dir" })
	end
end

---Where it begins: a resumed run where the last process was. After a failure it has all its repairs again. The file may
---have had another step here, or a repair that it has no more.
---@return {stored: runner.workflow.Way}
function M.items(run, step, place, row)
	local way = row and row.kind == "steps" and type(row.data) == "table" and row.data
	if not way then
		way = { phase = "do", rounds = { ["do"] = 1, check = 0, repair = 0 }, granted = 0, ended = step.ended,
			head = not step.worktree and head_of(run, step, place.prefix .. step.key .. place.suffix, place.scope) or nil }
	elseif row.state == "failed" then
		way.granted = way.rounds.repair
	end
	if way.phase == "repair" and not step.repair then
		way.phase = way.failure.of
	end
	if way.phase == "merge" and not (step.worktree and step.worktree.merge) then
		way.phase = "check"
	end
	return { stored = way }
end

local function worktree()
	return require "runner.workflow.run.worktree" -- few blocks have one
end

local function save(block)
	local step, way = block.step, block.way
	block.run.db:soon("set_step", block.run.id, scopes.ident(block.run, step, block.key, block.place.scope), "running",
		{ data = way })
end

local function enter(block, phase, more)
	local way = block.way
	way.phase = phase
	way.rounds[phase] = (way.rounds[phase] or 0) + (more and 1 or 0)
	save(block)
end

local function place_of(block, phase, scope)
	local place = { prefix = block.place.prefix, suffix = block.place.suffix, scope = scope or block.place.scope }
	return resumed_results.hooks_place(block.step, place, block.way.rounds[phase])
end

-- The results of a list, or the error of the step that failed. A cancellation, a doubt, or what the store raises is none.
local function try(block, steps, place, sequence)
	local run = block.run
	local ok, given = pcall(sequence or block.sequence, run, steps, place)
	doubt.check(run)
	local e = not ok and type(given) ~= "userdata" and errors.normalise(given)
	local key = e and e.context and e.context.step_key
	if not ok and not (key and run.failures[key]) then
		error(given, 0)
	end
	return ok, e and secrets.hide_in_error(e, run.mask) or given
end

-- --- what a check and a repair see ---------------------------------------------------------------

-- What a step that failed has left: the store has its output, and no data.
local function left_by(block, key)
	scheduler.settled()
	local row = key and block.run.db:step(block.run.id, key)
	local left = row and outputs.result(block.run, key, row, false) or { output = "", data = json.null }
	local is_json = left.data == nil and type(left.output) == "string" and left.output:find "^%s*[%[{]"
	left.data = is_json and json.decode(left.output) or left.data
	return left
end

local function guarded_scope(block)
	local way = block.way
	local failure = way.failure or { code = "", error = "" }
	local attempt = { error = failure.error, code = failure.code, head = way.head or "", number = way.rounds["do"],
		repair = way.rounds.repair }
	local check = { error = failure.of == "check" and failure.error or "" }
	return scopes.inner_scope(block.place.scope, {
		attempt = setmetatable(attempt, { __index = block.given or left_by(block, failure.key) }),
		check = setmetatable(check, { __index = left_by(block, failure.of == "check" and failure.key) }),
	}, false)
end

-- --- the check ---------------------------------------------------------------------------------------

-- The error of the first of its steps that doesn't pass, the key of that step, and its own error.
local function check(block)
	local place = block.step.check and place_of(block, "check", guarded_scope(block))
	for _, step in ipairs(place and block.step.check.steps or {}) do
		local ok, given = try(block, { step }, place)
		if not ok then
			local key = place.prefix .. step.key .. place.suffix
			block.run.failures[block.key] = { key = block.key, transient = false }
			return errors.new("CHECK_FAILED", ("The check of step %s failed: %s"):format(block.key, given.message), { retryable = false,
				side_effects = "partial", suggestion = "runner workflow resume " .. block.run.id, context = { run = block.run.id,
					step_key = block.key, check = key, stderr = given.context.stderr } }), key, given
		end
	end
end

-- In the place of `verify`: was the work done whose end was not seen? A check may always run.
local function verify(block)
	block.way.rounds.check = block.way.rounds.check + 1
	enter(block, "do")
	return check(block) and "repeat" or "done", "its check says that its work isn't done"
end

-- --- the limits of the step itself: they hold for all that is inside its block ------------------------

-- What is left of them. `but`: a key that isn't counted.
local function left_of(block, but)
	local step = block.step.whole and block.step.steps[1] or {}
	if not (step.max_cost or step.total_timeout_ms) then
		return {}
	end
	scheduler.settled()
	local used = block.run.db:used_inside(block.run.id, block.key, but or "")
	return { max_cost = step.max_cost and step.max_cost - used.micros,
		total_timeout_ms = step.total_timeout_ms and step.total_timeout_ms - used.ms }
end

-- May another repair begin?
local function has_repair(block)
	local repair, way = block.step.repair, block.way
	local left = repair and way.rounds.repair - way.granted < repair.max and left_of(block)
	for name, amount in pairs(left or {}) do
		if amount <= 0 then
			events.warn(block.run, ("Step %s: no repair, since %s is used up"):format(block.key, (name:gsub("_ms$", ""))), block.key)
			return false
		end
	end
	return left
end

-- The steps of the block; another round of one with limits has what is left of them.
local function own_steps(block, key)
	local step = block.step.steps[1]
	if not block.step.whole then
		return block.step.steps
	end
	local own = block.way.rounds["do"] > 1 and left_of(block, key) or {}
	own.verify = not step.verify and block.step.check and function() return verify(block) end or nil
	return { setmetatable(own, { __index = step }) }
end

-- The steps of the repair: a claude step among them may cost what is left for the step that it repairs.
local function repair_steps(block, place)
	local out = {}
	for i, step in ipairs(block.step.repair.steps) do
		local key, left = place.prefix .. step.key .. place.suffix, nil
		out[i] = step.kind == "claude" and setmetatable({}, { __index = function(_, name)
			left = left or name == "max_cost" and left_of(block, key)
			return name == "max_cost" and left.max_cost and math.min(left.max_cost, step.max_cost or left.max_cost) or step[name]
		end }) or step
	end
	return out
end

-- --- the way -------------------------------------------------------------------------------------------

-- Has a person refused something in there? No repair makes that good.
local function is_refused(block)
	local holds = reference.holder(block.key)
	for key, failure in pairs(block.run.failures) do
		if failure.refused and holds(key) then
			return true
		end
	end
end

-- Where it goes on after a failure, in this process or, if no repair is left, in one that resumes it: a step that has
-- failed starts over by itself.
local function go_on(block, e)
	local way, repair = block.way, block.step.repair
	if not is_refused(block) and has_repair(block) then
		block.problem = e
		enter(block, "repair", true)
		return events.repair(block.run, block.key, e, ("repair %d of %d"):format(way.rounds.repair - way.granted, repair.max))
	end
	way.phase = "do"
	if way.failure.of ~= "do" then
		way.phase = way.failure.of == "merge" and "merge" or repair and repair.again == "step" and "do" or "check"
		way.rounds[way.phase] = way.rounds[way.phase] + 1
	end
	return e
end

-- The end of a text, without a part of a character.
local function tail(text)
	return host.clean((text:gsub("%s+$", ""):sub(-SHOWN):gsub("^[\x80-\xBF]+", "")))
end

-- What its program has printed to stderr; some print it to stdout. All other failures have a message that says why.
local function reason(block, e)
	local stderr = e.context.stderr
	if e.code ~= "SUBPROCESS_FAILED" then
		return tail(e.message)
	elseif stderr and stderr:find "%S" then
		return tail(stderr)
	end
	local whole, printed = pcall(large_value.value, left_by(block, e.context.step_key).output)
	return e.message .. (whole and type(printed) == "string" and printed:find "%S" and "\n" .. tail(printed) or "")
end

local function after_failure(block, e, of, key, cause)
	block.way.failure = { of = of, key = key or e.context.step_key, code = e.code, error = reason(block, cause or e),
		round = block.way.rounds["do"] }
	return go_on(block, e)
end

-- A failure of this process, or of the one before it.
local function problem_of(block)
	if not block.problem then
		local run, key = block.run, block.way.failure.key
		block.problem = resumed_results.failure(run.db:step(run.id, key))
		block.problem.context.step_key, run.failures[key] = key, run.failures[key] or { key = key, transient = false }
	end
	return block.problem
end

-- What a repair sees of a step that has failed itself.
local function remember_failure(block, e, scope)
	block.left = children.result(block.run, block.step, block.key, scope, left_by(block, block.way.failure.key), true)
	scopes.remember_failure(block.step, block.place.scope, e, block.left)
end

local function repair_failed(block, e)
	local run, key = block.run, e.context.step_key
	local message = ("Step %s: repair %d failed: %s"):format(block.key, block.way.rounds.repair, e.message)
	events.warn(run, message, block.key)
	tolerated_failures.note(run, key, { code = "REPAIR_FAILED", message = message, context = { code = e.code } })
end

-- Its own steps, which may be of another file, and what they give.
local function inside(block)
	local inner, scope = children.enter(block.run, block.step, block.place.scope, true)
	return place_of(block, "do", scope), function(_, steps, place)
		local given = block.step.child and last_steps.around(inner, block.step.child, place, block.sequence)
			or block.sequence(inner, steps, place)
		return children.result(block.run, block.step, block.key, scope, given, block.begun)
	end
end

-- The steps that merge the branch run in the repository. A single one has git as its `verify`.
local function merged_by_steps(block, verified)
	local steps = block.step.worktree.steps
	local only = not steps[2] and not steps[1].steps and not steps[1].verify
	local list = only and { setmetatable({ verify = verified }, { __index = steps[1] }) } or steps
	local scope = scopes.inner_scope(block.place.scope, { vars = block.outer.vars, cwd = block.outer.cwd or block.run.settings.cwd }, false)
	local ok, e = try(block, list, place_of(block, "merge", scope))
	return not ok and e or nil
end

local STEPS = {
	["do"] = function(block)
		local list = block.step.steps
		local place, sequence = inside(block)
		local ok, given = try(block, own_steps(block, place.prefix .. list[#list].key .. place.suffix), place, sequence)
		if not ok then
			block.given = nil
			local e = after_failure(block, given, "do")
			remember_failure(block, given, place.scope)
			return e
		end
		block.given, block.way.failure = scopes.remember(block.step, block.place.scope, given or {}), nil
		enter(block, "check", true)
	end,
	check = function(block)
		local e, key, cause = check(block)
		if e then
			return after_failure(block, e, "check", key, cause)
		elseif not (block.step.worktree and block.step.worktree.merge) then
			block.passed = true
			return
		end
		enter(block, "merge", true)
	end,
	merge = function(block)
		local e = require("runner.workflow.run.merge").merge(block, function(verified)
			return merged_by_steps(block, verified)
		end)
		if e then
			e.context = e.context or {}
			e.context.step_key, block.run.failures[block.key] = block.key, { key = block.key, transient = false }
			return after_failure(block, e, "merge")
		end
		block.passed = true
	end,
	repair = function(block)
		local repair = block.step.repair
		local place = place_of(block, "repair", guarded_scope(block))
		local ok, e = try(block, repair_steps(block, place), place)
		local budget = block.run.budget
		if not ok and e.code == "BUDGET_EXHAUSTED" and budget.max and budget.total >= budget.max then
			return e -- the run's: no other repair would find more; a run that gets more goes on here
		elseif not ok and is_refused(block) then
			return e -- the next resume asks again
		elseif not ok then
			repair_failed(block, e)
			if repair.again == "check" and block.way.failure.of == "do" then -- neither has done the work
				return go_on(block, problem_of(block))
			end
		end
		enter(block, repair.again == "step" and block.way.failure.of ~= "merge" and "do" or "check", true)
	end,
}

-- Its steps run in a worktree, and `commit: true` compares what is checked out there. With values that its file refuses
-- it can't start.
local function begin(block)
	local step, way = block.step, block.way
	if step.worktree then
		block.place = { prefix = block.place.prefix, suffix = block.place.suffix, scope = worktree().enter(block) }
		block.passed = way.worktree.going
		if not (way.head or block.passed) then
			way.head = head_of(block.run, step, block.key, block.place.scope)
			save(block)
		end
	end
	local first = resumed_results.hooks_place(step, block.place, 1)
	local row = block.run.rows[first.prefix .. step.steps[1].key .. first.suffix]
	block.begun = row ~= nil and row.started_ms ~= nil
	children.enter(block.run, step, block.place.scope, block.begun)
end

-- A cancellation goes on.
local function error_or_end(raised)
	return type(raised) == "userdata" and error(raised, 0) or errors.normalise(raised)
end

---Run a block to its end.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param items {stored: runner.workflow.Way} as M.items gives it
---@param sequence fun(run: table, steps: runner.workflow.Step[], place: runner.workflow.Place): table?
---@return runner.Error? problem
---@return {data: runner.workflow.Way, given: table}? outcome
---@return table? left of a failure: the result of its steps
function M.run(run, step, key, place, items, sequence)
	local way = items.stored
	local block = { run = run, step = step, key = key, place = place, way = way, sequence = sequence, outer = place.scope }
	block.save = function() save(block) end
	local found, e = pcall(begin, block)
	if not found then
		return error_or_end(e)
	end
	if way.phase ~= "do" then
		local given, scope = resumed_results.of_block(run, step, place, way.rounds["do"])
		if way.failure and way.failure.of == "do" then
			remember_failure(block, problem_of(block), scope)
		else
			block.given = given
		end
	end
	while not block.passed do
		local problem = STEPS[way.phase](block)
		if problem then
			local _ = step.worktree and worktree().leave(block, true)
			return problem, nil, block.given or block.left
		end
	end
	local _ = step.worktree and worktree().leave(block, false)
	local given = block.given or block.left or resumed_results.of_block(run, step, place, way.rounds["do"])
	return nil, { data = way, given = scopes.passed(given) }
end

return M
