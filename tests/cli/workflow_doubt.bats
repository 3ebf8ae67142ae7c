#!/usr/bin/env bats
# A run that was killed in the middle of a step: has the step done its work? Only the user,
# a verify command or the file may say so; what had completed is never run again.

load lib/workflow

@test "a step killed in the middle is in doubt: resume stops with STEP_IN_DOUBT and runs nothing" {
	three
	killed
	touch go
	call workflow resume "$id"
	envelope 81
	expect 'e.error.code == "STEP_IN_DOUBT" and e.error.retryable is False and e.error.context.step_key == "two"'
	expect '"--mark-done two" in e.error.suggestion and "--retry-in-doubt" in e.error.suggestion'
	effects one two
	# asking again changes nothing
	call workflow resume "$id"
	envelope 81
	call workflow resume "$id" --retry-in-doubt
	envelope 0
	effects one two two three
}

@test "--mark-done takes a step in doubt for done; a step that is not there is refused" {
	three
	killed
	call workflow resume "$id" --mark-done tow
	envelope 5
	expect "\"'tow'\" in e.error.message and e.error.suggestion == \"Did you mean 'two'?\""
	call workflow resume "$id" --mark-done two
	envelope 0
	effects one two three
	expect '[s.state for s in e.data.steps] == ["completed"] * 3'
}

@test "--mark-done is obeyed for a step that failed, one that waits and a whole loop: none of them is run again" {
	ran <<-'YAML'
		  - { id: fails, shell: "echo fails >>effects; exit 3", on_success: { shell: echo hook >>effects } }
		  - { id: loop, foreach: [a, b], do: { shell: "echo ${item} >>effects; exit 4" } }
		  - { id: waits, shell: "echo waits >>effects; exit 5", retry: { delays: [1h] } }
		  - shell: echo end >>effects
	YAML
	envelope 1
	local id
	id=$(run_id)
	call workflow resume "$id" --mark-done fails
	envelope 1
	begin workflow resume "$id" --mark-done loop
	until_true recorded "select 1 from steps where key = 'waits' and state = 'waiting'"
	kill -INT "$pid"
	finish
	call workflow resume "$id" --mark-done waits
	envelope 0
	effects fails hook a waits end
	expect '[s.state for s in e.data.steps if s.key in ("fails", "loop", "waits")] == ["completed"] * 3'
	call workflow resume "$id" --mark-done waits
	envelope 0
	expect 'e.data.effect == "noop"'
	call workflow resume "$id" --mark-done nothing
	envelope 5
	effects fails hook a waits end
}

@test "idempotent: true, or side_effects: none, is repeated without asking" {
	local key
	for key in 'idempotent: true' 'side_effects: none'; do
		three "$key"
		rm -f effects began go
		killed
		touch go
		call workflow resume "$id"
		envelope 0
		effects one two two three
	done
}

@test "verify decides: 0 it landed, 1 it did not, anything else is still in doubt" {
	three 'verify: echo asked >>asked; exit $(cat answer)'
	killed
	touch go
	echo 7 >answer
	call workflow resume "$id"
	envelope 81
	expect '"verify" in e.error.message and "7" in e.error.message'
	effects one two
	echo 0 >answer
	call workflow resume "$id"
	envelope 0
	effects one two three
	rm -f effects began go
	killed
	touch go
	echo 1 >answer
	call workflow resume "$id"
	envelope 0
	effects one two two three
	[ "$(wc -l <asked)" -eq 3 ]
}

@test "claude steps are in doubt as well; loops go on within, with the same items" {
	workflow loop <<-'YAML'
		name: loop
		commands:
		  - { shell: "cat items", id: items }
		  - foreach: "${steps.items.output}"
		    do:
		      - shell: echo ${item} >>effects
		      - claude: "do ${item}"
		        id: ask
	YAML
	printf 'a\nb\nc\n' >items
	turns -p 'do b' 'touch began; sleep 60' 'echo fine'
	killed loop.yaml
	echo other >items
	call workflow resume "$(run_id)"
	envelope 81
	expect 'e.error.context.step_key == "2[2].ask"'
	call workflow resume "$(sql 'select id from runs')" --retry-in-doubt
	envelope 0
	effects a b c
	[ "$(calls)" -eq 4 ]
}

@test "loops side by side, killed with -9 again and again: what had completed is never run again" {
	workflow many <<-'YAML'
		name: many
		commands:
		  - foreach: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
		    parallel: 3
		    do:
		      - { shell: "echo ${item} >>effects; until [ -e open.${item} ]; do sleep 0.05; done", id: first, idempotent: true }
		      - { shell: "echo done-${item} >>effects", idempotent: true }
	YAML
	# however slow the kill is, the run gets no further than to what is open
	touch open.1 open.2 open.3
	begin workflow run many.yaml
	until_true grep -q . effects
	local id completed=0 opened
	id=$(run_id)
	for opened in 3 6 9; do
		until_true grep -qx "done-$opened" effects
		kill_all
		finish
		completed=$(sql "select count(*) from steps where state = 'completed' and kind = 'shell'")
		[ "$completed" -le $((opened * 2)) ]
		sql "select key from steps where state = 'completed' and kind = 'shell'" >"completed.$completed"
		cp effects "effects.$completed"
		touch "open.$((opened + 1))" "open.$((opened + 2))" "open.$((opened + 3))"
		begin workflow resume "$id"
	done
	finish
	envelope 0
	# each effect is there, and none of a completed step came again
	[ "$(sort -u effects | wc -l)" -eq 24 ]
	local file key
	for file in completed.*; do
		tail -n +"$(($(wc -l <"effects.${file#*.}") + 1))" effects >later
		while read -r key; do
			key=${key#1[}
			[[ $key == *first ]] && key=${key%%]*} || key=done-${key%%]*}
			if grep -qx "$key" later; then
				echo "$key again after $file" >&2
				return 1
			fi
		done <"$file"
	done
	[ "$(sql "select count(*) from steps where state = 'completed'")" -eq 25 ]
}

@test "the hooks of a failure that the run went on after are not run again by resume" {
	ran <<-'YAML'
		  - id: a
		    shell: echo a >>effects; exit 3
		    on_failure: { steps: [{ shell: echo hook >>effects, id: h }], then: continue }
		  - { shell: "echo b ${steps.h.ok} >>effects; exit 4" }
	YAML
	envelope 1
	local id
	id=$(run_id)
	call workflow resume "$id"
	call workflow resume "$id"
	envelope 1
	diff effects <(printf '%s\n' a hook 'b true' 'b true' 'b true')
}

@test "hooks of a failure run once for each round of their step" {
	workflow rounds <<-'YAML'
		name: rounds
		commands:
		  - shell: echo try >>effects; [ -e fixed ]
		    on_failure: { shell: echo hook >>effects }
	YAML
	call workflow run rounds.yaml
	envelope 1
	local id
	id=$(run_id)
	call workflow resume "$id"
	envelope 1
	effects try hook try hook
	touch fixed
	call workflow resume "$id"
	envelope 0
	effects try hook try hook try
}
