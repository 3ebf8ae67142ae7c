#!/usr/bin/env bats
# bundle: one program with runner and a project in it, which does the same wherever it is called and
# whatever was done to the file that leaves its sections alone.

load lib/helper

BINUTILS=${TEST_BINUTILS:-} # before their names: those for another processor

prepare() {
	mkdir -p project/commands/db project/lib home elsewhere
	cat >project/runner.lua <<'LUA'
return { name = "mine", version = "3.1.4", description = "My own tool", config = { who = "Ada" } }
LUA
	cat >project/commands/hello.lua <<'LUA'
local words = require "words"
return { description = "Greet", danger_level = "safe", run = function(_, ctx)
	return { greeting = words.hello(ctx.config.who), here = os.getenv "PWD", nested = ctx:call "db migrate" }
end }
LUA
	cat >project/commands/db/migrate.lua <<'LUA'
return { description = "Migrate", danger_level = "safe", run = function(_, ctx) return { root = ctx.root } end }
LUA
	echo 'return { hello = function(who) return "Hello, " .. who .. "! runner up" end }' >project/lib/words.lua
	(cd project && env -i "${CLEAN_ENV[@]}" "$RUNNER" bundle -o ../mytool >../bundled.json)
	TOOL=$PWD/mytool
}

# mine ARGS…: as call, of the bundle, in another directory with another project around it
mine() {
	mkdir -p elsewhere/commands
	echo 'error "never loaded"' >elsewhere/runner.lua
	local RUNNER=$TOOL top=$PWD
	cd elsewhere || return
	call "HOME=$top/home" "$@"
	cp out.txt err.txt "$top"
	cd "$top" || return
}

