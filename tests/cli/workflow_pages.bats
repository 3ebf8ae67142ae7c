#!/usr/bin/env bats
# Runs with many steps and long answers: they are summarised and paged, never too large.

load lib/workflow

# many N: a loop with N items, of which item 3 fails, and a step before and after
many() {
	seq "$1" >items
	ran <<-'YAML'
		  - { id: first, shell: echo first }
		  - id: each
		    foreach: { file: items }
		    continue_on_error: true
		    do: [{ shell: "exit 3", when: "${item} == 3" }]
		  - { id: last, shell: echo last }
	YAML
}

@test "a run of more steps than an answer shows has the counts, the steps outside of loops, and what failed" {
	many 300
	envelope 0
	expect 'e.data.steps_total == 303 and e.data.steps_by_state == {"completed": 3, "failed": 1, "skipped": 299}'
	expect '[s.key for s in e.data.steps] == ["first", "each", "each[3].1", "last"]'
	expect 'e.meta.pagination == {"total": 303, "returned": 4, "truncated": True, "has_more": True, "next_cursor": "a0"}'
	call workflow show "$(field e.data.id)"
	expect 'len(e.data.steps) == 4 and e.meta.pagination.has_more'
	on_pty workflow show "$(field e.data.id)"
	grep -q '4 of 303 steps (3 completed, 1 failed, 299 skipped)' screen
}

@test "pages of a run have every step once, in order, and a cursor goes with its choice" {
	many 300
	local id cursor='' keys='' pages=0
	id=$(field e.data.id)
	call workflow show "$id" --steps all --limit 100
	while :; do
		envelope 0
		keys+=$(field '" ".join(s.key for s in e.data.steps)')' '
		pages=$((pages + 1))
		cursor=$(field 'e.meta.pagination.next_cursor or ""')
		[ -n "$cursor" ] || break
		call workflow show "$id" --cursor "$cursor" --limit 100
	done
	[ "$pages" -eq 4 ]
	[ "$(tr ' ' '\n' <<<"$keys" | grep -c .)" -eq 303 ]
	[ "$(tr ' ' '\n' <<<"$keys" | sort -u | grep -c .)" -eq 303 ]
	call workflow show "$id" --steps failed
	expect '[s.key for s in e.data.steps] == ["each[3].1"] and e.meta.pagination.total == 1 and not e.meta.pagination.truncated'
	call workflow show "$id" --cursor nonsense
	envelope 2
	expect 'e.error.code == "INVALID_CURSOR" and e.error.errors[0].field == "cursor"'
	call workflow show "$id" --cursor a0 --steps failed
	envelope 2
}

@test "a completed run whose steps printed more than an envelope holds answers, as do show and show --full" {
	ran <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
		    parallel: 2
		    do: [{ shell: "printf '{\"x\":\"%0900000d\"}' 1" }]
	YAML
	envelope 0
	expect 'e.data.state == "completed" and len(e.data.steps) == 22 and e.data.steps[1].data_bytes == 900008'
	[ "$(wc -c <out.txt)" -lt 9000000 ]
	call workflow show "$(field e.data.id)" --full
	envelope 0
	expect 'e.meta.pagination.has_more and len(e.data.steps) > 1'
	expect 'any(len(s.get("output") or "") == 900008 for s in e.data.steps)'
	[ "$(wc -c <out.txt)" -lt 12000000 ]
}

@test "a failed run of many steps names the failure, and its answer has the retries of that step" {
	seq 300 >items
	ran <<-'YAML'
		  - id: each
		    foreach: { file: items }
		    do: [{ shell: "exit 3", when: "${item} == 299", retry: { max_attempts: 1, initial_delay: 1ms, jitter: 0, retry_on: [{ exit: 3 }] } }]
	YAML
	[ "$status" -ne 0 ]
	expect 'e.data.failed_step == "each[299].1" and e.error.context.attempts == 2 and "each[299].1" in [s.key for s in e.data.steps]'
}

@test "a table of 1,000 steps takes no longer than their JSON" {
	many 1000
	local id json=99999 table=99999
	id=$(field e.data.id)
	# the fastest of each: a busy machine makes any of them slow
	for _ in 1 2 3 4 5; do
		call workflow show "$id" --steps all --limit 0
		[ "$elapsed_ms" -gt "$json" ] || json=$elapsed_ms
		call workflow show "$id" --steps all --limit 0 --format table
		[ "$elapsed_ms" -gt "$table" ] || table=$elapsed_ms
	done
	[ "$(wc -c <out.txt)" -lt 1000000 ]
	echo "json $json, table $table"
	[ "$table" -lt $((json * 2 + 500)) ]
}

@test "as a table, a run has a row for each step" {
	ran <<<'  [ { id: a, shell: echo one }, { shell: echo two } ]'
	envelope 0
	call workflow show "$(field e.data.id)" --format table
	[ "$(head -n 1 out.txt | awk '{ print $1, $2, $3, $4 }')" = 'key kind state attempts' ]
	[ "$(awk 'NR > 1 { print $1, $2, $3, $4 }' out.txt)" = $'a shell completed 1\n2 shell completed 1' ]
}

