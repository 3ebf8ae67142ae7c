-- placed_help: a run with a placed step, and a coordinator's part in it by hand: what it writes
-- into the unit's folder, tasks as processes of the program that was built, and their import.

local database = require "runner.state.database"
local file = require "runner.workflow.file.reader"
local host = require "runner.host"
local import = require "runner.workflow.run.import"
local masks = require "runner.core.mask"
local fs = require "runner.fs"
local steps = require "runner.workflow.file.steps"
local store = require "runner.workflow.store.store"
local step_folder = require "runner.workflow.executors.step_folder"

local ROOT = debug.getinfo(1, "S").source:match "^@(.*)tests/lua/lib/" or ""
ROOT = ROOT == "" and host.getcwd() .. "/" or ROOT:sub(1, 1) == "/" and ROOT or host.getcwd() .. "/" .. ROOT
local RUNNER = os.getenv "RUNNER" or ROOT .. "build/runner"
local SEED = 42

local M = { ROOT = ROOT, RUNNER = RUNNER, TOKEN = "rn-TEST-1.1" }

---@class placed.World
local World = {}
World.__index = World
function World:__close()
	self:close()
end


local function run_of(dir, workflow, opts)
	local mask, hide = masks.masker(opts.secrets or {})
	steps.relabel(workflow.steps, mask)
	local id = opts.id or "run_TEST"
	return {
		id = id, workflow = workflow, seed = SEED, mask = mask, hide = hide, secrets = opts.secrets or {}, rows = {}, failures = {},
		scope = { vars = opts.vars or workflow.vars, captures = workflow.captures, steps = opts.steps or {},
			run = { id = id, name = workflow.name }, env = os.getenv },
		settings = { cwd = dir, mask = mask, claude = workflow.claude, errexit = true, env = opts.env or {} },
	}
end

---A run whose first step is placed. opts: secrets, vars, steps (results before), env, id, wait_here_ms.
---@param dir string its own
---@param text string the workflow
---@return placed.World
function M.world(dir, text, opts)
	opts = opts or {}
	local workflow, problems = file.parse(text, dir .. "/flow.yaml")
	assert(workflow, problems and problems[1] and problems[1].message)
	local run = run_of(dir, workflow, opts)
	run.db = store.open { path = dir .. "/state/runner/runs.db" }
	run.db:create { id = run.id, workflow = workflow.name, seed = SEED }
	fs.mkdir(dir .. "/shared")
	local step = workflow.steps[1]
	local self = setmetatable({ dir = dir, run = run, step = step, key = step.key, placement = 0, generations = {} }, World)
	self.executor = { directory = dir .. "/shared", wait_here_ms = opts.wait_here_ms }
	self.unit = step_folder.create(run, step, step.key, { prefix = "", suffix = "", scope = run.scope }, self.executor, 1)
	return self
end

function World:close()
	self.run.db:close()
end

---Place a chunk, once more where it was: its next generation. Returns the token.
function World:place(chunk, first, items, again, options)
	self.placement = self.placement + 1
	local token = ("rn-TEST-1.%d"):format(self.placement)
	local generation = (self.generations[chunk] or 0) + 1
	self.generations[chunk] = generation
	if items then
		self.unit:put_chunk(chunk, first, items)
	end
	self.unit:set_generation(chunk, generation)
	self.unit:put_tasks(token, { { chunk = chunk, generation = generation, memory = 1, again = again } }, options)
	return token
end

local function quoted(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

---The command line of a task; its answer goes to DIR/answer, its lines to DIR/lines.
function World:command(token, index)
	return ("env -i PATH=\"$PATH\" HOME=/dev/null LC_ALL=C.UTF-8 ${ASAN_OPTIONS+ASAN_OPTIONS=\"$ASAN_OPTIONS\"} "
		.. "%s workflow chunk %s %s %d >%s/answer 2>>%s/lines </dev/null")
		:format(quoted(RUNNER), quoted(self.unit.dir), token, index or 1, quoted(self.dir), quoted(self.dir))
end

---Run a task to its end. Returns its envelope and its exit status.
function World:task(token, index)
	local _, _, status = os.execute(self:command(token, index))
	local text = fs.read(self.dir .. "/answer")
	return require("runner.json").decode(text), status
end

---Start a task; returns its pid.
function World:start(token)
	local pipe = assert(io.popen(("(exec %s) & echo $!"):format(self:command(token))))
	local pid = math.tointeger(tonumber(pipe:read "l"))
	pipe:close()
	return pid
end

---Wait until f() has a value, at most a minute, and return it.
function M.until_true(f)
	local give_up = host.now() + 60000
	while true do
		local value = f()
		if value then
			return value
		end
		assert(host.now() < give_up, "waited for a minute")
		host.sleep(10)
	end
end

function World:import(chunk, also)
	return import.chunk(self.run, self.unit, chunk, self.generations[chunk], also)
end

---The results of an import as a list of { i, ok, output or code }.
function M.listed(imported)
	local out = {}
	for i, result in imported.results do
		out[#out + 1] = { i, result.ok, result.ok and (result.value or {}).output or result.error and result.error.code or nil }
	end
	return out
end

---The rows of a table of the run database, for a comparison.
function World:rows(sql, ...)
	return self.run.db:_open():rows(sql, ...)
end

---The lines that an effect has left.
function World:effects(name)
	local out = {}
	for line in (fs.read(self.dir .. "/" .. (name or "effects")) or ""):gmatch "[^\n]+" do
		out[#out + 1] = line
	end
	return out
end

M.database = database

return M
