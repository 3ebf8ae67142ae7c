#!/usr/bin/env bats
# conformance: a tool that keeps the CLI Agent Spec passes every check of `runner
# conformance`, and each way to break it fails the check that is there for it.

load lib/helper

# profile SECONDS COMMAND…: a profile that reaches every check.
profile() {
	python3 - "$@" >profile.json <<'PY'
import json, sys
print(json.dumps({"schema_version": "1.0", "tool": "tool", "command": sys.argv[2:], "timeout_seconds": int(sys.argv[1]),
	"manifest": ["manifest"],
	"argument_order": {"command_path": ["show"], "local_args": ["--upper"], "global_flag": "--format",
		"value": "json", "alternate_value": "plain", "positional": "me"},
	"probes": [{"name": "show", "argv": ["show"], "kind": "read"},
		{"name": "unknown flag", "argv": ["show", "--nope"], "kind": "invalid"},
		{"name": "purge", "argv": ["purge"], "kind": "destructive", "dry_run_flag": "--dry-run"},
		{"name": "rows", "argv": ["rows"], "kind": "stream"},
		{"name": "interrupted", "argv": ["rows", "--slow"], "kind": "stream", "signal": "INT", "after_lines": 2,
			"deadline_seconds": int(sys.argv[1])}]}))
PY
}

# streams SECONDS: a profile of the stream probes alone.
streams() {
	profile "$1" "$python" -S "$BATS_TEST_DIRNAME/lib/agent_tool.py"
	python3 - profile.json <<'PY'
import json, sys
profile = json.load(open(sys.argv[1]))
del profile["argument_order"]
profile["probes"] = [p for p in profile["probes"] if p["kind"] == "stream"]
json.dump(profile, open(sys.argv[1], "w"))
PY
}

# -S: what is installed beside Python is not needed, and takes longer than the tool
prepare() {
	python=$(command -v python3)
	profile 20 "$python" -S "$BATS_TEST_DIRNAME/lib/agent_tool.py"
}

# flaw NAME CHECK…: with it, these checks fail and no others.
flaw() {
	local name=$1
	shift
	call FLAW="$name" conformance profile.json
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error["code"] == "CONFORMANCE_FAILED"'
	run field '" ".join(c["id"] for c in e.data["checks"] if c["status"] == "fail")'
	[ "$(tr ' ' '\n' <<<"$output" | sort)" = "$(printf '%s\n' "$@" | sort)" ]
	expect 'all(c["failures"] for c in e.data["checks"] if c["status"] == "fail")'
}

@test "a tool that keeps the spec passes all checks and reaches all levels" {
	call conformance profile.json
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["summary"] == {"passed": 14, "failed": 0, "skipped": 0}'
	expect 'set(e.data["levels"].values()) == {"pass"}'
	PYTHONPATH=$BATS_TEST_DIRNAME/lib python3 - "$ROOT/docs/schema/conformance-result.json" <<'PY'
import json, schema, sys
root = json.load(open(sys.argv[1]))
errors = schema.Validator(root).errors(json.load(open("out.txt"))["data"], root)
assert not errors, errors
PY
}

@test "a tool that hangs, or waits for stdin, is ended and named" {
	profile 4 "$python" -S "$BATS_TEST_DIRNAME/lib/agent_tool.py"
	flaw reads_stdin no_hang_stdin_open
	expect '[f["timed_out"] for f in [c for c in e.data["checks"] if c["id"] == "no_hang_stdin_open"][0]["failures"]] == [True] * 3'
	flaw hangs no_hang_stdin_closed manifest_valid argument_order stream_contract stream_sigint
	expect 'e.data["levels"] == {"level_1": "fail", "level_2": "fail", "level_3": "fail"}'
}

@test "what is not one valid envelope fails" {
	flaw prose_on_stdout json_envelope dry_run_preview manifest_valid argument_order
	flaw escape_on_stdout json_envelope stdout_no_ansi no_color_honored dry_run_preview manifest_valid argument_order
	flaw envelope_without_meta json_envelope dry_run_preview manifest_valid argument_order stream_contract stream_sigint
	flaw colour_despite_no_color no_color_honored
	flaw help_on_stdout help_off_stdout
}

@test "wrong exit codes fail" {
	flaw wrong_exit_in_meta exit_code_contract stream_contract
	flaw unknown_exit_code exit_code_contract invalid_input_exit_2 destructive_refuses_unconfirmed dry_run_preview argument_order
	flaw invalid_exits_1 invalid_input_exit_2 destructive_refuses_unconfirmed argument_order
}