@test "a bundle runs its own commands anywhere, and none of what is around it" {
	mine hello
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["greeting"] == "Hello, Ada! runner up"'
	expect '"/home/.cache/runner/bundles/" in e.data["nested"]["root"]'
	echo 'return { description = "x", danger_level = "safe", run = function() end }' >elsewhere/commands/other.lua
	mine other
	[ "$status" -eq 2 ]
	[ "$(stat -c %a home/.cache/runner/bundles/*/)" = 700 ]
	[ "$(find home/.cache/runner/bundles -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 1 ]
}

@test "a bundle offers nothing that is for whoever writes commands" {
	for name in new types init lint test add bundle library flame conformance generate-skills "workflow new" "self lint"; do
		# shellcheck disable=SC2086 # two words
		mine $name foo
		assert_envelope
		expect 'e.error.code == "COMMAND_NOT_FOUND"'
	done
	mine help --format json
	expect '"new" not in e.data["builtin"].split() and "lint" not in e.data["builtin"].split() and "job" in e.data["builtin"].split()'
	mine completion bash --format plain -- ""
	[[ $stdout == *hello* ]]
	[[ $stdout != *types* ]]
	mine manifest
	expect '"types" not in str(list(e.data["commands"])) and "hello" in e.data["commands"]'
}

@test "help, version, completion, errors and advice name the tool" {
	mine --version
	[ "$stdout" = "mytool 3.1.4" ]
	mine hello
	expect 'e.meta["tool_version"] == "3.1.4"'
	mine help hello
	[[ $stdout == *"mytool hello"* ]]
	[[ $stdout != *"runner hello"* ]]
	mine helo
	expect 'e.error.fix_required == "Name an existing command: run '"'mytool'"' to list them"'
	mine completion bash --format plain
	[[ $stdout == *"_mytool_completion mytool"* ]]
	[[ $stdout != *runner* ]]
	cp mytool other
	TOOL=$PWD/other
	mine help hello
	[[ $stdout == *"other hello"* ]]
}

@test "strip, objcopy and bytes behind its end leave a bundle as it is" {
	command -v "${BINUTILS}strip" "${BINUTILS}objcopy" || skip "there are no binutils"
	"${BINUTILS}strip" mytool
	mine hello
	[ "$status" -eq 0 ]
	"${BINUTILS}objcopy" --strip-all --add-section .note.signature=project/runner.lua mytool
	echo signature >>mytool
	mine hello
	[ "$status" -eq 0 ]
	expect 'e.data["greeting"].startswith("Hello, Ada")'
}

@test "a bundle whose section was changed or removed runs nothing" {
	sed 's/My own tool/My new tool/' mytool >changed
	chmod +x changed
	TOOL=$PWD/changed
	mine hello
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "BUNDLE_DAMAGED" and e.error.side_effects == "none" and e.error.retryable is False and "detail" not in e.error'
	[[ $stdout == *"This program is damaged"*"was changed"* ]]
	[[ $stderr != *traceback* ]]
	command -v "${BINUTILS}objcopy" || skip "there is no objcopy"
	"${BINUTILS}objcopy" --remove-section=.runner.bundle mytool removed
	TOOL=$PWD/removed
	mine hello
	[[ $stdout == *"This program is damaged"*"is gone"* ]]
}

@test "files of the cache that somebody changed are replaced before they run" {
	mine hello
	echo 'error "hacked"' >"$(echo home/.cache/runner/bundles/*/commands/hello.lua)"
	mine hello
	[ "$status" -eq 0 ]
	rm "$(echo home/.cache/runner/bundles/*/lib/words.lua)"
	mine hello
	[ "$status" -eq 0 ]
	local words
	words=$(echo home/.cache/runner/bundles/*/lib/words.lua)
	cp "$words" same.lua
	ln -sf "$PWD/same.lua" "$words"
	mine hello
	[ "$status" -eq 0 ]
	[ ! -L "$words" ]
	[ "$(find home/.cache/runner/bundles -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 1 ]
}

@test "what somebody puts beside the files of the cache is no command and no module" {
	mine hello
	local root
	root=$(echo home/.cache/runner/bundles/*/)
	for place in commands commands/db lib; do
		cp project/commands/db/migrate.lua "$root$place/more.lua"
		mine more
		expect 'e.error.code == "COMMAND_NOT_FOUND"'
		[ ! -e "$root$place/more.lua" ]
	done
	echo kept >"$root/notes"
	mine hello
	expect 'e.ok'
	[ -e "$root/notes" ]
}

@test "without a cache a bundle unpacks into the run's own directory, which goes with it" {
	local RUNNER=$TOOL
	mkdir tmp
	for none in /dev/null "$PWD/none"; do
		call HOME="$none" TMPDIR="$PWD/tmp" hello
		assert_envelope
		[ "$status" -eq 0 ]
		[ "$(find tmp -mindepth 1 | wc -l)" -eq 0 ]
	done
	[ ! -e none ]
}

@test "many first calls at once find a whole project" {
	local pids=() i
	for i in 1 2 3 4 5 6; do
		(cd elsewhere && env -i "${CLEAN_ENV[@]}" HOME="$BATS_TEST_TMPDIR/home" "$TOOL" hello >"$BATS_TEST_TMPDIR/out.$i") &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
	grep -c '"ok":true' out.1 out.2 out.3 out.4 out.5 out.6
}

@test "what can't be bundled is refused, and nothing is written" {
	cd project
	ln -s /etc/hostname commands/link.lua
	call bundle -o ../other
	[ "$status" -eq 4 ]
	expect '"commands/link.lua is neither a file nor a folder" in e.error.message'
	rm commands/link.lua
	call bundle -o ../other --include ../home
	[ "$status" -eq 4 ]
	call bundle -o /dev/full/x
	[ "$status" -ne 0 ]
	cd "$BATS_TEST_TMPDIR/elsewhere"
	rm -rf commands runner.lua ../commands
	call bundle -o ../other
	[ "$status" -eq 4 ]
	[ ! -e ../other ]
	RUNNER=$TOOL
	call HOME="$BATS_TEST_TMPDIR/home" bundle -o ../other
	[ "$status" -eq 2 ]
	expect 'e.error.code == "COMMAND_NOT_FOUND"'
}

@test "a bundle has the files of --include, and workflows" {
	cd project
	mkdir -p data workflows
	echo text >data/a.txt
	printf 'steps:\n  - shell: echo hi\n' >flow.yaml
	call bundle -o ../mytool --include data
	[ "$status" -eq 0 ]
	expect 'e.data["effect"] == "updated" and e.data["files"] == 6'
	cd "$BATS_TEST_TMPDIR"
	mine db migrate
	root=$(field 'e.data["root"]')
	[ "$(cat "$root/data/a.txt")" = text ]
	[ -f "$root/flow.yaml" ]
}

@test "a run of a bundle is resumed in its context by the next version, whose folder is another one" {
	echo 'return { name = "mine", config = { who = "base" }, contexts = { prod = { config = { who = "prod" } }, dev = {} } }' >project/runner.lua
	cat >project/commands/late.lua <<'LUA'
return { description = "x", danger_level = "safe", run = function(_, ctx)
	return require "runner.fs".stat "heal" and { who = ctx.config.who } or ctx:fail("NOT_FOUND", "no")
end }
LUA
	bundled() { (cd project && env -i "${CLEAN_ENV[@]}" "$RUNNER" bundle -o "../$1" >../bundled.json); }
	bundled first
	echo '-- the next' >>project/commands/late.lua
	bundled second
	mkdir -p elsewhere
	printf 'steps:\n  - runner: late\n' >elsewhere/w.yaml
	TOOL=$PWD/first
	mine --context prod workflow run w.yaml
	[ "$status" -ne 0 ]
	touch elsewhere/heal
	cp -r home copy
	TOOL=$PWD/second
	mine --context dev workflow resume @last
	[ "$status" -eq 4 ]
	mine workflow resume @last
	expect 'e.data["steps"][0]["data"] == {"who": "prod"} and e.meta["context"] == "prod"'
	rm -r home
	mv copy home
	mine --context prod workflow resume @last
	expect 'e.data["steps"][0]["data"] == {"who": "prod"}'
}

@test "the jobs of a program are those of its project, in each version, and no other project's" {
	mine hello --detach
	[ "$status" -eq 0 ]
	local first
	first=$(field e.data.job_id)
	mine job wait "$first"
	sed -i s/3.1.4/3.2.0/ project/runner.lua
	(cd project && env -i "${CLEAN_ENV[@]}" "$RUNNER" bundle -o ../mytool >../bundled.json)
	mine job list
	expect "[r.job_id for r in e.data] == ['$first']"
	mine job list --all
	expect '[r.project for r in e.data] == ["program:mine"]'
	mine job status @last
	expect "e.data.job_id == '$first'"
	call "HOME=$PWD/home" job list
	expect 'e.data == []'
	call "HOME=$PWD/home" job status "$first"
	expect 'e.ok'
}
