-- skill: the commands of a project as a skill of coding agents (agentskills.io): an index of at most M.INDEX_MAX bytes, which an agent
-- reads first, and a page for each group of commands, with two calls of each to copy.

local arg_words = require "runner.declare.arg_words"
local compact_help = require "runner.tools.compact_help"
local json = require "runner.json"
local tool = require "runner.core.tool"
local worked_calls = require "runner.tools.worked_calls"

local M = {}

M.INDEX_MAX = 1500
M.MARK = "runner generate-skills" -- in each file; one without it belongs to another author

local PAGE_MOST = 30 -- commands of a page
local REST = "_commands" -- the page of commands in no group; no group can have this name

-- What a caller types in front of a command's name.
local function program()
	return (tool.own() or {}).name or "runner"
end

-- --- pages ---------------------------------------------------------------------------------

---@class runner.SkillPage
---@field file string
---@field group? string the first word of its commands
---@field rows runner.CommandRow[] with `command`

-- Each group of several commands, by its first word; all others together, last.
local function groups_of(rows)
	local counts, groups, order = {}, {}, {}
	for _, row in ipairs(rows) do
		local word = row.name:match "^%S+"
		counts[word] = (counts[word] or 0) + 1
	end
	for _, row in ipairs(rows) do
		local word = row.name:match "^%S+"
		local key = counts[word] > 1 and word or REST
		if not groups[key] then
			groups[key], order[#order + 1] = {}, key
		end
		table.insert(groups[key], row)
	end
	table.sort(order, function(a, b)
		return (a == REST) ~= (b == REST) and b == REST or (a == REST) == (b == REST) and a < b
	end)
	return groups, order
end

---@param rows runner.CommandRow[] with `command`, sorted
---@return runner.SkillPage[]
function M.pages(rows)
	local out, groups, order = {}, groups_of(rows)
	for _, key in ipairs(order) do
		for first = 1, #groups[key], PAGE_MOST do
			local part = first > 1 and ".%d" or ""
			local name = key:lower() == "skill" and "_" .. key or key -- SKILL.md is the index, also where case is ignored
			out[#out + 1] = { file = name .. part:format(first // PAGE_MOST + 1) .. ".md", group = key ~= REST and key or nil,
				rows = table.move(groups[key], first, math.min(first + PAGE_MOST - 1, #groups[key]), 1, {}) }
		end
	end
	return out
end

-- --- a page ----------------------------------------------------------------------------------

-- What is said of a command, and how it is meant, once on its page.
local KINDS = {
	{ "person", " *Only a person.*", "*Only a person*: nothing else can call it, at a terminal; ask for that." },
	{ "live", " *Destroys, with `--live`.*", "*Destroys, with `--live`*: without it it says what it would do. Show that to a person first." },
	{ "destructive", " *Destroys.*",
		"*Destroys*: show a person what `--dry-run` says; once they agree, `--confirm-destructive` takes its place." },
	{ "mutating", " *Changes something.*",
		"*Changes something*: a dry run isn't needed first; where you are unsure of the arguments, `--dry-run` says what it would do." },
}

local function kind_of(command)
	local name = command.requires_person and "person" or command.safe_default and "live" or command.danger_level
	for _, kind in ipairs(KINDS) do
		if kind[1] == name then
			return kind
		end
	end
end

local function one_line(text)
	return (text:gsub("%s+", " "))
end

-- At the end of a word, where there is one.
local function cut(text, most)
	local stop = #text > most and utf8.offset(text, 0, most)
	return stop and text:sub(1, stop - 1):gsub("%s+%S*$", ""):gsub(",$", "") .. " …" or text
end

local function sentence(text)
	return text:find "[.!?:]$" and text or text .. "."
end

local NOUNS = { string = "text", boolean = "yes or no: the flag alone", integer = "whole number", array = "text" }

-- What is given for it, how often, and what holds without it.
local function argument_line(row, declared, config)
	local kind, default = declared.items or declared.type, row.default
	local about = { row.required and "**required**" or nil }
	about[#about + 1] = row.values and one_line("one of " .. table.concat(row.values, ", "))
		or kind == "boolean" and default == true and ("yes unless `--no-%s`"):format(declared.flag) or NOUNS[kind] or kind
	local form = worked_calls.form(declared, config)
	about[#about] = about[#about] .. (form and ", as " .. arg_words.shown(form) or "")
	about[#about + 1] = row.type == "array" and (declared.positional and "several" or "repeated for several") or nil
	if default ~= nil and kind ~= "boolean" and default ~= "" then
		local text = type(default) == "table" and json.encode(default) or tostring(default)
		about[#about + 1] = text and text ~= "[]" and text ~= "{}" and "default " .. arg_words.shown(text) or nil
	end
	local meaning = row.description ~= arg_words.expected(declared) and one_line(row.description)
	return ("- `%s` (%s)%s"):format(row.name, table.concat(about, "; "), meaning and ": " .. meaning or "")
end

local function command_text(row, project)
	local command, lines = row.command, {}
	local about, kind = sentence(cut(one_line(command.description), 300)), kind_of(command) or {}
	lines[1] = ("## %s %s\n\n%s%s\n"):format(program(), row.name, about, kind[2] or "")
	for i, argument in ipairs(compact_help.arguments(command, project.config)) do
		lines[#lines + 1] = argument_line(argument, command.args[i], project.config)
	end
	lines[#lines + 1] = lines[2] and "" or nil
	for _, call in ipairs(worked_calls.of(command, project)) do
		lines[#lines + 1] = "    " .. tool.says(call.line) .. (call.description and "  # " .. one_line(call.description) or "")
	end
	return table.concat(lines, "\n") .. "\n"
end

---@param page runner.SkillPage
---@param project table
---@return string Markdown
function M.page(page, project)
	local texts, there, notes = {}, {}, ""
	for i, row in ipairs(page.rows) do
		texts[i] = command_text(row, project)
		there[kind_of(row.command) or 0] = true
	end
	for _, kind in ipairs(KINDS) do
		notes = notes .. (there[kind] and kind[3] .. "\n" or "")
	end
	return ("<!-- %s -->\n# %s %s\n\n%sExit codes and limits: `%s help COMMAND --format json`.\n\n%s"):format(tool.says(M.MARK), program(),
		page.group or "COMMAND", notes, program(), table.concat(texts, "\n"))
end

-- --- the index -------------------------------------------------------------------------------

local function marked(name, row)
	return name .. (row.command.danger_level == "destructive" and " (destroys)" or "")
end

-- The words of its commands behind the group's, as many as `most`.
local function names_of(page, most)
	local out = {}
	for i, row in ipairs(page.rows) do
		if i > most then
			out[i] = ("+%d"):format(#page.rows - most)
			break
		end
		local name = page.group and row.name ~= page.group and row.name:sub(#page.group + 2) or row.name
		out[i] = marked(name, row)
	end
	return table.concat(out, ", ")
end

local function described(page)
	local out = {}
	for i, row in ipairs(page.rows) do
		out[i] = ("  - %s: %s"):format(marked(row.name, row), cut(one_line(row.description), 60))
	end
	return "\n" .. table.concat(out, "\n")
end

-- How much is said of each page, and what stands between two: the first that fits is taken.
local DETAILS = {
	{ described },
	{ function(page) return " " .. names_of(page, math.huge) end },
	{ function(page) return " " .. names_of(page, 12) end },
	{ function(page) return " " .. names_of(page, 6) end },
	{ function(page) return " " .. names_of(page, 3) end },
	{ function(page) return " " .. #page.rows end, "; ", 120 },
}

local HOW = [[
Before the first call of a command read the page of its group, a file beside this one: arguments, and calls to copy, with a value of
yours for each word in CAPITALS.
Call `P GROUP COMMAND ARGUMENTS`. stdout is one line of JSON: `ok`, `data`, `error`. Where a call was wrong, `error.fix_command` is
the right one. Repeat a call only where `error.retryable` is true. `(destroys)` means: never without a person.
Not found here: `P help --search 'WORDS'`.
]]

-- What decides whether an agent reads the rest: what the project is for, and the groups.
local function summary(project, pages, most)
	local groups = {}
	for _, page in ipairs(pages) do
		if page.group then
			groups[#groups + 1] = not page.file:find("%.%d+%.md$") and page.group or nil
		else
			for _, row in ipairs(page.rows) do
				groups[#groups + 1] = row.name
			end
		end
	end
	local own = project.description and cut(one_line(project.description), most // 2):gsub("%.?$", ". ") or ""
	return ("%sCommands of this project, called with `%s`: %s. Use them before any other way to do such a task."):format(own, program(),
		cut(table.concat(groups, ", "), most))
end

-- With the pages that have room; what has none is counted.
local function index(head, pages, detail, between)
	local lines, size = {}, #head + 40
	for i, page in ipairs(pages) do
		local line = ("%s%s:%s"):format(between and "" or "- ", page.file, detail(page))
		size = size + #line + #(between or "\n")
		if size > M.INDEX_MAX then
			lines[i] = ("- %d more pages are here"):format(#pages - i + 1)
			break
		end
		lines[i] = line
	end
	return head .. table.concat(lines, between or "\n") .. "\n", size <= M.INDEX_MAX
end

---SKILL.md.
---@param name string of the skill
---@param project table
---@param pages runner.SkillPage[]
---@param version string
---@return string Markdown with YAML front matter, whose values are JSON
function M.index(name, project, pages, version)
	local count, own, text = 0, program(), nil
	for _, page in ipairs(pages) do
		count = count + #page.rows
	end
	local metadata = json.encode { ["generated-by"] = tool.says(M.MARK), version = version }
	local how = HOW:gsub("%f[%w]P%f[%W]", function() return own end)
	for _, detail in ipairs(DETAILS) do
		local head = ("---\nname: %s\ndescription: %s\nmetadata: %s\n---\n\n# %s: %d commands\n\n%s\n"):format(name,
			json.encode(summary(project, pages, detail[3] or 400)), metadata, name, count, how)
		local whole
		text, whole = index(head, pages, detail[1], detail[2])
		if whole then
			break
		end
	end
	return text
end

---The name of the skill and of its folder: small letters, digits and single dashes, 64 at most.
---@param project table
---@return string
function M.name(project)
	local own = project.name or (project.root or ""):match "[^/]+$" or ""
	local name = own:lower():gsub("[^%w]+", "-"):sub(1, 64):gsub("^%-+", ""):gsub("%-+$", "")
	return name ~= "" and name or "commands"
end

return M
