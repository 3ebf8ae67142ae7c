#!/usr/bin/env bash
# results.bash: runs the steps of a suite and counts what their TAP says; a part of tests/run.
# LOGS is the folder of the logs, JOBS how many files run at once, FILE_SECONDS the limit of one, FILES chosen ones.
# shellcheck disable=SC2153 # whoever reads this file sets them

# count NAME STATUS SECONDS: the line and the failures of $LOGS/NAME.tap.
count() {
	local name=$1 status=$2 log=$LOGS/$1.tap ok bad skip lost unknown
	skips "$log" >"$LOGS/$name.skips"
	skip=$(wc -l <"$LOGS/$name.skips")
	ok=$(grep -a '^ok ' "$log" | grep -acivE '# *skip')
	bad=$(grep -a '^not ok ' "$log" | grep -acivE '# *skip')
	# a result that was planned and never came has failed (a setup_file that fails loses a whole file)
	lost=$(lost_results "$log")
	if [ "$lost" -ne 0 ]; then
		bad=$((bad + lost))
		echo "not ok - $name: $lost results were planned and not reported"
		grep -a '^# .* planned .* reported' "$log"
	fi
	# a test that is skipped for a reason that tests/skips doesn't have has failed, too
	unknown=$(grep -ac '^unknown' "$LOGS/$name.skips")
	if [ "$unknown" -ne 0 ]; then
		bad=$((bad + unknown)) skip=$((skip - unknown))
		echo "not ok - $name: $unknown tests were skipped for reasons that tests/skips doesn't have"
		grep -a '^unknown' "$LOGS/$name.skips" | sed 's/^/# /'
	fi
	# and so has a suite that breaks off
	if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
		echo "not ok - $name ended with status $status"
		grep -aB 40 '^# .* ended with status ' "$log" || tail -n 30 "$log"
	fi
	awk '/^not ok/ { show = !/# *SKIP/ } /^ok/ { show = 0 } show' "$log"
	grep -aiE '^(not )?ok .*# *skip' "$log"
	printf '%-24s %5d passed %3d failed %3d skipped  %4d s\n' "$name" "$ok" "$bad" "$skip" "$3"
}

