#!/usr/bin/env bats
# What a beginner writes, and what the answer is: the mistakes of tests/cli/lib/beginner.py, whose output is for reading, too.

bats_require_minimum_version 1.5.0

load lib/helper

says_what_to_write() {
	run env -i "${CLEAN_ENV[@]}" TMPDIR="$BATS_TEST_TMPDIR" python3 "$ROOT/tests/cli/lib/beginner.py" "$RUNNER" "$1"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"0 of them are not as they should be" ]]
	[ "$(grep -c '^===' <<<"$output")" -ge "$2" ]
}

@test "a file that isn't one yet says what to write, in three lines" {
	says_what_to_write 'return|comma|end$|\]\]|level|TIMEOUT|type|depends|desc|named' 15
}

@test "words that only a shell obeys say what to write, in three lines" {
	says_what_to_write 'word|&&|^cd|export|FOO|ctx|text for|variable|nil|args' 18
}

@test "a task that is none, and a call of none, say what to write, in three lines" {
	says_what_to_write 'task|run |shell is|missing|flag|number|too many|fails|there|print' 15
}
