-- runner help [command …], `runner` alone, and --help of any command. It loads every
-- file that it lists, and survives broken ones.

local alias_names = require "runner.project.alias_names"
local aliases = require "runner.project.aliases"
local attempt = require "runner.core.attempt"
local brief = require "runner.tools.brief"
local catalog = require "runner.project.catalog"
local command_name = require "runner.core.command_name"
local front_page = require "runner.tools.front_page"
local help = require "runner.tools.help"
local help_topics = require "runner.tools.help_topics"
local host = require "runner.host"
local json = require "runner.json"
local plan = require "runner.project.plan"
local reader = require "runner.output.reader"
local render = require "runner.output.render"
local topic = require "runner.tools.topic"
local wrap = require "runner.output.wrap"

-- Of a project of which this user has run no command yet (lua/project/declarations.lua).
local UNREAD = "Only names: the files of this project are read once you have run one of its commands, or 'runner lint'."

local WIDTH, MAX_WIDTH = 80, 200 -- columns: where nobody knows, and what prose is still read in

local function reader_width()
	local width = reader.width()
	return width and (attempt.framework.width and width or math.min(width, MAX_WIDTH)) or WIDTH
end

-- --- the topics -----------------------------------------------------------------------

local function split_rows(project)
	local own, builtin = {}, {}
	for _, entry in ipairs(catalog.list(project)) do
		table.insert(entry.builtin and builtin or own, entry)
	end
	return (catalog.rows(own, project)), (catalog.rows(builtin, project))
end

local function table_of(own, builtin)
	local rows = table.move(builtin, 1, #builtin, #own + 1, table.move(own, 1, #own, 1, {}))
	return render.text(rows, attempt.format, attempt.command)
end

-- Was JSON asked for by its name, or only a group named? Off a terminal JSON is what --help prints anyway.
local function wants_data()
	return attempt.framework.format == "json" and attempt.information ~= "help" or attempt.group_alone
end

-- Each with what it stands for.
local function alias_rows(project)
	local rows = {}
	for i, alias in ipairs(alias_names.list(project)) do
		rows[i] = { name = alias.name, description = aliases.typed(alias.words) }
	end
	return rows
end

-- As text, as data, and in the other formats as a row for each command.
local function overview(project, width)
	local own, builtin = split_rows(project)
	local about = { width = width, exit_table = plan.exit_table(project), project = project }
	if attempt.format ~= "json" and attempt.format ~= "text" then
		attempt.texts[attempt.format] = table_of(own, builtin)
	end
	about.aliases = alias_rows(project)
	about.topics, about.note = help_topics.names(), catalog.is_unread(project) and UNREAD or nil
	return attempt.framework.help and help.overview(own, builtin, about) or front_page.text(own, builtin, about),
		brief.overview(own, builtin, project.problem and project.problem.message or about.note, nil, about.aliases)
end

local function about_runner(found, project, width)
	local text, data = help_topics.describe(found, { width = width, exit_table = plan.exit_table(project), builtin = function()
		return (select(2, split_rows(project)))
	end })
	return text, wants_data() and data or nil
end

local function describe(found, below, project, width)
	found.builtin = not found.path
	local command, problem = catalog.load(found, project)
	if not command then
		error(problem, 0)
	end
	local about = {
		settled = topic.settle(command, project), config = project.config, width = width,
		exit_table = plan.exit_table(project), below = (catalog.rows(below, project)),
	}
	return help.command(command, about), wants_data() and brief.command(command, about) or nil
end

local function search(text, project, width)
	local own, builtin = split_rows(project)
	local found, data = brief.search(table.move(builtin, 1, #builtin, #own + 1, own), text)
	if attempt.format ~= "json" and attempt.format ~= "text" then
		attempt.texts[attempt.format] = render.text(found, attempt.format, attempt.command)
	end
	return found[1] and help.commands(found, width) or ("No command has all of these words: %s\n"):format(text), data
end

local function group(name, below, project, width)
	local rows = catalog.rows(below, project)
	return help.group(command_name.typed(name), rows, width) .. (catalog.is_unread(project) and wrap.paragraph(UNREAD, width) or ""),
		wants_data() and brief.overview(rows, nil, nil, select(2, name:gsub("%.", "")) + 2) or nil
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
		error(catalog.not_found(words, project), 0)
	end
	return group(name, below, project, width)
end

-- --- where it goes -----------------------------------------------------------------------

-- A person's terminal gets the text on stdout. Elsewhere stdout is a program's: it gets
-- an envelope, and the text goes to stderr (REQ-F-048, docs/design.md#help-off-a-terminal).
local function deliver(text, data)
	local for_people = { text = true, plain = not data, table = not data }
	for format, wanted in pairs(for_people) do
		attempt.texts[format] = wanted and text or attempt.texts[format]
	end
	local asked = attempt.framework.help or not data -- who gets the data needs no text
	if asked and not for_people[attempt.format] and (attempt.format == "json" or not data) and not attempt.framework.quiet then
		io.stderr:write(attempt.spoken and attempt.spoken(text) or text) -- spoken: lua/project/spoken.lua
	end
end

local function send_meta(words)
	local reference = words[1] and table.concat(words, " ") .. " --schema" or "--schema"
	host.send("META", { name = "help", data = "true" }, true)
	host.send("META", { name = "schema_ref", data = json.encode(reference) })
end

return {
	description = "Describe a command, or list all commands",
	danger_level = "safe",
	args = {
		{ "command", "array", items = "string", variadic = true,
			description = "A command, a group of commands, or a topic such as environment" },
		{ "search", "string", min_length = 1, description = "Only commands with all of these words in name or description" },
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
		return topic.problems(values, attempt.project)
	end,
	run = function(values)
		local words = topic.words(values)
		local text, data = text_of(words, attempt.project, reader_width())
		if attempt.spoken and data and data.next then
			data.next = attempt.spoken(data.next)
		end
		send_meta(words)
		deliver(host.clean(text), data)
		return data
	end,
}
