#!/usr/bin/env bats
# The acceptance criteria of Spec 185 (docs/design.md#workflows) one by one: a stand-in
# for claude behaves from a script, delays are the spec's own in `plan` and scaled down
# where they are waited for.

load lib/workflow

# --- error classification -------------------------------------------------------------

@test "AC1: a 500 error is retried after 5 s, up to 5 times with exponential backoff; the checkpoint is saved" {
	workflow default <<-'YAML'
		name: default
		commands: [ { claude: /process-data, id: data } ]
	YAML
	turns "$SERVER_ERROR"
	call workflow plan default.yaml --seed 7
	expect 'e.data.steps[0].retry.delays_ms[0] in range(3750, 6251) and e.data.steps[0].retry.retries == 5 and e.data.steps[0].retry.max_attempts == 6'
	local first
	first=$(field 'e.data.steps[0].retry.delays_ms[0]')
	# the default policy, up to its first real wait
	begin workflow run default.yaml --seed 7
	until_true grep -q retry.wait err.txt
	grep -q "\"event\":\"retry.wait\".*\"delay_ms\":$first," err.txt
	kill -INT "$pid"
	finish
	[ "$(calls)" -eq 1 ]

	quick
	call workflow run quick.yaml
	envelope 12
	[ "$(calls)" -eq 7 ]
	expect 'e.error.code == "UNAVAILABLE" and e.error.message == "Step 1: HTTP 500: Internal Server Error"'
	expect 'e.data.state == "failed" and e.data.retryable is True and e.error.retries_exhausted == 5'
	local n=1 delay
	for delay in 20 40 80 160 320; do
		n=$((n + 1))
		[ "$(waited $n)" -ge $((delay - 5)) ]
		[ "$(waited $n)" -le $((delay + 20000)) ]
	done
}

@test "AC2: an overload is retried like a 500 and succeeds when there is capacity again" {
	quick
	turns 'complain "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"; exit 1' \
		'complain "Service overloaded, please try again"; exit 1' 'echo at last'
	call workflow run quick.yaml
	envelope 0
	[ "$(calls)" -eq 3 ]
	expect 'e.data.steps[0].output.strip() == "at last" and e.data.steps[0].attempts == 3'
	expect '[h.code for h in e.data.steps[0].retry.error_history] == ["UNAVAILABLE", "UNAVAILABLE"]'
	expect 'all(h.error.startswith("Service overloaded: ") for h in e.data.steps[0].retry.error_history)'
}

@test "AC3: an authentication error fails at once, with a clear message and what to do" {
	quick
	turns 'complain "API Error: 401 authentication_error: invalid x-api-key"; exit 1'
	call workflow run quick.yaml
	envelope 8
	[ "$(calls)" -eq 1 ]
	expect 'e.error.code == "AUTH_REQUIRED" and e.error.message.startswith("Step 1: Authentication failed: ")'
	expect '"invalid x-api-key" in e.error.message and e.error.retryable is False and "retries_exhausted" not in e.error'
	expect 'e.data.retryable is False and e.data.state == "failed"'
	[[ $(attempted) == "Claude command failed: Authentication failed: "* ]]
}

@test "AC4: an invalid command fails at once, with the details" {
	quick
	turns "complain \"error: unknown option '--frobnicate'\"; exit 1"
	call workflow run quick.yaml
	envelope 4
	[ "$(calls)" -eq 1 ]
	expect 'e.error.code == "PRECONDITION" and e.error.message.startswith("Step 1: Invalid command: ")'
	expect '"--frobnicate" in e.error.message and e.data.retryable is False'
}

# --- retry behaviour ------------------------------------------------------------------

@test "AC5: delays are 5, 10, 20, 40, 80 s, 155 s in all, with ±25 % by default" {
	workflow five <<-'YAML'
		name: five
		commands:
		  - claude: /a
		    retry: { jitter: 0 }
		  - claude: /b
	YAML
	call workflow plan five.yaml
	envelope 0
	expect 'e.data.steps[0].retry.delays_ms == [5000, 10000, 20000, 40000, 80000]'
	expect 'e.data.steps[0].retry.total_wait_ms == 155000 and e.data.steps[0].retry.strategy == "exponential"'
	expect 'e.data.steps[1].retry.jitter_factor == 0.25 and e.data.steps[1].retry.max_delay_ms == 120000'
	local seed
	for seed in 1 2 3 4 5; do
		call workflow plan five.yaml --seed $seed
		expect 'all(0.75 * d <= got <= 1.25 * d for d, got in zip([5000, 10000, 20000, 40000, 80000], e.data.steps[1].retry.delays_ms))'
		field 'e.data.steps[1].retry.delays_ms' >>drawn
	done
	[ "$(sort -u drawn | wc -l)" -eq 5 ]
}

