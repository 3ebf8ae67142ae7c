-- runner help [command …], `runner` alone, and --help of any command. It loads every
-- file that it lists, and survives broken ones.

local aliases = require "runner.project.aliases"
local attempt = require "runner.core.attempt"
local compact_help = require "runner.tools.compact_help"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local display = require "runner.core.display"
local front_page = require "runner.tools.front_page"
local help = require "runner.tools.help"
local help_topics = require "runner.tools.help_topics"
local host = require "runner.host"
local json = require "runner.json"
local plan = require "runner.project.plan"
local render = require "runner.output.render"
local topic = require "runner.tools.topic"
local layout = require "runner.output.layout"
local tool = require "runner.core.tool"

-- What is to be said of a list that has commands whose files are not read (lua/project/inert.lua).
local function note_of(project, rows)
	for _, row in ipairs(rows) do
		if row.unread then
			return ("Not read: files that would have to be run for that. They are once a command of this project has run for you, "
				.. "or with RUNNER_TRUST=%s."):format(project.root)
		end
	end
end

local WIDTH, MAX_WIDTH = 80, 200 -- columns: where it is not known, and what prose is still read in

local function reader_width()
	local width = layout.reader_width()
	return width and (attempt.framework.width and width or math.min(width, MAX_WIDTH)) or WIDTH
end

-- --- the topics -----------------------------------------------------------------------

