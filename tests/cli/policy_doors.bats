#!/usr/bin/env bats
# Ways around a policy that are none: what is left out, what one call brings with it, and what a policy is learned from.

load lib/helper

policy() {
	printf '%s\n' "$1" >"${2:-p.json}"
}

denied() {
	local rule=$1
	shift
	answers 7 "$@"
	expect "e.error.code == 'POLICY_DENIED' and e.error.context['rule'] == '$rule'"
}

# handed STATUS WORDS…: what a command is handed that passes it on; its envelope is on stderr
handed() {
	local wanted=$1
	shift
	call --policy p.json hand "$@"
	[ "$status" -eq "$wanted" ]
}

@test "a list that is left out, or is empty, is no value" {
	body many 'args = { { "names", "array", items = "string", variadic = true, description = "x" }, { "tags", "array", items = "string", description = "x" } },' <<<'return {}'
	body hand 'arguments = "passthrough",' <<<'return { n = #args.argv }'
	policy '{ "allow": { "many": { "args": { "names": ["a"] } }, "hand": { "args": { "argv": ["x"] } } } }'
	answers 0 --policy p.json many a
	denied allow.many.args.names --policy p.json many
	[[ $(field 'e.error.message') == *"names may not be no value"* ]]
	denied allow.many.args.names --policy p.json many --raw-payload '{"names":[]}'
	handed 0 x
	handed 7
	policy '{ "allow": { "many": { "args": { "tags": { "pattern": "^v[0-9]$" } } } } }'
	denied allow.many.args.tags --policy p.json many a
	answers 0 --policy p.json many a --tags v1
	policy '{ "allow": { "many": { "args": { "names": ["a", null], "tags": { "pattern": "^v[0-9]$", "absent": true } } }, "hand": { "args": { "argv": { "values": ["x"], "absent": true } } } } }'
	answers 0 --policy p.json many
	answers 0 --policy p.json many a --tags v1
	handed 0
	handed 7 y
	denied allow.many.args.names --policy p.json many b
}

@test "whoever may approve may not resume any run, nor run what an executor starts" {
	printf 'steps:\n  - shell: touch ran\n  - shell: "false"\n' >flow.yaml
	call XDG_STATE_HOME="$PWD/state" workflow run flow.yaml
	local id verb
	id=$(field 'e.data["id"]')
	rm ran
	for verb in approve reject; do
		policy "{ \"allow\": [\"$verb\"] }"
		denied allow XDG_STATE_HOME="$PWD/state" --policy p.json workflow resume "$id"
		denied allow XDG_STATE_HOME="$PWD/state" --policy p.json workflow resume "$id" --force
		denied allow XDG_STATE_HOME="$PWD/state" --policy p.json self workflow resume "$id" --force
		denied allow XDG_STATE_HOME="$PWD/state" --policy p.json workflow chunk "$PWD" token 1
		denied allow RUNNER_CALLED="workflow.resume $id" XDG_STATE_HOME="$PWD/state" --policy p.json workflow resume "$id" --force
		denied allow RUNNER_CALLED="workflow.resume run_other" XDG_STATE_HOME="$PWD/state" --policy p.json workflow resume "$id"
	done
	policy '{ "allow": { "workflow run": { "args": { "file": ["flow.yaml"] } }, "executor check": {} } }'
	denied allow --policy p.json workflow chunk "$PWD" token 1
	denied allow --policy p.json executor probe "$PWD" 1
	[ ! -e ran ]
	policy '{ "allow": ["workflow resume"] }'
	call XDG_STATE_HOME="$PWD/state" --policy p.json workflow resume "$id" --force
	[ "$(field 'e.error.code')" != POLICY_DENIED ]
}

