-- jobs: what a command declares that runs longer than a caller may wait, and the flags that it
-- gets; and --detach, for any command (lua/jobs/front.lua acts on them).

local rules = require "runner.core.rules"

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

local function check(n, fault)
	if n.streams then
		fault("can't be used with streams = true", "Remove one of them: a job's rows reach nobody while it runs")
	elseif n.interactive then
		fault("can't be used with interactive = true", "Remove one of them: a job has no terminal")
	end
end

-- What another call of a command that isn't finished would do, where the author doesn't say.
local function declare_incomplete(n)
	local codes = { INCOMPLETE = n.danger_level == "safe" and { retryable = true, side_effects = "none" }
		or { retryable = false, side_effects = "partial" } }
	for name, code in next, n.exit_codes or {} do
		codes[name] = code
	end
	n.exit_codes = codes
end

---@type runner.Subject
return {
	keys = {
		async = { accept = rules.flag, expected = "true or false", manifest = "entry", check = function(n, fault)
			if n.async then
				check(n, fault)
			end
		end },
		interruption = { accept = interruption, manifest = "entry",
			expected = "{ detach = true } or { resume = true }, with idle_timeout_ms and max_lifetime_ms", check = function(n, fault)
				check(n, fault)
				if n.async then
					fault("can't be used with async = true", "Remove one of them: async detaches every call")
				end
				if n.interruption.resume and n.stdin == true then
					fault("can't resume with stdin = true", 'Write stdin = { type = "bytes" }: other input has to make another call')
				end
				declare_incomplete(n)
			end },
	},
	flags = {
		{ name = "detach", type = "boolean", yields = true, section = "Jobs",
			description = "Go on in the background as a job; answer with its ID at once" },
		{ name = "budget", type = "duration", when = "interruption", section = "Jobs",
			description = "Answer within this time; what isn't done by then goes on as a job, or stops at a checkpoint; 0: wait for the end" },
	},
}
