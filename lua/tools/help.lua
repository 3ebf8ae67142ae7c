-- help: the text of help: the overview, a group, one command. Pure, but for the functions
-- of a declaration, which it calls with the project's config. lua/commands/help.lua
-- decides on the width and where the text goes.

local arg_errors = require "runner.declare.arg_errors"
local arg_words = require "runner.declare.arg_words"
local contract = require "runner.declare.contract"
local environment = require "runner.declare.environment"
local help_exit_codes = require "runner.tools.help_exit_codes"
local flags = require "runner.declare.flags"
local host = require "runner.host"
local computed = require "runner.declare.computed"
local layout = require "runner.output.layout"

local M = {}

local SHORT_FLAGS = "Every command also takes runner's own flags: "

local function section(title, body)
	return body ~= "" and ("\n%s:\n%s"):format(title, body) or ""
end

local function columns(title, rows, width)
	return section(title, layout.columns(rows, width))
end

-- --- one argument -------------------------------------------------------------------

local function listed(list)
	local texts = {}
	for i, v in ipairs(list) do
		texts[i] = tostring(v)
	end
	return table.concat(texts, ", ")
end

-- A declaration's own functions may fail; help must not.
local function values_text(row, config)
	local ok, list = pcall(computed.listed, row, config)
	if not ok or not list then
		return "one of the values the project configures"
	end
	return list[1] and "one of " .. listed(list) or "no values are configured"
end

-- Is the placeholder of the option enough? <duration>, <path> …
local function is_plain(row)
	return not (row.positional or row.values or row.pattern or row.min or row.max or row.min_length
		or row.max_length or row.type == "array")
end

-- How many items an array takes.
local function how_many(row)
	local least, most = row.min_length, row.max_length
	local count = least and most and ("%d to %d"):format(least, most) or least and least .. " or more"
		or most and "up to " .. most
	return row.variadic and (count or "any number") or count and "repeatable, " .. count or "repeatable"
end

local function type_text(row, config)
	local text = row.values and values_text(row, config) or arg_errors.expected(row)
	if row.type == "array" then
		text = text .. "; " .. how_many(row)
	end
	return text
end

local function duration_text(v)
	return type(v) == "number" and host.duration_text(require("runner.core.rules").milliseconds(v)) or tostring(v)
end

local function default_text(row, config)
	local v = row.default
	if row.default_key then
		return flags.default(row)
	end
	if type(v) == "boolean" then
		return nil -- its spelling shows it: --no-verify
	elseif type(v) == "function" then
		local ok, made = pcall(v, config)
		v = ok and made
		if not v then
			return "computed"
		end
	end
	if type(v) == "table" then
		return v[1] ~= nil and listed(v) or nil
	end
	return v ~= nil and v ~= "" and (row.type == "duration" and duration_text(v) or tostring(v)) or nil
end