@test "policy init grants what was done: no dry run, no refused call, a value of false, and it says what is open" {
	echo 'return { audit = true }' >runner.lua
	failing drop destructive <<<'return { effect = "deleted" }'
	failing change mutating <<<'return { effect = "updated" }'
	body flag 'args = { { "on", "boolean", required = true, description = "x" }, { "names", "array", items = "string", description = "x" }, { "n", "integer", description = "x" } },' <<<'return {}'
	body hand 'arguments = "passthrough",' <<<'return {}'
	answers 2 drop
	answers 0 change --dry-run
	answers 0 flag --no-on
	answers 2 flag --on --n many
	call hand x
	answers 0 policy init learned.json
	expect 'sorted(e.data["policy"]["allow"]) == ["flag", "hand"] and e.data["policy"]["max_danger"] == "safe"'
	expect 'e.data["policy"]["allow"]["flag"]["args"]["on"] == [False]'
	expect 'e.data["policy"]["allow"]["flag"]["args"]["names"] == [None]'
	expect '[w["code"] for w in e.warnings] == ["POLICY_INCOMPLETE", "POLICY_UNBOUND"]'
	[[ $(field 'e.warnings[0]["message"]') == *": change, drop" ]]
	[[ $(field 'e.warnings[1]["message"]') == *"argv of 'hand'"* ]]
	answers 0 --policy learned.json flag --no-on
	denied allow.flag.args.on --policy learned.json flag --on
	denied allow.flag.args.names --policy learned.json flag --no-on --names a
	denied allow --policy learned.json drop --confirm-destructive
}

# effects RETRYABLE: what a failure says that none of its own call has touched
effects() {
	expect "e.error.side_effects == 'partial' and e.error.retryable == $1"
}

@test "after a call that has changed something no failure of a later one says that nothing was touched" {
	failing deploy mutating <<<'require("fs").append("deployed", "x\n") return { effect = "updated" }'
	failing nothing mutating <<<'return { effect = "noop" }'
	body many 'exit_codes = { UNAVAILABLE = { retryable = true, side_effects = "none" } },' <<<'ctx:fail("UNAVAILABLE", "later", { side_effects = "none", retryable = true })'
	body calls 'exit_codes = {},' <<<'ctx:call("deploy") return ctx:call("many")'
	body idle 'exit_codes = {},' <<<'ctx:call("nothing") return ctx:call("many")'
	body caught 'exit_codes = {},' <<<'pcall(ctx.call, ctx, "half") return ctx:call("many")'
	body half 'exit_codes = {},' <<<'ctx:fail("UNAVAILABLE", "x", { side_effects = "partial", retryable = false })'
	body needy 'needs = { "deploy", "many" }, ' <<<'return {}'
	body named 'retry = { retries = 2, delay = 0, on = { "UNAVAILABLE" } }, exit_codes = { UNAVAILABLE = { retryable = true, side_effects = "none" } },' \
		<<<'ctx:call("deploy") return ctx:call("many")'
	local name
	for name in calls needy caught; do
		rm -f deployed
		answers 12 "$name" --retries 2 --retry-delay 0
		effects '"maybe"'
		touch deployed
		[ "$(wc -l <deployed)" -le 1 ]
	done
	answers 12 idle --retries 2 --retry-delay 0
	expect 'e.error.side_effects == "none" and e.error.retries_exhausted == 2'
	rm -f deployed
	answers 12 named
	expect 'e.error.side_effects == "partial"'
	[ "$(wc -l <deployed)" -eq 3 ]
	policy '{ "allow": { "needy": {}, "calls": {}, "deploy": {}, "many": { "max_calls": 1 } } }'
	rm -f deployed
	call --policy p.json many
	denied allow.many.max_calls --policy p.json calls --retries 2
	effects False
	body needed 'needs = { "deploy" },' <<<'return ctx:call("many")'
	policy '{ "allow": { "needy": {}, "needed": {}, "deploy": {}, "many": { "max_calls": 1 } } }'
	denied allow.many.max_calls --policy p.json needed
	effects False
	rm -f deployed
	denied allow.many.max_calls --policy p.json needy
	if [ -s deployed ]; then effects False; fi # the two begin together: many may be refused before deploy has begun
}

