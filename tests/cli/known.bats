#!/usr/bin/env bats
# known: what runs the files of a project is a call of one of its commands, and whoever lists them afterwards does;
# what a command that reads all of them has loaded is kept until it changes.

load lib/helper

prepare() {
	mkdir state
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	loud deploy
	loud db/migrate
	cat >runner.lua <<-'LUA'
		io.open("loaded", "a"):write("runner.lua\n"):close()
		return { name = "shop" }
	LUA
}

# loud NAME [DESCRIPTION]: a command whose file says when it is loaded
loud() {
	command_file "$1" <<-LUA
		local f = io.open("loaded", "a") f:write("$1\n") f:close()
		return { description = "${2:-Says $1}", danger_level = "safe", args = { { "to", "enum", values = { "prod" } } }, run = function() return {} end }
	LUA
}

# offers WORDS…: what a Tab offers there, however long that takes
offers() {
	call completion bash --format plain --timeout 5m -- "$@"
	[ "$status" -eq 0 ]
	stdout=$(cut -f1 out.txt)
}

# Its files are older than what a cache takes.
aged() {
	find commands lib runner.lua -name '*.lua' -exec touch -d '1 hour ago' {} + 2>/dev/null || true
	sleep 2.1 # their ctime is what the kernel says
}

# What can't be read without being run is named with the reason; tests/cli/unread.bats tries everything else.
@test "Tab, help and the list run nothing of a project that this user has called no command of" {
	local args
	for args in "" --help help "--format plain" "completion bash --format plain -- " "completion bash -- dep" \
		"completion bash -- deploy --to " "completion bash -- deploy --t" "help --search dep"; do
		# shellcheck disable=SC2086
		call $args
		[ "$status" -eq 0 ]
		[ ! -e loaded ]
	done
	call
	expect 'e.data["commands"] == {"db migrate": "", "deploy": ""} and e.data["unread"]["deploy"] == "it calls io.open while it loads"'
	expect '"io.open" in e.data["problem"]'
	offers d
	[ "$stdout" = $'db\ndeploy\ndoctor' ]
	offers deploy --to ""
	[ -z "$stdout" ]
}

@test "once one of its commands has run, they do" {
	call deploy
	[ "$status" -eq 0 ]
	rm loaded
	call
	expect 'e.data["commands"] == {"db migrate": "Says db/migrate", "deploy": "Says deploy"} and "problem" not in e.data'
	grep -q runner.lua loaded
	offers deploy --to ""
	[ "$stdout" = prod ]
	[ "$(stat -c %a state/runner/projects/*)" = 600 ]
}

@test "no built-in command makes a project known, whatever it names" {
	call help deploy --format plain
	[[ $stdout == *"io.open"* ]]
	call deploy --help
	call deploy --schema
	[ "$status" -ne 0 ]
	call lint
	[ "$status" -ne 0 ]
	call status
	call doctor
	call new other
	[ "$status" -eq 0 ]
	[ ! -e loaded ]
	[ ! -e state/runner/projects ]
	call
	expect 'e.data["commands"]["deploy"] == "" and e.data["commands"]["other"]'
}

@test "RUNNER_TRUST vouches for a project, and another project stays unknown" {
	call RUNNER_TRUST="$PWD"
	expect 'e.data["commands"]["deploy"] == "Says deploy"'
	mkdir -p other/commands
	cp commands/deploy.lua other/commands/
	call deploy
	rm loaded
	cd other
	echo 'return {}' >runner.lua
	call
	expect 'e.data["commands"] == {"deploy": ""}'
	[ ! -e loaded ]
}

