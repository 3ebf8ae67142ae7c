-- place: --cwd, --config, --context and --no-config, which decide where a command is looked for and with
-- what settings, --policy, which decides what may be called, and --subject. So they stand in front of its name.
-- Loaded when a flag does, or where a policy or a context holds. A context holds for what the call starts,
-- too: RUNNER_CONTEXT has its name, and in a child the file of settings that it belongs to ("NAME#FILE").

local args = require "runner.project.args"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local VARIABLE = "RUNNER_CONTEXT"

local function wrong(flag, path, message)
	return require("runner.core.errors").new("VALIDATION_ERROR", message, {
		phase = "validation", side_effects = "none", fix_required = ("Correct the --%s argument before retrying"):format(flag),
		errors = { { field = flag, code = "INVALID_ARGUMENT", message = message, value = path,
			fix_required = ("Correct the --%s argument before retrying"):format(flag) } },
	})
end

local function absolute(path)
	return require("runner.core.paths").absolute(path, host.getcwd())
end

-- The worker is this run's own process: its directory is no other process's.
local function move_to(path)
	local ok, why = host.chdir(path)
	if not ok then
		return wrong("cwd", path, ("Can't work in '%s': %s"):format(path, why))
	end
	host.setenv("PWD", host.getcwd()) -- which programs such as make believe
end

local said -- the directory that the caller knows of

---Say in meta.cwd where the command runs, unless that is where its caller stands.
---@param place runner.Place
function M.say(place)
	if place.cwd ~= said then
		said = place.cwd
		host.send("META", { name = "cwd", data = json.encode(said, { envelope = true }) }, true)
	end
end

---Go where the command works: in the project, where it declares that, or files that it is made from. What its
---caller names is looked for where that one stands (`stands`).
---@param a runner.Attempt
---@return runner.Place
---@return runner.Error? problem
function M.settle(a)
	local root, here, place = a.project.root, host.getcwd(), a.place
	local cwd = a.command.cwd or a.command.sources and "project" or "caller"
	local there = root and cwd ~= "caller" and (cwd == "project" and root or require("runner.core.paths").absolute(cwd, root))
	if there and here ~= there then
		local ok, why = host.chdir(there)
		if not ok then
			return place, require("runner.core.errors").new("PRECONDITION", ("Can't work in %s: %s"):format(
				there == root and "the project, " .. root or there .. ", which cwd names", why), { side_effects = "none",
				fix_required = there == root and "Give yourself access to it, or declare cwd = \"caller\"" or "Make it, or correct cwd" })
		end
		host.setenv("PWD", there)
		place = { came_from = place.came_from or here, stands = here, cwd = host.getcwd(), settings = place.settings }
	end
	M.say(place)
	return place
end

-- A policy is read before anything of the project is: what it refuses is not even loaded. A problem, and the policy.
local function take_policy(front, given)
	if given.policy and not front.policy then
		return wrong("policy", nil, "--policy needs the path of a file")
	elseif front.policy or os.getenv "RUNNER_POLICY" then
		local caller_policy = require "runner.project.caller_policy"
		local policy, problem = caller_policy.take(front.policy)
		if policy and policy.limited then
			policy.limit = require("runner.project.limited_calls").settle
		end
		return problem or caller_policy.placed(policy, front), policy
	end
end

-- Whose call it is.
local function take_subject(front, given, policy)
	if given.subject and not front.subject then
		return wrong("subject", nil, "--subject needs a name")
	elseif front.subject or os.getenv "RUNNER_SUBJECT" then
		return require("runner.project.caller_policy").take_subject(front.subject, policy)
	end
end

-- The context that the caller's environment names; in the settings of another file, an inherited one means
-- nothing. A flag goes before it.
local function inherited()
	local text = os.getenv(VARIABLE)
	local name, file = (text or ""):match "^(.-)#(/.*)$"
	return text ~= "" and (name or text) or nil, file
end

local function take(a)
	local parsed = args.parse({}, table.move(a.tokens, 1, a.call.in_front, 1, {}))
	local front = parsed.framework
	local refused, policy = take_policy(front, parsed.framework_given)
	refused = refused or take_subject(front, parsed.framework_given, policy)
	local from, file = inherited()
	from = not front.context and not front.no_config and from or nil
	front.context = front.context or from -- a policy refuses the flag: the environment is not the call's to choose
	if refused or not (front.cwd or front.config or front.no_config or front.context or front.policy) then
		return { policy = policy }, refused
	end
	local here = host.getcwd()
	local config = front.config and absolute(front.config)
	if config and not front.no_config and host.probe(config) ~= "file" then
		return {}, wrong("config", front.config, ("There is no settings file '%s'"):format(front.config))
	end
	local problem = front.cwd and move_to(front.cwd)
	if problem then
		return {}, problem
	end
	local settings = { none = front.no_config, config = config, context = front.context, of = from and file, inherited = from ~= nil or nil }
	return { policy = policy, place = { came_from = here, cwd = front.cwd and host.getcwd() or nil,
		settings = next(settings) and settings or nil } }
