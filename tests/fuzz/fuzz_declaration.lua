-- command.normal and declaration.error take anything that a file may return: a normal form, or one
-- COMMAND_INVALID that says where and what to write. It never raises. What it
-- accepts, the parser, the policy and help can work with.

local args = require "runner.project.args"
local command = require "runner.declare.command"
local faults = require "runner.declare.declaration"
local policy = require "runner.declare.policy"
local values = dofile "tests/fuzz/values.lua"

local CONFIG = { targets = { "a", "b" } }
local LIMITS = { "timeout_ms", "attempt_timeout_ms", "idle_timeout_ms", "grace_ms" }

local function check_refusal(e)
	assert(e.code == "COMMAND_INVALID" and e.phase == "validation", e.code)
	assert(type(e.message) == "string" and e.message:find("commands/x.lua", 1, true), e.message)
	assert(type(e.fix_required) == "string" and e.fix_required ~= "", e.message)
	assert(#e.errors > 0, "no problem is listed: " .. e.message)
	for _, row in ipairs(e.errors) do
		assert(type(row.message) == "string" and type(row.field) == "string")
	end
	assert(require("runner.json").encode(e.errors))
end

local function check_normal(n)
	for _, key in ipairs(LIMITS) do
		assert(n[key] == nil or math.type(n[key]) == "integer" and n[key] >= 0, key)
	end
	assert(type(n.description) == "string" and type(n.run) == "function")
	for _, row in ipairs(n.exit_codes) do
		assert(row.exit_code == nil or row.exit_code >= 79 and row.exit_code <= 125)
		assert(type(row.name) == "string" and (row.retryable == nil or type(row.retryable) == "string"))
	end
	if n.retry then
		assert(policy.normalise(n.retry))
	end
	-- a values or default function of the file may fail: then with its own error
	pcall(args.parse, n.args, {}, { config = CONFIG })
end

return function(text)
	local known, declaration = values.read(text)
	if not known then
		return
	end
	local where = { path = "commands/x.lua", name = "x", text = #text < 4096 and text or nil, config = CONFIG }
	local normal, raised = command.normal(declaration, where)
	if normal then
		check_normal(normal)
	else
		check_refusal(faults.error(declaration, where, raised))
	end
	for _, warning in ipairs(require("runner.declare.lint").find(declaration, where)) do
		assert(type(warning.message) == "string")
	end
end
