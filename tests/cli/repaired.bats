#!/usr/bin/env bats
# repaired: `fix_command` of a wrong call is the whole call, repaired, and safe to run as it stands.

load lib/helper

prepare() {
	lua5.4 "$ROOT/tests/repair/project.lua" .
	known
}

# fixed ARGS…: the fix_command of this wrong call; "None" where there is none.
fixed() {
	call "$@"
	[ "$status" -ne 0 ]
	fix=$(field 'e.error.get("fix_command")')
}

# unfixed ARGS…: a wrong call that has no fix_command
unfixed() {
	fixed "$@"
	[ "$fix" = None ] || { echo "$*: $fix" >&2; return 1; }
}

repairs() {
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" python3 "$ROOT/tests/repair/run.py" "$@"
}

@test "REQ-C-030 of 191 wrong calls and 166 others each, but for three, succeeds after exactly one step, or rightly has no fix" {
	repairs calls.txt 96 95
	repairs later.txt 33 33
	repairs latest.txt 48 49
}

@test "REQ-C-030 of 120 wrong calls of 307 commands 102 have the right fix, and the others none" {
	rm -r commands
	lua5.4 "$ROOT/tests/search/commands.lua" . 307
	known
	repairs others.txt 60 60
	local words
	for words in "volume shrink v-3 50" "cluster shrink prod 3" "host start web-1" "service scale checkout +2" "service scale checkout -3" \
		"delete everything" "user activate a@b.org" "service undeploy checkout" "incident reopen 17" "tenant unsuspend acme" "repo unprotect web main" \
		"firewall remove --port 443" "db drop orders users" "db delete orders --keep-backup" "order refund 1001 20" "host maintenance web-1 off" \
		"tenant suspend --name acme v-3" "db migrate --name orders --down" "bucket sync --delete ./x assets" "service deploy checkout --from staging" "publish 2"; do
		# shellcheck disable=SC2086
		unfixed $words
	done
	call user activate a@b.org
	expect '"Did you mean" not in e.error.suggestion'
}

@test "REQ-C-030 no fix confirms or repeats a secret, however the call was wrong, and what destroys is refused until it is confirmed" {
	local words
	for words in "token create ci --password hunter2" "token create --name ci --passwrd hunter2" \
		"aprove 7" "self aprove 7" "rejct 7" "+ alert lst" "token create --name ci --api-key=hunter2" "token craete ci --foo hunter2" \
		"alert silence password=hunter2 7" "service restart x y z"; do
		echo "$words"
		# shellcheck disable=SC2086
		fixed $words
		[ "$fix" = None ]
	done
	for words in "service delete --nam x" "service delete x --confirm-destructive" "delete service x" "service rm x --force" "service delete x -y"; do
		echo "$words"
		# shellcheck disable=SC2086
		fixed $words
		[ "$fix" = "runner service delete --name x" ]
	done
	call service delete --name x
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and e.error.context.would_affect[0]["arguments"] == {"name": "x"}'
	fixed alert silence 7 --force
	[ "$fix" = "runner alert silence --id 7" ]
	fixed alert silence 7 -y
	[ "$fix" = "runner alert silence --id 7" ]
}

@test "REQ-C-030 of 327 wrong calls none does anything, and its fix what was meant and nothing else, or there is rightly none" {
	rm -r commands
	lua5.4 "$ROOT/tests/repair/matrix.lua" .
	known
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" python3 "$ROOT/tests/repair/matrix.py"
}

@test "REQ-C-030 a fix keeps every value as it was, quoted for a shell, and runs nothing" {
	command_file ran/it <<'LUA'
return { description = "x", danger_level = "mutating", args = { { "text", "string", required = true } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(args) io.open("ran", "a"):write("x"):close() return args end }
LUA
	fixed ran it --texxt 'it'"'"'s $HOME; a * "b"'
	[ ! -e ran ]
	eval "set -- ${fix#runner }"
	call "$@"
	expect 'e.data["text"] == "it'"'"'s $HOME; a * \"b\""'
	[ -e ran ]
}

@test "a fix has a value under the right name that it was given by, whatever else is missing" {
	command_file save <<'LUA'
return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	args = { { "src", "string", positional = true, required = true }, { "dst", "string", positional = true }, { "log", "string", positional = true },
		{ "mode", "enum", values = { "copy", "move" } } }, run = function(args) return args end }
LUA
	fixed save a --log b --mode Copy
	[ "$fix" = "runner save a --log b --mode copy" ]
	fixed save --dst b --mode Copy
	[ "$fix" = None ]
	fixed save --src a b --mode Copy
	[ "$fix" = None ]
}

