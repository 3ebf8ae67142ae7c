#!/usr/bin/env bats
# Outputs that are too long for the database: one that was cut is never used as if it were
# whole, and every way to have a whole one works.

load lib/workflow

# 300 lines of 5 kB: more than is kept unless a step says so
LONG='for i in $(seq 300); do printf %05000d $i; echo; done'

# long [KEYS]: a step that prints them
long() {
	# shellcheck disable=SC2028
	echo "  - { id: long, shell: \"$LONG\"${1:+, $1} }"
}

@test "a loop over an output that was cut is an error that names the step and the ways out" {
	ran < <(long; echo '  - { id: each, foreach: "${steps.long.output}", do: [{ shell: echo >>items }] }')
	envelope 4
	expect 'e.error.code == "PRECONDITION" and e.error.context.step_key == "each"'
	expect '"output of step long was cut" in e.error.message and "1500300 bytes" in e.error.message'
	expect '"capture_limit: 4M on step long" in e.error.suggestion and "output_file" in e.error.suggestion'
	expect '"start the workflow again" in e.error.suggestion' # the step has completed: resume passes over it
	expect 'e.data.steps[0].state == "completed" and e.data.steps[0].output_missing > 400000'
	[ ! -e items ]
}

@test "whatever uses an output that was cut fails, and its step doesn't run" {
	local use
	for use in 'shell: "touch ran; echo ${steps.long.output}"' 'shell: "touch ran; echo ${name}"' \
		'shell: "touch ran; echo ${steps.long.data.x}"' 'claude: "look at ${shell.output}"' \
		'runner: version, args: ["${steps.long.output}"]' 'shell: touch ran, env: { X: "${steps.long.output}" }' \
		'shell: touch ran, when: "${steps.long.output} == 1"' 'shell: "touch ran; cat ${steps.long.output_path}"' \
		'foreach: "${steps.long.data}", do: [{ shell: touch ran }]' 'foreach: ["${name}"], do: [{ shell: touch ran }]' \
		'shell: touch ran, working_dir: "${steps.long.output}"' 'foreach: { file: "${name}" }, do: [{ shell: touch ran }]'; do
		ran < <(long 'capture_output: name'; echo "  - { $use }")
		envelope 4
		expect 'e.error.code == "PRECONDITION" and "output of step long was cut" in e.error.message' || { echo "$use" >&2; return 1; }
		[ ! -e ran ]
	done
	[ "$(calls)" -eq 0 ]
}

@test "a resumed run refuses an output that an earlier process cut" {
	ran < <(long; echo '  - { id: stop, shell: "exit 1" }'; echo '  - { shell: "echo ${steps.long.output}" }')
	envelope 1
	sed -i 's/exit 1/exit 0/' small.yaml
	call workflow resume "$(run_id)" --force
	envelope 4
	expect '"output of step long was cut" in e.error.message and e.error.context.step_key == "3"'
}

# loop USE: a loop of which item b prints too much, another one within it, and what uses them
loop() {
	workflow small <<-YAML
		commands:
		  - id: each
		    foreach: [a, b, c]
		    do: [{ id: say, shell: "[ \${item} != b ] || { $LONG; }; echo said \${item}" }]
		  - id: outer
		    foreach: [1, 2]
		    do:
		      - id: inner
		        foreach: [x, b]
		        do: [{ shell: "[ \${item} != b ] || { $LONG; }; echo \${item_index}" }]
		  - { id: stop, shell: "test -e go" }
		  - { id: use, $1 }
	YAML
	rm -f go
	call workflow run small.yaml
}

@test "of a loop whose item printed too much, all other elements can be used, also over resume and in loops within" {
	local use
	use='shell: "echo ${steps.each.data.0.output}, ${steps.each.data.1.ok}, ${steps.each.data.2.output}'
	use+=', ${steps.outer.data.1.data.0.output}, ${steps.outer.data.0.data.1.ok}, ${steps.outer.data.0.ok}"'
	loop "$use"
	envelope 1
	expect '[s for s in e.data.steps if s.key == "each"][0].data[2] == {"item": "c", "ok": True, "output": "said c"}'
	expect '[s for s in e.data.steps if s.key == "each"][0].data[1].cut.step == "each[2].say"'
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	expect 'e.data.steps[-1].output == "said a, true, said c, 1, true, true"'
	call workflow run small.yaml
	envelope 0
	expect 'e.data.steps[-1].output == "said a, true, said c, 1, true, true"'
}

