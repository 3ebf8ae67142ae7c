#!/usr/bin/env bats
# Executors that ssh reaches (`via: ssh HOST`): a real sshd on loopback, behind it a queue of three programs
# (tests/cli/lib/batch_queue.py). What is there is on no disk of this side: the directory is the server's.

load lib/workflow
load lib/ssh

# there KEYS <<COMMANDS: flow.yaml, with the executor q, whose queue and directory are on the server
there() {
	# shellcheck disable=SC2034 # for lib/ssh.bash
	SERVER_ENV=(TOKEN="$TOKEN" LC_ALL=C.UTF-8 "${SERVER_MORE[@]}")
	sshd_up ${LINKED:+link}
	mkdir -p queue ssh/home/work
	env -i "${CLEAN_ENV[@]}" python3 "$ROOT/tests/cli/lib/batch_queue.py" serve "$PWD/queue" >/dev/null 2>&1 </dev/null 3>&- &
	{
		printf 'name: flow\nexecutors:\n  q: { kind: command, via: ssh %s, directory: ~/work, poll: 100ms, submit_rate: 100, %s' \
			"${NODE:-node}" "${1:-}"
		for verb in submit states cancel; do
			printf ' %s: [python3, %s, %s, %s/queue],' "$verb" "$ROOT/tests/cli/lib/batch_queue.py" "$verb" "$PWD"
		done
		printf ' }\n'
		cat
	} >flow.yaml
}

clean_up() {
	sshd_down
	kill_all
}

# folder_goes: that of the steps on the host, at once, though their tasks still write there
folder_goes() {
	mkdir gone
	mv ssh/home/work/runner-* gone/
	until_true rm -rf gone
}

# once N: each of the items 1 to N was done once
once() {
	[ "$(sort -n did | uniq -c | awk '$1 != 1')" = '' ]
	[ "$(sort -n did | uniq | wc -l)" -eq "$1" ]
}

# left_there: tasks that live, folders of runs, and the copies of them
nothing_left() {
	until_true eval '[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]'
	[ "$(find ssh/home/work -mindepth 2 | wc -l)" -eq 0 ]
}

@test "a loop runs where ssh leads: items, environment, long outputs and logs travel, and nothing stays there" {
	seq 23 >items.txt
	there <<-YAML
		env: { GREETING: hello }
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: q
		    chunk: 5
		    do:
		      - { shell: 'echo "\$item" >>$PWD/did; pwd; echo "\$GREETING \$((item * 2))"', env: { item: "\${item}" } }
		  - id: long
		    on: q
		    shell: head -c 5000000 /dev/zero | tr '\\0' x
		    capture_limit: none
		  - shell: cut -c 5000000- '\${steps.long.output_path}'
	YAML
	call workflow run flow.yaml
	envelope 0
	expect "[i.output.split() for i in e.data.steps[0].data] == [['$PWD/ssh/home/work', 'hello', str(2 * n)] for n in range(1, 24)]"
	expect 'e.data.steps[-1].output == "x"'
	once 23
	nothing_left
}

# items N [SECONDS]: a loop over 1 to N on q, each of which says in `did` that it was done
items() {
	seq "$1" >items.txt
	cat <<-YAML
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: q
		    chunk: ${CHUNK:-2}
		    do:
		      - { shell: 'echo "\$item" >>$PWD/did; sleep ${2:-0}', env: { item: "\${item}" }, idempotent: false }
	YAML
}

@test "a line that is cut at random moments costs time, and no item is lost or done twice" {
	LINKED=yes there 'at_once: 3,' < <(items 14 0.1)
	echo "${CUTS:-8}" >link/cuts
	call workflow run flow.yaml
	envelope 0
	once 14
	[ "$(cat link/done)" -ge 3 ]
	echo 0 >link/cuts
	nothing_left
	[ "$(ls queue)" = "$(sql 'select token from placements order by number')" ]
}

@test "a submission whose answer is lost is found, and not made again" {
	LINKED=yes there < <(items 4)
	cat >submit.sh <<-SH
		answer=\$(python3 $ROOT/tests/cli/lib/batch_queue.py submit $PWD/queue)
		echo x >>$PWD/submitted
		[ -e $PWD/lost ] || { touch $PWD/lost $PWD/link/dead; sleep 1; rm $PWD/link/dead; }
		echo "\$answer"
	SH
	sed -i "s|submit: \[[^]]*\]|submit: [sh, $PWD/submit.sh]|" flow.yaml
	call workflow run flow.yaml
	envelope 0
	once 4
	[ -e lost ]
	[ "$(wc -l <submitted)" -eq "$(sql 'select count(*) from placements')" ]
	[ "$(wc -l <submitted)" -eq 1 ]
}

