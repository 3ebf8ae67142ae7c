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

repairs() {
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" python3 "$ROOT/tests/repair/run.py" "$@"
}

@test "REQ-C-030 of 191 wrong calls and 66 others all but one succeed after exactly one step, or rightly have no fix" {
	repairs calls.txt 96 95
	repairs later.txt 33 33
}

@test "REQ-C-030 no fix confirms, destroys or repeats a secret, however the call was wrong" {
	local words
	for words in "service delete --nam x" "service delete x --confirm-destructive" "delete service x" "db dorp --name x" \
		"alert silence --idd 7 --yes" "token create ci --password hunter2" "token create --name ci --passwrd hunter2" \
		"aprove 7" "self aprove 7" "rejct 7" "+ alert lst" "token create --name ci --api-key=hunter2" "token craete ci --foo hunter2" "alert silence password=hunter2 7" "service restart x y z"; do
		echo "$words"
		# shellcheck disable=SC2086
		fixed $words
		[ "$fix" = None ]
	done
	fixed alert silence 7 --force
	[ "$fix" = "runner alert silence --id 7" ]
	fixed alert silence 7 -y
	[ "$fix" = "runner alert silence --id 7" ]
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

@test "two commands that change something and may both be meant are no fix, and neither are guesses for one" {
	command_file site/publish <<<'return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } }, run = print }'
	command_file page/publish <<<'return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } }, run = print }'
	fixed publish
	[ "$fix" = None ]
	fixed host reboot --name web-1 soon
	[ "$fix" = None ]
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
