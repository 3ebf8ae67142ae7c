#!/usr/bin/env bats
# A policy's `confine`: every call of the project's commands is held to it by the kernel, and none can widen it, or forge what is counted.

load lib/helper
load lib/confine

prepare() {
	needs 4
	mkdir -p out other pol
	body try 'args = { { "path", "string", default = "out/x", description = "Where" } },' <<-'LUA'
		local f = io.open(args.path, "w")
		if f then f:write("x") f:close() end
		return { effect = f and "updated" or "noop" }
	LUA
	body script 'args = { { "text", "string", required = true, description = "A script" } },' <<-'LUA'
		local r = ctx:run { "sh", "-c", args.text, check = false }
		return { effect = "updated", status = r.status, out = r.stdout, err = r.stderr }
	LUA
}

policy() {
	printf '%s\n' "$1" >"pol/${2:-p}.json"
}

held() {
	policy "{ \"subject\": \"agent-7\", \"confine\": { \"write\": [\"$PWD/out\"] }, \"allow\": ${1:-\{\"try\": \{\}, \"script\": \{\}\}} }"
}

invalid() {
	answers 4 "$@"
	expect 'e.error.code == "POLICY_INVALID" and e.error.side_effects == "none"'
}

@test "what run and its programs write is held to the folders of the policy, however the command is called" {
	held '{ "try": {}, "script": {}, "exec": {}, "job": {} }'
	answers 0 --policy pol/p.json try
	expect 'e.data["effect"] == "updated" and e.meta["confined"]["policies"] == ["'"$PWD"'/pol/p.json"]'
	answers 0 --policy pol/p.json try --path other/x
	expect 'e.data["effect"] == "noop"'
	answers 0 RUNNER_POLICY="$PWD/pol/p.json" try --path other/x
	expect 'e.data["effect"] == "noop"'
	ln -s "$PWD/other" out/link
	answers 0 --policy pol/p.json try --path out/link/x
	expect 'e.data["effect"] == "noop"'
	local text
	for text in 'echo x >other/x' 'cp /bin/sh other/x' 'ln -s /etc out/etc; echo x >out/etc/x' 'mv commands out/' 'rm -rf commands' \
		'(setsid sh -c "echo x >other/x")' 'ln commands/try.lua out/try.lua && echo x >out/try.lua'; do
		answers 0 --policy pol/p.json script --text "$text"
		expect 'e.data["status"] != 0'
	done
	answers 0 --policy pol/p.json script --text 'echo x >out/y'
	expect 'e.data["status"] == 0'
	answers 0 XDG_STATE_HOME="$PWD/state" --policy pol/p.json try --path other/x --detach
	answers 0 XDG_STATE_HOME="$PWD/state" --policy pol/p.json job wait @last
	expect 'e.data["effect"] == "noop" and e.meta["job"]["confined"]["policies"]'
	printf '{"_cmd":"try","path":"other/x"}\n' >lines
	env -i "${CLEAN_ENV[@]}" "$RUNNER" --policy pol/p.json exec <lines >answer
	grep -q '"effect":"noop"' answer
	answers 0 --policy pol/p.json + try --path other/x + try
	expect '[c["data"]["effect"] for c in e.data["calls"]] == ["noop", "updated"]'
	[ ! -e other/x ]
	[ -e commands/try.lua ]
}

