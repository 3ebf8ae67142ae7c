-- caller_policy: what the caller's policies (--policy, RUNNER_POLICY) allow of this call, and what
-- they narrow. Each is a JSON file; several hold together, and children inherit them all
-- (docs/reference/policy.md). Loaded where there is one. Whether its names fit a project, lua/project/policy_commands.lua says.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local names = require "runner.project.policy_names"
local rules = require "runner.core.rules"

local M = {}

local accept_rule, is_meant, match, named = names.rule, names.is_meant, names.match, names.named
M.is_meant = is_meant

local VARIABLE = "RUNNER_POLICY"
local SUBJECT = "RUNNER_SUBJECT"
local CALLED = "RUNNER_CALLED"
local HELD = "RUNNER_CONFINED"
M.HELD = HELD
local MOST = 16 -- policies at once
local LEVELS = { safe = 1, mutating = 2, destructive = 3 }
M.LEVELS = LEVELS
local DISCOVERY = { help = true, manifest = true, several = true } -- they run nothing themselves, and need not be allowed

---Does a built-in command only say what there is, or make other calls?
---@param command table normal form
---@return boolean
function M.runs_nothing(command)
	return not command.path and DISCOVERY[command.name] or false
end

---@class runner.CallerPolicy what several policies come to; nil: nothing is said
---@field list table[] each as its file has it, with `path`
---@field digest string of their texts
---@field max_retries? integer
---@field max_timeout_ms? integer
---@field max_cost_micros? integer micro-dollars, of a workflow run
---@field confirm_by_flag boolean may --confirm-destructive, --live and --yes confirm?
---@field dry_run boolean every command that changes something does a dry run
---@field found fun(a: runner.Attempt): runner.Answer? refuse a command by its name, before its file is read
---@field settle fun(a: runner.Attempt, settled: table): {unconfirmed: string}?, runner.Answer? narrow the limits of the call, or refuse it
---@field over? {full: runner.PolicyRefusal[], is_run?: boolean, denied: fun(): runner.Error} a person is asked above its quotas: those full
---@field asked? string the danger level that the command declares, where a person is asked before this call (`confirm`)
---@field limited? boolean a rule says more than a name, or it has an end
---@field subject? string whose calls these are
---@field confines? boolean calls are held to what one of them says (lua/project/policy_confine.lua)
---@field limit? fun(a: runner.Attempt, settled: table): runner.Error? what it says beside names (lua/project/limited_calls.lua)
---@field reach? fun(a: runner.Attempt, given: table<string, any>, dry_run?: boolean) the call has come to `run`: it is counted
---@field values? fun(given: table<string, any>): runner.Error? why it may not run with these
---@field checks? string the call is only checked: the names of those before it, as lua/calls/checked.lua says
---@field calls? string[][] those that it would make, if it is `several`
---@field plain? (string|false)[] their names, where they have no arguments
---@field verdict? fun(a: runner.Attempt): runner.Error? keeps what `policy check` is told of a call that would be let through
---@field teller? string the file for it
---@field job? fun(a: runner.Attempt, path: string) it starts a job, which is counted
---@field reserve? fun(id: string, wanted?: integer): integer? what a run of a workflow may cost, in micro-dollars
---@field spent? fun(id: string, micros: integer) what it has cost
---@field asks fun(name: string, path?: string): boolean is a person asked before a call of this command?
---@field reaches fun(path: string): boolean is the file in a folder that all of them have?
---@field resumes fun(run: string): runner.Error? may the command that decides about a run have that go on?
---@field together? boolean no call may name an instance
---@field relocate boolean may --cwd, --config, --context and --no-config be given?

-- --- one file ---------------------------------------------------------------------------

local function array_of(accept)
	return function(v)
		return json.is_array(v) and rules.list(v, 0, 10000, accept) or nil
	end
end

local function limits()
	return require "runner.project.policy_limits"
end

-- A map is a list with more to say: each name has its rule.
local function allowed(v)
	local is_list = json.is_array(v)
	local rows = not is_list and type(v) == "table" and limits().rows(v) or is_list and v or nil
	return rules.list(rows, 0, 10000, function(row)
		return type(row) == "table" and limits().rule(row, named) or type(row) ~= "table" and named(row, false) or nil
	end)
