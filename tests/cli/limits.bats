#!/usr/bin/env bats
# Limits and retries: where each value comes from, what --plan promises, and that the
# run then keeps it.

load helper

# command_of NAME KEYS <<<body: a command that counts its runs in `runs`.
command_of() {
	{
		echo "return { description = 'x', danger_level = 'safe', $2 run = function(args, ctx)"
		echo "local f = io.open('runs', 'a') f:write(ctx.attempt, ' ') f:close()"
		cat
		echo 'end }'
	} >"commands/$1.lua"
}

prepare() {
	command_of busy '' <<<'ctx:fail("UNAVAILABLE", "503")'
}

plan() {
	call "$@" --plan
	assert_envelope
	[ "$status" -eq 0 ]
	[ ! -e runs ]
}

# busy_with RETRY: busy with a retry table of its own.
busy_with() {
	command_of busy "retry = { $1 }," <<<'ctx:fail("UNAVAILABLE", "503")'
}

# --- precedence ----------------------------------------------------------------------

@test "every limit: flag, environment, command, runner.lua, default, in this order" {
	local name value
	for name in timeout attempt_timeout idle_timeout grace; do
		local flag=--${name//_/-} env=RUNNER_${name^^}
		rm -f runner.lua
		command_of busy '' <<<''
		plan busy
		case $name in timeout) value=30000 ;; grace) value=2000 ;; *) value=0 ;; esac
		expect "e.data['limits']['$name'] == {'ms': $value, 'source': 'default'}"
		echo "return { $name = '4s' }" >runner.lua
		plan busy
		expect "e.data['limits']['$name'] == {'ms': 4000, 'source': 'runner.lua'}"
		command_of busy "$name = '3s'," <<<''
		plan busy
		expect "e.data['limits']['$name'] == {'ms': 3000, 'source': 'command'}"
		plan "$env=2s" busy
		expect "e.data['limits']['$name'] == {'ms': 2000, 'source': 'environment'}"
		plan "$env=2s" busy "$flag" 1s
		expect "e.data['limits']['$name'] == {'ms': 1000, 'source': 'flag'}"
		plan "$env=2s" busy "$flag" none
		expect "e.data['limits']['$name'] == {'ms': 0, 'source': 'flag'}"
		plan "$env=0" busy
		expect "e.data['limits']['$name'] == {'ms': 0, 'source': 'environment'}"
	done
}

@test "retries and delay: flag, environment, command, runner.lua, default, in this order" {
	local sources='e.data["retry"]["sources"]'
	plan busy
	expect "${sources}['retries'] == 'default' and e.data['retry']['retries'] == 0 and ${sources}['delay'] == 'default'"
	echo 'return { retry = { retries = 4, delay = "4s" } }' >runner.lua
	plan busy
	expect "${sources}['retries'] == 'runner.lua' and e.data['retry']['retries'] == 4"
	expect "${sources}['delay'] == 'runner.lua' and e.data['retry']['delay_ms'] == 4000"
	busy_with 'retries = 3, delay = "3s"'
	plan busy
	expect "${sources}['retries'] == 'command' and e.data['retry']['retries'] == 3"
	expect "${sources}['delay'] == 'command' and e.data['retry']['delay_ms'] == 3000"
	plan RUNNER_RETRIES=2 RUNNER_RETRY_DELAY=2s busy
	expect "${sources}['retries'] == 'environment' and e.data['retry']['retries'] == 2"
	expect "${sources}['delay'] == 'environment' and e.data['retry']['delay_ms'] == 2000"
	plan RUNNER_RETRIES=2 RUNNER_RETRY_DELAY=2s busy --retries 1 --retry-delay 1s
	expect "${sources}['retries'] == 'flag' and e.data['retry']['retries'] == 1"
	expect "${sources}['delay'] == 'flag' and e.data['retry']['delay_ms'] == 1000"
}

@test "a command's retry table replaces runner.lua's whole; what it leaves out is the default" {
	echo 'return { retry = { retries = 4, delay = "4s", jitter = "none", max_delay = "9s", on = { "CONFLICT" }, seed = 5 } }' >runner.lua
	plan busy
	expect 'all(e.data["retry"]["sources"][k] == "runner.lua" for k in ("jitter", "max_delay", "on", "seed"))'
	expect 'e.data["retry"]["sources"]["strategy"] == "default" and e.data["retry"]["seed"] == "5"'
	busy_with 'retries = 2, strategy = "linear"'
	plan RUNNER_SEED=7 busy
	expect 'e.data["retry"]["strategy"] == "linear" and e.data["retry"]["sources"]["strategy"] == "command"'
	expect 'e.data["retry"]["delay_ms"] == 1000 and e.data["retry"]["max_delay_ms"] == 30000 and e.data["retry"]["on"] is None'
	expect 'all(e.data["retry"]["sources"][k] == "default" for k in ("delay", "jitter", "max_delay", "on"))'
	expect 'e.data["retry"]["seed"] == "7" and e.data["retry"]["sources"]["seed"] == "environment"'
}