@test "it narrows what a command declares and what another policy says, and neither widens it" {
	policy "{ \"confine\": { \"write\": [\"$PWD/out\"] } }"
	policy "{ \"confine\": { \"write\": [\"$PWD/other\"] } }" q
	policy "{ \"confine\": { \"write\": [\"$PWD/out\", \"$PWD/other\"], \"network\": false } }" wide
	sed "s/description = \"try\"/description = \"wide\"/; s/args = {/confine = { write = { \"other\" } }, args = {/" commands/try.lua >commands/wide.lua
	answers 0 wide --path other/a
	expect 'e.data["effect"] == "updated"'
	answers 0 --policy pol/p.json wide --path other/b
	expect 'e.data["effect"] == "noop"'
	answers 0 --policy pol/p.json wide --path out/b
	expect 'e.data["effect"] == "noop"'
	answers 0 --policy pol/wide.json wide --path other/c
	expect 'e.data["effect"] == "updated"'
	answers 0 --policy pol/wide.json wide --path out/c
	expect 'e.data["effect"] == "noop"'
	local path
	for path in out/d other/d; do
		answers 0 RUNNER_POLICY="$PWD/pol/p.json" --policy pol/q.json try --path $path
		expect 'e.data["effect"] == "noop" and len(e.meta["confined"]["policies"]) == 2'
		answers 0 RUNNER_POLICY="$PWD/pol/wide.json" --policy pol/wide.json try --path $path
		expect 'e.data["effect"] == "updated"'
	done
	sed 's/confine = {[^}]*} }/confine = { write = { "other" }, required = false }/' commands/wide.lua >commands/loose.lua
	answers 0 --policy pol/p.json loose --path other/e
	expect 'e.data["effect"] == "noop"'
	sed 's/confine = {[^}]*} }/confine = { network = { hosts = { "localhost" } } }/' commands/wide.lua >commands/hosts.lua
	answers 7 --policy pol/wide.json hosts --path out/f
	expect 'e.error.context["rule"] == "confine"'
}

@test "read and network are held, too" {
	policy "{ \"confine\": { \"read\": [\"$PWD/out\"], \"network\": false } }"
	echo secret >other/s
	echo open >out/s
	answers 0 --policy pol/p.json script --text "cat $PWD/other/s"
	expect 'e.data["status"] != 0 and "secret" not in e.data["out"]'
	answers 0 --policy pol/p.json script --text "cat $PWD/out/s"
	expect 'e.data["out"] == "open\n"'
	answers 0 --policy pol/p.json script --text 'python3 -c "import socket; socket.socket().connect((\"127.0.0.1\", 9))" 2>&1; exit 0'
	expect '"Connection refused" not in e.data["out"]'
}

@test "what is confined calls no runner, reaches no counts, and forges none: N calls are N" {
	echo 'return { audit = { path = "audit.jsonl", required = true } }' >runner.lua
	body nested '' <<<'local ok, e = pcall(ctx.call, ctx, "try") return { effect = "noop", ok = ok, code = e.code }'
	body needing 'needs = { "try" },' <<<'return { effect = "noop" }'
	held '{ "script": { "max_calls": "3/h" }, "try": { "max_calls": "50/h" }, "nested": {}, "needing": {} }'
	local counts
	printf 'x' >forged
	answers 0 --policy pol/p.json script --text "for f in pol/p.json*; do cp forged \$f; rm -f \$f; done; echo >>audit.jsonl; exit 1"
	expect 'e.data["status"] == 1'
	counts=$(ls pol/p.json.counts-*.json)
	python3 -m json.tool "$counts" >/dev/null
	answers 0 --policy pol/p.json script --text "\"$RUNNER\" try --format json"
	expect '"POLICY_DENIED" in e.data["out"] and "can'"'"'t call runner" in e.data["out"]'
	# without what tells it so, it can't be counted, or is no call under the policy, and is as confined as any program
	answers 0 --policy pol/p.json script --text "unset RUNNER_CONFINED; \"$RUNNER\" try --format json; unset RUNNER_POLICY; \"$RUNNER\" try --path other/x --format json; exit 0"
	expect 'e.data["out"].count("POLICY_INVALID") == 1 and "\"effect\":\"updated\"" not in e.data["out"]'
	answers 7 --policy pol/p.json script --text true
	expect 'e.error.context["rule"] == "allow.script.max_calls" and e.error.context["used"] == 3'
	[ ! -e other/x ]
	answers 0 --policy pol/p.json nested
	expect 'e.data["ok"] is False and e.data["code"] == "POLICY_DENIED"'
	answers 0 --policy pol/p.json needing # what it needs is called before it is confined, and is counted
	local i
	for i in 1 2 3 4 5 6 7 8; do
		(for _ in 1 2 3 4 5 6 7 8; do env -i "${CLEAN_ENV[@]}" "$RUNNER" --policy pol/p.json try --format json 3>&- || true; done) >"loop.$i" 2>/dev/null &
	done
	wait
	[ "$(cat loop.* | grep -c '"effect":"updated"')" -eq 49 ]
	[ "$(cat loop.* | grep -c '"rule":"allow.try.max_calls"')" -eq 15 ]
	answers 0 audit verify
}

