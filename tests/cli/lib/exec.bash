# shellcheck shell=bash disable=SC2034,SC2154 # what batch sets is for the tests
# exec.bash: what the tests of `runner exec` share.

# batch ARGS… <<'JSON': the requests on stdin; out.txt has the answers
batch() {
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec "$@" >out.txt 2>err.txt || status=$?
	stdout=$(<out.txt)
}

# each EXPR: the answers, as a list of envelopes `a`, satisfy it
each() {
	python3 -c 'import json, sys
a = [json.loads(line) for line in open("out.txt")]
assert eval(sys.argv[1]), (sys.argv[1], a)' "$1"
}

# every line is a valid envelope of its own exit code
valid_lines() {
	local n=0 line
	cp out.txt all.txt
	while IFS= read -r line; do
		printf '%s\n' "$line" >out.txt
		status=$(python3 -c 'import json; print(json.load(open("out.txt"))["meta"]["exit_code"])')
		assert_envelope
		n=$((n + 1))
	done <all.txt
	cp all.txt out.txt
	[ "$n" -eq "$1" ]
}

# concluded STATUS EXPR: the last line of stderr is exec's own envelope
concluded() {
	local was=$status
	cp out.txt answers.txt
	tail -n 1 err.txt >out.txt
	status=$1
	assert_envelope
	expect "$2"
	cp answers.txt out.txt
	[ "$was" -eq "$1" ]
}

# worker_of PID: the first child of that exec; the guard came later, whatever its number is
worker_of() {
	cut -d' ' -f1 "/proc/$1/task/$1/children"
}
