#!/usr/bin/env bats
# Spec 185, criterion by criterion: a stand-in for claude behaves from a script, delays
# are the spec's own in `plan` and scaled down where they are really waited for.

load workflow

# quick [KEYS]: one claude step, 20, 40, 80 … ms without jitter
quick() {
	workflow quick <<YAML
name: quick
commands:
  - claude: "/process-data"
    retry: { initial_delay: 20ms, jitter: 0${1:+, $1} }
YAML
}

SERVER_ERROR='complain "API Error: 500 Internal Server Error"; exit 1'

# --- classification ---------------------------------------------------------------------

@test "AC1: a 500 error is retried after 5 s, up to 5 times with exponential backoff; the checkpoint is saved" {
	workflow default <<-'YAML'
		name: default
		commands: [ { claude: /process-data, id: data } ]
	YAML
	turns "$SERVER_ERROR"
	call workflow plan default.yaml --seed 7
	expect 'e.data.steps[0].retry.delays_ms[0] in range(3750, 6251) and e.data.steps[0].retry.max_attempts == 5'
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
	expect 'e.error.code == "UNAVAILABLE" and e.error.message == "HTTP 500: Internal Server Error"'
	expect 'e.data.state == "failed" and e.data.retryable is True and e.error.retries_exhausted == 5'
	local n=1 delay
	for delay in 20 40 80 160 320; do
		n=$((n + 1))
		[ "$(waited $n)" -ge $((delay - 5)) ] && [ "$(waited $n)" -le $((delay + 500)) ]
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
	expect 'e.error.code == "AUTH_REQUIRED" and e.error.message.startswith("Authentication failed: ")'
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
	expect 'e.error.code == "PRECONDITION" and e.error.message.startswith("Invalid command: ")'
	expect '"--frobnicate" in e.error.message and e.data.retryable is False'
}