@test "the other side is killed when it has just submitted: what it didn't note is found by its token" {
	there < <(items 4)
	cat >submit.sh <<-SH
		answer=\$(python3 $ROOT/tests/cli/lib/batch_queue.py submit $PWD/queue)
		echo x >>$PWD/submitted
		[ -e $PWD/lost ] || {
			touch $PWD/lost
			for pid in \$(pgrep -f 'self executor reach'); do
				if grep -qz "^TOKEN=$TOKEN\$" /proc/\$pid/environ; then kill -KILL \$pid; fi
			done
		}
		echo "\$answer"
	SH
	sed -i "s|submit: \[[^]]*\]|submit: [sh, $PWD/submit.sh]|" flow.yaml
	call workflow run flow.yaml
	envelope 0
	once 4
	[ -e lost ]
	[ "$(wc -l <submitted)" -eq 1 ]
}

@test "a coordinator that is killed goes on where it was, over the same line" {
	LINKED=yes there < <(items 6 1)
	begin workflow run flow.yaml
	until_true [ -s did ]
	kill -KILL "$pid"
	finish
	call workflow resume @last
	envelope 0
	once 6
	nothing_left
}

@test "cancel ends what runs there; while the line is down it says so, in time, and works when it is back" {
	LINKED=yes there < <(items 3 600.25)
	begin workflow run flow.yaml
	until_true [ -s did ]
	touch link/dead
	kill -KILL "$pid"
	finish
	call workflow cancel @last
	envelope 12
	[ "$elapsed_ms" -lt 60000 ]
	expect 'e.error.code == "UNAVAILABLE" and e.error.suggestion.startswith("Try again: runner workflow cancel")'
	rm link/dead
	call workflow cancel @last
	envelope 0
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
	[ "$(find ssh/home/work -name secrets.json | wc -l)" -eq 0 ]
}

@test "Ctrl+C ends what runs there" {
	there < <(items 3 600.25)
	begin workflow run flow.yaml
	until_true [ -s did ]
	kill -INT "$pid"
	finish
	[ "$status" -ne 0 ]
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
}

@test "a host that refuses, is silent, or doesn't know us ends the step in time, and says what to try" {
	LINKED=yes NODE=gone there < <(items 1)
	call workflow run flow.yaml
	envelope 12
	[ "$elapsed_ms" -lt 60000 ]
	expect 'e.error.code == "UNAVAILABLE" and e.error.side_effects == "none" and "refused" in e.error.message'
	expect '"ssh -o BatchMode=yes gone true" in e.error.suggestion'
	touch link/dead
	sed -i 's/ssh gone/ssh node/' flow.yaml
	call executor check q --file flow.yaml
	[ "$status" -ne 0 ]
	[ "$elapsed_ms" -lt 60000 ]
	expect '(e.data.checks[0].name, e.data.checks[0].ok) == ("link", False)'
	rm link/dead
	: >ssh/known
	call workflow run flow.yaml
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "Host key verification failed" in e.error.message'
	[ ! -e did ]
}

@test "check looks through ssh: the line, the queue, the directory and its locks; no runner there is said" {
	there < <(items 1)
	call executor check q --file flow.yaml
	envelope 0
	expect '[r.name for r in e.data.checks][:2] == ["link", "states"] and all(r.ok for r in e.data.checks)'
	[ -z "$(find ssh/home/work -name 'check-*')" ]
	sed -i 's/via: ssh node/&, runner: ~\/none\/runner/' flow.yaml
	call executor check q --file flow.yaml
	[ "$status" -ne 0 ]
	expect '"no runner" in e.data.checks[0].detail and "set runner of the executor" in e.data.checks[0].remedy'
	printf '#!/bin/sh\ncat >/dev/null\necho "{\\"ok\\":true,\\"data\\":{}}"\n' >ssh/there/old
	chmod +x ssh/there/old
	sed -i "s|~/none/runner|$PWD/ssh/there/old|" flow.yaml
	call workflow run flow.yaml
	envelope 12
	expect '"no answer of runner" in e.error.message'
}

@test "what the environment of the host says of answers changes nothing that travels, and the list names the host" {
	SERVER_MORE=(RUNNER_MAX_OUTPUT_BYTES=4096 API_TOKEN=hello123 RUNNER_META=short)
	there <<-YAML
		commands:
		  - { id: a, on: q, shell: 'echo "hello123 \$(seq 20000 | tr "\\n" " ")"' }
		  - { id: b, on: q, shell: head -c 300000 /dev/urandom | tee $PWD/raw, capture_limit: none }
		  - { shell: 'printf "%s" "\${steps.a.output}" | head -c 13; cmp $PWD/raw "\${steps.b.output_path}"' }
	YAML
	call workflow run flow.yaml
	envelope 0
	expect 'e.data.steps[-1].output == "hello123 1 2 "'
	call executor list --file flow.yaml
	envelope 0
	expect '"node:~/work" in str(e.data)'
}

