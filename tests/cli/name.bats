#!/usr/bin/env bats
# name: runner started under the name of a project speaks as that tool, and under any other name as runner.

load lib/helper

prepare() {
	known
	mkdir bin
	ln -s "$RUNNER" bin/my-tool
	ln -s "$RUNNER" bin/other
	TOOL=$PWD/bin/my-tool
	settings 'name = "my-tool", version = "1.2.0", description = "My own tool", aliases = { hi = "hello" }'
	command_file hello <<'LUA'
return { description = "Greet", danger_level = "safe", args = { { "who", "string", default = "world" } },
	run = function(args) return { greeting = "Hello, " .. args.who } end }
LUA
	cp commands/hello.lua commands/runner-up.lua
}

settings() {
	echo "return { $1 }" >runner.lua
}

own_version() {
	(cd /; "$RUNNER" --version)
}

# mine ARGS…: as call, through the link
mine() {
	local RUNNER=$TOOL
	call "$@"
}

@test "help, usage, errors, hints and fixes name the tool" {
	mine --help
	assert_envelope
	[[ $(field 'e.data["next"]') == "my-tool help "*"my-tool help --search"* ]]
	[[ $stdout != *"runner help"* ]]
	mine help hello
	[[ $(field 'e.data["usage"]') == "my-tool hello"* ]]
	[[ $stdout != *"runner hello"* ]]
	mine help hello --format plain
	[[ $stdout == *"my-tool hello"* ]]
	[[ $stdout != *"runner hello"* ]]
	mine helo
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error.fix_required == "Name an existing command: run '"'my-tool'"' to list them"'
	mine hello --who
	[[ $stdout != *"'runner"* ]]
}

@test "--version is that of the tool, and so is meta.tool_version" {
	mine --version
	[ "$stdout" = "my-tool 1.2.0" ]
	mine --version --verbose
	[ "$(head -n 1 <<<"$stdout")" = "my-tool 1.2.0" ]
	[ "$(sed -n 2p <<<"$stdout")" = "runner: $(own_version)" ]
	mine --version --format json
	assert_envelope
	expect 'e.data["name"] == "my-tool" and e.data["version"] == "1.2.0" == e.meta.tool_version and e.data["runner"] != "1.2.0"'
	mine hello
	assert_envelope
	expect 'e.meta.tool_version == "1.2.0"'
	mine hello --who
	assert_envelope
	expect 'e.meta.tool_version == "1.2.0"'
}

@test "started as runner, it says runner, and --version has the project below its own" {
	local own
	own=$(own_version)
	call --version
	[ "$stdout" = "$own"$'\nmy-tool 1.2.0' ]
	call --version --format json
	assert_envelope
	expect 'e.data["version"] == e.meta.tool_version == "'"$own"'"'
	expect 'e.data["project"] == {"name": "my-tool", "version": "1.2.0"}'
	call helo
	expect "e.error.fix_required == \"Name an existing command: run 'runner' to list them\""
	settings 'name = "my\ntool\27[2J"'
	call --version
	[ "$(wc -l <<<"$stdout")" -eq 2 ]
	[[ $stdout != *$'\e'* ]]
}

@test "a version that is none by the rules is said, and is no tool_version" {
	local own version
	own=$(own_version)
	for version in v2 1.2 2026-11 '1.2.3 beta' $'1.2.3-\xff' "1.2.3-$(printf '%0100d' 0)" ''; do
		settings "name = 'my-tool', version = '$version'"
		mine --version --format json
		assert_envelope
		expect "e.meta.tool_version == '$own' and e.data['name'] == 'my-tool'"
	done
	settings 'name = "my-tool"'
	mine --version
	[ "$stdout" = "my-tool (runner $own)" ]
	mine hello
	expect "e.meta.tool_version == '$own'"
}

@test "a program of another name, and one outside of the project, is runner" {
	TOOL=$PWD/bin/other
	mine helo
	expect "\"run 'runner' to\" in e.error.fix_required"
	mine --version
	[ "$(sed -n 2p <<<"$stdout")" = "my-tool 1.2.0" ]
	TOOL=$PWD/bin/my-tool
	mkdir -p elsewhere/.git sub/below
	cd elsewhere
	mine helo
	expect "\"run 'runner' to\" in e.error.fix_required"
	mine --version
	[ "$stdout" = "$(own_version)" ]
	cd ../sub/below
	mine helo
	expect "\"run 'my-tool' to\" in e.error.fix_required"
}