@test "a policy whose confine leaves its counts, the ledger or the database open is none, and so is one that says too little" {
	echo 'return { audit = { path = "led/audit.jsonl" } }' >runner.lua
	mkdir -p led state/runner c
	local path
	ln -s pol via
	for path in / "$PWD" "$PWD/pol" "$PWD/via" "$PWD/led" "$PWD/state" "$PWD/state/runner" "$PWD/pol/p.json"; do
		policy "{ \"confine\": { \"write\": [\"$path\"] } }"
		invalid XDG_STATE_HOME="$PWD/state" --policy pol/p.json try
		[[ $(field 'e.error.message') == *"could forge that"* ]]
		invalid XDG_STATE_HOME="$PWD/state" policy check pol/p.json
	done
	mkdir -p state/runner/locks
	policy "{ \"confine\": { \"write\": [\"$PWD/state/runner/locks\"] } }" # of all, whichever instance the call is in
	invalid XDG_STATE_HOME="$PWD/state" --policy pol/p.json try --instance-id one
	invalid XDG_STATE_HOME="$PWD/state" RUNNER_INSTANCE_ID=one --policy pol/p.json try
	policy "{ \"counts\": \"$PWD/c\", \"confine\": { \"write\": [\"$PWD/c\"] } }"
	invalid --policy pol/p.json try
	policy "{ \"confine\": { \"write\": [\"$PWD/gone\"] } }"
	invalid --policy pol/p.json try
	for path in '{}' '{ "write": ["out"] }' '{ "write": ["/x/../y"] }' '{ "network": { "hosts": ["a.example"] } }' '{ "network": true }' '[]' 'true' \
		'{ "write": ["/tmp"], "required": false }' '{ "writes": ["/tmp"] }' '{ "capabilities": ["sys_admin"] }'; do
		policy "{ \"confine\": $path }"
		invalid --policy pol/p.json try
		[[ $(field 'e.error.message') == *"wrong value for 'confine'"* ]]
	done
	[ ! -e out/x ]
}

