#!/usr/bin/env bats
# agents: AGENTS.md names what there is: this version, its flags, commands and variables.

load lib/helper

# help_texts: all that help says, of runner and of its built-in commands.
help_texts() {
	local name
	for name in flags environment built-in; do
		call help "$name" --format plain
		cat out.txt
	done
	for name in help lint manifest doctor check-permissions; do
		call "$name" --help --format plain
		cat out.txt
	done
}

# unknown PATTERN: what AGENTS.md names by it and no help text has.
unknown() {
	grep -oE -e "$1" "${2:-$ROOT/AGENTS.md}" | sort -u | while read -r name; do
		[[ $name == *- ]] || name+='([^[:alnum:]_-]|$)' # not as the beginning of another, but for --no-
		grep -qE -e "(^|[^[:alnum:]_-])$name" help.txt || echo "${name%%(*}"
	done
}

@test "REQ-O-045 AGENTS.md begins with the version that --version prints" {
	call --version --format plain
	[ "$(head -n1 "$ROOT/AGENTS.md")" = "<!-- cli-version: $stdout -->" ]
}

@test "REQ-O-043 AGENTS.md has the sections that agents look for" {
	local title
	for title in Installation "Canonical Invocation" "Non-Interactive Flags" "Environment Variables" "Input Conventions" \
		"CI Validation"; do
		grep -qx "## $title" "$ROOT/AGENTS.md"
	done
}

@test "REQ-O-046 every flag, variable and command that AGENTS.md names is in a help text" {
	help_texts >help.txt
	run unknown '--[a-z][a-z-]+'
	[ -z "$output" ]
	run unknown '\b(RUNNER_[A-Z_]+|NO_COLOR|CI)\b'
	[ -z "$output" ]
	grep -oE 'runner [a-z][a-z-]+' "$ROOT/AGENTS.md" | sort -u >commands.txt
	[ "$(wc -l <commands.txt)" -ge 5 ]
	local name
	while read -r _ name; do
		[ "$name" = db ] || call "$name" --help
		[ "$status" -eq 0 ]
	done <commands.txt
}

@test "REQ-O-046 a flag that was renamed is found" {
	help_texts >help.txt
	echo 'Use `--retrys`, `--retry` and RUNNER_FROMAT' >wrong.md
	run unknown '--[a-z][a-z-]+' wrong.md
	[ "$output" = $'--retry\n--retrys' ]
	run unknown '\b(RUNNER_[A-Z_]+)\b' wrong.md
	[ "$output" = RUNNER_FROMAT ]
}