# skips LOG: KIND, FILE, TEST and REASON of each test that a log of TAP has as skipped. cmocka writes "not ok N # SKIP name", and
# its reason is the comment before; busted writes "ok N - # SKIP FILE:LINE: reason".
skips() {
	awk -F '\t' -v OFS='\t' '
		NR == FNR { if ($0 !~ /^#/) { kind[++kinds] = $1; pattern[kinds] = $2 }; next }
		/^# of / { file = substr($0, 6); next }
		/^# needs / { said = substr($0, 3); next }
		tolower($0) !~ /^(not )?ok .*# *skip/ { next }
		{
			at = match(tolower($0), /# *skip/)
			test = substr($0, 1, at - 1)
			reason = substr($0, at + RLENGTH)
			sub(/^(not )?ok [0-9]+ *(- )?/, "", test); sub(/ +$/, "", test); sub(/^ +/, "", reason)
			if (test == "") { test = reason; if (said != "") reason = said; else sub(/^[^ ]*:[0-9]+: /, "", reason); said = "" }
			for (n = 1; n <= kinds && reason !~ pattern[n]; n++) { }
			print (n <= kinds ? kind[n] : "unknown"), file, test, reason
		}' "${BASH_SOURCE%/*}/skips" "$1"
}

# How many results the plans of a log of TAP promise beyond those that it has. (What has no number was never planned.)
lost_results() {
	awk '/^1\.\.[0-9]+/ { planned += substr($1, 4) } /^(not )?ok [0-9]/ { reported++ }
		END { print (planned > reported ? planned - reported : 0) }' "$1"
}

# part NAME COMMAND…: run it with its TAP into the log.
part() {
	local name=$1 began=$SECONDS
	shift
	"$@" >"$LOGS/$name.tap" 2>"$LOGS/$name.err"
	count "$name" $? $((SECONDS - began))
}

# step NAME COMMAND…: a command without TAP counts as one test.
step() {
	local name=$1
	shift
	part "$name" one_test "$name" "$@"
}

one_test() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok 1 - $name"
	else
		printf '%s\nnot ok 1 - %s\n' "$out" "$name" | sed '$!s/^/# /'
		printf '%s\n' "$out" | sed 's/^/# /' | tail -n 60
	fi
}

# longest_first FILE…: by the seconds in the file beside this one, from a run's own; then what it doesn't name, the largest first.
longest_first() {
	stat -c '%s %n' "$@" | awk '
		NR == FNR { seconds[$2] = $1; next }
		{ print seconds[$2] + 0, $0 }' "${BASH_SOURCE%/*}/seconds" - | sort -k1,1rn -k2,2rn | cut -d' ' -f3-
}

# pool [-j N] NAME FILE… -- COMMAND…: COMMAND FILE for each, N (or JOBS) at a time, the longest first; only those that FILES names,
# where it names any of them.
# A file that fails is named, with the end of what it wrote to stderr; one that doesn't end
# is ended after FILE_SECONDS, named, and says what ran then. The log of tests/cli/x.bats is
# $LOGS/NAME/tests/cli/x.tap; it has as many results as the file has tests. Which file took how
# long is in $LOGS/NAME.seconds: SECONDS FILE, then the processor's seconds.
pool() {
	local jobs=$JOBS
	[ "$1" != -j ] || { jobs=$2 && shift 2; }
	local logs=$LOGS/$1 files=() only=() status log file
	shift
	while [ "$1" != -- ]; do
		files+=("$1")
		[[ " ${FILES:-} " != *" ${1#"${BUILD:-build}"/} "* ]] || only+=("$1")
		shift
	done
	[ ${#only[@]} -eq 0 ] || files=("${only[@]}")
	shift
	rm -rf "$logs" "$logs.seconds"
	mkdir -p "$logs"
	# shellcheck disable=SC2016 # the inner shell's own parameters
	longest_first "${files[@]}" | xargs -P "$jobs" -I{} bash -c '
		logs=$1 log=$1/${2%.bats} file=$2 limit=$3 began=$EPOCHSECONDS
		shift 3
		mkdir -p "${log%/*}"
		(sleep "$((limit - 5))" && ps -e --forest -o pgid,pid,stat,etimes,args |
			grep "^ *$(pgrep -P $$ -x timeout) " >"$log.ps") 2>/dev/null &
		watch=$!
		timeout -k 10 "$limit" "$@" "$file" >"$log.tap" 2>"$log.err" # (in the background it would ignore INT)
		status=$?
		pkill -P "$watch" sleep
		times >"$log.times"
		sed -n "2s,[ms], ,gp" "$log.times" | awk -v seconds=$((EPOCHSECONDS - began)) -v file="$file" \
			"{ printf \"%d %s %.1f\\n\", seconds, file, 60 * (\$1 + \$3) + \$2 + \$4 }" >>"$logs.seconds"
		planned=$(awk "/^1\\.\\.[0-9]+/ { n += substr(\$1, 4) } END { print n + 0 }" "$log.tap")
		reported=$(grep -acE "^(not )?ok [0-9]" "$log.tap")
		if [ "$planned" -eq 0 ] || [ "$planned" -ne "$reported" ]; then
			echo "# $file planned $planned results and reported $reported" >>"$log.tap"
			[ "$status" -ne 0 ] || status=1
		fi
		[ "$status" -eq 0 ] && exit
		{
			tail -n 40 "$log.err" | sed "s,^,# $(basename "$file"): ,"
			[ ! -s "$log.ps" ] || {
				echo "not ok - $file did not end within $limit s; after $(grep -a "^[no]" "$log.tap" | tail -n 1)"
				cut -c1-160 "$log.ps" | sed "s,^,# ,"
			}
			echo "# $file ended with status $status"
		} >>"$log.tap"
		exit "$status"' bash "$logs" {} "$FILE_SECONDS" "$@"
	status=$?
	find "$logs" -name '*.tap' | sort | while read -r log; do
		file=${log#"$logs"/}
		echo "# of ${file%.tap}"
		cat "$log"
	done
	find "$logs" -name '*.err' | sort | xargs cat >&2
	return $status
}
