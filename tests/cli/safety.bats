#!/usr/bin/env bats
# Commands that change something: dry runs, confirmations, effects.

load lib/helper

# changing NAME LEVEL [KEYS…] <<'LUA': a command of that level with the given body.
changing() {
	local name=$1 level=$2
	shift 2
	{
		printf 'return { description = "x", danger_level = "%s", %s\n' "$level" "$*"
		echo 'exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },'
		echo 'run = function(args, ctx)'
		cat
		echo 'end }'
	} | command_file "$name"
}

wipe() {
	changing wipe destructive "$@" 'args = { { "target", "string", default = "all" }, { "key", "string", secret = true } },' <<'LUA'
local f = io.open("wiped", "a") f:write(ctx.attempt) f:close()
return { effect = "deleted" }
LUA
}

# purge: knows dry runs, and changes something in every way that ctx has
purge() {
	changing purge destructive 'dry_run = true,' <<'LUA'
local fs = require "fs"
ctx.fs.write("m1", "x")
fs.mkdirs("m2/m3")
ctx.fs.rename("kept", "moved")
local touched = ctx:run{ "touch", "m4" }
ctx:pipeline{ { "echo", "x" }, { "tee", "m5" } }
local p = ctx:spawn{ "touch", "m6" }
p:wait()
local read = ctx:run{ "cat", "kept", reads = true }
local answer = ctx:http{ url = "http://u:p4ss@127.0.0.1:1/x", method = "DELETE" }
ctx:lock("purge"):release()
return { effect = "deleted", read = read.stdout, dry = ctx.dry_run, ok = touched.ok, status = answer.status }
LUA
	echo data >kept
}

nothing_changed() {
	[ "$(find . -name 'm[1-6]' -o -name moved -o -name wiped -o -name locks)" = "" ]
}

# --- dry runs -------------------------------------------------------------------------

@test "REQ-C-004 --dry-run of a command that does not know dry runs ends after validation" {
	wipe
	answers 0 K=s3cret wipe --dry-run --target one --key-from-env K
	expect 'e.data == { "effect": "would_run", "would_affect": { "command": "wipe", "arguments": { "target": "one", "key": "***" } } }'
	expect 'e.meta.dry_run is True and [w.code for w in e.warnings] == ["DRY_RUN_UNDECLARED"]'
	nothing_changed
	answers 2 wipe --dry-run --nonsense
	changing mild mutating <<<'return { effect = "noop" }'
	answers 0 mild --dry-run
	expect 'e.data.effect == "would_run" and e.warnings == []'
}

@test "REQ-C-004 a dry run calls run where the command declares it, and nothing changes" {
	purge
	answers 0 purge --dry-run
	nothing_changed
	expect 'e.data.effect == "would_delete" and e.data.dry is True and e.data.read == "data\n" and e.data.ok and e.data.status == 200'
	expect '[(w["call"], w["target"]) for w in e.data.would] == [("fs.write", "m1"), ("fs.mkdirs", "m2/m3"), ("fs.rename", "kept"), ("run", "touch m4"), ("pipeline", "echo x | tee m5"), ("spawn", "touch m6"), ("http", "http://127.0.0.1:1/x"), ("lock", "purge")]'
	expect 'e.data.would_affect == { "changes": 8 } and e.meta.dry_run is True'
}

@test "REQ-C-004 a dry run fails where run leaves ctx to change something" {
	local call
	for call in 'os.execute("touch m1")' 'io.popen("touch m1")' 'io.open("m1", "w")' 'io.open("m1", "r+")' 'io.output("m1")' \
		'os.remove("commands/bad.lua")' 'os.rename("commands", "m1")'; do
		changing bad mutating 'dry_run = true,' <<<"$call return { effect = 'updated' }"
		answers 1 bad --dry-run
		expect 'e.error.code == "INTERNAL_ERROR" and "in a dry run" in e.error.message and "commands/bad.lua:" in e.error.message'
		nothing_changed
	done
	changing good mutating 'dry_run = true,' <<<"local f = io.open('commands/good.lua') return { effect = 'noop', n = #f:read('a') }"
	answers 0 good --dry-run
	expect 'e.data.effect == "would_noop" and e.data.would == [] and e.data.n > 0'
}

@test "REQ-C-004 a dry run shows the failure of run, and a wrong spec is still one" {
	changing fails mutating 'dry_run = true,' <<<'ctx:fail("NOT_FOUND", "there is no such thing")'
	answers 5 fails --dry-run
	changing wrong mutating 'dry_run = true,' <<<'ctx:run{ "true", cwdd = "x" }'
	answers 1 wrong --dry-run
	expect '"cwdd" in e.error.message'
}

@test "REQ-C-004 what a dry run calls does a dry run too" {
	wipe
	changing outer mutating 'dry_run = true,' <<<'return { effect = "updated", inner = ctx:call("wipe") }'
	answers 0 outer --dry-run
	expect 'e.data.inner.effect == "would_run" and e.meta.dry_run is True'
	nothing_changed
	answers 0 RUNNER_DRY_RUN=1 wipe
	nothing_changed
}

@test "REQ-C-004 an author's own argument dry_run feeds ctx.dry_run and stays the author's" {
	changing own mutating 'args = { { "dry_run", "boolean" } },' <<<'return { effect = "noop", args = args.dry_run, ctx = ctx.dry_run }'
	answers 0 own --dry-run
	expect 'e.data == { "effect": "noop", "args": True, "ctx": True } and e.meta.dry_run is True'
	answers 0 own
	expect 'e.data.args is False and e.data.ctx is False and "dry_run" not in e.meta'
	answers 0 own --runner-dry-run
	expect 'e.data.effect == "would_run"'
	body safe 'args = { { "dry_run", "boolean" } },' <<<'return { ctx = ctx.dry_run }'
	answers 0 safe --dry-run
	expect 'e.data.ctx is True'
}

