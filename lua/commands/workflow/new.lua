-- runner workflow new [FILE]: write a commented workflow file to start from, which already runs.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local new_file = require "runner.tools.new_file"
local paths = require "runner.core.paths"

-- A test checks that it has neither errors nor warnings, and that it runs with and without claude.
local TEMPLATE = [==[
# What this workflow is for, in one line.
# Every problem, with its line: runner workflow check FILE. What it would do: runner workflow plan FILE.
# The workflow has the name of its file; 'name:' gives it another.

# Defaults. Every step may use ${question}; 'run FILE --var question=...' sets another value.
vars:
  question: What is this directory for?

# For all claude steps. stream-json shows on a terminal what Claude Code says and does, and reports what it costs.
claude:
  output: stream-json
  allowed_tools: [Read, Glob, Grep]

max_cost: 1.00 # US dollars, for all claude steps of a run and its retries

commands:
  # A shell step stops at its first failing command. A value never runs as code, whatever is in it.
  - id: files
    shell: ls

  - id: installed
    shell: command -v claude || echo no

  # Failures that pass, such as an overloaded server, are retried with growing waits.
  - id: answer
    when: steps.installed.output != "no"
    claude: |
      ${question} Answer in one sentence. It has these files:
      ${steps.files.output}
    timeout: 5m # of one attempt
    retry: { max_attempts: 3, initial_delay: 5s }

  # If runner dies during a step, 'resume' stops there and asks you, unless the step may run twice, or its
  # 'verify: SCRIPT' can tell whether it did its work.
  - id: report
    when: steps.installed.output != "no"
    shell: printf '%s\n' "${steps.answer.output}" >answer.txt
    idempotent: true
]==]

-- The line that names the schema to an editor, where `runner types` has written that; else none. The path in it
-- is relative to the file.
local function modeline(file)
	local root = attempt.project.root
	local path = paths.absolute(file, host.getcwd())
	local is_below = root and path:sub(1, #root + 1) == root .. "/" and not (path .. "/"):find("/../", 1, true)
	if not is_below or not host.probe(root .. "/.runner/types/workflow.schema.json") then
		return ""
	end
	local _, slashes = path:sub(#root + 1):gsub("/+", "/"):gsub("/%.%f[/]", ""):gsub("/", "")
	return ("# yaml-language-server: $schema=%s.runner/types/workflow.schema.json\n"):format(("../"):rep(slashes - 1))
end

return {
	args = {
		{ "file", "path", positional = true, default = "workflow.yaml", min_length = 1, description = "File to create" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		ALREADY_EXISTS = { description = "There is a file of that name, which was not changed" } },
	examples = { { description = "Write review.yaml", command = "runner workflow new review.yaml" } },
	validate = function(args)
		if args.file:find("/%.?%.?$") or args.file:find("^%.%.?$") then
			return { { field = "file", code = "INVALID_ARGUMENT", value = args.file,
				message = ("'%s' is not the name of a file"):format(args.file),
				suggestion = "Name the file to create: review.yaml" } }
		end
	end,
	run = function(args, ctx)
		new_file.create(ctx, "workflow file", args.file, modeline(args.file) .. TEMPLATE)
		local path = new_file.shown(args.file)
		return {
			path = path, effect = "created",
			suggestion = ("Run it: runner workflow run %s. Then edit %s and check it: runner workflow check %s"):format(path,
				path, path),
		}
	end,
}
