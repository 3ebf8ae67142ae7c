-- confinement: what the program of a step with `confine` is started with, for each attempt: the bounds that the kernel
-- of the machine where it runs holds. Loaded for such a step.

local attempt = require "runner.core.attempt"
local bounds = require "runner.core.bounds"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local warned = {}

-- A kernel that can't hold it: the step fails, or runs with a warning.
local function judge(step)
	local about, missing = bounds.abilities(step.confine)
	if not missing then
		return
	end
	local e = bounds.unavailable(about)
	e.context.step = step.key
	if step.confine.required then
		error(e, 0)
	elseif not warned[step.key or ""] then
		warned[step.key or ""] = true
		attempt.warn(e.code, ("Step %s: %s"):format(step.key or step.kind, e.message), e.context)
	end
end

-- The file of a program, which has to be readable to be started.
local function program_of(argv, env)
	local name = argv[1]
	if name:find("/", 1, true) then
		return name
	end
	local path = os.getenv "PATH" or "/bin:/usr/bin"
	for _, entry in ipairs(env) do
		path = entry:match "^PATH=(.*)" or path
	end
	for dir in path:gmatch "[^:]+" do
		if fs.stat(dir .. "/" .. name) then
			return dir .. "/" .. name
		end
	end
end

-- Of an attempt alone: steps that run at the same time share nothing.
local function temporary()
	local dir = ("%s/step-%016x"):format(attempt.ctx.tempdir, host.random())
	local ok, why, errno = fs.mkdirs(dir, 448) -- 0700
	return ok and dir or error(require("runner.core.returned").error(why, errno), 0)
end

---Confine the process of a step.
---@param step runner.workflow.Step
---@param options table what runner.process.start takes
---@param cwd? string where relative paths of `confine` start: where the run did, or in its worktree
---@param git? string[] what git writes of that worktree
function M.prepare(step, options, cwd, git)
	local root = cwd or host.getcwd() or "/"
	judge(step)
	local problem = bounds.missing_path(step.confine, root)
	if problem then
		error(problem, 0)
	end
	local spec, dir = bounds.spec(step.confine, root), temporary()
	options.tempdir = dir
	bounds.add(spec.writable, { dir })
	bounds.add(spec.writable, git or {})
	bounds.add(spec.readable, { dir, program_of(options.argv, options.env) })
	bounds.add(spec.readable, { git and git.common })
	if spec.write then
		options.env[#options.env + 1] = "TMPDIR=" .. dir
	end
	local made, why = host.bounds(spec)
	if not made then
		fs.remove_tree(dir)
		errors.raise("CONFINEMENT_UNAVAILABLE", ("Step %s can't be confined: %s"):format(step.key or step.kind, why),
			{ retryable = false, side_effects = "none" })
	end
	options.bounds = made
end

---Remove what it had for temporary files.
---@param options table
function M.finish(options)
	fs.remove_tree(options.tempdir)
end

return M
