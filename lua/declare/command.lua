-- command: the declaration of a command file: the rules it must follow, and its normal
-- form. Loaded in every worker. It walks a declaration once and reports each fault by
-- reason; lua/declare/declaration.lua, loaded only then, turns reasons into messages. The
-- keys that few commands have are in lua/declare/contract.lua.
-- It runs nothing of the command.

local rules = require "runner.core.rules"

local M = {}

local LIMITED = { mutating = true, destructive = true } -- must declare what a timeout leaves behind

local text, flag, run, list = rules.text, rules.flag, rules.of_type "function", rules.list_of(rules.anything, 0)

-- The keys of each kind of table.
M.rules = {
	command = {
		description = text, danger_level = rules.named "danger_level", args = list,
		timeout = rules.duration, attempt_timeout = rules.duration, idle_timeout = rules.duration,
		grace = rules.duration, retry = rules.anything, exit_codes = rules.of_type "table",
		steps = rules.list_of(text, 1), validate = run, run = run, cleanup = run,
		interactive = flag, hidden = flag, limits = rules.of_type "table", examples = list,
		columns = rules.list_of(text, 1),
		schema_version = rules.matching("^%d+%.%d+$", 16), required_scopes = rules.list_of(text, 0),
	},
	example = { description = text, command = text },
}

local COMMAND = M.rules.command

-- Any other key.
setmetatable(COMMAND, { __index = function(_, key)
	local row = require("runner.declare.contract").key(key)
	return row and row.accept
end })

local function check_contract(n, report)
	for key in next, n do
		if not rawget(COMMAND, key) then
			n.contract = true
			return require("runner.declare.contract").check(n, report)
		end
	end
end

local function check_steps(steps, report)
	local seen = {}
	for _, step in ipairs(steps) do
		if seen[step] then
			report("command", nil, "steps", "step_twice", step)
		end
		seen[step] = true
	end
end

-- Half of the work may be done at a timeout: the file must declare it.
local function check_timeout(n, codes, report)
	local limited = n.timeout_ms ~= 0 or (n.attempt_timeout_ms or 0) > 0 or (n.idle_timeout_ms or 0) > 0
	local own = codes.TIMEOUT
	if LIMITED[n.danger_level] and limited and not (own and own.retryable and own.side_effects) then
		report("exit_code", "exit_codes.TIMEOUT", nil, own and "timeout_open" or "timeout_entry", n.danger_level)
	end
end

local function check_required(declaration, report)
	for _, key in ipairs({ "description", "danger_level", "run" }) do
		if declaration[key] == nil then
			report("command", nil, key, "missing")
		end
	end
end

local function walk_examples(examples, report)
	for i, example in ipairs(examples) do
		local prefix = "examples." .. i
		local e = rules.accept(M.rules.example, "example", example, prefix, report)
		if type(example) == "table" and not e.command then
			report("example", prefix, "command", "missing")
		end
	end
end

---Walk a declaration: return the normal form, pass every fault to `report`. If there
---were faults, the normal form is unusable.
---@param declaration any what the file returned
---@param where {path: string, name: string, text?: string, config?: table}
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
---@return table normal
function M.walk(declaration, where, report)
	local n = rules.accept(M.rules.command, "command", declaration, nil, report)
	if type(declaration) ~= "table" then
		return n
	end
	check_required(declaration, report)
	check_contract(n, report)
	n.name = where.name
	n.schema_version = n.schema_version or "1.0"
	for _, key in ipairs({ "timeout", "attempt_timeout", "idle_timeout", "grace" }) do
		n[key .. "_ms"], n[key] = n[key], nil
	end
	if n.args then
		n.args, n.secrets = require("runner.declare.arguments").walk(n.args, n, report)
	end
	n.args = n.args or {}
	local codes = {}
	if n.exit_codes then
		n.exit_codes, codes = require("runner.declare.codes").walk(n.exit_codes, report)
	end
	n.exit_codes = n.exit_codes or {}
	if n.retry ~= nil then
		require("runner.declare.policy").walk(n.retry, n.timeout_ms ~= 0, codes, report)
	end
	check_steps(n.steps or {}, report)
	check_timeout(n, codes, report)
	walk_examples(n.examples or {}, report)
	n.limits = n.limits and require("runner.declare.throttle").walk(n.limits, report) or {}
	n.stdin, n.interactive, n.hidden = n.stdin or false, n.interactive or false, n.hidden or false
	return n
end

---The normal form of a valid declaration. It has durations as `…_ms` (nil:
---not declared, 0: none), rows of args with `flag` and typed defaults, exit_codes as a list
---by name whose `retryable` is text as in frames, `retry` as declared, and `contract`, whether it
---has keys of lua/declare/contract.lua.
---@param declaration any what the file returned
---@param where {path: string, name: string, text?: string, config?: table}
---@return table? normal nil: it breaks a rule (lua/declare/declaration.lua reports which)
---@return any raised what walking it raised, if it did
function M.normal(declaration, where)
	local clean = true
	local ok, normal = pcall(M.walk, declaration, where, function()
		clean = false
	end)
	if ok and clean then
		return normal
	end
	return nil, not ok and normal or nil
end

return M
