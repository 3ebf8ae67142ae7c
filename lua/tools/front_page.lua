-- front_page: what `runner` alone shows: the project, its commands in groups, the names of the built-in
-- ones, and where everything else is. Pure.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local help = require "runner.tools.help"
local layout = require "runner.output.layout"
local tool = require "runner.core.tool"

local M = {}

local MANY = 40 -- commands, from which on a group is one line

local function title(project)
	local own = tool.own() or project
	local name = own.name or "runner"
	local version = own.version or not own.name and attempt.launch.version or nil
	return version and ("%s %s"):format(name, version) or name
end

-- Commands whose names begin with the same word, in the order of the rows; the others alone.
local function grouped(rows)
	local single, groups, by_word = {}, {}, {}
	for _, row in ipairs(rows) do
		local word = row.name:match "^(%S+) "
		if not word then
			single[#single + 1] = row
		else
			if not by_word[word] then
				by_word[word] = { word = word }
				groups[#groups + 1] = by_word[word]
			end
			table.insert(by_word[word], row)
		end
	end
	return single, groups
end

local function list_of_groups(groups)
	local rows = {}
	for i, group in ipairs(groups) do
		rows[i] = { name = group.word, description = ("%d command%s"):format(#group, #group == 1 and "" or "s") }
	end
	return rows
end

---Tasks in the order of their file, others by name.
---@param rows runner.CommandRow[]
---@return runner.CommandRow[] rows the same list
function M.in_order(rows)
	table.sort(rows, function(a, b)
		if a.order ~= b.order then
			return (a.order or 0) < (b.order or 0)
		end
		return a.name < b.name
	end)
	return rows
end

-- Those without a section, then each section.
local function in_sections(rows, width)
	local sections, by_title = {}, {}
	for _, row in ipairs(M.in_order(rows)) do
		local name = row.section or "Commands"
		if not by_title[name] then
			by_title[name] = { name = name }
			table.insert(sections, row.section and #sections + 1 or 1, by_title[name])
		end
		table.insert(by_title[name], row)
	end
	local out = {}
	for i, section in ipairs(sections) do
		out[i] = help.commands(section, width, section.name)
	end
	return table.concat(out)
end

local function own_commands(own, width)
	if not own[1] then
		return "\nCommands:\n  none yet; create one with 'runner new hello'\n"
	end
	local single, groups = grouped(own)
	local out = { in_sections(single, width) }
	if #own >= MANY then
		out[2] = groups[1] and help.commands(list_of_groups(groups), width, "Groups") or ""
	else
		for _, group in ipairs(groups) do
			out[#out + 1] = help.commands(M.in_order(group), width, group.word)
		end
	end
	return table.concat(out)
end

-- "audit …" for a group.
local function builtin_names(builtin, width)
	local names, seen = {}, {}
	for _, row in ipairs(builtin) do
		local word, more = row.name:match "^(%S+)(.*)$"
		if not seen[word] then
			names[#names + 1] = more ~= "" and command_line.typed(word) .. "\u{A0}…" or word
			seen[word] = true
		end
	end
	return "\nBuilt-in commands:\n" .. layout.paragraph(table.concat(names, ", "), width, 2):gsub("\u{A0}", " ")
end

---@param own runner.CommandRow[] of the project and the other folders
---@param builtin runner.CommandRow[]
---@param about {width: integer, project: table, note?: string, topics: string[], aliases?: runner.CommandRow[]} `note`: what
---  is to be said of the list
---@return string
function M.text(own, builtin, about)
	local project, width = about.project, about.width
	local problem = project.problem and help.of_problem(project.problem) or about.note
	return title(project) .. "\n"
		.. (project.description and layout.paragraph(project.description, width) or "")
		.. "\nUsage:\n  runner <command> [arguments] [options]\n"
		.. (problem and "\n" .. layout.paragraph(problem, width) or "")
		.. own_commands(own, width)
		.. help.commands(about.aliases or {}, width, "Aliases")
		.. builtin_names(builtin, width)
		.. "\nHelp:\n" .. layout.columns({
			{ "runner help <command>", "describes one command, or a group" },
			{ "runner help <topic>", "topics: " .. table.concat(about.topics, ", ") },
			{ "runner --help", "everything on one page" },
		}, width)
end

return M
