#!/usr/bin/env bats
# approve: steps that wait for a person. A person is an interactive shell under tmux, which descends from nothing that asks; an agent
# is a step of the run that asks, or what has started it.

load lib/workflow
load lib/tmux

FLAGS=() # in front of `workflow run`

ledger() {
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
}

clean_up() {
	end_shell
	kill_all
}

pending() {
	sql "select id from approvals where state = 'pending' order by asked_ms, id"
}

# asks [KEYS]: a workflow whose second step asks
asks() {
	needs_library libsqlite3.so.0
	ledger
	workflow "${2:-ship}" <<-YAML
		name: ship
		commands:
		  - shell: echo built >>effects
		  - id: gate
		    approve: { message: "Ship it?", ${1:-} }
		  - shell: echo "shipped \${steps.gate.data.decision}" >>effects
	YAML
}

# waits FILE ARGS…: it runs, and waits for a person: $id is the approval
waits() {
	ledger
	[ -n "${shell_runs:-}" ] || start_shell 150 45
	call "${FLAGS[@]}" workflow run "$@"
	envelope 14
	expect 'e.error["code"] == "APPROVAL_PENDING" and e.data["state"] == "waiting"'
	id=$(pending | head -n 1)
}

# person WORDS…: at a terminal; what it says is on the screen, and nothing else
person() {
	[ -n "${shell_runs:-}" ] || start_shell 150 45
	mux send-keys -R
	mux clear-history
	type_line "\$R $*; echo \"ended: \$?\""
}

# agrees ID: a person, who sees the run go on
agrees() {
	person approve "$1"
	on_screen 'Approve step .*\[y/N\]'
	type_line y
	on_screen 'ended: 0'
}

decisions() {
	python3 -c '
import json
for line in open("audit.jsonl"):
    row = json.loads(line)
    if row["event"] == "decision":
        print(row["decision"], row["by"], row.get("terminal", "-"), row["uid"])' | sort | uniq -c | sed 's/^ *//'
}

# --- asking and deciding -------------------------------------------------------------------

@test "off a terminal a run waits, a person agrees, and it goes on; the ledger has who and where" {
	asks
	waits ship.yaml
	[ "$(cat effects)" = built ]
	expect "e.error['retryable'] is False and e.error['suggestion'] == 'runner approve $id'"
	call workflow list --state waiting
	expect 'len(e.data) == 1 and e.data[0]["state"] == "waiting"'
	call workflow list --state interrupted
	expect 'e.data == []'
	call workflow wait @last
	envelope 14
	call workflow resume @last
	envelope 14
	[ "$(pending)" = "$id" ]
	call approvals
	expect "[(r['id'], r['step'], r['message']) for r in e.data] == [('$id', 'gate', 'Ship it?')]"
	agrees "$id"
	[ "$(cat effects)" = $'built\nshipped approved' ]
	call workflow show @last
	expect 'e.data["state"] == "completed" and e.data["approvals"][0]["state"] == "approved"'
	expect 'e.data["approvals"][0]["by"]["terminal"].startswith("/dev/pts/")'
	[[ "$(decisions)" == "1 confirmed terminal /dev/pts/"*" $(id -u)" ]]
	call approvals
	expect 'e.data == []'
}

@test "where a policy would not let the run go on nothing is decided" {
	asks
	waits ship.yaml
	echo '{ "confine": { "network": false } }' >c.json
	echo '{ "deny": ["workflow resume"] }' >d.json
	echo '{ "confirm": ["workflow resume"] }' >e.json
	echo '{ "allow": { "approve": {}, "reject": {}, "workflow resume": { "max_calls": 0 } } }' >f.json
	local file verb
	for file in c d e f; do
		for verb in approve reject; do
			call --policy $file.json $verb "$id"
			envelope 7
			expect 'e.error["code"] == "POLICY_DENIED" and e.error["side_effects"] == "none" and e.error["suggestion"].endswith("runner '"$verb $id"'")'
			[ "$(pending)" = "$id" ]
		done
	done
	agrees "$id"
	[ "$(tail -n 1 effects)" = 'shipped approved' ]
}

@test "a person refuses: the run fails with the reason, on_failure sees it, and a resume asks again" {
	workflow ship <<-'YAML'
		name: ship
		commands:
		  - id: gate
		    approve: Ship it?
		    on_failure: { shell: "echo ${steps.gate.error.code}: ${steps.gate.output} >>effects" }
		  - shell: echo shipped >>effects
	YAML
	waits ship.yaml
	person reject "$id" --why "'not before Monday'"
	on_screen 'ended: 0'
	[ "$(cat effects)" = 'APPROVAL_REJECTED: not before Monday' ]
	[ "$(sql 'select code from runs')" = APPROVAL_REJECTED ]
	call workflow resume @last
	envelope 14
	[ "$(pending)" != "$id" ]
	agrees "$(pending)"
	[ "$(tail -n 1 effects)" = shipped ]
}

@test "at the terminal of the run a person is asked, with what is shown; Enter leaves it for later" {
	asks 'show: [effects]'
	person workflow run ship.yaml
	on_screen 'Approve step gate\?'
	on_screen '^  \| --- effects'
	press Enter
	on_screen 'ended: 14'
	person workflow resume @last
	on_screen 'Approve step gate\?'
	type_line y
	on_screen 'ended: 0'
	[ "$(tail -n 1 effects)" = 'shipped approved' ]
}

