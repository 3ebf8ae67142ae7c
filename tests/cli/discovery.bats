#!/usr/bin/env bats
# discovery: which commands there are, and what a shell may offer next.

load lib/helper

prepare() {
	known
	command_file deploy <<'LUA'
return {
	description = "Deploy: a release", danger_level = "safe",
	args = {
		{ "target", "enum", values = function(c) return c.targets end, short = "t", description = "Where to" },
		{ "size", "enum", values = { "small", "large" }, positional = true },
	},
	run = function(args) return args end,
}
LUA
	command_file db/migrate <<'LUA'
return { description = "Change tables", danger_level = "safe", run = function() return { where = "project" } end }
LUA
	echo 'return { config = { targets = { "prod", "dev" } } }' >runner.lua
}

# offers WORDS…: what may stand next, one word in each line of $stdout's first column.
offers() {
	call completion bash --format plain -- "$@"
	[ "$status" -eq 0 ]
	stdout=$(cut -f1 out.txt)
}

@test "names, groups and words of groups are completed" {
	offers d
	[ "$stdout" = $'db\ndeploy\ndoctor' ]
	offers db ""
	[ "$stdout" = migrate ]
	offers help db m
	[ "$stdout" = migrate ]
	offers workflow r
	[ "$stdout" = $'recover\nresume\nretry\nrm\nrun' ]
	offers nosuch ""
	[ -z "$stdout" ]
}

@test "a candidate is one line, and no text of one hides the next" {
	local name
	for name in za zb zc zd ze; do
		body "$name" <<<'return {}'
	done
	sed -i 's/description = "x"/description = "open\\27]0;"/' commands/za.lua
	sed -i 's/description = "x"/description = "two\\nlines"/' commands/zb.lua
	sed -i 's/description = "x"/description = "bad \\xff byte"/' commands/zc.lua
	sed -i 's/description = "x"/description = "grüß dich"/' commands/zd.lua
	known
	offers z
	[ "$stdout" = $'za\nzb\nzc\nzd\nze' ]
	[ "$(wc -l <out.txt)" -eq 5 ]
	! LC_ALL=C grep -q $'[\x1b\xff]' out.txt || false
	grep -qx $'zd\tgrüß dich' out.txt
	grep -qx $'ze\tx' out.txt
	rm commands/z[abc].lua
	offers z
	[ "$(<out.txt)" = $'zd\tgrüß dich\nze\tx' ]
}

@test "flags of the command and of the framework are completed" {
	offers deploy --t
	[ "$stdout" = $'--target\n--timeout\n--token-limit\n--token-offset\n--token-count\n--tokenizer' ]
	offers --ver
	[ "$stdout" = $'--verbose\n--version' ]
}

@test "values are completed, those from the project's config as well" {
	offers deploy --target p
	[ "$stdout" = prod ]
	offers deploy -t ""
	[ "$stdout" = $'prod\ndev' ]
	offers deploy --target prod s
	[ "$stdout" = small ] || [ -z "$stdout" ]
	offers deploy l
	[ "$stdout" = large ]
	offers deploy --format js
	[ "$stdout" = $'json\njsonl' ]
}

@test "ids of runs are completed, and a broken database spoils nothing" {
	echo 'commands: [{ shell: "true" }]' >one.yaml
	call XDG_STATE_HOME="$PWD/state" workflow run one.yaml
	[ "$status" -eq 0 ]
	local id words
	id=$(python3 -c 'import json; print(json.load(open("out.txt"))["data"]["id"])')
	for words in "show run_" "resume run_" "logs $id"; do
		# shellcheck disable=SC2086
		call XDG_STATE_HOME="$PWD/state" completion bash --format plain -- workflow $words
		[ "$(cut -f1 out.txt)" = "$id" ]
	done
	call XDG_STATE_HOME="$PWD/state" completion bash --format plain -- workflow show zzz
	[ -z "$stdout" ]
	echo nonsense >state/runner/runs.db
	call XDG_STATE_HOME="$PWD/state" completion bash --format plain -- workflow show ""
	[ "$status" -eq 0 ]
	[ -z "$stdout" ]
}

