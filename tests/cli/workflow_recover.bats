#!/usr/bin/env bats
# workflow recover: runs of a machine that lost power, or was shut down, go on by themselves.

load lib/workflow

# made NAME KEYS: a workflow whose middle step waits for `go`; each step writes to effects
made() {
	workflow "$1" <<-YAML
		name: $1
		$2
		commands:
		  - shell: echo first >>effects
		  - shell: "touch began; until [ -e go ]; do sleep 0.02; done; echo second >>effects"
		    ${3:-side_effects: none}
		  - shell: echo third >>effects
	YAML
}

# under_way NAME ARGS…: it runs, in its second step
under_way() {
	begin workflow run "$@"
	until_true [ -e began ]
	id=$(run_id)
	rm began
}

power_cut() {
	kill_all
	wait "$pid" || true
}

# cut_off FILE [NAME=VALUE…]: a run that had these variables
cut_off() {
	local CLEAN_ENV=("${CLEAN_ENV[@]}" "${@:2}")
	under_way "$1"
	power_cut
}

ended_by() {
	kill "-$1" "$pid"
	finish
}

state_of() {
	sql "select state from runs where id = '$1'"
}

@test "what was cut off, or ended by TERM or HUP, goes on where it stopped; each step has run once" {
	local how
	made kept 'recover: true'
	for how in power_cut 'ended_by TERM' 'ended_by HUP'; do
		rm -f go effects
		under_way kept.yaml
		$how
		touch go
		call workflow recover
		envelope 0
		expect 'e.data["effect"] == "updated" and [r["outcome"] for r in e.data["runs"]] == ["completed"]'
		[ "$(field 'e.data["runs"][0]["id"]')" = "$id" ]
		diff effects <(printf '%s\n' first second third)
		[ "$(state_of "$id")" = completed ]
		call workflow recover
		envelope 0
		expect 'e.data["effect"] == "noop" and e.data["runs"] == []'
	done
}

@test "what a person, a limit or a cancellation has ended stays, and what doesn't declare it" {
	local how
	made kept 'recover: true'
	made plain ''
	under_way kept.yaml
	ended_by INT
	envelope 130
	call workflow run kept.yaml --timeout 3s
	envelope 10
	rm -f began
	under_way kept.yaml
	ended_by TERM
	call workflow cancel "$id"
	under_way plain.yaml
	power_cut
	under_way plain.yaml
	ended_by TERM
	touch go
	call workflow recover
	envelope 0
	expect 'e.data["runs"] == []'
	[ "$(grep -c second effects || true)" -eq 0 ]
}

@test "who cancels the job of a run, or ends the run around it, ends it for good" {
	made kept 'recover: true'
	call workflow run kept.yaml --detach
	until_true [ -e began ]
	call job cancel @last
	envelope 0
	until_true recorded "select 1 from runs where state <> 'running' and workflow = 'kept'"
	rm began
	workflow outer <<-YAML
		commands:
		  - shell: "'$RUNNER' workflow run kept.yaml"
	YAML
	begin workflow run outer.yaml
	until_true [ -e began ]
	ended_by TERM
	envelope 143
	kill_all
	touch go
	call workflow recover
	envelope 0
	expect 'e.data["runs"] == []'
}

@test "who ends a run that has been recovered decides what becomes of it next" {
	made kept 'recover: true'
	under_way kept.yaml
	ended_by INT
	begin workflow resume "$id"
	until_true [ -e began ]
	rm began
	ended_by TERM
	touch go
	call workflow recover
	envelope 0
	expect 'e.data["runs"][0]["outcome"] == "completed"'
}

@test "a step in doubt, a changed file, a missing secret and a folder that is gone are reported; the others go on" {
	made doubt 'recover: true' 'id: doubtful'
	made changed 'recover: true'
	made secret $'recover: true\nsecrets: [PASSPHRASE]'
	made whole 'recover: true'
	mkdir away
	made away/gone 'recover: true'
	local name
	for name in doubt changed secret whole; do
		cut_off "$name.yaml" PASSPHRASE=abcdefgh123
	done
	begin --cwd away workflow run gone.yaml
	until_true [ -e away/began ]
	power_cut
	sed -i 's/echo third/echo other/' changed.yaml
	rm -r away
	touch go
	call workflow recover --parallel 2
	envelope 3
	expect 'sorted((r["workflow"], r["outcome"], r.get("code")) for r in e.data["runs"]) == [
		("away/gone", "failed", "PRECONDITION"), ("changed", "failed", "CONFLICT"), ("doubt", "failed", "STEP_IN_DOUBT"), ("secret", "failed", "PRECONDITION"),
		("whole", "completed", None)]'
	expect 'all(r["message"] and r["suggestion"] for r in e.data["runs"] if r["outcome"] == "failed")'
	call workflow recover # what is in doubt has an end now; the others still need a person
	envelope 3
	expect 'sorted(r["workflow"] for r in e.data["runs"]) == ["away/gone", "changed", "secret"]'
}

@test "a dry run says what would go on, and --since what is too long ago" {
	made kept 'recover: true'
	under_way kept.yaml
	power_cut
	touch go
	call workflow recover --dry-run
	envelope 0
	expect '[r["workflow"] for r in e.data["runs"]] == ["kept"]'
	[ "$(state_of "$id")" = running ]
	sql 'update runs set updated_ms = updated_ms - 3600000'
	call workflow recover --since 30m
	envelope 0
	expect 'e.data["runs"] == []'
	call workflow recover --since 2h
	envelope 0
	expect 'e.data["runs"][0]["outcome"] == "completed"'
}

