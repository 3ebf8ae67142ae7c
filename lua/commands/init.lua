-- runner init: write a tasks.lua, to start from, or from the file of another tool, and say what of that was left out.

local attempt = require "runner.core.attempt"
local builtins = require "runner.project.builtins"
local display = require "runner.core.display"
local fs = require "runner.fs"
local locate = require "runner.project.locate"
local new_file = require "runner.tools.new_file"

local MAX_BYTES = 4 << 20

-- By the name of the file, in lower case.
local FORMATS = {
	{ "^%.?justfile$", "justfile" }, { "%.just$", "justfile" },
	{ "^makefile$", "makefile" }, { "^gnumakefile$", "makefile" }, { "%.mk$", "makefile" },
	{ "^taskfile[%w.]*%.ya?ml$", "taskfile" },
	{ "^package%.json$", "package_json" },
}

local START = [==[
-- Tasks of this project: runner NAME runs one, runner help NAME describes it.
return {
	tasks = {
	hello = { "Greet somebody", args = { { "name", "string", positional = true, default = "world" } }, shell = 'echo "Hello, $name"' },
	},
}
]==]

local imported -- what validate has made of the file

local function format_of(path)
	local name = path:match("[^/]*$"):lower()
	for _, row in ipairs(FORMATS) do
		if name:find(row[1]) then
			return row[2]
		end
	end
end

local function read(path)
	local format = format_of(path)
	if not format then
		return { { field = "from", code = "INVALID_ARGUMENT", value = path, message = ("'%s' is no file that runner can import"):format(path),
			suggestion = "Name a justfile, Makefile, Taskfile.yml or package.json" } }
	end
	local stat = fs.stat(path) -- a FIFO would be waited for
	local text, why = nil, "it is no file"
	if not stat or stat.type == "file" then
		text, why = fs.read(path, MAX_BYTES)
	end
	if not text then
		return { { field = "from", code = "FILE_NOT_FOUND", value = path, message = ("Can't read '%s': %s"):format(path, why) } }
	end
	local sheet = require("runner.import.sheet").new(path:match "[^/]*$", {
		is_fixed = function(word)
			return locate.fixed[word] or false
		end,
		is_builtin = function(name)
			return builtins.rows[name:gsub(" ", ".")] ~= nil or builtins.names[name] or false
		end,
	})
	local problem
	imported, problem = require("runner.import." .. format).read(text:gsub("^\u{FEFF}", ""), path, sheet)
	if imported and not imported.tasks[1] then
		imported:note(1, "tasks", "none were found")
	end
	return problem and { { field = "from", code = "INVALID_ARGUMENT", value = path,
		message = ("%s:%d:%d: %s"):format(path, problem.line, problem.column, problem.message) } } or nil
end

return {
	args = {
		{ "from", "path", min_length = 1, description = "A justfile, Makefile, Taskfile.yml or package.json" },
		{ "force", "boolean", description = "Replace tasks.lua, if there is one" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		ALREADY_EXISTS = { description = "There is a file of that name, which was not changed" } },
	examples = { { description = "Write tasks.lua beside a justfile, from its recipes", command = "runner init --from justfile" } },
	validate = function(args)
		return args.from and read(args.from) or nil
	end,
	run = function(args, ctx)
		local folder = args.from and args.from:match "^(.*/)" or ""
		local path, text = folder .. "tasks.lua", START
		text = imported and imported:text() or text
		local is_there = fs.lstat(path)
		if not args.force and is_there then
			ctx:fail("ALREADY_EXISTS", ("%s already exists and was not changed"):format(new_file.shown(path)),
				{ fix_required = "Pass --force to replace it", context = { path = path } })
		elseif args.force then
			ctx.fs.write(path, text)
		else
			new_file.create(ctx, "file of tasks", path, text)
		end
		for _, note in ipairs(imported and imported.notes or {}) do
			attempt.warn("IMPORT_CHANGED", ("%s:%d: %s: %s"):format(args.from, note.line, note.key, note.reason), { file = args.from,
				line = note.line })
		end
		display.set { plain = text }
		return { path = new_file.shown(path), effect = is_there and "updated" or "created", tasks = imported and #imported.tasks
			or 1, changed = imported
			and #imported.notes or nil,
			suggestion = "See what there is: runner. Check it: runner self lint" }
	end,
}
