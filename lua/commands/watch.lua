-- runner watch [GLOB …] -- COMMAND [ARGUMENT …]: run a command whenever files change.

local aliases = require "runner.project.aliases"
local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local changes = require "runner.watch.changes"
local command_args = require "runner.project.args"
local command_line = require "runner.core.command_line"
local display = require "runner.core.display"
local fs = require "runner.fs"
local paths = require "runner.core.paths"
local locate = require "runner.project.locate"
local scope = require "runner.watch.scope"
local session = require "runner.watch.session"
local suggest = require "runner.core.suggest"

-- --- what to run, and when ----------------------------------------------------------------------

-- The words behind the first "--". No value of a flag can be "--".
local function command_of(tokens)
	for i, token in ipairs(tokens) do
		if token == "--" then
			return table.move(tokens, i + 1, #tokens, 1, {})
		end
	end
	return {}
end

-- With the words of an alias, or of a dot path, in its place.
local function names_of(words)
	local names = command_args.command_words(words)
	local first = names[1] and not locate.find(names, attempt.project) and aliases.find(names[1], attempt.project)
	return first and table.move(names, 2, #names, #first + 1, table.move(first, 1, #first, 1, {})) or names
end

local function name_of(words)
	local names = names_of(words)
	local found = locate.find(names, attempt.project)
	return command_line.typed(found and found.name or names[1])
end

local function globs_of(args, words)
	return table.move(args.globs, 1, #args.globs - #words, 1, {})
end

-- What the command declares of the files that it reads and writes, where it can be loaded.
local function declared(words)
	local found = locate.find(names_of(words), attempt.project)
	local command = found and found.path and catalog.load(found, attempt.project)
	local root = not (command and command.cwd == "caller") and attempt.project.root or paths.here()
	return command and command.sources or nil, command and command.generates or {}, root
end

local function scope_of(args, words)
	local here = paths.here()
	local given, sources, generates, root = globs_of(args, words), declared(words)
	local list, from = given, here
	if not given[1] then
		list, from = sources or { "." }, root
	end
	return { patterns = scope.patterns(list, from), without = scope.patterns(generates, root), ignore = args.ignore, here = here,
		gitignore = args.gitignore }
end

local function problem(code, message, fix)
	return { field = "globs", code = code, message = message, suggestion = fix,
		fix_required = not fix:find "^Did" and fix or nil }
end

local function missing_command(args)
	local first = args.globs[1]
	local known = first and locate.find({ first }, attempt.project)
	return problem("REQUIRED_ARGUMENT_MISSING", "No command to run: it stands behind --", known
		and ("runner watch -- %s"):format(table.concat(args.globs, " ")) or "runner watch -- NAME, or runner watch 'src/**' -- NAME")
end

local function unknown_command(names)
	local known = {}
	for i, entry in ipairs(catalog.list(attempt.project)) do
		known[i] = entry.name:gsub("%.", " ")
	end
	local near = suggest.nearest(table.concat(names, " "), known, 1)[1]
	return problem("INVALID_ARGUMENT", ("There is no command '%s'"):format(names[1]), near and ("Did you mean '%s'?"):format(near)
		or ("watch runs commands of runner; for another program: runner new %s, with ctx:run in it"):format(
			names[1]:find "^[%l][%l%d_-]*$" and names[1] or "NAME"))
end

local function validate(args)
	local words = command_of(attempt.tokens)
	local names, problems = names_of(words), {}
	if not words[1] then
		return { missing_command(args) }
	elseif not names[1] or not locate.find(names, attempt.project) and not require("runner.project.builtins").names[names[1]] then
		problems[1] = unknown_command(names[1] and names or words)
	elseif names[1] == "watch" or names[1] == locate.SELF and names[2] == "watch" then
		problems[1] = problem("INVALID_ARGUMENT", "watch can't run itself", "Name the command that it is to run")
	end
	for i, glob in ipairs(globs_of(args, words)) do
		for _, pattern in ipairs(scope.patterns({ glob }, paths.here())) do
			if not fs.stat(pattern.base) then
				problems[#problems + 1] = problem("INVALID_ARGUMENT", ("There is no '%s'"):format(pattern.base),
					("Correct '%s'; a file that is still to come needs a wildcard"):format(args.globs[i]))
			end
		end
	end
	return problems
end

local function run(args, ctx)
	local words = command_of(attempt.tokens)
	local looked_at = scope_of(args, words)
	local watched <close> = changes.new(scope.options(looked_at))
	args.quiet_ms = require("runner.core.rules").milliseconds(args.debounce)
	local one = session.new { ctx = ctx, args = args, words = words, name = name_of(words), scope = looked_at, changes = watched }
	session.tell(ctx, ("%d files in %d folders; Ctrl+C ends it"):format(watched.count, watched.folders))
	if watched.count == 0 then
		ctx:warn("WATCH_LIMITED", "No file matches yet")
	end
	one:loop()
	display.set { text = ("%d %s, %d failed\n"):format(one.runs, one.runs == 1 and "run" or "runs", one.failed) }
	return { runs = one.runs, failed = one.failed }
end

return {
	timeout = "none",
	streams = true,
	args = {
		{ "globs", "array", items = "string", variadic = true,
			description = "Files, folders or patterns such as 'src/**/*.c', then -- and the command with its arguments; "
				.. "default: what the command declares as sources, else the project" },
		{ "restart", "boolean", short = "r", description = "End a run that is going on, and begin again; for servers" },
		{ "ignore", "array", items = "string", description = "Leave this out: a line as in a .gitignore; may be repeated" },
		{ "gitignore", "boolean", default = true, description = "Look at what .gitignore files name, too" },
		{ "debounce", "duration", default = "100ms", min = 0.01, max = 60, description = "Wait until nothing has changed for so long" },
		{ "runs", "integer", min = 1, description = "End after so many runs; default: when you end it" },
	},
	columns = { "run", "command", "exit_code", "duration_ms", "changed_count" },
	examples = {
		{ description = "Test after each change", command = "runner watch -- test" },
		{ description = "Begin a server again when its code changes", command = "runner watch --restart 'src/**' -- serve --port 8080" },
	},
	validate = function(args)
		display.set { row = session.row_text }
		return validate(args)
	end,
	run = run,
}