@test "nothing that what is confined can write is run or read as settings, whichever way a call would come to it" {
	mkdir -p commands/db lib far/commands far/lib own/runner/commands env
	local path
	ln -s out via
	for path in "$PWD/commands" "$PWD/commands/db" "$PWD/lib" "$PWD/far/commands" "$PWD/far/lib" "$PWD/own" "$PWD/own/runner/commands" "$PWD/env" "$PWD/runner.lua"; do
		echo 'return { dotenv = { "env/a", "env/b" }, contexts = { two = { commands = "commands" } }, notify = { "./env/call" } }' >runner.lua
		policy "{ \"confine\": { \"write\": [\"$PWD/out\", \"$path\"] } }"
		invalid RUNNER_PATH="$PWD/far/commands" XDG_CONFIG_HOME="$PWD/own" --policy pol/p.json try
		[[ $(field 'e.error.message') == *"could forge that"* ]]
		invalid RUNNER_PATH="$PWD/far/commands" XDG_CONFIG_HOME="$PWD/own" --policy pol/p.json help
		invalid RUNNER_PATH="$PWD/far/commands" XDG_CONFIG_HOME="$PWD/own" policy check pol/p.json
	done
	rm runner.lua
	policy "{ \"confine\": { \"write\": [\"$PWD\"] } }" # no runner.lua is there yet
	invalid RUNNER_POLICY="$PWD/pol/p.json" help
	# a folder outside of what runner reads is one again once a call begins there, is told to, or a link leads there
	policy "{ \"confine\": { \"write\": [\"$PWD/out\"] } }"
	answers 0 --policy pol/p.json script --text 'mkdir out/commands && echo "os.execute \"touch $PWD/other/x\"" | tee out/commands/pw.lua out/runner.lua out/tasks.lua >out/s.lua'
	expect 'e.data["status"] == 0'
	for path in pw help lint s manifest completion; do
		call --policy pol/p.json --cwd out $path
		[ "$status" -eq 4 ]
		call --policy pol/p.json --config out/s.lua $path
		[ "$status" -eq 4 ]
		call RUNNER_PATH=out/commands --policy pol/p.json $path
		[ "$status" -eq 4 ]
	done
	(cd out && invalid --policy ../pol/p.json help)
	ln -s ../out/s.lua commands/s.lua
	ln -s ../via commands/linked
	answers 7 --policy pol/p.json s
	expect 'e.error.context["rule"] == "confine"'
	answers 7 --policy pol/p.json linked s
	call --policy pol/p.json lint
	call --policy pol/p.json help s
	answers 0 --policy pol/p.json manifest
	expect '"s" not in e.data["commands"] and "try" in e.data["commands"]'
	[ -z "$(ls other)" ]
	answers 0 --policy pol/p.json try
}

@test "what one policy confines can forge neither the counts nor the file of another" {
	mkdir -p out/pol
	echo '{ "allow": { "script": { "max_calls": "2/h" } } }' >out/pol/a.json
	ln -s "$PWD/out/pol/a.json" pol/link.json
	held '{ "try": {}, "script": {} }'
	local of
	for of in out/pol/a.json pol/link.json; do
		invalid RUNNER_POLICY="$PWD/pol/p.json:$PWD/$of" script --text 'rm -f out/pol/a.json.counts*'
		[[ $(field 'e.error.message') == *"out/pol/a.json"* ]] || [[ $(field 'e.error.message') == *"link.json"* ]]
		invalid RUNNER_POLICY="$PWD/pol/p.json" --policy "$of" script --text true
	done
	echo "{ \"counts\": \"$PWD/out\", \"allow\": { \"try\": { \"max_calls\": \"2/h\" }, \"policy check\": {} } }" >pol/c.json
	invalid RUNNER_POLICY="$PWD/pol/p.json:$PWD/pol/c.json" try
	invalid RUNNER_POLICY="$PWD/pol/c.json" policy check pol/p.json
	answers 0 --policy pol/p.json try
}

