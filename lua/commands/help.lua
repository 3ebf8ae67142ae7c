-- runner help [command …], `runner` alone, and --help of any command. It loads every
-- file that it lists, and survives broken ones.

local args = require "runner.project.args"
local catalog = require "runner.project.catalog"
local help = require "runner.tools.help"
local host = require "runner.host"
local json = require "runner.json"
local plan = require "runner.project.plan"
local settings = require "runner.project.settings"
local locate = require "runner.project.locate"
local attempt = require "runner.core.attempt"

local MIN_WIDTH, WIDTH, MAX_WIDTH = 40, 80, 200

local function reader_width()
	local columns = attempt.launch.stdout_is_tty and math.tointeger(tonumber(os.getenv("COLUMNS") or ""))
	return columns and math.max(MIN_WIDTH, math.min(columns, MAX_WIDTH)) or WIDTH
end

-- --- the topics -----------------------------------------------------------------------

-- "db.migrate" and "db migrate" are the same.
local function words_of(values)
	return catalog.words(table.concat(values.command, "."))
end

-- The command or the group of commands that the words name.
local function topic_of(words, project)
	local name = table.concat(words, ".")
	local found = locate.find(words, project)
	if found and found.words < #words then
		found = nil
	end
	return found, catalog.below(catalog.list(project), name), name
end

local function split_rows(project)
	local own, builtin = {}, {}
	for _, entry in ipairs(catalog.list(project)) do
		table.insert(entry.builtin and builtin or own, entry)
	end
	return catalog.rows(own, project), catalog.rows(builtin, project)
end

local function join(a, b)
	return json.array(table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {})))
end

local function overview(project, width)
	local own, builtin = split_rows(project)
	local about = { width = width, exit_table = plan.exit_table(project), project = project }
	return help.overview(own, builtin, about), { commands = join(own, builtin) }
end

local function describe(found, below, project, width)
	found.builtin = not found.path
	local command, problem = catalog.load(found, project)
	if not command then
		error(problem, 0)
	end
	-- describe the command as run on its own, not as a child of this run
	host.setenv("RUNNER_DEADLINE_MS", nil)
	host.setenv("RUNNER_OUTER_RETRIES", nil)
	return help.command(command, {
		settled = settings.settle(command, args.parse({}, {}), project), config = project.config, width = width,
		exit_table = plan.exit_table(project), below = catalog.rows(below, project),
	})
end

local function text_of(words, project, width)
	if #words == 0 then
		return overview(project, width)
	end
	local found, below, name = topic_of(words, project)
	if found then
		return describe(found, below, project, width)
	elseif #below == 0 then
		error(catalog.not_found(words, project), 0)
	end
	return help.group(name:gsub("%.", " "), catalog.rows(below, project), width)
end

-- --- where it goes -----------------------------------------------------------------------

-- A person's terminal gets the text on stdout. Elsewhere stdout is a program's: it gets
-- an envelope, and the text goes to stderr (REQ-F-048, docs/design.md#help-off-a-terminal).
local function deliver(text, data)
	local for_people = { text = true, plain = not data, table = not data }
	for format, wanted in pairs(for_people) do
		attempt.texts[format] = wanted and text or nil
	end
	local missing = not for_people[attempt.format] and (attempt.format == "json" or not data)
	if missing and not attempt.framework.quiet then
		io.stderr:write(text)
	end
end

local function send_meta()
	host.send("META", { name = "help", data = "true" })
end

return {
	description = "Describe a command, or list all commands",
	danger_level = "safe",
	args = {
		{ "command", "array", items = "string", variadic = true,
			description = "A command, or a group of commands" },
	},
	columns = { "name", "danger_level", "description" },
	examples = {
		{ description = "List all commands, one line each", command = "runner" },
		{ description = "Describe one command", command = "runner help lint" },
		{ description = "List only the names, for scripts", command = "runner --format plain | cut -f1" },
	},
	validate = function(values)
		local words = words_of(values)
		local found, below = nil, {}
		if words[1] then
			found, below = topic_of(words, attempt.project)
		end
		if words[1] and not found and not below[1] then
			local e = catalog.not_found(words, attempt.project)
			local message = ("Unknown command '%s'"):format(table.concat(words, " "))
			return { { field = "command", code = e.code, message = message, suggestion = e.suggestion,
				fix_required = "Name an existing command: run 'runner' to list them" } }
		end
	end,
	run = function(values)
		local words = words_of(values)
		local text, data = text_of(words, attempt.project, reader_width())
		send_meta()
		deliver(host.clean(text), data)
		return data
	end,
}
