#!/usr/bin/env bats
# hints: whoever does what the error of a mistyped call says gets on with it.

load lib/helper

prepare() {
	known
	local name
	for name in alerts/silence alerts/list hosts/list; do
		command_file "$name" <<<'return { description = "x", danger_level = "safe", args = { { "what", "string", positional = true } }, run = function(args) return args end }'
	done
	command_file wipe <<<'return { description = "x", danger_level = "destructive", dry_run = true, run = function() return { wiped = true } end,
		exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } } }'
	command_file touch <<<'return { description = "x", danger_level = "mutating", run = function(_, ctx) return { sure = ctx:confirm "Sure?" } end,
		exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } } }'
}

# refused SUGGESTION ARGS…: the call is refused with that, and with one problem alone
refused() {
	local wanted=$1
	shift
	call "$@"
	[ "$status" -eq 2 ]
	assert_envelope
	[ "$(field 'e.error.get("suggestion") or e.error.fix_required')" = "$wanted" ] # never the same twice
	expect 'len(e["error"].get("errors", [1])) == 1'
}

@test "a flag that means yes elsewhere is answered with the one that confirms this command" {
	local flag
	for flag in --force -f -y --assume-yes --auto-approve; do
		refused "Use --confirm-destructive" wipe "$flag"
		refused "Use --yes" touch "$flag"
	done
	call wipe --confirm-destructive
	expect 'e.data["wiped"]'
	call touch --yes
	expect 'e.data["sure"]'
}

@test "a format behind -o is a format, and a file is a file" {
	local format flag
	for flag in -o -f --out --output-format --as; do
		for format in json jsonl tsv table plain; do
			refused "Use --format $format" alerts list "$flag" "$format"
			[[ $flag == -[of] ]] || refused "Use --format $format" alerts list "$flag=$format"
			call alerts list --format "$format"
			[ "$status" -eq 0 ]
		done
		refused "Use --format json" alerts list "$flag" yaml
		refused "Use --format tsv" alerts list "$flag" csv
	done
	refused "Use --output FILE" alerts list -o out.txt
	refused "Use --output FILE" alerts list -o
	refused "Use --yes" alerts list -f
	refused "runner init --from 'my Makefile' writes a tasks.lua from it" alerts list -f "my Makefile"
	refused "Use --yes; behind the name of a destructive command, --confirm-destructive" -y alerts list
}

@test "a word or flag of other tools is no misspelling of one that does something else" {
	call list
	expect '"fix_command" not in e.error and e.error.suggestion == "Did you mean '"'alerts list' or 'hosts list'"'?"'
	call completions bash
	expect 'e.error.fix_command == "runner completion bash"'
	call alerts list --no-deps
	expect '"--no-yes" not in str(e.error)'
	call alerts list --no-colr
	expect '"--no-color" in e.error.errors[0]["suggestion"]'
}

@test "an unknown flag with a value is one problem, wherever it stands" {
	local args
	for args in "--nosuch 5" "--nosuch=5" "--nosuch 5 a" "a --nosuch 5" "-Z 5" "-Z 5 a"; do
		# shellcheck disable=SC2086
		call alerts list $args
		[ "$status" -eq 2 ]
		expect '[p["code"] for p in e["error"]["errors"]] == ["UNKNOWN_FLAG"]'
		# shellcheck disable=SC2086
		[[ $args == *a* ]] || refused "It has no flags but those of every command: runner help flags" wipe $args
	done
	call alerts list --nosuch 5 a b
	expect '[p["message"] for p in e["error"]["errors"]][1] == "Unexpected argument '\''b'\'': alerts list takes only <what>"'
	call alerts list a b
	expect '[p["message"] for p in e["error"]["errors"]] == ["Unexpected argument '\''b'\'': alerts list takes only <what>"]'
	call alerts list --nosuch
	expect '[p["code"] for p in e["error"]["errors"]] == ["UNKNOWN_FLAG"]'
}

@test "a command is found by its last word, with its words turned round, and by a verb of another tool" {
	refused_name() { call "${@:2}" && [ "$status" -ne 0 ] && expect 'e.error.code == "COMMAND_NOT_FOUND"' && [ "$(field 'e.error.suggestion')" = "$1" ]; }
	refused_name "Did you mean 'alerts silence'?" silence
	refused_name "Did you mean 'alerts silence'?" silence now
	refused_name "Did you mean 'alerts silence'?" silence alerts
	refused_name "Did you mean 'hosts list'?" list hosts
	refused_name "Did you mean 'hosts list'?" get hosts
	call show alerts
	expect '"alerts list" in e.error.suggestion'
	refused_name "Commands in 'alerts': alerts list, alerts silence" delete alerts
	refused_name "'wipe' may be meant" get wipe
	refused_name "Did you mean 'alerts list' or 'hosts list'?" list
	refused_name "Did you mean 'alerts silence'?" alerts.silense
	refused_name "Did you mean 'workflow list'?" list workflow
}

