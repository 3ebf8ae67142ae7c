-- tool_name: what a tool with a name of its own calls itself, in the place of `runner`: in help, completion,
-- errors and advice. That is a program that carries a project (lua/bundle/enter.lua), and runner itself where it
-- is started under the name of the project (lua/project/project.lua). What a command itself answers stays as it is.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local locate = require "runner.project.locate"
local tool = require "runner.core.tool"

local M = {}

local ADVICE = { "message", "suggestion", "fix_required", "fix_command" }

-- Is this what follows `runner` in a command line, and not in a sentence?
local function is_called(word)
	local project = attempt.project or {}
	return word:find "^[-<%[]" or word == "COMMAND" or word == locate.SELF or require("runner.project.builtins").names[word] ~= nil
		or attempt.project ~= nil and locate.find({ word }, project) ~= nil or (project.aliases or {})[word] ~= nil
end

-- Not behind a slash: a path is that of a program.
local function renamed(text, name)
	text = text:gsub("'runner'", "'" .. name:gsub("%%", "%%%%") .. "'")
	return (text:gsub("%f[%w/]runner (%S+)", function(word)
		if is_called(word:match "^[%w_-]+" or word) then
			return name .. " " .. word
		end
	end))
end

-- A completion script has the name in its functions, too.
local function in_script(text, name)
	return (text:gsub("_runner", "_" .. name:gsub("[^%w_]", "_")):gsub("runner", (name:gsub("%%", "%%%%"))))
end

-- Of completion, the script; the candidates for a word are words of commands.
local function renamed_text(text, name, found)
	if found.name ~= "completion" or attempt.information then
		return renamed(text, name)
	end
	return #attempt.parsed.values.words == 0 and in_script(text, name) or text
end

local function rename_advice(of, name)
	for _, key in ipairs(ADVICE) do
		of[key] = type(of[key]) == "string" and renamed(of[key], name) or of[key]
	end
end

-- The rows of an error are JSON by now.
local function renamed_rows(text, name)
	local rows = text:find("runner", 1, true) and json.decode(text)
	for _, row in ipairs(rows or {}) do
		rename_advice(row, name)
	end
	return rows and json.encode(json.array(rows), { envelope = true }) or text
end

local function rename_frame(frame, name)
	local found = attempt.found
	if found and not found.path and frame.text then
		frame.text = renamed_text(frame.text, name, found)
	end
	if frame.code and not frame.fix_required then
		frame.fix_required = (host.registry_code(frame.code) or {}).hint -- the supervisor would add it, and knows no name
	end
	rename_advice(frame, name)
	frame.errors = type(frame.errors) == "string" and renamed_rows(frame.errors, name) or frame.errors
end

local RENAMED = { TEXT = true, RESULT = true, WARN = true }

-- The pattern of meta.tool_version (docs/schema/envelope.json).
local function is_semantic(version)
	local rest = version:match "^%d+%.%d+%.%d+(.*)$"
	return rest and (rest == "" or rest:find "^[-+][^%c\x80-\xff]*$") and #version <= 64
end

---From now on, the program is called that.
---@param name string
---@param version? string of the project, for --version, and for meta.tool_version where it is a semantic one
---@param project? string the one that the program carries, by name
function M.as(name, version, project)
	local send = host.send
	host.send = function(kind, frame, more)
		if RENAMED[kind] then
			rename_frame(frame, name)
		end
		return send(kind, frame, more)
	end
	local told = version and is_semantic(version) and version or nil
	if told then
		send("META", { name = "tool_version", data = json.encode(told) }, true)
	end
	tool.become { name = name, version = version, told = told, project = project, says = function(text)
		return renamed(text, name)
	end }
end

---Take the name of the project, where the program was started under its name: the last part of argv[0], which is the caller's
---to choose, and decides nothing else. A name that is no plain word of a command line is none.
---@param project table runner.lua, normalised
function M.settle(project)
	local carries, called = host.bundle()
	local name = project.name
	if not tool.own() and not carries and called and name ~= "runner" and called:match "[^/]*$" == name and name:find "^[%w_][%w._+-]*$" then
		M.as(name, project.version)
	end
end

return M