@test "two commands that change something and may both be meant are no fix, and neither are guesses for one" {
	command_file site/publish <<<'return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } }, run = print }'
	command_file page/publish <<<'return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } }, run = print }'
	fixed publish
	[ "$fix" = None ]
	fixed host reboot --name web-1 soon
	[ "$fix" = None ]
}

@test "where a call that changes something isn't sure, what may be meant is said in whole calls, each of which is right" {
	rm -r commands
	lua5.4 "$ROOT/tests/repair/matrix.lua" .
	known
	fixed disk attach a b
	[ "$fix" = None ]
	expect 'e.error.suggestion == "Write the one that is meant: runner disk attach --disk a --machine b; or runner disk attach --machine a --disk b"'
	local number
	for number in 1 2; do
		call disk attach a b
		eval "set -- $(field "e.error.suggestion.split(': ')[1].split('; or ')[$number - 1].replace('runner ', '')")"
		[ ! -e victims ]
		call "$@"
		expect 'sorted(e.data.values()) == ["a", "b"]'
		rm victims
	done
	fixed customer set cus_1 vip
	expect '"tag" not in e.error.suggestion.split(":")[0]'
	fixed rollout restart deployment/checkout
	expect 'e.error.suggestion == "If that is meant, write runner deployment restart checkout"'
	fixed disk attach a b --mode read-wirte --note "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	expect '"ghp_" not in str(e.error.get("suggestion"))'
}

# a project in which every wrong guess has something to hit
tempting() {
	local name argument switch
	rm -rf commands
	for name in deploys/promote:svc:yes services/restart:service:force alerts/silence:id: secrets/set:name: secrets/list:: login:name: deploys/show:: \
		services/scale:replicas: users/disable:user:backup things/destroy:name: tags/put:tag:skip-backup deploys/start:svc:; do
		IFS=: read -r name argument switch <<<"$name"
		[ "$switch" != yes ] || switch=
		{
			echo "return { description = 'x', danger_level = '$([[ $name == *show || $name == *list ]] && echo safe || echo mutating)',"
			echo "exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } }, args = {"
			[ -z "$argument" ] || echo "{ '$argument', '$([[ $argument == id || $argument == replicas ]] && echo integer || echo string)', required = true },"
			[ -z "$switch" ] || echo "{ '$switch', 'boolean' },"
			[ "$name" != services/scale ] || echo "{ 'env', 'enum', values = { 'dev', 'prod' } }, { 'note', 'string' },"
			echo "}, run = function(args) return args end }"
		} | command_file "$name"
	done
	cat >tasks.lua <<<'return { tasks = { ["deploy-prod"] = { description = "x", danger_level = "mutating", run = "true" } } }'
}

@test "REQ-C-030 no fix confirms: not by a flag in another case, with a value, with a long dash, or in front" {
	tempting
	local flag
	for flag in --Yes --yes=true --yes=1 —yes --YES --Live --confirm_destructive; do
		fixed deploys promote --Svc web "$flag"
		[ "$fix" = "runner deploys promote --svc web" ]
	done
	unfixed deploys promote --Svc web --yse
	unfixed --yes deploys promote --svcc web
	fixed deploys promote --Svc web
	[ "$fix" = "runner deploys promote --svc web" ]
	body sure 'interactive = true,' <<<'return ctx:confirm "Sure?"'
	answers 4 sure
	expect 'e.error.code == "INPUT_REQUIRED" and "fix_command" not in e.error and e.error.fix_required == "Confirm with --yes"'
}

@test "REQ-C-030 a word that says no, or less, is never left out of a fix" {
	tempting
	unfixed services restart --exclude web
	unfixed services restart --not-service web
	unfixed services restart --service web --without-force
	unfixed services restart --service web --check
	unfixed services restart --check web
	unfixed services restart except web
	unfixed users disable --except bob
	unfixed users disable --reason spam
	unfixed alerts unsilence 3
	unfixed things undestroy x
	unfixed tags put --untag x
	unfixed tags put --tag x --backup
	unfixed services scale --by 3
}

