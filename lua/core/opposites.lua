-- opposites: words that turn a meaning round, and pairs that say the opposite of one another: near in their letters, and never meant
-- for one another. Loaded where a word was wrong.

local distance = require "runner.core.distance"
local tables = require "runner.core.tables"

local M = {}

local NEGATING = tables.set [[no not non never without except exclude excluding skip dont un disable ignore omit but unless invert]]
local HARMLESS = tables.set "until under unit units unique union unix unicode uncle"
local PREFIXES = { "un", "in", "no", "non", "dis", "de", "anti", "not", "dont", "ex", "im", "ir" }

local PAIRS = {}
for a, b in ([[include exclude; included excluded;
	including excluding; keep drop; keep delete; keep remove; keep discard; keep purge; allow deny; accept reject;
	 with without; only except; before after; since until; from to; min max; minimum maximum; older newer; above below;
	over under; more less; most least; start end; first last; head tail; enable disable; enabled disabled; show hide; add remove; on off;
	ascending descending; asc desc; import export; up down; public private; internal external; sync async; read write; open close;
	open closed; grant revoke; push pull; upload download; upgrade downgrade; encode decode; encrypt decrypt; attach detach; start stop;
	increase decrease; local remote; all none; always never; true false; yes no; lock unlock; promote demote; load unload; mount unmount;
	success failure; inbound outbound; ingress egress; input output; source target; src dest]]):gmatch "(%l+) (%l+)" do
	PAIRS[a .. " " .. b], PAIRS[b .. " " .. a] = true, true
end

---Is one of two words the opposite of the other, by a pair that is known?
---@param a string in lower case
---@param b string
---@return boolean
function M.is_pair(a, b)
	return PAIRS[a .. " " .. b] or false
end

---Does a part of a word say no?
---@param part string in lower case
---@return boolean
function M.is_no(part)
	return NEGATING[part] or part:find "^un%l%l" and not HARMLESS[part] or false
end

local function says_no(part)
	return NEGATING[part] or NEGATING[part:gsub("d$", "")] or false
end

-- "inactive" and "active", "unquiesed" and "quiesced": is one the other, with a prefix that says no?
local function is_denied(long, short)
	for _, prefix in ipairs(PREFIXES) do
		local rest = long:sub(1, #prefix) == prefix and short:sub(1, #prefix) ~= prefix and long:sub(#prefix + 1) or ""
		if #rest > 2 and distance(rest, short) <= #rest // 4 then
			return true
		end
	end
	return false
end

-- The parts of a name that another hasn't got.
local function parts_beside(name, other)
	local out, has = {}, {}
	for part in other:gmatch "%w+" do
		has[part] = true
	end
	for part in name:gmatch "%w+" do
		out[#out + 1] = not has[part] and part or nil
	end
	return out
end

-- Of the parts of one name some say no, and none of the other's is meant by them.
local function has_no_alone(parts, others)
	for _, part in ipairs(parts) do
		local is_alone = says_no(part)
		for _, other in ipairs(is_alone and others or {}) do
			is_alone = is_alone and not says_no(other) and (#part < 4 or distance(part, other) > 2)
		end
		if is_alone then
			return true
		end
	end
	return false
end

---Does one of two names say the opposite of the other? "include" and "exclude", "inactive" and "active", "keep-data" and "drop-data".
---@param a string
---@param b string
---@return boolean
function M.are(a, b)
	a, b = a:lower(), b:lower()
	local whole_a, whole_b = a:gsub("%W", ""), b:gsub("%W", "")
	if whole_a == whole_b then
		return false
	end
	local of_a, of_b = parts_beside(a, b), parts_beside(b, a)
	for _, x in ipairs(of_a) do
		for _, y in ipairs(of_b) do
			if M.is_pair(x, y) or is_denied(x, y) or is_denied(y, x) then
				return true
			end
		end
	end
	return is_denied(whole_a, whole_b) or is_denied(whole_b, whole_a) or has_no_alone(of_a, of_b) or has_no_alone(of_b, of_a)
end

return M
