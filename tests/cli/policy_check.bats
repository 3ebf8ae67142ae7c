#!/usr/bin/env bats
# What `policy check` says of a call is what becomes of the call: each case is asked about first, and made then.

load lib/helper

prepare() {
	body deploy 'args = { { "env", "enum", values = { "staging", "prod" }, default = "staging", env = "DEPLOY_ENV", description = "x" },
		{ "replicas", "integer", description = "x" }, { "wait", "duration", default = "5s", description = "x" } },' <<<'require("fs").append("runs", "x\n") return {}'
	failing db/migrate mutating <<<'fs.append("runs", "x\n") return { effect = "updated" }'
	failing db/drop destructive <<<'fs.append("runs", "x\n") return { effect = "deleted" }'
	body hand 'arguments = "passthrough",' <<<'require("fs").append("runs", "x\n") return {}'
	body sly 'args = { { "env", "string", default = "a", description = "x" } }, validate = function(args) args.env = args.env .. "b" end,' <<<'require("fs").append("runs", "x\n") return {}'
	body whole 'args = { { "env", "string", default = "x", description = "x" } }, needs = { "deploy", { "db migrate" } },' <<<'return {}'
	command_file strict <<<'return { description = "x", danger_level = "destructive", needs = { "db drop" }, exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, run = function() return { effect = "deleted" } end }'
	command_file signed <<<'return { description = "x", danger_level = "destructive", requires_person = true, interactive = true, exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, run = function() return { effect = "deleted" } end }'
}

policy() {
	printf '%s\n' "$1" >"${2:-p.json}"
}

# said KIND: what the answer comes to, in a word: allowed, asked, the rule that refuses, or a code. KIND: check, call
said() {
	local text
	text=$(cat out.txt)
	[ -n "$text" ] || text=$(cat err.txt)
	python3 - "$1" "$status" <<-'PY' "$text"
		import json, sys
		kind, status, text = sys.argv[1], sys.argv[2], sys.argv[3].strip().splitlines()
		if kind == "call" and status == "0":
		    print("allowed")
		    sys.exit()
		e = json.loads(text[-1])
		code = (e["error"] or {}).get("code")
		if kind == "check":
		    about = (e["data"] or {}).get("call") or {}
		    assert about["allowed"] == e["ok"], e
		    print("asked" if about.get("asked") else "allowed" if e["ok"] else about["refused"]["rule"] if code == "POLICY_DENIED" else about["error"]["code"])
		else:
		    print("asked" if code in ("CONFIRMATION_REQUIRED", "PERSON_REQUIRED")
		          else (e["error"].get("context") or {}).get("rule", code) if code == "POLICY_DENIED" else code)
	PY
}

# same WANTED [NAME=VALUE…] WORDS…: check says it, without a run or a count; then the call itself does. What differs is in the file
# `differ`, which the end of a test shows as a whole.
same() {
	local wanted=$1 env=() checked made before after
	shift
	while [[ $1 =~ ^[A-Z_]+= ]]; do
		env+=("$1")
		shift
	done
	before=$(cat runs p.json.counts-*.json 2>/dev/null | cksum)
	call "${env[@]}" policy check p.json -- "$@"
	checked=$(said check)
	after=$(cat runs p.json.counts-*.json 2>/dev/null | cksum)
	call "${env[@]}" RUNNER_POLICY=p.json "$@"
	made=$(said call)
	[ "$checked/$made" = "$wanted/$wanted" ] || echo "$*: checked $checked, made $made, wanted $wanted" >>differ
	[ "$before" = "$after" ] || echo "$*: the check has counted or run something: $(cat runs p.json.counts-*.json)" >>differ
}

no_difference() {
	[ ! -e differ ] || { cat differ && return 1; }
}

