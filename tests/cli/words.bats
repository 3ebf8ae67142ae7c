#!/usr/bin/env bats
# Command lines that are written as one text: what runner splits has the words that a shell would have, and what it prints can
# be pasted into one.

load lib/helper

prepare() {
	body show 'args = { { "word", "string" }, { "rest", "array", items = "string", positional = true } },' <<<'return args'
}

@test "an alias keeps the words that its quotes hold together" {
	cat >runner.lua <<'LUA'
return { aliases = { single = "show --word 'two words'", double = 'show --word "two  words"', back = "show --word two\\ words",
	mixed = [[show --word=a'b c'"d e" '' "x|y"]], list = { "show", "--word", "two words", "$x" } } }
LUA
	answers 0 single
	expect 'e.data.word == "two words"'
	answers 0 double
	expect 'e.data.word == "two  words"'
	answers 0 back
	expect 'e.data.word == "two words"'
	answers 0 mixed
	expect 'e.data.word == "ab cd e" and e.data.rest == ["", "x|y"]'
	answers 0 list
	expect 'e.data.word == "two words" and e.data.rest == ["$x"]'
}

@test "an alias that only a shell could read is an error that says so" {
	local text
	# shellcheck disable=SC2016 # what an alias may not have
	for text in 'show $HOME' 'show *' 'show | cat' "show 'open" 'show `id`' 'show "$x"' 'show > f'; do
		echo "return { aliases = { a = [[$text]] } }" >runner.lua
		answers 4 show
		expect '"quoted as for a shell" in e.error.message and "aliases.a is \"" in e.error.message'
	done
}

@test "a flag that stands in front of the name is named with its place, and the call is corrected" {
	local call
	mkdir -p "a b"
	for call in '--cwd=a b' '--config=x' '--context=y' '--no-config' '--policy=z'; do
		answers 2 show --word 'two words' "$call"
		expect "e.error.fix_required == \"Put ${call%%=*} in front of the command's name\" and e.error.errors[0]['code'] == 'UNKNOWN_FLAG'"
		[[ $(field 'e.error.suggestion') == "runner "*"${call%%=*}"*"show --word 'two words'" ]]
	done
	answers 2 show --cwd 'a b' --word x
	expect 'e.error.suggestion == "runner --cwd '"'a b'"' show --word x"'
	mkdir -p other/commands
	cp commands/show.lua other/commands
	call show --cwd other --word 'two words'
	eval "set -- $(field 'e.error.suggestion')"
	shift
	answers 0 "$@"
	expect 'e.data.word == "two words" and e.meta.cwd.endswith("/other")'
	body hidden 'args = { { "token", "string", secret = true } },' <<<'return {}'
	answers 2 hidden --token s3cret-value --cwd other
	[[ $stdout != *s3cret-value* ]]
}

@test "the claude command line of a plan is the same words when it is pasted" {
	cat >w.yaml <<'YAML'
name: w
steps:
  - claude: "a | b & c; d `e` $(f) 'g' \"h\" ~ # ! * ? {i,j} [k] \\ x\nsecond  line"
    model: "m&n"
    allowed_tools: ["Bash(git *)", "Read"]
YAML
	call workflow plan w.yaml --format json
	field 'chr(10).join(e.data.steps[0]["argv"])' >words
	# shellcheck disable=SC2016 # the shell's
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" script -qec '"$RUNNER" workflow plan w.yaml --no-color' /dev/null </dev/null | tr -d '\r' >plan.txt
	python3 - <<'PY' >pasted
text = open("plan.txt").read()
at = text.index("claude --")
print("printf '%s\\n' " + text[at:text.index("\n    timeout", at)])
PY
	# in a shell in an empty folder, where nothing of it may run, and no pattern finds a file
	mkdir empty
	(cd empty && bash ../pasted) >said
	diff words said
	(cd empty && sh ../pasted) >said
	diff words said
	[ -z "$(ls empty)" ]
}

@test "an editor may be named with quotes, or by what only a shell reads" {
	local editor
	cat >ed.sh <<'SH'
#!/bin/sh
printf '%s\n' "$1" "$2" >>"$SEEN"
echo edited >"$3"
SH
	chmod +x ed.sh
	body note 'interactive = true, non_interactive_alternatives = { "message" }, args = { { "message", "string" } },' \
		<<<'return { text = ctx:edit("x") }'
	# shellcheck disable=SC2016 # the shell's
	for editor in "$PWD/ed.sh 'one word' 2" '$HERE/ed.sh "one word" 2'; do
		: >seen
		env -i "${CLEAN_ENV[@]}" HERE="$PWD" SEEN="$PWD/seen" RUNNER="$RUNNER" VISUAL="$editor" TERM=xterm \
			script -qec '"$RUNNER" note' /dev/null >out.txt </dev/null
		grep -q edited out.txt
		diff seen <(printf 'one word\n2\n')
	done
}
