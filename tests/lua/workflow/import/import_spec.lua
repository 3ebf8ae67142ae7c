-- Workflow files of prodigy become ours: each feature of its public files is here in a file of our own. What is made passes the check
-- of workflow files, and says what it left.

local json = require "runner.json"
local import_keys = require "runner.workflow.import.keys"
local prodigy = require "runner.workflow.import.prodigy"
local reader = require "runner.workflow.file.reader"
local writer = require "runner.workflow.import.writer"
local yaml = require "runner.core.yaml.parser"

-- The result without what is said once for a file, and its notes as "line what".
local ONCE = { claude = true, commit_required = true, agent_template = true, worktree = true }

local function import(source)
	local out, problems = prodigy.read(source, "theirs.yml")
	assert(out, problems and problems[1] and problems[1].message)
	assert.same({}, out.problems, out.text)
	local notes = {}
	for _, note in ipairs(out.notes) do
		notes[#notes + 1] = not ONCE[note.key] and ("%d %s"):format(note.line, note.key) or nil
	end
	local body = out.text:gsub("# claude: prodigy skips[^\n]*\n", ""):gsub("# commit_required: besides[^\n]*\n", "")
		:gsub("# agent_template: what[^\n]*\n", "")
		:gsub("# worktree: prodigy works[^\n]*\n", ""):gsub("claude:\n  output: stream%-json\n", "")
	return body, notes, out.notes
end

local function becomes(theirs, ours, notes)
	local body, said = import(theirs)
	assert.equal("name: theirs\n" .. ours, body)
	assert.same(notes or {}, said)
end

describe("a file of prodigy", function()
	it("may be a list of steps, whose comments stay", function()
		becomes([[
- shell: echo one
# and then
- shell: "echo two  # not a comment"
]], [[
commands:
  - shell: echo one
  # and then
  - shell: "echo two  # not a comment"
]])
	end)

	it("has arguments, which become a variable that the caller gives", function()
		becomes([[
commands:
  - claude: "/implement $ARG"
  - shell: "echo $ARG ${ARG} $HOME ${HOME:-/}"
]], [[
vars:
  ARG:
commands:
  - claude: /implement ${ARG}
  - shell: echo ${ARG} ${ARG} $HOME ${HOME:-/}
]])
	end)

	it("has an environment: what a prompt uses is a variable, too, since no shell reads it", function()
		becomes([[
env:
  PROJECT: demo
  DEBUG: "false"
  TOKEN: { secret: true, value: "${GITHUB_TOKEN}" }
secrets:
  KEY: "${env:API_KEY}"
  FILE: { provider: file, key: key.txt }
  OPEN: letters
env_files:
  - .env
commands:
  - claude: "/plan $PROJECT ${PROJECT} $OTHER $HOME $5 A=1 $A"
  - shell: "echo $PROJECT ${DEBUG}"
]], [[
vars:
  PROJECT: demo
  OTHER:
env_files:
  - .env
secrets:
  TOKEN:
    env: GITHUB_TOKEN
  KEY:
    env: API_KEY
env:
  PROJECT: ${PROJECT}
  DEBUG: "false"
commands:
  # secrets.FILE is left out: take it from the environment, or from a file
  # secrets.OPEN is left out: take it from the environment, or from a file
  # $OTHER: nothing sets it here; it is the variable OTHER now, which --var gives
  - claude: /plan ${PROJECT} ${PROJECT} ${OTHER} $HOME $5 A=1 $A
  - shell: echo $PROJECT ${DEBUG}
]], { "7 secrets.FILE is left out", "8 secrets.OPEN is left out", "12 $OTHER" })
	end)

	it("has parameters, which are variables with types", function()
		becomes([[
parameters:
  required:
    - { name: target, type: String, description: Where to, validation: "matches('^d')" }
    - version
  optional:
    - { name: port, type: number, default: 80 }
    - { name: hosts, type: Array, default: [a] }
    - { name: dry, type: boolean, default: false }
    - { name: debug, type: boolean }
    - { name: env, type: string }
commands:
  - shell: deploy ${target} ${version} ${port} ${hosts} $debug
]], [[
vars:
  target:
    description: Where to
    type: string
  version:
    type: string
  port:
    type: number
    default: 80
  hosts:
    type: json
    default:
      - a
  dry:
    type: boolean
    default: false
  debug:
    type: boolean
commands:
  # validation is left out: write pattern, min or max
  # debug: it has no default, so a run needs it here
  # parameters is left out: 'env' can't be a variable here
  - shell: deploy ${target} ${version} ${port} ${hosts} ${debug}
]], { "3 validation is left out", "9 debug", "10 parameters is left out" })
	end)

	it("has values that a command or a condition gives: captured first, or asked for", function()
		local body, notes = import([[
env:
  CPUS: { command: nproc, cache: true }
  STAGE: { condition: "${branch} == 'main'", when_true: a, when_false: b }
commands:
  - shell: echo $CPUS $STAGE
]])
		assert.equal([[
name: theirs
vars:
  STAGE:
commands:
  - shell: nproc
    capture_output: CPUS
  # env.STAGE is left out: a value that depends on a condition: --var gives it
  - shell: echo ${CPUS} ${STAGE}
]], body)
		assert.same({ "3 env.STAGE is left out" }, notes)
	end)

	it("has scripts that go on after a command that fails", function()
		local body = import("- shell: |\n    false\n    echo x\n")
		assert.truthy(body:find("\nerrexit: false\n", 1, true))
		assert.falsy(import("- shell: 'false'\n"):find "errexit")
	end)

	it("has parts that are left, each with its line", function()
		local _, notes = import([[
name: parts
profiles:
  dev: { DEBUG: "true" }
merge:
  - shell: git push
imports: [other.yml]
commands:
  - analyze:
      save: true
  - shell: make
    analysis: { max_cache_age: 300 }
    clear_env: true
    nonsense: 1
  - claude: /x
    args: ["$A"]
  - foo: bar
]])
		assert.same({ "2 profiles is left out", "6 imports is left out", "8 analyze is left out",
			"11 analysis is left out", "12 clear_env is left out", "13 nonsense is left out", "15 args is left out", "16 foo is left out" }, notes)
	end)

	it("has steps that can't be said: one that fails is in their place, before what follows them", function()
		becomes([[
- goal_seek: { goal: faster, command: make bench }
- test: { command: make test }
- it is done: yes
- shell: git push
]], [[
commands:
  # goal_seek is left out: write its command as a step with `check`, `threshold` and `repair`; a step that fails is in its place
  - shell: "echo 'goal_seek was not imported: write its command as a step with `check`, `threshold` and `repair`' >&2; exit 1"
  # test is left out: write its command as `shell`; a step that fails is in its place
  - shell: "echo 'test was not imported: write its command as `shell`' >&2; exit 1"
  # it is done is left out: it has none of prodigy's commands; a step that fails is in its place
  - shell: "echo 'it is done was not imported: it has none of prodigy'\\''s commands' >&2; exit 1"
  - shell: git push
]], { "1 goal_seek is left out", "2 test is left out", "3 it is done is left out" })
	end)

	it("is refused where it is no YAML, or has no steps", function()
		for _, source in ipairs { "- a: [", "commands: []", "", "hello", "mode: mapreduce\nmap: {}\n", "a: 1\na: 2\n" } do
			local out, problems = prodigy.read(source, "theirs.yml")
			assert.is_nil(out)
			assert.is_number(problems[1].line)
		end
	end)
end)

describe("a step of prodigy", function()
	it("with commit_required has a check", function()
		becomes([[
- claude: /code
  commit_required: true
- claude: /lint
  commit_required: false
]], [[
commands:
  - claude: /code
    check:
      - commit: true
  - claude: /lint
]])
	end)

	it("with on_failure and attempts is repaired, and passed over where fail_workflow is false", function()
		becomes([[
- shell: just test
  on_failure:
    claude: "/fix --output ${shell.output} ${shell.stderr}"
    max_attempts: 5
    commit_required: true
    fail_workflow: false
- shell: just lint
  capture_output: found
  on_failure:
    claude: "/lint '${found}'"
    fail_workflow: true
]], [[
commands:
  - shell: just test
    repair:
      steps:
        - claude: /fix --output ${attempt.output} ${attempt.error}
          check:
            - commit: true
      max: 5
    on_failure: continue
  - shell: just lint
    capture_output: found
    repair:
      steps:
        - claude: /lint '${attempt.output}'
      max: 3
]])
	end)

	it("with on_failure alone, or with hooks in it, has steps that run after the failure", function()
		becomes([[
- shell: make
  on_failure: { shell: echo skipped }
- shell: make
  on_failure:
    - shell: "echo ${shell.output}; exit 1"
- shell: make
  on_failure:
    claude: /fix
    on_success:
      shell: make
- shell: make
  on_failure: true
- shell: make
  on_failure: { fail_workflow: true }
- shell: make
  on_success:
    shell: echo good
]], [[
errexit: false
commands:
  - shell: make
    on_failure:
      steps:
        - shell: echo skipped
      then: continue
  - shell: make
    on_failure:
      steps:
        - shell: echo ${shell.output}; exit 1
      then: continue
  - shell: make
    on_failure:
      steps:
        - claude: /fix
          on_success:
            - shell: make
      then: continue
  - shell: make
    on_failure: continue
  - shell: make
  - shell: make
    on_success:
      - shell: echo good
]])
	end)

	it("that is validated has a check with a threshold, and a repair", function()
		becomes([[
- claude: /code
  commit_required: true
  validate:
    claude: "/judge --output .out/r.json"
    result_file: .out/r.json
    threshold: 90
    timeout: 60
    on_incomplete:
      claude: "/complete --gaps ${validation.gaps} ${validation.attempt_number}"
      max_attempts: 4
      fail_workflow: false
      commit_required: true
]], [[
commands:
  - claude: /code
    check:
      - commit: true
      - claude: /judge --output .out/r.json
        timeout: 60
      - shell: cat .out/r.json
        threshold:
          completion_percentage: 90
    repair:
      steps:
        - claude: /complete --gaps ${check.data.gaps} ${attempt.repair}
          check:
            - commit: true
      max: 4
    on_failure: continue
]])
	end)

	it("that is validated by several commands, by a list, or without a file", function()
		becomes([[
- claude: /a
  validate:
    commands:
      - shell: make report
      - claude: /judge
    on_incomplete:
      commands:
        - claude: /complete
        - shell: make report
- claude: /b
  validate:
    - shell: make test
- claude: /c
  validate: { shell: make report, threshold: 80, expected_schema: { type: object } }
]], [[
commands:
  - claude: /a
    check:
      - shell: make report
      - claude: /judge
        answer: json
        threshold:
          completion_percentage: 100
    repair:
      steps:
        - claude: /complete
        - shell: make report
      max: 2
  - claude: /b
    check:
      - shell: make test
  - claude: /c
    check:
      # expected_schema is left out: put `schema` on the claude step
      - shell: make report
        threshold:
          completion_percentage: 80
]], { "14 expected_schema is left out" })
	end)

	it("that is validated, and has a handler that can't be kept, fails where its validation does", function()
		local body, notes = import([[
- claude: /code
  validate:
    shell: make test
    on_incomplete: { claude: /complete, fail_workflow: true }
  on_failure: { claude: /fix }
]])
		assert.falsy(body:find "on_failure: continue")
		assert.same({ "5 handler is left out" }, notes)
	end)

	it("captures: members of what it captured are those of its result", function()
		becomes([[
- shell: cat package.json
  capture: info
  capture_format: json
- shell: make
  capture_output: build
  capture_streams: { stderr: true }
  allow_failure: true
- shell: echo ${info.name} ${build.success} ${build.exit_code} ${build}
  when: "${build.success} && ${info.ready} == true"
]], [[
commands:
  - id: info
    shell: cat package.json
    capture_output: info
  - id: build
    shell: make
    capture_output: build
    on_failure: continue
  - shell: echo ${steps.info.data.name} ${steps.build.ok} ${steps.build.status} ${build}
    when: ${steps.build.ok} && ${steps.info.data.ready} == true
]])
	end)

	it("captures: what is not kept of a step is asked for, and said", function()
		local body, notes = import("- shell: make\n  capture: out\n- shell: echo ${out.stderr} ${out.duration} ${out%.c}\n")
		assert.truthy(body:find("vars:\n  out_duration:\n  out_stderr:\n", 1, true), body)
		assert.truthy(body:find("- shell: echo ${out_stderr} ${out_duration} ${out}\n", 1, true), body)
		assert.same({ "3 ${out%.c}", "3 ${out.duration}", "3 ${out.stderr}" }, notes)
	end)

	it("has an argument with a default, which is the variable's", function()
		becomes("- claude: /plan ${ARG:-all}\n- shell: echo $ARG\n", "vars:\n  ARG: all\ncommands:\n  - claude: /plan ${ARG}\n"
			.. "  - shell: echo ${ARG}\n")
		local _, notes = import "- claude: /plan $ARG\n- claude: /plan ${ARG:-all}\n- shell: echo ${ARG:+x}\n"
		assert.same({ "2 ${ARG:-all}", "3 ${ARG:+x}" }, notes)
	end)

	it("declares outputs, which git is asked for; and reads what a step has added", function()
		becomes([[
- claude: /spec
  id: spec
  outputs:
    file: { file_pattern: "*-spec.md" }
- claude: /implement ${spec.file}
- claude: /judge ${step.files_added:specs/*.md} ${workflow.commits}
]], [[
commands:
  - shell: git rev-parse HEAD
    capture_output: start_commit
  - id: spec
    claude: /spec
  - shell: git log -1 --format= --name-only --diff-filter=AM -- '*-spec.md'
    capture_output: spec_file
  - claude: /implement ${spec_file}
  - shell: git diff --name-only --diff-filter=A HEAD~1 HEAD -- 'specs/*.md'
    capture_output: files_added
  - shell: git log --format=%H ${start_commit}..HEAD
    capture_output: workflow_commits
  - claude: /judge ${files_added} ${workflow_commits}
]])
	end)

	it("says what happens by exit code, in names, files, retries and old spellings", function()
		becomes([[
- shell: make bench
  timeout: 90
  on_exit_code:
    0: { shell: echo good }
    101: { claude: /fix }
- name: build it
  shell: make
  working_dir: "${env.DIR}"
  env: { A: "1" }
  retry: { attempts: 3, backoff: fixed, initial_delay: 2s }
- prodigy-lint
- name: review
  args: [all]
  options: { depth: 3 }
- write_file:
    path: out/r.json
    content: "it's ${env.X}"
    create_dirs: true
    mode: "0600"
- name: lint
  metadata: { continue_on_error: true, timeout: 9 }
]], [[
commands:
  - id: shell_step
    shell: make bench
    timeout: 90
    on_failure:
      - claude: /fix
        when: ${steps.shell_step.status} == 101
    on_success:
      - shell: echo good
  - name: build it
    shell: make
    env:
      A: "1"
    working_dir: ${env.DIR}
    retry:
      backoff: constant
      initial_delay: 2s
      max_attempts: 2
  - claude: /prodigy-lint
  - claude: /review all --depth 3
  - shell: |-
      mkdir -p "$(dirname "out/r.json")"
      printf '%s\n' 'it'\''s ${env.X}' >"out/r.json"
      chmod 0600 "out/r.json"
  - claude: /lint
    timeout: 9
    on_failure: continue
]])
	end)

	it("reads what nothing sets: the caller gives it", function()
		becomes([[
- claude: "/merge ${merge.source_branch} ${depth:-3} ${steps"
- shell: "echo ${merge.source_branch} ${x} ${a[@]} ${#a} ${b%.c}"
]], [[
vars:
  depth: "3"
  merge_source_branch:
commands:
  # ${merge.source_branch}: known in `merge` alone; it is the variable merge_source_branch now, which --var gives
  # ${depth:-3}: nothing sets it here; it is the variable depth now
  - claude: /merge ${merge_source_branch} ${depth} $${steps
  - shell: echo ${merge_source_branch} ${x} ${a[@]} ${#a} ${b%.c}
]], { "1 ${depth:-3}", "1 ${merge.source_branch}" })
	end)

	it("loops: over a list, or over what a command prints", function()
		becomes([[
- foreach:
    foreach: [a, b]
    parallel: 2
    do:
      - shell: echo ${item} ${index}
- foreach:
    foreach: "find . -name '*.rs'"
    max_items: 3
    continue_on_error: true
    do:
      - shell: wc -l ${item}
]], [[
commands:
  - foreach:
      - a
      - b
    parallel: 2
    do:
      - shell: echo ${item} ${item_index}
  - id: items
    shell: find . -name '*.rs'
  - foreach: ${steps.items.output}
    limit: 3
    continue_on_error: true
    do:
      - shell: wc -l ${item}
]])
	end)
end)

describe("a mapreduce of prodigy", function()
	it("is a loop over a file, with steps before and after it", function()
		becomes([[
mode: mapreduce
setup:
  timeout: 900
  commands:
    - shell: make items
map:
  input: items.json
  json_path: "$.items[*]"
  agent_template:
    - claude: "/fix '${item}' --file ${item.location.file} -o plan-${item_id}.md"
      commit_required: true
    - shell: make test
      on_failure:
        claude: "/debug ${shell.output}"
        max_attempts: 2
        fail_workflow: true
  max_parallel: 5
  filter: "File.score >= 10 OR severity == 'high' && !done"
  sort_by: "File.score DESC NULLS LAST, id"
  max_items: 10
  agent_timeout_secs: 300
reduce:
  - claude: "/report ${map.results} ${map.successful}/${map.total}, ${map.failed} failed"
error_policy:
  on_item_failure: dlq
  continue_on_failure: true
  max_failures: 2
  error_collection: aggregate
]], [[
commands:
  - shell: make items
    timeout: 900
  - id: map
    foreach:
      file: items.json
      path: $.items[*]
    where: item.File.score >= 10 or item.severity == 'high' && !item.done
    sort:
      - item.File.score desc
      - item.id
    limit: 10
    parallel: 5
    worktree:
      merge: true
    max_failures: 1
    do:
      - claude: /fix '${item}' --file ${item.location.file} -o plan-item_${item_index}.md
        timeout: 300
        check:
          - commit: true
      - shell: make test
        timeout: 300
        repair:
          steps:
            - claude: /debug ${attempt.output}
              timeout: 300
          max: 2
  - claude: /report ${steps.map.data} ${steps.map.succeeded}/${steps.map.total}, ${steps.map.failed} failed
]])
	end)

	it("is merged at its end, by steps that work in the worktree of the run, which merges what they have not", function()
		becomes([[
commands:
  - claude: /implement
merge:
  commands:
    - shell: git fetch; echo ${merge.worktree} ${merge.session_id}
    - claude: "/merge ${merge.source_branch} ${merge.target_branch}"
      on_failure:
        claude: "/mend ${merge.source_branch} ${claude.output}"
        max_attempts: 2
        fail_workflow: true
  timeout: 600
]], [[
worktree:
  merge: true
errexit: false
commands:
  - claude: /implement
  - shell: git fetch; echo ${worktree.path} ${run.id}
    timeout: 600
  - claude: /merge ${worktree.branch} ${worktree.into}
    timeout: 600
    repair:
      steps:
        - claude: /mend ${worktree.branch} ${attempt.output}
          timeout: 600
      max: 2
]])
		local body, _, notes = import("- claude: a\n")
		assert.falsy(body:find "worktree")
		assert.equal("worktree", notes[2].key)
		assert.equal(1, #select(3, import("commands: [ { claude: a } ]\nmerge: [ { shell: b } ]\n")))
		assert.same({}, select(3, import("- shell: a\n")))
	end)

	it("may run over what a command prints, side by side where nothing is changed", function()
		becomes([[
mode: mapreduce
map:
  input: "find src -name '*.c'"
  max_parallel: ${AT_ONCE}
  agent_template:
    commands:
      - shell: wc -l ${item}
env: { AT_ONCE: "4" }
error_policy: { max_failures: 2 }
]], [[
env:
  AT_ONCE: "4"
commands:
  - id: items
    shell: find src -name '*.c'
  - id: map
    foreach: ${steps.items.output}
    parallel: 4
    max_failures: 1
    do:
      - shell: wc -l ${item}
]])
		local body, notes = import("mode: mapreduce\nmap:\n  input: 'echo [{}]'\n  json_path: $.a.b[*]\n  agent_template: [ { shell: a } ]\n"
			.. "error_policy: { on_item_failure: stop, failure_threshold: 0.29 }\n")
		assert.truthy(body:find("foreach: ${steps.items.data.a.b}", 1, true))
		assert.falsy(body:find "continue_on_error")
		assert.truthy(body:find("max_failures: 29%", 1, true))
		assert.same({}, notes)
		notes = select(2, import("map: { input: a, agent_template: [ { shell: a } ] }\nerror_policy: { failure_threshold: 2 }\n"))
		assert.same({ "2 failure_threshold is left out" }, notes)
		local _, others = import("mode: mapreduce\nmap: { input: a.json, agent_template: [ { shell: a } ] }\n"
			.. "error_policy: { on_item_failure: retry }\n")
		assert.same({ "3 on_item_failure is left out" }, others)
	end)

	it("asks for a filter or a path that can't be said, rather than choose all, or none", function()
		local body, notes = import([[
mode: mapreduce
map:
  input: ${DIR}/items.json
  json_path: "$..items"
  filter: "path matches '\\.rs$'"
  distinct: id
  agent_template:
    - shell: echo ${item.path}
env: { DIR: out }
]])
		assert.truthy(body:find("where: (json_path_to_write) and (filter_to_write)", 1, true))
		assert.truthy(body:find "\n  filter_to_write:\n" and body:find "\n  json_path_to_write:\n")
		assert.truthy(body:find("foreach:\n      file: ${DIR}/items.json\n      path: $[*]\n", 1, true))
		assert.same({ "4 json_path is left out", "5 filter is left out", "6 distinct is left out" }, notes)
		body = import "mode: mapreduce\nmap:\n  input: a.json\n  json_path: \"$.items[?(@.n > 2)]\"\n  agent_template: [ { shell: a } ]\n"
		assert.truthy(body:find("where: item.n > 2", 1, true))
	end)

	it("reads lines of JSON as a list, since lines of a file have no members", function()
		local body, notes = import("mode: mapreduce\nmap:\n  input: ${DIR}/a.jsonl\n  filter: n > 2\n"
			.. "  agent_template: [ { shell: 'echo ${item.n}' } ]\nenv: { DIR: out }\n")
		assert.truthy(body:find("' \\\"${DIR}/a.jsonl\\\"\"\n", 1, true), body)
		assert.truthy(body:find("foreach: ${steps.items.data}\n    where: item.n > 2\n", 1, true), body)
		assert.falsy(body:find "errexit")
		assert.same({}, notes)
		body = import("mode: mapreduce\nmap: { input: 'make list', sort_by: n, agent_template: [ { shell: a } ] }\n")
		assert.truthy(body:find("foreach: ${steps.items.data}", 1, true))
	end)
end)

describe("the table of keys", function()
	it("has a section for each part, and names no key twice in it", function()
		for _, section in ipairs(import_keys.sections) do
			local known = {}
			for _, row in ipairs(section) do
				for key in row[1]:gmatch "%S+" do
					assert.is_nil(known[key], section.name .. "." .. key)
					known[key] = true
				end
				assert.truthy(row[2] or row[3], section.name .. "." .. row[1])
			end
		end
	end)

	it("is kept by a file with each key of it: every one is imported, or said to be left", function()
		for _, section in ipairs { "step", "file", "map" } do
			for key, row in pairs(import_keys.named[section]) do
				if not row[2] then
					local source = section == "step" and ("- shell: a\n  %s: {}\n"):format(key)
						or section == "file" and ("commands: [ { shell: a } ]\n%s: {}\n"):format(key)
						or ("mode: mapreduce\nmap: { input: a.json, agent_template: [ { shell: a } ], %s: 1 }\n"):format(key)
					if key == "analyze" then
						source = "- shell: a\n- analyze: {}\n"
					end
					local _, notes = import(source)
					assert.truthy(table.concat(notes, "\n"):find(key .. " is left out", 1, true), key)
				end
			end
		end
	end)
end)

-- Where a section's map stands in a file; %s: its entries, in flow.
local PLACES = {
	file = { "{ commands: [ { shell: a } ], %s }", "{ mode: mapreduce, map: { input: a.json, agent_template: [ { shell: a } ] }, %s }",
		"{ %s }" },
	phase = { "{ setup: { %s }, commands: [ { shell: a } ] }" },
	map = { "{ map: { input: a.json, agent_template: [ { claude: a } ], %s } }", "{ map: { %s } }" },
	policy = { "{ map: { input: a, agent_template: [ { shell: a } ] }, error_policy: { %s } }" },
	step = { "[ { claude: a, id: i, %s } ]", "[ { shell: a, %s } ]", "[ { %s } ]" },
	validate = { "[ { claude: a, validate: { %s } } ]", "[ { claude: a, validate: { result_file: f, %s } } ]" },
	handler = { "[ { shell: a, on_failure: { claude: b, %s } } ]",
		"[ { shell: a, validate: { shell: b, on_incomplete: { claude: b, %s } } } ]",
		"[ { shell: a, on_failure: { %s } } ]" },
	retry = { "[ { shell: a, retry: { %s } } ]" },
	foreach = { "[ { foreach: { foreach: [a], do: [ { shell: a } ], %s } } ]", "[ { foreach: { %s } } ]" },
}

local VALUES = { "~", "''", "text", "7", "-1", "1e300", "true", "[]", "[a, b]",
	"[{ shell: b }]", "[[a]]", "{}", "{ a: b }",
	"{ shell: b }", "{ commands: [ { claude: /c } ] }", "'${x.y} $ARG ${'", "{ claude: [a] }", "{ foreach: 3, do: 4 }" }

describe("whatever a key has as its value", function()
	for _, section in ipairs(import_keys.sections) do
		it(("%s: the file is imported, with what the check says of it, or is refused with a line"):format(section.name), function()
			local read = 0
			for key in pairs(import_keys.named[section.name]) do -- without those of a step that it may have, too
				for _, place in ipairs(PLACES[section.name]) do
					for _, value in ipairs(VALUES) do
						local source = place:format((key .. ": " .. value):gsub("%%", "%%%%"))
						local ok, out, problems = pcall(prodigy.read, source, "theirs.yml")
						assert.is_true(ok, source .. ": " .. tostring(out))
						assert.is_true(out ~= nil or problems[1].line ~= nil, source)
						read = read + (out and not out.problems[1] and 1 or 0)
					end
				end
			end
			assert.is_true(read > 10)
		end)
	end
end)

describe("the text that is written", function()
	local ODD = {
		"", " a", "a ", "a: b", "a #b", "#a", "- a", "-", "a:", "yes", "null", "~", "1", "1.5", "0x1", "1_000",
		"2026-01-01", "true", "'", '"', "a'b\"c", "\\", "a\nb", "a\nb\n", "a\n\n", "\n", "\n\na", " a\nb",
		"a\n b\n\n  c\n", "\ta\nb", "a\tb", "a\rb\n", "\27[0m", "é\n😀", "[a", "{a", "a, b", "*a", "&a", "!a", "%a",
		"@a", "`a", "| a", "> a", "? a", "---", "...", "a\n---\nb\n", "<<", "=", "on", "${a}", "a\n# b\n", "   ",
		"a  \nb  \n", "\194\160a", "\194\133", "a\226\128\168b", "\226\128\168\na", "\239\187\191a",
	}

	it("is read as what it was, whatever a text holds", function()
		for _, value in ipairs(ODD) do
			local ours = { name = { k = value, list = { value, 1, true }, none = json.null },
				commands = { { shell = value, [value] = "x" }, { value } } }
			local out = writer.document(ours, function() return 1 end, {})
			local root, problems = yaml.parse(out)
			assert.same({}, problems, out)
			local read = yaml.value(root)
			assert.equal(value, read.name.k, out)
			assert.equal(json.null, read.name.none, out)
			assert.same({ value, 1, true }, { table.unpack(read.name.list) }, out)
			assert.equal(value == "shell" and "x" or value, read.commands[1].shell, out)
			assert.equal("x", read.commands[1][value], out)
			assert.equal(value, read.commands[2][1], out)
		end
	end)

	it("has no comment that a text could end", function()
		local body, notes = import("- shell: a\n  \"x\\ny: 1\": 2\n- description: \"a\\nb: c\"\n  shell: b\n")
		assert.equal("name: theirs\ncommands:\n  # x\n  # y: 1 is left out: prodigy has no such key\n  - shell: a\n  # a\n  # b: c\n"
			.. "  - shell: b\n", body)
		assert.same({ "2 x\ny: 1 is left out" }, notes)
		assert.truthy(reader.parse(body, "x.yaml"))
	end)
end)
