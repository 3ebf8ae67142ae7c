-- references: the `${…}` and `$NAME` of a prodigy text → ours, by the table of variables (keys.lua), and its filters and orders. What
-- has no equivalent becomes a variable of `vars`, which the caller gives, so that a run can't go on without it.

local command_line = require "runner.core.command_line"
local condition = require "runner.workflow.expr.condition"
local json = require "runner.json"
local keys = require "runner.workflow.import.keys"
local variables = require "runner.workflow.expr.variables"

local M = {}

---@class runner.workflow.ImportPlace where a text is: a step on its way
---@field node runner.yaml.Node
---@field rename? fun(name: string): string? what a name means in a handler
---@field before table[] steps that it needs before it

-- --- names ---------------------------------------------------------------------------------

local function simple(name)
	name = name:gsub("[^%w_]+", "_"):gsub("^_+", ""):gsub("^%d", "_%0")
	return (variables.groups[name] or variables.loop[name] or variables.guarded[name] or name == "") and name .. "_value" or name
end

---A name that nothing else has.
---@param s runner.workflow.Import
---@param base string
---@return string
function M.new_id(s, base)
	base = simple(base)
	local name, n = base, 1
	while s.ids[name] do
		n = n + 1
		name = ("%s_%d"):format(base, n)
	end
	s.ids[name] = true
	return name
end

---The id of a step, which gets one.
function M.id_of(s, step, base)
	step.out.id = step.out.id or M.new_id(s, base)
	return step.out.id
end

-- --- one reference --------------------------------------------------------------------------------

local function declare(s, name, default)
	if s.vars[name] == nil then
		s.vars[name] = default == nil and json.null or default
	end
	return "${" .. name .. "}"
end

-- What has no equivalent.
local function given(s, place, source, name, default)
	local ours = simple(name)
	if s.vars[ours] == nil then
		local row = keys.named_variables[name] or keys.named_variables[(name:match "^[^.]+" or name) .. ".*"]
		s:note(place.node, source, ("%s; it is the variable %s now%s"):format(row and row[3] or "nothing sets it here", ours,
			default and "" or ", which --var gives"))
	end
	return declare(s, ours, default)
end

local MEMBERS = { success = "ok", exit_code = "status", stdout = "output", output = "output", stderr = false, duration = false }

local OF_GIT = {
	files_added = "diff --name-only --diff-filter=A FROM HEAD", files_modified = "diff --name-only --diff-filter=M FROM HEAD",
	files_deleted = "diff --name-only --diff-filter=D FROM HEAD", files_changed = "diff --name-only FROM HEAD",
	commits = "log --format=%H FROM..HEAD",
}

-- What git knows is captured by a step before.
local function of_git(s, place, name, pattern)
	local since, what = name:match "^(%a+)%.([%a_]+)$"
	if since ~= "step" and since ~= "workflow" or not OF_GIT[what] then
		return nil
	end
	local captured = M.new_id(s, since == "step" and what or "workflow_" .. what)
	s.needs_start = s.needs_start or since == "workflow"
	table.insert(place.before, { capture_output = captured, shell = "git " .. OF_GIT[what]:gsub("FROM", since == "step" and "HEAD~1"
		or "${start_commit}") .. (pattern and " -- " .. command_line.quoted(pattern) or "") })
	return captured
end

-- Ours for a name of theirs; nil: there is none.
local function path_of(s, place, name, pattern)
	local head, rest = name:match "^([^.]+)%.?(.*)$"
	local row, known = keys.named_variables[name], place.rename and place.rename(name) or of_git(s, place, name, pattern)
	if known or head == "item" or head == "env" then
		return known or name
	elseif s.captured[head] then
		local member = rest ~= "" and (MEMBERS[rest] or "data." .. rest)
		if MEMBERS[rest] == false then
			return nil
		end
		return member and ("steps.%s.%s"):format(M.id_of(s, s.captured[head], head), member) or head
	end
	return s.declared[name] or row and not row.special and row[2] or s.vars[name] ~= nil and name or nil
end

-- Every environment has these, and a prompt that names one means it.
local EVERYWHERE = { HOME = true, PATH = true, PWD = true, SHELL = true, USER = true }

