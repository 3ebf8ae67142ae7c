#!/usr/bin/env bats
# The commands that ship and the examples, by their own tests: `runner test`, as their users run it.

load lib/helper

# passes_in FOLDER: its commands lint clean, and its tests pass and reach nearly all of them
passes_in() {
	cd "$1" || return
	answers 0 lint
	expect 'e.data["problems"] == []'
	answers 0 test --min-coverage "$2" || { echo "$stderr"; return 1; }
}

@test "the commands that ship pass their own tests" {
	mkdir tests
	cp -r "$ROOT/commands" .
	cp -r "$ROOT/tests/commands" tests/
	passes_in "$PWD" 85
}

@test "the examples pass their tests, and none has sixty lines" {
	cp -r "$ROOT/examples" .
	passes_in "$PWD/examples" 95
	[ "$(find commands -name '*.lua' | wc -l)" -eq 6 ]
	for file in commands/*.lua; do
		[ "$(wc -l <"$file")" -lt 60 ]
	done
}