@test "a broken command spoils no completion" {
	echo 'os.exit(1)' | command_file broken
	offers ""
	[[ $stdout == *deploy* ]]
	offers broken --hel
	[ "$stdout" = --help ]
}

@test "the bash script completes in a real bash" {
	mkdir bin
	ln -s "$RUNNER" bin/runner
	cat >ask.bash <<-'BASH'
		source <(runner completion bash)
		ask() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _runner_completion; echo "${COMPREPLY[*]}"; }
		ask runner deploy --target ""
		ask runner deploy --target = pr
		ask ./runner dep
		ask runner deploy --place ""
		complete -p runner
	BASH
	printf '#!/bin/sh\ntouch bad\n' >./runner
	chmod +x ./runner
	sed -i 's/args = {/args = { { "place", "enum", values = { "a b", "$(touch bad)" } },/' commands/deploy.lua
	run env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" RUNNER_FORMAT= bash ask.bash
	[ "${lines[0]}" = "prod dev" ]
	[ "${lines[1]}" = "prod" ]
	[ "${lines[2]}" = "deploy" ]
	[ "${lines[3]}" = 'a\ b \$\(touch\ bad\)' ]
	[[ ${lines[4]} == *_runner_completion* ]]
	[ ! -e bad ]
}

@test "values are quoted for bash as its printf %q does, and those of an older runner or for an older bash by itself" {
	mkdir bin
	command_file pick <<-'LUA'
		local list = { "a/b:c=d@e%f+g-h_i.j", "plain" }
		for b = 32, 126 do
			local c = string.char(b)
			for _, text in ipairs { c .. "x", b > 32 and c or "y", "x" .. c, "=" .. c, ":" .. c .. "q", c .. c .. "~#" } do list[#list + 1] = text end
		end
		return { description = "x", danger_level = "safe", args = { { "to", "enum", values = list } }, run = function() return {} end }
	LUA
	answers 0 pick --to plain
	cat >ask.bash <<-'BASH'
		source <(runner completion bash)
		COMP_WORDS=(runner pick --to "") COMP_CWORD=3
		ask() { _runner_completion; printf '%s\n' "${#COMPREPLY[@]}" "${COMPREPLY[@]}"; }
		set -f -u
		ask >now
		case "$-$IFS" in *f*u*$' \t\n') echo kept ;; esac
		printf '#!/bin/sh\nexec "$0.now" completion bash --format plain -- pick --to ""\n' >bin/old
		chmod +x bin/old
		COMP_WORDS[0]=old
		ask >older_runner
		COMP_WORDS[0]=runner
		eval "$(declare -f _runner_completion | sed 's/BASH_VERSINFO\[0\]/4/; s/BASH_VERSINFO\[1\]/3/')"
		ask >older_bash
	BASH
	ln -s "$RUNNER" bin/runner
	ln -s "$RUNNER" bin/old.now
	run env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" bash ask.bash
	[ "$output" = kept ]
	[ "$(wc -l <now)" -gt 570 ]
	cmp now older_runner
	cmp now older_bash
}

@test "bash gets no more than what follows the last colon or = that it breaks words at" {
	mkdir bin
	ln -s "$RUNNER" bin/runner
	command_file greet <<<'return { description = "x", danger_level = "safe", args = { { "who", "enum", values = { "c:d", "c::e", "a b:c", "k=v:w" } } , { "kind", "enum", values = { "k:x", "k:y", "z=1" } } }, run = function() return {} end }'
	answers 0 greet --kind k:x
	cat >ask.bash <<-'BASH'
		source <(runner completion bash)
		ask() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _runner_completion; echo "${COMPREPLY[*]}"; }
		all() {
			ask runner greet --who c : ''
			ask runner greet --who c :
			ask runner greet --who c :: e
			ask runner greet --who = k = v : w
			ask runner greet --kind = k :
			ask runner greet --kind = z = ''
			ask runner greet --kind = ''
			ask runner greet --who c
		}
		all
		eval "$(declare -f _runner_completion | sed 's/BASH_VERSINFO\[0\]/4/; s/BASH_VERSINFO\[1\]/3/')"
		echo
		all
		COMP_WORDBREAKS=' ='
		echo
		ask runner greet --who c:
		ask runner greet --kind = k:
	BASH
	run env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" bash ask.bash
	local both=$'d :e\nd :e\ne\nw\nx y\n1\nk:x k:y z=1\nc:d c::e'
	[ "$output" = "$both"$'\n\n'"$both"$'\n\nc:d c::e\nk:x k:y' ]
}