-- Is it left as it is? In a shell a name without a dot is its own, unless it is one of ours; in a prompt nothing sets lower case.
local function is_left(s, place, body, is_bare)
	local head, after = body:match "^([%a_][%w_]*)(.?)"
	if head and (s.captured[head] or s.vars[head] ~= nil and not s.env[head] or head == "ARG") then
		return false
	elseif place.in_shell then
		return is_bare or not head or after ~= "." and not body:find "^env:" and head ~= "item"
			and not (after == "" and keys.named_variables[head])
	end
	return is_bare and not s.env[head] and (EVERYWHERE[head] or not head:find "^%u[%u%d_]+$")
end

-- A name, with name:-default, name|default:x or name:pattern.
local function meant(s, place, source, body)
	local name, rest = body:gsub("^env:", "env."):match "^([%w_.%-%[%]]+)(.*)$"
	if not name then
		return given(s, place, source, body)
	end
	name = name:gsub("%[(%d+)%]", ".%1")
	if name == "item_id" then
		return "item_${item_index}"
	elseif not place.in_shell and s.env[name] then -- no shell reads it, so it is a variable, too
		s.root.env[name] = declare(s, name, s.env[name])
		return s.root.env[name]
	end
	local default, pattern = rest:match "^:%-(.*)$" or rest:match "^|default:(.*)$", rest:match "^:([^-].*)$"
	local ours = name == "ARG" and name or path_of(s, place, name, pattern)
	local is_kept = rest == "" or pattern and (name:find "^step%." or name:find "^workflow%.")
		or name == "ARG" and default and (s.vars.ARG or default) == default
	if ours and not is_kept then
		s:note(place.node, source, default and "a value has no default here: it has to be there" or "what follows its name is left out")
	end
	if name == "ARG" then
		return declare(s, name, default)
	end
	return ours and "${" .. ours .. "}" or given(s, place, source, name, default)
end

---A text of theirs as one of ours.
---@param s runner.workflow.Import
---@param text string
---@param place runner.workflow.ImportPlace
---@return string
function M.text(s, text, place)
	return (text:gsub("%$({?)([^}\n$]*)(}?)", function(open, body, close)
		local name, rest = body:match "^([%a_][%w_]*)(.*)$"
		if open == "" then
			local is_own = not name or text:find("%f[%w_]" .. name .. "=") or is_left(s, place, name, true)
			return not is_own and meant(s, place, "$" .. name, name) .. rest .. close or nil
		elseif close == "" then
			return not place.in_shell and "$${" .. body or nil
		end
		return not is_left(s, place, body) and meant(s, place, "${" .. body .. "}", body) or nil
	end))
end

-- --- filters and orders ---------------------------------------------------------------------------

local WORDS = { ["and"] = "and", ["or"] = "or", ["not"] = "not", ["true"] = "true", ["false"] = "false", null = "null", item = "item",
	["@"] = "item" }

---A filter over items as a `where`: its names are members of the item.
---@param text string
---@return string? where nil: it can't be said
function M.filter(text)
	local quoted, at = {}, 0
	local where = text:gsub("(['\"])(.-)%1", function(mark, body)
		quoted[#quoted + 1] = mark .. body .. mark
		return "\1"
	end):gsub("%f[%w_@$][%a_@$][%w_.%[%]-]*", function(word)
		return WORDS[word:lower()] or "item." .. word:gsub("^[@$]%.", ""):gsub("^item%.", ""):gsub("%[(%d+)%]", ".%1")
	end):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""):gsub("\1", function()
		at = at + 1
		return quoted[at]
	end)
	return condition.parse(where) and where or nil
end

---The members of `sort`: "File.score DESC NULLS LAST, id".
---@param text string
---@return string[]
function M.order(text)
	local rows = {}
	for part in text:gmatch "[^,]+" do
		local path, rest = part:match "^%s*(%S*)%s*(.*)$"
		rows[#rows + 1] = "item." .. path:gsub("^item%.", "") .. (rest:upper():find "^DESC" and " desc" or "")
	end
	return rows
end

return M