@test "a destructive command that runs unconfirmed, or has no preview, fails" {
	flaw purges_unconfirmed destructive_refuses_unconfirmed
	expect 'e.data["levels"] == {"level_1": "pass", "level_2": "fail", "level_3": "fail"}'
	flaw dry_run_fails dry_run_preview
}

@test "a wrong manifest and options that depend on their place fail" {
	flaw manifest_without_scopes manifest_valid
	expect 'e.data["levels"] == {"level_1": "pass", "level_2": "pass", "level_3": "fail"}'
	expect '"required_scopes" in [c for c in e.data["checks"] if c["id"] == "manifest_valid"][0]["failures"][0]["detail"]'
	flaw option_before_ignored argument_order
	flaw last_value_wins argument_order
	flaw option_after_positional_ignored argument_order
}

@test "a stream without its one last line, or with wrong rows, fails" {
	local name
	streams 20
	for name in no_last_line line_after_last wrong_count summary_and_exit_3 row_is_prose blank_line numbering_skips; do
		flaw "$name" stream_contract
	done
}

@test "a stream that answers SIGINT in another way fails" {
	streams 20
	flaw sigint_other_code stream_sigint
	flaw sigint_without_partial stream_sigint
	flaw sigint_exits_1 stream_contract stream_sigint
	streams 4
	flaw sigint_ignored stream_contract stream_sigint
}

@test "checks without a probe are skipped, and leave their level incomplete" {
	echo '{"schema_version": "1.0", "tool": "t", "command": ["'"$python"'", "-S", "'"$BATS_TEST_DIRNAME"'/lib/agent_tool.py"],
		"timeout_seconds": 5, "probes": [{"name": "show", "argv": ["show"], "kind": "read"}]}' >profile.json
	call conformance profile.json
	[ "$status" -eq 0 ]
	expect 'e.data["levels"] == {"level_1": "incomplete", "level_2": "incomplete", "level_3": "incomplete"}'
	expect '[c["skipped_reason"] for c in e.data["checks"] if c["id"] == "manifest_valid"] == ["the profile names no manifest command"]'
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER conformance profile.json" /dev/null </dev/null >out.txt
	grep -q 't: 7 passed, 0 failed, 7 skipped; level 1 incomplete' out.txt
	grep -q '^skip  level 3  manifest_valid  (the profile names no manifest command)' out.txt
}

@test "a profile that can't be used is exit code 2, and nothing runs" {
	local text
	for text in '' '{' '[]' '{"tool": "x"}' \
		'{"schema_version": "1.0", "tool": "t", "command": ["./nothing"], "timeout_seconds": 1, "probes": []}' \
		'{"schema_version": "1.0", "tool": "t", "command": ["touch", "ran"], "timeout_seconds": 0, "probes": []}' \
		'{"schema_version": "1.0", "tool": "t", "command": ["touch", "ran"], "timeout_seconds": 1, "probes": [{"name": "a", "argv": [], "kind": "destructive"}]}' \
		'{"schema_version": "1.0", "tool": "t", "command": ["touch", "ran"], "timeout_seconds": 1, "probes": [{"name": "a", "argv": [], "kind": "stream", "signal": "INT"}]}' \
		'{"schema_version": "1.0", "tool": "t", "command": ["touch", "ran"], "timeout_seconds": 1, "probes": [{"name": "a", "argv": [], "kind": "read"}, {"name": "a", "argv": [], "kind": "read"}]}'; do
		echo "$text" >bad.json
		call conformance bad.json
		assert_envelope
		[ "$status" -eq 2 ]
		expect 'e.error["errors"][0]["field"] == "profile" and e.error["errors"][0]["code"] == "INVALID_ARGUMENT"'
	done
	[ ! -e ran ]
	call conformance missing.json
	[ "$status" -eq 2 ]
}

@test "the profile in the documentation is one, and reaches every check" {
	sed -n '/^```json$/,/^```$/{ /^```/d; p }' "$ROOT/docs/reference/conformance.md" >profile.json
	printf '#!/bin/sh\necho "$@" >>calls.txt\n' >mytool
	chmod +x mytool
	call conformance profile.json
	assert_envelope
	expect 'e.error["code"] == "CONFORMANCE_FAILED" and e.data["tool"] == "mytool"'
	expect 'e.data["summary"]["skipped"] == 0'
	grep -qx 'purge --dry-run' calls.txt
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER conformance profile.json" /dev/null </dev/null | tr -d '\r' >shown.txt
	grep -q '^fail  level 1  json_envelope ' shown.txt
}