local function split_rows(project)
	local builtin = {}
	for _, entry in ipairs(catalog.list(project)) do
		builtin[#builtin + 1] = entry.builtin and entry or nil
	end
	local own, entries = catalog.own_rows(project)
	return own, (catalog.rows(builtin, project)), entries
end

-- In the formats of rows, a row for each command.
local function show_rows(rows)
	if attempt.format ~= "json" and attempt.format ~= "text" then
		display.set { [attempt.format] = render.text(rows, attempt.format, { columns = attempt.command.columns, rows = true }) }
	end
end

local DATA = { json = true, jsonl = true, tsv = true }

local function wants_data()
	return DATA[attempt.format]
end

-- Each with what it stands for.
local function alias_rows(project, own, entries)
	local rows = {}
	for i, alias in ipairs(aliases.of(project, own, entries)) do
		rows[i] = { name = alias.name, description = command_line.line(alias.words) }
	end
	return rows
end

-- As text, and as data.
local function overview(project, width)
	local own, builtin, entries = split_rows(project)
	local about = { width = width, exit_table = plan.exit_table(project), project = project }
	show_rows(table.move(builtin, 1, #builtin, #own + 1, table.move(own, 1, #own, 1, {})))
	about.aliases = alias_rows(project, own, entries)
	about.topics, about.note = help_topics.names(), note_of(project, own)
	if project.problem and not project.problem.unread and wants_data() then
		attempt.warn("COMMAND_INVALID", project.problem.message, { fix_required = project.problem.fix_required })
	end
	return attempt.framework.help and help.overview(own, builtin, about) or front_page.text(own, builtin, about),
		compact_help.overview(front_page.in_order(own), builtin, project.problem and project.problem.message or about.note, nil, about.aliases)
end

local function about_runner(found, project, width)
	local text, data = help_topics.describe(found, { width = width, exit_table = plan.exit_table(project), builtin = function()
		return (select(2, split_rows(project)))
	end })
	return text, wants_data() and data or nil
end

-- A task, or the file of a command, as it is written.
local function show(found)
	local source = found.path and host.source(found.path)
	local text = source and found.task and require("runner.declare.task_text").written(source, found.name, found.group) or source
	if not text then
		require("runner.core.errors").raise("PRECONDITION", ("'%s' has no file to be shown"):format(command_line.typed(found.name)),
			{ side_effects = "none" })
	end
	return text, { path = found.path, text = text }
end

local function describe(found, below, project, width)
	if attempt.parsed.values.show then
		return show(found)
	end
	found.builtin = not found.path
	local command, problem = catalog.load(found, project)
	if not command and problem.unread then
		local row = { name = command_line.typed(found.name), description = "", unread = problem.unread }
		return ("%s\n%s"):format(help.unread(row), layout.paragraph(note_of(project, { row }), width)),
			wants_data() and compact_help.overview({ row }) or nil
	elseif not command then
		error(problem, 0)
	end
	local about = {
		settled = topic.settle(command, project), config = project.config, width = width,
		exit_table = plan.exit_table(project), below = (catalog.rows(below, project)),
	}
	display.set { columns = false } -- they are those of a list
	return help.command(command, about), wants_data() and compact_help.command(command, about) or nil
end

local function search(text, project, width)
	local rows = catalog.whole_rows(catalog.list(project), project)
	local found, data = compact_help.search(rows, text, project.config)
	local note = note_of(project, rows)
	show_rows(found)
	local none = ("No command %sfits: %s\n"):format(note and "that was read " or "", text)
	return (found[1] and help.commands(found, width) or none)
		.. (note and help.commands(compact_help.unread(rows), width, "Not read") .. "\n" .. layout.paragraph(note, width) or ""), data
end

local function group(name, below, project, width)
	local rows = catalog.rows(below, project)
	local note = note_of(project, rows)
	show_rows(rows)
	return help.group(command_line.typed(name), rows, width) .. (note and layout.paragraph(note, width) or ""),
		wants_data() and compact_help.overview(rows, nil, nil, select(2, name:gsub("%.", "")) + 2) or nil
end

local function text_of(words, project, width)
	local wanted = attempt.parsed.values.search
	if wanted and #words == 0 then
		return search(wanted, project, width)
	elseif #words == 0 then
		return overview(project, width)
	end
	local found, below, name = topic.find(words, project)
	local about = not found and #below == 0 and help_topics.find(words)
	if found then
		return describe(found, below, project, width)
	elseif about then
		return about_runner(about, project, width)
	elseif #below == 0 then
		error(require("runner.project.unknown_command").problem(words, project), 0)
	end
	return group(name, below, project, width)
end

-- --- where it goes -----------------------------------------------------------------------

-- A person's terminal gets the text. Elsewhere stdout is a program's: it gets the same as data, once
-- (docs/design.md#help-off-a-terminal).
local function deliver(text, data)
	display.set { text = text, plain = not data and text or nil, table = not data and text or nil }
end

local SAID = { next = true, usage = true } -- call lines, which name the tool as its users call it

local function send_meta(words)
	local reference = words[1] and table.concat(words, " ") .. " --schema" or "--schema"
	host.send("META", { name = "help", data = "true" }, true)
	host.send("META", { name = "schema_ref", data = json.encode(reference) })
end

return {
	args = {
		{ "command", "array", items = "string", variadic = true,
			description = "A command, a group of commands, or a topic such as environment" },
		{ "show", "boolean", description = "Print a task, or the file of a command, as it is written" },
		{ "search", "string", min_length = 1, description = "The commands that fit these words, the best first" },
	},
	columns = { "name", "danger_level", "description" },
	examples = {
		{ description = "List all commands, one line each", command = "runner" },
		{ description = "Describe one command", command = "runner help lint" },
		{ description = "List the variables that runner reads", command = "runner help environment" },
		{ description = "Find a command", command = "runner help --search 'run plan'" },
		{ description = "List only the names, for scripts", command = "runner --format plain | cut -f1" },
	},
	validate = function(values)
		local problem = attempt.project.problem
		if values.command[1] and not (attempt.call.places[1] or attempt.framework.help) then -- after `--`: "help" was not typed
			return { { field = "command", code = "INVALID_ARGUMENT", message = "No command stands in front of '--', so nothing was run",
				fix_required = "Write the command's name without '--' in front of it" } }
		end
		return not (problem and problem.unread) and topic.problems(values, attempt.project) or nil -- else it is not known
	end,
	run = function(values)
		local words = topic.words(values)
		local text, data = text_of(words, attempt.project, reader_width())
		for key, value in next, data or {} do
			data[key] = SAID[key] and tool.says(value) or value
		end
		for i, example in ipairs(data and data.examples or {}) do
			data.examples[i] = tool.says(example)
		end
		send_meta(words)
		deliver(host.clean(text), data)
		return data
	end,
}
