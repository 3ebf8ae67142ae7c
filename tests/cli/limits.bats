#!/usr/bin/env bats
# Limits and retries: where each value comes from, what --plan promises, and that the
# run then keeps it.

load lib/helper

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

@test "a command's retry table goes over runner.lua's key by key" {
	echo 'return { retry = { retries = 4, delay = "4s", jitter = "none", max_delay = "9s", on = { "CONFLICT" }, seed = 5 } }' >runner.lua
	plan busy
	expect 'all(e.data["retry"]["sources"][k] == "runner.lua" for k in ("jitter", "max_delay", "on", "seed"))'
	expect 'e.data["retry"]["sources"]["strategy"] == "default" and e.data["retry"]["seed"] == "5"'
	busy_with 'retries = 2, strategy = "linear", maybe = true'
	plan RUNNER_SEED=7 busy
	expect 'e.data["retry"]["delays_ms"] == [4000, 8000] and e.data["retry"]["on"] == ["CONFLICT"] and e.data["retry"]["maybe"]'
	expect 'all(e.data["retry"]["sources"][k] == "command" for k in ("retries", "strategy", "maybe"))'
	expect 'all(e.data["retry"]["sources"][k] == "runner.lua" for k in ("delay", "jitter", "max_delay", "on", "seed"))'
	plan busy --retry-delay 1s
	expect 'e.data["retry"]["delays_ms"] == [1000, 2000] and e.data["retry"]["sources"]["delay"] == "flag"'
}

@test "delays, whose table ever they are in, stand with their number; a delay or a strategy takes their place" {
	echo 'return { retry = { delays = { "1s", "2s", "3s" }, jitter = "none" } }' >runner.lua
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [1000, 2000, 3000] and e.data["retry"]["sources"]["retries"] == "runner.lua"'
	busy_with 'retries = 2'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [1000, 2000] and e.data["retry"]["sources"]["strategy"] == "runner.lua"'
	busy_with 'retries = 2, delay = "5s"'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [5000, 10000] and e.data["retry"]["sources"]["strategy"] == "default"'
	busy_with 'retries = 2, strategy = "linear"'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [1000, 2000] and e.data["retry"]["strategy"] == "linear"'
	echo 'return { retry = { retries = 9, strategy = "linear", jitter = "none" } }' >runner.lua
	busy_with 'delays = { "7s", "8s" }'
	plan busy
	expect 'e.data["retry"]["delays_ms"] == [7000, 8000] and e.data["retry"]["sources"]["retries"] == "command"'
}

@test "retries that only time bounds need a time: runner.lua can't take it away" {
	echo 'return { timeout = "none", retry = { max_delay = "1s" } }' >runner.lua
	call busy
	assert_envelope
	[ "$status" -eq 4 ]
	expect '"runner.lua" in e.error.message and "nothing limits the retries of busy" in e.error.message'
	plan busy --timeout 5s
	expect 'e.data["retry"]["sources"]["retries"] == "runner.lua" and e.data["retry"]["retries"] == -1'
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

@test "0 and none mean no limit" {
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

@test "--plan runs nothing, in any format, and still reports bad arguments" {
	command_of strict 'args = { { "n", "integer", required = true } }, validate = function() io.open("runs", "w") end,' <<<''
	plan strict --n 1
	call strict --plan
	assert_envelope
	[ "$status" -eq 2 ]
	call busy --plan --format table
	[ "$status" -eq 0 ]
	[ -n "$stdout" ]
	[ ! -e runs ]
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
		waits = [r["delay_ms"] for r in run["meta"]["retry_history"]]
		assert waits == plan["delays_ms"] + [None], (plan, waits)
		assert sum(plan["delays_ms"]) == plan["total_wait_ms"] and max(plan["delays_ms"]) <= plan["max_delay_ms"]
		assert run["meta"].get("retry_seed", plan["seed"]) == plan["seed"], (run["meta"], plan["seed"])
	PY
}

@test "--plan gives a random seed that reproduces its delays; an invalid seed is ignored" {
	busy_with 'retries = 3, delay = 0.005'
	plan busy
	cp out.txt plan.txt
	call RUNNER_SEED="$(field 'e.data["retry"]["seed"]')" busy
	same_delays
	rm runs
	plan RUNNER_SEED=9223372036854775807 busy
	expect 'e.data["retry"]["seed"] == "9223372036854775807" and e.meta["retry_seed"] == "9223372036854775807"'
	answers 2 RUNNER_SEED=-5 busy --plan
	expect 'e.error.errors[0].field == "RUNNER_SEED"'
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
	local end=$((SECONDS + 150)) # a loaded machine may delay any one of them
	while [ "$SECONDS" -lt "$end" ]; do
		rm -f runs
		call busy
		assert_envelope
		expect 'e.meta["retries"] == 3'
		[ "$(wc -w <runs)" -eq 4 ]
		[ "$elapsed_ms" -ge 600 ]
		[ "$elapsed_ms" -ge 1200 ] || return 0
	done
	false
}
