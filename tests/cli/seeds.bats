#!/usr/bin/env bats
# The wire formats and acceptance criteria of the source documents (REQ-C-014,
# REQ-F-012, REQ-F-078, §19: docs/design.md#sources), produced by real commands.

load lib/helper

prepare() {
	command_file deploy <<'LUA'
return {
	description = "Deploy as REQ-C-014 declares it",
	danger_level = "mutating",
	args = {
		{ "target", "enum", values = { "prod", "staging", "dev" }, default = "prod", code = "INVALID_ENVIRONMENT" },
		{ "raise", "string", default = "" },
		{ "fails", "integer", default = 0 },
	},
	exit_codes = {
		TIMEOUT = { retryable = true, side_effects = "partial", retry_after_ms = 0, retry_strategy = "immediate" },
		RATE_LIMITED = { retryable = true, side_effects = "none", retry_after_ms = 30000,
			retry_strategy = "exponential_backoff" },
	},
	run = function(args, ctx)
		if args.raise == "RATE_LIMIT_EXCEEDED" then
			ctx:fail("RATE_LIMIT_EXCEEDED", "API rate limit reached — too many requests in the last 60 seconds")
		elseif args.raise ~= "" then
			ctx:fail(args.raise, "raised " .. args.raise)
		elseif ctx.attempt <= args.fails then
			ctx:fail("NETWORK_ERROR", "Connection refused")
		end
		return { release = "1.2.3", effect = "updated" }
	end,
}
LUA
	command_file slow <<'LUA'
return {
	description = "Wait for ever",
	danger_level = "safe",
	args = { { "stepped", "boolean" } },
	steps = { "validate", "download", "install", "activate" },
	run = function(args, ctx)
		if args.stepped then
			ctx:step "validate"
			ctx:step "download"
			ctx:step "install"
		end
		io.open("marker", "w"):close()
		ctx:sleep(60)
	end,
}
LUA
}

@test "REQ-C-014: a rate limit answers with the wire format of the document" {
	call deploy --target prod --raise RATE_LIMIT_EXCEEDED
	assert_envelope
	[ "$status" -eq 11 ]
	expect 'e.data is None and e.warnings == []'
	expect 'e.error.code == "RATE_LIMIT_EXCEEDED"'
	expect 'e.error.message == "API rate limit reached — too many requests in the last 60 seconds"'
	expect 'e.error.retryable is True and e.error.retry_after_ms == 30000'
	expect 'e.error.retry_strategy == "exponential_backoff"'
}

@test "REQ-C-014: RATE_LIMITED includes retry_after_ms > 0 even when nobody declared one" {
	command_file limited <<'LUA'
return { description = "x", danger_level = "safe", run = function(_, ctx) ctx:fail("RATE_LIMITED") end }
LUA
	call limited
	assert_envelope
	expect 'e.error.retryable is True and e.error.retry_after_ms > 0'
}

@test "REQ-C-014: OPERATION_TIMEOUT is retryable immediately" {
	command_file late <<'LUA'
return { description = "x", danger_level = "safe",
	run = function(_, ctx) ctx:fail("OPERATION_TIMEOUT", "Command exceeded the 30 s timeout") end }
LUA
	call late
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.retryable is True and e.error.retry_after_ms == 0 and e.error.retry_strategy == "immediate"'
}

@test "REQ-C-014: a validation error answers with the wire format of the document" {
	call deploy --target prodution
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.data is None'
	expect 'e.error.code == "INVALID_ENVIRONMENT"'
	expect "e.error.message == \"Unknown target 'prodution'\""
	expect 'e.error.retryable is False and e.error.phase == "validation"'
	expect 'e.error.suggestion == "Valid values: prod, staging, dev"'
	expect 'e.error.fix_required and e.error.side_effects == "none"'
}