@test "what argv[0] says counts only as a whole and as a plain word" {
	local name
	expects() { # NAME OF THE PROJECT, ARGV0, WHO SPEAKS
		settings "name = '$1', version = '1.0.0'"
		stdout=$(env -i "${CLEAN_ENV[@]}" bash -c 'exec -a "$1" "$2" helo' - "$2" "$RUNNER") || true
		[[ $stdout == *"run '$3' to list"* ]] || { echo "$1, $2: $stdout"; return 1; }
	}
	expects my-tool my-tool my-tool
	expects my-tool /no/such/my-tool my-tool
	expects my-tool my-tool/ runner
	expects my-tool "" runner
	expects my-tool MY-TOOL runner
	expects my-tool my-tool2 runner
	expects '' '' runner
	# shellcheck disable=SC2016 # a name, not a command
	for name in 'my tool' '$(reboot)' '-tool' 'a;b' '%1' "runner"; do
		expects "$name" "$name" runner
	done
	expects a%1 a%1 runner
	expects c++ c++ c++
	expects tool.2 tool.2 tool.2
}

@test "a broken runner.lua with a name speaks as the tool, one that can't be read as runner" {
	settings 'name = "my-tool", bogus = 1'
	mine hello
	assert_envelope
	[ "$status" -eq 4 ]
	mine helo
	[[ $stdout != *"'runner"* ]]
	for text in 'name = 1' 'name = {}' 'name ='; do
		settings "$text"
		mine hello
		assert_envelope
		[ "$status" -eq 4 ]
		expect 'e.error.code == "COMMAND_INVALID"'
	done
}

@test "the scripts of completion are the tool's, and its candidates are commands as they are named" {
	mine completion bash --format plain
	[[ $stdout == *"complete -o default -o nosort -F _my_tool_completion my-tool"* ]]
	[[ $stdout != *runner* ]]
	bash -n out.txt
	run bash -c 'PATH=$PWD/bin:$PATH; source out.txt; COMP_WORDS=(my-tool runn); COMP_CWORD=1; _my_tool_completion; echo "${COMPREPLY[*]}"'
	[ "$output" = runner-up ]
	for shell in zsh fish; do
		mine completion "$shell" --format plain
		[[ $stdout == *my-tool* ]]
		[[ $stdout != *runner* ]]
		if command -v "$shell"; then
			"$shell" -n out.txt
		fi
	done
	call completion bash --format plain
	[[ $stdout == *"_runner_completion runner"* ]]
}

@test "arguments and results stay as they are" {
	mine hello --who "'runner' runner lint"
	assert_envelope
	expect 'e.data["greeting"] == "Hello, '"'runner'"' runner lint"'
	mine hi --who Ada
	expect 'e.data["greeting"] == "Hello, Ada"'
}

@test "a project that nobody has used yet is not read for lists and --version, whatever the program is called" {
	mkdir -p new/commands new/.git
	echo 'io.open("was-read", "w"):close() return { name = "my-tool", version = "1.2.0" }' >new/runner.lua
	cp commands/hello.lua new/commands
	cd new
	local state=$PWD/../state
	stranger() { env -i PATH="$PATH" HOME=/proc/nonexistent XDG_STATE_HOME="$state" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} "$TOOL" "$@"; }
	[ "$(stranger --version)" = "$(own_version)" ]
	[ ! -e was-read ]
	stranger hello
	[ "$(stranger --version)" = "my-tool 1.2.0" ]
}

@test "the documents for agents call the tool by its name" {
	printf 'return { description = "Greet", danger_level = "safe", args = { { "who", "string" } }, examples = { { command = "runner hello --who Ada" } }, run = print }' >commands/hello.lua
	mine generate-skills --output-dir s
	grep -q "^    my-tool hello --who Ada" s/my-tool/_commands.md
	grep -qx "## my-tool hello" s/my-tool/_commands.md
	run grep -rw "runner [a-z]*\|.runner." s
	[ "$(grep -v "runner-up" <<<"$output")" = "" ]
	call generate-skills --output-dir r
	grep -q "^    runner hello --who Ada" r/*/_commands.md
}

@test "what the tool starts of itself speaks as it does: calls of exec, jobs" {
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	printf '%s\n' '{"_cmd":"hello"}' '{"_cmd":"hello","whom":"x"}' '{"_cmd":"helo"}' >requests
	mine exec --ignore-errors --input-file requests
	[ "$status" -eq 1 ]
	python3 - <<'PY'
import json
a = [json.loads(line) for line in open("out.txt")]
assert [e["ok"] for e in a] == [True, False, False], a
assert {e["meta"]["tool_version"] for e in a} == {"1.2.0"}, a
assert "'my-tool'" in a[2]["error"]["fix_required"], a
PY
	mine hello --detach
	mine job wait "$(field 'e.data["job_id"]')" --for 1m
	[ "$status" -eq 0 ]
	python3 -c 'import glob, json; (p,) = glob.glob("state/runner/jobs/*/answer.json"); assert json.load(open(p))["meta"]["tool_version"] == "1.2.0"'
}

@test "a run that the tool watches speaks as it does" {
	mine watch --runs 1 -- hello --help
	[ "$status" -eq 0 ]
	[[ $stdout == *"my-tool hello"* ]]
	[[ $stdout != *"runner hello"* ]]
}
