-- start: from a file, or from the store, to a run that the engine can execute:
-- checked, locked, with its variables, environment and secrets. It runs no step.

local approvals = require "runner.workflow.run.approvals"
local cost = require "runner.workflow.run.cost"
local concurrency = require "runner.workflow.run.concurrency"
local check = require "runner.workflow.file.check"
local errors = require "runner.core.errors"
local file = require "runner.workflow.file.reader"
local fs = require "runner.fs"
local host = require "runner.host"
local inner_lists = require "runner.workflow.file.inner_lists"
local json = require "runner.json"
local masks = require "runner.core.mask"
local amounts = require "runner.core.amounts"
local secrets = require "runner.workflow.run.secrets"
local attempt = require "runner.core.attempt"
local own = require "runner.core.scope"
local person = require "runner.core.person"
local tables = require "runner.core.tables"
local steps = require "runner.workflow.file.steps"
local environment = require "runner.workflow.run.environment"
local paths = require "runner.core.paths"
local var_values = require "runner.workflow.run.var_values"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- --- the file, checked --------------------------------------------------------------------

local function directory(path)
	return path:match("^(.*)/[^/]*$") or "."
end

-- The secrets of a file, and of those that it runs, as far as they can be read before it runs.
local function readable(workflow, values)
	secrets.readable(workflow.secrets, directory(workflow.path), values)
	for _, child in ipairs(workflow.children) do
		readable(child, values)
	end
	return values
end

---Masks the secrets of a workflow that doesn't run, or not yet.
---@param workflow table
---@return fun(v: any): any
function M.mask_of(workflow)
	return (masks.masker(readable(workflow, {})))
end

local loaded = {} -- by path: `validate` and `run` read it once

-- How a file is read here: with the executors of the project.
local function read_options(lenient, on)
	return { lenient = lenient, executors = attempt.project and attempt.project.executors, on = on }
end

---@param path string
---@param lenient boolean
---@param on? string --on
---@return table? workflow, table[]? problems
function M.load(path, lenient, on)
	local key = ("%s\0%s\0%s"):format(path, lenient, on)
	if not loaded[key] then
		loaded[key] = table.pack(file.load(path, read_options(lenient, on)))
		host.hide(loaded[key][1] and readable(loaded[key][1], {}) or {})
	end
	return table.unpack(loaded[key], 1, 2)
end

---Problems of a workflow file as `validate` of a command returns them.
---@param path string
---@param problems table[]
---@return table[]
function M.rows(path, problems)
	local rows = {}
	for i, p in ipairs(problems) do
		local at = p.line and ("%s:%d:%d: "):format(p.path or path, p.line, p.column or 1) or path .. ": "
		rows[i] = { field = p.field or "file", code = p.code or "WORKFLOW_INVALID", message = (p.field and "" or at) .. p.message,
			suggestion = p.suggestion, value = not p.field and path or nil, line = p.line, column = p.column,
			fix_required = p.line and "Fix the workflow file" or p.field and "Name an executor that is described"
				or "Give the path of a readable workflow file" }
	end
	return rows
end

---Problems with the arguments `file` and `var`, for a command's validate.
---@param args table
---@param lenient boolean
---@return table[]?
function M.problems(args, lenient)
	local workflow, problems = M.load(args.file, lenient, args.on)
	if not workflow then
		return M.rows(args.file, problems)
	end
	local _, wrong = var_values.of(workflow, args.var, M.mask_of(workflow))
	return wrong
end

-- --- what its steps are run with ------------------------------------------------------------

local function executable()
	return fs.readlink("/proc/self/exe") or "runner"
end

