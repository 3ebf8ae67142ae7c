-- codes: the exit codes of a declaration: overrides of the registry and the command's
-- own. Loaded when a command declares any. Like lua/declare/command.lua it reports
-- reasons, not messages.

local errors = require "runner.core.errors"
local rules = require "runner.core.rules"

local M = {}

local OWN_MIN, OWN_MAX = 79, 125

local RULES = {
	code = rules.whole(0, 255), retryable = rules.one_of(true, false, "maybe"),
	side_effects = rules.named "side_effects", retry_after_ms = rules.whole(0, 1 << 53),
	retry_strategy = rules.named "retry_strategy",
	description = rules.text,
}
M.rules = RULES

---Is it a code or an exit entry of the registry?
---@param name string
---@return boolean
function M.in_registry(name)
	local host = require "runner.host"
	if host.registry_code(name) then
		return true
	end
	for _, entry in ipairs((select(2, host.registry_names()))) do
		if entry == name then
			return true
		end
	end
	return false
end

local function walk_own_code(row, taken, fault)
	if row.exit_code and (row.exit_code < OWN_MIN or row.exit_code > OWN_MAX) then
		fault("code", "refused", row.exit_code)
	elseif row.exit_code and taken[row.exit_code] then
		fault("code", "taken", taken[row.exit_code])
	elseif row.exit_code then
		taken[row.exit_code] = row.name
	end
	for _, key in ipairs({ "retryable", "side_effects" }) do
		if row[key] == nil then
			fault(key, "missing")
		end
	end
end

local function walk_code(name, declared, taken, report)
	local prefix = "exit_codes." .. tostring(name)
	local function fault(key, reason, found)
		report("exit_code", prefix, key, reason, found)
	end
	local row = rules.accept(RULES, "exit_code", declared, prefix, report)
	row.name, row.exit_code, row.code = name, row.code, nil
	if type(declared) ~= "table" then
		return row
	end
	local has_code = declared.code ~= nil
	if not errors.well_formed(name) then
		fault(nil, "code_name", name)
	elseif M.in_registry(name) then
		if has_code then
			fault("code", "fixed", declared.code)
		end
	elseif not has_code then
		fault("code", "missing_code", name)
	else
		walk_own_code(row, taken, fault)
	end
	if row.retryable ~= nil then
		row.retryable = tostring(row.retryable) -- as in frames
	end
	return row
end

---Walk `exit_codes`.
---@param declared table by name
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
---@return table[] rows by name in order
---@return table<string, table> by_name
function M.walk(declared, report)
	local names, rows, by_name, taken = {}, {}, {}, {}
	for name in next, declared do
		names[#names + 1] = name
	end
	table.sort(names, function(a, b)
		return tostring(a) < tostring(b)
	end)
	for i, name in ipairs(names) do
		rows[i] = walk_code(name, declared[name], taken, report)
		by_name[name] = rows[i]
	end
	return rows, by_name
end

return M