end

local function folder(v)
	return type(v) == "string" and v:sub(1, 1) == "/" and not v:find("\0", 1, true) and v or nil
end

local function limit(v)
	local ms = rules.duration(v)
	return ms and ms > 0 and ms or nil
end

---A name of a subject; nil: it is none.
---@param v any
---@return string?
function M.subject(v)
	return rules.text(v) and #v <= 200 and not v:find "%c" and v or nil
end

local NAMES = 'a list of commands, groups and globs such as ["deploy", "db *", {"name": "dev", "optional": true}]'
local BOOLEAN = "true or false"

-- key → its normal form, nil when wrong; and what to write
local KEYS = {
	above = { function(v) return limits().ABOVE[1](v) end, '"ask" or "refuse"' },
	max_danger = { rules.one_of("safe", "mutating", "destructive"), '"safe", "mutating" or "destructive"' },
	allow = { allowed, NAMES .. ', or a map such as {"deploy": {"args": {"env": ["staging"]}, "max_calls": "20/h"}}' },
	deny = { array_of(accept_rule), NAMES },
	folders = { array_of(folder), 'a list of absolute paths such as ["/srv/tool/commands"]' },
	max_retries = { rules.whole(0, host.bound "retries"), ("a whole number from 0 to %d"):format(host.bound "retries") },
	max_timeout = { limit, 'a duration above 0 such as "10m"' },
	max_bytes = { rules.whole(4096, 1 << 24), "a whole number of bytes from 4096 to 16777216" },
	max_cost_usd = { function(v) return require("runner.core.amounts").micros(v) end, "an amount of US dollars such as 2.5" },
	total_cost_usd = { function(v) return require("runner.core.amounts").micros(v) end, "an amount of US dollars such as 2.5" },
	confirm_by_flag = { rules.flag, BOOLEAN },
	dry_run = { rules.flag, BOOLEAN },
	relocate = { rules.flag, BOOLEAN },
	confirm = { array_of(accept_rule), NAMES },
	confine = { function(v) return require("runner.project.policy_confine").accept(v) end,
		'what calls are held to, such as {"write": ["/srv/out"], "read": ["/srv/data"], "network": false}: absolute paths, and no hosts' },
	counts = { folder, 'the absolute path of a folder such as "/var/lib/agents"' },
	expires = { function(v) return limits().expires(v) end, 'a time such as "2026-12-01" or "2026-12-01T18:00:00Z"' },
	max_jobs = { rules.whole(0, 10000), "a whole number of jobs that run at once" },
	subject = { function(v) return M.subject(v) end, 'a name such as "agent-7"' },
}

local ACCEPT = {}
for key, row in next, KEYS do
	ACCEPT[key] = row[1]
end

-- Nothing runs under a policy that can't be understood.
---@param path? string
---@param message string
---@param fix? string
---@return runner.Error problem POLICY_INVALID
function M.invalid(path, message, fix)
	return errors.new("POLICY_INVALID", message, { phase = "validation", side_effects = "none", retryable = false,
		fix_required = fix, context = path and { policy = path } })
end

local invalid = M.invalid

local function wrong_key(path, key, reason)
	local known = require("runner.core.tables").sorted_keys(KEYS)
	if reason == "unknown" then
		local near = require("runner.core.suggest").nearest(tostring(key), known, 1)[1]
		return invalid(path, ("%s: unknown key '%s'"):format(path, tostring(key)),
			near and ("Write '%s'"):format(near) or "The keys are " .. table.concat(known, ", "))
	end
	local why = key == "allow" and limits().why
	if why then
		return invalid(path, ("%s: %s"):format(path, why[1]), why[2])
	end
	return invalid(path, ("%s: wrong value for '%s'"):format(path, key), ("Write %s"):format(KEYS[key][2]))
end

-- The first wrong key in alphabetical order, so that the same file has always the same answer.
local function check(path, value)
	local wrong = {}
	local policy = rules.accept(ACCEPT, "policy", value, nil, function(_, _, key, reason)
		wrong[tostring(key)] = reason
	end)
	local first = require("runner.core.tables").sorted_keys(wrong)[1]
	if first then
		return nil, wrong_key(path, first, wrong[first])
	end
	policy.path = path
	for _, rule in ipairs(policy.allow or {}) do
		rule.above = rule.above or policy.above
	end
	return policy