@test "several wait at once, in a loop and side by side: the rest goes on, and each is decided by itself" {
	workflow many <<-'YAML'
		name: many
		commands:
		  - foreach: [a, b, c]
		    do:
		      - id: ask
		        approve: "Item ${item}?"
		        when: item != "b"
		      - shell: echo "item ${item}" >>effects
		  - parallel:
		      - { id: one, approve: "One?" }
		      - shell: echo two >>effects
	YAML
	waits many.yaml
	[ "$(cat effects)" = 'item b' ]
	[ "$(pending | wc -l)" -eq 2 ]
	agrees "$(sql "select id from approvals where message = 'Item c?'")"
	[ "$(sort effects)" = $'item b\nitem c' ]
	[ "$(sql 'select code from runs')" = APPROVAL_PENDING ]
	agrees "$(pending)"
	[ "$(tail -n 1 effects)" = two ]
	agrees "$(pending)"
	[ "$(sort effects)" = $'item a\nitem b\nitem c\ntwo' ]
	[ "$(sql 'select state from runs')" = completed ]
}

@test "notify runs once for each question, knows its ID, and is no reason to fail" {
	asks 'notify: [{ shell: "echo $RUNNER_APPROVAL >>notified" }, { shell: exit 3 }]'
	waits ship.yaml
	[ "$(cat notified)" = "$id" ]
	expect '[w["code"] for w in e.warnings] == ["NOTIFY_FAILED"]'
	call workflow resume @last
	envelope 14
	[ "$(cat notified)" = "$id" ]
}

@test "a run that waits isn't over: its last steps run once, when it has ended; retry --from asks again" {
	asks
	echo 'finally: [{ shell: "echo over >>effects" }]' >>ship.yaml
	waits ship.yaml
	[ "$(cat effects)" = built ]
	agrees "$id"
	[ "$(cat effects)" = $'built\nshipped approved\nover' ]
	call workflow retry @last --from gate
	envelope 14
	[ "$(pending | wc -l)" -eq 1 ]
	[ "$(sql "select state, started_ms is null from steps where key = 'finally@2'")" = 'waiting|1' ]
	agrees "$(pending)"
	[ "$(sql "select state, round from steps where key = 'finally@2'")" = 'completed|1' ]
	[ "$(grep -c 'shipped approved' effects)" -eq 2 ]
	[ "$(grep -c '^over' effects)" -eq 2 ]
}

@test "two people decide at once: one decision holds, and the other is told" {
	asks
	waits ship.yaml
	cat >race.sh <<-SH
		for n in 1 2 3 4 5 6; do $RUNNER reject $id --why "number \$n" </dev/tty >answer.\$n 2>&1 & done
		wait
	SH
	type_line "bash race.sh; echo \"ended: \$?\""
	on_screen 'ended: 0'
	[ "$(sql "select count(*) from approvals where state = 'rejected'")" -eq 1 ]
	[ "$(grep -l '"effect":"updated"' answer.* | wc -l)" -eq 1 ]
	[ "$(grep -l 'is decided: it was rejected by' answer.* | wc -l)" -eq 5 ] || { cat answer.* >&2; return 1; }
	[ "$(sql 'select code from runs')" = APPROVAL_REJECTED ]
}

# --- time --------------------------------------------------------------------------------------

# reboot: nothing of it runs any more, and this time has passed
later() {
	sql "update approvals set deadline_ms = deadline_ms - $1, asked_ms = asked_ms - $1"
}

@test "an approval waits for 7 days over 20 reboots, then its default holds, and is written down" {
	local n day=86400000
	asks 'timeout: 7d'
	waits ship.yaml
	for n in $(seq 20); do
		later $((day * 7 / 20 - 60000))
		sql "update approvals set asker = replace(replace(asker, '\"boot\":\"', '\"boot\":\"$n'), '\"booted_ms\":', '\"booted_ms\":1')"
		sql "update runs set askers = replace(replace(askers, '\"boot\":\"', '\"boot\":\"$n'), '\"booted_ms\":', '\"booted_ms\":1')"
		[ "$(pending)" = "$id" ]
		begin workflow resume @last
		[ $((n % 2)) -eq 0 ] || kill -9 "$pid"
		finish
	done
	call workflow resume @last
	envelope 14
	later $((day / 2))
	call approvals --decided
	expect '[(r["state"], r["by"]["by"]) for r in e.data] == [("rejected", "default")]'
	[ "$(decisions)" = "1 declined default - $(id -u)" ]
	person approve "$id"
	on_screen 'no person decided in time'
	on_screen 'ended: 6'
	call workflow resume @last
	envelope 7
	expect 'e.error["code"] == "APPROVAL_REJECTED"'
	[ "$(cat effects)" = built ]
}

@test "listing is written into a ledger only where there is one, and something waits" {
	asks 'timeout: 7d'
	call approvals
	envelope 0
	expect 'e.data == [] and "audit_log_path" not in e.meta'
	waits ship.yaml
	call approvals
	envelope 0
	expect '[r["state"] for r in e.data] == ["pending"] and e.meta["audit_log_path"].endswith("/audit.jsonl")'
	sql "update approvals set state = 'rejected'"
	call approvals
	envelope 0
	expect 'e.data == [] and "audit_log_path" not in e.meta'
	ledger() { rm -rf runner.lua; }
	waits ship.yaml
	call approvals
	envelope 0
	expect '[r["state"] for r in e.data] == ["pending"] and "audit_log_path" not in e.meta'
}

