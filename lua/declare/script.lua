-- script: the script of a command (lua/declare/tasks.lua) as a text: without the blanks in front of its lines, and where it stands
-- in the file.

local host = require "runner.host"

local M = {}

-- Where a text stands between quotes, with what is in front of them; nil: nowhere, or more than once.
local function only_place(source, script, from, to, before)
	local found
	local at = source:find(script, from, true)
	while at and at + #script - 1 <= to do
		if source:find("^[\"'%]]", at + #script) and source:sub(math.max(at - 80, 1), at - 1):find(before .. "[\"'%[]\n?$") then
			if found then
				return nil
			end
			found = at
		end
		at = source:find(script, at + 1, true)
	end
	return found
end

---A script without the blanks that all of its lines begin with.
---@param script string
---@return string
function M.dedented(script)
	local common
	for blanks in ("\n" .. script):gmatch "\n([ \t]*)%f[^ \t\n]" do
		while common and blanks:sub(1, #common) ~= common do
			common = common:sub(1, -2)
		end
		common = common or blanks
	end
	return ((("\n" .. script):gsub("\n" .. (common or ""), "\n")):sub(2))
end

---The line of the file on which a script begins; nil: it is not there as it is, or it can't be told which of several it is.
---@param source string text of the file
---@param script string
---@param found runner.Found the command whose script it is
---@return integer?
function M.line_of(source, script, found)
	local at = only_place(source, script, 1, #source, "")
	if not at and source:find(script, 1, true) and found.task then
		local place = require("runner.declare.task_text").places(source, found.group)[found.name]
		at = place and only_place(source, script, place.first, place.last, "shell%s*=%s*%[?=*")
	end
	return at and 1 + host.lines(source, at)
end

-- --- which of its commands has failed --------------------------------------------------------------

-- Words of a shell that begin or end what goes over several lines, or that change what a failure is.
local SHELL = require("runner.core.tables").set("if for while until case do then else elif done fi esac function trap set exec eval source "
	.. "return alias")

-- A line that the shell does without a program, and that hardly fails.
local function is_harmless(text)
	return text == "" or text == "true" or text == ":" or text:find "^#" ~= nil
		or text:find "^echo%f[%s]" ~= nil and not text:find "[`<>|;&(\\]" and not text:find "%${"
end

-- Is a line more than a command of its own?
local function is_odd(text)
	for word in text:gmatch "%a+" do
		if SHELL[word] then
			return true
		end
	end
	return text:find "[\"'\\]" or text:find "[|&({]$" or text:find "^[{}(!)]" or text:find "^%.%s" or text:find "%(%)" or text:find "<<"
end

-- The commands of a script of /bin/sh -e that may fail, each a line; nil where it has anything else.
local function commands_of(script)
	local out, number = {}, 0
	for line in (script .. "\n"):gmatch "([^\n]*)\n" do
		local text = line:gsub("^%s+", ""):gsub("%s+$", "")
		local plain = text:gsub("([\"']).-%1", "_")
		number = number + 1
		if plain:find "[\"'\\]" or not is_harmless(text) and is_odd(plain) then
			return nil
		end
		out[#out + 1] = not is_harmless(text) and { line = number, text = text } or nil
	end
	return out
end

---The command that has ended a script of /bin/sh -e, where it can be no other.
---@param script string
---@return {line: integer, text: string}? nil: it may be several
function M.only_command(script)
	local list = commands_of(script)
	return list and #list == 1 and #list[1].text <= 80 and list[1] or nil
end

local PLAIN = "^([%w_.+-]+)%f[%s%z]"

---The first program of a script that isn't there.
---@param script string
---@param is_known fun(name: string): boolean
---@return {line: integer, text: string}?
function M.absent_program(script, is_known)
	for _, command in ipairs(commands_of(script) or {}) do
		local name = not command.text:find "[|;&]" and command.text:match(PLAIN)
		if not name then
			return nil
		elseif not is_known(name) then
			return { line = command.line, text = name }
		end
	end
end

return M
