-- run: how a command runs: beyond the time that a caller may wait (jobs, lua/jobs/start.lua), in steps that can be begun at a
-- later one and undone, after the commands that it needs and for changed sources only, and how often, and after what failures.

local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local throttle = require "runner.declare.throttle"

-- --- jobs ------------------------------------------------------------------------------------

local is_limit = rules.whole(1, 1 << 53)

local function is_flag(v)
	return type(v) == "boolean"
end

local KNOWN = { detach = is_flag, resume = is_flag, idle_timeout_ms = is_limit, max_lifetime_ms = is_limit }

local function interruption(v)
	if type(v) ~= "table" or not (v.detach or v.resume) then
		return nil
	end
	for key, value in next, v do
		if not KNOWN[key] or not KNOWN[key](value) then
			return nil
		end
	end
	return { detach = v.detach or false, resume = v.resume or false, idle_timeout_ms = v.idle_timeout_ms or 300000,
		max_lifetime_ms = v.max_lifetime_ms or 3600000 }
end

local function check_job(n, fault)
	if n.streams then
		fault("can't be used with streams = true", "Remove one of them: a job's rows reach no reader while it runs")
	elseif n.interactive then
		fault("can't be used with interactive = true", "Remove one of them: a job has no terminal")
	end
end

-- What another call of a command that isn't finished would do, where the author doesn't say.
local function declare_incomplete(n)
	local codes = { INCOMPLETE = n.danger_level == "safe" and { retryable = true, side_effects = "none" }
		or { retryable = false, side_effects = "partial" } }
	tables.add(codes, n.exit_codes)
	n.exit_codes = codes
end

-- --- steps -----------------------------------------------------------------------------------

local function check_resumable(n, fault)
	if n.resumable and not n.steps then
		fault("needs steps", 'Add steps = { "fetch", "build" }')
	end
end

-- --- what it is run for, and how often -------------------------------------------------------

local MOST = 100

local function command_name(v)
	return rules.text(v) and v:find "^[%w_][%w_.-]*[%w_. -]*$" and (v:gsub("%.", " ")) or nil
end

local PLAIN = tables.set "string number boolean"

-- A value, or { arg = "NAME" }: that of an argument of the command itself.
local function is_argument(v)
	local is_own = type(v) == "table" and type(v.arg) == "string" and next(v, "arg") == nil and next(v) == "arg"
	return is_own or PLAIN[type(v)] or rules.list(v, 0, math.huge, function(item) return PLAIN[type(item)] and item or nil end) ~= nil
end

-- "build", or { "build", mode = "fast" }; the table that a task is, is none.
local function need(v)
	if type(v) == "string" then
		v = { v }
	end
	local name = type(v) == "table" and command_name(v[1])
	local args = {}
	for key, value in next, name and v or {} do
		if key ~= 1 and (type(key) ~= "string" or not is_argument(value)) then
			return nil
		elseif key ~= 1 then
			args[key] = value
		end
	end
	return name and { name = name, args = args } or nil
end

local function pattern(v)
	return rules.text(v) and not v:find "%z" and v or nil
end

local function is_plain(n, fault)
	if n.list or n.streams or n.stdout or n.arguments then
		fault("does not go with a command that lists, streams or serves", "Remove it, or the other key")
	end
end

local function check_needs(key)
	return function(n, fault)
		is_plain(n, fault)
		for _, one in ipairs(n[key]) do
			for _, value in next, one.args do
				local own = type(value) == "table" and value.arg
				for _, row in ipairs(own and n.args or {}) do
					own = own ~= (row.name or row[1]) and own or nil
				end
				if own then
					fault(("gives '%s' the argument '%s', which this command doesn't have"):format(one.name, own), "Declare it in args")
				end
			end
		end
	end
end

local function check_generates(n, fault)
	if n.generates and not n.sources then
		fault("needs sources", 'Add sources = { "src/**/*.c" }')
	end
end

-- --- the rows ---------------------------------------------------------------------------

---@type runner.Subject
return {
	keys = {
		-- jobs
		async = { accept = rules.flag, expected = "true or false", manifest = "entry", check = function(n, fault)
			if n.async then
				check_job(n, fault)
			end
		end },
		interruption = { accept = interruption, manifest = "entry",
			expected = "{ detach = true } or { resume = true }, with idle_timeout_ms and max_lifetime_ms", check = function(n, fault)
				check_job(n, fault)
				if n.async then
					fault("can't be used with async = true", "Remove one of them: async detaches every call")
				end
				if n.interruption.resume and n.stdin == true then
					fault("can't resume with stdin = true", 'Write stdin = { type = "bytes" }: other input has to make another call')
				end
				declare_incomplete(n)
			end },
		-- steps
		resumable = { accept = rules.flag, expected = "true or false", check = check_resumable, manifest = "schema" },
		rollback = { accept = rules.of_type "function", expected = "a function(args, ctx, error)", manifest = "none",
			check = function(n, fault)
				if n.danger_level == "safe" then
					fault("needs a command that changes something", 'Remove it, or write danger_level = "mutating"')
				end
			end },
		-- what it is run for, and how often
		needs = { accept = function(v) return rules.list(v, 1, MOST, need) end, manifest = "schema", check = check_needs "needs",
			expected = 'a list of the names of commands such as { "build", { "test", only = "unit" } }' },
		parallel = { accept = function(v) return rules.list(v, 1, MOST, need) end, manifest = "schema", check = check_needs "parallel",
			expected = 'a list of the names of commands such as { "serve", "assets" }' },
		sources = { accept = function(v) return rules.list(v, 1, MOST, pattern) end, manifest = "schema", check = is_plain,
			expected = 'a list of paths and patterns such as { "src/**/*.c" }' },
		generates = { accept = function(v) return rules.list(v, 1, MOST, pattern) end, manifest = "schema", check = check_generates,
			expected = 'a list of paths and patterns such as { "build/app" }' },
		breaker = { accept = throttle.breaker, manifest = "schema", expected = throttle.BREAKER },
		rate = { accept = throttle.rate, manifest = "schema", expected = throttle.RATE },
		hosts = { accept = throttle.hosts, manifest = "schema", expected = throttle.HOSTS },
	},
	flags = {
		-- jobs
		{ name = "detach", type = "boolean", yields = true, section = "Jobs",
			description = "Go on in the background as a job; answer with its ID at once" },
		{ name = "budget", type = "duration", when = "interruption", section = "Jobs",
			description = "Answer within this time; what isn't done by then goes on as a job, or stops at a checkpoint; 0: wait for the end" },
		-- steps
		{ name = "resume_from", type = "string", when = "resumable", section = "Steps",
			description = "Begin with this step; those before it are skipped" },
		{ name = "rollback_on_failure", type = "boolean", when = "rollback", section = "Steps",
			description = "Undo what was done if the command fails" },
		-- what it is run for, and how often
		{ name = "rebuild", type = "boolean", when = "sources status", yields = true, section = "Behaviour",
			description = "Do the work even if no source has changed" },
	},
}