@test "recover goes on with what its default has decided, and with nothing that still waits" {
	asks 'timeout: 1h, default: approve'
	sed -i '1i recover: true' ship.yaml
	waits ship.yaml
	call workflow recover
	expect 'e.data["runs"] == []'
	later 3600000
	call workflow recover
	envelope 0
	expect '[r["outcome"] for r in e.data["runs"]] == ["completed"]'
	[ "$(tail -n 1 effects)" = 'shipped approved' ]
}

# --- who may not -----------------------------------------------------------------------------------

# attacked WAY…: an agent, which is a step of the run that asks, tries each; nothing is decided. Then a person agrees.
attacked() {
	local way
	workflow job <<-YAML
		name: job
		vars: { way: plain, id: "" }
		commands:
		  - shell: "$ROOT/tests/cli/lib/attack.sh \${way} approve \${id} >job.out 2>&1 || true"
	YAML
	workflow ship <<-YAML
		name: ship
		env: { R: "$RUNNER" }
		commands:
		  - parallel:
		      - { id: gate, approve: "Ship it?" }
		      - shell: |
		          until [ -n "\$(runner_pending)" ]; do sleep 0.05; done
		          for way in $*; do $ROOT/tests/cli/lib/attack.sh \$way approve "\$(runner_pending)" >said.\$way 2>&1 || true; done
		  - shell: echo shipped >>effects
	YAML
	cat >bin/runner_pending <<-SH
		#!/bin/sh
		cd "$PWD" && exec python3 "$ROOT/tests/cli/lib/asked.py"
	SH
	chmod +x bin/runner_pending
	waits ship.yaml
	touch run.over
	[[ " $* " != *" outlives "* ]] || until_true [ -e late ]
	for way; do
		if [ "$way" = namespace ] || [ "$way" = time ]; then
			grep -qE 'PERSON_REQUIRED|unshare' "said.$way" || { tail "said.$way" >&2; return 1; }
		else
			grep -qE "${WHY:-PERSON_REQUIRED}" "said.$way" || { tail "said.$way" >&2; return 1; }
		fi
	done
	[ ! -e effects ]
	[ "$(sql "select count(*) from approvals where state <> 'pending'")" -eq 0 ]
	agrees "$id"
	[ "$(cat effects)" = shipped ]
}

@test "an agent with a shell can't approve itself: in a terminal of its own, without its environment, in a new session" {
	attacked plain pty script naked session orphan limits
	grep -q 'that runner runs has started it' said.naked
	[ "$(decisions | grep -c '^[0-9]* refused runner')" -ge 1 ]
}

@test "nor once its run is over, from a process that has outlived it as a job does" {
	attacked outlives
	grep -q 'that runner runs has started it' said.outlives
}

@test "nor as a sibling of its parent, in a job, or in other namespaces" {
	attacked sibling job namespace time
}

# attacks WAY…: each way at each door of a run that waits, as attack.sh does it in work. What they said is in work/said.
attacks() {
	mkdir -p work
	cat >attack.sh <<-SH
		cd "$PWD/work"
		export R="\${R:-$RUNNER}" XDG_STATE_HOME="$PWD/state" TMPDIR="$PWD/work"
		for door in "approve $id" "reject $id" "workflow resume $run" "workflow run $PWD/ship.yaml" "workflow retry $run --from gate"; do
			for way in $*; do
				[[ \$door != *retry* || \$way == shell ]] || continue
				echo "-- \$way \$door"
				timeout 60 "$ROOT/tests/cli/lib/attack.sh" \$way --cwd "$PWD" \$door 2>&1
			done
		done >said
	SH
}

# turned_away N EFFECTS: N attacks have said something, and nothing is decided, nor done
turned_away() {
	local found
	found="$(grep -c '^-- ' work/said) $(sql "select count(*) from approvals where state in ('approved', 'rejected')") $(cat effects)"
	[ "$found" = "$1 0 $2" ] || { cat work/said <(echo "$found") >&2; return 1; }
}

WAYS="plain pty shell script naked askers session orphan limits sibling namespace root time"

# waits_for_nobody: a run that waits, has done nothing, and is no work of the next one
waits_for_nobody() {
	asks
	sed -i 's/echo built/true/' ship.yaml
	touch effects
	waits ship.yaml
	run=$(sql 'select id from runs')
}

@test "a step is turned away at every door, whichever way it comes, and also when its run is another one" {
	waits_for_nobody
	# shellcheck disable=SC2086
	attacks $WAYS
	workflow attack <<<'commands: [ { shell: bash attack.sh } ]'
	call workflow run attack.yaml
	envelope 0
	turned_away 53 ''
	[ "$(grep -cE 'that runner runs has started it|a step of a workflow has made it' work/said)" -ge 40 ] || { cat work/said >&2; return 1; }
	agrees "$(sql "select id from approvals where state = 'pending' and run = '$run'")"
}

@test "a step with a fence can't decide past runner either: it doesn't write to what runs are kept in" {
	local have
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 3 ] || skip "this kernel's Landlock is version $have, not 3"
	waits_for_nobody
	# shellcheck disable=SC2086
	attacks $WAYS write
	workflow attack <<<'commands: [ { shell: bash attack.sh, confine: { write: [work, /dev], network: false } } ]'
	call workflow run attack.yaml
	envelope 0
	turned_away 57 ''
	[ "$(grep -c 'readonly database\|unable to open' work/said)" -ge 4 ] || { cat work/said >&2; return 1; }
	agrees "$id"
}