end

---Read one file.
---@param path string
---@param expected? string the digest that it must have
---@return table? policy, runner.Error? problem, string? digest of the text
function M.read(path, expected)
	local text, why = host.source(path)
	if path:find ":" then -- what it hands on to others is a list with colons
		return nil, invalid(path, ("The path of the policy '%s' has a colon"):format(path), "Give it a path without one")
	elseif not text then
		return nil, invalid(path, ("Can't read the policy %s: %s"):format(path, why),
			"Make it a file that only you or root own and can write to, in folders that no other user can write to")
	end
	local digest = host.digest(text)
	if expected and expected ~= digest then
		return nil, invalid(path, ("The policy %s has changed since the run that started this one"):format(path),
			"Start the whole run again")
	end
	local value, message = json.decode(text, { unique = true })
	if type(value) ~= "table" or json.is_array(value) then
		return nil, invalid(path, ("The policy %s is not a JSON object%s"):format(path, message and ": " .. message or ""),
			'Write a JSON object such as {"max_danger": "safe"}')
	end
	local policy, problem = check(path, value)
	return policy, problem, digest
end

-- --- all of them -------------------------------------------------------------------------

local function absolute(path)
	return require("runner.core.paths").absolute(path, host.getcwd() or "")
end

-- The variable holds "PATH" or, from an outer run, "PATH#DIGEST" for each, with ":" between them.
local function sources(given)
	local text, list, seen = os.getenv(VARIABLE), {}, {}
	local function add(path, digest)
		path = absolute(path)
		if not seen[path] then
			list[#list + 1], seen[path] = { path = path, digest = digest }, true
		end
	end
	for entry in (text and text .. ":" or ""):gmatch "([^:]*):" do
		local path, digest = entry:match "^(.+)#(%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x)$"
		if entry == "" then
			return nil, invalid(nil, ("%s is empty, or has an empty entry"):format(VARIABLE), "Name a policy file in it, or unset it")
		end
		add(path or entry, digest)
	end
	if given then
		add(given)
	end
	if #list > MOST then
		return nil, invalid(nil, ("More than %d policies at once"):format(MOST), "Join some of them in one file")
	end
	return list
end

local function least(into, key, value)
	into[key] = value and math.min(value, into[key] or value) or into[key]
end

local function merge(list, checks)
	local all = { list = list, confirm_by_flag = true, dry_run = false, relocate = true, checks = checks, limited = checks }
	for _, policy in ipairs(list) do
		least(all, "max_retries", policy.max_retries)
		least(all, "max_timeout_ms", policy.max_timeout)
		least(all, "max_cost_micros", policy.max_cost_usd)
		all.confirm_by_flag = all.confirm_by_flag and policy.confirm_by_flag ~= false
		all.dry_run = all.dry_run or policy.dry_run == true
		all.relocate = all.relocate and policy.relocate ~= false
		all.subject = all.subject or policy.subject -- the outer one: what it starts can't take another name
		all.together = all.together or policy.relocate == false or policy.subject ~= nil
		all.confines = all.confines or policy.confine ~= nil
		all.limited = all.limited or policy.confine or policy.expires or policy.max_jobs or policy.total_cost_usd
		for _, rule in ipairs(policy.allow or {}) do
			all.limited = all.limited or rule.limits
		end
	end
	return all
end

-- --- may it run ----------------------------------------------------------------------------

---@param policy table
---@param rule_text string
---@param message string
---@param fields? table of the error; its context is added
---@return runner.Error problem POLICY_DENIED
local function refused(policy, rule_text, message, fields)
	if attempt.project and attempt.project.audit then
		require("runner.project.audit").note(attempt)
		require("runner.core.confirmation").decided("refused", { by = "policy", policy_file = policy.path, rule = rule_text })
	end
	fields = fields or {}
	fields.phase, fields.side_effects, fields.retryable = "validation", "none", false
	fields.context = require("runner.core.tables").add({ policy = policy.path, rule = rule_text, command = command_line.typed(attempt.name),
		subject = policy.subject }, fields.context)
	return errors.new("POLICY_DENIED", ("%s: %s"):format(policy.path, message), fields)
end

M.refused = refused

-- Why a policy refuses a command of this name: the rule, and the rest of a sentence.
local function name_refused(policy, name, builtin)
	local denied = match(policy.deny, name, builtin, true)
	if denied then
		return ("deny: %s"):format(denied), ("its deny has '%s'"):format(denied)
	elseif policy.allow and not DISCOVERY[name] and not match(policy.allow, name, builtin, false) then
		return "allow", "its allow does not have it"
	end
end

---May a listing have this command?
---@param name string dot path, as in the catalog
---@param path? string its file
---@return boolean
function M.lists(name, path)
	for _, policy in ipairs(attempt.policy.list) do
		if M.refusal(policy, name, path) then
			return false
		end
	end
	return true
end

---May commands of this danger level run?
---@param level string
---@return boolean
function M.permits_level(level)
	for _, policy in ipairs(attempt.policy.list) do
		if policy.max_danger and LEVELS[level] > LEVELS[policy.max_danger] then
			return false
		end
	end
	return true
end

-- Called as `self NAME`, a built-in command is another one than the file of that name.
local function full_name(a)
	local locate = require "runner.project.locate"
	if a.call.names[1] == locate.SELF then
		local other = locate.find(table.move(a.call.names, 2, #a.call.names, 1, {}), a.project)
		return other and other.path and locate.SELF .. "." .. a.name or a.name
	end
	return a.name
end

M.full_name = full_name

local function is_within(path, folders)
	local fs = require "runner.fs"
	path = fs.realpath(path) or path
	for _, dir in ipairs(folders) do
		dir = (fs.realpath(dir) or dir):gsub("/+$", "")
		if path:sub(1, #dir + 1) == dir .. "/" then
			return true
		end
	end
	return false
end

---Why one policy refuses a command.
---@param policy table one of attempt.policy.list
---@param name string dot path
---@param path? string its file
---@param level? string its danger level, where that is known
---@return string? rule
---@return string? why as the rest of a sentence
function M.refusal(policy, name, path, level)
	local rule_text, why = name_refused(policy, name, not path)
	if rule_text then
		return rule_text, why
	elseif policy.folders and path and not is_within(path, policy.folders) then
		return "folders", ("%s is in none of its folders"):format(path)
	elseif policy.expires and not DISCOVERY[name] and host.wall_ms() >= policy.expires then
		return "expires", ("the policy ended at %s"):format(limits().time_text(policy.expires))
	elseif level and policy.max_danger and LEVELS[level] > LEVELS[policy.max_danger] then
		return "max_danger", ("it is %s, and max_danger is %s"):format(level, policy.max_danger)
	end
	local held = policy.confine and require("runner.project.policy_confine").refuses(name, path, policy)
	return held and "confine" or nil, held or nil
end

---Why the policies refuse a command: before its file is read, without a level.
---@param name string dot path
---@param path? string its file
---@param level? string its danger level
---@return runner.Error? problem POLICY_DENIED
function M.problem(name, path, level)
	for _, policy in ipairs(attempt.policy.list) do
		local rule_text, why = M.refusal(policy, name, path, level)
		if rule_text then
			return refused(policy, rule_text, ("'%s' is not allowed: %s"):format(command_line.typed(name), why))
		end
	end
end

local function reaches(path)
	for _, policy in ipairs(attempt.policy.list) do
		if policy.folders and not is_within(path, policy.folders) then
			return false
		end
	end
	return true
end

-- Refuse a command by its name and by where its file is, before that is read.
local function found(a)
	local problem = M.problem(full_name(a), a.found.path)
	return problem and { error = problem, early = true }
end

-- The records of a subject, of its ledger and its concurrency, are in one place. `given`: what leads elsewhere.
local function instance_refused(all, given)
	for _, policy in ipairs(given and all.list or {}) do
		local rule = policy.relocate == false and "relocate" or policy.subject and "subject"
		if rule then
			return refused(policy, rule, ("%s is not allowed: %s"):format(given, rule == "relocate" and "its relocate is false"
				or "it has a subject, whose records are in one place"))
		end
	end
end

---Refuse the flags that decide where commands and settings are looked for.
---@param all runner.CallerPolicy
---@param front table<string, any> the flags in front of the command's name
---@return runner.Error? problem POLICY_DENIED
function M.placed(all, front)
	for _, flag in ipairs { "cwd", "config", "context", "no_config" } do
		for _, policy in ipairs(front[flag] and all.list or {}) do
			if policy.relocate == false then
				return refused(policy, "relocate", ("--%s is not allowed: its relocate is false"):format((flag:gsub("_", "-"))))
			end
		end
	end
	local id = os.getenv "RUNNER_INSTANCE_ID"
	return instance_refused(all, front.instance_id and "--instance-id" or id and id ~= "" and "RUNNER_INSTANCE_ID")
end

---Why nothing of a project may be run or read.
---@param all runner.CallerPolicy
---@param project table
---@return runner.Error? problem POLICY_INVALID
function M.unsafe(all, project)
	for _, policy in ipairs(all.confines and all.list or {}) do
		local why = policy.confine and require("runner.project.policy_confine").unsafe(policy, project)
		if why then
			return invalid(policy.path, ("%s: %s"):format(policy.path, why),
				"Let it write to a folder without commands and settings, such as one of its own outside the project")
		end
	end
end

---Take the name that a call is given besides its policies, where there is no other one: it holds for what the call starts, too.
---@param given? string of --subject
---@param all? runner.CallerPolicy
---@return runner.Error? problem POLICY_INVALID, POLICY_DENIED
function M.take_subject(given, all)
	local by
	for _, policy in ipairs(all and all.list or {}) do
		by = by or policy.subject and policy
	end
	for _, one in ipairs { { SUBJECT, os.getenv(SUBJECT), "Unset" }, { "--subject", given, "Leave out" } } do
		local from, name = one[1], one[2]
		if name and not M.subject(name) then
			return invalid(nil, ("%s has no name of a subject"):format(from), "Give it at most 200 bytes of one line, such as agent-7")
		elseif name and by and by.subject ~= name then
			return refused(by, "subject", ("%s is not allowed: its subject is '%s'"):format(from, by.subject),
				{ fix_required = ("%s %s: whose call this is has already been said"):format(one[3], from) })
		end
		by = by or name and { path = from, subject = name }
		host.setenv(SUBJECT, name or os.getenv(SUBJECT))
	end
end

-- --- with what ------------------------------------------------------------------------------

-- What would confirm the call, though no person at a terminal does.
local function confirms(a)
	local framework, vouched = a.framework, a.call.vouched
	local by_caller = (vouched == true or vouched == "person") and not a.call.approved and a.command.danger_level == "destructive"
	return framework.confirm_destructive and "--confirm-destructive" or framework.yes and "--yes"
		or by_caller and "the caller that passes the call on"
end

---The rule by which a policy has a person asked before a call.
---@param policy table
---@param name string dot path, perhaps with "self." in front
---@param builtin boolean
---@return string?
local function asks(policy, name, builtin)
	return match(policy.confirm, name, builtin, true)
end

-- Why the command that decides about a run can't have that go on: nobody is asked about that, too, once it is decided.
local function resumes(run)
	local called, name = names.called, "workflow.resume"
	names.called = name .. " " .. run
	local problem = M.problem(name, nil, "mutating")
	names.called = called
	for _, policy in ipairs(problem and {} or attempt.policy.list) do
		local rule = asks(policy, name, true)
		local full = not rule and limits().by_quotas(policy, { name = name, builtin = true, command = {} }) or {}
		local why = rule and ("it would be asked about by itself: its confirm has '%s'"):format(rule) or full.why
		problem = problem or why and refused(policy, rule and "confirm: " .. rule or full.rule,
			("'workflow resume' is not allowed: %s"):format(why), { context = full.context })
	end
	return problem
end

---Do the policies have a person asked before a call of this command?
---@param name string
---@param path? string its file
---@param list? table[] default: those of this call
---@return boolean
function M.asks(name, path, list)
	for _, policy in ipairs(list or attempt.policy.list) do
		if asks(policy, name, not path) then
			return true
		end
	end
	return false
end

-- A command that is asked for is confirmed as one that is destructive, but not by a flag.
local function raise_level(a)
	if M.asks(full_name(a), a.found.path) then
		local policy, command = a.policy, a.command
		policy.asked, command.danger_level = command.danger_level, "destructive"
	end
end

local function problem_of(a)
	local name = full_name(a)
	local problem = M.problem(name, a.found.path, a.command.danger_level)
	raise_level(a)
	problem = problem or instance_refused(a.policy, a.framework.instance_id and "--instance-id")
	for _, policy in ipairs((problem or a.launch.job) and {} or a.policy.list) do
		local vouched = a.call.vouched
		local rule = policy.confirm_by_flag ~= false and vouched ~= "person" and vouched ~= "need" and asks(policy, name, not a.found.path)
		if (policy.confirm_by_flag == false or rule) and confirms(a) then
			return refused(policy, rule and "confirm: " .. rule or "confirm_by_flag", ("%s confirms nothing here: its %s"):format(confirms(a),
				rule and ("confirm has '%s'"):format(rule) or "confirm_by_flag is false"),
				{ suggestion = "Have a person call it at a terminal, without the flag" })
		end
	end
	return problem
end

local function narrow_retries(settled, most)
	local policy, given = settled.policy, settled.retries_given
	if policy.retries < 0 or policy.retries > most then
		policy.retries, settled.retry_from.retries = most, "policy"
	end
	settled.retries_given = math.min(given or most, most) -- loops inside `run` count too
end

-- A server serves on, as long as its client stays (lua/project/raw_stdout.lua): what it starts is bound itself.
local function narrow_timeout(settled, most)
	if settled.timeout_ms == 0 or settled.timeout_ms > most then
		settled.timeout_ms, settled.sources.timeout = most, "policy"
	end
end

M.narrow_timeout = narrow_timeout

-- Narrow the limits of the call, or refuse it. What must not change between two attempts is the
-- policy too.
local function settle(a, settled)
	local policy = a.policy
	settled.plan_digest = a.command.digest .. policy.digest
	if policy.max_retries then
		narrow_retries(settled, policy.max_retries)
	end
	if policy.max_timeout_ms then
		narrow_timeout(settled, policy.max_timeout_ms)
	end
	local problem = problem_of(a) or policy.limit and policy.limit(a, settled) or nil
	if problem then
		require("runner.project.plan").send(a.command, settled, a.framework, a.project)
	end
	return policy.over and { unconfirmed = "above" }, problem and { error = problem }
end

-- --- all of it ------------------------------------------------------------------------------

---Read the policies that hold for this call, and hand them on to its children.
---@param given? string the file of --policy
---@return runner.CallerPolicy?
---@return runner.Error? problem POLICY_INVALID
function M.take(given)
	local files, problem = sources(given)
	names.called = os.getenv(CALLED) or false
	if names.called ~= "ctx:call" then
		host.setenv(CALLED, nil) -- what this call starts is none of it
	end
	local list, passed, rows, held = {}, {}, {}, os.getenv(HELD)
	for i, source in ipairs(files or {}) do
		local digest
		if source.path == held then
			return nil, errors.new("POLICY_DENIED", held .. ": what it confines can't call runner, which could neither count that nor write it down",
				{ phase = "validation", side_effects = "none", retryable = false, context = { policy = held, rule = "confine" },
				fix_required = "Have the command do without, or make the two calls one after another" })
		end
		list[i], problem, digest = M.read(source.path, source.digest)
		if problem then
			return nil, problem
		end
		list[i].inherited = source.digest ~= nil
		passed[i], rows[i] = source.path .. "#" .. digest, { file = source.path, digest = digest }
	end
	if problem then
		return nil, problem
	end
	local checks, teller = (names.called or ""):match "^policy%.check([^\n]*)\n?(.*)$"
	local policy = merge(list, checks)
	policy.teller = teller ~= "" and teller or nil
	policy.digest = host.digest(table.concat(passed, ":"))
	policy.found, policy.settle, policy.reaches, policy.asks, policy.resumes = found, settle, reaches, M.asks, resumes
	host.setenv(VARIABLE, table.concat(passed, ":"))
	host.send("META", { name = "policy", data = json.encode(json.array(rows), { envelope = true }) }, true)
	return policy
end

return M
