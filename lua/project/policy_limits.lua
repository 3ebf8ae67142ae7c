-- policy_limits: what a caller's policy says beside names: the rules of `allow` on arguments, on how often, for how long and in how
-- many jobs; its end; and whose it is. Loaded where a policy says one of these. The counts are in lua/state/quotas.lua.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local host = require "runner.host"
local json = require "runner.json"
local names = require "runner.project.policy_names"
local quotas = require "runner.state.quotas"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"

local M = {}

-- --- the normal form ----------------------------------------------------------------------------

local MOST_CALLS = 1000000000
local REMEMBERED_MS = 86400000 -- the attempts of a call without a limit

-- "20/h" → "20" and ms; "20" and nothing; nil: it is wrong
local function per(v)
	local text = math.type(v) == "integer" and ("%d"):format(v) or type(v) == "string" and v or ""
	local most, window = text:match "^%s*([^/]-)%s*/%s*(.-)%s*$"
	local rate = window and require("runner.declare.throttle").rate("1/" .. window)
	if window then
		return rate and most, rate and rate.window_ms
	end
	return text:match "^%s*(%S+)%s*$"
end

local function max_calls(v)
	local text, window = per(v)
	local most = text and text:find "^%d+$" and math.tointeger(tonumber(text))
	return most and most <= (window and 10000 or MOST_CALLS) and { kind = "max_calls", most = most, window_ms = window, text = tostring(v) }
		or nil
end

local function total_time(v)
	local text, window = per(v)
	local most = text and (tonumber(text) and math.type(v) ~= "integer" and 0 or rules.duration(tonumber(text) or text))
	return most and most > 0 and { kind = "total_time", most = most, window_ms = window, text = tostring(v) } or nil
end

-- What a value may be: a list, or an object of bounds. Whether they fit the argument, its declaration says (M.of_value).
local CONDITIONS = {
	values = function(v) return json.is_array(v) and rules.list(v, 1, 10000, rules.anything) or nil end,
	min = rules.anything, max = rules.anything, absent = rules.flag,
	pattern = function(v) return rules.text(v) and not require("runner.declare.rare_arguments").pattern_fault(v) and v or nil end,
	within = function(v) return rules.text(v) and v:sub(1, 1) == "/" and v or nil end,
}