@test "another account neither reads nor decides what waits, nor is it asked through what lets it run the workflow" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	waits_for_nobody
	attacks shell orphan write
	chmod 777 work
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR/../.."
	install -m 755 "$RUNNER" runner-for-all
	"${as[@]}" env R="$PWD/runner-for-all" HOME="$PWD/work" bash attack.sh || skip "another user can't reach $ROOT"
	turned_away 13 ''
	[ "$(grep -c 'effect":"updated' work/said)" -eq 0 ]
	# like sudo: what calls it is of another account, and it is not
	cat >through.py <<-PY
		import os, pty, select, sys
		pid, master = pty.fork()
		if pid == 0:
		    child = os.fork()
		    if child == 0:
		        os.execv("$RUNNER", ["runner", "workflow", "resume", "$run"])
		    os.setresuid(65534, 65534, 65534)
		    os.waitpid(child, 0)
		    os._exit(0)
		while True:
		    try:
		        data = os.read(master, 4096)
		    except OSError:
		        break
		    os.write(1, data)
	PY
	env -i "${CLEAN_ENV[@]}" python3 through.py >through.out
	grep -q 'here no person is asked: another account has made it' through.out || { cat through.out >&2; return 1; }
	[ "$(sql "select count(*) from approvals where state in ('approved', 'rejected')")" -eq 0 ]
	agrees "$id"
}

@test "nor through exec or a server" {
	WHY='PERSON_REQUIRED|Unknown tool|not found|-32602' attacked exec mcp
}

@test "who has started a run can't approve it from a terminal that it opens; the person at the same shell can" {
	asks
	cat >agent.sh <<-SH
		export R="$RUNNER"
		boot=\$(cat /proc/sys/kernel/random/boot_id)
		export RUNNER_ASKERS="{\"boot\":\"\$boot\",\"processes\":{},\"policies\":{},\"namespaces\":{},\"shell\":\"1:1\"}"
		"\$R" workflow run ship.yaml </dev/null >run.out 2>&1
		$ROOT/tests/cli/lib/attack.sh naked approve "\$(python3 $ROOT/tests/cli/lib/asked.py)" >said 2>&1
		"\$R" approve "\$(python3 $ROOT/tests/cli/lib/asked.py)" </dev/tty >said.tty 2>&1
		$ROOT/tests/cli/lib/attack.sh shell workflow resume @last >said.resume 2>&1
		"\$R" workflow resume @last
		echo agent ended
	SH
	start_shell 150 45
	type_line 'bash agent.sh'
	on_screen 'agent ended'
	grep -q 'it descends from process' said
	grep -q 'it descends from process' said.tty
	grep -q 'here no person is asked: its terminal was opened from another one' said.resume
	on_screen 'here no person is asked: it descends from process'
	[ "$(cat effects)" = built ]
	agrees "$(pending)"
	[ "$(tail -n 1 effects)" = 'shipped approved' ]
}

@test "a terminal that is opened below the shell from which it was asked approves nothing; the shell's own does" {
	asks
	start_shell 150 45
	type_line "\$R workflow run ship.yaml </dev/null >run.out 2>&1; echo 'asked'"
	on_screen '^asked'
	type_line "script -qec \"\$R approve $(pending)\" said.script; echo 'tried'"
	on_screen '^tried'
	grep -q 'its terminal was opened below the one of who asked' said.script
	[ "$(cat effects)" = built ]
	agrees "$(pending)"
}

@test "nor is it asked at the terminal of a run that it resumes, or starts in a terminal without a shell" {
	asks
	cat >agent.sh <<-SH
		export R="$RUNNER"
		"\$R" workflow run ship.yaml </dev/null >run.out 2>&1
		$ROOT/tests/cli/lib/attack.sh shell workflow resume @last >said.resume 2>&1
		$ROOT/tests/cli/lib/attack.sh pty workflow run ship.yaml >said.run 2>&1
	SH
	setsid -w env -i "${CLEAN_ENV[@]}" bash agent.sh
	grep -qE 'here no person is asked: (it descends from process|its terminal was opened)' said.resume
	grep -q 'here no person is asked: its terminal' said.run
	[ "$(cat effects)" = $'built\nbuilt' ]
	[ "$(sql "select count(*) from approvals where state = 'pending'")" -eq 2 ]
}

# An agent that runner has not started: what it does after it has asked.
@test "whoever has asked can't decide afterwards: adopted, below a program with a terminal's name, in a tmux or a boot of its own" {
	local way
	asks
	cp "$(readlink -f "$(command -v python3)")" tmux
	cat >agent.sh <<-SH
		export R="$RUNNER"
		"\$R" workflow run ship.yaml </dev/null >run.out 2>&1
		id=\$(python3 $ROOT/tests/cli/lib/asked.py)
		$ROOT/tests/cli/lib/attack.sh orphan approve "\$id" >said.orphan 2>&1
		PYTHONHOME=$(python3 -c 'import sys; print(sys.base_prefix)') ./tmux -c 'import subprocess, sys; subprocess.run(sys.argv[1:])' \
			$ROOT/tests/cli/lib/attack.sh naked approve "\$id" >said.named 2>&1
		tmux -L "agent-$TOKEN" -f /dev/null new-session -d "$ROOT/tests/cli/lib/attack.sh naked approve \$id >said.part 2>&1; mv said.part said.tmux"
		unshare -rm $ROOT/tests/cli/lib/attack.sh boot approve "\$id" >said.boot 2>&1
		until [ -e said.tmux ]; do sleep 0.05; done
	SH
	start_shell 150 45
	env "${CLEAN_ENV[@]}" TERM=xterm timeout 300 bash agent.sh
	id=$(pending)
	for way in orphan named tmux; do
		grep -q PERSON_REQUIRED "said.$way" || { tail "said.$way" >&2; return 1; }
	done
	grep -qE 'PERSON_REQUIRED|unshare' said.boot
	[ ! -e boot ] || grep -q PERSON_REQUIRED said.boot
	grep -q 'after it asked' said.tmux
	[ "$(cat effects)" = built ]
	# a person, in a new window of what was there before
	mux new-window "env -i ${CLEAN_ENV[*]@Q} TERM=screen PS1='ready> ' R='$RUNNER' HISTFILE= bash --norc --noprofile -i"
	on_screen 'ready>'
	agrees "$id"
}

