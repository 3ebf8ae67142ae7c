#!/usr/bin/env bats
# What steps on executors used: in show, stats and the pages, and what `stats --resources` proposes from it.

load lib/workflow

# on_queue KEYS: flow.yaml, its loop over items.txt on the queue of tests/cli/lib/batch_queue.py
on_queue() {
	mkdir -p shared queue
	env -i "${CLEAN_ENV[@]}" python3 "$ROOT/tests/cli/lib/batch_queue.py" serve "$PWD/queue" >/dev/null 2>&1 </dev/null 3>&- &
	{
		printf 'name: flow\nexecutors:\n  q: { kind: command, directory: %s/shared, poll: 100ms, submit_rate: 100' "$PWD"
		for verb in submit states cancel; do
			printf ', %s: [python3, %s, %s, %s/queue]' "$verb" "$ROOT/tests/cli/lib/batch_queue.py" "$verb" "$PWD"
		done
		printf ' }\ncommands:\n  - id: each\n    foreach: { file: items.txt }\n    on: q\n    chunk: 6\n    parallel: 2\n    do:\n'
		sed 's/^/      /'
	} >flow.yaml
}

# takes MB: a program that has so much memory
takes() {
	printf "python3 -c 'x = b\"x\" * %d'" "$(($1 * 1000000))"
}

@test "what items took is shown by item, step and executor, and gives a proposal with its reason" {
	{ seq 11 && echo 1; } >items.txt # two of them alike
	on_queue <<-YAML
		- { id: big, shell: '[ "\$item" != 7 ] || python3 -c "x = b\"x\" * 50000000"', env: { item: "\${item}" } }
		- { id: small, shell: "true" }
	YAML
	call workflow run flow.yaml
	envelope 0
	call workflow show @last
	envelope 0
	expect 'e.data.placed[0].measured == 12 and e.data.placed[0].peak_bytes >= 50000000 and e.data.placed[0].peak_bytes < 200000000'
	expect 'e.data.placed[0].cpu_ms > 0 and e.data.placed[0].longest_queue_ms <= e.data.placed[0].queue_ms'
	expect '[s["key"] for s in e.data.steps if s.get("used", {}).get("peak_bytes", 0) >= 50000000] == ["each[7].big"]'
	expect 'all("used" in s for s in e.data.steps if s["key"] != "each")'
	on_pty workflow show @last
	grep -Eq '^    12 measured: .* of a processor, at most [0-9]+M of memory' screen
	call workflow show @last --html run.html
	grep -q 'id="placed"' run.html
	call workflow stats
	envelope 0
	expect '"resources" not in e.data and e.data.by_executor[0].peak_bytes >= 50000000'
	call workflow stats --resources
	envelope 0
	expect 'len(e.data.resources) == 1 and e.data.resources[0].measured == 12 and e.data.resources[0].chunk == 12'
	expect '"of 12 measured the largest process had" in e.data.resources[0].why and "2 at once" in e.data.resources[0].why'
	expect 'e.data.resources[0].memory in ["192M", "256M"]'
	call workflow stats --resources --html stats.html
	grep -q 'of 12 measured the largest process had' stats.html
}

@test "the largest attempt of an item counts" {
	echo 1 >items.txt
	on_queue <<-YAML
		- shell: |
		    if [ -e '$PWD/tried' ]; then exit 0; fi
		    touch '$PWD/tried'
		    $(takes 60)
		    exit 75
		  retry: { delays: [10ms] }
	YAML
	call workflow run flow.yaml
	envelope 0
	call workflow show @last
	expect '[(s["attempts"], s["used"]["peak_bytes"] >= 60000000) for s in e.data.steps if s["key"] == "each[1].1"] == [(2, True)]'
	expect 'e.data.placed[0].measured == 1'
	call workflow stats --resources
	envelope 0
	expect '"memory" not in e.data.resources[0] and "chunk" not in e.data.resources[0]'
	expect '"1 measured, and 10 are the least" in e.data.resources[0].why'
}

@test "what an attempt took is known after its task was killed before the next one" {
	echo 1 >items.txt
	on_queue <<-YAML
		- shell: |
		    if [ -e '$PWD/tried' ]; then exit 0; fi
		    touch '$PWD/tried'
		    $(takes 60)
		    exit 75
		  retry: { delays: [5s] }
	YAML
	begin workflow run flow.yaml
	until_true bash -c 'grep -q "\"waiting\"" shared/runner-*/run_*/1/1.journal 2>/dev/null'
	xargs kill -9 <"$(echo queue/rn-*)"
	finish
	envelope 0
	[ "$(sql 'select generation from chunks')" -ge 2 ]
	call workflow show @last
	expect '[s["used"]["peak_bytes"] >= 60000000 for s in e.data.steps if s["key"] == "each[1].1"] == [True]'
}

@test "a run of an older database is shown without numbers, and nothing is proposed from it" {
	seq 12 >items.txt
	on_queue <<-'YAML'
		- shell: "true"
	YAML
	call workflow run flow.yaml
	envelope 0
	sql "update steps set held = null"
	sql "update units set settings = json_remove(settings, '$.side_by_side', '$.at_once')"
	call workflow show @last
	envelope 0
	expect 'not {"measured", "cpu_ms", "peak_bytes"} & set(e.data.placed[0]) and not any("used" in s for s in e.data.steps)'
	on_pty workflow show @last
	[ "$(grep -c 'of memory' screen)" = 0 ]
	call workflow stats --resources
	envelope 0
	expect 'not {"cpu_ms", "peak_bytes"} & set(e.data.by_executor[0])'
	expect '"memory" not in e.data.resources[0] and "0 measured" in e.data.resources[0].why'
}

@test "steps that ran here are measured, too, and give a proposal for an executor" {
	seq 12 >items.txt
	workflow flow <<-YAML
		name: flow
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    do:
		      - { id: big, shell: '[ "\$item" != 7 ] || python3 -c "x = b\"x\" * 80000000"', env: { item: "\${item}" } }
		      - { id: small, shell: "true" }
		  - { id: last, shell: echo a }
	YAML
	call workflow run flow.yaml
	envelope 0
	call workflow show @last
	expect '[s["key"] for s in e.data.steps if s.get("used", {}).get("peak_bytes", 0) >= 80000000] == ["each[7].big"]'
	expect 'all("used" in s for s in e.data.steps if s["key"] != "each")'
	on_pty workflow show @last
	[ "$(grep -c 'of a processor, at most [0-9]*M of memory' screen)" = 1 ]
	call workflow show @last --html run.html
	grep -q 'of a processor, at most' run.html
	call workflow stats --resources
	envelope 0
	expect '[(r.key, r.executor, r.measured, r.memory in ["192M", "256M"], r.chunk) for r in e.data.resources] == [("each", "none", 12, True, 12)]'
	call workflow stats
	expect '"by_executor" not in e.data'
}

@test "without a placed step there is nothing to propose, and kind local is told why" {
	workflow flow <<-'YAML'
		name: flow
		executors:
		  near: { kind: local }
		commands:
		  - { shell: echo a }
	YAML
	call workflow run flow.yaml
	envelope 0
	call workflow stats --resources
	envelope 0
	expect 'e.data.resources == [] and "by_executor" not in e.data'
	call workflow run flow.yaml --on near
	envelope 0
	call workflow stats --resources
	envelope 0
	expect 'e.data.resources[0].why.startswith("nothing: kind local") and "memory" not in e.data.resources[0]'
}
