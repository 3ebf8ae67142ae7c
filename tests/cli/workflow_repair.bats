#!/usr/bin/env bats
# A step with a check and a repair, and blocks of steps: what runs when, what it sees of the failure, and where a
# resumed run goes on.

load lib/workflow

# The keys of the steps that ran, in their order, without those of hooks.
keys() {
	[ "$(sql "select key from steps order by position" | tr '\n' ' ')" = "$* " ] || { sql "select key, state from steps order by position" >&2; return 1; }
}

@test "a step counts as done when its check passes; what it left is there for the check" {
	ran <<-'YAML'
		  - { id: a, shell: "echo made", check: [{ shell: '[ "${steps.a.output}" = made ]' }, { shell: '[ "${attempt.output}" = made ]' }] }
		  - shell: echo "after ${steps.a.output}"
	YAML
	envelope 0
	keys a a.do a.check.1 a.check.2 2
	expect '[(s.key, s.state, s.get("output")) for s in e.data.steps if s.key in ("a.do", "2")] == [("a.do", "completed", "made"), ("2", "completed", "after made")]'
	expect '[s.get("repairs") for s in e.data.steps if s.kind == "steps"] == [0]'
}

@test "a check that fails is CHECK_FAILED, permanent; nothing of the check is tried again, and on_failure follows" {
	ran <<-'YAML'
		  - id: a
		    shell: echo a >>effects
		    check: { shell: "echo check >>effects; echo 'not good' >&2; exit 1" }
		    retry: { delays: [10ms, 10ms] }
		    on_failure: { shell: echo hook >>effects }
		  - shell: echo never >>effects
	YAML
	envelope 84
	expect 'e.error.code == "CHECK_FAILED" and e.error.retryable is False and "not good" in e.error.message'
	expect 'e.error.context.step_key == e.data.failed_step == "a" and e.error.context.check == "a.check.1"'
	effects a check hook
}