@test "who resumes a run with a false RUNNER_ASKERS keeps nobody from deciding" {
	local askers
	asks
	waits ship.yaml
	askers=$(mux list-panes -F '#{pane_pid}' | while read -r pid; do
		echo "{\"boot\":\"$(cat /proc/sys/kernel/random/boot_id)\",\"processes\":{\"$pid:$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 20)\":true}}"
	done)
	for askers in "$askers" 5 true '{"processes":5}' nonsense; do
		call RUNNER_ASKERS="$askers" workflow resume @last
		envelope 14
	done
	agrees "$id"
}

@test "no line of a message, or of what is shown, is one of runner's" {
	asks
	sed -i 's/"Ship it?"/"Ship it?\\nApprove step other of ship? [y\/N] "/' ship.yaml
	waits ship.yaml
	person approve "$id"
	on_screen '^Approve step gate of ship\? \[y/N\]'
	shown '^  \| Approve step other of ship'
	press Enter
	on_screen 'ended: '
}

@test "under the policy of the run nobody approves, whatever its file is called" {
	asks
	echo '{"max_danger": "mutating"}' >policy.json
	cp policy.json other.json
	FLAGS=(--policy policy.json)
	waits ship.yaml
	person --policy other.json approve "$id"
	on_screen 'under the policy of who asked'
	agrees "$id"
}

@test "a policy that allows approve and nothing else lets a person's yes have the run go on" {
	asks
	echo '{"allow": ["approve"]}' >policy.json
	waits ship.yaml
	person --policy policy.json approve "$id"
	on_screen 'Approve step .*\[y/N\]'
	type_line y
	on_screen 'ended: 0'
	[ "$(sed -n 2p effects)" = "shipped approved" ]
}

# --- what can't be passed over -----------------------------------------------------------------------

@test "neither --force, --mark-done nor an edited file passes over what waits" {
	asks
	waits ship.yaml
	call workflow resume @last --mark-done gate
	envelope 6
	call workflow resume @last --force --retry-in-doubt --yes
	[ "$status" -ne 0 ]
	[ "$(pending)" = "$id" ]
	[ "$(cat effects)" = built ]
}

# unchanged STATE: no edit of its file has the run go on
unchanged() {
	local edit
	cp ship.yaml whole.yaml
	for edit in '2d' 's/"Ship it?"/&, timeout: 1ms, default: approve/' 's/approve: /on_failure: { then: continue, steps: [{ shell: "true" }] }, &/' \
		'2{h;d};3{G}' 's/approve: /when: "1 == 2", &/' 's/shipped/SHIPPED/' '$s/$/ # more/' 's/id: gate/id: other/'; do
		sed "$edit" whole.yaml >ship.yaml
		call workflow resume @last --force
		envelope 6
		expect 'e.error["code"] == "CONFLICT" and "has asked a person, and" in e.error["message"]'
		call workflow retry @last --from gate --force
		envelope 6
	done
	cp whole.yaml ship.yaml
	[ ! -e effects ]
}

@test "what nobody has agreed to takes no edited file: waiting, cancelled, or refused" {
	printf '%s\n' 'commands:' '  - { id: gate, approve: { message: "Ship it?" } }' '  - { id: dep, shell: echo shipped >>effects }' >ship.yaml
	waits ship.yaml
	unchanged
	call workflow cancel @last
	unchanged
	call workflow resume @last --force
	envelope 14
	[ "$(pending)" = "$id" ]
	sql "update approvals set state = 'rejected', decided_ms = 1, decided_by = '{\"by\":\"terminal\",\"user\":\"ada\"}' where state = 'pending'"
	unchanged
	call workflow resume @last
	envelope 7
	unchanged
	call workflow resume @last --force
	envelope 14
	agrees "$(pending)"
	[ "$(cat effects)" = shipped ]
}

# agreed: somebody has, as `runner approve` writes it
agreed() {
	sql "update approvals set state = 'approved', decided_ms = 1, decided_by = '{\"by\":\"terminal\",\"user\":\"ada\"}' where state = 'pending'"
}

@test "an edited file is asked about anew wherever the gate stands: in another file, a block, a loop, side by side" {
	local at
	printf 'commands: [{ id: gate, approve: "Deploy?" }, { shell: echo inner >>inside }]\n' >gate.yaml
	for at in 'workflow: gate.yaml' 'steps: [{ id: gate, approve: "Deploy?" }]' 'foreach: [1], do: [{ id: gate, approve: "Deploy?" }]' \
		'parallel: [{ id: gate, approve: "Deploy?" }]' 'shell: "true", on_success: [{ id: gate, approve: "Deploy?" }]' \
		'foreach: [1, 2], do: [{ workflow: gate.yaml, when: item == 2 }]'; do
		rm -rf state effects
		workflow out <<-YAML
			name: out
			commands:
			  - { id: c, $at }
			  - { id: dep, shell: "echo original >>effects; [ -e go ]" }
		YAML
		waits out.yaml
		agreed
		call workflow resume @last
		envelope 1
		sed -i 's/original/EVIL/' out.yaml
		call workflow resume @last --force
		envelope 14
		[ "$(cat effects)" = original ] || { echo "$at" >&2; return 1; }
		[ "$(pending)" != "$id" ]
		id=$(pending)
		call workflow resume @last
		envelope 14
		[ "$(pending)" = "$id" ]
		agreed
		touch go
		call workflow resume @last
		envelope 0
		rm go
	done
	[ "$(cat inside)" = $'inner\ninner' ]
}

