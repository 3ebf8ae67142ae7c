#!/usr/bin/env bats
# A step whose attempt ended with its run (SIGTERM, Ctrl+C, --timeout) or whose shepherd was
# killed: what may have landed is asked for before it runs again.

load lib/workflow

# cut_off HOW: the run of three.yaml, ended in the middle of its second step
cut_off() {
	rm -f effects began go
	local limit_ms
	if [ "$1" = timeout ]; then
		for limit_ms in 600 3000 15000; do # as short as this machine allows
			rm -f effects
			call workflow run three.yaml --timeout "${limit_ms}ms"
			[ ! -e began ] || break
		done
	else
		begin workflow run three.yaml
		until_true [ -e began ]
		kill -"$1" "$pid"
		finish
	fi
	[ "$status" -ne 0 ]
	id=$(run_id)
	[ "$(sql "select state, code from steps where run = '$id' and key = 'two'")" = 'interrupted|CANCELLED' ]
	touch go
}

@test "after SIGTERM, Ctrl+C and --timeout resume asks verify first" {
	three 'verify: echo asked >>asked; exit $(cat answer)'
	local how
	for how in TERM INT timeout; do
		rm -f asked
		cut_off $how
		echo 0 >answer
		call workflow resume "$id"
		envelope 0
		effects one two three
		[ "$(wc -l <asked)" -eq 1 ]
		cut_off $how
		echo 1 >answer
		call workflow resume "$id"
		envelope 0
		effects one two two three
		messages step.again | grep -qx 'Step two was cut off when its run was interrupted; it runs again: its verify command says that its work isn.t done'
	done
}

@test "a verify command that gives no answer leaves a step that was cut off in doubt" {
	three 'verify: exit 7'
	cut_off TERM
	call workflow resume "$id"
	envelope 81
	expect '"cut off" in e.error.message and "status 7" in e.error.message and e.error.context.step_key == "two"'
	effects one two
	call workflow resume "$id" --retry-in-doubt
	envelope 0
	effects one two two three
}

@test "without verify a step that was cut off runs again, and a line says so" {
	three
	local how
	for how in TERM INT timeout; do
		cut_off $how
		call workflow resume "$id"
		envelope 0
		effects one two two three
		[ "$(messages step.again)" = 'Step two was cut off when its run was interrupted; it runs again' ]
	done
}

@test "with idempotent: false, written out, it is in doubt" {
	three 'idempotent: false'
	local how
	for how in TERM INT timeout; do
		cut_off $how
		call workflow resume "$id"
		envelope 81
		expect 'e.error.context.step_key == "two" and "idempotent: false" in e.error.message'
		effects one two
		call workflow resume "$id" --mark-done two
		envelope 0
		effects one two three
	done
}

# lost: the run of three.yaml, in whose second step the shepherd is killed
lost() {
	rm -f effects began go asked
	begin workflow run three.yaml
	until_true [ -e began ]
	shepherd_of two | xargs kill -KILL
	finish
	id=$(run_id)
}

@test "a step whose shepherd is killed is in doubt: no retry runs it again unasked" {
	three 'retry: { delays: [10ms, 10ms] }'
	lost
	envelope 81
	expect 'e.error.code == "STEP_IN_DOUBT" and e.error.context.step_key == "two" and e.data.state == "interrupted"'
	effects one two
	[ "$(sql "select state, code from steps where key = 'two'")" = 'interrupted|STEP_IN_DOUBT' ]
	touch go
	call workflow resume "$id"
	envelope 81
	call workflow resume "$id" --retry-in-doubt
	envelope 0
	effects one two two three
}

@test "a killed shepherd: verify is asked, and a step that has done its work is not retried" {
	three 'retry: { delays: [10ms, 10ms] }
    verify: echo asked >>asked; touch go; exit $(cat answer)'
	echo 0 >answer
	lost
	envelope 0
	effects one two three
	[ "$(wc -l <asked)" -eq 1 ]
	echo 1 >answer
	lost
	envelope 0
	effects one two two three
	[ "$(wc -l <asked)" -eq 1 ]
}

@test "a killed shepherd: what may run again does so without a retry, and no loop drops it as failed" {
	workflow dropped <<-'YAML'
		name: dropped
		commands:
		  - foreach: [x]
		    continue_on_error: true
		    do:
		      - id: two
		        verify: grep -qx landed effects
		        shell: "echo two >>effects; [ -e began ] || { touch began; sleep 60; }; echo landed >>effects"
	YAML
	begin workflow run dropped.yaml
	until_true [ -e began ]
	shepherd_of two | xargs kill -KILL
	finish
	envelope 0
	effects two two landed
	messages step.again | grep -q 'the process in charge of it was killed; it runs again'
}

@test "a killed shepherd: what its program had started ends before its step runs again" {
	workflow left <<-'YAML'
		name: left
		commands:
		  - id: two
		    idempotent: true
		    retry: { delays: [10ms] }
		    shell: |
		      echo two >>effects
		      [ ! -e began ] || exit 0
		      (while :; do echo left >>left; sleep 0.02; done) &
		      setsid sh -c 'while :; do echo left >>left; sleep 0.02; done' &
		      until [ -s left ]; do sleep 0.02; done
		      touch began
		      sleep 60
		  - shell: wc -l <left; sleep 0.5; wc -l <left
	YAML
	begin workflow run left.yaml
	until_true [ -e began ]
	shepherd_of two | xargs kill -KILL
	finish
	envelope 0
	effects two two
	expect 'len(set(e.data.steps[1].output.split())) == 1'
}

@test "a step that is ended by the signal that ends its run, as systemd does it, was cut off, not failed: verify decides" {
	workflow flow <<-'YAML'
		name: flow
		commands:
		  - shell: echo hi >>did; echo $$ >pid; sleep 600.25
		    verify: grep -q hi did
		    idempotent: false
	YAML
	begin workflow run flow.yaml
	until_true [ -s pid ]
	kill -TERM "$(cat pid)" "$pid"
	finish
	[ "$status" -ne 0 ]
	expect 'e.error.code == "CANCELLED"'
	call workflow resume @last
	envelope 0
	[ "$(cat did)" = hi ]
}

@test "a step that fails by itself is not waited for" {
	workflow flow <<-'YAML'
		name: flow
		commands:
		  - foreach: [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]
		    continue_on_error: true
		    do: [ { shell: 'exit "$item"', env: { item: "${item}" } } ]
	YAML
	call workflow run flow.yaml
	# the quickest of ten with each status: less than what one that was killed waits
	[ "$(sql "select count(*) from (select status from steps where status > 0 group by status having min(ended_ms - started_ms) < 1000)")" = 4 ]
}
