#!/usr/bin/env bats
# Retries as the caller meets them: which failures, how long the wait, what the next
# attempt knows, what the envelope and stderr tell.

load lib/helper

prepare() {
	command_of busy '' <<<'ctx:fail("UNAVAILABLE", "503")'
}

# --- the failure's own wait -------------------------------------------------------------

@test "retry_after_ms of a failure is waited for where it is longer than the policy's" {
	command_of limited 'retry = { retries = 1, delay = "1ms", jitter = "none" },' \
		<<<'if ctx.attempt == 1 then ctx:fail("RATE_LIMITED", "429", { retry_after_ms = 400 }) end return {}'
	call limited
	assert_envelope
	[ "$status" -eq 0 ]
	[ "$elapsed_ms" -ge 400 ]
	[ "$elapsed_ms" -lt 20000 ]
	expect 'e.meta["retry_history"][0]["delay_ms"] == 400'
	command_of limited 'retry = { retries = 1, delay = "300ms", jitter = "none" },' \
		<<<'if ctx.attempt == 1 then ctx:fail("RATE_LIMITED", "429", { retry_after_ms = 5 }) end return {}'
	call limited
	expect 'e.meta["retry_history"][0]["delay_ms"] == 300'
}

@test "declared and registry hints are advice, not waits" {
	command_of limited 'retry = { retries = 1, delay = "1ms", jitter = "none" },
		exit_codes = { RATE_LIMITED = { retry_after_ms = 60000, retry_strategy = "linear_backoff" } },' \
		<<<'ctx:fail("RATE_LIMITED", "429")'
	call limited
	assert_envelope
	[ "$elapsed_ms" -lt 30000 ]
	expect 'e.meta["retry_history"][0]["delay_ms"] == 1'
	call limited --retries 0
	expect 'e.error.retryable is True and e.error.retry_after_ms == 60000 and e.error.retry_strategy == "linear_backoff"'
}

@test "a failure's own wait above max_delay, or beyond the timeout, stops now: still retryable, RETRY_BUDGET" {
	command_of limited 'args = { { "ms", "integer" } }, retry = { retries = 5, delay = "1ms", max_delay = "20s" },' \
		<<<'ctx:fail("RATE_LIMITED", "429", { retry_after_ms = args.ms })'
	call limited --ms 20001
	assert_envelope
	[ "$status" -eq 11 ]
	[ "$elapsed_ms" -lt 18000 ]
	expect 'e.error.retryable is True and e.error.retry_after_ms == 20001 and "retries" not in e.meta'
	expect '[w["code"] for w in e.warnings] == ["RETRY_BUDGET"]'
	call limited --ms 19000 --timeout 19050ms
	assert_envelope
	[ "$elapsed_ms" -lt 18000 ]
	expect 'e.error.retryable is True and [w["code"] for w in e.warnings] == ["RETRY_BUDGET"]'
}

# --- which failures -------------------------------------------------------------------------

@test "by default every retryable code without side effects, and no other" {
	command_of raise 'args = { { "code", "string", positional = true } },
		retry = { retries = 1, delay = "1ms" },
		exit_codes = {
			HALF = { code = 79, retryable = true, side_effects = "partial" },
			CLEAN = { code = 80, retryable = true, side_effects = "none" },
			PERHAPS = { code = 81, retryable = "maybe", side_effects = "none" },
		},' <<<'ctx:fail(args.code, "m")'
	local row
	for row in UNAVAILABLE:2 NETWORK_ERROR:2 TIMEOUT:2 CLEAN:2 HALF:1 PERHAPS:1 NOT_FOUND:1 INTERNAL_ERROR:1; do
		rm -f runs
		call raise "${row%:*}"
		assert_envelope
		[ "$(wc -w <runs)" -eq "${row#*:}" ] || { echo "$row" >&2 && false; }
	done
}

