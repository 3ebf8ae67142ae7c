#!/usr/bin/env bats
# workflow import: files of prodigy become files that pass check, and run with a stand-in for claude as theirs were meant to.

load lib/workflow

imported() {
	call workflow import theirs.yml --output ours.yaml
	envelope 0
	expect 'e.data.valid is True and e.data.effect == "created" and e.data.output == "ours.yaml"'
	call workflow check ours.yaml
	envelope 0
}

repository() {
	git init -q
	git config user.email ada@example.org
	git config user.name Ada
	printf '/*\n!/src\n' >.gitignore
	mkdir -p src
	echo first >src/first
	git add -f .gitignore src
	git commit -qm first
}

COMMITS='echo x >>src/work; git add src; git commit -qm work; echo done'

@test "a file whose step has to commit runs, and fails where nothing is committed" {
	cat >theirs.yml <<-'YAML'
		- claude: "/implement $ARG"
		  commit_required: true
		- shell: echo "with $ARG"
	YAML
	imported
	repository
	turns "$COMMITS" 'echo did nothing'
	call workflow run ours.yaml --var 'ARG=a; b'
	envelope 0
	expect '[s.get("output") for s in e.data.steps][-1] == "with a; b"'
	grep -qx '/implement a; b' claude/calls/1/argv
	call workflow run ours.yaml --var ARG=x
	envelope 84
	expect '"no new commit" in e.error.message'
	call workflow run ours.yaml
	envelope 2
}

@test "tests that fail are repaired as often as they said, and a failure that they pass over is a warning" {
	cat >theirs.yml <<-'YAML'
		- shell: "echo broken; [ $(wc -l <fixes) -ge 2 ]"
		  on_failure:
		    claude: "/fix ${shell.output}"
		    max_attempts: 3
		    fail_workflow: false
		- shell: echo after
	YAML
	imported
	: >fixes
	turns 'echo fix >>fixes; echo done'
	call workflow run ours.yaml
	envelope 0
	[ "$(calls)" = 2 ]
	grep -qx '/fix broken' claude/calls/2/argv
	: >fixes
	turns 'echo nothing'
	call workflow run ours.yaml
	envelope 0
	[ "$(calls)" = 5 ]
	expect '[w.code for w in e.warnings] == ["PASSED_OVER"]'
	expect '[s.get("output") for s in e.data.steps][-1] == "after"'
}

@test "a validation's gaps reach the command that completes, until the threshold is met" {
	cat >theirs.yml <<-'YAML'
		commands:
		  - claude: /implement
		    validate:
		      claude: /validate --output result.json
		      result_file: result.json
		      threshold: 100
		      on_incomplete:
		        claude: "/complete --gaps ${validation.gaps}"
		        max_attempts: 5
		        fail_workflow: true
	YAML
	imported
	turns -p '/validate --output result.json' 'echo "{\"completion_percentage\": 60, \"gaps\": {\"a\": 1}}" >result.json; echo done' \
		'echo "{\"completion_percentage\": 100, \"gaps\": {}}" >result.json; echo done'
	call workflow run ours.yaml
	envelope 0
	[ "$(calls)" = 4 ]
	grep -qx '/complete --gaps {"a":1}' claude/calls/3/argv
}

@test "a mapreduce is a loop over the items that its filter chooses, in its order, and what is reduced has the counts" {
	cat >theirs.yml <<-'YAML'
		name: debts
		mode: mapreduce
		setup:
		  - shell: |
		      cat >items.json <<'EOF'
		      { "items": [ { "id": "a", "score": 3 }, { "id": "b", "score": 12 }, { "id": "c" }, { "id": "d", "score": 20 },
		        { "id": "e", "high": { "score": 15 } } ] }
		      EOF
		map:
		  input: items.json
		  json_path: "$.items[*]"
		  filter: "score >= 10 OR high.score >= 10"
		  sort_by: "score DESC NULLS LAST"
		  max_items: 3
		  max_parallel: 4
		  agent_template:
		    - claude: "/fix ${item.id}"
		    - shell: "[ ${item.id} != b ]"
		reduce:
		  - claude: "/report ${map.successful}/${map.total}, ${map.failed} failed"
	YAML
	imported
	expect 'e.warnings == []'
	sed -i 's/^    parallel: 4$/    parallel: 1/' ours.yaml # in a known order
	repository
	call workflow run ours.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["PASSED_OVER"]'
	[ "$(calls)" = 4 ]
	local n prompts=(d b e)
	for n in 1 2 3; do
		grep -qx "/fix ${prompts[n - 1]}" "claude/calls/$n/argv"
	done
	grep -qx '/report 2/3, 1 failed' claude/calls/4/argv
}