@test "an interactive bash completes at a Tab, in the place of the word" {
	load lib/tmux
	command -v tmux >/dev/null || skip "no tmux here"
	mkdir bin
	ln -s "$RUNNER" bin/runner
	command_file colon <<<'return { description = "x", danger_level = "safe", args = { { "to", "enum", values = { "c:d", "e" } } }, run = function() return {} end }'
	answers 0 colon
	start_shell
	type_line "PATH=$PWD/bin:\$PATH; source <(runner completion bash)"
	mux send-keys "runner deploy --target=p" Tab
	on_screen 'runner deploy --target=prod'
	mux send-keys C-u # as typed in turn; what Ctrl+C does to what is typed behind it is a race
	mux send-keys "runner colon --to=c:" Tab
	on_screen 'runner colon --to=c:d'
	end_shell
}

# arrive SCRIPT COMMAND…: each value is offered by that shell, under a terminal, where its first letter is typed, and reaches the command.
arrive() {
	load lib/tmux
	local letter script=$1
	shift
	command -v tmux >/dev/null || skip "no tmux here"
	command -v "$1" >/dev/null || skip "no $1 here"
	mkdir bin
	ln -s "$RUNNER" bin/runner
	# shellcheck disable=SC2016 # no shell shall read them
	printf '%s\n' 'A b' "B'q" 'C"d' 'D$HOME' 'E`id`' F:g::h 'G*?' H~ 'I\j' J=k 'K!l' L#m 'M(n)' 'N;o' 'P&q' 'Q[r]' 'R{s,t}' 'S<u>' 'T|v' U%w V^x Wß >values
	command_file pick <<-'LUA'
		local values = {}
		for line in io.lines "values" do values[#values + 1] = line end
		return { description = "x", danger_level = "safe", args = { { "to", "enum", values = values } },
			run = function(args) io.open("arrived", "a"):write(args.to, "\n"):close() return {} end }
	LUA
	start_shell
	type_line "export PATH=$PWD/bin:\$PATH RUNNER_TIMEOUT=1m RUNNER_TRUST=$PWD; exec $*"
	type_line "$script; echo has''begun"
	on_screen hasbegun
	for letter in A B C D E F G H I J K L M N P Q R S T U V W; do
		mux send-keys -l "runner pick --to $letter"
		mux send-keys Tab
		mux send-keys Enter
		until_true has_arrived "$letter"
	done
	end_shell
	cmp values arrived
}

has_arrived() {
	[[ $(tail -n 1 arrived) == "$1"* ]]
}

@test "what a Tab in a real bash completes is the value" {
	arrive 'source <(runner completion bash)' bash --norc
}

@test "what a Tab in a real zsh completes is the value" {
	arrive 'autoload -Uz compinit; compinit -D -u; source <(runner completion zsh)' zsh -f
}

@test "what a Tab in a real fish completes is the value" {
	arrive 'runner completion fish | source' fish --no-config
}

# What its completion functions would be given is printed.
@test "the zsh script completes in a real zsh" {
	mkdir bin
	ln -s "$RUNNER" bin/runner
	cat >ask.zsh <<-'ZSH'
		compdef() { print -r "compdef $*" }
		_describe() { print -rl -- "${(@P)2}" }
		_files() { print files }
		source <(runner completion zsh)
		ask() { words=(runner "$@"); CURRENT=$#words; _runner_completion }
		ask deploy --target ""
		ask deploy --target=p
		ask dep
		ask deploy a-f
	ZSH
	run env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" zsh -f ask.zsh
	echo "$output" >out.txt
	[ "$output" = $'compdef _runner_completion runner\nprod\ndev\n--target=prod\ndeploy:Deploy: a release\nfiles' ]
}

@test "the zsh script works as an autoloaded function of its folder" {
	mkdir bin functions
	ln -s "$RUNNER" bin/runner
	"$RUNNER" completion zsh >functions/_runner
	run env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" zsh -f -c '
		fpath=($PWD/functions) words=(runner dep) CURRENT=2
		_describe() { print -rl -- "${(@P)2}" }
		autoload -Uz _runner; _runner; _runner'
	[ "$output" = $'deploy:Deploy: a release\ndeploy:Deploy: a release' ]
}

@test "the fish script completes in a real fish" {
	mkdir bin home
	ln -s "$RUNNER" bin/runner
	: >a-file
	ask() {
		env -i "${CLEAN_ENV[@]}" PATH="$PWD/bin:$PATH" HOME="$PWD/home" fish -c \
			'runner completion fish | source; complete -C $argv[1]' "runner $*"
	}
	[ "$(ask deploy --target '')" = $'dev\nprod' ]
	[ "$(ask deploy --target=p)" = "--target=prod" ]
	[ "$(ask dep)" = $'deploy\tDeploy: a release' ]
	[[ "$(ask deploy a-f)" == a-file* ]]
}

@test "the script is text wherever stdout goes, whatever the environment says" {
	local shell
	for shell in bash zsh fish; do
		call CI=1 completion "$shell"
		[ "$status" -eq 0 ]
		[[ $stdout == *runner_completion* ]]
		[[ $stdout != *'"ok"'* ]]
	done
	bash -n out.txt || [ "$shell" != bash ]
}

@test "a program gets the script as data" {
	call completion bash --format json
	assert_envelope
	expect 'e.data["shell"] == "bash" and "complete" in e.data["script"] and e.data["suggestion"]'
}

@test "the list holds the commands of every folder, the nearest first" {
	mkdir -p path/db config/runner/commands
	echo 'return { description = "From the path", danger_level = "safe", run = print }' | tee path/db/migrate.lua >path/extra.lua
	cp path/extra.lua config/runner/commands/own.lua
	call RUNNER_PATH="$PWD/path" XDG_CONFIG_HOME="$PWD/config"
	assert_envelope
	expect 'list(e.data["commands"])[:4] == ["db migrate", "deploy", "extra", "own"]'
	expect 'e.data["commands"]["db migrate"] == "Change tables"'
	call RUNNER_PATH="$PWD/path" db migrate
	expect 'e.data["where"] == "project"'
}

@test "columns that a command declares come first" {
	command_file list <<'LUA'
return { description = "x", danger_level = "safe", columns = { "name", "age" }, rows = true,
	run = function() return { { age = 1, extra = true, name = "a" } } end }
LUA
	call list --format tsv
	[ "$(head -n1 out.txt)" = $'name\tage\textra' ]
}

@test "commands of other folders stand under the name of their folder" {
	mkdir -p commands "$BATS_TEST_TMPDIR.other"
	echo 'return { description = "Own", danger_level = "safe", run = function() end }' >commands/own.lua
	echo 'return { description = "Other", danger_level = "safe", run = function() end }' >"$BATS_TEST_TMPDIR.other/other.lua"
	call RUNNER_PATH="$BATS_TEST_TMPDIR.other" --format plain
	grep -q "^other	.*	From $BATS_TEST_TMPDIR.other" out.txt
	[ "$(grep -cE "^(own|deploy)	.*From" out.txt)" -eq 0 ]
	known_to_tty=$(env -i "${CLEAN_ENV[@]}" TERM=xterm RUNNER_PATH="$BATS_TEST_TMPDIR.other" script -qec "$RUNNER" /dev/null </dev/null)
	[[ ${known_to_tty%%From *} == *own* ]]
	[[ ${known_to_tty#*From } == *other* ]]
}
