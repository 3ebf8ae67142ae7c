#!/usr/bin/env bats
# `resources` of a placed step: what its tasks ask for, and the next size after one was not enough.

load lib/workflow

# queue ENDED…: three programs of a queue that notes each request in `asked` and runs its tasks at once; the first
# submissions end as the words say, without a result
queue() {
	mkdir -p shared
	printf '%s\n' "$@" >ends
	cat >q.py <<-'PY'
		import json, os, subprocess, sys
		verb, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
		request = json.load(sys.stdin)
		def path(name): return os.path.join(here, name)
		def load():
		    try: return json.load(open(path("known")))
		    except FileNotFoundError: return {}
		known = load()
		if verb == "submit":
		    with open(path("asked"), "a") as file:
		        e = request["executor"]
		        print(e.get("cpus"), e.get("gpus"), request.get("memory"), e.get("time_ms"), e.get("partition"), file=file)
		    ends = [line for line in open(path("ends")).read().split() if line]
		    how = ends[len(known)] if len(known) < len(ends) else None
		    if not how:
		        for n in range(request["tasks"]):
		            subprocess.run(request["argv"] + [str(n + 1)], cwd=request["directory"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
		    known[request["token"]] = [how or "completed", request["tasks"]]
		    json.dump(known, open(path("known"), "w"))
		    print(json.dumps({"job": request["token"]}))
		elif verb == "states":
		    print(json.dumps({"placements": {t: {"job": t, "tasks": {str(n + 1): {"state": "ended", "ended": known[t][0]}
		          for n in range(known[t][1])}} for t in request["tokens"] if t in known}}))
		else:
		    print("{}")
	PY
	{
		printf 'name: flow\nexecutors:\n  q: { kind: command, directory: %s/shared, poll: 100ms, submit_rate: 100, partition: main, cpus: 1, memory: 1G, time: 1h,' "$PWD"
		printf ' submit: [python3, %s/q.py, submit], states: [python3, %s/q.py, states], cancel: [python3, %s/q.py, cancel] }\ncommands:\n' \
			"$PWD" "$PWD" "$PWD"
		cat
	} >flow.yaml
}

@test "a step's resources stand in place of its executor's, and what is the site's stays" {
	queue <<-'YAML'
		  - { on: q, shell: "true", timeout: 1m }
		  - { on: q, shell: "true", timeout: 1m, resources: { cpus: 8, gpus: "a100:2", memory: 4G, time: 2h } }
		  - { on: q, shell: "true", timeout: 1m, resources: { gpus: 1 } }
	YAML
	call workflow run flow.yaml
	envelope 0
	[ "$(cat asked)" = "$(printf '%s\n' '1 None 1G 3600000 main' '8 a100:2 4G 7200000 main' '1 1 1G 3600000 main')" ]
}

@test "after memory or time was not enough, the next of each list is asked for, and the last one again" {
	queue out_of_memory timeout timeout <<-'YAML'
		  - { on: q, foreach: [a, b], chunk: 2, resources: { memory: [1G, 2G], time: [1h, 2h, 3h] }, do: [ { shell: 'echo x >>did', timeout: 1m } ] }
	YAML
	call workflow run flow.yaml
	envelope 0
	[ "$(cut -d' ' -f3,4 asked)" = "$(printf '%s\n' '1G 3600000' '2G 7200000' '2G 10800000' '2G 10800000')" ]
	[ "$(wc -l <did)" -eq 2 ]
}

# confining_queue SIZES: a control group for each task, with the memory that it asked for; MEMORY is the folder of ours
confining_queue() {
	local top=/sys/fs/cgroup file=memory.max
	[ ! -d $top/memory ] || top=$top/memory file=memory.limit_in_bytes
	[ $file != memory.max ] || grep -qsw memory $top/cgroup.subtree_control || skip "no cgroup for memory here"
	MEMORY=$top/runner-test-$TOKEN
	mkdir "$MEMORY" 2>/dev/null || skip "no cgroup for memory here"
	[ -e "$MEMORY/$file" ] || skip "no cgroup for memory here"
	[ $file != memory.max ] || echo +memory >"$MEMORY/cgroup.subtree_control"
	queue <<-YAML
		  - id: each
		    on: q
		    foreach: [1, 2, 3]
		    chunk: 3
		    resources: { memory: [$1] }
		    do:
		      - shell: 'echo \$item >>did; [ \$item != 2 ] || python3 -c "x = b\"x\" * 200000000"'
		        env: { item: "\${item}" }
		        idempotent: true
	YAML
	cat >confine <<-SH
		#!/bin/sh
		group=$MEMORY/\$1
		mkdir "\$group" && echo "\$2" >"\$group/$file" && echo \$\$ >"\$group/cgroup.procs" || exit
		shift 2 && exec "\$@"
	SH
	chmod +x confine
	sed -i 's|subprocess.run(request\["argv"\]|subprocess.run([path("confine"), request["token"] + "." + str(n), request["memory"]] + request["argv"]|' q.py
}

clean_up() {
	kill_all
	[ -z "${MEMORY:-}" ] || rmdir "$MEMORY"/* "$MEMORY" 2>/dev/null || true
}

@test "a step's program that the kernel kills for want of memory has its task placed again with more of it" {
	confining_queue "100M, 600M"
	call workflow run flow.yaml
	envelope 0
	[ "$(xargs <did)" = '1 2 2 3' ]
	[ "$(cut -d' ' -f3 asked | xargs)" = '100M 600M' ]
}

@test "where there is no more memory to ask for, a step that the kernel kills says so" {
	confining_queue 100M
	call workflow run flow.yaml
	[ "$status" -ne 0 ]
	expect 'e.error.code == "RESOURCE_EXHAUSTED" and e.error.context.step_key == "each[2].1" and "out of memory" in e.error.message'
	[ "$(xargs <did)" = '1 2' ]
}

@test "when there is no more memory to ask for the step fails, and a resumed run asks for the most" {
	queue out_of_memory out_of_memory <<-'YAML'
		  - { on: q, shell: "true", timeout: 1m, resources: { memory: [1G, 2G] } }
	YAML
	call workflow run flow.yaml
	[ "$status" -ne 0 ]
	expect 'e.error.code == "RESOURCE_EXHAUSTED"'
	[ "$(wc -l <asked)" -eq 2 ]
	call workflow resume @last
	envelope 0
	[ "$(tail -n 1 asked | cut -d' ' -f3)" = 2G ]
}

@test "resources are refused where nobody can give them, and said to be unused where a step runs here" {
	refused() {
		printf 'executors: { l: { kind: local }, s: { kind: slurm, directory: /x } }\ncommands:\n  - %s\n' "$1" >flow.yaml
		call workflow check flow.yaml
		envelope 2
		expect "'$2' in e.error.errors[0].message"
	}
	refused '{ on: l, shell: "true", resources: { cpus: 2 } }' 'processes of this machine'
	refused '{ on: s, foreach: [a], do: [ { shell: "true", resources: { cpus: 2 } } ] }' 'inside one that runs elsewhere'
	refused '{ on: s, shell: "true", resources: { memory: lots } }' memory
	refused '{ on: s, shell: "true", resources: { time: [1h, 0s] } }' time
	refused '{ on: s, shell: "true", resources: { partition: a } }' 'partition'
	refused '{ on: s, shell: "true", resources: {} }' 'resources'
	printf 'executors: { l: { kind: local } }\ncommands:\n  - { shell: "true", resources: { cpus: 2 } }\n' >flow.yaml
	call workflow check flow.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["RESOURCES_UNUSED"]'
	call workflow check flow.yaml --on l
	envelope 2
}

@test "the limits of steps are measured by the longest time that is asked for" {
	printf 'executors: { s: { kind: slurm, directory: /x, time: 10m } }\ncommands:\n  - { on: s, shell: "true", timeout: 50m, resources: { time: [30m, %s] } }\n' 2h >flow.yaml
	call workflow check flow.yaml
	envelope 0
	sed -i 's/, 2h//' flow.yaml
	call workflow check flow.yaml
	envelope 2
}
