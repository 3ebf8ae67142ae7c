-- requirements: whether a call has what its command declares that it needs: a token to sign in
-- with where no person can open a browser, a person for an editor. Loaded for commands that
-- declare such a thing (lua/declare/contract/caller.lua), by ctx:edit and ctx:open_url, and where something is
-- drawn: for some people nothing may be.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"

local M = {}

local function refused(code, message, fix, fields)
	fields.phase, fields.side_effects, fields.fix_required, fields.suggestion = "validation", "none", fix, fix
	return errors.new(code, message, fields)
end

-- --- signing in -------------------------------------------------------------------------------

local function variables(command, framework)
	return framework.token_env_var and { framework.token_env_var } or command.token_env_vars or {}
end

---The token of a command that signs in, from the first variable that is set.
---@param command table normal form
---@param framework table
---@return string?
function M.token(command, framework)
	for _, name in ipairs(variables(command, framework)) do
		local text = os.getenv(name)
		if text and text ~= "" then
			return text
		end
	end
end

---Must it sign in without a browser?
---@return boolean
function M.is_headless()
	return attempt.framework.headless or not attempt.launch.person
end

---Does the caller want a plain line for each change, for a screen reader? (--plain sets the variable, too.)
---@return boolean
function M.is_plain()
	local value = os.getenv "RUNNER_PLAIN" or ""
	return value ~= "" and value ~= "0" and value ~= "false"
end

---Does a person see lines that move? As block_is_wanted of src/supervisor/block.h.
---@return boolean
function M.is_drawn()
	local launch, framework = attempt.launch, attempt.framework
	return launch.stderr_is_tty and not (launch.in_lines or launch.no_color) and os.getenv "TERM" ~= nil and not framework.no_color
		and not framework.quiet
end

-- A command that knows a way of its own needs no variable, unless the caller named one.
local function needs_token(command, framework)
	return framework.token_env_var or M.is_headless() and (not command.headless_supported or command.token_env_vars)
end

local function check_token(command, framework)
	if attempt.token or not needs_token(command, framework) then
		return nil
	end
	local methods, names = {}, variables(command, framework)
	for i, name in ipairs(names) do
		methods[i] = { type = "env_var", name = name, hint = ("Set %s to a token"):format(name) }
	end
	return refused("NO_TTY", ("'%s' can't open a browser here, and %s not set"):format((command.name:gsub("%.", " ")),
		#names == 1 and names[1] .. " is" or table.concat(names, ", ") .. " are"),
		("Set %s to a token"):format(table.concat(names, " or ")), { auth_methods = methods })
end

-- --- editors ------------------------------------------------------------------------------------

-- The rows of the arguments that do without an editor.
local function alternatives(command)
	local out = {}
	for _, name in ipairs(command.non_interactive_alternatives or {}) do
		for _, row in ipairs(command.args) do
			if row.flag == name:gsub("_", "-") then
				out[#out + 1] = row
			end
		end
	end
	return out
end

---EDITOR_REQUIRED, with the arguments that do without one.
---@return runner.Error
function M.editor_required()
	local command, rows, names = attempt.command, {}, {}
	for i, row in ipairs(alternatives(command)) do
		names[i] = row.positional and row.flag or "--" .. row.flag
		rows[i] = { flag = names[i], description = row.description }
	end
	return refused("EDITOR_REQUIRED", ("'%s' needs an editor, and no person is at a terminal"):format((command.name:gsub("%.", " "))),
		names[1] and ("Give %s"):format(table.concat(names, " or ")) or "Run it at a terminal", { alternatives = rows })
end

local function check_editor(command, given)
	if not command.requires_editor or attempt.launch.person then
		return nil
	end
	for _, row in ipairs(alternatives(command)) do
		if given[row.name] then
			return nil
		end
	end
	return M.editor_required()
end

---What is missing for this call, if anything is.
---@param command table normal form
---@param parsed table from args.parse
---@return runner.Error?
function M.problem(command, parsed)
	return command.auth and check_token(command, parsed.framework) or check_editor(command, parsed.given)
end

return M