@test "REQ-C-030 a command that changes something is named so that it is sure, and no value is guessed" {
	tempting
	unfixed secrets get API
	unfixed logs web
	fixed logni web
	[ "$fix" = "runner login --name web" ]
	unfixed deploy-staging
	unfixed services start --service web
	fixed services restrat --service web
	[ "$fix" = "runner services restart --service web" ]
	unfixed services scale --Replicas 1 --env prod-dr
	unfixed services scale --Replicas 1 --env devops
	unfixed services scale --Replicas 1 --env pro
	unfixed services scale --replicas 1,2
	unfixed alerts silence --id 3,4
	unfixed alerts silence --id '#3'
	unfixed services scale --Replicas 1 --note=a --note=b
	unfixed services scale --replicas 1,200 --env prod
	fixed services scale --replicas 1200 --env ' PROD'
	[ "$fix" = "runner services scale --replicas 1200 --env prod" ]
	fixed restart service --servce web
	[ "$fix" = "runner services restart --service web" ]
	fixed alert silence 3
	[ "$fix" = "runner alerts silence --id 3" ]
	fixed services scale --Replicas 1 --note=-x
	[ "$fix" = "runner services scale --replicas 1 --note=-x" ]
}

@test "REQ-C-030 no fix repeats what looks like a secret, or what an answer can't repeat" {
	tempting
	local value
	for value in ghp_abcdefghijklmnopqrstuvwxyz0123456789 AKIAIOSFODNN7EXAMPLEX xoxb-123456789012-abcdefghij postgres://u:pw@h \
		'Authorization: Bearer abc' eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk $'b\x1b[31mob' $'a\tb' $'a\xff'; do
		unfixed services scale --Replicas 1 --note "$value"
	done
	fixed services scale --Replicas 1 --note bob
	[ "$fix" = "runner services scale --replicas 1 --note bob" ]
}

@test "a fix is a call that the policy allows, and flags in front stay there as they are" {
	tempting
	echo '{ "max_danger": "safe" }' >safe.json
	unfixed --policy safe.json alert silence 3
	echo '{ "deny": ["alerts silence"] }' >deny.json
	unfixed --policy deny.json alert silence 3
	echo '{ "allow": ["alerts"] }' >allow.json
	fixed --policy allow.json alert silence 3
	[ "$fix" = "runner --policy allow.json alerts silence --id 3" ]
	fixed --no-config deploys start --Svc web
	[ "$fix" = "runner --no-config deploys start --svc web" ]
}

@test "of what a policy refuses another command is not meant in its place, nor one with other values" {
	local keys='args = { { "id", "string", positional = true, required = true } }, exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } }, run = print }'
	for name in person/disable:Disable person/suspend:Suspend wall/allow:Allow wall/deny:Deny; do
		command_file "${name%:*}" <<<"return { description = '${name#*:} it', danger_level = 'mutating', $keys"
	done
	known
	echo '{ "deny": ["person disable", "wall deny"] }' >deny.json
	for words in "person deactivate a" "person disabl a" "people disable a" "wall block a" "wall refuse a" "disable person a"; do
		echo "$words"
		# shellcheck disable=SC2086
		unfixed --policy deny.json $words
		expect '"Did you mean" not in str(e.error.get("suggestion")) and "write runner" not in str(e.error.get("suggestion"))'
		expect '"person disable" not in str(e.error) and "wall deny" not in str(e.error)'
	done
	echo '{ "allow": { "person disable": { "args": { "id": ["b"] } } } }' >only.json
	unfixed --policy only.json person deactivate a
	unfixed --policy only.json person disable --id a --nver
	echo '{ "allow": { "person disable": { "args": { "id": ["b"] } }, "person suspend": {} } }' >both.json
	unfixed --policy both.json person deactivate a
	expect '"person suspend a" not in str(e.error)'
	fixed --policy only.json person deactivate b
	[ "$fix" = "runner --policy only.json person disable b" ]
}

@test "a dot path is a name only as it is written in the manifest" {
	tempting
	local path
	answers 0 deploys.show
	for path in .deploys.show deploys..show deploys.show.; do
		unfixed "$path"
		expect 'e.error.code == "COMMAND_NOT_FOUND"'
	done
}