@test "AC5: the waits of a real run are those of plan, the same ones for the same seed" {
	workflow seeded <<-'YAML'
		name: seeded
		commands:
		  - claude: /process-data
		    retry: { initial_delay: 20ms, max_attempts: 4 }
	YAML
	turns "$SERVER_ERROR"
	local seed
	for seed in 7 7 8; do
		call workflow plan seeded.yaml --seed $seed
		field 'e.data.steps[0].retry.delays_ms' >>planned
		call workflow run seeded.yaml --seed $seed
		envelope 12
		field '[round(h.delay_before_next * 1000) for h in e.error.context.error_history if h.delay_before_next]' >>waited
	done
	diff planned waited
	[ "$(sed -n 1p waited)" = "$(sed -n 2p waited)" ]
	[ "$(sed -n 1p waited)" != "$(sed -n 3p waited)" ]
	# RUNNER_SEED stands in for --seed
	call RUNNER_SEED=7 workflow plan seeded.yaml
	[ "$(field 'e.data.steps[0].retry.delays_ms')" = "$(sed -n 1p planned)" ]
}

@test "AC6: attempts, waits and the success are logged in the spec's words" {
	quick
	turns 'complain "500 Internal Server Error"; exit 1' 'complain "500 Internal Server Error"; exit 1' 'echo fine'
	call workflow run quick.yaml
	envelope 0
	attempted >lines
	diff lines - <<-'LINES'
		Claude command failed (attempt 1/5): 500 Internal Server Error
		Retrying in 0.0 seconds...
		Claude command failed (attempt 2/5): 500 Internal Server Error
		Retrying in 0.0 seconds...
		Claude command succeeded on attempt 3
	LINES
}

@test "AC6: five retries are five announced failures, and a last line that counts six attempts" {
	workflow loud <<-'YAML'
		name: loud
		commands:
		  - claude: /process-data
		    retry: { strategy: custom, delays: [60ms, 50ms, 40ms, 30ms, 20ms], jitter: 0 }
	YAML
	turns 'complain "500 Internal Server Error"; exit 1'
	call workflow run loud.yaml
	envelope 12
	attempted >lines
	head -n 10 lines | diff - <(
		for n in 1 2 3 4 5; do
			echo "Claude command failed (attempt $n/5): 500 Internal Server Error"
			echo "Retrying in 0.$((n < 3 ? 1 : 0)) seconds..."
		done
	)
	tail -n +11 lines >last
	grep -Ex 'Claude command failed after 6 attempts over [0-9]+\.[0-9]s: HTTP 500: .*Internal Server Error' last
	[ "$(wc -l <last)" -eq 1 ]
	# each line carries what programs need
	python3 - <<-'PYTHON'
		import json
		rows = [json.loads(line) for line in open("err.txt")]
		waits = [r for r in rows if r["event"] == "retry.wait"]
		assert [w["delay_ms"] for w in waits] == [60, 50, 40, 30, 20], waits
		failures = [r for r in rows if r["event"] == "retry.failed"]
		assert [(f["attempt"], f["max_attempts"], f["code"]) for f in failures] == [(n, 6, "UNAVAILABLE") for n in range(1, 6)]
		assert all(f["level"] == "warn" and f["context"]["log"] and f["context"]["step"] == "1" for f in failures)
	PYTHON
}

@test "AC6: on a terminal the same lines are text" {
	quick
	turns 'complain "500 Internal Server Error"; exit 1' 'echo fine'
	on_pty workflow run quick.yaml
	grep -E '^(Claude command|Retrying in)' screen >lines
	diff lines - <<-'LINES'
		Claude command failed (attempt 1/5): 500 Internal Server Error
		Retrying in 0.0 seconds...
		Claude command succeeded on attempt 2
	LINES
}

