#!/usr/bin/env bats
# confine of a workflow and of its steps: the programs of claude and shell steps, and their hooks, write, read and connect
# where it says and nowhere else, also on an executor and after a resume.

load lib/workflow

setup() {
	load lib/helper
	cd "$BATS_TEST_TMPDIR" || return 1
	set +T
	CLEAN_ENV+=(HOME="$BATS_TEST_TMPDIR.home")
	mkdir -p commands "$BATS_TEST_TMPDIR.home" out data
	prepare
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 3 ] || skip "this kernel's Landlock is version $have, not 3"
	echo inside >data/in
	echo victim >victim
}

# What a program tries; what has worked is in out/done.
ATTACK='exec 2>/dev/null; cd "$OLD" ; for way in "echo x >victim" "echo x >made" "rm -f victim" "mv victim gone" "ln -s out made" "mkdir made" "echo x >~/made" "echo x >/tmp/made-$$" "echo x >state/made" "rm -r state/runner/runs.db" "echo x >>claude.yaml"; do (eval "$way") && echo "$way" >>out/done; done; echo x >"$TMPDIR/mine" && echo "$TMPDIR" >>out/temporary; true'

nothing_done() {
	[ ! -s out/done ] || { cat out/done; return 1; }
	[ "$(cat victim)" = victim ]
	[ ! -e made ]
	[ ! -e "$BATS_TEST_TMPDIR.home/made" ]
	[ "$(wc -l <out/temporary)" -eq "$1" ]
	[ "$(sort -u out/temporary | wc -l)" -eq "$1" ]
	while read -r dir; do [ ! -e "$dir" ]; done <out/temporary
}

@test "a shell step, a claude step and their hooks write only where the workflow says" {
	turns "$ATTACK"
	workflow w <<-YAML
		confine: { write: [out, claude] }
		env: { OLD: $PWD }
		commands:
		  - shell: |
		      $ATTACK
		  - claude: attack
		  - shell: $ATTACK; [ -e out/again ] || { touch out/again; exit 75; }
		    retry: { max_attempts: 1, initial_delay: 0, retry_on: [{ exit: 75 }] }
		    on_retry: $ATTACK
	YAML
	call workflow run w.yaml
	envelope 0
	nothing_done 5
}

@test "nobody's steps are as confined as root's" {
	[ "$(id -u)" = 0 ] || skip "only root is two users"
	workflow w <<-YAML
		confine: { write: [out], network: false }
		env: { OLD: $PWD, HOME: $BATS_TEST_TMPDIR.home }
		commands:
		  - shell: |
		      $ATTACK
	YAML
	chown -R 65534 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR.home"
	call_as 65534 workflow run w.yaml
	envelope 0
	nothing_done 1
}

@test "verify of a step in doubt is confined, too" {
	workflow w <<-YAML
		confine: { write: [out] }
		env: { OLD: $PWD }
		commands:
		  - shell: touch out/begun; sleep 60
		    verify: $ATTACK; exit 0
	YAML
	begin workflow run w.yaml
	until_true [ -e out/begun ]
	kill -9 "$pid"
	finish
	until_true assert_no_process_left
	call workflow resume @last
	envelope 0
	nothing_done 1
}

@test "a step's own confine stands for the workflow's, and false for none" {
	workflow w <<-'YAML'
		confine: { write: [out] }
		commands:
		  - shell: echo x >out/a; ! (echo x >data/a) 2>/dev/null
		  - shell: echo x >data/b; ! (echo x >out/b) 2>/dev/null
		    confine: { write: [data] }
		  - shell: echo x >c
		    confine: false
		  - parallel:
		      - shell: echo x >out/d; ! (echo x >data/d) 2>/dev/null
		  - foreach: [1, 2]
		    do:
		      - shell: echo x >out/e; ! (echo x >data/e) 2>/dev/null
		    parallel: 2
		  - runner: free
		    confine: false
	YAML
	command_file free <<<'return { description = "x", danger_level = "safe", run = function() io.open("free", "w"):close() return {} end }'
	call workflow run w.yaml
	envelope 0
	[ "$(find c free out data -type f | sort | tr "\n" " ")" = "c data/b data/in free out/a out/d out/e " ]
}

@test "what may not be read is out of reach of a step, whose program still starts" {
	turns 'cat data/in >out/claude; cat victim >>out/claude 2>/dev/null; true'
	chmod 600 victim
	workflow w <<-'YAML'
		confine: { write: [out, claude], read: [data] }
		commands:
		  - shell: cat data/in; cat victim 2>/dev/null || echo no
		    id: looks
		  - claude: look
	YAML
	call workflow run w.yaml
	envelope 0
	[ "$(cat out/claude)" = inside ]
	expect 'e.data["steps"][0]["output"].split() == ["inside", "no"]'
}