# --- retry behaviour -----------------------------------------------------------------------

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
	grep -Ex 'Claude command failed after 6 attempts over [0-9]\.[0-9]s: HTTP 500: .*Internal Server Error' last
	[ "$(wc -l <last)" -eq 1 ]
	# each line carries what programs need
	python3 - <<-'PYTHON'
		import json
		rows = [json.loads(line) for line in open("err.txt")]
		waits = [r for r in rows if r["event"] == "retry.wait"]
		assert [w["delay_ms"] for w in waits] == [60, 50, 40, 30, 20], waits
		failures = [r for r in rows if r["event"] == "retry.failed"]
		assert [(f["attempt"], f["max_attempts"], f["code"]) for f in failures] == [(n, 5, "UNAVAILABLE") for n in range(1, 6)]
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
	expect 'e.data.steps[4].retry.jitter_factor == 0.5 and e.data.steps[4].retry.max_attempts == 2 and e.data.steps[5].retry is None'
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
		    timeout_secs: 0.3
		    retry: { initial_delay: 10ms, max_attempts: 2, jitter: 0 }
	YAML
	turns 'sleep 60' 'echo quick'
	call workflow run slow.yaml
	envelope 0
	[ "$(calls)" -eq 2 ] && [ "$elapsed_ms" -lt 5000 ]
	messages '' | grep -qFx 'Claude command timed out after 0.3s: /process-data'
	expect '[h.code for h in e.data.steps[0].retry.error_history] == ["TIMEOUT"]'
	expect 'e.data.steps[0].retry.error_history[0].error == "Network timeout after 0.3s"'
	assert_no_process_left
	rm -rf claude/turns/*.[0-9] && turns 'sleep 60'
	call workflow run slow.yaml
	envelope 10
	expect 'e.error.code == "TIMEOUT" and e.data.retryable is True and e.error.retries_exhausted == 2'
	assert_no_process_left
}

# --- integration -----------------------------------------------------------------------------

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
		    retry: { strategy: custom, delays: [10ms, 1500ms, 20ms, 20ms], jitter: 0 }
	YAML
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR" 'echo recovered'
	begin workflow run wait.yaml
	until_true grep -q '"delay_ms":1500' err.txt
	kill -INT "$pid"
	finish
	envelope 130
	expect 'e.error.code == "CANCELLED"'
	[ "$(calls)" -eq 2 ]
	local id
	id=$(run_id)
	call workflow show "$id"
	expect 'e.data.state == "interrupted" and e.data.steps[1].attempts == 2'
	call workflow resume "$id"
	envelope 0
	[ "$(calls)" -eq 4 ] && [ "$(cat effects)" = once ]
	# the rest of the wait, measured from the second call's end
	[ "$(waited 2)" -ge 1495 ] && [ "$(waited 2)" -lt 4000 ]
	attempted >lines
	diff lines - <<-'LINES'
		Claude command failed (attempt 3/4): 500 Internal Server Error
		Retrying in 0.0 seconds...
		Claude command succeeded on attempt 4
	LINES
}

# --- functional requirements ---------------------------------------------------------------------

# case PROMPT CODE ATTEMPTS TURN: what the stand-in does there, and what must be made of it
case_of() {
	turns -p "$1" "$4"
	printf '  - { claude: "%s", id: "%s", on_failure: continue, timeout: 20s }\n' "$1" "$1" >>cases.yaml
	echo "$1 $2 $3" >>wanted
}

@test "FR1: errors are classified by status, stderr and the JSON result on stdout" {
	printf 'name: cases\nretry: { max_attempts: 1, initial_delay: 1ms, jitter: 0 }\ncommands:\n' >cases.yaml
	case_of s500 UNAVAILABLE 2 'complain "500 Internal Server Error"; exit 1'
	case_of s503 UNAVAILABLE 2 'complain "HTTP 503 Service Unavailable"; exit 1'
	case_of overload UNAVAILABLE 2 'complain "API Error: 529 overloaded_error"; exit 1'
	case_of limited RATE_LIMITED 2 'complain "API Error: 429 rate_limit_error"; exit 1'
	case_of limit RATE_LIMITED 2 'complain "Error: rate limit exceeded"; exit 1'
	case_of network NETWORK_ERROR 2 'complain "connect ECONNREFUSED 127.0.0.1:443"; exit 1'
	case_of reset NETWORK_ERROR 2 'complain "Connection error: read ECONNRESET"; exit 1'
	case_of timeout TIMEOUT 2 'complain "Request timed out."; exit 1'
	case_of auth AUTH_REQUIRED 1 'complain "Invalid API key · Please run /login"; exit 1'
	case_of token AUTH_REQUIRED 1 'complain "OAuth authentication failed: unauthorized"; exit 1'
	case_of s400 '?' 1 'complain "API Error: 400 invalid_request_error: bad"; exit 1'
	case_of s404 '?' 1 'complain "API Error: 404 not_found_error: model"; exit 1'
	case_of usage PRECONDITION 1 "complain \"error: unknown option '--nope'\"; exit 1"
	case_of unknown SUBPROCESS_FAILED 2 'complain "something odd"; exit 3'
	case_of millis SUBPROCESS_FAILED 2 'complain "gave up after 1500 ms"; exit 1'
	case_of file SUBPROCESS_FAILED 2 'complain "cannot read 500.txt"; exit 1'
	case_of json UNAVAILABLE 2 'echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"API Error: 500 {}\"}"'
	call workflow run cases.yaml
	envelope 0
	field '"\n".join("%s %s %d" % (s.key, s.code, s.attempts) for s in e.data.steps)' >made
	sed -i -E 's/^(s40[04]) [A-Z_]+ /\1 ? /' made
	diff wanted made
}

@test "FR2: exponential, 5 s and 5 retries by default, jitter, and a policy for the whole workflow" {
	workflow whole <<-'YAML'
		name: whole
		retry: { strategy: constant, initial_delay_secs: 3, max_attempts: 2, jitter: 0.1 }
		commands:
		  - claude: /a
		  - shell: "true"
		  - shell: "true"
		    retry: true
	YAML
	call workflow plan whole.yaml
	envelope 0
	expect 'e.data.steps[0].retry.strategy == "constant" and e.data.steps[0].retry.jitter_factor == 0.1'
	expect 'all(2700 <= d <= 3300 for d in e.data.steps[0].retry.delays_ms) and len(e.data.steps[0].retry.delays_ms) == 2'
	expect 'e.data.steps[1].retry is None and e.data.steps[2].retry.max_attempts == 2'
}

@test "FR3: attempts, errors, durations and the log of each attempt are told, stored and in the envelope" {
	quick 'max_attempts: 1'
	turns 'echo half a result; complain "500 Internal Server Error"; exit 1'
	call workflow run quick.yaml
	envelope 12
	expect 'e.error.context.attempts == 2 and e.error.context.total_duration >= 0.02'
	expect 'e.error.context.step == "Executing Claude command: /process-data" and e.error.context.step_key == "1"'
	expect '[(h.attempt_number, h.delay_before_next) for h in e.error.context.error_history] == [(1, 0.02), (2, None)]'
	expect 'all(h.error.startswith("HTTP 500: ") and h.timestamp.endswith("Z") for h in e.error.context.error_history)'
	local log
	for log in $(field '" ".join(e.data.steps[0].logs)'); do
		[ "$(stat -c %a "$log")" = 600 ]
		python3 - "$log" <<-'PYTHON'
			import json, sys
			log = json.load(open(sys.argv[1]))
			assert log["stdout"] == "half a result\n" and "500 Internal Server Error" in log["stderr"], log
			assert log["argv"][-2:] == ["--print", "/process-data"] and log["status"] == 1 and log["code"] == "UNAVAILABLE", log
		PYTHON
		[ "$(sql "select count(*) from attempts where log = '$log'")" -eq 1 ]
		grep -q "\"log\":\"$log\"" err.txt
	done
	[ "$(field 'e.error.context.log')" = "$log" ]
	turns 'echo fine'
	call workflow run quick.yaml
	envelope 0
	expect 'len(e.data.steps[0].logs) == 1'
	call workflow stats
	envelope 0
	expect 'e.data.runs == 2 and e.data.attempts == 3 and e.data.retries == 1 and e.data.total_wait_ms == 20'
}

@test "FR4: ten minutes by default, a limit per command and per workflow" {
	workflow limits <<-'YAML'
		name: limits
		commands:
		  - claude: /a
		  - claude: /b
		    timeout_secs: 90
		  - shell: "true"
	YAML
	call workflow plan limits.yaml
	expect '[s.timeout_ms for s in e.data.steps] == [600000, 90000, None]'
	sed -i 's/^commands:/timeout: 2m\ncommands:/' limits.yaml
	call workflow plan limits.yaml
	expect '[s.timeout_ms for s in e.data.steps] == [120000, 90000, 120000]'
}

# --- beyond functions ------------------------------------------------------------------------------

@test "NFR1: a wait is its schedule within 100 ms and never shorter, most of them within 5 ms" {
	workflow exact <<-'YAML'
		name: exact
		commands:
		  - claude: /process-data
		    retry: { strategy: custom, delays: [200ms, 50ms, 350ms, 120ms], jitter: 0 }
	YAML
	turns "$SERVER_ERROR"
	call workflow run exact.yaml
	local n=0 delay
	for delay in 200 50 350 120; do
		n=$((n + 1))
		echo "planned $delay, waited $(waited $n)"
		[ "$(waited $n)" -ge "$delay" ]
	done
	# by the store's own times, without what it takes to start and to end a program
	local late='select b.started_ms - a.ended_ms - a.delay_ms as late from attempts a join attempts b on b.number = a.number + 1'
	sql "$late"
	[ "$(sql "select count(*) from ($late) where late between 0 and 100")" -eq 4 ]
	[ "$(sql "select count(*) from ($late) where late between 0 and 5")" -ge 2 ]
}

@test "NFR2: used attempts survive kill -9 of everything" {
	workflow wait <<-'YAML'
		name: wait
		commands:
		  - claude: /process-data
		    retry: { strategy: custom, delays: [10ms, 30s], jitter: 0 }
	YAML
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR"
	begin workflow run wait.yaml
	until_true grep -q '"delay_ms":30000' err.txt
	kill_all
	finish
	[ "$(sql 'select attempts, state, wait_ms from steps')" = '2|waiting|30000' ]
	local id
	id=$(run_id)
	call workflow show "$id"
	expect 'e.data.state == "interrupted" and e.data.steps[0].wake and e.data.steps[0].retry.total_duration < 10'
	sql 'update steps set wake_ms = 0'
	call workflow resume "$id"
	envelope 12
	[ "$(calls)" -eq 3 ]
	[[ $(attempted) == 'Claude command failed after 3 attempts over '* ]]
}

@test "NFR3: default waits stay under five minutes even at full jitter, and Ctrl+C ends a wait at once" {
	workflow default <<-'YAML'
		name: default
		commands: [ { claude: /process-data } ]
	YAML
	call workflow plan default.yaml
	expect '155000 * (1 + e.data.steps[0].retry.jitter_factor) < 300000 and e.data.steps[0].retry.total_wait_ms < 300000'
	turns "$SERVER_ERROR"
	begin workflow run default.yaml
	until_true grep -q retry.wait err.txt
	local asked=${EPOCHREALTIME/[.,]/}
	kill -INT "$pid"
	finish
	[ $(((${EPOCHREALTIME/[.,]/} - asked) / 1000)) -lt 1500 ]
	envelope 130
	expect 'e.data.progress.state == "waiting" and e.data.progress.step == "1"'
}

# --- the seed's own tests and its file ----------------------------------------------------------------

seeds_file() {
	workflow example <<-'YAML'
		name: example-with-retry

		commands:
		  - claude: "/process-data"
		    retry:
		      strategy: exponential  # constant, linear, or exponential
		      initial_delay_secs: 5
		      max_attempts: 5
		      jitter: 0.25          # 25% jitter
		      max_delay_secs: 120   # cap at 2 minutes
		    timeout_secs: 600       # 10 minute timeout

		  - claude: "/critical-command"
		    retry:
		      max_attempts: 10      # More retries for critical commands
		      initial_delay_secs: 2

		  - shell: "echo done"      # Shell commands don't retry by default
	YAML
}

@test "the YAML of the spec runs as it is written there" {
	seeds_file
	call workflow check example.yaml
	envelope 0
	expect 'e.data.steps == 3'
	call workflow run example.yaml
	envelope 0
	expect 'e.data.workflow == "example-with-retry" and [s.state for s in e.data.steps] == ["completed"] * 3'
	expect 'e.data.steps[2].output.strip() == "done" and e.data.steps[2].attempts == 1'
	diff claude/calls/1/argv <(printf '%s\n' --print /process-data)
	grep -qx RUNNER_AUTOMATION=true claude/calls/1/env
	[ "$(<claude/calls/1/stdin)" = /dev/null ] && [ "$(<claude/calls/1/cwd)" = "$PWD" ]
	# and with failures, its delays in hundredths of seconds
	sed -i -E 's/initial_delay_secs: ([0-9])/initial_delay_secs: 0.0\1/' example.yaml
	rm -rf claude/turns/*.[0-9]
	turns "$SERVER_ERROR" "$SERVER_ERROR" 'echo a' "$SERVER_ERROR" 'echo b'
	call workflow run example.yaml
	envelope 0
	expect '[s.attempts for s in e.data.steps] == [3, 2, 1]'
}

@test "the second command of the spec's YAML keeps the cap of two minutes over ten retries" {
	seeds_file
	call workflow plan example.yaml
	expect 'len(e.data.steps[1].retry.delays_ms) == 10 and max(e.data.steps[1].retry.delays_ms) <= 120000'
	expect '1500 <= e.data.steps[1].retry.delays_ms[0] <= 2500 and e.data.steps[1].retry.max_delay_ms == 120000'
}

@test "test_error_classification: 5xx, overload and timeout are transient, 4xx and authentication are not" {
	printf 'name: cases\nretry: { max_attempts: 1, initial_delay: 1ms, jitter: 0 }\ncommands:\n' >cases.yaml
	case_of http500 UNAVAILABLE 2 'complain "HTTP 500: error"; exit 1'
	case_of http503 UNAVAILABLE 2 'complain "HTTP 503: error"; exit 1'
	case_of http400 '?' 1 'complain "HTTP 400: error"; exit 1'
	case_of overloaded UNAVAILABLE 2 'complain "overloaded"; exit 1'
	case_of authentication AUTH_REQUIRED 1 'complain "authentication: bad token"; exit 1'
	call workflow run cases.yaml
	field '"\n".join("%s %s %d" % (s.key, s.code, s.attempts) for s in e.data.steps)' | sed -E 's/^(http400) [A-Z_]+ /\1 ? /' >made
	diff wanted made
}

@test "test_retry_policy_parsing: exponential from 2 s, 3 retries, jitter 0.1, cap 30 s" {
	workflow policy <<-'YAML'
		name: policy
		commands:
		  - claude: /test
		    retry: { strategy: exponential, initial_delay_secs: 2, max_attempts: 3, jitter: 0.1, max_delay_secs: 30 }
	YAML
	call workflow plan policy.yaml
	expect '{k: e.data.steps[0].retry[k] for k in ("strategy", "initial_delay_ms", "max_attempts", "attempts", "jitter_factor", "max_delay_ms")} == {"strategy": "exponential", "initial_delay_ms": 2000, "max_attempts": 3, "attempts": 4, "jitter_factor": 0.1, "max_delay_ms": 30000}'
	expect 'all(0.9 * d <= got <= 1.1 * d for d, got in zip([2000, 4000, 8000], e.data.steps[0].retry.delays_ms))'
}

@test "test_retry_on_500_error: three failures and a success are four attempts" {
	workflow four <<-'YAML'
		name: four
		commands: [ { claude: /test, retry: { strategy: constant, initial_delay: 10ms, max_attempts: 5 } } ]
	YAML
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR" 'echo success'
	call workflow run four.yaml
	envelope 0
	[ "$(calls)" -eq 4 ]
	expect 'e.data.steps[0].output.strip() == "success" and e.data.steps[0].attempts == 4 and e.meta.retries == 3'
	[ "$(attempted | tail -n 1)" = 'Claude command succeeded on attempt 4' ]
}

@test "test_no_retry_on_auth_error: it is called once" {
	workflow auth <<-'YAML'
		name: auth
		commands: [ { claude: /test } ]
	YAML
	turns 'complain "authentication failed: bad token"; exit 1'
	call workflow run auth.yaml
	envelope 8
	[ "$(calls)" -eq 1 ]
	expect 'e.error.code == "AUTH_REQUIRED" and "bad token" in e.error.message'
}

@test "test_retry_exhaustion_saves_checkpoint: Failed { retryable: true } with the retry metadata" {
	quick 'max_attempts: 1'
	turns "$SERVER_ERROR"
	call workflow run quick.yaml
	envelope 12
	call workflow show "$(run_id)"
	envelope 0
	expect 'e.data.state == "failed" and e.data.retryable is True'
	expect 'sorted(e.data.steps[0].retry) == ["attempts", "error_history", "total_duration"] and len(e.data.steps[0].retry.error_history) == 2'
	expect 'all(h.attempt_number and h.error and h.timestamp for h in e.data.steps[0].retry.error_history)'
}
