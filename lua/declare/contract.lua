-- contract: the keys of a declaration that few commands have, and runner's rare flags: those
-- that only a declaration switches on, and those that few calls use. The rows are in
-- lua/declare/contract/, a module for each subject. Loaded when a declaration has such a
-- key, when a flag is met that nothing else knows, for an argument's name in a command that
-- is not safe, and for help, completion and the reference; a plain run never loads it.

local flags = require "runner.declare.flags"
local tables = require "runner.core.tables"

local M = {}

---@class runner.KeyRow a key of a declaration
---@field accept fun(v: any): any the normal form, nil to refuse it (lua/core/rules.lua)
---@field expected string what to write, for the message: "true or false"
---@field check? fun(n: table, fault: runner.KeyFault) rules between keys, on the normal form
---@field manifest string where an agent reads it: "entry" (a member of the manifest's entry), "schema" (only of CMD --schema), "none"

---@alias runner.KeyFault fun(found: string, fix: string, key?: string) a clause, a sentence, and the key where it isn't the row's own

---@class runner.Subject what a module of lua/declare/contract/ returns
---@field keys table<string, runner.KeyRow>
---@field flags runner.FlagRow[] `when` is a key (not false), "key=value" (or the type of one of its rows), "mutating" or "destructive"

-- Which module has the rows of a key or a flag, so that no more than needed is loaded; flags in the order of help.
-- generated: subjects
local INDEX = [[
caller: cwd choose config context no_config policy subject plain width auth headless_supported token_env_vars requires_editor
caller: non_interactive_alternatives gui_operations headless_behavior headless token_env_var aliases introduced_in deprecated_in replacement
caller: removed_in platform primary_id_field required_tools mcp schema show_config output_schema
input: stdin requires option_placement arguments help_argv stdout protocol raw_payload input_file validate_only
run: async interruption detach budget
answer: rows truncates list default_limit max_bytes limit cursor sort fields
caller: has_network_io connect_timeout proxy no_proxy keywords
answer: unmask meta stable_output no_injection_protection
effects: requires_person dry_run confirm_destructive safe_default live idempotency_key confine preserve_locale subprocess stderr
run: resumable rollback resume_from rollback_on_failure
answer: streams rows_may_repeat stream heartbeat_ms heartbeat_interval
run: needs parallel sources generates breaker rate hosts rebuild
answer: token_limit token_offset token_count tokenizer
effects: config_write_scope filesystem_side_effects spawns_background_process cleanup_command max_lifetime_seconds global no_cache cache_ttl
answer: older_versions schema_version
task: task shell program interpreter env quiet output status confirm
]]
-- end

M.names = {} ---@type string[] of all of them, in that order
M.subject_of = {} ---@type table<string, string> name → module

for subject, names in INDEX:gmatch "(%w+): ([^\n]+)" do
	for name in names:gmatch "%S+" do
		M.names[#M.names + 1], M.subject_of[name] = name, subject
	end
end

---@param subject string
---@return runner.Subject
local function load_subject(subject)
	local module = require("runner.declare.contract." .. subject)
	if not module.by_flag then
		module.by_flag = {}
		for _, row in ipairs(module.flags) do
			row.flag, row.rare = flags.spelling(row.name), true
			module.by_flag[row.flag] = row
		end
	end
	return module
end

-- --- keys -----------------------------------------------------------------------------

---The row of a key of a declaration, nil: there is none.
---@param key any
---@return runner.KeyRow?
function M.key(key)
	local subject = M.subject_of[key]
	return subject and load_subject(subject).keys[key]
end

---All keys, sorted.
---@return string[]
function M.keys()
	local out = {}
	for _, name in ipairs(M.names) do
		out[#out + 1] = M.key(name) and name
	end
	table.sort(out)
	return out
end

---Check the rules between keys.
---@param n table what is left of the declaration, normalised
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
function M.check(n, report)
	for _, key in ipairs(tables.sorted_keys(n)) do
		local row = M.key(key)
		if row and row.check then
			row.check(n, function(found, fix, other)
				report("command", nil, other or key, "contract", { found, fix })
			end)
		end
	end
end

-- --- flags -------------------------------------------------------------------------------

-- "key=value": the key has that value, or one of its rows has that type.
local function has_value(command, key, value)
	for _, row in ipairs(type(command[key]) == "table" and command[key] or {}) do
		if row.type == value then
			return true
		end
	end
	return command[key] == value
end

---Does the declaration switch this on?
---@param row runner.FlagRow
---@param command? table normal form; nil: any command might
---@return boolean
function M.holds(row, command)
	if not row.when or not command then
		return true
	elseif row.when == "mutating" then
		return command.danger_level == "mutating" or command.danger_level == "destructive"
	end
	local key, value = row.when:match "^([^=]+)=(.+)$"
	if key then
		return has_value(command, key, value)
	end
	for condition in row.when:gmatch "%S+" do
		if condition == command.danger_level or (command[condition] or false) ~= false then
			return true
		end
	end
	return false
end

---Does the command list this flag among its own?
---@param row runner.FlagRow
---@param command table normal form
---@return boolean
function M.belongs(row, command)
	return row.when ~= nil or row.listed ~= nil and (command[row.listed] or false) ~= false
end

local SHORT = { ["-C"] = "cwd", ["-n"] = "dry-run" } -- with the dash, which no long one has

---A rare flag by its spelling, `--no-` forms and `--runner-NAME` for any flag included.
---@param spelling string "proxy", "runner-format"
---@param command? table normal form, whose flags count; nil: those of any command
---@param in_front? boolean did it stand in front of the command's name?
---@return runner.FlagRow? row, boolean? negated
function M.find(spelling, command, in_front)
	spelling = SHORT[spelling] or spelling
	local plain = spelling:match "^runner%-(.+)$"
	if plain then
		local row, negated = flags.find(plain)
		if row then
			return row, negated
		end
	end
	plain = plain or spelling
	plain = plain == "print-schema" and "schema" or plain -- as the CLI Agent Spec calls it, too
	local name = plain:gsub("%-", "_")
	local subject = M.subject_of[name] or M.subject_of[name:gsub("^no_", "")]
	local row, negated = flags.find_in(subject and load_subject(subject).by_flag or {}, plain)
	if row and M.holds(row, command) and (in_front or not command or not row.front) then
		return row, negated
	end
	return command and command.secrets and require("runner.declare.rare_arguments").find_secret(command, plain) or nil
end

---The flag of runner's own that this declaration switches on under a spelling.
---@param spelling string
---@param command table
---@return runner.FlagRow?
function M.switched_on(spelling, command)
	local row = M.find(spelling, command)
	return row and row.when and row or nil
end

local rare ---@type runner.FlagRow[] of all subjects

local function rare_rows()
	rare = rare or {}
	for _, name in ipairs(rare[1] and {} or M.names) do
		rare[#rare + 1] = load_subject(M.subject_of[name]).by_flag[flags.spelling(name)]
	end
	return rare
end

---Runner's own flags: of a command; without one, those that every command takes.
---@param command? table normal form
---@param all? boolean those that a declaration switches on, too
---@return runner.FlagRow[]
function M.rows(command, all)
	local rows = table.move(flags.rows, 1, #flags.rows, 1, {})
	for _, row in ipairs(rare_rows()) do
		if all or not row.when or command and M.holds(row, command) then
			rows[#rows + 1] = row
		end
	end
	local own = command and command.secrets and require("runner.declare.rare_arguments").secret_rows(command) or {}
	return table.move(own, 1, #own, #rows + 1, rows)
end

return M