@test "no edited condition, list, time or container keeps a gate from asking, by a resume or a retry, in this item or in others" {
	local edit how
	workflow gate <<-'YAML'
		name: gate
		commands:
		  - { id: outer, steps: [{ id: each, foreach: [1, 2], do: [{ shell: "[ ${item} = 1 ] || [ -e go ]" }, { id: gate, approve: { message: x } }] }] }
		  - { id: dep, shell: "echo dep >>effects" }
	YAML
	cp gate.yaml whole.yaml
	call workflow run gate.yaml
	envelope 1
	agreed
	touch go
	for edit in 's/id: gate/&, when: item == 1/' 's/message: x/&, timeout: 1ms, default: approve/' 's/message: x/&, show: gate.yaml/' 's/foreach: .1, 2./foreach: []/' \
		's/id: outer/&, when: "1 == 2"/' 's/foreach: .1, 2./&, where: item == 1/' 's/foreach: /max_items: 9, &/' '1s/$/\nfinally: { shell: echo dep }/' \
		'1s/$/\nworktree: true/' '$s/.*/  - { id: gate2, approve: x }/;/outer/d'; do
		for how in 'resume @last' 'retry @last --from outer'; do
			sed "$edit" whole.yaml >gate.yaml
			# shellcheck disable=SC2086
			call workflow $how --force
			[ "$status" -eq 6 ] || { echo "$edit: $output" >&2; return 1; }
			expect '"gate has asked a person, and more of the file has changed" in e.error["message"]'
		done
	done
	[ ! -e effects ]
	sed 's/echo dep/echo new/' whole.yaml >gate.yaml
	call workflow resume @last --force
	envelope 14
	[ "$(pending | wc -l)" -eq 2 ]
	agreed
	call workflow resume @last
	envelope 0
	[ "$(cat effects)" = new ]
}

@test "a gate of a repair isn't asked anew, so an edited file is refused" {
	workflow ship <<-'YAML'
		name: ship
		commands:
		  - { id: b, shell: "[ -e fixed ]", repair: [{ id: gate, approve: "Repair?" }, { shell: touch fixed }] }
		  - { id: dep, shell: "echo original >>effects; [ -e go ]" }
	YAML
	waits ship.yaml
	agreed
	call workflow resume @last
	envelope 1
	touch go
	sed -i 's/original/EVIL/' ship.yaml
	call workflow resume @last --force
	envelope 6
	expect '"in a repair, or an earlier round, it isn\x27t asked anew" in e.error["message"]'
	sed -i 's/EVIL/original/' ship.yaml
	call workflow resume @last
	envelope 0
	[ "$(cat effects)" = $'original\noriginal' ]
}

# refused: somebody has, as `runner reject` writes it
refused() {
	sql "update approvals set state = 'rejected', decided_ms = 1, decided_by = '{\"by\":\"terminal\",\"user\":\"ada\"}' where state = 'pending'"
}

@test "what a person has refused is neither repaired nor passed over by a check, also inside of a loop, and in a repair itself" {
	local block
	while read -r block; do
		rm -rf state effects
		printf 'name: ship\ncommands:\n  - { id: b, check: [{ shell: "true" }], %s }\n  - { shell: echo behind >>effects }\n' "$block" >ship.yaml
		waits ship.yaml
		refused
		call workflow resume @last
		[ "$status" -ne 0 ] || { echo "$block" >&2; return 1; }
		[ ! -e effects ] || { echo "$block" >&2; return 1; }
		call workflow resume @last
		envelope 14
		agreed
		call workflow resume @last
		envelope 0
		[ "$(tail -n 1 effects)" = behind ]
	done <<-'BLOCKS'
		steps: [{ id: gate, approve: "Ship?" }], repair: { steps: [{ shell: echo repaired >>effects }], again: check }
		steps: [{ id: gate, approve: "Ship?" }], repair: { steps: [{ shell: echo repaired >>effects }], again: step }
		steps: [{ foreach: [1], continue_on_error: true, max_failures: 0, do: [{ approve: "Ship?" }] }], repair: { steps: [{ shell: echo repaired >>effects }], again: check }
		steps: [{ steps: [{ approve: "Ship?" }], repair: [{ shell: echo repaired >>effects }] }], repair: { steps: [{ shell: echo repaired >>effects }], again: check }
		shell: "[ -e effects ]", repair: { steps: [{ approve: "Repair?" }, { shell: echo repaired >>effects }], again: check }
	BLOCKS
}