@test "what is cut in a loop, or the loop as a whole, is refused, and the error names the item's step" {
	local use again
	for use in 'shell: "touch ran; echo ${steps.each.output}"' 'foreach: "${steps.each.data}", do: [{ shell: touch ran }]' \
		'shell: "touch ran; echo ${steps.each.data}"' 'shell: "touch ran; echo ${steps.each.data.1}"' \
		'shell: "touch ran; echo ${steps.each.data.1.output}"' 'shell: touch ran, env: { X: "${steps.each.data.1.data.x}" }' \
		'shell: touch ran, when: "${steps.each.data.1.output} == 1"' 'runner: version, args: { x: "${steps.each.data}" }' \
		'foreach: ["${steps.each.data.1}"], do: [{ shell: touch ran }]' 'foreach: { file: "${steps.each.output_path}" }, do: [{ shell: touch ran }]' \
		'foreach: "${steps.each.data.1.output}", do: [{ shell: touch ran }]'; do
		loop "$use"
		touch go
		for again in "resume $(run_id)" 'run small.yaml'; do
			# shellcheck disable=SC2086
			call workflow $again
			envelope 4
			expect 'e.error.code == "PRECONDITION" and "output of step each[2].say was cut" in e.error.message' || { echo "$use" >&2; return 1; }
			[ ! -e ran ]
		done
	done
	loop 'shell: "touch ran; echo ${steps.outer.data.1.data.1.output}"'
	touch go
	call workflow resume "$(run_id)"
	envelope 4
	expect '"output of step outer[2].inner[2].1 was cut" in e.error.message'
	[ ! -e ran ]
}

@test "capture_limit keeps a longer output whole: by value, as items, and by its path" {
	ran < <(long 'capture_limit: 2M'
		echo '  - { id: each, foreach: "${steps.long.output}", parallel: 4, do: [{ shell: "echo \"${item}\"" }] }'
		echo '  - { id: path, shell: "cat ${steps.long.output_path} | wc -lc; stat -c %a ${steps.long.output_path}" }'
		echo '  - { id: loop, shell: "sort -u ${steps.each.output_path} | wc -l" }')
	envelope 0
	expect '[s.output.split() for s in e.data.steps if s.key == "path"] == [["299", "1500299", "600"]]'
	expect '[s.output.strip() for s in e.data.steps if s.key == "loop"] == ["300"]'
	expect 'e.data.steps[0].output_bytes == 1500299 and "output_missing" not in e.data.steps[0]'
	[ "$(stat -c %a "state/runner/outputs/$(run_id)")" = 700 ]
	[ "$(wc -c <"$(field 'e.data.steps[0].output_path')")" -eq 1500299 ]
	[ "$(sql 'select max(length(output)) <= 4096 from steps where key in ("long", "each")')" = 1 ]
}

@test "an output as long as capture_limit is whole, one of a byte more is cut" {
	ran < <(long 'capture_limit: 1500300')
	envelope 0
	expect 'e.data.steps[0].output_bytes == 1500299 and "output_missing" not in e.data.steps[0]'
	ran < <(long 'capture_limit: 1500299')
	envelope 0
	expect 'e.data.steps[0].output_missing > 400000'
}

@test "capture_limit of the workflow holds for its steps, and one below a megabyte cuts, too" {
	workflow all < <(printf 'name: all\ncapture_limit: none\ncommands:\n'; long
		echo '  - { id: small, shell: "printf %02000d 1", capture_limit: 1K }'
		echo '  - { shell: "wc -c <${steps.long.output_path}" }'
		echo '  - { shell: "echo ${steps.small.output}" }')
	call workflow run all.yaml
	envelope 4
	expect 'e.data.steps[2].output.strip() == "1500299" and "output of step small was cut: 976 of its 2000" in e.error.message'
}

@test "a resumed run uses the output that an earlier process kept in a file, as text and as data" {
	ran <<-'YAML'
		  - { id: big, shell: "echo '{\"list\":[7,8],'; printf '\"pad\":\"%01500000d\"}' 1", capture_limit: 2M }
		  - { id: stop, shell: "test -e go" }
		  - { id: each, foreach: "${steps.big.data.list}", do: [{ shell: "echo ${item}" }] }
		  - { shell: "wc -c <${steps.big.output_path}" }
	YAML
	envelope 1
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	expect '[s.output for s in e.data.steps if s.key.startswith("each[")] == ["7", "8"]'
	expect 'e.data.steps[-1].output.strip() == "1500024"'
}