@test "the name that the manifest has can be typed, with flags and through every door" {
	call manifest
	local name
	for name in alerts.silence alerts.list hosts.list; do
		expect "'$name' in e.data.commands"
	done
	call alerts.silence x
	expect 'e.data == {"what": "x"} and e["meta"]["command"] == "alerts.silence"'
	call --timeout 5s alerts.silence x --format json
	expect 'e.data == {"what": "x"}'
	call alerts.silence --help --format plain
	[[ $stdout == *"alerts silence"* ]]
	call alerts.silence --schema
	expect 'e.data["command"] == "alerts.silence"'
	call workflow.list
	[ "$status" -eq 0 ]
	mkdir commands/deep
	cp -r commands/alerts commands/deep/er
	call deep.er silence x
	expect 'e["meta"]["command"] == "deep.er.silence"'
	call deep.er
	expect 'list(e.data["commands"]) == ["deep er list", "deep er silence"]'
	call deep.er slience
	expect '"deep er" in e.error.suggestion'
	call watch --runs 1 -- alerts.silence x
	expect 'e.data["items"][0]["command"] == "alerts silence" and e.data["items"][0]["data"] == {"what": "x"}'
	[ "$("$RUNNER" completion bash --format plain -- alerts.si | cut -f1)" = alerts.silence ]
	[ "$("$RUNNER" completion bash --format plain -- alerts.silence --ver | cut -f1 | head -n1)" = --verbose ]
}

@test "REQ-C-030 no hint names what says the opposite, or takes a restriction away, through any door" {
	local flags='{ "enabled", "boolean" }, { "active", "boolean", default = true }, { "exclude", "array", items = "string" }, { "keep_data", "boolean" },
		{ "no_cache", "boolean" }, { "min_size", "integer" }, { "quiesce", "boolean" }, { "async", "boolean" }, { "order", "enum", values = { "descending", "none" } }'
	command_file cut <<<"return { description = 'x', danger_level = 'mutating', args = { $flags }, run = function(args) return args end, exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } } }"
	local args last
	for args in "--include b" "--inactive" "--drop-data" "--cache" "--max-size 5" "--unquiesce" "--sync" "--disabled" "--in-active" "--max 5" "--for 2d"; do
		# shellcheck disable=SC2086
		call cut $args
		[ "$status" -eq 2 ]
		expect 'e.error.errors[0].code == "UNKNOWN_FLAG" and "Did you mean" not in str(e.error) and "Rename" not in str(e.error) and "Remove" not in str(e.error)'
		expect '"fix_command" not in e.error'
	done
	call cut --order ascending
	expect '"Did you mean" not in str(e.error)'
	for last in '"include":["b"]' '"inactive":true' '"drop_data":true' '"max":5' '"cache":true' '"zzz":1'; do
		call cut --raw-payload "{$last}"
		[ "$status" -eq 2 ]
		expect 'e.error.fix_required == "Use an argument that is declared" and "Did you mean" not in str(e.error)'
		env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <<<"{\"_cmd\":\"cut\",$last}" 2>err.txt | head -n1 >out.txt
		expect 'e.error.fix_required == "Use an argument that is declared" and "Did you mean" not in str(e.error)'
	done
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" PYTHONPATH="$ROOT/tests/cli/lib" python3 - <<'PY'
from mcp import Server
with Server() as s:
    for name in "include", "inactive", "drop_data", "spare", "max", "cache":
        text = str(s.call("cut", {name: True})["structuredContent"]["error"])
        assert "Remove" not in text and "Rename" not in text and "Did you mean" not in text, text
PY
	call cut --exclde b
	expect '"--exclude" in str(e.error)'
	call cut --raw-payload '{"exclde":["b"]}'
	expect 'e.error.fix_required == "Rename \u0027exclde\u0027 to \u0027exclude\u0027"'
	call cut --no-activ
	expect '"--no-active" in str(e.error)'
	call cut --formt json
	expect '"--format" in str(e.error)'
}