-- What the steps of the files that it runs get of theirs, by file; none of their values is seen.
local function secrets_of_children(workflow, envs, values)
	for _, child in ipairs(workflow.children) do
		local known = secrets.load(child.secrets, directory(child.path))
		envs[child] = known.env
		table.move(known.values, 1, #known.values, #values + 1, values)
		secrets_of_children(child, envs, values)
	end
	return envs, values
end

-- The caller's policy may allow less (docs/reference/policy.md).
local function within_policy(micros)
	local most = attempt.policy and attempt.policy.max_cost_micros
	return most and math.min(micros or most, most) or micros
end

-- What all runs of the caller may cost together: this one has its part of it from here on, and what is left of that is given back
-- however it ends, once the engine has recorded what was cut off.
local function reserve(run)
	local policy = attempt.policy
	if not (policy and policy.reserve) then
		return
	end
	attempt.ctx:defer(function()
		local ok, charged = pcall(run.db.charged, run.db, run.id)
		policy.spent(run.id, ok and charged or run.budget.max or 0)
	end)
	run.budget.max = cost.one_machine(run.workflow, policy.reserve(run.id, run.budget.max))
end

-- May `workflow recover` resume it? Not where a step of another run, or a server's client, has started it, and decides about it.
local function is_recoverable(workflow)
	return workflow.recover and not attempt.policy and not (os.getenv "RUNNER_AUTOMATION" or os.getenv "RUNNER_CLIENT")
end

local ACTORS = 50 -- that a run remembers: who started it, and the last of those who resumed it

local function acted(actors, did)
	actors = actors or {}
	if #actors >= ACTORS then
		table.remove(actors, 2)
	end
	actors[#actors + 1] = own.actor(did)
	return json.array(actors)
end

-- The part that new and resumed runs share. `row`: id, variables, cwd, seed, errexit,
-- given_cost_micros, surroundings; defaults: those that a new run expands.
local function assemble(row, workflow, defaults)
	local id, cwd = row.id, row.cwd
	local envs, more = secrets_of_children(workflow, {}, attempt.project.telemetry and require("runner.telemetry.settings").secrets() or {})
	local known = secrets.load(workflow.secrets, directory(workflow.path), more)
	host.hide(known.values)
	steps.relabel(workflow.all, known.mask)
	local around = environment.of(id, workflow, row.surroundings, known.mask, defaults or {})
	local scope = { vars = var_values.complete(workflow, row.variables, around.env, known.mask), captures = workflow.captures, steps = {},
		run = { id = id, name = workflow.name }, env = around.env }
	return {
		id = id, workflow = workflow, outermost = workflow, scope = scope, seed = math.tointeger(tonumber(row.seed)), mask = known.mask,
		hide = known.hide, secrets = known.values, child_secrets = envs, merging = {},
		rows = {}, in_doubt = {}, mark_done = {}, settled = {}, failures = {}, warned = {}, done = 0,
		budget = cost.budget(0, cost.one_machine(workflow, within_policy(row.given_cost_micros or workflow.max_cost))),
		settings = { cwd = cwd, self = executable(), mask = known.mask, claude = workflow.claude, errexit = row.errexit,
			env = environment.of_steps(workflow, scope, known, cwd, around) },
		surroundings = around, concurrency = concurrency.of(workflow, scope, known.mask),
	}
end

local function warn_of(workflow)
	for _, text in ipairs(workflow.warnings) do
		attempt.warn("WORKFLOW_WARNING", text)
		host.send("LOG", { level = "warn", event = "workflow.warning", message = text })
	end
end

-- --- a new run -----------------------------------------------------------------------------------

---The seed of a run: --seed, RUNNER_SEED, else random.
---@param args table
---@return integer
function M.seed(args)
	return args.seed or attempt.environment_seed() or host.random() & math.maxinteger
end

---The argument for the budget of a run.
M.max_cost_argument = { "max_cost", "number", min = 0.000001, max = 1000000000,
	description = "Budget of the run in US dollars; default: max_cost of the file" }

---The budget that the argument sets, in micro-dollars.
---@param args table
---@return integer?
function M.max_cost(args)
	return args.max_cost and amounts.micros(args.max_cost)
end

---What a new run may cost, for the policies of its caller: a job's starter reserves that.
---@param args table
function M.tell_cost(args)
	local tell = attempt.policy and attempt.policy.costs
	local workflow = tell and M.load(args.file, true, args.on)
	if workflow then
		tell(within_policy(M.max_cost(args) or workflow.max_cost))
	end
end

-- What the store keeps of the file's text: nothing if it contains a secret.
local function stored_text(run)
	local text = run.workflow.text
	return run.mask(text) == text and text or ""
end

---A new run of args.file, stored and locked.
---@param db table the open store
---@param args table file, var, seed
---@return table run
function M.create(db, args)
	local workflow = assert(M.load(args.file, true, args.on))
	local id = "run_" .. attempt.launch.request_id:match("[^_]+$")
	local cwd = host.getcwd()
	local defaults = var_values.defaults(workflow, args.var)
	local run = assemble({ id = id, variables = var_values.of(workflow, args.var, M.mask_of(workflow)), cwd = cwd, seed = M.seed(args),
		errexit = true, given_cost_micros = M.max_cost(args) }, workflow, defaults)
	warn_of(workflow)
	run.db, run.lock, run.askers = db, db:own(id), person.asker()
	reserve(run)
	db:create({
		id = id, workflow = run.mask(workflow.name), file = paths.absolute(workflow.path, cwd), digest = workflow.digest,
		source = stored_text(run), cwd = cwd, variables = var_values.stored(run.scope.vars, defaults, masks.of_values(run.secrets)),
		env_names = json.array(tables.sorted_keys(run.settings.env)),
		seed = run.seed, errexit = run.settings.errexit, request_id = attempt.launch.request_id, owner = attempt.launch.supervisor,
		max_cost_micros = run.budget.max, given_cost_micros = M.max_cost(args), given_on = args.on,
		context = (attempt.project or {}).context, surroundings = environment.stored(run.surroundings), recover = is_recoverable(workflow),
		askers = run.askers, concurrency = run.concurrency and run.concurrency.key, actors = acted(nil, "started"),
	}, concurrency.guard(db, run))
	return run
end

-- --- a resumed run ----------------------------------------------------------------------------

local function check_state(row, force)
	if row.state == "cancelled" and not force then
		errors.raise("CONFLICT", ("Run %s was cancelled"):format(row.id),
			{ suggestion = ("runner workflow resume %s --force"):format(row.id) })
	end
end

local function invalid(row, problems)
	local rows = M.rows(row.file, problems)
	errors.raise("PRECONDITION", rows[1].message, { errors = rows, fix_required = rows[1].fix_required, side_effects = "none" })
end

-- Does it say something else than when the run started? Runs of runner 0.1 have the digest
-- of its text.
local function has_changed(row, text, workflow)
	return host.digest(text) ~= row.digest and not (workflow and workflow.digest == row.digest)
end

-- The file, if it hasn't changed; with `force` as it is now, or as it was if it is
-- gone.
local function workflow_of(row, force)
	local text = fs.read(row.file)
	local hint = { side_effects = "none", context = { run = row.id, file = row.file },
		suggestion = ("runner workflow resume %s --force"):format(row.id) }
	if not text and not force then
		hint.fix_required = "Restore the file, or resume with --force to use the text that the run started with"
		errors.raise("NOT_FOUND", ("The workflow file %s is gone"):format(row.file), hint)
	elseif not text and row.source == "" then
		hint.fix_required, hint.suggestion = "Restore the file", nil
		errors.raise("NOT_FOUND", ("The workflow file %s is gone, and its text was not stored because it contains a secret")
			:format(row.file), hint)
	end
	local workflow, problems = file.parse(text or row.source, row.file, read_options(true, row.given_on))
	for _, problem in ipairs(problems or {}) do
		if problem.gone then
			hint.fix_required, hint.suggestion = "Restore the file", nil
			errors.raise("NOT_FOUND", ("The workflow file %s, which this one runs, is gone: %s"):format(problem.gone, row.file), hint)
		end
	end
	if text and not force and has_changed(row, text, workflow) then
		hint.fix_required = "Undo the change, or resume with --force to use the file as it is now"
		errors.raise("CONFLICT", ("The workflow file %s%s has changed since the run started"):format(row.file,
			(workflow and workflow.children[1] or not workflow and text:find "workflow:") and ", or one that it runs," or ""), hint)
	end
	return workflow or invalid(row, problems)
end

-- The file as it was; nil: its text was not stored.
local function source_of(row, workflow)
	return workflow.digest == row.digest and workflow
		or row.source ~= "" and file.parse(row.source, row.file, read_options(true, row.given_on)) or nil
end

-- What the steps did before the file was changed, by key.
local function said_by(before, workflow)
	local said = {}
	inner_lists.each(before and before ~= workflow and before.steps or {}, function(step, key)
		said[key] = steps.text(step)
	end)
	return said
end

local OVER = { completed = true, skipped = true }

-- The steps that --mark-done names, as a set. In a run that has completed, all of them are.
local function marked(db, id, keys, is_over)
	local set = {}
	for _, key in ipairs(keys or {}) do
		local row = db:step(id, key)
		if not row or OVER[row.state] and not is_over then
			local near = check.meant(key, db:unfinished_steps(id))
			errors.raise("NOT_FOUND", ("Run %s has no unfinished step '%s'"):format(id, key),
				{ side_effects = "none", suggestion = near or "runner workflow show " .. id })
		end
		set[key] = true
	end
	return set
end

-- A variable that contained a secret is stored masked: no step may get "***". A file that has changed may have had others.
local function check_variables(row, run)
	local may_be = run.secrets[1] or has_changed(row, run.workflow.text, run.workflow)
	for name, value in pairs(row.variables) do
		if may_be and variables.text(value):find("***", 1, true) then
			errors.raise("PRECONDITION", ("The variable '%s' of run %s contained a secret, which is not stored"):format(name, row.id), {
				side_effects = "none", fix_required = "Find out what its steps have done; only a new run can be given the value",
				suggestion = ("runner workflow show %s says what it has done; a new run takes --var %s=VALUE"):format(row.id, name),
			})
		end
	end
end

-- Its relative paths start from its working directory.
local function check_cwd(row)
	if host.probe(row.cwd) ~= "directory" then
		errors.raise("PRECONDITION", ("The working directory %s of run %s is gone"):format(row.cwd, row.id),
			{ side_effects = "none", fix_required = "Recreate the directory" })
	end
end

local function put_back(run, args)
	local again = require "runner.workflow.run.again"
	return args.from and again.from(run, args.from) or args.failed and again.failed(run)
end

---A stored run, locked and ready to continue.
---@param db table the open store
---@param args table id, force, retry_in_doubt, mark_done; failed, or from: what is put back
---@return table? run nil: it has completed, or isn't to be recovered; nothing of it runs again
function M.reopen(db, args)
	local row = db:find(args.id)
	local lock = db:own(row.id)
	row = db:find(row.id) -- its owner may have just ended it
	local again = args.from or args.failed
	if args.recover and not db:to_recover(0, nil, host.wall_ms(), row.id)[1] then
		return nil
	end
	if row.state == "completed" and not again then
		marked(db, row.id, args.mark_done, true)
		return nil
	end
	check_state(row, args.force)
	check_cwd(row)
	local workflow = workflow_of(row, args.force)
	row.given_cost_micros = M.max_cost(args) or row.given_cost_micros
	local run = assemble(row, workflow)
	check_variables(row, run)
	db:settle(row.id)
	run.db, run.lock, run.rows, run.in_doubt = db, lock, cost.rows(db, row.id), db:steps_in_doubt(row.id)
	run.uncharged = cost.recover(db, row.id, workflow.claude.output == "stream-json")
	run.budget = cost.budget(db:charged(row.id), run.budget.max)
	db:integrity(row.id) -- a damaged run must not continue
	run.retry_in_doubt = args.retry_in_doubt
	run.mark_done = marked(db, row.id, args.mark_done)
	local before = source_of(row, workflow)
	approvals.hold(db, row, workflow, run.mark_done, before)
	run.asked_before, run.askers, run.said = approvals.askers(db, row), person.asker(row.askers), args.force and said_by(before, workflow)
	local some = again and put_back(run, args)
	if again and not some and row.state == "completed" then
		return nil
	end
	approvals.ask_anew(run, args.from and some)
	reserve(run)
	db:set_run(row.id, { state = "running", owner = attempt.launch.supervisor, resumes = (row.resumes or 0) + 1,
		max_cost_micros = run.budget.max or json.null, given_cost_micros = row.given_cost_micros,
		digest = run.workflow.digest, source = stored_text(run), surroundings = environment.stored(run.surroundings),
		recover = is_recoverable(run.workflow) or json.null, askers = run.askers,
		actors = acted(row.actors, args.from and "retried" or "resumed"),
		concurrency = run.concurrency and run.concurrency.key or json.null }, concurrency.guard(db, run))
	environment.warn(run.surroundings, run.mask)
	return run
end

return M