@test "a mark that others could write, or that names another project, makes nothing known" {
	call deploy
	local mark
	mark=$(echo state/runner/projects/*)
	chmod 644 "$mark"
	call
	expect 'e.data["commands"]["deploy"] == ""'
	echo -n /elsewhere >"$mark"
	chmod 600 "$mark"
	call
	expect 'e.data["commands"]["deploy"] == ""'
	rm "$mark"
	ln -s /etc/passwd "$mark"
	call
	expect 'e.data["commands"]["deploy"] == ""'
	call deploy
	[ "$status" -eq 0 ]
	[ ! -L "$mark" ]
}

@test "a mark that is more or less than the project's path, a link to one or a pipe makes nothing known" {
	call deploy
	local mark root wrong
	mark=$(echo state/runner/projects/*)
	root=$(<"$mark")
	[ "$root" = "$PWD" ]
	unknown() {
		timeout 20 env -i "${CLEAN_ENV[@]}" "$RUNNER" >out.txt 2>err.txt </dev/null
		stdout=$(<out.txt)
		expect 'e.data["commands"]["deploy"] == ""'
	}
	for wrong in "$root/" "${root%?}" / "" "${root%?}_"; do
		echo -n "$wrong" >"$mark"
		unknown
	done
	echo -n "$root" >"$mark"
	call
	expect 'e.data["commands"]["deploy"] == "Says deploy"'
	mv "$mark" own
	ln -s "$PWD/own" "$mark"
	unknown
	rm "$mark"
	mkfifo -m 600 "$mark"
	unknown
	exec 9<>"$mark"
	echo -n "$root" >&9
	unknown
	exec 9>&-
}

@test "a mark of another user makes nothing known" {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to read what is another user's"
	call deploy
	chown 65534 state/runner/projects/*
	call
	expect 'e.data["commands"]["deploy"] == ""'
	chown 0 state/runner/projects/*
	call
	expect 'e.data["commands"]["deploy"] == "Says deploy"'
}

@test "where nothing can be remembered a run is as ever" {
	rmdir state
	: >state
	call deploy
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e["warnings"] == []'
	call XDG_STATE_HOME=/proc/nowhere deploy
	[ "$status" -eq 0 ]
}

@test "under a limit on the size of files nothing is written, and all is answered" {
	rm runner.lua
	echo 'return { description = "Says deploy", danger_level = "safe", run = function() return {} end }' | command_file deploy
	rm -r commands/db
	status=0
	(ulimit -f 0 && exec env -i "${CLEAN_ENV[@]}" bash -c '"$0" deploy | cat && "$0" | cat' "$RUNNER") >/dev/null || status=$?
	[ "$status" -eq 0 ]
	[ -z "$(find state -type f)" ]
	call deploy
	aged
	run bash -c 'ulimit -f 0; "$@" | cat' bash env -i "${CLEAN_ENV[@]}" "$RUNNER"
	[[ $output == *"Says deploy"* ]]
	[ ! -e state/runner/declarations ]
}

@test "a list loads a file again only when it has changed" {
	call deploy
	aged
	call status
	rm loaded
	call
	expect 'e.data["commands"]["deploy"] == "Says deploy"'
	[ "$(cat loaded)" = runner.lua ]
	[ "$(stat -c %a state/runner/declarations/* | sort -u)" = 600 ]
	loud deploy "Says more"
	call
	expect 'e.data["commands"]["deploy"] == "Says more"'
	touch -r commands/db/migrate.lua commands/deploy.lua # the same size and mtime as before are not enough
	rm loaded
	loud db/migrate "Says db/migratf"
	touch -d '1 hour ago' commands/db/migrate.lua
	call
	expect 'e.data["commands"]["db migrate"] == "Says db/migratf"'
}

@test "two programs don't take what they know of files from each other; what none has used for a month goes" {
	call deploy
	aged
	cp "$RUNNER" other
	touch -d '1 hour ago' other
	sleep 2.1
	call status
	env -i "${CLEAN_ENV[@]}" ./other status >out.txt
	[ "$(find state/runner/declarations -type f | wc -l)" -eq 2 ]
	rm loaded
	call
	env -i "${CLEAN_ENV[@]}" ./other >out.txt
	call
	[ "$(sort -u loaded)" = runner.lua ]
	find state/runner/declarations -type f -exec touch -d '40 days ago' {} +
	loud deploy "Says more"
	aged
	call status
	[ "$(find state/runner/declarations -type f | wc -l)" -eq 1 ]
}

@test "a list loads a file again when something that it requires has changed" {
	mkdir lib
	echo 'return { text = require("inner") }' >lib/outer.lua
	echo 'return "first"' >lib/inner.lua
	echo 'return { description = require("outer").text, danger_level = "safe", run = print }' | command_file one
	echo 'return { description = require("outer").text .. " as well", danger_level = "safe", run = print }' | command_file two
	call one
	aged
	call status
	call
	expect 'e.data["commands"]["one"] == "first" and e.data["commands"]["two"] == "first as well"'
	echo 'return "second"' >lib/inner.lua
	call
	expect 'e.data["commands"]["one"] == "second" and e.data["commands"]["two"] == "second as well"'
}

@test "the cache is never evaluated nor needed: broken, foreign or unwritable, lists are the same" {
	call deploy
	aged
	call status
	local file content
	for content in 'os.exit(9)' '' "$(head -c 3000 /dev/urandom | tr -d '\0')"; do
		for file in state/runner/declarations/*; do printf '%s' "$content" >"$file"; done
		call
		[ "$status" -eq 0 ]
		expect 'e.data["commands"] == {"db migrate": "Says db/migrate", "deploy": "Says deploy"}'
	done
	sed -i 's/Says deploy/Says nonsense/' state/runner/declarations/*
	chmod 666 state/runner/declarations/*
	call
	expect 'e.data["commands"]["deploy"] == "Says deploy"'
	rm -r state/runner/declarations
	: >state/runner/declarations
	call
	[ "$status" -eq 0 ]
	expect 'e.data["commands"]["deploy"] == "Says deploy"'
}

@test "a description in the cache is data: what runs is the file" {
	call deploy
	aged
	call status
	sed -i 's/Says deploy/Says nonsense/' state/runner/declarations/*
	call
	expect 'e.data["commands"]["deploy"] == "Says nonsense"'
	call deploy --schema
	expect 'e.data["description"] == "Says deploy"'
}

@test "computed values are limited in time, and nothing of them is kept" {
	command_file pick <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "to", "enum", values = function()
			local f = io.open("asked", "a") f:write(".") f:close()
			local till = os.clock() + 0.05
			while os.clock() < till do end
			return { "a b", "ab$(touch bad)" }
		end } }, run = print }
	LUA
	echo 'return { description = "x", danger_level = "safe", args = { { "to", "enum", values = function() io.popen("sleep 60"):read "a" end } }, run = print }' |
		command_file stuck
	call deploy
	offers pick --to a
	[ "$stdout" = $'a b\nab$(touch bad)' ]
	offers pick --to ab
	[ "$stdout" = 'ab$(touch bad)' ]
	[ "$(cat asked)" = .. ]
	[ ! -e bad ]
	call completion bash --format plain -- stuck --to ""
	[ "$status" -eq 10 ]
	assert_no_process_left
	mkdir bin
	ln -s "$RUNNER" bin/runner
	run env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" bash -c 'source <(runner completion bash)
		COMP_WORDS=(runner stuck --to "") COMP_CWORD=3; _runner_completion; echo "${#COMPREPLY[@]}"'
	[ "$output" = 0 ]
}