@test "output_path of a short output is a private file that is made when it is asked for" {
	ran <<-'YAML'
		  - { id: said, shell: "echo hello" }
		  - { shell: "cat ${steps.said.output_path}; stat -c ' %a' ${steps.said.output_path}" }
	YAML
	envelope 0
	expect 'e.data.steps[1].output == "hello 600"'
}

@test "no secret is in a long output, in memory or in its file, wherever it lies across pieces" {
	workflow hidden <<-'YAML'
		name: hidden
		secrets: { T: s3cret-of-some-length }
		capture_limit: 8M
		commands:
		  - { id: leak, shell: "for i in $(seq 60000); do echo \"$i $T\"; done", output_file: leaked }
		  - { shell: "cat ${steps.leak.output_path} | md5sum; md5sum <leaked" }
	YAML
	call workflow run hidden.yaml
	envelope 0
	! grep -rq 's3cret' leaked state || return 1
	[ "$(wc -l <leaked)" -eq 59999 ]
	[ "$(cut -d' ' -f2 leaked | sort -u)" = '***' ]
	expect 'len(set(e.data.steps[1].output.split("\n"))) == 1'
}

@test "an output that was cut off leaves no secret: not after TERM, nor after a kill once the run is resumed" {
	local signal
	workflow hidden <<-'YAML'
		secrets: { T: s3cret-of-some-length }
		capture_limit: 8M
		commands:
		  - { id: leak, shell: "for i in $(seq 60000); do echo \"$i $T\"; done; touch began; until [ -e go ]; do sleep 0.02; done" }
	YAML
	local signal run
	for signal in TERM KILL; do
		rm -f began
		begin workflow run hidden.yaml
		until_true [ -e began ]
		until_true grep -rq s3cret state/runner/outputs
		kill "-$signal" "$pid"
		finish
		if [ "$signal" = KILL ]; then
			run=$(run_id)
			until_true no_owner "$run"
			call workflow resume "$run" --mark-done leak
		fi
		grep -rl s3cret state | sed 's/^/secret in /' >found
		[ -z "$(<found)" ] || { cat found; return 1; }
	done
	envelope 0
}

@test "a runner step whose answer is longer than is kept says so; capture_limit has it whole" {
	body large <<<'return { text = ("x"):rep(1500000), n = 7 }'
	ran <<<'  - { runner: large }'
	envelope 1
	expect 'e.error.code == "OUTPUT_TOO_LARGE" and "capture_limit" in e.error.message'
	ran <<-'YAML'
		  - { id: large, runner: large, capture_limit: 4M }
		  - { shell: "echo ${steps.large.data.n}" }
	YAML
	envelope 0
	expect 'e.data.steps[1].output == "7"'
}

# --- foreach: { file: … } -------------------------------------------------------------------

@test "foreach: { file: … } loops over the lines of a file, without blank ones and carriage returns" {
	printf 'a\r\n\n b c \nd' >items.txt
	ran <<-'YAML'
		  - { id: each, foreach: { file: items.txt }, do: [{ shell: "printf '<%s>' \"${item}\"" }] }
		  - { id: two, foreach: { file: items.txt }, max_items: 2, do: [{ shell: "printf '<%s>' \"${item}\"" }] }
	YAML
	envelope 0
	expect 'e.data.steps[0].output == "<a>\n< b c >\n<d>"'
	expect '[s.output for s in e.data.steps if s.key == "two"] == ["<a>\n< b c >"]'
	ran <<<'  - { id: each, foreach: { file: "no-${run.name}" }, do: [{ shell: echo }] }'
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "no-small" in e.error.message'
}