# --- logs -----------------------------------------------------------------------------------

# echoes N: a loop whose items print their number, of which item 3 fails twice
echoes() {
	seq "$1" >items
	ran <<-'YAML'
		  - { id: first, shell: echo first }
		  - id: each
		    foreach: { file: items }
		    parallel: 8
		    continue_on_error: true
		    do: [{ id: say, shell: "echo item ${item}; test ${item} != 3", retry: { delays: [1ms], retry_on: [{ exit: 1 }] } }]
		  - { id: last, shell: echo last }
	YAML
	envelope 0
}

@test "logs of a run of more steps than an answer shows have the attempts outside of loops, and of what failed" {
	echoes 210
	local id
	id=$(field e.data.id)
	call workflow logs "$id"
	envelope 0
	expect '[(r.step, r.attempt) for r in e.data] == [("first", 1), ("each[3].say", 1), ("each[3].say", 2), ("last", 1)]'
	expect 'e.meta.pagination == {"total": 213, "returned": 4, "truncated": True, "has_more": True, "next_cursor": "a0.0"}'
	call workflow logs "$id" --steps failed
	expect '[r.stdout for r in e.data] == ["item 3\n"] * 2 and e.meta.pagination.total == 2 and not e.meta.pagination.has_more'
	call workflow logs "$id" 'each[3].say'
	envelope 0
	expect 'len(e.data) == 2 and "pagination" not in e.meta'
	call workflow logs "$id" 'each[3].say' --attempt 2
	expect '[r.attempt for r in e.data] == [2]'
	on_pty workflow logs "$id"
	grep -q "4 of 213 attempts; to see others: runner workflow logs $id --steps all" screen
}

@test "pages of logs have every attempt once, in order, also where a page ends between two of a step" {
	echoes 20
	local id cursor='' pages=0
	id=$(field e.data.id)
	call workflow logs "$id"
	field '" ".join(f"{r.step}/{r.attempt}" for r in e.data)' >whole
	expect 'len(e.data) == 23 and "pagination" not in e.meta'
	call workflow logs "$id" --steps all --limit 1
	while :; do
		envelope 0
		field 'e.data[0].step + "/" + str(e.data[0].attempt)'
		pages=$((pages + 1))
		cursor=$(field 'e.meta.pagination.next_cursor or ""')
		[ -n "$cursor" ] || break
		call workflow logs "$id" --cursor "$cursor" --limit 1
	done | paste -sd ' ' >paged
	diff whole paged
	call workflow logs "$id" --steps failed --limit 1
	call workflow logs "$id" --cursor "$(field e.meta.pagination.next_cursor)"
	expect '[(r.step, r.attempt) for r in e.data] == [("each[3].say", 2)]'
}

@test "a cursor is one of the command that made it, and never anything else" {
	echoes 3
	local id bad
	id=$(field e.data.id)
	for bad in nonsense a0 a0. a.0 x0.0 a0.0.0 'a-1.0' "a$(printf %050d 1).0" ''; do
		call workflow logs "$id" --cursor "$bad"
		envelope 2
		expect 'e.error.code == "INVALID_CURSOR" and e.error.errors[0].field == "cursor"' || { echo "$bad" >&2; return 1; }
	done
	call workflow logs "$id" --cursor f0.0 --steps all
	envelope 2
	call workflow show "$id" --cursor a0.0
	envelope 2
	call workflow logs "$id" --cursor afffffffffff.0
	envelope 0
	expect 'e.data == []'
}

@test "logs longer than an answer come in pages, and one that is too long by itself is cut" {
	ran <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
		    parallel: 2
		    do: [{ shell: "printf '%01000000d' ${item}; printf '%0900000d' 1 >&2", capture_output: false }]
	YAML
	envelope 0
	local id
	id=$(field e.data.id)
	call workflow logs "$id"
	envelope 0
	[ "$(wc -c <out.txt)" -lt 9000000 ]
	expect 'e.meta.pagination.total == 10 and e.meta.pagination.has_more and len(e.data) == e.meta.pagination.returned > 1'
	expect 'all(len(r.stdout) == 1000000 and len(r.stderr) == 900000 for r in e.data)'
	call workflow logs "$id" --limit 0 --format plain
	[ "$status" -eq 0 ]
	[ "$(wc -c <out.txt)" -lt 9000000 ]
	[ "$(wc -c <out.txt)" -gt 1900000 ]
	call workflow logs "$id" --limit 1
	expect 'len(e.data) == 1 and e.meta.pagination.has_more'
	python3 -c 'import json; print(json.dumps({"stdout": "x" * 20000000, "stderr": 7}))' >"$(field 'e.data[0].log')"
	call workflow logs "$id" --limit 1
	envelope 0
	expect 'len(e.data[0].stdout) == 4096 and e.data[0].stdout_bytes == 20000000 and e.data[0].stderr_bytes == 0'
}
