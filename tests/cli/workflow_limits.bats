#!/usr/bin/env bats
# Usage limits that name the time of their reset: a claude step waits for it, with a cap of
# its own. Limits are a few seconds long here.

load lib/workflow

# limited SECONDS: a turn that reports a limit which resets that many seconds from then
limited() {
	printf '%s' "echo \"Claude AI usage limit reached|\$((\$(date +%s) + $1))\"; exit 1"
}

# asks [RETRY]: one claude step whose policy waits 20 ms
asks() {
	workflow ask <<YAML
name: ask
commands:
  - id: ask
    claude: /process-data
    retry: { initial_delay: 20ms, jitter: 0${1:+, $1} }
YAML
}

@test "the reset of a usage limit is waited for, which is no counted retry" {
	asks "max_attempts: 1"
	turns "$(limited 6)" "$(limited 6)" "$SERVER_ERROR" 'echo done'
	call workflow run ask.yaml
	envelope 0
	[ "$(calls)" -eq 4 ]
	[ "$(waited 1)" -ge 1500 ]
	[ "$(waited 2)" -ge 1500 ]
	[ "$(waited 3)" -ge 15 ]
	expect 'e.data.steps[0].attempts == 4 and e.meta.retries == 3'
	[ "$(messages limit.wait | grep -c 'not counted as a retry')" -eq 2 ]
	[ "$(attempted | grep -c 'attempt 1/1')" -eq 1 ]
	call workflow show "$(run_id)"
	expect '[h.get("usage_limit") for h in e.data.steps[0].retry.error_history] == [True, True, None]'
}

@test "a reset beyond limit_wait fails at once, and the run can be resumed after it" {
	asks "limit_wait: 1h"
	turns "$(limited 7200)" 'echo done'
	call workflow run ask.yaml
	envelope 11
	[ "$(calls)" -eq 1 ]
	expect 'e.error.code == "RATE_LIMITED" and e.error.message.startswith("Step ask: Usage limit reached: Claude AI usage limit reached|")'
	expect 'e.error.context.resets_at > e.data.created and "limit_wait (1h)" in e.error.suggestion'
	expect 'e.data.state == "failed" and e.data.retryable is True'
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(calls)" -eq 2 ]
}

@test "limit_wait holds for all waits of a step together, and 0 switches them off" {
	asks "limit_wait: 30s"
	turns "$(limited 8)" "$(limited 29)" 'echo "each wait alone is short enough"'
	call workflow run ask.yaml
	envelope 11
	[ "$(calls)" -eq 2 ]
	rm -rf claude/calls/* claude/turns/*
	asks "limit_wait: 0"
	turns "$(limited 60)"
	call workflow run ask.yaml
	envelope 11
	[ "$(calls)" -eq 1 ]
}

@test "a limit that has just been reset is a counted retry: it never spins" {
	asks "max_attempts: 2"
	turns "$(limited 0)"
	call workflow run ask.yaml
	envelope 11
	[ "$(calls)" -eq 3 ]
	expect 'e.error.retries_exhausted == 2'
}

@test "the wait is in the database: a killed run goes on waiting for the rest, and counts nothing" {
	asks "max_attempts: 1"
	turns "$(limited 12)" "$SERVER_ERROR" 'echo done'
	begin workflow run ask.yaml
	until_true grep -q limit.wait err.txt
	local run
	run=$(run_id)
	[ "$(sql 'select state from steps')" = waiting ]
	[ "$(sql 'select limit_ms > 2000 and delay_ms > limit_ms from attempts')" = 1 ]
	kill -KILL "$pid"
	finish
	until_true no_owner "$run"
	call workflow resume "$run"
	envelope 0
	[ "$(calls)" -eq 3 ]
	[ "$(waited 1)" -ge 2500 ]
	[ "$(attempted | grep -c 'attempt 1/1')" -eq 1 ]
}

@test "retry: false, --retries, total_timeout and retry_budget hold for the wait" {
	turns "$(limited 30)"
	workflow off <<-'YAML'
		name: off
		commands: [ { claude: /process-data, retry: false } ]
	YAML
	call workflow run off.yaml
	envelope 11
	asks
	call workflow run ask.yaml --retries 0
	envelope 11
	asks "retry_budget: 2s"
	call workflow run ask.yaml
	envelope 11
	expect '[w.code for w in e.warnings] == ["RETRY_BUDGET"]'
	asks
	sed -i 's/^    retry/    total_timeout: 5s\n&/' ask.yaml
	call workflow run ask.yaml
	envelope 11
	expect '[w.code for w in e.warnings] == ["RETRY_BUDGET"]'
	[ "$(calls)" -eq 4 ]
	rm -rf claude/calls/* claude/turns/*
	turns "$(limited 6)"
	asks
	call workflow run ask.yaml --retries 1
	envelope 11
	[ "$(calls)" -eq 2 ]
}

@test "plan has the cap of a claude step" {
	asks "limit_wait: 90m"
	call workflow plan ask.yaml
	expect 'e.data.steps[0].retry.limit_wait_ms == 5400000'
	asks
	call workflow plan ask.yaml
	expect 'e.data.steps[0].retry.limit_wait_ms == 6 * 3600 * 1000'
}
