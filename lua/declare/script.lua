-- script: the script of a command (lua/declare/tasks.lua) as a text: without the blanks in front of its lines, and where it stands
-- in the file.

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
	return at and 1 + select(2, source:sub(1, at - 1):gsub("\n", ""))
end

return M