@test "of the user's ssh configuration only the way to the host counts" {
	there < <(items 2)
	sed -i "s|^Host node|&\n	ControlMaster auto\n	ControlPath $PWD/ssh/master\n	ControlPersist 60\n	RemoteCommand echo no\n	RequestTTY yes\n	PermitLocalCommand yes\n	LocalCommand touch $PWD/local\n	ForwardAgent yes|" ssh/config
	call workflow run flow.yaml
	envelope 0
	once 2
	[ ! -e local ]
	[ ! -e ssh/master ]
}

@test "what via takes: ssh and a host, of kind slurm and command" {
	for via in 'ssh -oProxyCommand=touch' 'scp a' 'ssh' 'ssh a b' '"ssh a;b"'; do
		printf 'executors:\n  q: { kind: slurm, directory: ~/x, via: %s }\ncommands:\n  - { on: q, shell: "true" }\n' "$via" >flow.yaml
		call workflow check flow.yaml
		envelope 2
	done
	printf 'executors:\n  q: { kind: local, via: ssh a }\ncommands:\n  - { on: q, shell: "true" }\n' >flow.yaml
	call workflow check flow.yaml
	envelope 2
	expect '"via" in e.error.errors[0].message'
	echo 'return { executors = { q = { kind = "slurm", via = "ssh me@login.cluster", directory = "~/x" } } }' >runner.lua
	printf 'commands:\n  - { on: q, shell: "true", timeout: 1s }\n' >flow.yaml
	call workflow check flow.yaml
	envelope 0
}

@test "a resumed run finds its folder there, or says that it is gone; on another host it doesn't go on" {
	there < <(items 2)
	sed -i "s|sleep 0|[ -e go ] \|\| exit 3|" flow.yaml
	call workflow run flow.yaml
	[ "$status" -ne 0 ]
	sed 's/via: ssh node/via: ssh gone/' flow.yaml >moved.yaml
	cp flow.yaml kept.yaml && cp moved.yaml flow.yaml
	call workflow resume @last --force
	envelope 4
	expect '"can.t go on elsewhere" in e.error.message.replace("\x27", ".")'
	cp kept.yaml flow.yaml
	folder_goes
	call workflow resume @last --force
	envelope 4
	expect '"isn.t there any more" in e.error.message.replace("\x27", ".")'
}

# away WORDS: ssh prints them and fails; back: it works again
away() {
	cp -p ssh/bin/ssh ssh/kept
	printf '#!/bin/sh\necho call >>"%s/ssh/failed"\necho "%s" >&2\nexit 255\n' "$PWD" "$1" >ssh/bin/.new
	chmod +x ssh/bin/.new
	mv ssh/bin/.new ssh/bin/ssh
}

back() {
	mv ssh/kept ssh/bin/ssh
}

@test "a name or a key that is away for a moment while tasks run costs time, and no run" {
	there < <(items 3)
	sed -i "s|sleep 0|until [ -e $PWD/go ]; do sleep 0.05; done|" flow.yaml
	begin workflow run flow.yaml
	until_true [ -s did ]
	away 'ssh: Could not resolve hostname node: Temporary failure in name resolution'
	until_true [ -s ssh/failed ]
	back && rm ssh/failed
	away 'me@node: Permission denied (publickey).'
	until_true [ -s ssh/failed ]
	touch go
	back
	finish
	envelope 0
	once 3
	nothing_left
}

@test "a submission that was made counts as made, whatever a shell there prints and the line does then" {
	there < <(items 2)
	cp -p ssh/bin/ssh ssh/kept
	cat >ssh/bin/ssh <<-SH
		#!/bin/sh
		cat >\$0.\$\$
		"$PWD/ssh/kept" "\$@" <\$0.\$\$ >\$0.\$\$.out
		code=\$?
		if [ ! -e "$PWD/lost" ] && grep -q '"submit":{' \$0.\$\$; then
			touch "$PWD/lost"
			echo "bash: /etc/profile.d/quota.sh: Permission denied" >&2
			echo "me@node: Permission denied (publickey)." >&2
			exit 255
		fi
		cat \$0.\$\$.out
		exit \$code
	SH
	chmod +x ssh/bin/ssh
	call workflow run flow.yaml
	envelope 0
	[ -e lost ]
	once 2
	[ "$(sql 'select count(*) from placements')" -eq 1 ]
}