@test "on names codes or exit entries; a partial or maybe one only where the policy says so" {
	command_of raise 'args = { { "code", "string", positional = true } },
		retry = { retries = 1, delay = "1ms", on = { "HALF", "UNAVAILABLE", "NOT_FOUND", "PERHAPS" } },
		exit_codes = {
			HALF = { code = 79, retryable = true, side_effects = "partial" },
			PERHAPS = { code = 81, retryable = "maybe", side_effects = "none" },
		},' <<<'ctx:fail(args.code, "m")'
	local row
	for row in HALF:2 UNAVAILABLE:2 NETWORK_ERROR:2 SERVICE_UNAVAILABLE:2 TIMEOUT:1 RATE_LIMITED:1 NOT_FOUND:1 PERHAPS:1; do
		rm -f runs
		call raise "${row%:*}"
		[ "$(wc -w <runs)" -eq "${row#*:}" ] || { echo "$row" >&2 && false; }
	done
	sed -i 's/on = {/maybe = true, on = {/' commands/raise.lua
	rm -f runs
	call raise PERHAPS
	[ "$(wc -w <runs)" -eq 2 ]
}

@test "side effects of a run are the worst of its attempts" {
	command_of worse 'retry = { retries = 1, delay = "1ms", on = { "HALF", "UNAVAILABLE" } },
		exit_codes = { HALF = { code = 79, retryable = true, side_effects = "partial" } },' \
		<<<'ctx:fail(ctx.attempt == 1 and "HALF" or "UNAVAILABLE", "m")'
	call worse
	assert_envelope
	expect 'e.error.code == "UNAVAILABLE" and e.error.side_effects == "partial" and e.error.retryable is False'
}

# --- attempts -----------------------------------------------------------------------------------

@test "an attempt learns of the one before: code, message, completed steps, progress" {
	command_of again 'steps = { "one", "two" }, retry = { retries = 2, delay = "1ms" },' <<'LUA'
		if ctx.attempt < 3 then
			ctx:step "one" ctx:step "two" ctx:progress { attempt = ctx.attempt }
			ctx:fail("UNAVAILABLE", "failure " .. ctx.attempt)
		end
		return { previous = ctx.previous, attempt = ctx.attempt, max = ctx.max_attempts }
LUA
	call again
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["previous"] == {"code": "UNAVAILABLE", "message": "failure 2", "completed_steps": ["one"], "progress": {"attempt": 2}}'
	expect 'e.data["attempt"] == 3 and e.data["max"] == 3'
	expect '[r["completed_steps"] for r in e.meta["retry_history"]] == [["one"], ["one"]]'
}

@test "a later attempt that fails before run never becomes the verdict: RETRY_REJECTED" {
	command_of moody 'retry = { retries = 3, delay = "1ms" }, validate = function()
		if io.open("runs") then return "the world has changed" end end,' <<<'ctx:fail("UNAVAILABLE", "first")'
	call moody
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error.message == "first" and [w["code"] for w in e.warnings] == ["RETRY_REJECTED"]'
	[ "$(wc -w <runs)" -eq 1 ]
}

@test "a first attempt that fails before run is not retried" {
	command_of picky 'retry = { retries = 3, delay = "1ms" }, validate = function() return "no" end,' <<<''
	call picky
	assert_envelope
	[ "$status" -eq 2 ]
	expect '"retries" not in e.meta and e.meta["attempt"] == 1'
}

@test "retry_history keeps the newest 20 of many attempts" {
	call busy --retries 30 --retry-delay 0
	assert_envelope
	expect 'e.meta["attempt"] == 31 and e.meta["retries"] == 30'
	expect '[r["attempt"] for r in e.meta["retry_history"]] == list(range(12, 32))'
	expect 'all(set(r) == {"attempt", "code", "message", "duration_ms", "delay_ms"} for r in e.meta["retry_history"])'
	[ "$(wc -w <runs)" -eq 31 ]
}

