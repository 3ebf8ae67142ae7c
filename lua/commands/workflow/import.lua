-- runner workflow import FILE: a workflow file of prodigy as one of runner's, and what of it was left out.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local fs = require "runner.fs"
local new_file = require "runner.tools.new_file"
local prodigy = require "runner.workflow.import.prodigy"
local start = require "runner.workflow.run.start"

local MAX_BYTES = 4 << 20

local imported -- what validate has made of the file

local function warn(code, path, at, message)
	attempt.warn(code, ("%s:%d:%d: %s"):format(path, at.line, at.column, message), { file = path, line = at.line, column = at.column })
end

return {
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file of prodigy, in YAML" },
		{ "output", "path", min_length = 1, description = "File to create; default: stdout" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		ALREADY_EXISTS = { description = "There is a file of that name, which was not changed" } },
	examples = {
		{ description = "Import a file, and check the result", command = "runner workflow import workflows/implement.yml --output"
			.. " implement.yaml && runner workflow check implement.yaml" },
		{ description = "See what it becomes", command = "runner workflow import workflows/implement.yml --format plain" },
	},
	validate = function(args)
		local text, why = fs.read(args.file, MAX_BYTES)
		local problems = { { code = "FILE_NOT_FOUND", message = "can't read the file: " .. tostring(why) } }
		if text then
			imported, problems = prodigy.read(text, args.file)
		end
		return not imported and start.rows(args.file, problems) or nil
	end,
	run = function(args, ctx)
		for _, note in ipairs(imported.notes) do
			warn("IMPORT_CHANGED", args.file, note, ("%s: %s"):format(note.key, note.reason))
		end
		for _, problem in ipairs(imported.problems) do
			warn("IMPORT_INVALID", args.output or "the result", problem, problem.message)
		end
		if args.output then
			new_file.create(ctx, "workflow file", args.output, imported.text)
		end
		display.set { text = imported.text, plain = imported.text }
		return { file = args.file, output = args.output, effect = args.output and "created" or "noop", steps = imported.steps,
			valid = #imported.problems == 0, changed = imported.notes, workflow = not args.output and imported.text or nil }
	end,
}