local function facts(row, config)
	local out = {}
	if row.type ~= "boolean" and not is_plain(row) then
		out[1] = type_text(row, config)
	end
	local default = default_text(row, config)
	if row.required then
		out[#out + 1] = "required"
	elseif default and default ~= "none" then
		out[#out + 1] = "default " .. default
	end
	local variables = arg_words.variables(row)
	if variables[1] then
		out[#out + 1] = "from $" .. table.concat(variables, ", else $")
	end
	if row.pipe_compatible then
		out[#out + 1] = row.type == "array" and "-: each line of stdin" or "-: the line on stdin"
	end
	return table.concat(out, "; ")
end

local function meaning(row, config)
	local detail = facts(row, config)
	if not row.description then
		return detail
	end
	return detail ~= "" and ("%s\n(%s)"):format(row.description, detail) or row.description
end

local function option_term(row)
	local spelt = "--" .. row.flag
	if row.type == "boolean" then
		spelt = row.default == true and "--no-" .. row.flag or spelt
	else
		spelt = spelt .. " " .. arg_words.placeholder(row)
	end
	return (row.short and "-" .. row.short .. ", " or "    ") .. spelt
end

-- --- one command --------------------------------------------------------------------

M.usage = arg_words.usage

local function arguments(command, config, width)
	local rows = { positional = {}, option = {} }
	arg_words.each_kind(command.args, function(row, kind)
		local term = kind == "positional" and row.flag or option_term(row)
		table.insert(rows[kind], { term, meaning(row, config) })
	end)
	for _, row in ipairs(contract.rows(command)) do
		if contract.belongs(row, command) then
			table.insert(rows.option, { option_term(row), meaning(row, config) })
		end
	end
	return columns("Arguments", rows.positional, width) .. columns("Options", rows.option, width)
end

local SOURCES = { command = "this command", default = "the default", environment = "the environment" }

local function limits(settled, width)
	local rows = {}
	for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
		local ms, source = settled[name .. "_ms"], settled.sources[name]
		if ms > 0 or source ~= "default" then
			rows[#rows + 1] = { flags.spelling(name), ("%s, from %s"):format(ms > 0 and host.duration_text(ms) or "none",
				SOURCES[source] or source) }
		end
	end
	return columns("Limits", rows, width)
end

local function retry_text(p)
	if p.retries == 0 then
		return "None; --retries N allows some."
	end
	local text = ("%s, %s delay from %s up to %s"):format(
		p.retries > 0 and ("Up to %d retries"):format(p.retries) or "Until the timeout", p.strategy,
		host.duration_text(p.delays[1] or p.delay_ms), host.duration_text(p.max_delay_ms))
	if p.jitter ~= "none" then
		text = text .. (p.jitter == "factor" and (", jitter ±%d%%"):format(p.jitter_ppm // 10000)
			or (", %s jitter"):format(p.jitter))
	end
	return ("%s, on %s. Run with --plan to see every delay."):format(text,
		p.on and listed(p.on) or "any retryable failure without side effects")
end

local function examples(command, width)
	local out = {}
	for i, example in ipairs(command.examples or {}) do
		out[i] = (example.description and layout.paragraph("# " .. example.description, width, 2) or "")
			.. ("  %s\n"):format(example.command)
	end
	return section("Examples", table.concat(out))
end

-- An argument may have the name of one: then the other spelling reaches it.
local function short_flags(command, width)
	local names, taken = {}, {}
	for _, row in ipairs(command.args) do
		taken[row.flag] = true
	end
	for i, row in ipairs(contract.rows()) do
		names[i] = (taken[row.flag] and "--runner-" or "--") .. row.flag
	end
	return "\n" .. layout.paragraph(SHORT_FLAGS .. table.concat(names, " ")
		.. ". 'runner help flags' describes them.", width)
end

local DANGER = { safe = "Safe: changes nothing.", mutating = "Mutating: changes things.",
	destructive = "Destructive: can destroy things." }

local BOUNDS = {
	{ "read", "reads only what programs need, and below %s", "reads only what programs need" },
	{ "write", "writes only below %s", "writes only temporary files" },
}

local function network(v)
	if not v then
		return v == false and "has no network" or nil
	end
	local ports = v.ports and ("port%s %s"):format(v.ports[2] and "s" or "", listed(v.ports)) or nil
	return v.hosts and ("connects by ctx:http only, to %s%s"):format(listed(v.hosts), ports and " on " .. ports or "")
		or ("connects only to %s%s"):format(ports, v.udp and ", and by UDP" or "")
end

local function confinement(confine)
	local out = {}
	for _, row in ipairs(BOUNDS) do
		local paths = confine[row[1]]
		out[#out + 1] = paths and (paths[1] and row[2]:format(listed(paths)) or row[3]) or nil
	end
	out[#out + 1] = network(confine.network)
	local kept = confine.capabilities
	out[#out + 1] = kept and (kept[1] and "keeps of root's capabilities " .. listed(kept) or "keeps none of root's capabilities") or nil
	return ("It %s%s."):format(table.concat(out, ", "), confine.required and "" or ", where the kernel can hold that")
end

---Help of one command.
---@param command table normal form
---@param about {settled: table, config: table, exit_table?: string, width: integer, below: runner.CommandRow[]}
---@return string
function M.command(command, about)
	local width = about.width
	local scopes = command.required_scopes or {}
	return layout.paragraph(command.description, width)
		.. layout.paragraph(DANGER[command.danger_level], width)
		.. section("Usage", layout.paragraph(M.usage(command), width, 2))
		.. section("Aliases", command.aliases and "  " .. table.concat(command.aliases, ", ") .. "\n" or "")
		.. arguments(command, about.config, width)
		.. (about.below[1] and M.commands(about.below, width) or "")
		.. section("Steps", command.steps and layout.paragraph(table.concat(command.steps, " → "), width, 2) or "")
		.. limits(about.settled, width)
		.. section("Retries", layout.paragraph(retry_text(about.settled.policy), width, 2))
		.. columns("Exit codes", help_exit_codes.of_command(command, about.settled, about.exit_table), width)
		.. section("Confined", command.confine and layout.paragraph(confinement(command.confine), width, 2) or "")
		.. section("Scopes", scopes[1] and layout.paragraph(listed(scopes), width, 2) or "")
		.. examples(command, width)
		.. short_flags(command, width)
end

-- --- many commands --------------------------------------------------------------------

---What is said of a command whose file was not read.
---@param row runner.CommandRow
---@return string
function M.unread(row)
	return ("(not read: %s)"):format(row.unread)
end

---The section that lists commands.
---@param rows runner.CommandRow[]
---@param width integer
---@param title? string
---@return string
function M.commands(rows, width, title)
	local lines = {}
	for i, row in ipairs(rows) do
		lines[i] = { row.name, row.broken and ("(broken: run 'runner lint %s')"):format(row.name)
			or row.unread and M.unread(row) or row.description or "" }
	end
	return columns(title or "Commands", lines, width)
end

---What is said of a runner.lua, or tasks.lua, that has a problem.
---@param problem runner.Error
---@return string
function M.of_problem(problem)
	local path = type(problem.context) == "table" and problem.context.path
	return (problem.unread and "" or (path and path:match "[^/]*$" or "runner.lua") .. " is invalid: ") .. problem.message
end

---Help of a group.
---@param name string words separated by spaces
---@param rows runner.CommandRow[] below it
---@param width integer
---@return string
function M.group(name, rows, width)
	return ("Usage:\n  runner %s <command>\n"):format(name) .. M.commands(rows, width)
		.. ("\nRun 'runner help %s <command>' for details.\n"):format(name)
end

local function flag_rows(title)
	local rows = {}
	for _, row in ipairs(contract.rows()) do
		if row.section == title then
			rows[#rows + 1] = { option_term(row), meaning(row, {}) }
		end
	end
	return rows
end

---Runner's own flags, a section for each subject.
---@param width integer
---@return string
function M.flags(width)
	local out, seen = {}, {}
	for _, row in ipairs(contract.rows()) do
		if not seen[row.section] then
			seen[row.section] = true
			out[#out + 1] = columns(row.section .. " (any command)", flag_rows(row.section), width)
		end
	end
	return table.concat(out)
end

local function environment_rows()
	local rows = {}
	for i, row in ipairs(environment.rows) do
		rows[i] = { row.name, row.description }
	end
	return rows
end

---Everything on one page.
---@param own runner.CommandRow[] of the project and the other folders
---@param builtin runner.CommandRow[]
---@param about {width: integer, exit_table?: string, project: table, aliases?: runner.CommandRow[]}
---@return string
function M.overview(own, builtin, about)
	local width, problem = about.width, about.project.problem
	local none = "  none yet; create one with 'runner new hello'\n"
	return "Usage:\n  runner <command> [arguments] [options]\n"
		.. (problem and "\n" .. layout.paragraph(M.of_problem(problem), width) or "")
		.. (own[1] and M.commands(own, width) or section("Commands", none))
		.. M.commands(about.aliases or {}, width, "Aliases")
		.. M.commands(builtin, width, "Built-in commands")
		.. M.flags(width)
		.. columns("Environment", environment_rows(), width)
		.. columns("Exit codes", help_exit_codes.all(about.exit_table), width)
		.. "\nRun 'runner help <command>' for details.\n"
end

return M