@test "agents side by side are merged into the worktree of the run, and that into the branch, as they were; what failed stays out" {
	cat >theirs.yml <<-'YAML'
		name: agents
		mode: mapreduce
		setup:
		  - shell: echo '["a", "b", "c"]' >items.json
		map:
		  input: items.json
		  json_path: "$[*]"
		  max_parallel: 3
		  agent_template:
		    - name: fix it
		      shell: echo ${item} >>src/${item}; git add src; git commit -qm ${item}
		    - shell: "[ ${item} != b ]"
		reduce:
		  - claude: /report
		    commit_required: true
		merge:
		  - shell: echo "${merge.source_branch} to ${merge.target_branch}"
	YAML
	imported
	repository
	local branch
	branch=$(git symbolic-ref --short HEAD)
	turns "$COMMITS"
	call workflow run ours.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["PASSED_OVER"]'
	expect '[s.get("output") for s in e.data.steps][-1].endswith("/worktree to '"$branch"'")'
	[ "$(git log --format=%s --no-merges | LC_ALL=C sort | xargs)" = "a c first work" ]
	[ "$(find src -mindepth 1 -printf "%f\n" | LC_ALL=C sort | xargs)" = "a c first work" ]
	[ ! -e items.json ]
	[ "$(git status --porcelain)" = "" ]
}

@test "what is left is said with its line, in the answer, as a warning and in the file" {
	cat >theirs.yml <<-'YAML'
		- analyze: { save: true }
		- shell: make
		  clear_env: true
	YAML
	call workflow import theirs.yml
	envelope 0
	expect '[(c.line, c.key) for c in e.data.changed] == [(1, "analyze is left out"), (3, "clear_env is left out")]'
	expect '[w.code for w in e.warnings] == ["IMPORT_CHANGED"] * 2 and e.warnings[1].message.startswith("theirs.yml:3:3: clear_env")'
	expect '"# clear_env is left out: " in e.data.workflow and e.data.effect == "noop"'
	call workflow import theirs.yml --format plain
	[ "$status" = 0 ]
	[ "$(head -n 1 out.txt)" = "name: theirs" ]
}

@test "what can't be said never runs as a success: a filter is asked for, and a step fails before what follows it" {
	cat >theirs.yml <<-'YAML'
		mode: mapreduce
		map:
		  input: items.jsonl
		  filter: "path matches 'x'"
		  agent_template: [{ shell: "echo ${item.path} >>effects" }]
		reduce:
		  - goal_seek: { goal: faster }
		  - shell: echo pushed >>effects
	YAML
	printf '{"path": "a"}\n\n{"path": "b"}\n' >items.jsonl
	imported
	call workflow run ours.yaml
	envelope 2
	grep -qF filter_to_write out.txt
	[ ! -e effects ]
	sed -i 's/where: filter_to_write/where: item.path == "b"/; s/^  filter_to_write:/  filter_to_write: x/' ours.yaml
	call workflow run ours.yaml
	envelope 1
	expect '"goal_seek was not imported" in e.error.message'
	effects b
}

@test "a file that is none of prodigy's, and an output that exists, are refused; nothing is written" {
	echo 'commands: [' >theirs.yml
	call workflow import theirs.yml --output ours.yaml
	envelope 2
	expect 'e.error.code == "WORKFLOW_INVALID" and "theirs.yml:" in e.error.message'
	call workflow import none.yml --output ours.yaml
	envelope 2
	expect 'e.error.code == "FILE_NOT_FOUND"'
	[ ! -e ours.yaml ]
	echo '- shell: make' >theirs.yml
	echo mine >ours.yaml
	call workflow import theirs.yml --output ours.yaml
	envelope 6
	expect 'e.error.code == "ALREADY_EXISTS"'
	[ "$(cat ours.yaml)" = mine ]
}
