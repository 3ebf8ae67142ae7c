-- runner lint [FILE …]: the errors and warnings of runner.lua and of every command file,
-- or of the files given.

local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local computed = require "runner.declare.computed"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local lint = require "runner.tools.lint"
local locate = require "runner.project.locate"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local paths = require "runner.core.paths"

local function absolute(path)
	return paths.absolute((path:gsub("^%./", "")), host.getcwd())
end

-- The file of the command that all of these words name.
local function command_of(words, project)
	local found = words[1] and locate.find(words, project)
	return found and found.path and found.words == #words and found or nil
end

-- A file by its path, or the file of a command by its name.
local function target_of(text, project)
	local stat = fs.stat(text)
	if stat and stat.type == "file" then
		return { name = text:match("([^/]+)%.lua$") or text, path = absolute(text) }
	end
	return command_of(command_line.name_words((text:gsub("/", "."))), project)
end

-- What is given: files and names one by one, else the words of one command ("db migrate").
local function given_targets(files, project)
	local out, missing = {}, {}
	for i, text in ipairs(files) do
		out[i] = target_of(text, project)
		missing[#missing + 1] = not out[i] and text or nil
		out[i] = out[i] or { name = text, path = absolute(text) } -- gone since `validate`
	end
	local command = missing[1] and command_of(files, project)
	if command then
		return { command }, {}
	end
	return out, missing
end

local function targets_of(files, project)
	if #files == 0 then
		local out = {}
		for _, entry in ipairs(catalog.list(project)) do
			local found = not entry.builtin and locate.find(command_line.name_words(entry.name), project)
			if found then
				found.listed = true
				out[#out + 1] = found
			end
		end
		return out, true
	end
	return given_targets(files, project), false
end

local function has_runner_file(project)
	return (project.file or project.problem) and true or false
end

local function count_files(targets)
	local seen, count = {}, 0
	for _, found in ipairs(targets) do
		count = count + (seen[found.path] and 0 or 1)
		seen[found.path] = true
	end
	return count
end

local function count(n, word)
	return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

local function text_of(data)
	local lines = {}
	for _, kind in ipairs { "problems", "warnings" } do
		for _, row in ipairs(data[kind]) do
			lines[#lines + 1] = (kind == "warnings" and "warning: " or "error: ") .. row.message
		end
	end
	lines[#lines + 1] = ("%s, %s, %s%s"):format(count(data.files, "file"), count(#data.problems, "error"),
		count(#data.warnings, "warning"), data.examples and ", " .. count(data.examples, "example") .. " run" or "")
	return table.concat(lines, "\n") .. "\n"
end

local function errors_of(problems)
	local rows = {}
	for i, p in ipairs(problems) do
		rows[i] = { file = p.file, line = p.line, field = p.key, code = "COMMAND_INVALID", message = p.message,
			fix_required = p.fix }
	end
	return rows
end

local function fail(ctx, data, text)
	local first = data.problems[1]
	if attempt.format ~= "json" and not attempt.framework.quiet then
		io.stderr:write(host.clean(text)) -- a failure's data is shown to programs only
	end
	local more = #data.problems > 1 and (" (and %d more)"):format(#data.problems - 1) or ""
	ctx:fail("COMMAND_INVALID", first.message .. more,
		{ data = data, errors = errors_of(data.problems), fix_required = first.fix })
end

-- The manifest of --against; nil and what is wrong with it.
local function read_earlier(args)
	if args.against then
		return require("runner.tools.compatibility").read(args.against)
	end
end

return {
	timeout = "10m",
	args = {
		{ "files", "array", items = "string", variadic = true,
			description = "Command files, or command names; default: runner.lua and every command" },
		{ "run_examples", "boolean",
			description = "Run the examples of commands, too; as dry runs where a command changes something" },
		{ "against", "path", description = "An earlier manifest: report what its callers could no longer do" },
	},
	columns = { "file", "line", "key", "message" },
	rows = "problems",
	examples = {
		{ description = "Check everything", command = "runner lint" },
		{ description = "Check one file", command = "runner lint commands/deploy.lua" },
		{ description = "What would callers of the last version miss?", command = "runner lint --against manifest.json" },
		{ description = "Do the examples work?", command = "runner lint --run-examples" },
	},
	validate = function(args)
		local problems = {}
		local _, missing = given_targets(args.files, attempt.project)
		for _, text in ipairs(missing) do
			problems[#problems + 1] = { field = "files", code = "INVALID_ARGUMENT", value = text,
				message = ("'%s' is neither a file nor a command with a file"):format(text),
				suggestion = "Run 'runner' to list the commands" }
		end
		local _, wrong = read_earlier(args)
		if wrong then
			problems[#problems + 1] = { field = "against", code = "INVALID_ARGUMENT", value = args.against,
				message = ("%s: %s"):format(args.against, wrong), suggestion = "Give a file that 'runner manifest' wrote" }
		end
		return problems
	end,
	run = function(args, ctx)
		local project = attempt.project
		local targets, all = targets_of(args.files, project)
		local data = { problems = json.array {}, warnings = json.array {}, files = count_files(targets) }
		if all then
			data.files = data.files + (has_runner_file(project) and 1 or 0)
			lint.project(project, data)
			lint.shadowed(project, data)
			lint.aliases(project, data)
			lint.ignored(project, data)
			lint.idle_aliases(project, data)
			catalog.rows(catalog.list(project), project, true) -- for the lists to come
		end
		local declared = {}
		data.examples = args.run_examples and 0 or nil
		for _, found in ipairs(targets) do
			local declaration = lint.command(found, project, data)
			declared[#declared + 1] = type(declaration) == "table" and { found = found, value = declaration } or nil
			if args.run_examples then
				require("runner.tools.lint").examples(ctx, declaration, lint.shown(found.path), data)
			end
		end
		lint.circles(declared, data)
		lint.scripts(ctx, declared, data)
		local earlier = read_earlier(args)
		if earlier then
			local found = require("runner.tools.compatibility").find(earlier, require("runner.tools.manifest").document({}, project), args.against)
			table.move(found, 1, #found, #data.problems + 1, data.problems)
		end
		if next(computed.unasked) then
			attempt.warn("PROJECT_UNREAD", "No command of this project has run for you, so its files were read and not run: functions of arguments "
				.. "were not called", { fix_required = ("Call one, or trust the project: set RUNNER_TRUST=%s"):format(project.root) })
		end
		local text = text_of(data)
		if data.problems[1] then
			fail(ctx, data, text)
		end
		display.set { text = text }
		return data
	end,
}