@test "REQ-C-014: every error code of the registry has retryable in its envelope" {
	command_file raise <<'LUA'
return { description = "x", danger_level = "safe", args = { { "code", "string", positional = true } },
	run = function(args, ctx) ctx:fail(args.code, "raised") end }
LUA
	local code
	for code in $(sed -n 's/^CODE(\([A-Z_]*\),.*/\1/p' "$ROOT/src/common/codes.def"); do
		call raise "$code"
		assert_envelope
		expect "e.error.code == '$code'"
	done
}

@test "REQ-F-012: a timeout answers with the wire format of the document" {
	reaching marker slow --grace 100ms
	assert_envelope
	[ "$status" -eq 10 ]
	expect "e.error.code == 'TIMEOUT' and e.error.message == 'Command exceeded timeout of ${limit_ms}ms'"
	expect 'e.error.retryable is True and e.error.phase == "execution"'
	expect "e.meta.timeout_ms == $limit_ms and $limit_ms <= e.meta.duration_ms < $((limit_ms + 20000))"
}

@test "REQ-F-012: completed and pending steps are in a timeout's data" {
	reaching marker slow --stepped
	assert_envelope
	expect 'e.data.completed_steps == ["validate", "download"]'
	expect 'e.data.pending_steps == ["install", "activate"]'
	expect 'e.data.failed_step == "install" and e.data.skipped_steps == []'
}

@test "REQ-F-012: the exit code is exactly 7 after a timeout under the classic table" {
	call RUNNER_EXIT_TABLE=classic slow --timeout 200ms
	assert_envelope
	[ "$status" -eq 7 ]
	echo 'return { exit_table = "classic" }' >runner.lua
	call slow --timeout 200ms
	assert_envelope
	[ "$status" -eq 7 ]
}

@test "the classic table holds for failures before a command is loaded, too" {
	echo 'return 7' >commands/wrong.lua
	echo 'return { exit_table = "classic" }' >runner.lua
	call wrong
	assert_envelope
	[ "$status" -eq 24 ]
	rm runner.lua
	call wrong
	[ "$status" -eq 4 ]
}

@test "REQ-F-012: stdout is never empty, whatever the format, off a terminal" {
	local format
	for format in json jsonl tsv plain table; do
		call slow --timeout 100ms --format "$format"
		assert_envelope
		[ "$status" -eq 10 ]
	done
}

@test "REQ-F-012: duration_ms is the actual elapsed time, within 20 ms of the caller's" {
	# start-up and a loaded machine's scheduling stand outside the figure
	local reported least=1000000 most=20 end=$((SECONDS + 150))
	[ -z "${ASAN_OPTIONS:-}" ] || most=500 # a leak check comes after the answer
	while [ "$SECONDS" -lt "$end" ]; do
		call slow --timeout 200ms
		reported=$(field e.meta.duration_ms)
		[ "$reported" -ge 200 ]
		[ "$reported" -le "$elapsed_ms" ]
		[ $((elapsed_ms - reported)) -ge "$least" ] || least=$((elapsed_ms - reported))
		[ "$least" -ge "$most" ] || return 0
	done
	echo "never within $most ms: at best $least ms" >&2
	false
}

@test "REQ-F-078: success after two retries says so in meta" {
	call deploy --fails 2 --retries 3 --retry-delay 10ms
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.meta.retries == 2 and e.meta.attempt == 3 and e.meta.max_attempts == 4'
	expect '[r["code"] for r in e.meta.retry_history] == ["NETWORK_ERROR", "NETWORK_ERROR"]'
}

@test "REQ-F-078: without retries the key is absent" {
	call deploy
	assert_envelope
	expect '"retries" not in e.meta and "retry_history" not in e.meta'
}

@test "REQ-F-078: exhausted retries are final" {
	call deploy --fails 99 --retries 3 --retry-delay 1ms
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error.code == "NETWORK_ERROR" and e.error.retryable is False'
	expect 'e.error.retries_exhausted == 3 and e.meta.retries == 3 and e.error.max_retries == 3'
}