@test "an edited file has nothing in front of a gate that was behind it, or is new, before the gate is asked anew" {
	local was is gate='{ id: gate, approve: "Ship?" }' dep='{ id: dep, shell: "echo dep >>effects" }' fail='{ id: fail, shell: "[ -e go ]" }'
	local make='{ id: make, shell: "true" }'
	# as it was | as it is
	while IFS='|' read -r was is; do
		rm -rf state effects
		printf 'commands: [ %s ]\n' "$was" >ship.yaml
		waits ship.yaml
		agreed
		call workflow resume @last
		envelope 1
		rm -f effects
		printf 'commands: [ %s ]\n' "${is//@/$'\n'}" >ship.yaml
		call workflow resume @last --force
		envelope 6
		expect 'e.error["message"].endswith("gate has asked a person, and more of the file has changed than steps behind it")'
		call workflow retry @last --from "$(sed -nE 's/.*: \[ \{ id: ([a-z]+).*/\1/p' ship.yaml)" --force
		[ "$status" -eq 6 ] || { echo "$is" >&2; return 1; }
		[ ! -e effects ]
		printf 'commands: [ %s ]\n' "$was" >ship.yaml
	done <<-CASES
		$gate, $fail, $dep|$dep, $gate, $fail
		$make, $gate, $fail, $dep|$make, $dep, $gate, $fail
		$make, $gate, $fail|$make, { id: new, shell: "echo dep >>effects" }, $gate, $fail
		$make, $gate, $fail, $dep|{ id: make, shell: "echo dep >>effects" }, $gate, $fail
		$make, $gate, $fail, $dep|$make, { id: gate, approve: { message: "Ship?", notify: [ $dep ] } }, $fail
		{ id: b, steps: [ $gate, $fail, $dep ] }|$dep, { id: b, steps: [ $gate, $fail ] }
		{ id: b, foreach: [1, 2], do: [ $gate, $fail, $dep ] }|{ id: b, foreach: [1, 2], do: [ $dep, $gate, $fail ] }
		{ id: p, parallel: [ { id: one, steps: [ $gate, $fail, $dep ] } ] }|{ id: p, parallel: [ { id: one, steps: [ $gate, $fail ] }, $dep ] }
		$make, $gate, $fail, $dep|$make, $gate, $fail ]@finally: [ $dep
		$make, $gate, $fail, $dep|$make, { id: gate, approve: "Ship?", on_failure: $dep }, $fail
		$make, $gate, $fail, $dep|$make, { id: gate, approve: { message: "Ship?", timeout: 1s }, on_failure: continue }, $fail, $dep
		{ id: b, steps: [ $gate, $fail ] }, $dep|{ id: b, steps: [ $gate, $fail ], on_failure: continue }, $dep
		{ id: b, steps: [ $gate, $fail, $dep ] }|{ id: b, steps: [ $gate, $fail ], repair: [ $dep ] }
		{ id: p, parallel: [ $gate, $make ] }, $fail, $dep|{ id: p, parallel: [ $gate, $make ], continue_on_error: true }, $fail, $dep
	CASES
}

@test "nor in a file that it runs, nor in front; what is behind it may change and move, and is asked about anew" {
	printf 'commands: [ { id: gate, approve: "Ship?" }, { id: fail, shell: "[ -e go ]" }, { id: dep, shell: "echo dep >>effects" } ]\n' >inner.yaml
	printf 'commands: [ { id: make, shell: "echo made >>effects" }, { id: in, workflow: inner.yaml }, { id: late, shell: "echo late >>effects" } ]\n' >ship.yaml
	waits ship.yaml
	agreed
	call workflow resume @last
	envelope 1
	cp inner.yaml whole.yaml
	printf 'commands: [ { id: dep, shell: "echo dep >>effects" }, { id: gate, approve: "Ship?" }, { id: fail, shell: "[ -e go ]" } ]\n' >inner.yaml
	call workflow resume @last --force
	envelope 6
	expect 'e.error["message"].endswith("what the file was isn\x27t known any more")'
	{ cat whole.yaml && echo 'finally: [ { shell: "echo over >>effects" } ]'; } >inner.yaml
	call workflow resume @last --force
	envelope 6
	expect 'e.error["message"].endswith("what the file was isn\x27t known any more")'
	cp whole.yaml inner.yaml
	cp ship.yaml whole.yaml
	sed -i 's/echo made/echo remade/' ship.yaml
	call workflow retry @last --from make --force
	envelope 6
	sed 's/echo late/echo later/; s/ ]$/, { id: last, shell: "echo last >>effects" } ]/' whole.yaml >ship.yaml
	touch go
	call workflow resume @last --force
	envelope 14
	agreed
	call workflow resume @last
	envelope 0
	[ "$(cat effects)" = $'made\ndep\nlater\nlast' ]
}

@test "a file that stays as it is may decide otherwise on the way back to its gate" {
	workflow gate <<-'YAML'
		name: gate
		commands:
		  - { id: make, shell: cat need }
		  - { id: gate, approve: x, when: steps.make.output == "yes" }
		  - { id: dep, shell: echo dep >>effects }
	YAML
	echo yes >need
	waits gate.yaml
	echo no >need
	call workflow retry @last --from make
	envelope 0
	[ "$(cat effects)" = dep ]
}

@test "what was shown has changed since: the decision doesn't hold, and it is asked anew" {
	asks 'show: [effects]'
	waits ship.yaml
	type_line "\$R approve $id; echo \"ended: \$?\""
	on_screen 'Approve step .*\[y/N\]'
	echo tampered >>effects
	type_line y
	on_screen 'ended: 0'
	[ "$(pending)" != "$id" ]
	[ "$(cat effects)" = $'built\ntampered' ]
}

