-- budget: most bytes of the answer of this call (--max-bytes, RUNNER_MAX_OUTPUT_BYTES, a policy's max_bytes, and what is usual
-- for a command that says that its answers may be cut), and whether a cut keeps the form that its command declares. What is
-- over it the supervisor cuts and keeps (src/supervisor/budget.c). Loaded where there is one.

local amounts = require "runner.core.amounts"
local attempt = require "runner.core.attempt"
local host = require "runner.host"
local tables = require "runner.core.tables"

local M = {}

local VARIABLE = "RUNNER_MAX_OUTPUT_BYTES"
local LEAST = 4096
M.most = nil ---@type integer? bytes of the answer to this call, once its plan is sent
local DECLARED = 1 << 20 -- of a command that lists, or says that it may be cut

-- --- may it be cut? -------------------------------------------------------------------------

-- Keywords that the tail of an array or of a string may decide. A text of 128 bytes is never cut, nor a number.
local TAILS = tables.set [[minItems pattern maxLength contains minContains prefixItems oneOf not if
	dependentSchemas unevaluatedItems]]
local NAMES = tables.set "properties patternProperties definitions $defs dependentSchemas"
local VALUES = tables.set "default examples const enum"
local SHORT, DEPTH_MAX = 128, 100
local PLAIN = tables.set "path binary" -- formats of ours that say nothing of a text's end

local function is_short(v)
	return type(v) ~= "table" and #tostring(v) + 2 <= SHORT
end

local function binds(key, v)
	if key == "minLength" then
		return type(v) == "number" and v > SHORT // 8
	elseif key == "const" then
		return not is_short(v)
	elseif key == "enum" then
		for _, one in ipairs(type(v) == "table" and v or {}) do
			if not is_short(one) then
				return true
			end
		end
	end
	return key == "format" and not PLAIN[v] or TAILS[key] ~= nil and v ~= 0
end

---May the tails of a value's arrays and strings be cut, and it still meets this schema?
---@param schema any
---@param names? boolean the keys are names of members, not keywords
---@param depth? integer
---@return boolean
function M.may_cut(schema, names, depth)
	depth = depth or 0
	if type(schema) ~= "table" then
		return true
	elseif depth > DEPTH_MAX then
		return false
	end
	for key, below in next, schema do
		if not names and binds(key, below) then
			return false
		elseif (names or not VALUES[key]) and not M.may_cut(below, not names and NAMES[key] or false, depth + 1) then
			return false
		end
	end
	return true
end

-- --- how many bytes ---------------------------------------------------------------------------

local function least(most, n)
	return n and math.min(most or n, n) or most
end

-- What the policies that this call names allow. Those of an outer run are about its own answer.
local function of_policies(policy)
	local most
	for _, one in ipairs(policy and policy.list or {}) do
		most = least(most, not one.inherited and one.max_bytes or nil)
	end
	return most
end

---What the caller wants, whatever the command is; nil: nothing.
---@param framework table values of runner's own flags
---@return integer?
function M.asked(framework)
	local asked = framework.max_bytes or amounts.size(os.getenv(VARIABLE) or "", LEAST)
	return least(asked, of_policies(attempt.policy))
end

---Most bytes of the answer to this call. What it calls itself answers to it, in whole.
---@param framework table values of runner's own flags
---@param command table normal form
---@return integer? nil: as many as it has
function M.settle(framework, command)
	local most = M.asked(framework) or attempt.format == "json" and (command.list or command.truncates)
		and not framework.unmask and DECLARED or nil
	host.setenv(VARIABLE, nil)
	if attempt.launch.job then
		return nil -- the reader of its answer has a budget
	end
	M.most = most
	return most
end

---The same as the supervisor is told it: below 0 where no cut of the result keeps its form.
---@param framework table
---@param command table
---@return integer?
function M.sent(framework, command)
	local most = M.settle(framework, command)
	if most then -- what has no room is kept
		host.send("ATTACH", { state = require("runner.core.own_state").whose() })
	end
	return most and (M.may_cut(command.output_schema) and most or -most) or nil
end

return M