@test "the winner of each limit is the one that ends the run" {
	command_of slow 'timeout = "20s",' <<<'ctx:sleep(30)'
	echo 'return { timeout = "25s" }' >runner.lua
	call RUNNER_TIMEOUT=15s slow --timeout 200ms
	expect 'e.error.message == "Command exceeded timeout of 200ms" and e.meta["timeout_ms"] == 200'
	call RUNNER_TIMEOUT=300ms slow
	expect 'e.error.message == "Command exceeded timeout of 300ms"'
	command_of slow 'timeout = "400ms",' <<<'ctx:sleep(30)'
	call slow
	expect 'e.error.message == "Command exceeded timeout of 400ms"'
	command_of slow '' <<<'ctx:sleep(30)'
	echo 'return { timeout = "500ms" }' >runner.lua
	call slow
	expect 'e.error.message == "Command exceeded timeout of 500ms"'
}

@test "0 and none are no limit" {
	command_of short 'timeout = "100ms",' <<<'ctx:sleep(0.4) return { left = ctx:remaining() == math.huge }'
	local value
	for value in 0 none 0s; do
		call short --timeout $value
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.data["left"] and e.meta["timeout_ms"] == 0'
	done
}

# --- the plan and what the run makes of it -----------------------------------------------

@test "--plan runs nothing, in any format, and bad arguments are still told" {
	command_of strict 'args = { { "n", "integer", required = true } }, validate = function() io.open("runs", "w") end,' <<<''
	plan strict --n 1
	call strict --plan
	assert_envelope
	[ "$status" -eq 2 ]
	call busy --plan --format table
	[ "$status" -eq 0 ] && [ -n "$stdout" ] && [ ! -e runs ]
}

@test "the delays of a run are those that --plan gave for the seed, for every strategy and jitter" {
	local seed=0 strategy jitter
	for strategy in 'strategy = "constant"' 'strategy = "linear"' 'strategy = "exponential"' 'strategy = "fibonacci"' \
		'delays = { 3, 1, 2 }'; do
		for jitter in '"none"' 0.25 1 '"full"' '"equal"' '"decorrelated"'; do
			seed=$((seed + 1))
			busy_with "retries = 4, delay = 0.003, ${strategy/{ 3, 1, 2 \}/{ 0.003, 0.001, 0.002 \}}, jitter = $jitter, max_delay = 0.012"
			rm -f runs
			plan RUNNER_SEED=$seed busy
			cp out.txt plan.txt
			call RUNNER_SEED=$seed busy
			assert_envelope
			same_delays || { echo "$strategy $jitter" >&2 && false; }
		done
	done
}

# The plan in plan.txt and the history of the run in out.txt agree.
same_delays() {
	python3 - <<-'PY'
		import json
		plan, run = json.load(open("plan.txt"))["data"]["retry"], json.load(open("out.txt"))
		told = [r["delay_ms"] for r in run["meta"]["retry_history"]]
		assert told == plan["delays_ms"] + [None], (plan, told)
		assert sum(plan["delays_ms"]) == plan["total_wait_ms"] and max(plan["delays_ms"]) <= plan["max_delay_ms"]
		assert run["meta"].get("retry_seed", plan["seed"]) == plan["seed"], (run["meta"], plan["seed"])
	PY
}

@test "--plan gives a random seed that reproduces its delays; what is no seed is not taken" {
	busy_with 'retries = 3, delay = 0.005'
	plan busy
	cp out.txt plan.txt
	call RUNNER_SEED="$(field 'e.data["retry"]["seed"]')" busy
	same_delays
	rm runs
	plan RUNNER_SEED=9223372036854775807 busy
	expect 'e.data["retry"]["seed"] == "9223372036854775807" and e.meta["retry_seed"] == "9223372036854775807"'
	plan RUNNER_SEED=-5 busy
	expect 'e.data["retry"]["sources"]["seed"] == "random" and int(e.data["retry"]["seed"]) >= 0'
}

@test "the plan's figures for a known policy" {
	busy_with 'retries = 5, delay = "1s", jitter = "none", max_delay = "5s"'
	plan busy --timeout none --attempt-timeout 10s --grace 1s
	expect 'e.data["retry"]["delays_ms"] == [1000, 2000, 4000, 5000, 5000] and e.data["retry"]["total_wait_ms"] == 17000'
	expect 'e.data["worst_case_ms"] == 6 * (10000 + 1000 + 1000) + 17000'
	plan busy --timeout 20s --grace 1s
	expect 'e.data["worst_case_ms"] == 20000 + 1000 + 1000'
	plan busy --timeout none
	expect 'e.data["worst_case_ms"] is None'
	busy_with 'retries = 6, delay = "1s", jitter = "none", strategy = "fibonacci"'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [1000, 1000, 2000, 3000, 5000, 8000]'
	busy_with 'retries = 3, delay = "1s", jitter = "none", strategy = "linear"'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [1000, 2000, 3000]'
	busy_with 'delays = { "1s", "3s" }, jitter = "none"'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [1000, 3000] and e.data["retry"]["strategy"] == "custom"'
	plan busy --retries 4
	expect 'e.data["retry"]["delays_ms"] == [1000, 3000, 3000, 3000]'
	plan busy --retry-delay 2s
	expect 'e.data["retry"]["delays_ms"] == [2000, 2000]'
}