@test "a repair sees why the check failed and what the step printed; the check runs again, at most max times" {
	echo 0 >so_far
	ran <<-'YAML'
		  - id: a
		    shell: echo made
		    check: { shell: "cat so_far; grep -q 3 so_far || { echo bad $(cat so_far) >&2; exit 1; }" }
		    repair:
		      steps:
		        - shell: echo "${attempt.output}/${attempt.error}/${check.output}/${attempt.code}" >>effects; wc -l <effects >so_far
		      max: 5
	YAML
	envelope 0
	[ "$(cat effects)" = "made/bad 0/0/CHECK_FAILED
made/bad 1/1/CHECK_FAILED
made/bad 2/2/CHECK_FAILED" ]
	expect '[s.repairs for s in e.data.steps if s.kind == "steps"] == [3]'
	[ "$(messages step.repair | head -n 1)" = "The check of step a failed: Shell command exited with status 1: bad 0; repair 1 of 5" ]
}

@test "a repair sees the data of the check that failed, by its threshold or by itself" {
	ran <<-'YAML'
		  - shell: echo made
		    check: { shell: "cat r.json 2>/dev/null || echo '{\"score\": 1, \"gaps\": [\"a\"]}'", threshold: 3 }
		    repair: { shell: "echo '${check.data.gaps.0} ${check.data.score}' >>effects; echo '{\"score\": 4}' >r.json" }
		  - shell: echo made
		    check: { shell: "[ -e done ] || { echo '{\"left\": 7}'; exit 1; }" }
		    repair: { shell: "echo ${check.data.left} >>effects; : >done" }
	YAML
	envelope 0
	[ "$(cat effects)" = "a 1
7" ]
}

@test "a step that fails is repaired, and runs again where there is no check; when repairs run out its own error stays" {
	ran <<-'YAML'
		  - id: a
		    shell: "echo try >>effects; [ -e fixed ] || { echo broken >&2; exit 7; }"
		    repair: { steps: [{ shell: "echo 'repair ${attempt.error}' >>effects; [ ! -e once ] || touch fixed; touch once" }], max: 2 }
		  - shell: echo end >>effects
	YAML
	envelope 0
	[ "$(tr '\n' ',' <effects)" = "try,repair broken,try,repair broken,try,end," ]
	keys a a.do a.repair.1 a.do@2 a.repair.1@2 a.do@3 2
	rm -f fixed once effects
	ran <<-'YAML'
		  - { id: a, shell: "echo try >>effects; exit 7", repair: { steps: [{ shell: echo repair >>effects }], max: 1 } }
	YAML
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context.step_key == "a.do@2"'
	effects try repair try
}

@test "a resume of a run whose repairs ran out checks again, and grants as many again" {
	workflow a <<-'YAML'
		name: a
		commands:
		  - id: a
		    shell: echo work >>effects
		    check: { shell: "echo check >>effects; [ -e good ]" }
		    repair: { steps: [{ shell: echo repair >>effects }], max: 1 }
	YAML
	call workflow run a.yaml
	envelope 84
	effects work check repair check
	local id
	id=$(run_id)
	call workflow resume "$id"
	envelope 84
	effects work check repair check check repair check
	touch good
	call workflow resume "$id"
	envelope 0
	effects work check repair check check repair check check
	call workflow resume "$id"
	envelope 0
	expect 'e.data.effect == "noop"'
}

@test "a block is repaired as a whole; a failed repair is a warning, and the check decides" {
	ran <<-'YAML'
		  - id: both
		    steps:
		      - shell: echo one >>effects
		      - { id: two, shell: "echo two >>effects; echo '{\"n\": 2}'" }
		    check: { shell: "[ -e good ]" }
		    repair: { steps: [{ shell: "touch good; echo repair >>effects; exit 1" }], again: step }
		  - shell: echo "${steps.both.output} ${steps.two.data.n}" >>effects
	YAML
	envelope 0
	[ "$(tr '\n' ',' <effects)" = 'one,two,repair,one,two,{"n": 2} 2,' ]
	keys both both.1 both.two both.check.1 both.repair.1 both.1@2 both.two@2 both.check.1@2 2
}

@test "threshold: the data of a check have to reach it, as a number or in members" {
	local of data
	for of in '0.9|0.9|0' '0.9|0.89|84' '0.9|{"score":0.9}|0' '0.9|{"score":0.89}|84' '0.9|{"other":1}|84' '{ tests: 3, docs: 1 }|{"tests":3,"docs":1.5}|0' \
		'{ tests: 3, docs: 1 }|{"tests":2,"docs":1}|84' '1|text|84'; do
		data=${of#*|}
		ran <<-YAML
			  - id: a
			    shell: "true"
			    check: { shell: 'echo ''${data%|*}''', threshold: ${of%%|*} }
		YAML
		envelope "${of##*|}"
	done
	expect '"score of its data is missing" in e.error.message'
	# of any step, not only of a check
	ran <<-'YAML'
		  - { shell: "echo 3", threshold: 4, retry: { delays: [10ms] } }
	YAML
	envelope 84
	expect 'e.error.message == "Step 1: score of its data is 3, and has to be 4 at least" and e.error.context.attempts == 1'
}

@test "commit: true wants a new commit since the step began, and nothing uncommitted" {
	export GIT_CONFIG_GLOBAL=/dev/null
	CLEAN_ENV+=(GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null)
	git init -q repo
	git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
	committing() {
		ran <<-YAML
			  - id: a
			    shell: |
			      $1
			    working_dir: ${2:-repo}
			    check: { commit: true }
		YAML
	}
	committing 'git commit -q --allow-empty -m x'
	envelope 0
	committing 'true'
	envelope 84
	expect '"There is no new commit" in e.error.message'
	committing 'git commit -q --allow-empty -m x; touch new'
	envelope 84
	expect '"uncommitted changes" in e.error.message'
	git config --file settings status.showUntrackedFiles no
	CLEAN_ENV+=(GIT_CONFIG_GLOBAL="$PWD/settings")
	committing 'git commit -q --allow-empty -m y; touch new'
	envelope 84
	rm repo/new
	committing 'git reset -q --hard HEAD~1'
	envelope 84
	expect '"HEAD has lost the commit" in e.error.message'
	# one that goes back to where it began has made none
	committing 'git commit -q --allow-empty -m x; git reset -q --hard HEAD~1'
	envelope 84
	mkdir none
	committing 'true' none
	envelope 4
	expect '"needs a git repository" in e.error.message'
}

@test "a step in doubt is asked about by its check, which may run again itself" {
	workflow a <<-'YAML'
		name: a
		commands:
		  - id: a
		    shell: echo a >>effects; touch began; until [ -e go ]; do sleep 0.02; done
		    grace: 5s
		    check: { shell: "echo check >>effects; [ -e good ]" }
	YAML
	local id
	killed a.yaml
	touch good
	call workflow resume "$id"
	envelope 0
	effects a check check
	rm -rf state effects began good
	killed a.yaml
	touch go
	call workflow resume "$id"
	envelope 84
	effects a check a check # the work wasn't done, so it ran again
}

@test "max_cost of a step holds for its repairs, too" {
	turns 'echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"x\",\"total_cost_usd\":0.04}"'
	workflow a <<-'YAML'
		name: a
		claude: { output: json }
		commands:
		  - id: a
		    claude: /work
		    max_cost: 0.10
		    check: { shell: "exit 1" }
		    repair: { steps: [{ claude: /fix }], again: step, max: 9 }
	YAML
	call workflow run a.yaml
	envelope 84
	[ "$(calls)" -eq 3 ] # 0.04 of work, of a repair, and of work again: 0.12
	grep -q 'no repair, since max_cost is used up' err.txt
}

@test "what is left of max_cost is the budget of a claude step in a repair" {
	turns 'echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"x\",\"total_cost_usd\":0.04}"'
	workflow a <<-'YAML'
		name: a
		claude: { output: json }
		commands:
		  - id: a
		    claude: /work
		    max_cost: 0.10
		    check: { shell: "[ -e fixed ]" }
		    repair: { steps: [{ claude: /fix }, { claude: /more, max_cost: 0.01 }, { shell: touch fixed }] }
	YAML
	call workflow run a.yaml
	envelope 0
	[ "$(sql "select key, reserved_micros from usage order by key" | paste -sd ' ')" = "a.do|100000 a.repair.1|60000 a.repair.2|10000" ]
}

@test "check and plan know blocks: what is wrong with one is said at its place" {
	local of
	for of in 'shell: x, repair: { steps: [{ shell: y }], again: check }|there is no check' 'commit: true|for the check of a step' \
		'shell: x, threshold: high|a number' 'shell: x, repair: { steps: [{ shell: y }], max: 0 }|from 1 to 1000' \
		'shell: x, check: [{ shell: "${attempt.nothing}" }]|unknown field' 'shell: "${attempt.output}"|unknown variable' \
		'steps: []|no steps' 'shell: x, check: []|no steps' 'shell: x, check: { commit: false }|true' \
		'shell: x, check: { shell: y, threshold: .nan }|a number'; do
		printf 'name: w\ncommands:\n  - { %s }\n' "${of%|*}" >w.yaml
		call workflow check w.yaml
		envelope 2
		grep -qF "${of#*|}" out.txt || { echo "$of" && cat out.txt; } >&2
		grep -qF "${of#*|}" out.txt
	done
	# elsewhere these are names like any other
	ran <<-'YAML'
		  - { shell: echo yes, capture_output: check }
		  - { id: check, shell: 'echo "${check}"' }
	YAML
	envelope 0
}

@test "schema: an answer is JSON of its schema, and is the step's data; else the error names the place" {
	turns 'printf "%s\n" "$*" >args; cat answer'
	workflow w <<-'YAML'
		name: w
		claude: { output: json }
		commands:
		  - id: a
		    claude: /count
		    schema: { type: object, required: [n], properties: { n: { type: integer }, list: { type: array, items: { type: string } } } }
		  - shell: echo "${steps.a.data.n}"
	YAML
	answer() {
		printf '{"type":"result","is_error":false,"result":"text","structured_output":%s}\n' "$1" >answer
	}
	answer '{"n": 3}'
	call workflow run w.yaml
	envelope 0
	expect '[s.output for s in e.data.steps if s.key == "2"] == ["3"]'
	grep -q -- '--json-schema {.*"required":\["n"\]' args
	answer '{"n": 3, "list": ["a", 1]}'
	call workflow run w.yaml
	expect 'e.error.code == "SCHEMA_NOT_MET" and "list/1: must be string" in e.error.message and not e.error.retryable'
	answer null
	call workflow run w.yaml
	expect 'e.error.code == "SCHEMA_NOT_MET"'
	# in text, and with a repair that sees what was wrong
	workflow w <<-'YAML'
		name: w
		commands:
		  - id: a
		    claude: /count
		    schema: { type: object, required: [n] }
		    repair: { shell: "echo '${attempt.error}' >seen; echo '{\"n\": 1}' >answer" }
		  - shell: echo "${steps.a.data.n}"
	YAML
	echo '{"m": 1}' >answer
	call workflow run w.yaml
	envelope 0
	expect '[s.output for s in e.data.steps if s.key == "2"] == ["1"]'
	grep -qF "its answer is not of the schema: " seen
	echo 'no json' >answer
	rm seen
	call workflow run w.yaml
	envelope 0
	grep -qF "its answer is not of the schema: it is no JSON" seen
}

@test "a resumed block knows what its steps have left, for its check and for those that follow" {
	workflow a <<-'YAML'
		name: a
		commands:
		  - id: both
		    steps:
		      - { id: one, shell: "echo '{\"n\": 2}'; echo one >>effects" }
		      - { shell: echo two, capture_output: cap }
		      - { shell: echo never, when: "false" }
		    check: { shell: 'echo "${steps.one.data.n} ${cap} ${attempt.output}" >>effects; [ -e good ]' }
		  - shell: echo "${steps.both.output} ${steps.one.data.n} ${cap}" >>effects
	YAML
	call workflow run a.yaml
	envelope 84
	touch good
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(paste -sd, effects)" = "one,2 two two,2 two two,two 2 two" ]
}

@test "on an executor a step and a block are checked and repaired there; their results come back, of the items of a loop too" {
	workflow p <<-'YAML'
		name: p
		executors: { here: { kind: local } }
		commands:
		  - id: s
		    on: here
		    shell: echo made >>effects; echo '{"v":1}'
		    total_timeout: 1h
		    check: { shell: 'echo check ${attempt.data.v} >>effects; [ -e good ] || { echo not >&2; exit 1; }' }
		    repair: { shell: "echo repair ${attempt.error} >>effects; touch good" }
		  - id: b
		    on: here
		    steps: [{ id: in, shell: echo inner, capture_output: cap }, { shell: echo last }]
		    check: { shell: "true" }
		  - shell: echo "${steps.s.data.v} ${steps.b.output} ${steps.in.output} ${cap}" >>effects
		  - id: l
		    foreach: [2, 3, 4]
		    on: here
		    chunk: 2
		    max_failures: 1
		    do:
		      - shell: echo r${item}
		        check: { shell: "[ -e ok${item} ]" }
		        repair: { shell: "[ ${item} = 3 ] || touch ok${item}" }
		  - shell: echo "${steps.l.total} ${steps.l.failed} ${steps.l.succeeded} ${steps.l.data.2.output}" >>effects
		    on: here
	YAML
	call workflow run p.yaml
	envelope 0
	[ "$(paste -sd, effects)" = "made,check 1,repair not,check 1,1 last inner inner,3 1 2 r4" ]
}

@test "rounds inside of rounds have keys of their own: after a kill during the outer repair nothing passes unchecked" {
	workflow r <<-'YAML'
		name: r
		commands:
		  - id: release
		    steps:
		      - id: build
		        shell: echo build >>effects
		        check: { shell: "echo check >>effects; [ -e fixed ]" }
		        repair: { steps: [{ shell: echo repair >>effects; touch fixed }] }
		    check: { shell: "[ -e released ]" }
		    repair: { steps: [{ shell: "rm -f fixed; touch began; until [ -e go ]; do sleep 0.02; done; touch released", idempotent: true }], again: step }
	YAML
	local id
	killed r.yaml
	touch go
	call workflow resume "$id"
	envelope 0
	effects build check repair check build check repair check
	keys release release.build release.build.do@1 release.build.check.1@1 release.build.repair.1@1 release.build.check.1@2 release.check.1 \
		release.repair.1 release.build@2 release.build.do@2@1 release.build.check.1@2@1 release.build.repair.1@2@1 release.build.check.1@2@2 release.check.1@2
}

@test "the hooks of a step inside a block run in each of its rounds" {
	ran <<-'YAML'
		  - id: b
		    steps:
		      - { id: s, shell: "exit 1", on_failure: { steps: [{ shell: echo hook >>effects }], then: continue } }
		      - { shell: "echo end >>effects" }
		    check: { shell: "[ -e good ]" }
		    repair: { steps: [{ shell: touch good }], again: step }
	YAML
	envelope 0
	effects hook end hook end
	keys b b.s b.s.on_failure.1@1 b.2 b.check.1 b.repair.1 b.s@2 b.s.on_failure.1@2@1 b.2@2 b.check.1@2
}

@test "what the store raises is no failure of a step: no check has failed, and nothing is repaired" {
	local of
	for of in check repair 'do'; do
		rm -rf state effects
		ran <<-'YAML'
			  - shell: "true"
		YAML
		sql "create trigger no before insert on attempts when new.key like '%.$of%' begin select raise(abort, 'refused'); end"
		ran <<-'YAML'
			  - id: a
			    foreach: [1]
			    do: [{ shell: echo made >>effects }]
			    check: { shell: "false" }
			    repair: { shell: echo repair >>effects }
		YAML
		envelope 1
		expect 'e.error.code == "INTERNAL_ERROR" and "refused" in e.error.message'
		[ ! -e effects ] || [ "$(sort -u effects)" = made ]
	done
}

@test "what was cut off with its run runs again, though its check passes already" {
	local how
	for how in INT TERM; do
		rm -rf state effects began go
		workflow a <<-'YAML'
			name: a
			commands:
			  - id: a
			    shell: echo a >>effects; touch began; until [ -e go ]; do sleep 0.02; done; echo end >>effects
			    check: { shell: echo check >>effects }
		YAML
		begin workflow run a.yaml
		until_true [ -e began ]
		kill -"$how" "$pid"
		finish
		touch go
		call workflow resume "$(run_id)"
		envelope 0
		effects a a end check
	done
}

@test "a step and its repair have failed: its check is not asked, the next repair follows, or the end" {
	workflow a <<-'YAML'
		name: a
		commands:
		  - id: a
		    shell: echo a >>effects; exit 3
		    check: { shell: echo check >>effects }
		    repair: { steps: [{ shell: "echo repair >>effects; [ -e good ]" }], max: 2 }
	YAML
	call workflow run a.yaml
	envelope 1
	effects a repair repair
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context.step_key == "a.do" and [w.code for w in e.warnings] == ["REPAIR_FAILED"] * 2'
	local id
	id=$(run_id)
	call workflow resume "$id"
	envelope 1
	effects a repair repair a repair repair
	touch good
	call workflow resume "$id"
	envelope 0
	effects a repair repair a repair repair a repair check
	expect '[w.context.step for w in e.warnings if w.code == "REPAIR_FAILED"] == ["a.repair.1", "a.repair.1@2", "a.repair.1@3", "a.repair.1@4"]'
}

@test "killed between repairs of a step that has failed: its own error stays when they run out" {
	workflow a <<-'YAML'
		name: a
		commands:
		  - id: a
		    shell: "exit 3"
		    check: { shell: echo check >>effects }
		    repair: { steps: [{ shell: "echo repair >>effects; touch began; until [ -e go ]; do sleep 0.02; done; exit 5", idempotent: true }], max: 1 }
		    on_failure: { shell: "echo ${steps.a.status} >>effects" }
	YAML
	killed a.yaml
	touch go
	call workflow resume "$(run_id)"
	envelope 1
	effects repair repair 3
	expect 'e.error.context.step_key == "a.do" and "status 3" in e.error.message'
}

@test "a check or a repair may be added to a step that has failed, or taken away from it, before it is resumed" {
	local kind from to id
	local loop='foreach: [1], do: [{ shell: "[ -e good ]" }]' plain='shell: "[ -e good ]"'
	for kind in "$loop" "$plain"; do
		for from in '' ', repair: { shell: "exit 1" }' ', check: { shell: "[ -e good ]" }'; do
			for to in '' ', repair: { shell: touch good }' ', check: { shell: "true" }' ', check: { shell: "true" }, repair: { shell: touch good }'; do
				rm -rf state good
				printf 'name: w\ncommands:\n  - { id: a, %s%s }\n' "$kind" "$from" >w.yaml
				call workflow run w.yaml
				[ "$status" -ne 0 ]
				printf 'name: w\ncommands:\n  - { id: a, %s%s }\n' "$kind" "$to" >w.yaml
				id=$(run_id)
				[[ $to = *repair* ]] || touch good
				call workflow resume "$id" --force
				[ "$status" -eq 0 ] || { echo "$kind, $from, $to" && cat out.txt err.txt; } >&2
				envelope 0
			done
		done
	done
}

@test "a repair that was taken away while it ran is not needed to resume" {
	printf 'name: w\ncommands:\n  - { id: a, shell: echo a >>effects, check: { shell: "[ -e good ]" }%s }\n' \
		', repair: { shell: "touch began; sleep 60" }' >w.yaml
	killed w.yaml
	sed -i 's/, repair.*sleep 60" }//' w.yaml
	touch good
	call workflow resume "$(run_id)" --force
	envelope 0
	effects a
}

@test "attempt.error says why: stderr of a program that failed, else its stdout, and the message of any other failure" {
	reason() {
		cat >step.sh
		rm -f fixed
		ran <<-YAML
			  - id: a
			    shell: "true"
			    check: { shell: "[ -e fixed ] || . ./step.sh"${1:-} }
			    repair: { shell: "printf %s \${attempt.error} >seen; touch fixed; echo 9" }
		YAML
		cat seen
	}
	[ "$(reason <<<'echo why >&2; echo out; exit 1')" = why ]
	[ "$(reason <<<'echo " " >&2; echo "1 failed"; exit 1')" = "Shell command exited with status 1
1 failed" ]
	[ "$(reason <<<'exit 1')" = "Shell command exited with status 1" ]
	[[ "$(reason ', timeout: 300ms' <<<'echo noise >&2; sleep 9')" = *"timed out after"* ]]
	# a character is whole or not there
	reason <<<'printf "x%.0s" 1 >&2; for i in $(seq 1500); do printf "é" >&2; done; printf "y" >&2; exit 1' >all
	python3 -c 'import sys; text = open("all", "rb").read().decode(); sys.exit(set(text) != set("éy") or len(text) != 1000)'
	turns 'echo noise >&2; echo "no json"'
	ran <<-'YAML'
		  - id: a
		    claude: /x
		    schema: { type: object }
		    repair: { steps: [{ shell: "printf %s ${attempt.error} >seen; exit 1" }], max: 1 }
	YAML
	grep -q 'not of the schema' seen
}

@test "a repair sees the failure of the step itself by its id; a repaired step is ok" {
	workflow a <<-'YAML'
		name: a
		commands:
		  - id: a
		    shell: echo part; exit 3
		    check: { shell: "true" }
		    repair: { steps: [{ shell: "echo ${steps.a.ok} ${steps.a.output} ${steps.a.status} >>effects; touch began; until [ -e go ]; do sleep 0.02; done", idempotent: true }] }
		  - { shell: "echo ${steps.a.ok} ${steps.a.output} >>effects" }
	YAML
	touch go
	call workflow run a.yaml
	envelope 0
	[ "$(paste -sd, effects)" = "false part 3,true part" ]
	rm -rf go began effects state
	killed a.yaml
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(paste -sd, effects)" = "false part 3,false part 3,true part" ]
}

@test "on_failure of a step with a check, or a repair, sees what the step left; in a resumed run, too" {
	local of
	for of in 'shell: "echo part; exit 3", repair: { shell: "exit 1" }|3' 'shell: echo part, check: { shell: "exit 7" }|0' \
		'shell: echo part, check: { shell: "exit 7" }, repair: { steps: [{ shell: "true" }], max: 1, again: step }|0' \
		'steps: [{ shell: "true" }, { shell: "echo part; exit 3" }, { shell: "true" }], repair: { shell: "exit 1" }|3'; do
		rm -rf state effects go again
		cat >a.yaml <<-YAML
			name: a
			commands:
			  - { id: a, ${of%|*}, on_failure: { steps: [{ shell: 'echo \${steps.a.output} \${steps.a.status} >>effects; [ -e go ]' }], then: continue } }
			  - { shell: 'echo \${steps.a.output} \${steps.a.ok} >>effects; [ -e again ]' }
		YAML
		touch go
		call workflow run a.yaml
		envelope 1
		[ "$(paste -sd, effects)" = "part ${of#*|},part false" ] || { echo "$of" && cat effects; } >&2
		[ "$(paste -sd, effects)" = "part ${of#*|},part false" ]
		touch again
		call workflow resume "$(run_id)"
		envelope 0
		[ "$(tail -n 1 effects)" = "part false" ]
		[ "$(wc -l <effects)" -eq 3 ]
	done
}

@test "on an executor, too, a step with a check or a repair leaves its result to on_failure" {
	workflow p <<-'YAML'
		name: p
		executors: { here: { kind: local } }
		commands:
		  - id: a
		    on: here
		    shell: echo part; exit 3
		    repair: { shell: "exit 1" }
		    on_failure: { steps: [{ shell: "echo ${steps.a.output} ${steps.a.status} >>effects" }], then: continue }
		  - id: b
		    on: here
		    shell: echo part
		    check: { shell: "exit 7" }
		    on_failure: { steps: [{ shell: "echo ${steps.b.output} ${steps.b.status} >>effects" }], then: continue }
	YAML
	call workflow run p.yaml
	envelope 0
	[ "$(paste -sd, effects)" = "part 3,part 0" ]
}

@test "max_cost of a step inside a block holds in each round of the block" {
	turns 'echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"x\",\"total_cost_usd\":0.04}"'
	workflow a <<-'YAML'
		name: a
		claude: { output: json }
		commands:
		  - steps:
		      - { id: a, claude: /work, max_cost: 0.10, check: { shell: "exit 1" }, repair: { steps: [{ claude: /fix }], again: step, max: 4 } }
		    repair: { steps: [{ shell: "true" }], max: 1 }
	YAML
	call workflow run a.yaml
	envelope 84
	[ "$(calls)" -eq 6 ] # three in each round
}

@test "a block that is marked done in a later round takes the doubt of what is inside it with it" {
	workflow r <<-'YAML'
		name: r
		commands:
		  - id: release
		    steps:
		      - { id: build, shell: "echo build >>effects; [ ! -e second ] || { touch began; sleep 60; }", check: { shell: "true" } }
		    check: { shell: "[ -e marked ]" }
		    repair: { steps: [{ shell: touch second }], again: step }
	YAML
	killed r.yaml
	touch marked
	call workflow resume "$(run_id)" --mark-done release.build@2
	envelope 0
	effects build build
	expect '[s.state for s in e.data.steps if s.key in ("release.build@2", "release.build.do@2@1")] == ["completed", "skipped"]'
}