@test "REQ-F-078: --retries 0 fails immediately on the first error, as raised" {
	command_file insistent <<'LUA'
return { description = "x", danger_level = "safe", retry = { retries = 5, delay = "30s" },
	run = function(_, ctx)
		return ctx:retry(function() ctx:fail("NETWORK_ERROR", "refused") end, { retries = 5, delay = "30s" })
	end }
LUA
	call insistent --retries 0
	assert_envelope
	expect 'e.error.retryable is True and "retries" not in e.meta and "retries_exhausted" not in e.error'
	assert_at_once
}

@test "REQ-F-078: --retries N is one budget for attempts and loops inside them" {
	command_file insistent <<'LUA'
return { description = "x", danger_level = "safe",
	run = function(_, ctx)
		return ctx:retry(function() ctx:fail("NETWORK_ERROR", "refused") end, { retries = 2, delay = 0.001 })
	end }
LUA
	call insistent --retries 4 --retry-delay 1ms
	assert_envelope
	expect 'e.meta.retries == 4 and e.error.retries_exhausted == 4 and e.error.retryable is False'
}

@test "REQ-F-078 with REQ-F-011: --timeout bounds all attempts together" {
	command_file second <<'LUA'
return { description = "x", danger_level = "safe",
	run = function(_, ctx) ctx:sleep(1) ctx:fail("UNAVAILABLE", "503") end }
LUA
	call second --timeout 2s --retries 60 --retry-delay 0
	assert_envelope
	[ "$elapsed_ms" -ge 1900 ]
	[ "$elapsed_ms" -lt 30000 ]
	expect 'e.meta.duration_ms >= 1900'
}

@test "a wait that would overrun the time left is never started: RETRY_BUDGET, still retryable" {
	echo 'return { retry = { delays = { "1s", "100s" }, max_delay = "100s", jitter = "none" } }' >runner.lua
	command_file instant <<'LUA'
return { description = "x", danger_level = "safe",
	run = function(_, ctx) ctx:fail("UNAVAILABLE", "503") end }
LUA
	call instant --timeout 60s
	assert_envelope
	[ "$elapsed_ms" -ge 950 ]
	[ "$elapsed_ms" -lt 40000 ]
	expect 'e.error.retryable is True and [w["code"] for w in e.warnings] == ["RETRY_BUDGET"]'
	expect 'e.meta.retries == 1'
}

@test "§19 score 3: strategy, max_retries, attempt and max_attempts are there" {
	call deploy --raise SERVICE_UNAVAILABLE
	assert_envelope
	expect 'e.error.retryable is True and e.error.retry_after_ms == 5000'
	expect 'e.error.retry_strategy == "exponential_backoff" and e.error.max_retries == 3'
	expect 'e.meta.attempt == 1 and e.meta.max_attempts == 1'
}

@test "§19: the retry classification holds for every code that it names" {
	local code
	for code in NOT_FOUND PERMISSION_DENIED CONFLICT; do
		call deploy --raise $code
		expect 'e.error.retryable is False'
	done
	for code in TIMEOUT SERVICE_UNAVAILABLE RATE_LIMITED NETWORK_ERROR; do
		call deploy --raise $code
		expect 'e.error.retryable is True'
	done
	call deploy --raise INTERNAL_ERROR
	expect 'e.error.retryable == "maybe"'
	call deploy --target nowhere
	expect 'e.error.retryable is False and e.error.fix_required'
}

@test "§19: the exit codes that it aligns hold under the classic table" {
	local row
	for row in RATE_LIMITED:9 TIMEOUT:7 PERMISSION_DENIED:8 NOT_FOUND:4; do
		call RUNNER_EXIT_TABLE=classic deploy --raise "${row%:*}"
		assert_envelope
		[ "$status" -eq "${row#*:}" ]
	done
	call RUNNER_EXIT_TABLE=classic deploy --target nowhere
	[ "$status" -eq 2 ]
}

@test "§19: the agent's loop works against our commands as it stands" {
	RUNNER=$RUNNER python3 "$ROOT/tests/cli/lib/agent_loop.py"
}