@test "REQ-C-004 safe commands have no --dry-run" {
	body safe <<<'return {}'
	answers 2 safe --dry-run
	expect 'e.error.errors[0].code == "UNKNOWN_FLAG"'
}

# --- confirmation -----------------------------------------------------------------------

@test "REQ-O-021 a destructive command refuses to run unconfirmed and says what it would affect" {
	wipe
	answers 2 K=s3cret wipe --target one --key-from-env K
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and e.error.phase == "validation" and e.error.retryable is False and e.error.side_effects == "none"'
	expect 'e.error.context == { "command": "wipe", "danger_level": "destructive", "would_affect": [ { "command": "wipe", "arguments": { "target": "one", "key": "***" } } ] }'
	nothing_changed
	answers 2 wipe --yes
	answers 2 wipe --target one --retries 3
	nothing_changed
	answers 0 wipe --confirm-destructive
	expect 'e.meta.confirmed is True and e.data.effect == "deleted" and "dry_run" not in e.meta'
	[ "$(<wiped)" = 1 ]
}

@test "REQ-O-021 the dry run says what an unconfirmed call would affect, and changes nothing" {
	purge
	answers 2 purge
	nothing_changed
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and e.error.context.would_affect[0] == { "call": "fs.write", "target": "m1" }'
	expect 'len(e.error.context.would_affect) == 8'
	changing named destructive 'dry_run = true,' <<<'return { effect = "deleted", would_affect = { "a", "b" } }'
	answers 2 named
	expect 'e.error.context.would_affect == ["a", "b"]'
	changing fails destructive 'dry_run = true,' <<<'error "no"'
	answers 2 fails
	expect 'e.error.context.would_affect == [ { "command": "fails", "arguments": {} } ]'
}

@test "REQ-O-021 only destructive commands take --confirm-destructive" {
	changing mild mutating <<<'return { effect = "updated" }'
	answers 2 mild --confirm-destructive
	answers 0 mild
	expect '"confirmed" not in e.meta'
}

@test "REQ-O-021 a caller confirms the destructive command that it calls" {
	wipe
	changing outer mutating <<<'return { effect = "updated", inner = ctx:call("wipe", args) }'
	answers 2 outer || [ "$status" -ne 0 ]
	nothing_changed
	expect '"--confirm-destructive" not in str(e.error) and "(called by \x27outer\x27)" in e.error["message"]'
	expect 'e.error["fix_required"].endswith("ctx:call(\"wipe\", { confirm_destructive = true })") and e.error["context"]["caller"] == "outer"'
	changing outer mutating <<<'return { effect = "updated", inner = ctx:call("wipe", { confirm_destructive = true }) }'
	answers 0 outer
	[ "$(<wiped)" = 1 ]
}

@test "REQ-O-021 a person at the terminal sees what would happen, and only yes runs it" {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" destructive_is_confirmed
	assert_no_process_left
}

@test "REQ-O-021 a person sees every argument, however long another one is, and no character that hides one" {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" every_argument_is_shown
	assert_no_process_left
}

@test "REQ-O-021 a retry is not asked for again" {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" destructive_is_confirmed_once
	assert_no_process_left
}

# --- dry runs by default ------------------------------------------------------------------

@test "REQ-O-048 a command with safe_default changes something only with --live" {
	wipe 'safe_default = true,'
	answers 0 wipe
	expect 'e.data.effect == "would_run" and e.meta.dry_run is True'
	answers 0 wipe --live --dry-run
	expect 'e.meta.dry_run is True'
	nothing_changed
	answers 0 wipe --live
	expect 'e.data.effect == "deleted" and e.meta.dry_run is False and e.meta.confirmed is True'
	[ "$(<wiped)" = 1 ]
}

@test "REQ-O-048 safe_default is for destructive commands, and --live for those that declare it" {
	changing mild mutating 'safe_default = true,' <<<'return {}'
	answers 4 mild
	expect 'e.error.code == "COMMAND_INVALID" and "safe_default" in e.error.message'
	wipe
	answers 2 wipe --live
	nothing_changed
}

@test "messages call a command of a group as it is typed" {
	changing db/drop destructive <<<'return {}'
	answers 2 db drop
	expect 'e.error.message.startswith("\x27db drop\x27 is destructive")'
	answers 0 db drop --confirm-destructive
	expect 'e.warnings[0]["message"].startswith("\x27db drop\x27 is destructive, but data.effect")'
}

# --- effects --------------------------------------------------------------------------------

@test "REQ-C-003 a change that names no effect is a warning, not a failure" {
	local data
	for data in 'nil' '{}' '{ effect = "changed" }' '"text"'; do
		changing change mutating <<<"return $data"
		answers 0 change
		expect '[w["code"] for w in e.warnings] == ["EFFECT_MISSING"]'
	done
	for data in created updated deleted noop; do
		changing change mutating <<<"return { effect = '$data' }"
		answers 0 change
		expect "e.warnings == [] and e.data.effect == '$data'"
	done
	body safe <<<'return {}'
	answers 0 safe
	expect 'e.warnings == []'
}

@test "REQ-C-003 lint reports a change that never names an effect as a problem" {
	changing change mutating 'examples = { { description = "x", command = "runner change" } },' <<<'return {}'
	call lint
	[ "$status" -ne 0 ]
	grep -q 'never names an effect' out.txt
	changing change mutating 'examples = { { description = "x", command = "runner change" } },' <<<'return { effect = "noop" }'
	answers 0 lint
}