@test "AC7: retry of a step overrides the default policy key by key" {
	workflow over <<-'YAML'
		name: over
		retry: { jitter: 0, max_delay: 1m }
		commands:
		  - claude: /a
		    retry: { max_attempts: 3, initial_delay: 2s }
		  - claude: /b
		  - claude: /c
		    retry: { strategy: linear, max_delay_secs: 12 }
		  - claude: /d
		    retry: { strategy: fibonacci, initial_delay_secs: 1, max_attempts: 6 }
		  - claude: /e
		    retry_config: { attempts: 2, backoff: constant, jitter: true, jitter_factor: 0.5 }
		  - claude: /f
		    retry: false
	YAML
	call workflow plan over.yaml
	envelope 0
	expect '[s.retry.delays_ms for s in e.data.steps[:4]] == [[2000, 4000, 8000], [5000, 10000, 20000, 40000, 60000], [5000, 10000, 12000, 12000, 12000], [1000, 1000, 2000, 3000, 5000, 8000]]'
	expect 'e.data.steps[4].retry.jitter_factor == 0.5 and e.data.steps[4].retry.retries == 2 and e.data.steps[5].retry is None'
	expect 'all(2500 <= d <= 7500 for d in e.data.steps[4].retry.delays_ms)'
	turns "$SERVER_ERROR"
	quick 'max_attempts: 2'
	call workflow run quick.yaml
	envelope 12
	[ "$(calls)" -eq 3 ]
}

@test "AC8: a timeout is transient: the attempt is ended, logged with its command, and tried again" {
	workflow slow <<-'YAML'
		name: slow
		commands:
		  - claude: /process-data
		    timeout_secs: 5.5
		    retry: { initial_delay: 10ms, max_attempts: 2, jitter: 0 }
	YAML
	turns 'sleep 60' 'echo quick'
	call workflow run slow.yaml
	envelope 0
	[ "$(calls)" -eq 2 ]
	[ "$elapsed_ms" -lt 40000 ]
	messages '' | grep -qFx 'Claude command timed out after 5.5s: /process-data'
	expect '[h.code for h in e.data.steps[0].retry.error_history] == ["TIMEOUT"]'
	expect 'e.data.steps[0].retry.error_history[0].error == "Timed out after 5.5s"'
	assert_no_process_left
	rm -rf claude/turns/*.[0-9]
	turns 'sleep 60'
	sed -i 's/timeout_secs: 5.5/timeout_secs: 0.3/' slow.yaml
	call workflow run slow.yaml
	envelope 10
	expect 'e.error.code == "TIMEOUT" and e.data.retryable is True and e.error.retries_exhausted == 2'
	assert_no_process_left
}

# --- integration ----------------------------------------------------------------------

@test "AC9: after exhaustion the checkpoint is Failed { retryable: true }; resume begins the sequence anew" {
	quick 'max_attempts: 2'
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR" 'echo recovered'
	call workflow run quick.yaml
	envelope 12
	expect 'e.error.retryable is False and e.error.suggestion == "runner workflow resume " + e.data.id'
	local id
	id=$(run_id)
	[ "$(sql "select state, retryable, failed_step, code from runs")" = 'failed|1|1|UNAVAILABLE' ]
	call workflow show "$id"
	envelope 0
	expect 'e.data.state == "failed" and e.data.retryable is True and e.data.steps[0].retry.attempts == 3'
	call workflow resume "$id"
	envelope 0
	[ "$(calls)" -eq 5 ]
	expect 'e.data.state == "completed" and e.data.steps[0].attempts == 5 and e.data.resumes == 1'
	[ "$(attempted | head -n 1)" = 'Claude command failed (attempt 1/2): 500 Internal Server Error' ]
	[ "$(attempted | tail -n 1)" = 'Claude command succeeded on attempt 2' ]
}

@test "AC10: resume continues an interrupted retry sequence where it was" {
	workflow wait <<-'YAML'
		name: wait
		commands:
		  - shell: echo once >>effects
		  - claude: /process-data
		    retry: { strategy: custom, delays: [10ms, 60s, 20ms, 20ms], jitter: 0 }
	YAML
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR" 'echo recovered'
	begin workflow run wait.yaml
	until_true grep -q '"delay_ms":60000' err.txt
	kill -INT "$pid"
	finish
	envelope 130
	expect 'e.error.code == "CANCELLED"'
	[ "$(calls)" -eq 2 ]
	local id
	id=$(run_id)
	call workflow show "$id"
	expect 'e.data.state == "interrupted" and e.data.steps[1].attempts == 2'
	# 57 s later, so that no other wait than the rest is 3 s to 20 s
	sql "UPDATE steps SET wake_ms = wake_ms - 57000"
	call workflow resume "$id"
	envelope 0
	[ "$(calls)" -eq 4 ]
	[ "$(cat effects)" = once ]
	# the rest of the wait, measured from the second call's end
	[ "$(waited 2)" -ge 2995 ]
	[ "$(waited 2)" -lt 20000 ]
	attempted >lines
	diff lines - <<-'LINES'
		Claude command failed (attempt 3/4): 500 Internal Server Error
		Retrying in 0.0 seconds...
		Claude command succeeded on attempt 4
	LINES
}