@test "cancel ends what runs there also where its folder is gone" {
	there < <(items 3 600.25)
	begin workflow run flow.yaml
	until_true [ -s did ]
	kill -KILL "$pid"
	finish
	folder_goes
	call workflow resume @last
	envelope 4
	expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "partial"'
	expect '[w.code for w in e.warnings] == ["TASKS_LEFT"] and "may still run on q" in e.warnings[0].message'
	call workflow cancel @last
	envelope 0
	until_true eval '[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]'
}

@test "where the other side refuses to go on, the answer says that tasks may still run there" {
	there < <(items 2 600.25)
	begin workflow run flow.yaml
	until_true [ -s did ]
	printf '#!/bin/sh\ncat >/dev/null\necho "%s"\nexit 4\n' \
		'{\"ok\":false,\"error\":{\"code\":\"PRECONDITION\",\"message\":\"another version\"}}' >ssh/there/new
	chmod +x ssh/there/new
	mv ssh/there/new ssh/there/runner
	finish
	envelope 4
	expect '"another version" in e.error.message'
	expect '[w.code for w in e.warnings] == ["TASKS_LEFT"] and "may still run on q" in e.warnings[0].message'
	call workflow cancel @last
	envelope 4
	expect 'e.error.message.startswith("Tasks of step each may still run: runner on node: another version")'
	expect '"workflow cancel run_" in e.error.suggestion'
	ln -sf "$RUNNER" ssh/there/runner
	call workflow cancel @last
	envelope 0
	until_true eval '[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]'
}

