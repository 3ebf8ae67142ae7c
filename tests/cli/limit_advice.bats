#!/usr/bin/env bats
# limit_advice: a time limit that ends a command says what set it, and how one gets longer, through every door.

load lib/helper

prepare() {
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	command_of slow '' <<<'ctx:run { "sleep", "60" }'
}

# command_of NAME KEYS <<<BODY
command_of() {
	{ echo "return { description = 'x', danger_level = 'safe', $2 run = function(args, ctx)" && cat && echo "end }"; } | command_file "$1"
}

# says PART: the suggestion of the last call has it
says() {
	[ "$status" -eq 10 ]
	assert_envelope
	[[ $(field 'e.error.suggestion') == *"$1"* ]]
}

@test "each limit names what set it, and the flag that overrides it" {
	local name flag variable
	for name in timeout attempt_timeout idle_timeout; do
		flag=--${name//_/-} variable=RUNNER_${name^^}
		rm -f runner.lua
		command_of own "$name = '300ms'," <<<'ctx:run { "sleep", "60" }'
		call slow "$flag" 300ms
		says "$flag of this call set the limit"
		call "$variable=300ms" slow
		says "$variable set the limit; $flag DURATION"
		call own
		says "$name = … of the command's file set the limit; $flag DURATION"
		echo "return { $name = '300ms' }" >runner.lua
		call slow
		says "$name = … of runner.lua set the limit; a command that needs longer declares $name = \"5m\""
	done
	rm runner.lua
	command_of outer 'timeout = "1s",' <<<'return ctx:call("slow")'
	call outer # which of the two answers is a race of 100 ms
	says 'The run that made this call ends then' || says "timeout = … of the command's file"
	echo 'while true do end' | command_file loops
	call RUNNER_LOAD_TIMEOUT=300ms loops
	says RUNNER_LOAD_TIMEOUT
}

@test "what a command says of how to go on stays the suggestion" {
	command_of told '' <<<'ctx:progress({ done = 6 }, "told --from 7") io.open("marker", "w"):close() ctx:run { "sleep", "60" }'
	reaching marker told
	[ "$status" -eq 10 ]
	[ "$(field 'e.error.suggestion')" = "told --from 7" ]
	[[ $(field 'e.error.fix_required') == "--timeout of this call set the limit"* ]]
}

# The default of 30 s, through every door at once.
@test "the default limit names the key and the flag through every door" {
	command_of caller 'timeout = "2m",' <<<'return ctx:call("slow")'
	command_of needing 'timeout = "2m", needs = { "slow" },' <<<'return {}'
	printf 'steps:\n  - id: s\n    runner: slow\n    retry: { attempts: 1 }\n' >flow.yaml
	run_in() { env -i "${CLEAN_ENV[@]}" "$RUNNER" "${@:2}" >"$1.json" 2>"$1.log" || true; }
	run_in direct slow &
	run_in call caller &
	run_in needs needing &
	run_in flow workflow run flow.yaml &
	{ run_in started slow --detach && run_in job job wait "$(python3 -c 'import json; print(json.load(open("started.json"))["data"]["job_id"])' || true)" --timeout 2m; } &
	echo '{"_cmd": "slow"}' | run_in exec exec &
	{
		printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
			'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}'
		until_true grep -q '"id":2' mcp.json
	} | run_in mcp mcp serve &
	wait
	local door
	for door in direct call needs flow job exec mcp; do
		echo "door: $door"
		grep -q 'declares timeout = \\*"5m\\*" in its file, and --timeout 5m' "$door.json" || { cat "$door.json"; false; }
	done
}
