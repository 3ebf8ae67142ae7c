-- template: the text of a new workflow file. Loaded by `runner workflow new` alone. A test
-- checks that it has neither errors nor warnings, and that it runs with and without claude.

---@type string
return [==[
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
