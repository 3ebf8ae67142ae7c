#!/usr/bin/env bats
# An ordinary user's run, among files of a third one: what that user left is never run,
# never written to and never removed, and each refusal says whose it is.

load ../cli/lib/helper

US=65534
THEM=65533

prepare() {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to be two other users"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_SUITE_TMPDIR"
	install -m 755 "$RUNNER" runner-copy
	as $US ./runner-copy --version >/dev/null 2>&1 || skip "another user can't come here"
	mkdir tmp home
	chown -R $US .
	chmod 755 .
}

as() {
	setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"
}

# ours ARGS…: call, as the ordinary user
ours() {
	status=0
	env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmp" HOME="$PWD/home" setpriv --reuid=$US --regid=$US --clear-groups \
		"$BATS_TEST_TMPDIR/runner-copy" "$@" >"$BATS_TEST_TMPDIR/out.txt" 2>"$BATS_TEST_TMPDIR/err.txt" </dev/null || status=$?
}

# Theirs would leave a mark if it ran.
MARK='io.open("ran", "w"):close() return { description = "x", danger_level = "safe", run = function() end }'

refused() {
	[ "$status" -ne 0 ]
	assert_envelope
	expect "'$1' in e.error.message"
	expect "'owned by neither you nor root' in e.error.message"
	[ -z "$(find . -name ran)" ]
}

@test "a command file of a third user is refused" {
	echo "$MARK" >commands/c.lua
	chown $THEM commands/c.lua
	ours c
	refused commands/c.lua
}

@test "a module of a third user in lib/, and a lib/ of that user, are refused" {
	body c '' <<<'require "m" return {}'
	mkdir lib
	echo "$MARK" >lib/m.lua
	chown -R $US lib commands
	chown $THEM lib/m.lua
	ours c
	refused lib/m.lua
	chown $US lib/m.lua
	chown $THEM lib
	ours c
	refused lib
}

@test "a project of a third user is not run from inside of it, nor are modules of the working directory" {
	mkdir -p theirs/commands
	echo "$MARK" >theirs/commands/c.lua
	echo "$MARK" >theirs/m.lua
	chown -R $THEM theirs
	chmod 777 theirs
	cd theirs
	ours c
	cd "$BATS_TEST_TMPDIR"
	refused commands
	body c '' <<<'return { found = pcall(require, "m") }'
	chown -R $US commands
	mkdir -p theirs/inner
	cp -r commands theirs/inner/
	chown -R $US theirs/inner
	chmod 755 theirs
	cd theirs/inner
	cp ../m.lua .
	chown $THEM m.lua
	ours c
	cd "$BATS_TEST_TMPDIR"
	[ -z "$(find . -name ran)" ]
}

@test "a lock of a third user is neither taken nor written, where it stands among that user's or anybody's" {
	mkdir shared
	chmod 1777 shared
	chown 0 shared
	echo precious >shared/l
	chmod 666 shared/l
	chown $THEM shared/l
	body c '' <<<'local l <close> = ctx.fs.lock "shared/l" return {}'
	chown -R $US commands
	ours c
	[ "$status" -ne 0 ]
	assert_envelope
	expect 'e.error.code == "PERMISSION_DENIED"'
	[ "$(<shared/l)" = precious ]
}

@test "the directory of a third user's dead run is not swept, nor is anything else of that user" {
	chmod 1777 tmp
	chown 0 tmp
	mkdir theirs
	cd theirs
	body hang '' <<<'ctx.fs.write(ctx.tempdir .. "/precious", "x") ctx.fs.write("where", ctx.tempdir) ctx:sleep(60)'
	chown -R $THEM .
	env -i "${CLEAN_ENV[@]}" TMPDIR="$BATS_TEST_TMPDIR/tmp" setpriv --reuid=$THEM --regid=$THEM --clear-groups \
		"$PWD/../runner-copy" hang >/dev/null 2>&1 </dev/null 3>&- &
	local pid=$! dead
	cd "$BATS_TEST_TMPDIR"
	until_true test -s theirs/where
	kill -STOP "$pid"
	processes_left | sed 's|/proc/\([0-9]*\)/.*|\1|' | grep -vx "$pid" | xargs kill -9
	kill -9 "$pid"
	wait "$pid" || true
	dead=$(<theirs/where)
	[ -e "$dead/precious" ]
	body c '' <<<'return { dir = ctx.tempdir }'
	ours c
	[ "$status" -eq 0 ]
	[ -e "$dead/precious" ]
}

@test "--output follows no link of a third user in a folder for all, and writes there what is asked for" {
	mkdir shared
	chown 0 shared
	chmod 1777 shared
	echo precious >home/precious
	ln -s "$PWD/home/precious" shared/out
	chown -h $THEM shared/out
	body c '' <<<'return { v = 1 }'
	chown -R $US commands home
	ours c --output shared/out
	[ "$status" -ne 0 ]
	assert_envelope
	expect 'e.error.code == "OUTPUT_FAILED" and "neither you nor root" in e.error.message'
	[ "$(<home/precious)" = precious ]
	ours c --output shared/other
	[ "$status" -eq 0 ]
	grep -q '"v":1' shared/other
}

@test "what a third user owns in a tree stays, is named, and the rest is removed" {
	mkdir -p tree/theirs tree/ours
	echo precious >tree/theirs/file
	echo x >tree/ours/file
	chown -R $US tree
	chown -R $THEM tree/theirs
	body c '' <<<'local ok, why, name = require("fs").remove_tree "tree" return { ok = ok == nil, why = why, name = name }'
	chown -R $US commands
	ours c
	assert_envelope
	expect 'e.data.ok and "theirs" in e.data.why and e.data.name == "EACCES"'
	[ "$(find tree | sort | tr '\n' ' ')" = "tree tree/theirs tree/theirs/file " ]
}