@test "a call is checked as it is made: values of each source, in each spelling, in groups, several, needed or handed on" {
	echo 'return { aliases = { ship = "deploy --env prod", stage = "deploy --env staging" } }' >runner.lua
	policy '{ "allow": { "deploy": { "args": { "env": ["staging"], "replicas": { "min": 1, "max": 3, "absent": true }, "wait": ["5s", "1m"] } },
		"db": {}, "hand": { "args": { "argv": ["x"] } }, "sly": { "args": { "env": ["ab"] } }, "whole": {}, "signed": {} }, "max_danger": "destructive" }'
	same allowed deploy
	same allowed deploy --env staging --replicas 3 --wait 60
	same allowed deploy --replicas=1 --wait 1m --format json
	same allowed deploy --format plain --quiet
	same allow.deploy.args.env deploy --env prod
	same allow.deploy.args.env deploy --env prod --format plain
	same allow.deploy.args.env DEPLOY_ENV=prod deploy
	same allowed DEPLOY_ENV=prod deploy --env staging
	same allow.deploy.args.env deploy --raw-payload '{"env":"prod"}'
	printf '{"env":"prod"}' >prod.json
	same allow.deploy.args.env deploy --input-file prod.json
	same allow.deploy.args.replicas deploy --replicas 4
	same allow.deploy.args.wait deploy --wait 61s
	same allow.deploy.args.env ship
	same allowed stage
	same allow.deploy.args.env deploy --env prod --plan
	same allowed deploy --help
	same allowed deploy --env prod --help
	same allow.deploy.args.env deploy --env prod --detach
	same VALIDATION_ERROR deploy --env nowhere
	same VALIDATION_ERROR deploy --nothing
	same VALIDATION_ERROR deploy --replicas many
	same VALIDATION_ERROR deploy more
	same COMMAND_NOT_FOUND deplpy
	same allow lint
	same allow self.lint
	same allowed help
	same allowed db.migrate
	same allowed db migrate
	same asked db.drop
	same allowed db drop --confirm-destructive
	same allowed db drop --dry-run
	same asked db drop --yes
	same allowed RUNNER_DRY_RUN=1 db drop
	same asked signed
	same allowed hand x
	same allow.hand.args.argv hand y
	same allow.hand.args.argv hand x --env prod
	same allowed sly
	same allow.sly.args.env sly --env other
	same allowed whole
	same allow.deploy.args.env DEPLOY_ENV=prod whole
	same allowed + deploy + db migrate
	same allow.deploy.args.env + db.migrate + deploy --env prod
	same allow.deploy.args.env + stage + ship
	same allow + deploy + lint
	same asked + deploy + db drop
	same allow.deploy.args.env several deploy --env prod
	same VALIDATION_ERROR + deploy --detach + nothing
	policy '{ "max_danger": "destructive" }'
	same asked strict
	same allowed strict --confirm-destructive
	policy '{ "confirm": ["db"] }'
	same asked strict
	same asked strict --confirm-destructive
	body needy 'needs = { "db migrate", "deploy" },' <<<'return {}'
	same asked needy
	policy '{ "allow": ["deploy", "whole"], "deny": ["db"], "confirm_by_flag": false }'
	same 'deny: db' whole
	policy '{ "deny": ["db"], "max_danger": "mutating" }'
	same 'deny: db' db.migrate
	same 'deny: db' whole
	policy '{ "max_danger": "mutating", "relocate": false, "confirm_by_flag": false }'
	same max_danger db drop
	same relocate --cwd / deploy
	no_difference
}

@test "a call is checked against what is used up, its end, its jobs and its costs, and what calls before it will use" {
	policy '{ "allow": { "deploy": { "max_calls": 2 }, "db": { "max_calls": "2/h" }, "whole": {} } }'
	same allowed + deploy + deploy + db migrate
	same allow.deploy.max_calls deploy
	same allow.deploy.max_calls deploy --plan
	same allowed deploy --help
	same allow.deploy.max_calls deploy --env nowhere
	same allow.deploy.max_calls whole
	same allow.db.max_calls + db migrate + db migrate
	same allow.db.max_calls db migrate
	policy '{ "allow": { "deploy": {}, "policy check": {} }, "expires": "2020-01-01" }'
	same expires deploy
	same allowed help
	policy '{ "allow": { "deploy": { "max_jobs": 0 } } }'
	same allowed deploy
	same allow.deploy.max_jobs deploy --detach
	policy '{ "dry_run": true, "confirm": ["db"] }'
	same allowed db drop
	policy '{ "confirm": ["db.*", "deploy"] }'
	same asked db migrate
	same asked deploy
	same 'confirm: deploy' deploy --yes
	same 'confirm: db.*' db drop --confirm-destructive
	same asked + db migrate
	same allowed hand x
	printf 'name: w\nsteps:\n  - name: a\n    shell: echo x >>runs\n' >w.yaml
	policy '{ "allow": ["workflow run"], "total_cost_usd": 0 }'
	same total_cost_usd workflow run w.yaml
	policy '{ "allow": ["workflow run"], "total_cost_usd": 1 }'
	same allowed workflow run w.yaml
	no_difference
}

