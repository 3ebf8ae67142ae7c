# shellcheck shell=bash disable=SC2034 # what call sets is for the tests
# helper.bash: what every black-box test shares. Each test runs in a directory of
# its own under `env -i`; stdout, stderr and the status are kept apart.
#
#   command_file NAME <<'LUA' …        writes commands/NAME.lua
#   known                              lists and completion may load the project's files
#   call ARGS…                         runs runner: $status, $stdout, $stderr, $elapsed_ms
#   call_as USER ARGS…                 as call, as another user (where this is root)
#   assert_envelope                    $stdout is exactly one valid envelope of $status
#   until_true COMMAND…                waits until it succeeds
#   secret_of_its_own                  $secret, which no other process has, and a pattern of it for grep in $LOOKED_FOR
#   field EXPR                         prints EXPR of the envelope `e` (Python)
#   expect EXPR                        EXPR holds for the envelope `e`

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
RUNNER=${RUNNER:-$ROOT/build/runner}
# what a caller's environment may hold without changing what is tested
# (the token finds this test's processes from outside, in /proc)
TOKEN=t${TEST_RUN:+$TEST_RUN.}$$-${BATS_TEST_NUMBER:-0}-$RANDOM
CLEAN_ENV=(PATH="$PATH" LC_ALL=C.UTF-8 TOKEN="$TOKEN")
[ -n "${ASAN_OPTIONS:-}" ] && CLEAN_ENV+=(ASAN_OPTIONS="$ASAN_OPTIONS")

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# What bats does before each command (it notes the place) is half of a suite's processor
	# time. The lines of the test itself keep it: a failure names them, as it should.
	set +T
	# a home of the test's own: what one leaves there, of whatever version, is nothing to another
	CLEAN_ENV+=(HOME="$BATS_TEST_TMPDIR.home")
	# programs that a test starts itself have a home and a locale, where whoever runs it has none
	export HOME="${HOME:-$BATS_TEST_TMPDIR.home}" LC_ALL="${LC_ALL:-${LANG:-C.UTF-8}}"
	mkdir -p commands "$BATS_TEST_TMPDIR.home"
	if [ -n "${TEST_SKIPS:-}" ]; then skip_named; fi
	if declare -F prepare >/dev/null; then prepare; fi
}

