#!/usr/bin/env bats
# What an error says after the last retry is the same through every door (docs/design.md#exhausted-retries).

load lib/helper
load lib/exec
load lib/mcp

CODES="UNAVAILABLE NETWORK_ERROR TIMEOUT RATE_LIMITED RATE_LIMIT_EXCEEDED BUSY SLOW_DOWN"

prepare() {
	command_file retried <<'LUA'
return { description = "x", danger_level = "safe", args = { { "code", "string", required = true } },
	exit_codes = { BUSY = { code = 80, retryable = true, side_effects = "none", retry_after_ms = 900, description = "x" },
		RATE_LIMITED = { retryable = true, side_effects = "none", retry_after_ms = 0 },
		SLOW_DOWN = { code = 81, retryable = true, side_effects = "none", description = "x" } },
	retry = { retries = 1, delay = "10ms", jitter = "none", max_delay = "20ms" },
	run = function(args, ctx) ctx:fail(args.code, "no", { retryable = true, side_effects = "none" }) end }
LUA
	command_file loop <<'LUA'
return { description = "x", danger_level = "safe", args = { { "code", "string", required = true } },
	exit_codes = dofile("commands/retried.lua").exit_codes,
	run = function(args, ctx)
		ctx:retry(function() ctx:fail(args.code, "no", { retryable = true, side_effects = "none" }) end, { retries = 1, delay = "10ms" })
	end }
LUA
}

# final CODE [MORE]: the answer in out.txt asks nobody to try again, and names no time for it but that of a rate limit
final() {
	expect "e.error.code == '$1' and e.error.retryable is False and 'retry_strategy' not in e.error ${2:-}"
	if [[ $1 == RATE_LIMIT* ]]; then
		expect 'e.error.retry_after_ms > 0'
	else
		expect '"retry_after_ms" not in e.error'
	fi
}

COUNTED='and e.error.retries_exhausted == 1 and e.error.max_retries == 1'

@test "REQ-F-078 REQ-C-014 an error after the last retry has one shape in the foreground, from a job and from exec" {
	local code of
	for of in retried loop; do
		for code in $CODES; do
			call "$of" --code "$code"
			assert_envelope
			final "$code" "$COUNTED"
			call "$of" --code "$code" --detach
			call job wait "$(field e.data.job_id)"
			assert_envelope
			final "$code" "$COUNTED"
			batch <<<"{\"_cmd\":\"$of\",\"code\":\"$code\"}" || true
			final "$code" "$COUNTED"
		done
	done
}

@test "REQ-C-014 a workflow whose step has used up its retries says so in the same shape" {
	local code
	sed 's/retry = {.*/retry = { retries = 0 },/; s/no", {/& retry_after_ms = 20,/' commands/retried.lua >commands/once.lua
	for code in UNAVAILABLE RATE_LIMITED; do
		cat >w.yaml <<-YAML
			name: w
			steps:
			  - runner: once
			    args: { code: $code }
			    retry: { attempts: 1, initial_delay: 10ms, retry_on: [UNAVAILABLE, rate_limit] }
		YAML
		call workflow run w.yaml
		assert_envelope
		final "$code" "$COUNTED"
	done
}

@test "REQ-C-014 without a retry of ours the error stays as raised, with a time and a strategy" {
	call retried --code UNAVAILABLE --retries 0
	expect 'e.error.retryable is True and e.error.retry_after_ms == 1000 and e.error.retry_strategy'
	call retried --code RATE_LIMITED --retries 0
	expect 'e.error.retryable is True and e.error.retry_after_ms > 0 and e.error.retry_strategy'
}

@test "REQ-C-014 a tool call of MCP answers in that shape, too" {
	session "CODES=$CODES" <<'PY'
import os
with Server() as s:
    for tool in ("retried", "loop"):
        for code in os.environ["CODES"].split():
            e = s.call(tool, {"code": code})["structuredContent"]["error"]
            assert (e["code"], e["retryable"], e["retries_exhausted"]) == (code, False, 1) and "retry_strategy" not in e, e
            assert ("retry_after_ms" in e) == code.startswith("RATE_LIMIT"), e
            assert e.get("retry_after_ms", 1) > 0, e
PY
}