@test "flags behind the file are those of the check, until a call begins; a policy that holds for it holds for the call, too" {
	policy '{ "allow": { "deploy": { "args": { "env": ["staging"] } }, "policy check": {} } }'
	answers 0 policy check p.json --format json
	expect '[r["rule"] for r in e.data["rules"]] == ["deploy", "policy check"] and "call" not in e.data'
	call policy check p.json --format plain
	[ "$status" -eq 0 ]
	[[ $stdout == *deploy* && $stdout != '{'* ]]
	answers 2 policy check p.json --nothing
	answers 7 policy check p.json deploy --format json --env prod
	answers 1 policy check p.json deploy -- --help
	expect 'e.error.code == "VALIDATION_ERROR" and e.data["call"]["allowed"] == False'
	policy '{}' none.json
	answers 7 --policy p.json policy check none.json deploy --env prod
	expect "e.error.context['policy'] == '$PWD/p.json' and e.error.context['rule'] == 'allow.deploy.args.env'"
	answers 7 --policy p.json policy check none.json db migrate
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	answers 7 policy check p.json deploy --env prod
	[ ! -e audit.jsonl ] || [ "$(grep -c '"command":"deploy"' audit.jsonl)" -eq 0 ]
	answers 0 policy check p.json deploy
	[ ! -e runs ]
	call RUNNER_CALLED=policy.check RUNNER_POLICY=p.json + deploy + deploy
	[ ! -e runs ]
	body a 'needs = { "b" },' <<<'return {}'
	body b 'needs = { "a" },' <<<'return {}'
	policy '{}' none.json
	call policy check none.json a
	[ "$status" -ne 0 ]
	expect 'e.data["call"]["allowed"] == False'
	mkdir -p other/commands
	printf 'return { description = "x", danger_level = "safe", run = function() return {} end }\n' >other/commands/elsewhere.lua
	policy '{ "allow": ["elsewhere"] }' there.json
	echo 'return { commands = "other/commands" }' >other.lua
	answers 0 --config other.lua policy check there.json elsewhere
	echo 'return { before = function() end }' >runner.lua
	answers 0 policy check p.json deploy
	expect '[w["code"] for w in e.warnings] == ["POLICY_UNKNOWN"]'
}

@test "no flag, bound or mask of a call touches what is said of it: it would be refused, and is" {
	body d 'args = { { "t", "string", description = "x" } },' <<<'require("fs").append("runs", "x\n") return {}'
	body b 'needs = { "d" },' <<<'return {}'
	policy '{ "deny": ["d", "db drop"], "max_danger": "destructive" }'
	echo precious >keep.txt
	same 'deny: d' d --output keep.txt
	same 'deny: d' b --output keep.txt
	same 'deny: d' b --token-count
	same 'deny: d' b --token-limit 256
	same 'deny: d' b --max-bytes 4096
	same 'deny: d' b --fields x
	same 'deny: d' b --format plain --output keep.txt
	same 'deny: d' b --meta short
	same 'deny: d' b --warnings-as-errors
	[ "$(cat keep.txt)" = precious ]
	policy '{ "max_bytes": 4096, "deny": ["db"], "max_danger": "destructive" }'
	local calls=() long
	long=$(printf 'x%.0s' {1..500})
	for _ in {1..12}; do
		calls+=(+ d --t "$long")
	done
	same 'deny: db' "${calls[@]}" + db drop
	policy '{ "confirm": ["db"], "max_danger": "destructive" }'
	call policy check p.json db drop --output keep.txt
	[ "$(said check)" = asked ]
	call policy check p.json deploy --output keep.txt
	[ "$(said check)" = allowed ]
	call policy check p.json deploy --help --output keep.txt
	[ "$(said check)" = allowed ]
	answers 0 deploy --validate-only --output keep.txt
	[ "$(cat keep.txt)" = precious ]
	no_difference
}

@test "what a call makes is checked in its folder, with its settings and its policies" {
	body d <<<'return {}'
	body b 'needs = { "d" },' <<<'return {}'
	mkdir other
	cp -r commands other/commands
	(cd other && failing d destructive <<<'return { effect = "deleted" }')
	policy '{ "max_danger": "mutating" }'
	same allowed b
	same max_danger --cwd other b
	same max_danger --cwd other + b
	same allowed + b + d
	echo 'return { commands = "other/commands" }' >there.lua
	echo 'return { commands = "commands" }' >runner.lua
	same max_danger --config there.lua + d
	same max_danger --config there.lua d
	echo 'return { contexts = { far = { commands = "other/commands" } } }' >runner.lua
	same "$(call RUNNER_POLICY=p.json --context far b && said call)" --context far b
	rm runner.lua
	policy '{ "deny": ["d"] }' own.json
	same 'deny: d' --policy own.json b
	same 'deny: d' --policy own.json + b
	no_difference
}

@test "a check whose call says nothing is a refusal" {
	body b <<<'return {}'
	policy '{}'
	mkdir tmp
	local before
	before=$(ls tmp)
	echo 'return { description = "x", danger_level = "safe", run = function() return {} end, validate = function() os.exit(0) end }' >commands/gone.lua
	call policy check p.json gone
	[ "$status" -ne 0 ]
	expect 'e.data["call"]["allowed"] == False'
	answers 0 TMPDIR="$PWD/tmp" policy check p.json b
	[ "$(ls tmp)" = "$before" ] # nothing of the check is left
	call TMPDIR="$PWD/none" policy check p.json b
	[ "$status" -eq 0 ] || expect '(e.data or {}).get("call", {}).get("allowed") is not True'
}