@test "a number of rows that nothing limits is said, and so is each word beside a flag that isn't known" {
	fixed user list --tail 5 --role Admin
	[ "$fix" = None ]
	expect 'e.error.suggestion == "If that is meant, write runner user list --role admin"'
	call ticket reply a-17 --txet x
	expect '"a-17" in str(e.error.errors[-1])'
	call ticket reply -y a-17 --nosuch x
	expect 'any("\x27a-17\x27" in p["message"] for p in e.error.errors)'
}

@test "--output, which has the answer, is said where the command has a place of its own" {
	body save 'args = { { "path", "string", description = "Where to" }, { "name", "string" } },' <<<'return args'
	answers 0 save --name x --output out.json
	expect '[w["code"] for w in e["warnings"]] == ["OUTPUT_IS_RUNNERS"]'
	answers 0 save --name x --path y --output out.json
	expect 'e["warnings"] == []'
	body keep 'args = { { "path", "path", required = true }, { "name", "string" } },' <<<'return args'
	fixed keep --name x --output ./y
	[ "$fix" = "runner keep --name x --path ./y" ]
}

@test "any words, of any bytes, have an answer with the same error as without a fix" {
	local words
	for words in "" "--" "-" "---" "--=" "=" "--=x" "%a+ [" "a.b.c.d.e" "..." "list list list list" $'\xff\xfe' "--sev" "--severity" \
		"$(printf 'x%.0s' {1..3000})" "—id 7" "run" "run run run"; do
		# shellcheck disable=SC2086
		call alert $words
		assert_envelope
		call "$words"
		assert_envelope
		[ "$status" -eq 2 ] || [ "$status" -eq 0 ]
		expect 'e.ok or e.error["code"] in ("COMMAND_NOT_FOUND", "VALIDATION_ERROR")'
	done
}

@test "through exec and MCP no fix_command is a command line, and no advice names a flag" {
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <<<'{"_cmd":"alert silence","_id":"1","alert-id":7}' >exec.txt || true
	grep -q VALIDATION_ERROR exec.txt
	[ "$(grep -c '"fix_command"' exec.txt)" -eq 0 ]
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" PYTHONPATH="$ROOT/tests/cli/lib" python3 - <<'PY'
from mcp import Server
with Server() as s:
    result = s.call("alert_silence", {"alert-id": 7})
    assert result["isError"] and "fix_command" not in str(result), result
    assert "--" not in str(result) and "Unknown argument 'alert-id' in arguments" in str(result), result
    result = s.call("alert_silence", {})
    assert "Missing argument id" in str(result) and "--" not in str(result), result
PY
}

@test "a value without its flag is never advised away, and words divided otherwise name their command" {
	local keys='exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, run = function(args) return args end }'
	command_file backup/delete <<<"return { description = 'x', danger_level = 'destructive', args = { { 'snapshot', 'string' } }, $keys"
	command_file backup/rule-set <<<"return { description = 'x', danger_level = 'mutating', args = { { 'name', 'string' }, { 'team', 'string' } }, $keys"
	command_file backup/rule-add <<<"return { description = 'x', danger_level = 'mutating', $keys"
	command_file backup/rule-delete <<<"return { description = 'x', danger_level = 'destructive', $keys"
	call backup delete snap-42 --force
	expect '[p.suggestion for p in e.error.errors] == ["Use --confirm-destructive", "Write --snapshot \x27snap-42\x27"]'
	call backup rule-set x --team y
	expect 'e.error.suggestion == "Write --name \x27x\x27"'
	call backup rule-set x
	expect 'e.error.suggestion == "Say which flag \x27x\x27 belongs to: --name, --team"'
	call backup rule-add x
	expect 'e.error.suggestion == "Write runner backup rule-add"'
	fixed backup rule set --name x
	[ "$fix" = "runner backup rule-set --name x" ]
	fixed backup set-rule --name x
	expect 'e.error.suggestion == "Did you mean \x27backup rule-set\x27?"'
	fixed backup rule delete
	[ "$fix" = "runner backup rule-delete" ]
	expect 'e.error.suggestion == "Did you mean \x27backup rule-delete\x27?"'
}