@test "values are looked at as validate and hooks leave them, and before what the command needs" {
	body made 'exit_codes = {},' <<<'require("fs").write("made", "x") return {}'
	command_file norm <<<'return { description = "x", danger_level = "safe", needs = { "made" }, args = { { "env", "string", default = "a", description = "x" } },
		validate = function(args) args.env = args.env:lower() end, run = function(args) return { env = args.env } end }'
	policy '{ "allow": { "norm": { "args": { "env": ["staging"] } }, "made": {} } }'
	answers 0 --policy p.json norm --env Staging
	expect 'e.data["env"] == "staging"'
	rm made
	denied allow.norm.args.env --policy p.json norm --env PROD
	[ ! -e made ]
	answers 0 --policy p.json norm --env Staging --plan
}

@test "a call that one of several policies refuses uses up nothing of the others" {
	failing change mutating <<<'return { effect = "updated" }'
	policy '{ "allow": { "change": { "max_calls": 3 } } }' a.json
	policy '{ "allow": { "change": { "max_calls": 1 } } }' b.json
	answers 0 RUNNER_POLICY=a.json:b.json change
	local key # which may be known, so that what is used up is looked at where run begins
	for key in k l m; do denied allow.change.max_calls RUNNER_POLICY=a.json:b.json change --idempotency-key "$key"; done
	answers 0 --policy a.json change
	answers 0 --policy a.json change
	denied allow.change.max_calls --policy a.json change
}

@test "a refusal says the whole of what is allowed, and the end of a policy's time names no flag" {
	body deploy 'args = { { "n", "integer", description = "x" }, { "env", "string", description = "x" } },' <<<'ctx:sleep("20s") return {}'
	policy '{ "allow": { "deploy": { "args": { "n": { "values": [1, 2, 9], "max": 5, "absent": true }, "env": ["a", null] } } } }'
	denied allow.deploy.args.n --policy p.json deploy --n 9
	expect 'e.error.context["allowed"] == { "values": [1, 2, 9], "max": 5, "absent": True }'
	denied allow.deploy.args.env --policy p.json deploy --env b
	expect 'e.error.context["allowed"] == ["a", None]'
	policy '{ "max_timeout": "200ms" }'
	answers 10 --policy p.json deploy --timeout 1m
	expect 'e.error.suggestion.startswith("A policy of the caller set the limit")'
	[[ $(cat out.txt) != *"--timeout 5m"* ]]
}

@test "no call leads its records to an instance where it has a subject, or no other place" {
	needs_library libsqlite3.so.0
	mkdir state
	echo 'return { audit = true }' >runner.lua
	body look '' <<<'return { id = os.getenv "RUNNER_INSTANCE_ID" }'
	printf 'name: w\nconcurrency: one\ncommands: [{ shell: "true" }]\n' >w.yaml
	local rule text
	for rule in subject relocate; do
		policy '{ "subject": "agent-7" }'
		[ "$rule" = subject ] || policy '{ "subject": "agent-7", "relocate": false }'
		for text in "look --instance-id hidden" "--instance-id hidden look" "look --instance-id=hidden --plan" "workflow run w.yaml --instance-id hidden" \
			"workflow list --instance-id hidden" "help look --instance-id hidden" "+ look --instance-id hidden"; do
			# shellcheck disable=SC2086 # words
			call XDG_STATE_HOME="$PWD/state" --policy p.json $text
			[ "$status" -eq 7 ] || [[ $text = +* ]]
			grep -q "\"rule\":\"$rule\"" out.txt
			# shellcheck disable=SC2086 # words
			denied $rule XDG_STATE_HOME="$PWD/state" RUNNER_INSTANCE_ID=hidden --policy p.json ${text//--instance-id?hidden/}
		done
		printf '{"_cmd":"look","instance_id":"hidden"}\n{"_cmd":"look","_flags":{"instance_id":"hidden"}}\n' >lines
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json exec <lines >answer || true
		[ "$(grep -c '"ok":true' answer)" -eq 0 ]
		[ ! -e state/runner/instances ]
	done
	answers 0 XDG_STATE_HOME="$PWD/state" audit list
	expect '[r for r in e.data if r["command"] == "look" and r.get("subject") == "agent-7"]'
	policy '{ "allow": ["look"] }'
	answers 0 XDG_STATE_HOME="$PWD/state" --policy p.json look --instance-id own
	expect 'e.data["id"] == "own"'
}