@test "secrets of a call that is checked are in no ledger, and what is masked is checked as it is" {
	local key=AKIAIOSFODNN7EXAMPLE
	body tag 'args = { { "tag", "string", description = "x" } },' <<<'require("fs").append("runs", "x\n") return {}'
	body safe_tag 'args = { { "tag", "string", secret = true, description = "x" } }, needs = { { "tag", tag = { arg = "tag" } } },' <<<'return {}'
	policy '{ "allow": { "tag": { "args": { "tag": ["'$key'"] } }, "safe_tag": {} } }'
	same allowed tag --tag $key
	same allowed + tag --tag $key
	same allow.tag.args.tag + tag --tag "[KEY]"
	CLEAN_ENV+=(T="$key")
	same allowed safe_tag --tag-from-env T
	same VALIDATION_ERROR safe_tag --tag $key
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	answers 0 policy check p.json tag --tag $key
	call policy check p.json nothing hunter2
	call policy check p.json -- --cwd . tag --tag hunter2
	[ "$(grep -c "$key\|hunter2" audit.jsonl)" -eq 0 ]
	[ "$(grep -c '"call":\["tag"\]' audit.jsonl)" -eq 2 ]
	no_difference
}

@test "what runs once is counted once; a dry run and an error of the call's own are its own" {
	body d <<<'require("fs").append("runs", "x\n") return {}'
	body b 'needs = { "d" },' <<<'return {}'
	body c 'needs = { "d" },' <<<'return {}'
	body a 'needs = { "b", "c" },' <<<'return {}'
	local i
	body l0 <<<'return {}'
	for i in 1 2 3 4 5 6; do
		body m$i "needs = { 'l$((i - 1))' }," <<<'return {}'
		body n$i "needs = { 'l$((i - 1))' }," <<<'return {}'
		body l$i "needs = { 'm$i', 'n$i' }," <<<'return {}'
	done
	body self_a 'needs = { "self_b" },' <<<'return {}'
	body self_b 'needs = { "self_a" },' <<<'return {}'
	policy '{ "allow": { "d": { "max_calls": 1 }, "a": {}, "b": {}, "c": {}, "self_a": {}, "self_b": {}, "l*": {}, "m*": {}, "n*": {} } }'
	same COMMAND_INVALID self_a
	same allow.d.max_calls + a + d
	rm -f p.json.counts-*.json
	same allowed + d + a
	rm -f p.json.counts-*.json
	same allowed + b + c
	rm -f p.json.counts-*.json
	same allowed a
	same allow.d.max_calls a
	same allowed l6
	policy '{ "max_danger": "destructive" }'
	same allowed + -n db drop
	body needs_drop 'needs = { "db drop" },' <<<'return {}'
	same allowed + -n needs_drop
	same allowed RUNNER_DRY_RUN=1 needs_drop
	same asked + db drop
	same FILE_NOT_FOUND workflow run nofile.yaml
	no_difference
}

@test "a policy whose path has a colon is none, for a check as for a call, wherever that path comes from" {
	body go '' <<<'return {}'
	mkdir -p a:b/commands
	echo '{ "allow": ["go"] }' >a:b/p.json
	local where
	for where in "policy check a:b/p.json" "policy check a:b/p.json go" "--policy a:b/p.json go" "--policy $PWD/a:b/p.json go"; do
		# shellcheck disable=SC2086 # words
		answers 4 $where
		expect 'e.error.code == "POLICY_INVALID" and "has a colon" in e.error.message'
	done
	cd a:b
	cp ../commands/go.lua commands
	answers 4 --policy p.json go # absolute, it has one
	expect 'e.error.code == "POLICY_INVALID" and "has a colon" in e.error.message'
	answers 4 policy check p.json go
	expect 'e.error.code == "POLICY_INVALID"'
}

@test "as many calls as can be made at once are checked, one more is not allowed; words that aren't UTF-8 are no call that was checked" {
	body go 'args = { { "path", "path", description = "x" } },' <<<'return {}'
	echo '{ "allow": { "go": {} } }' >p.json
	local words=() i
	for i in {1..100}; do
		words+=(+ go)
	done
	answers 0 --timeout 5m policy check p.json "${words[@]}"
	expect 'e.data["call"]["allowed"] is True'
	call policy check p.json "${words[@]}" + go
	[ "$status" -ne 0 ]
	expect 'e.data["call"]["allowed"] is False and "At most 100" in e.data["call"]["error"]["message"]'
	answers 2 policy check p.json + go --path $'x\xff'
	answers 2 policy check p.json go --path $'x\xff'
	expect 'e.error.code == "VALIDATION_ERROR"'
}