@test "ports hold for a step, and no other socket is made" {
	[ "$have" -ge 4 ] || skip "this kernel's Landlock is version $have, not 4"
	cat >ask.py <<-'PY'
		import socket, sys
		def way(name, f):
		    try: f(); print(name, "out")
		    except OSError as e: print(name, e.errno)
		way("open", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5))
		way("shut", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5))
		way("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
	PY
	python3 - >ports 3>&- <<-'PY' &
		import os, socket, time
		s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
		print(*[x.getsockname()[1] for x in s], flush=True)
		while not os.path.exists("over"): time.sleep(0.05)
	PY
	local server=$! open shut
	until_true [ -s ports ]
	read -r open shut <ports
	workflow w <<-YAML
		commands:
		  - shell: python3 ask.py $open $shut
		    confine: { network: { ports: [$open] } }
		  - shell: python3 ask.py $open $shut
		    confine: { network: { ports: [$open], udp: true } }
		  - shell: python3 ask.py $open $shut
		    confine: { network: false }
	YAML
	call workflow run w.yaml
	touch over
	wait "$server"
	envelope 0
	expect '[s["output"].split() for s in e.data["steps"]] == [["open", "out", "shut", "13", "udp", "13"], ["open", "out", "shut", "13", "udp", "out"], ["open", "13", "shut", "13", "udp", "13"]]'
}

@test "on an executor a step is held as it is here" {
	workflow w <<-YAML
		executors: { here: { kind: local } }
		on: here
		confine: { write: [out] }
		env: { OLD: $PWD }
		commands:
		  - shell: |
		      $ATTACK
		  - foreach: [1, 2, 3]
		    chunk: 2
		    do:
		      - shell: |
		          $ATTACK
	YAML
	call workflow run w.yaml
	envelope 0
	nothing_done 4
}

@test "where the kernel can't hold it a step fails, or warns if it says so, also on an executor" {
	needs_strace
	needs_library libsqlite3.so.0
	local on
	for on in none here; do
		workflow w <<-YAML
			executors: { here: { kind: local } }
			on: $on
			commands:
			  - shell: touch out/lenient
			    confine: { write: [out], required: false }
			  - shell: touch out/strict
			    confine: { write: [out] }
		YAML
		status=0
		env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e trace=landlock_create_ruleset \
			-e inject=landlock_create_ruleset:error=ENOSYS "$RUNNER" workflow run w.yaml >out.txt 2>err.txt </dev/null || status=$?
		# shellcheck disable=SC2034 # for envelope
		stdout=$(<out.txt)
		envelope 4
		expect 'e.error.code == "CONFINEMENT_UNAVAILABLE" and e.error.retryable is False'
		[ -e out/lenient ]
		[ ! -e out/strict ]
		rm out/lenient
	done
}

@test "a resumed run is as confined as the file that it began with" {
	workflow w <<-'YAML'
		confine: { write: [out] }
		commands:
		  - shell: "[ -e data/go ] && { echo x >victim || touch out/held; }; exit 3"
	YAML
	call workflow run w.yaml
	[ "$status" -ne 0 ]
	touch data/go
	cp w.yaml kept.yaml
	sed -i '/confine/d' w.yaml
	call workflow resume @last
	expect 'e.error.code == "CONFLICT"'
	mv kept.yaml w.yaml
	call workflow resume @last
	[ "$status" -ne 0 ]
	[ -e out/held ]
	[ "$(cat victim)" = victim ]
}

@test "a path to write to that isn't there fails the step before it starts" {
	workflow w <<-'YAML'
		commands:
		  - shell: touch ran
		    confine: { write: [nowhere] }
	YAML
	call workflow run w.yaml
	envelope 4
	expect "e.error.code == 'PRECONDITION' and e.error.context['path'] == '$PWD/nowhere'"
	[ ! -e ran ]
}

@test "workflow check refuses what can't be held, with its place" {
	local wrong
	for wrong in '{}' 'true' '{ write: ["${x}"] }' '{ write: [a/../b] }' '{ read: [..] }' '{ network: true }' '{ network: {} }' \
		'{ network: { udp: true } }' '{ network: { ports: [0] } }' '{ network: { hosts: [a] } }' '{ network: { hosts: [a], ports: [443] } }' \
		'{ capabilities: [sys_admin] }' '{ wirte: [a] }' '{ required: false }' '{ write: [a], required: 1 }'; do
		printf 'vars: { x: y }\ncommands:\n  - shell: "true"\n    confine: %s\n' "$wrong" >w.yaml
		echo "$wrong"
		call workflow check w.yaml
		envelope 2
		expect 'e.error.errors[0]["line"] == 4'
	done
	printf 'confine: { write: [out] }\ncommands:\n  - runner: deploy\n' >w.yaml
	call workflow check w.yaml
	envelope 2
	expect '"runner step" in e.error.errors[0]["message"] and "confine: false" in e.error.errors[0]["suggestion"]'
	printf 'commands:\n  - foreach: [1]\n    do: [{ shell: "true" }]\n    confine: { write: [out] }\n' >w.yaml
	call workflow check w.yaml
	envelope 2
	expect '"steps inside" in e.error.errors[0]["message"]'
}