# narrow BYTES: a line that carries so many in one call, either way, then breaks; and of every three calls with more than 40,000 one,
# when half of it is through. ssh/carried has what arrived, ssh/broken the calls that broke.
narrow() {
	mv ssh/bin/ssh ssh/wide
	cat >ssh/bin/ssh <<-PY
		#!/usr/bin/env python3
		import os, subprocess, sys
		there = "$PWD/ssh/"

		def note(name, text):
		    with open(there + name, "a", encoding="utf-8") as file:
		        file.write(text + "\n")

		def is_cut(size):
		    if size > 40000:
		        note("large", "x")
		    return size > $1 or size > 40000 and os.path.getsize(there + "large") // 2 % 3 == 0

		sent = sys.stdin.buffer.read()
		if is_cut(len(sent)):
		    note("broken", f"in {len(sent)}")
		    sys.exit("client_loop: send disconnect: Broken pipe")
		done = subprocess.run([there + "wide"] + sys.argv[1:], input=sent, stdout=subprocess.PIPE, check=False)
		if is_cut(len(done.stdout)):
		    note("broken", f"out {len(done.stdout)}")
		    sys.stdout.buffer.write(done.stdout[:len(done.stdout) // 2])
		    sys.stdout.flush()
		    sys.exit(255)
		note("carried", str(len(sent) + len(done.stdout)))
		sys.stdout.buffer.write(done.stdout)
		sys.exit(done.returncode)
	PY
	chmod +x ssh/bin/ssh
}

@test "a line that carries little, and breaks again and again, brings all of it: what has come is kept" {
	there <<-YAML
		commands:
		  - id: long
		    on: q
		    shell: seq 400000 | head -c 1200000
		    capture_limit: none
		  - shell: cksum <'\${steps.long.output_path}'
	YAML
	narrow 900000
	call workflow run flow.yaml --timeout 2m
	envelope 0
	expect "e.data.steps[-1].output.split() == '$(seq 400000 | head -c 1200000 | cksum)'.split()"
	[ "$(grep -c out ssh/broken)" -ge 3 ]
	[ "$(awk '{ n += $1 } END { print n }' ssh/carried)" -lt 3000000 ]
	nothing_left
}

@test "what a step takes with it arrives over a line that carries little, and breaks again and again" {
	for n in $(seq 16); do printf '%0100000d\n' "$n"; done >items.txt
	there <<-YAML
		commands:
		  - foreach: { file: items.txt }
		    on: q
		    chunk: 16
		    do: [ { shell: 'printf %s "\$item" | wc -c >>$PWD/did', env: { item: "\${item}" } } ]
	YAML
	narrow 900000
	call workflow run flow.yaml --timeout 2m
	envelope 0
	[ "$(sort did | uniq -c | xargs)" = '16 100000' ]
	[ "$(grep -c in ssh/broken)" -ge 2 ]
	nothing_left
}

# cut_at WORD [once]: each call of ssh that asks for WORD fails, until `rm ssh/cut`; or one does
cut_at() {
	mv ssh/bin/ssh ssh/whole
	touch ssh/cut
	cat >ssh/bin/ssh <<-SH
		#!/bin/sh
		cat >\$0.\$\$
		[ ! -e "$PWD/ssh/cut" ] || ! grep -q '"$1":true' \$0.\$\$ || { echo x >>"$PWD/ssh/cuts"; ${2:+rm "$PWD/ssh/cut";} exit 255; }
		exec "$PWD/ssh/whole" "\$@" <\$0.\$\$
	SH
	chmod +x ssh/bin/ssh
}

secrets_there() {
	find ssh/home/work -name secrets.json | wc -l
}

@test "secrets that can't be removed from the host are said; cancel removes them, of a run that has ended, too" {
	there <<-YAML
		commands:
		  - { id: bad, on: q, shell: exit 3 }
	YAML
	cut_at forget
	call workflow run flow.yaml
	envelope 1
	[ "$(wc -l <ssh/cuts)" -ge 3 ]
	[ "$(secrets_there)" -eq 1 ]
	expect '[w.code for w in e.warnings] == ["SECRETS_LEFT"] and "workflow cancel " + e.meta.run in e.warnings[0].message'
	[ ! -s "$(find state/runner/placed -name secrets.json)" ]
	call workflow cancel @last
	envelope 0
	expect '[w.code for w in e.warnings] == ["SECRETS_LEFT"]'
	rm ssh/cut
	call workflow cancel @last
	envelope 0
	expect 'e.warnings == [] and e.data.state == "cancelled"'
	[ "$(secrets_there)" -eq 0 ]
	[ -z "$(find state/runner/placed -name secrets.json)" ]
}

@test "secrets are removed after a line that was cut for a moment" {
	there <<-YAML
		commands:
		  - { id: bad, on: q, shell: exit 3 }
	YAML
	cut_at forget once
	call workflow run flow.yaml
	envelope 1
	[ "$(wc -l <ssh/cuts)" -eq 1 ]
	expect 'e.warnings == []'
	[ "$(secrets_there)" -eq 0 ]
}

@test "the folder of a step that stays on the host after its end goes with cancel" {
	there < <(items 2)
	cut_at remove
	call workflow run flow.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["SECRETS_LEFT"]'
	[ "$(secrets_there)" -eq 1 ]
	rm ssh/cut
	call workflow cancel @last
	envelope 6
	[ "$(secrets_there)" -eq 0 ]
}

@test "cancel removes the secrets of a step that had placed nothing yet" {
	there < <(items 2)
	sed -i "s|submit: \[[^]]*\]|submit: [sh, -c, 'echo \"{\\\"error\\\":{\\\"kind\\\":\\\"busy\\\",\\\"message\\\":\\\"full\\\"}}\"']|" flow.yaml
	begin workflow run flow.yaml
	until_true eval '[ "$(secrets_there)" -eq 1 ]'
	kill -KILL "$pid"
	finish
	sql "update chunks set state = 'planned'"
	sql "update placements set state = 'over'"
	call workflow cancel @last
	envelope 0
	[ "$(secrets_there)" -eq 0 ]
}

@test "a folder that goes from the host while the step runs ends the step with its path, and its tasks" {
	there < <(items 3 600.25)
	begin workflow run flow.yaml
	until_true [ -s did ]
	folder_goes
	finish
	envelope 4
	expect "e.error.code == 'PRECONDITION' and '$PWD/ssh/home/work/runner-' in e.error.message and e.error.side_effects == 'partial'"
	expect 'e.error.suggestion.startswith("Put it back")'
	until_true eval '[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]'
}

@test "a run that is cut off says which of its tasks may still run" {
	LINKED=yes there < <(items 2 600.25)
	begin workflow run flow.yaml
	until_true [ -s did ]
	away 'ssh: connect to host node port 22: No route to host'
	kill -INT "$pid"
	finish
	[ "$status" -ne 0 ]
	expect '[w.code for w in e.warnings] == ["TASKS_LEFT"] and "Step each" in e.warnings[0].message'
	back
	call workflow cancel @last
	envelope 0
	until_true eval '[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]'
}

@test "the log that an error names is here" {
	there <<-YAML
		commands:
		  - { id: bad, on: q, shell: 'echo why >&2; exit 3' }
	YAML
	call workflow run flow.yaml
	envelope 1
	grep -q why "$(python3 -c 'import json; print(json.load(open("out.txt"))["error"]["context"]["log"])')"
	expect "e.error.context.log.startswith('$PWD/state/')"
}