@test "a policy is compared where it really is, however it is named" {
	mkdir -p in/deep/out out/sub
	policy "{ \"confine\": { \"write\": [\"$PWD/in/deep/out\"] } }"
	mkdir in/deep/commands
	cp commands/*.lua in/deep/commands/
	answers 0 --policy "$PWD/in/deep/out/../../../pol/p.json" --cwd in/deep try
	(cd in/deep && answers 0 --policy ../../pol/p.json try)
	# but a name on the way that can be replaced leads where whoever replaces it wants
	policy "{ \"confine\": { \"write\": [\"$PWD/out\"] } }"
	invalid --policy out/sub/../../pol/p.json try
	ln -s "$PWD/pol" out/sub/link
	invalid --policy out/sub/link/p.json try
	answers 0 --policy out/../pol/p.json try
}

@test "each of runner's own commands is one that only reads and calls, or is refused; policy check and --plan explain it" {
	policy "{ \"confine\": { \"write\": [\"$PWD/out\"], \"network\": false } }"
	answers 0 manifest
	local all name
	all=$(field '" ".join(e.data["commands"])')
	for name in $all; do
		case $name in
		try | script) ;;
		approvals | approve | audit.list | audit.verify | completion | exec | help | job.* | manifest | mcp.serve | mcp.tools | policy.check | reject | status) ;;
		workflow.cancel | workflow.list | workflow.logs | workflow.show | workflow.stats | workflow.wait) ;;
		*)
			# shellcheck disable=SC2086 # words
			answers 7 --policy pol/p.json ${name//./ }
			expect 'e.error.context["rule"] == "confine"'
			;;
		esac
	done
	answers 7 --policy pol/p.json workflow stats --html out/x.html
	answers 7 --policy pol/p.json status --output other/x.json
	answers 7 --policy pol/p.json try --output out/x.json
	[ ! -e other/x.json ]
	answers 0 --policy pol/p.json manifest
	expect '"workflow.run" not in e.data["commands"] and "try" in e.data["commands"]'
	answers 0 policy check pol/p.json
	expect '[(r["commands"], r["says"]) for r in e.data["rules"] if r["rule"] == "confine"] == [(["script", "try"], { "write": ["'"$PWD"'/out"], "network": False })]'
	answers 7 policy check pol/p.json workflow run x.yaml
	expect 'e.data["call"]["refused"]["rule"] == "confine"'
	answers 0 policy check pol/p.json try
	answers 0 --policy pol/p.json try --plan
	expect 'e.data["policy"]["confine"] == [{ "write": ["'"$PWD"'/out"], "network": False }]'
	[ ! -e out/x ]
}

@test "every kind of command is held: passed on, a protocol, rows, tasks, what is deferred and cleaned up, in exec and over MCP" {
	policy "{ \"confine\": { \"write\": [\"$PWD/out\"], \"network\": false } }"
	local mutating='danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },'
	command_file passed <<<"return { description = 'x', arguments = 'passthrough', $mutating
		run = function(_, ctx) return ctx:delegate { 'sh', '-c', 'echo x >other/passed; true' } end }"
	command_file spoken <<<"return { description = 'x', stdout = 'protocol', protocol = 'own', $mutating
		run = function() local f = io.open('other/spoken', 'w') io.stdout:write(f and 'OPEN' or 'held', '\n') end }"
	command_file rows <<<"return { description = 'x', danger_level = 'safe', list = true,
		run = function() return { { a = io.open('other/rows', 'w') and 'OPEN' or 'held' } } end }"
	command_file ends <<<"return { description = 'x', danger_level = 'safe', cleanup = function() io.open('other/cleaned', 'w') end,
		run = function(_, ctx) ctx:defer(function() io.open('other/deferred', 'w') end) error 'x' end }"
	command_file tasks <<<"return { commands = { one = { description = 'x', danger_level = 'mutating', shell = 'echo x >other/task' } } }"
	command_file again <<<"return { description = 'x', interruption = { resume = true }, $mutating
		run = function(_, ctx) if ctx:restore 'v1' then return { effect = 'updated' } end ctx:checkpoint { done = 1 } ctx:fail('UNAVAILABLE', 'x') end }"
	command_file once <<<"return { description = 'x', $mutating run = function() return { effect = 'updated' } end }"
	local words
	for words in passed spoken rows ends "tasks one" tasks.one; do
		# shellcheck disable=SC2086 # words
		call --policy pol/p.json $words
		[ "$(grep -c OPEN out.txt)" -eq 0 ]
		[ "$(grep -c 'COMMAND_INVALID\|POLICY_' out.txt)" -eq 0 ]
	done
	[ -z "$(ls other)" ]
	call --policy pol/p.json again # what it keeps of itself it still can
	[ "$status" -ne 0 ]
	answers 0 --policy pol/p.json again
	answers 0 --policy pol/p.json once --idempotency-key k
	answers 0 --policy pol/p.json once --idempotency-key k
	expect 'e.data["effect"] == "noop"'
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"try","arguments":{"path":"other/mcp"}}}' >talk.txt
	env -i "${CLEAN_ENV[@]}" timeout 100 "$RUNNER" --policy pol/p.json mcp serve <talk.txt >said.txt 2>/dev/null
	grep -q 'effect.*noop' said.txt
	[ -z "$(ls other)" ]
}