# hostile_repository: one with a commit, whose settings and attributes name a program for whatever git does; `ran` says that one ran.
# Its index says that deploy.sh is as it was.
hostile_repository() {
	local key
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git init -q repo
	git init -q repo/sub
	git -C repo/sub commit -q --allow-empty -m first
	(cd repo && echo good >deploy.sh && echo text >filtered && git add . 2>/dev/null && git commit -q -m first && git update-index --assume-unchanged deploy.sh)
	printf '#!/bin/sh\necho "$0 $*" >>"%s/ran"\ncat\n' "$PWD" >ev
	chmod +x ev
	mkdir hooks
	for key in post-index-change post-checkout reference-transaction; do cp ev "hooks/$key"; done
	for key in core.fsmonitor core.pager pager.status pager.diff core.sshCommand diff.external diff.x.command diff.x.textconv filter.x.clean \
		filter.x.smudge filter.y.process core.editor gpg.program core.alternateRefsCommand; do
		git -C repo config "$key" "$PWD/ev"
		git -C repo/sub config "$key" "$PWD/ev"
	done
	git -C repo config core.hooksPath "$PWD/hooks"
	printf '* diff=x\nfiltered filter=x\ndeploy.sh filter=y\n' | tee repo/.git/info/attributes >repo/.gitattributes
	rm -f ran
	echo evil >repo/deploy.sh
	echo changed >repo/filtered
	git -C repo/sub -c core.hooksPath=/dev/null commit -q --allow-empty -m second
	echo n >repo/sub/n
	GIT_CONFIG_GLOBAL=/dev/null git -C repo/sub -c core.fsmonitor=false -c core.hooksPath=/dev/null add n
	git -C repo/sub -c core.fsmonitor=false -c core.hooksPath=/dev/null commit -q -m third
	rm -f ran
	touch -d '2001-01-01' repo/deploy.sh repo/filtered repo/sub
	printf '[diff]\nsubmodule = diff\n[status]\nsubmoduleSummary = true\n[submodule]\nrecurse = true\n' >global
	CLEAN_ENV+=(GIT_CONFIG_GLOBAL="$PWD/global")
}

@test "show: diff has what has changed, whatever the repository says; like commit: true it runs none of its programs" {
	hostile_repository
	workflow d <<-'YAML'
		name: d
		commands:
		  - { id: gate, approve: { message: "Release?", show: [diff] } }
	YAML
	mv d.yaml repo
	mkdir tmp
	CLEAN_ENV+=(TMPDIR="$PWD/tmp")
	call --cwd repo workflow run d.yaml
	envelope 14
	[ ! -e ran ] || { cat ran >&2; return 1; }
	sql "select shown from approvals" >shown
	grep -qx '+evil' shown
	grep -qx '+changed' shown
	grep -q '^+Subproject commit' shown
	workflow c <<-'YAML'
		name: c
		commands:
		  - { shell: "true", check: { commit: true } }
	YAML
	mv c.yaml repo
	call --cwd repo workflow run c.yaml
	envelope 84
	expect '" M filtered" in e.error.context["stderr"]'
	[ ! -e ran ] || { cat ran >&2; return 1; }
	[ -z "$(ls tmp)" ]
}

@test "what the user's own git runs for show: diff is as confined as the steps of the run" {
	local have fence
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 3 ] || skip "this kernel's Landlock is version $have, not 3"
	hostile_repository
	printf '[filter "x"]\nclean = %s\n' "$PWD/ev" >>global
	for fence in '' ', confine: { write: [.] }'; do
		rm -rf state ran
		printf 'commands:\n  - { shell: "true"%s }\n  - { approve: { message: "Release?", show: [diff] } }\n' "$fence" >repo/d.yaml
		call --cwd repo workflow run d.yaml
		envelope 14
		[ -n "$fence" ] || grep -q ev ran
	done
	[ ! -e ran ]
	sql "select shown from approvals" >shown
	grep -qx '+changed' shown
}

@test "check refuses it where nobody can be asked, and a default without a timeout" {
	local yaml
	printf 'name: inner\ncommands: [{ approve: x }]\n' >inner.yaml
	for yaml in '{ shell: make, check: [{ approve: x }] }' '{ shell: make, on_failure: { approve: x } }' \
		'{ approve: { message: x, notify: { approve: y } } }' '{ approve: { message: x, default: approve } }' '{ approve: { show: [a] } }' \
		'{ worktree: { merge: [{ approve: x }] }, steps: [{ shell: make }] }' '{ worktree: { merge: [{ workflow: inner.yaml }] }, shell: make }' \
		'{ shell: make, check: [{ workflow: inner.yaml }] }' '{ on: far, steps: [{ approve: x }] }' '{ approve: x, on: far }' '{ approve: x, timeout: 1s }'; do
		printf 'name: x\nexecutors: { far: { kind: local } }\ncommands:\n  - %s\n' "$yaml" >wrong.yaml
		call workflow check wrong.yaml
		[ "$status" -eq 2 ] || { echo "$yaml" >&2; return 1; }
	done
}

@test "resume --failed doesn't go on behind a step whose run ended without an answer" {
	workflow side <<-'YAML'
		name: side
		commands:
		  - id: both
		    on_failure: continue
		    parallel:
		      - { id: one, steps: [{ id: gate, approve: "Ship?" }, { shell: echo dep >>effects }] }
		      - { id: two, steps: [{ shell: "[ -e go ]" }] }
	YAML
	call workflow run side.yaml
	envelope 0
	touch go
	call workflow resume @last --failed
	envelope 6
	expect 'e.error.code == "CONFLICT" and "gate has asked a person, who has not answered" in e.error.message'
	[ ! -e effects ]
}