end

---Take the flags that stand in front of the command's name. Then nothing of the project has been run.
---@param a runner.Attempt
---@return {place?: runner.Place, policy?: runner.CallerPolicy}
---@return runner.Error? problem
function M.take(a)
	local found, problem = take(a)
	if not problem and found.policy and found.policy.confines then
		local locate, settings = require "runner.project.locate", (found.place or {}).settings or {}
		local root, has_file = locate.project_root()
		locate.project_root = function() return root, has_file end -- what another call writes meanwhile makes no other one
		problem = require("runner.project.caller_policy").unsafe(found.policy, { root = root, file = settings.config })
	end
	return found, problem
end

-- The caller may not know that the variable is set.
local function from_variable(problem, known)
	problem.message = ("%s: %s names it"):format(problem.message, VARIABLE)
	problem.fix_required = known and ("Correct or unset the environment variable %s, or give --context NAME"):format(VARIABLE)
		or ("Unset the environment variable %s: there are no contexts here"):format(VARIABLE)
	problem.errors[1].message, problem.errors[1].fix_required = problem.message, problem.fix_required
	return problem
end

local function no_context(project, settings)
	local name, names = settings.context, require("runner.core.tables").sorted_keys(project.contexts or {})
	local problem = wrong("context", name, ("There is no context '%s' in %s"):format(name, project.file or "runner.lua, which is not read"))
	if settings.inherited then
		from_variable(problem, names[1])
	end
	local near = require("runner.core.suggest").nearest(name, names, 1)[1]
	problem.suggestion = near and ("Did you mean '%s'?"):format(near) or names[1] and "The contexts are " .. table.concat(names, ", ")
		or not settings.inherited and 'Write contexts = { NAME = { … } } in runner.lua' or nil
	return problem
end

---Lay the settings of a context over those of the file (REQ-O-024): `context` of the project is then "NAME#FILE".
---@param project table of the file
---@param settings {context: string, of?: string, inherited?: boolean} `of`: the file that it belongs to; in another, it
---  means nothing. `inherited`: RUNNER_CONTEXT names it
---@return runner.Error? problem
function M.apply_context(project, settings)
	local name = settings.context
	if settings.of and settings.of ~= project.file then
		return nil
	end
	local chosen = (project.contexts or {})[name]
	if not chosen then
		local look = project.look
		project.look = function(a) -- what the file says of each call, such as its audit, holds without the context too
			require("runner.project.notices").without_context(a)
			if look then
				return look(a)
			end
		end
		return no_context(project, settings)
	end
	require("runner.core.tables").add(project, chosen)
	local problem = chosen.dotenv and require("runner.project.dotenv").apply(chosen.dotenv, project.file)
	if problem then
		return problem
	end
	project.context = name .. "#" .. absolute(project.file)
	host.setenv(VARIABLE, project.context)
	host.send("META", { name = "context", data = json.encode(name, { envelope = true }) }, true)
end

local function named(context)
	return context and ("in the context '%s'"):format(context:match "^(.-)#/") or "without a context"
end

local function refuse(run, message, fix)
	require("runner.core.errors").raise("PRECONDITION", message, { side_effects = "none", fix_required = fix, context = { run = run } })
end

---Go on in the context that a run was started in. Raises PRECONDITION where this call has another one, or
---the settings have it no more.
---@param project table of this call; gets the settings of the context if it has the same file of settings
---@param context? string "NAME#FILE", what `context` of the project was; nil: none
---@param run string its ID
function M.go_on(project, context, run)
	if context and project.file and host.bundle() then -- a program's own settings are in a folder of its version
		context = context:match "^(.-)#/" .. "#" .. absolute(project.file)
	end
	if project.context == context then
		return
	elseif project.context then
		refuse(run, ("Run %s was started %s, and can't go on %s"):format(run, named(context), named(project.context)),
			("Resume it without --context and %s%s"):format(VARIABLE, context and ", or with its own" or ""))
	end
	local name, file = context:match "^(.-)#(/.*)$"
	if project.file ~= file then -- its steps read that file, and what it says of the context
		host.setenv(VARIABLE, context)
		return
	end
	local problem = M.apply_context(project, { context = name })
	if problem then
		refuse(run, ("Run %s was started %s: %s"):format(run, named(context), problem.message),
			("Restore contexts.%s in %s"):format(name, file))
	end
end

---The words of a call without the first `count` that name its command, where options stand in front of or between them.
---@param argv string[]
---@param places integer[] of the words
---@param count integer
---@return string[]
function M.without_words(argv, places, count)
	local used, tokens = {}, {}
	for i = 1, count do
		used[places[i]] = true
	end
	for i, token in ipairs(argv) do
		if not used[i] then
			tokens[#tokens + 1] = token
		end
	end
	return tokens
end

return M