@test "a resumed loop over a file goes on with the same items if lines were appended, and refuses a changed file" {
	seq 5 >items.txt
	ran <<-'YAML'
		  - { id: each, foreach: { file: items.txt }, do: [{ shell: "test ${item} -lt 3 || test -e go; echo ${item} >>finished" }] }
	YAML
	envelope 1
	cp items.txt before
	sed -i 's/^4$/x/' items.txt
	touch go
	call workflow resume "$(run_id)"
	envelope 6
	expect 'e.error.code == "CONFLICT" and "items.txt, has changed" in e.error.message and e.error.context.step_key == "each"'
	[ "$(tr '\n' ' ' <finished)" = "1 2 " ]
	cat before >items.txt
	echo 6 >>items.txt
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(tr '\n' ' ' <finished)" = "1 2 3 4 5 " ]
}

@test "a file that changes while its lines are looped over fails the loop" {
	printf "%0100000d\n" 1 2 3 >items.txt
	ran <<-'YAML'
		  - { id: each, foreach: { file: items.txt }, do: [{ shell: "truncate -s 150000 items.txt", when: "${item_index} == 1" }] }
	YAML
	envelope 6
	expect 'e.error.code == "CONFLICT" and "has changed" in e.error.message'
}

@test "the log of an attempt has a prompt that was too long for an argument, without secrets" {
	workflow long <<-'YAML'
		name: long
		secrets: { KEY: s3cretvalue }
		commands:
		  - shell: "printf %0200000d 7; echo end of $KEY"
		  - { id: asked, claude: "${shell.output}" }
		  - { id: short, claude: "hello" }
	YAML
	call workflow run long.yaml
	envelope 0
	python3 - "$(run_id)" <<-'PY'
		import json, sys
		logs = f"state/runner/logs/{sys.argv[1]}"
		asked = json.load(open(f"{logs}/asked-1.json"))
		assert asked["stdin"] == "7".zfill(200000) + "end of ***", asked["stdin"][-40:]
		short = {r["step"]: r for r in map(json.loads, open(f"{logs}/succeeded.jsonl"))}["short"]
		assert "stdin" not in short and short["argv"][-1] == "hello"
	PY
}

# --- a full disk ---------------------------------------------------------------------------

# full SIZE: the directory for outputs is a disk with SIZE kB of room
full() {
	unshare --mount sh -c 'mount -t tmpfs -o size=64k tmpfs /mnt' 2>/dev/null || skip "no mounts here"
	mkdir -p state/runner/outputs
	echo "mount -t tmpfs -o size=$1k,mode=700 tmpfs state/runner/outputs; exec \"\$@\"" >inside
	workflow small < <(printf 'name: small\ncommands:\n'; cat)
	status=0
	env -i "${CLEAN_ENV[@]}" unshare --mount sh inside "$RUNNER" workflow run small.yaml >out.txt 2>err.txt </dev/null || status=$?
	[ "$status" -eq 0 ] || skip_without_library "$(<out.txt)"
}

@test "output_path of an output that its file has no room for is an error, never a short file" {
	full 4 <<-'YAML'
		  - { id: said, shell: "printf %020000d 7" }
		  - { id: use, shell: "touch ran; cat ${steps.said.output_path}" }
	YAML
	envelope 1
	expect 'e.error.code == "OUTPUT_FAILED" and e.error.context.step_key == "use" and "No space left" in e.error.message'
	[ ! -e ran ]
}

@test "an output in memory that its file has no room for counts as cut: its step has completed" {
	body large <<<'return { text = ("x"):rep(1500000), n = 7 }'
	full 2000 <<-'YAML'
		  - { id: large, runner: large, capture_limit: 4M }
		  - { id: use, shell: "echo ${steps.large.output}" }
	YAML
	envelope 4
	expect 'e.data.steps[0].state == "completed" and e.data.steps[0].output_missing > 1000000'
	expect '"output of step large was cut" in e.error.message and "No space left" in e.error.message'
}

@test "a loop whose results the disk has no room for fails, and says so in its step, however much is missing" {
	local room
	for room in 500 2040 2044 2048 2052 2056 2060; do
		full "$room" <<-'YAML'
			  - { id: each, foreach: [1048000, 3000], do: [{ shell: "printf %0${item}d 7" }] }
			  - { shell: touch ran }
		YAML
		if [ -e ran ]; then
			envelope 0
			break
		fi
		envelope 1
		expect 'e.error.code == "OUTPUT_FAILED" and e.error.context.step_key == "each" and "No space left" in e.error.message'
		expect '[s.state for s in e.data.steps if s.key == "each"] == ["failed"]'
	done
	[ "$room" -gt 500 ]
}