@test "jitter stays inside its range, and full, equal and decorrelated differ" {
	busy_with 'retries = 20, delay = "1s", strategy = "constant", jitter = 0.25'
	plan RUNNER_SEED=1 busy
	expect 'all(750 <= d <= 1250 for d in e.data["retry"]["delays_ms"]) and len(set(e.data["retry"]["delays_ms"])) > 10'
	busy_with 'retries = 20, delay = "1s", strategy = "constant", jitter = "full"'
	plan RUNNER_SEED=1 busy
	expect 'all(0 <= d <= 1000 for d in e.data["retry"]["delays_ms"]) and min(e.data["retry"]["delays_ms"]) < 400'
	busy_with 'retries = 20, delay = "1s", strategy = "constant", jitter = "equal"'
	plan RUNNER_SEED=1 busy
	expect 'all(500 <= d <= 1000 for d in e.data["retry"]["delays_ms"])'
	busy_with 'retries = 20, delay = "1s", jitter = "decorrelated", max_delay = "8s"'
	plan RUNNER_SEED=1 busy
	expect 'all(1000 <= d <= 8000 for d in e.data["retry"]["delays_ms"])'
}

@test "a wait is as long as the plan says: never shorter, and not much longer" {
	busy_with 'retries = 3, delay = "200ms", jitter = "none", strategy = "constant"'
	call busy
	assert_envelope
	expect 'e.meta["retries"] == 3'
	[ "$(wc -w <runs)" -eq 4 ]
	[ "$elapsed_ms" -ge 600 ] && [ "$elapsed_ms" -lt 1600 ]
}

# --- the failure's own wait -------------------------------------------------------------

@test "retry_after_ms of a failure is waited for where it is longer than the policy's" {
	command_of limited 'retry = { retries = 1, delay = "1ms", jitter = "none" },' \
		<<<'if ctx.attempt == 1 then ctx:fail("RATE_LIMITED", "429", { retry_after_ms = 400 }) end return {}'
	call limited
	assert_envelope
	[ "$status" -eq 0 ] && [ "$elapsed_ms" -ge 400 ] && [ "$elapsed_ms" -lt 1400 ]
	expect 'e.meta["retry_history"][0]["delay_ms"] == 400'
	command_of limited 'retry = { retries = 1, delay = "300ms", jitter = "none" },' \
		<<<'if ctx.attempt == 1 then ctx:fail("RATE_LIMITED", "429", { retry_after_ms = 5 }) end return {}'
	call limited
	expect 'e.meta["retry_history"][0]["delay_ms"] == 300'
}

@test "declared and registry hints are advice, not waits" {
	command_of limited 'retry = { retries = 1, delay = "1ms", jitter = "none" },
		exit_codes = { RATE_LIMITED = { retry_after_ms = 20000, retry_strategy = "linear_backoff" } },' \
		<<<'ctx:fail("RATE_LIMITED", "429")'
	call limited
	assert_envelope
	[ "$elapsed_ms" -lt 2000 ]
	expect 'e.meta["retry_history"][0]["delay_ms"] == 1'
	call limited --retries 0
	expect 'e.error.retryable is True and e.error.retry_after_ms == 20000 and e.error.retry_strategy == "linear_backoff"'
}

@test "a failure's own wait above max_delay, or beyond the timeout, stops now: still retryable, RETRY_BUDGET" {
	command_of limited 'args = { { "ms", "integer" } }, retry = { retries = 5, delay = "1ms", max_delay = "1s" },' \
		<<<'ctx:fail("RATE_LIMITED", "429", { retry_after_ms = args.ms })'
	call limited --ms 1001
	assert_envelope
	[ "$status" -eq 11 ] && [ "$elapsed_ms" -lt 900 ]
	expect 'e.error.retryable is True and e.error.retry_after_ms == 1001 and "retries" not in e.meta'
	expect '[w["code"] for w in e.warnings] == ["RETRY_BUDGET"]'
	call limited --ms 900 --timeout 950ms
	assert_envelope
	[ "$elapsed_ms" -lt 800 ]
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

@test "an attempt is told of the one before: code, message, completed steps, progress" {
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

@test "a failure that is not retryable ends ctx:retry at once" {
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
	[ "$status" -eq 0 ] && [ -z "$stderr" ]
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