# skip_named: this test is skipped if $TEST_SKIPS names it (FILE, TEST or * for all of them, and REASON, with tabs between),
# as tests/arm64/skips does.
skip_named() {
	local reason
	# shellcheck disable=SC2016 # for awk
	reason=$(FILE=${BATS_TEST_FILENAME##*/} TEST=$BATS_TEST_DESCRIPTION awk -F '\t' '$1 == ENVIRON["FILE"] && ($2 == ENVIRON["TEST"] || $2 == "*") { print $3 }' "$TEST_SKIPS")
	[ -z "$reason" ] || skip "$reason"
}

# This test traces system calls.
needs_strace() {
	command -v strace >/dev/null || skip "needs strace"
	strace -qq -o /dev/null true 2>/dev/null || skip "strace may not trace here"
}

# What a failed test saw last, and what a file's evidence adds; a file's own end of a test is clean_up.
teardown() {
	local name
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		for name in out.txt err.txt; do
			[ ! -s "$name" ] || { echo "$name:" && head -c 2000 "$name" && echo; } | tr -c '[:print:]\n\t' '?'
		done
		echo "status: ${status:-none}, after ${elapsed_ms:-?} ms"
		if declare -F evidence >/dev/null; then evidence; fi
	fi
	if declare -F clean_up >/dev/null; then clean_up; fi
	if declare -F end_shell >/dev/null; then end_shell; fi # of tmux.bash, whose test has failed
}

command_file() {
	mkdir -p "$(dirname "commands/$1")"
	cat >"commands/$1.lua"
}

# known: lists and completion load the files of this project, as where a command of it has run
known() {
	CLEAN_ENV+=(RUNNER_TRUST="$PWD")
}

# failing NAME DANGER <<<BODY: a command that changes something, or not
failing() {
	{
		echo "local fs, json = require 'fs', require 'json'"
		echo "return { description = 'x', danger_level = '$2', exit_codes = { TIMEOUT = { retryable = true, side_effects = 'none' } },"
		echo "retry = { retries = 2, delay = 0 }, run = function(args, ctx)"
		cat
		echo 'end }'
	} | command_file "$1"
}

# body NAME [KEYS…] <<'LUA': a command whose run is the given body.
body() {
	local name=$1
	shift
	{
		printf 'return { description = "x", danger_level = "safe", %s\n\trun = function(args, ctx)\n' "$*"
		cat
		printf '\nend }\n'
	} | command_file "$name"
}

is_static() {
	[[ $("$RUNNER" --version --verbose) == *"build: static"* ]]
}

# dynamic_only WHAT: skips a test of what the static build has no use for.
dynamic_only() {
	! is_static || skip "the static build $1"
}

# not_sanitized WHAT: under sanitizers, skips a test that never runs the program that has them.
not_sanitized() {
	case $RUNNER in */sanitize/*) skip "$1 without sanitizers" ;; esac
}

# command_of NAME KEYS <<<body: a command that counts its runs in `runs`.
command_of() {
	{
		echo "return { description = 'x', danger_level = 'safe', $2 run = function(args, ctx)"
		echo "local f = io.open('runs', 'a') f:write(ctx.attempt, ' ') f:close()"
		cat
		echo 'end }'
	} >"commands/$1.lua"
}

# call [NAME=value…] ARGS…: leading assignments go to the environment.
call() {
	local env=("${CLEAN_ENV[@]}")
	while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z_0-9]*= ]]; do
		env+=("$1")
		shift
	done
	local before=${EPOCHREALTIME/[.,]/}
	status=0
	env -i "${env[@]}" "${AS_USER[@]}" "$RUNNER" "$@" >out.txt 2>err.txt </dev/null || status=$?
	elapsed_ms=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
	stdout=$(<out.txt)
	stderr=$(<err.txt)
	[ "$status" -eq 0 ] || skip_without_library "$stdout$stderr"
}

# skip_without_library TEXT: a call that says so failed for want of a library; a machine that lacks it has nothing to test.
skip_without_library() {
	! [[ $1 =~ (lib(curl|sqlite3|md|archive)[-a-z]*\.so\.[0-9]+):\ cannot\ open\ shared ]] || needs_library "${BASH_REMATCH[1]}"
}

# needs_library NAME: one of those that runner opens when it needs them.
needs_library() {
	python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$1" 2>/dev/null || skip "needs $1"
}

# call_as USER ARGS…: call, with this user's number and no group but its own. It runs a copy
# of the program: the checkout may lie below a directory that only root may enter.
call_as() {
	local AS_USER=(setpriv "--reuid=$1" "--regid=$1" --clear-groups) RUNNER=$RUNNER
	shift
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR/../.." 2>/dev/null || true
	install -m 755 "$RUNNER" "$BATS_TEST_TMPDIR/runner-for-all"
	RUNNER=$BATS_TEST_TMPDIR/runner-for-all
	"${AS_USER[@]}" test -x "$RUNNER" || skip "another user can't reach $RUNNER"
	call "$@"
}

# answers STATUS ARGS…: the call has this status and a valid envelope
answers() {
	local wanted=$1
	shift
	call "$@"
	[ "$status" -eq "$wanted" ] && assert_envelope
}

# until_true COMMAND…: within 150 s it succeeds
until_true() {
	local end=$((SECONDS + 150)) looked=$SECONDS
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -eq "$looked" ] || skip_without_library "$(grep -ahs -d skip -D skip 'cannot open shared' ./* | head -c 5000)"
		looked=$SECONDS
		[ "$SECONDS" -lt "$end" ] || { echo "never: $*" >&2; return 1; }
		sleep 0.01
	done
}

# tries N COMMAND…: it succeeds in one of N. For what a machine that stands still for a
# moment spoils, while a fault of ours would spoil each: 1, 2 … N is $nth, for a limit that grows.
# (No `set -e` inside: chain with &&.)
tries() {
	local most=$1 nth=1
	shift
	until "$@"; do
		[ "$nth" -lt "$most" ] || return 1
		nth=$((nth + 1))
	done
}

# secret_of_its_own: the word $secret, which nobody else on this machine has in its arguments or its environment, as the same test
# of another suite may, or whoever reads this file. Commands have a pattern of it, which it doesn't match, in LOOKED_FOR.
secret_of_its_own() {
	secret=token-$BASHPID-x
	CLEAN_ENV+=(LOOKED_FOR="to[k]en-$BASHPID-x")
}

# reaching FILE ARGS…: call with a --timeout as short as this machine allows for the
# command to have made FILE by then; the limit is $limit_ms
reaching() {
	local file=$1
	shift
	for limit_ms in 300 2000 10000; do
		rm -f "$file"
		call "$@" --timeout "${limit_ms}ms"
		[ ! -e "$file" ] || return 0
	done
	return 1
}

# cancel SIGNAL ARGS…: as call, but the signal is sent once `marker` exists. The
# shell starts background jobs with INT ignored, which runner would respect.
cancel() {
	local signal=$1 before pid
	shift
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" "$@" >out.txt 2>err.txt </dev/null 3>&- &
	pid=$!
	until_true [ -e marker ]
	before=${EPOCHREALTIME/[.,]/}
	kill "-$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	elapsed_ms=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
}

# assert_at_once [MS]: the last call waited for nothing, or no longer than for MS: it took a second and ten times
# what the shortest call takes now, on this machine, at most.
assert_at_once() {
	local before=${EPOCHREALTIME/[.,]/} shortest
	env -i "${CLEAN_ENV[@]}" "$RUNNER" --version >/dev/null 2>&1 </dev/null
	shortest=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
	[ "$elapsed_ms" -le $((${1:-0} + 1000 + 10 * shortest)) ] || {
		echo "took $elapsed_ms ms, the shortest call $shortest ms" >&2
		return 1
	}
}

assert_envelope() {
	ask_envelope check "$status"
}

field() {
	ask_envelope field "$1"
}

expect() {
	ask_envelope expect "$1"
}

# --- the questions about an envelope ------------------------------------------------
#
# One process answers all of a file: starting Python for each took half the time of the
# suite. Where there is none, or it says nothing, each question starts its own. It serves
# one test at a time: with `bats -j N` the files run side by side, their tests do not.

setup_file() {
	serve_envelopes
}

serve_envelopes() {
	ASK=$BATS_FILE_TMPDIR/ask ANSWER=$BATS_FILE_TMPDIR/answer
	mkfifo "$ASK" "$ANSWER"
	python3 "$ROOT/tests/cli/lib/envelope.py" serve "$ASK" "$ANSWER" </dev/null >/dev/null 2>&1 3>&- &
	SERVER=$!
	export ASK ANSWER SERVER BATS_NO_PARALLELIZE_WITHIN_FILE=true
}

teardown_file() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
}

# ask_envelope VERB ARGUMENT: of out.txt, as envelope.py has it. Neither end of a FIFO
# waits for the other: both are opened to read and write, and ours stays open until there
# is an answer, else a question that comes before its reader is lost.
ask_envelope() {
	local id=$BASHPID.$RANDOM answered='' code text message
	if [ -n "${SERVER:-}" ] && kill -0 "$SERVER" 2>/dev/null; then
		{
			printf '%s\0' "$id" "$PWD" "$1" "$2" out.txt
			while [ "$answered" != "$id" ] && IFS= read -r -t 30 -d '' answered; do
				IFS= read -r -d '' code && IFS= read -r -d '' text && IFS= read -r -d '' message
			done
		} 1<>"$ASK" <>"$ANSWER"
	fi
	if [ "$answered" != "$id" ]; then
		python3 "$ROOT/tests/cli/lib/envelope.py" "$1" "$2" out.txt
		return
	fi
	printf '%s' "$text"
	printf '%s' "$message" >&2
	return "$code"
}

# No process of this test is left: each inherits the token.
processes_left() {
	grep -lzs "^TOKEN=$TOKEN\$" /proc/[0-9]*/environ 2>/dev/null || true
}

assert_no_process_left() {
	local left path
	left=$(processes_left)
	for path in $left; do
		echo "left alive: $path $(tr '\0' ' ' <"${path%environ}cmdline")" >&2
	done
	[ -z "$left" ]
}