# --- loops inside an attempt ------------------------------------------------------------------

@test "ctx:retry: fn's values, on_retry for each wait, and every repetition is counted" {
	command_of loop '' <<'LUA'
		local events, n = {}, 0
		local a, b = ctx:retry(function(i)
			n = n + 1
			if i < 3 then ctx:fail("UNAVAILABLE", "try " .. i) end
			return "value", i
		end, { retries = 5, delay = 0.001, jitter = "none",
			on_retry = function(event) events[#events + 1] = event end })
		return { a = a, b = b, n = n, events = events }
LUA
	call loop
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["a"] == "value" and e.data["b"] == 3 and e.data["n"] == 3 and e.meta["retries"] == 2'
	expect '[(v["attempt"], v["code"], v["message"], v["delay_ms"]) for v in e.data["events"]] == [(1, "UNAVAILABLE", "try 1", 1), (2, "UNAVAILABLE", "try 2", 2)]'
}

@test "ctx:retry: the last error is raised again and can be caught; a wrong policy is an error" {
	command_of loop 'args = { { "wrong", "boolean" } },' <<'LUA'
		local policy = args.wrong and { retrys = 1 } or { retries = 2, delay = 0.001 }
		local ok, e = pcall(function() return ctx:retry(function() ctx:fail("CONFLICT", "m", { retryable = true }) end, policy) end)
		return { ok = ok, code = type(e) == "table" and e.code or nil, text = tostring(e), exhausted = type(e) == "table" and e.retries_exhausted or nil }
LUA
	call loop
	assert_envelope
	expect 'e.data["ok"] is False and e.data["code"] == "CONFLICT" and e.data["exhausted"] == 2 and e.meta["retries"] == 2'
	call loop --wrong
	expect '"retrys" in e.data["text"]'
}

@test "a failure that is not retryable ends ctx:retry immediately" {
	command_of loop '' <<'LUA'
		local n = 0
		pcall(function() ctx:retry(function() n = n + 1 ctx:fail("NOT_FOUND") end, { retries = 5, delay = 0.001 }) end)
		return { n = n }
LUA
	call loop
	expect 'e.data["n"] == 1 and "retries" not in e.meta'
}

# --- what stderr says ----------------------------------------------------------------------------

# Every line of stderr is an object with exactly these keys; EVENTS are the events.
notices() {
	python3 - "$@" <<-'PY'
		import json, sys
		rows = [json.loads(line) for line in open("err.txt")]
		keys = ["level", "event", "command", "attempt", "max_attempts", "code", "message", "delay_ms", "elapsed_ms"]
		assert all(list(r) == keys for r in rows), rows
		assert [r["event"] for r in rows] == sys.argv[1:], rows
		assert [r["elapsed_ms"] for r in rows] == sorted(r["elapsed_ms"] for r in rows), rows
	PY
}

notice() {
	python3 -c 'import json, sys
rows = [json.loads(line) for line in open("err.txt")]
assert eval(sys.argv[1], {"r": rows}), (sys.argv[1], rows)' "$1"
}

@test "retries are JSON lines with the same keys off a terminal; only --quiet hides them" {
	command_of flaky 'retry = { retries = 3, delay = "50ms", jitter = "none", strategy = "constant" },' \
		<<<'if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "503") end return {}'
	call flaky
	[ "$status" -eq 0 ]
	notices retry.failed retry.wait retry.failed retry.wait retry.succeeded
	notice 'r[0]["message"] == "flaky failed (attempt 1/4): UNAVAILABLE: 503" and r[0]["code"] == "UNAVAILABLE"'
	notice 'r[1]["message"] == "Retrying in 0.1 seconds..." and r[1]["delay_ms"] == 50 and r[1]["attempt"] == 1'
	notice 'r[4]["message"] == "flaky succeeded on attempt 3" and r[4]["attempt"] == 3 and r[4]["max_attempts"] == 4'
	notice 'r[4]["code"] is None and r[4]["delay_ms"] is None and r[4]["level"] == "info" and r[0]["level"] == "warn"'
	call flaky --quiet
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	assert_envelope
	expect 'e.meta["retries"] == 2'
}

@test "loops inside an attempt say the same" {
	command_of loop '' <<'LUA'
		return ctx:retry(function(i) if i == 1 then ctx:fail("UNAVAILABLE", "503") end return { i = i } end,
			{ retries = 2, delay = 0.001, jitter = "none" })
LUA
	call loop
	notices retry.failed retry.wait retry.succeeded
	notice 'r[0]["attempt"] == 1 and r[0]["max_attempts"] == 3 and r[1]["delay_ms"] == 1 and r[2]["attempt"] == 2'
	call loop --quiet
	[ -z "$stderr" ]
}

# delays: the delay of each wait that stderr has, in ms
delays() {
	python3 -c 'import json
print(*[r["delay_ms"] for r in map(json.loads, open("err.txt")) if r.get("event") in ("retry.wait", "step.retrying")])'
}

@test "REQ-F-078: --retry-delay is the base delay of every kind of retry, as flag and as variable" {
	local loop fail='ctx:fail("NETWORK_ERROR", "refused")'
	body inner <<<"return ctx:retry(function() $fail end, { retries = 2, delay = '30s', jitter = 'none', strategy = 'constant' })"
	for loop in "retry = { retries = 2, delay = '30s', jitter = 'none', strategy = 'constant' }, run = function(_, ctx) $fail" \
		"run = function(_, ctx) ctx:retry(function() $fail end, { retries = 2, delay = '30s', jitter = 'none', strategy = 'constant' })" \
		"run = function(_, ctx) ctx:retry(function() $fail end, { delays = { '30s', '40s' }, jitter = 'none' })" \
		"run = function(_, ctx) ctx:http { url = 'http://127.0.0.1:1/', retry = { retries = 2, delay = '30s', jitter = 'none', strategy = 'constant' } }" \
		"run = function(_, ctx) ctx:run { os.getenv 'PROGRAM', 'inner', echo = true }"; do
		echo "return { description = 'x', danger_level = 'safe', $loop end }" | command_file loop
		call PROGRAM="$RUNNER" loop --retry-delay 40ms
		[ "$status" -ne 0 ]
		assert_envelope
		[[ $(delays) == "40 40"* ]]
		call PROGRAM="$RUNNER" RUNNER_RETRY_DELAY=30ms loop
		[[ $(delays) == "30 30"* ]]
	done
	body lock <<<'ctx:lock("x", { path = "x.lock", wait = "60s" })'
	: >x.lock
	exec 9<x.lock
	flock 9
	call lock --retries 2 --retry-delay 2s
	[ "$elapsed_ms" -ge 3900 ]
	expect 'e.error.code == "LOCK_HELD" and e.meta.retries == 2'
	call lock --retries 2 --retry-delay 1ms
	[ "$elapsed_ms" -lt 30000 ] # the command's own wait is 60 s
	expect 'e.error.code == "LOCK_HELD" and e.meta.retries == 2'
	exec 9<&-
}

@test "REQ-F-078: --retry-delay is the base delay of a workflow's steps, and its plan says so" {
	cat >w.yaml <<'YAML'
name: w
steps:
  - { shell: "exit 1", retry: { attempts: 2, initial_delay: 30s, jitter: 0, strategy: constant, retry_unknown: true } }
YAML
	call XDG_STATE_HOME="$PWD/state" workflow plan w.yaml --retry-delay 40ms
	expect 'e.data.steps[0]["retry"]["delays_ms"] == [40, 40]'
	call XDG_STATE_HOME="$PWD/state" workflow run w.yaml --retry-delay 40ms
	[ "$status" -ne 0 ]
	grep -q '"delay_ms":40' err.txt
}