@test "a run that is under way is left alone, and of two calls at once one resumes" {
	made kept 'recover: true'
	under_way kept.yaml
	call workflow recover
	envelope 0
	expect 'e.data["runs"] == []'
	power_cut
	local n recoverers=()
	for n in 1 2 3; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow recover >"recovered.$n" 2>&1 </dev/null 3>&- &
		recoverers+=("$!")
	done
	until_true [ -e began ]
	touch go
	for n in "${recoverers[@]}"; do
		wait "$n"
	done
	diff effects <(printf '%s\n' first second third)
	[ "$(sql "select resumes from runs where id = '$id'")" -eq 1 ]
	grep -q '"outcome":"completed"' recovered.?
}

@test "each goes on in its project, with its settings; under a policy with folders only what is its own" {
	local folder
	for folder in one two; do
		mkdir -p "$folder/commands"
		echo "return { env = { WHO = '$folder' } }" >"$folder/runner.lua"
		cat >"$folder/kept.yaml" <<-'YAML'
			name: kept
			recover: true
			commands:
			  - shell: touch began; until [ -e go ]; do sleep 0.02; done
			    side_effects: none
			  - shell: pwd >effects; echo end >>effects
		YAML
		begin --cwd "$folder" workflow run kept.yaml
		until_true [ -e "$folder/began" ]
		power_cut
		touch "$folder/go"
	done
	echo "{ \"folders\": [\"$PWD/one\"], \"allow\": [\"workflow recover\", \"workflow resume\"] }" >policy.json
	call --cwd one --policy policy.json workflow recover
	envelope 0
	expect '[r["project"].split("/")[-1] for r in e.data["runs"]] == ["one"]'
	call workflow recover
	envelope 0
	expect '[(r["project"].split("/")[-1], r["outcome"]) for r in e.data["runs"]] == [("two", "completed")]'
	[ "$(head -n 1 one/effects two/effects | grep -c "$PWD/\(one\|two\)$")" -eq 2 ]
}

@test "a run that is to be recovered is looked at again before it goes on: one that has ended meanwhile stays" {
	made one 'recover: true'
	under_way one.yaml
	power_cut
	call workflow cancel "$id"
	call workflow resume "$id" --recover
	expect 'e.ok and e.data.effect == "noop" and e.data.state == "cancelled"'
	[ "$(cat effects)" = first ]
	made two 'recover: true'
	under_way two.yaml
	power_cut
	touch go
	call workflow resume "$id" --recover
	envelope 0
	expect 'e.data.state == "completed"'
}

@test "a run that was started under a policy is not recovered without it" {
	made one 'recover: true'
	echo '{ "allow": ["workflow run"] }' >policy.json
	begin --policy policy.json workflow run one.yaml
	until_true [ -e began ]
	power_cut
	call workflow recover
	envelope 0
	expect 'e.data["runs"] == []'
}

@test "the unit calls this program with the caller's PATH; systemd takes it" {
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/a %state \"folder\"")
	call workflow unit --format plain
	[ "$status" -eq 0 ]
	cp out.txt runner-recover.service
	grep -qF "ExecStart=\"$(realpath "$RUNNER")\" workflow recover" runner-recover.service
	grep -qF "a %%state \\\"folder\\\"\"" runner-recover.service
	mkdir 'a$b'
	cp "$RUNNER" 'a$b/runner'
	RUNNER=$PWD/'a$b/runner' call workflow unit --format plain
	grep -qF 'a$$b/runner" workflow recover' out.txt
	mkdir -m 700 runtime
	printf '[Service]\nExecStart=/bin/true\n' >plain.service
	if XDG_RUNTIME_DIR=$PWD/runtime systemd-analyze verify --user ./plain.service 2>/dev/null; then
		XDG_RUNTIME_DIR=$PWD/runtime systemd-analyze verify --user ./runner-recover.service
	fi
	call workflow unit
	envelope 0
	expect 'e.data["cron"].startswith("@reboot ") and e.data["cron"].endswith(" workflow recover")'
	expect 'r"a \%state" in e.data["cron"]'
}

@test "power cuts at any moment, of runs and of what recovers them: each run ends without a person" {
	{
		printf 'name: long\nrecover: true\nsteps:\n'
		for n in $(seq 12); do
			printf '  - { shell: "echo %d >>effects; sleep 0.0%d", side_effects: none }\n' "$n" "$((n % 4))"
		done
	} >long.yaml
	local cuts=${POWER_CUTS:-8} n id
	for n in $(seq "$cuts"); do
		rm -f effects
		begin workflow run long.yaml --seed "$n"
		until_true [ -s effects ]
		[ "$n" -eq 1 ] || sleep "0.$(printf %02d $((RANDOM % 60)))"
		power_cut
		begin workflow recover
		sleep "0.$(printf %02d $((RANDOM % 60)))"
		power_cut
		call workflow recover
		envelope 0
		[ "$(sql "select count(*) from runs where state <> 'completed'")" -eq 0 ]
		[ "$(sort -un effects | wc -l)" -eq 12 ]
	done
	[ "$(sql 'select count(*) from runs where resumes > 0')" -gt 0 ]
}