local function condition(v)
	if not json.is_array(v) then
		local out = tables.accepted(CONDITIONS, v)
		return out and next(out) and out or nil
	end
	local out = { values = {} }
	for _, item in ipairs(CONDITIONS.values(v) or {}) do
		if item == json.null then
			out.absent = true
		else
			out.values[#out.values + 1] = item
		end
	end
	return v[1] ~= nil and out or nil
end

local function arguments(v)
	return not json.is_array(v) and tables.mapped(v, function(name, what)
		return condition(what), type(name) == "string" and name:gsub("_", "-") or nil
	end) or nil
end

local ARGUMENTS = 'arguments and what they may be, such as {"env": ["staging"], "replicas": {"min": 1, "max": 5}, '
	.. '"tag": {"pattern": "^v[0-9]+$"}}'

---What becomes of a call above a quota: of a rule, and of all rules of a policy.
M.ABOVE = { rules.one_of("ask", "refuse"), '"ask" or "refuse"' }

local PARTS = {
	above = M.ABOVE,
	name = { rules.text, "the name of a command" },
	optional = { rules.flag, "true or false" },
	args = { arguments, ARGUMENTS },
	max_calls = { max_calls, 'a number of calls such as "20/h", "5/30m" or 100' },
	total_time = { total_time, 'a time such as "30m", or "30m/d"' },
	max_jobs = { rules.whole(0, 10000), "a whole number of jobs that run at once" },
}
local ACCEPT = {}
for key, row in next, PARTS do
	ACCEPT[key] = row[1]
end

---What was wrong with the last rule that was none: a sentence, and what to write.
M.why = nil ---@type {[1]: string, [2]: string}?

---The normal form of a rule of `allow`; nil: it is none, and M.why says why.
---@param v table
---@param named fun(text: any, optional: boolean): runner.PolicyRule?
---@return runner.PolicyRule?
function M.rule(v, named)
	local reasons = {}
	local out = rules.accept(ACCEPT, "", v, nil, function(_, _, key, reason)
		reasons[tostring(key)] = reason
	end)
	local wrong = tables.sorted_keys(reasons)[1]
	local rule = not wrong and named(out.name, out.optional or false)
	local where = ("allow.%s"):format(type(v.name) == "string" and v.name or "?")
	if wrong and reasons[wrong] == "unknown" then
		local known = tables.sorted_keys(PARTS)
		local near = require("runner.core.suggest").nearest(wrong, known, 1)[1]
		M.why = { ("%s: unknown key '%s'"):format(where, wrong),
			near and ("Write '%s'"):format(near) or "The keys are " .. table.concat(known, ", ") }
	elseif wrong then
		M.why = { ("%s: wrong value for '%s'"):format(where, wrong), "Write " .. PARTS[wrong][2] }
	elseif not rule then
		M.why = { ("%s is no name of a command"):format(where), 'Write a name such as "deploy" or "db *"' }
	else
		rule.args, rule.quotas, rule.max_jobs = out.args, { out.max_calls, out.total_time }, out.max_jobs
		rule.quotas = { rule.quotas[1] or rule.quotas[2], rule.quotas[1] and rule.quotas[2] or nil }
		rule.says = { args = v.args, max_calls = v.max_calls, total_time = v.total_time, max_jobs = v.max_jobs, above = v.above }
		rule.above = out.above
		rule.limits = rule.args ~= nil or rule.quotas[1] ~= nil or rule.max_jobs ~= nil
	end
	return rule or nil
end

---The rules of a map, as a list; nil: it is none.
---@param v table<string, table>
---@return table[]?
function M.rows(v)
	local out = {}
	for _, name in ipairs(tables.sorted_keys(v)) do
		local row = v[name]
		if type(row) ~= "table" or json.is_array(row) or row.name ~= nil then
			M.why = { ("allow.%s is no object"):format(name), ('Write {"%s": {}}'):format(name) }
			return nil
		end
		out[#out + 1] = tables.add({ name = name }, row)
	end
	return out[1] and out or nil
end

-- --- times --------------------------------------------------------------------------------------

local function days(y, m, d)
	y = m <= 2 and y - 1 or y
	local era, shifted = y // 400, (m + 9) % 12
	local of_era = y - era * 400
	return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + (153 * shifted + 2) // 5 + d - 1 - 719468
end

---The end of a policy: ms since 1970; a bare date begins at 00:00 UTC.
---@param v any
---@return integer?
function M.expires(v)
	if type(v) ~= "string" then
		return nil
	end
	local y, m, d, rest = v:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
	local h, min, s, zone = (rest == "" and "T00:00:00Z" or rest or ""):match "^[Tt](%d%d):(%d%d):?(%d*)%.?%d*(.*)$"
	if not h or not (zone == "Z" or zone == "z" or zone:find "^[+-]%d%d:%d%d$") then
		return nil
	end
	local day = days(math.tointeger(tonumber(y)), math.tointeger(tonumber(m)), math.tointeger(tonumber(d)))
	local seconds = tonumber(h) * 3600 + tonumber(min) * 60 + (tonumber(s) or 0)
	local sign, zone_h, zone_min = zone:match "^([+-])(%d%d):(%d%d)$"
	local offset = sign and (tonumber(zone_h) * 3600 + tonumber(zone_min) * 60) * (sign == "-" and -1 or 1) or 0
	local real = host.rfc3339(day * 86400000):sub(1, 10) == v:sub(1, 10)
	return real and seconds < 86400 and tonumber(min) < 60 and math.tointeger((day * 86400 + seconds - offset) * 1000) or nil
end

local function time_text(ms)
	return (host.rfc3339(ms):gsub("%.%d+Z$", "Z"))
end
M.time_text = time_text

-- --- arguments ----------------------------------------------------------------------------------

local SHOWN = 200 -- bytes

local function shown(v)
	local text = type(v) == "string" and ("'%s'"):format(v) or json.encode(v) or tostring(v)
	return #text <= SHOWN and text or text:sub(1, (utf8.offset(text, 0, SHOWN) or SHOWN) - 1) .. "…"
end

local function allowed_text(what)
	local out = {}
	for _, v in ipairs(what.values or {}) do
		out[#out + 1] = shown(v)
	end
	local parts = { what.values and (out[1] and table.concat(out, ", ") or "none") }
	for _, key in ipairs { "min", "max", "pattern", "within" } do
		parts[#parts + 1] = what[key] ~= nil and ("%s %s"):format(key, shown(what[key])) or nil
	end
	parts[#parts + 1] = what.absent and "or none" or nil
	return table.concat(parts, "; ")
end

-- A value of a rule, as the argument's type has it.
local function typed(kind, v)
	if kind == "integer" and math.type(v) == "float" then
		v = math.tointeger(v)
	end
	return values.take[kind](v)
end

local FOR = { min = { integer = true, number = true, duration = true }, pattern = { string = true, path = true, enum = true },
	within = { path = true } }
FOR.max = FOR.min

---Why a rule can't be one of an argument's type.
---@param row table normalised row of the declaration
---@param what table
---@return string? the rest of a sentence
local function misfit(row, what)
	local kind = row.items or row.type
	for key, kinds in next, FOR do
		if what[key] ~= nil and not kinds[kind] then
			return ("%s is not for the type %s"):format(key, kind)
		end
	end
	for _, key in ipairs { "min", "max" } do
		if what[key] ~= nil and typed(kind, what[key]) == nil then
			return ("%s %s is no %s"):format(key, shown(what[key]), kind)
		end
	end
	for _, v in ipairs(what.values or {}) do
		if typed(kind, v) == nil then
			return ("%s is no %s"):format(shown(v), kind)
		elseif type(row.values) == "table" then
			local known = false
			for _, one in ipairs(row.values) do
				known = known or one == v
			end
			if not known then
				return ("%s is none of its values"):format(shown(v))
			end
		end
	end
end

local function equal(kind, a, b)
	return a == b or kind == "json" and json.encode(a) == json.encode(b)
end

-- May one value pass?
local function passes(kind, what, v)
	local listed = not what.values
	for _, one in ipairs(what.values or {}) do
		listed = listed or equal(kind, typed(kind, one), v)
	end
	local climbs = kind == "path" and (what.pattern or what.within) and ("/" .. v .. "/"):find("/../", 1, true)
	return listed and not climbs and (what.min == nil or v >= typed(kind, what.min)) and (what.max == nil or v <= typed(kind, what.max))
		and not (what.pattern and require("runner.declare.rare_arguments").pattern_refuses(what.pattern, v))
		and not (what.within and not require("runner.declare.rare_arguments").is_within(v, what.within))
end

local ARGV = { name = "argv", flag = "argv", type = "array", items = "string" }

local function row_of(command, name)
	for _, row in ipairs(command.args or {}) do
		if row.flag == name then
			return row
		end
	end
	return name == "argv" and command.raw == "passthrough" and ARGV or nil
end

-- The first item that may not pass, and whether there is one.
local function culprit(row, what, value)
	local kind = row.items or row.type
	local items = row.type == "array" and type(value) == "table" and value or { value }
	if items[1] == nil then -- a list without items is no value
		return nil, not what.absent
	end
	for _, item in ipairs(items) do
		if values.take[kind](item) == nil or not passes(kind, what, item) then
			return item, true
		end
	end
	return nil, false
end

---Why a rule's arguments mean nothing in a command.
---@param rule runner.PolicyRule
---@param command table normal form
---@return string? problem a sentence
function M.misfit(rule, command)
	for _, name in ipairs(tables.sorted_keys(rule.args or {})) do
		local row = row_of(command, name)
		local why = row and misfit(row, rule.args[name])
		if not row then
			return ("allow.%s.args names '%s', which is no argument of '%s'"):format(rule.text, name, command_line.typed(command.name))
		elseif why then
			return ("allow.%s.args.%s: %s"):format(rule.text, name, why)
		end
	end
end

-- The whole condition, as a rule has it: a list where there are values alone.
local function said(what)
	local others = what.min == nil and what.max == nil and not (what.pattern or what.within)
	if not (what.values and others) then
		return tables.add({}, what)
	end
	local list = json.array(table.move(what.values, 1, #what.values, 1, {}))
	list[#list + 1] = what.absent and json.null or nil
	return list
end

---Why a rule refuses the arguments of a call.
---@param rule runner.PolicyRule
---@param command table normal form
---@param given table<string, any> the values that `run` gets
---@return {rule: string, why: string, context: table}?
function M.refused_argument(rule, command, given)
	for _, name in ipairs(tables.sorted_keys(rule.args or {})) do
		local row, what = row_of(command, name), rule.args[name]
		local value, wrong = culprit(row, what, given[row.name])
		if wrong then
			local text = row.secret and "its value" or value == nil and "no value" or shown(value)
			return { rule = ("allow.%s.args.%s"):format(rule.text, name), context = { argument = row.name, allowed = said(what) },
				why = ("%s may not be %s: allowed is %s"):format(name, text, allowed_text(what)) }
		end
	end
end

-- --- one call -----------------------------------------------------------------------------------

---@class runner.PolicyRefusal
---@field policy table
---@field rule string
---@field why string the rest of a sentence
---@field context? table
---@field invalid? boolean the policy is wrong
---@field error? runner.Error in place of all that
---@field asks? boolean a person may agree to it all the same

---The rules of a policy that mean a command and say more than its name.
---@param policy table
---@param name string dot path, as caller_policy.full_name gives it
---@param builtin boolean
---@return runner.PolicyRule[]
local function rules_for(policy, name, builtin)
	local out = {}
	for _, rule in ipairs(policy.allow or {}) do
		out[#out + 1] = rule.limits and names.is_meant(rule, name, builtin, false) and rule or nil
	end
	return out
end
M.rules_for = rules_for

-- "self.NAME" of a file's namesake; built-in commands have a mark, so that each is told from a file.
local function counted_name(name, builtin)
	return builtin and "!" .. name or name
end

local function meant_by(rule)
	return function(name)
		local plain = name:match "^!(.*)$"
		return names.is_meant(rule, plain or name, plain ~= nil, false)
	end
end

-- All that is counted for a policy, and what of it holds for these rules.
local function quotas_of(list)
	local out, of = {}, {}
	for _, rule in ipairs(list) do
		for _, quota in ipairs(rule.quotas) do
			quota.means, quota.asks = quota.means or meant_by(rule), rule.above == "ask"
			out[#out + 1], of[#of + 1] = quota, rule
		end
	end
	return out, of
end

local function key_of(policy)
	return quotas.key(policy.path, policy.subject, policy.counts)
end

-- Why nothing can be counted is no error yet; a cancellation is.
local function attempted(f, ...)
	local ok, first, second = pcall(f, ...)
	if not ok and type(first) == "userdata" then
		error(first, 0)
	end
	return ok, first, second
end

local function uncountable(policy, why)
	return { policy = policy, rule = "counts", invalid = true, why = ("its calls can't be counted: %s"):format(why) }
end

local function count_text(quota, used)
	return quota.kind == "max_calls" and ("%d were made"):format(used) or ("%s are used"):format(host.duration_text(used))
end

local function full(policy, quota, rule, refused)
	local at = refused.left_ms and host.wall_ms() + refused.left_ms
	local again = at and ("the next is possible in %s, at %s"):format(host.duration_text((refused.left_ms + 999) // 1000 * 1000),
		time_text(at))
		or quota.window_ms and "calls that run now may take the rest" or "no more are possible"
	return { policy = policy, rule = ("allow.%s.%s"):format(rule.text, quota.kind), asks = quota.asks,
		why = ("%s is %s, and %s: %s"):format(quota.kind, quota.text, count_text(quota, refused.used), again),
		context = { allowed = quota.text, used = refused.used, retry_after_ms = refused.left_ms, allowed_at = at and time_text(at) } }
end

local function unit()
	local launch = attempt.launch
	local started = (require("runner.fs").read(("/proc/%d/stat"):format(launch.supervisor)) or ""):match "^.*%) (.*)$"
	local n, tick = 0, ""
	for word in (started or ""):gmatch "%S+" do
		n = n + 1
		tick = n == 20 and word or tick
	end
	return ("%s:%d:%s"):format(launch.request_id, launch.supervisor, tick)
end

---@class runner.LimitedCall
---@field name string as policies know it
---@field builtin boolean
---@field command table
---@field agreed? boolean by a person
---@field job? string that it starts, or that makes it
---@field folder? string of the job that it starts
---@field takes_rest? boolean whose limit isn't known

---Is it a run of a workflow, before which a person is asked where its cost is used up?
---@param policy table
---@param call runner.LimitedCall
---@return boolean
function M.is_run(policy, call)
	return policy.above == "ask" and policy.total_cost_usd ~= nil and call.builtin and call.name:find "workflow%.run$" ~= nil
end

---Why a policy refuses a call by its arguments.
---@param policy table
---@param call runner.LimitedCall
---@param given table<string, any>
---@return runner.PolicyRefusal?
function M.by_arguments(policy, call, given)
	for _, rule in ipairs(rules_for(policy, call.name, call.builtin)) do
		local wrong = M.misfit(rule, call.command)
		if wrong then
			return { policy = policy, rule = ("allow.%s.args"):format(rule.text), why = wrong, invalid = true }
		end
		local refused = M.refused_argument(rule, call.command, given)
		if refused then
			refused.policy = policy
			return refused
		end
	end
end

-- A job's starter counts its call where a person may have to be asked, since nobody is by then: once, as the name goes with that.
local function job_unit(call)
	return call.job and "job:" .. call.job
end

---Does a policy have a person asked above a quota of such calls?
---@param policy table
---@param call runner.LimitedCall
---@return boolean
function M.asks(policy, call)
	local asks = M.is_run(policy, call)
	for _, rule in ipairs(rules_for(policy, call.name, call.builtin)) do
		asks = asks or rule.above == "ask" and rule.quotas[1] ~= nil
	end
	return asks
end

---Why a policy refuses a call by what has been used. Nothing is counted.
---@param policy table
---@param call runner.LimitedCall
---@return runner.PolicyRefusal?
---@return integer? time_ms left of its total time
function M.by_quotas(policy, call)
	local list, of = quotas_of(rules_for(policy, call.name, call.builtin))
	if not list[1] or call.builtin and names.is_internal(call.name) then
		return nil
	end
	local ok, refused, time = attempted(quotas.look, key_of(policy), list, { unit = unit(), job = job_unit(call), agreed = call.agreed },
		attempt.policy.checks)
	if not ok then
		return uncountable(policy, tostring(refused))
	end
	return refused and full(policy, list[refused.index], of[refused.index], refused), time
end

-- Every quota that the policy has, so that none loses what it has counted.
local function all_quotas(policy)
	local list = {}
	for _, rule in ipairs(policy.allow or {}) do
		list[#list + 1] = rule.limits and rule or nil
	end
	return (quotas_of(list))
end

---Does a call take of the total time? What serves, waits or makes calls doesn't: these do.
---@param call runner.LimitedCall
---@param limit_ms integer its time limit; 0: none
---@return boolean
function M.is_timed(call, limit_ms)
	return limit_ms > 0 and not (call.builtin and names.is_idle(call.name))
end

---Count a call. Raises a cancellation alone.
---@param policy table
---@param call runner.LimitedCall
---@param limit_ms integer its time limit; 0: none
---@param starts? boolean it starts the job which makes it
---@return runner.PolicyRefusal?
---@return fun()? ended
function M.count(policy, call, limit_ms, starts)
	local list, of = quotas_of(rules_for(policy, call.name, call.builtin))
	if not list[1] or call.builtin and names.is_internal(call.name) then
		return nil
	end
	local timed = false
	for _, quota in ipairs(list) do
		timed = timed or quota.kind == "total_time" and M.is_timed(call, limit_ms)
	end
	local ok, refused, ended = attempted(quotas.admit, key_of(policy), list, { name = counted_name(call.name, call.builtin),
		unit = starts and job_unit(call) or unit(), job = job_unit(call), agreed = call.agreed,
		folder = starts and call.folder, takes_rest = call.takes_rest,
		keep_ms = limit_ms > 0 and limit_ms or REMEMBERED_MS, timed = timed }, all_quotas(policy))
	if not ok then
		return uncountable(policy, tostring(refused))
	end
	return refused and full(policy, list[refused.index], of[refused.index], refused), ended
end

---A call that was counted is not made, since another policy refuses it.
---@param policy table
---@param call runner.LimitedCall
---@param starts? boolean as M.count has it
function M.take_back(policy, call, starts)
	if quotas_of(rules_for(policy, call.name, call.builtin))[1] then
		attempted(quotas.take_back, key_of(policy), starts and job_unit(call) or unit(), all_quotas(policy))
	end
end

---Count a job.
---@param policy table
---@param call runner.LimitedCall
---@param folder? string nil: nothing is counted
---@return runner.PolicyRefusal?
function M.count_job(policy, call, folder)
	local list = rules_for(policy, call.name, call.builtin)
	if policy.max_jobs then
		list[#list + 1] = { text = "*", max_jobs = policy.max_jobs, whole = true }
	end
	for _, rule in ipairs(list) do
		if rule.max_jobs then
			local key = key_of(policy)
			local ok, running = attempted(quotas.job, key, all_quotas(policy), rule.whole and "" or rule.text, folder, rule.max_jobs)
			if not ok then
				return uncountable(policy, tostring(running))
			elseif running then
				return { policy = policy, rule = rule.whole and "max_jobs" or ("allow.%s.max_jobs"):format(rule.text),
					why = ("max_jobs is %d, and as many run"):format(rule.max_jobs), context = { allowed = rule.max_jobs, used = running } }
			end
		end
	end
end

local function dollars(micros)
	return require("runner.core.amounts").dollars(micros)
end

---Reserve what a run of a workflow may cost.
---@param policy table
---@param id? string nil: nothing is reserved
---@param wanted? integer micro-dollars
---@param agreed? boolean by a person
---@param folder? string of the job that will make it
---@return runner.PolicyRefusal?
---@return integer? granted
function M.reserve(policy, id, wanted, agreed, folder)
	local most = policy.total_cost_usd
	local ok, granted, used = attempted(quotas.reserve, key_of(policy), all_quotas(policy), id, most, wanted,
		policy.above == "ask" and (agreed and "agreed" or "open") or nil, folder)
	if not ok then
		return uncountable(policy, tostring(granted))
	end
	return not granted and { policy = policy, rule = "total_cost_usd", asks = policy.above == "ask",
		context = { allowed = dollars(most), used = dollars(used) },
		why = ("total_cost_usd is %s, and other runs have cost, or reserved, %s"):format(dollars(most), dollars(used)) } or nil, granted
end

---What a run has cost.
---@param policy table
---@param id string
---@param micros integer
---@return string? problem
function M.spent(policy, id, micros)
	local ok, why = attempted(quotas.spent, key_of(policy), all_quotas(policy), id, micros)
	return not ok and tostring(why) or nil
end

---What all runs have cost: for `policy check`.
---@param policy table
---@return number? dollars
---@return string? problem
function M.cost(policy)
	local ok, micros = attempted(quotas.costs, key_of(policy))
	return ok and dollars(micros) or nil, not ok and uncountable(policy, tostring(micros)).why or nil
end

---What is used of each rule of a policy: for `policy check`.
---@param policy table
---@param rule runner.PolicyRule
---@return table<string, any>? used by the name of the quota
---@return string? problem
function M.used(policy, rule)
	local list = quotas_of { rule }
	if not list[1] then
		return nil
	end
	local ok, counts = attempted(quotas.used, key_of(policy), list)
	if not ok then
		return nil, uncountable(policy, tostring(counts)).why
	end
	local out = {}
	for i, quota in ipairs(list) do
		out[quota.kind == "max_calls" and "calls" or "time_ms"] = counts[i]
	end
	return out
end

return M
