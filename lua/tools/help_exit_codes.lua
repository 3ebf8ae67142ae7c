-- help_exit_codes: the exit codes that help and the manifest show: number, name, and what they
-- mean for the caller. They come from the registry (host.hints) and the command's own exit_codes.

local host = require "runner.host"

local M = {}

-- The one entry that is not an error code.
local SUCCESS = { "  0  SUCCESS", "Done as intended" }

-- What any command can end with.
local ALWAYS = { "GENERAL_ERROR", "ARG_ERROR", "PRECONDITION" }

local WAITS = { immediate = "immediately", linear_backoff = "linear backoff", exponential_backoff = "exponential backoff" }

---@class runner.ExitRow
---@field name string
---@field number integer
---@field description string
---@field hints table of host.hints

local function advice(hints)
	if hints.retryable == "true" then
		local after = hints.retry_after_ms > 0 and "after " .. host.duration_text(hints.retry_after_ms) .. ", " or ""
		return ("retry %s%s"):format(after, WAITS[hints.retry_strategy] or hints.retry_strategy)
	elseif hints.retryable == "maybe" then
		return "a retry may help"
	end
end

local function row_of(name, description, exit_codes, exit_table)
	local hints = host.hints(name, nil, exit_codes, exit_table)
	local known = host.registry_code(name)
	local text, details = description or known and known.description or "", {}
	details[1] = advice(hints)
	if hints.side_effects == "partial" then
		details[#details + 1] = "part of the work may be done"
	end
	return {
		term = ("%3d  %s"):format(hints.exit_code, name), number = hints.exit_code, name = name, hints = hints,
		description = description or known and known.description or name,
		text = details[1] and ("%s (%s)"):format(text, table.concat(details, "; ")) or text,
	}
end

local function finish(rows)
	table.sort(rows, function(a, b)
		if a.number ~= b.number then
			return a.number < b.number
		end
		return a.term < b.term
	end)
	local out = { SUCCESS }
	for _, row in ipairs(rows) do
		out[#out + 1] = { row.term, row.text }
	end
	return out
end

---Every entry of the registry but SUCCESS.
---@param exit_table? "standard"|"classic"
---@return runner.ExitRow[]
function M.registry(exit_table)
	local rows = {}
	for _, name in ipairs((select(2, host.registry_names()))) do
		if name ~= "SUCCESS" then
			rows[#rows + 1] = row_of(name, nil, nil, exit_table)
		end
	end
	return rows
end

---M.registry as help prints it.
---@param exit_table? "standard"|"classic"
---@return {[1]: string, [2]: string}[]
function M.all(exit_table)
	return finish(M.registry(exit_table))
end

-- Names in the order in which they appear, each once.
local function names_of(command, settled)
	local names, seen = {}, { SUCCESS = true }
	local function add(name)
		if not seen[name] then
			names[#names + 1] = name
			seen[name] = true
		end
	end
	for _, name in ipairs(ALWAYS) do
		add(name)
	end
	if settled.timeout_ms > 0 or settled.attempt_timeout_ms > 0 or settled.idle_timeout_ms > 0 then
		add("TIMEOUT")
	end
	if command.raw then
		add("DELEGATED_EXIT")
	end
	if command.requires_person then
		add("PERSON_REQUIRED")
		add("ATTESTATION_MISMATCH")
	end
	for _, row in ipairs(command.exit_codes) do
		add(row.name)
	end
	for _, name in ipairs(settled.policy.on or {}) do
		add(name)
	end
	add("CANCELLED")
	return names
end

local usual = {} ---@type table<string, runner.ExitRow[]> of commands that declare none of their own, by the names

---Those that apply to a command: the common ones, its own, and those it retries on.
---@param command table normal form
---@param settled table from settings.settle
---@param exit_table? "standard"|"classic" the same in every call
---@return runner.ExitRow[] rows in no order
function M.rows(command, settled, exit_table)
	local rows, described, names = {}, {}, names_of(command, settled)
	local key = not command.exit_codes[1] and table.concat(names, " ")
	if usual[key] then
		return usual[key]
	end
	for _, row in ipairs(command.exit_codes) do
		described[row.name] = row.description
	end
	for i, name in ipairs(names) do
		rows[i] = row_of(name, described[name], command.exit_codes, exit_table)
	end
	if key then
		usual[key] = rows
	end
	return rows
end

---M.rows as help prints them.
---@param command table normal form
---@param settled table from settings.settle
---@param exit_table? "standard"|"classic"
---@return {[1]: string, [2]: string}[]
function M.of_command(command, settled, exit_table)
	return finish(M.rows(command, settled, exit_table))
end

return M
