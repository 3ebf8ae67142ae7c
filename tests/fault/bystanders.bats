#!/usr/bin/env bats
# What is not the run's must not be touched: mounts and files of other users in what
# runner removes, and what a failure leaves for the next call. Each test has a victim
# that is looked at afterwards. Mounts are made in a mount namespace of the test's own.

load ../cli/lib/helper

OTHER=65534

prepare() {
	mkdir -p tmp victim/inner
	echo precious >victim/file
	echo precious >victim/inner/file
	chmod 555 victim/inner
}

clean_up() {
	[ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null || true
	chmod -R u+w . 2>/dev/null || true
}

victim_is_whole() {
	[ "$(cat victim/file victim/inner/file)" = "$(printf 'precious\nprecious')" ]
	[ "$(stat -c %a victim/inner)" = 555 ]
}

needs_mounts() {
	APART=(unshare -m --propagation private)
	"${APART[@]}" true 2>/dev/null || APART=(unshare -r -m --propagation private)
	"${APART[@]}" mount --bind victim tmp 2>/dev/null || skip "no mounts may be made here"
}

# apart COMMAND…: $RUNNER stands for the binary; the mounts are gone afterwards
apart() {
	RUNNER="$RUNNER" "${APART[@]}" bash -c "$1" >apart.txt 2>&1 || {
		cat apart.txt
		return 1
	}
}

needs_two_users() {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to be another user"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_SUITE_TMPDIR"
	cp "$RUNNER" runner-copy
	chmod 755 runner-copy
	as_other ./runner-copy --version >/dev/null 2>&1 || skip "another user can't come here"
}

as_other() {
	setpriv --reuid=$OTHER --regid=$OTHER --clear-groups "$@"
}

# call_as_other ARGS…: call, as an ordinary user
call_as_other() {
	status=0
	env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmp" setpriv --reuid=$OTHER --regid=$OTHER --clear-groups \
		"$PWD/runner-copy" "$@" >out.txt 2>err.txt </dev/null || status=$?
}

# --- mounts ---------------------------------------------------------------------------

@test "what is mounted in the run's directory survives its removal" {
	needs_mounts
	body mounting '' <<'LUA'
		os.execute("mkdir " .. ctx.tempdir .. "/m " .. ctx.tempdir .. "/t; touch " .. ctx.tempdir .. "/f")
		assert(os.execute("mount --bind victim " .. ctx.tempdir .. "/m"))
		assert(os.execute("mount -t tmpfs none " .. ctx.tempdir .. "/t && touch " .. ctx.tempdir .. "/t/kept"))
		return { dir = ctx.tempdir }
LUA
	apart 'TMPDIR=$PWD/tmp "$RUNNER" mounting --format json >out.txt 2>err.txt; echo $? >status.txt
		ls -d tmp/*/f; ls tmp/*/t/kept >kept.txt'
	status=$(<status.txt)
	victim_is_whole
	assert_envelope
	[ "$status" -eq 0 ]
	[ -s kept.txt ]
	expect '[w["code"] for w in e.warnings] == ["TEMPDIR_LEFT"]'
	expect 'e.warnings[0]["context"]["count"] == 2 and "mount" in e.warnings[0]["context"]["reason"]'
	expect 'e.warnings[0]["context"]["left"].startswith(e.data["dir"] + "/")'
	[ -z "$(find tmp -name f)" ]
}

@test "fs.remove_tree leaves what is mounted, names it, and removes the rest" {
	needs_mounts
	body removing '' <<'LUA'
		local fs = require "fs"
		local ok, why, name = fs.remove_tree "tree"
		local top_ok, top_why, top_name = fs.remove_tree "tree/a/m"
		return { ok = ok == nil, why = why, name = name, top = { top_ok == nil, top_why, top_name } }
LUA
	mkdir -p tree/a/m tree/z
	touch tree/a/f tree/z/f
	apart 'mount --bind victim tree/a/m; "$RUNNER" removing --format json >out.txt 2>err.txt'
	status=0
	victim_is_whole
	assert_envelope
	expect 'e.data["ok"] and e.data["name"] == "EBUSY"'
	expect 'e.data["why"] == "remove_tree tree/a/m: it is a mount point or in use"'
	expect 'e.data["top"] == [True, "remove_tree tree/a/m: it is a mount point or in use", "EBUSY"]'
	[ "$(find tree | sort | tr '\n' ' ')" = "tree tree/a tree/a/m " ]
}

# --- directories of dead runs ------------------------------------------------------------

# a run that was killed with everything in it, whose directory stays: its name in $dead
make_dead_run() {
	body hanging 'timeout = "10m",' <<'LUA'
		require("fs").write(ctx.tempdir .. "/secret", "x")
		require("fs").write("marker", ctx.tempdir)
		ctx:sleep(600)
LUA
	rm -f marker
	env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmp" "$RUNNER" hanging >/dev/null 2>&1 </dev/null 3>&- &
	pid=$!
	until_true test -s marker
	dead=$(<marker)
	[ -e "$dead/secret" ]
}

kill_all() {
	local each
	kill -STOP "$pid"
	for each in $(processes_left | sed 's|/proc/\([0-9]*\)/.*|\1|'); do
		[ "$each" -eq "$pid" ] || kill -9 "$each" 2>/dev/null || true # it may have gone with another
	done
	kill -9 "$pid"
	wait "$pid" || true
	pid=
	until_true assert_no_process_left
}

# a run sweeps for some milliseconds: on a machine that stands still, a later one goes on
is_swept() {
	call TMPDIR="$PWD/tmp" making
	[ "$status" -eq 0 ] && [ ! -e "$dead" ]
}

@test "a later run that makes a directory itself removes those of killed runs, and no other run's" {
	make_dead_run
	body plain '' <<<'return {}'
	body making '' <<<'return { dir = ctx.tempdir }'
	call TMPDIR="$PWD/tmp" making
	[ -e "$dead/secret" ] # it is alive
	kill_all
	[ -e "$dead/secret" ]
	mkdir tmp/runner-01ARZ3NDEKTSV4RRFFQ69G5FAV tmp/runner-tmp-notes tmp/runner-tmp-01ARZ3NDEKTSV4RRFFQ69G5FAV-
	call TMPDIR="$PWD/tmp" plain
	[ -e "$dead/secret" ] # it makes none itself
	until_true is_swept
	[ "$(find tmp -mindepth 1 | wc -l)" -eq 3 ]
}

@test "a run that waits between two attempts keeps its directory" {
	body waiting 'retry = { retries = 1, delay = "3s", jitter = "none" },' <<'LUA'
		local fs = require "fs"
		if ctx.attempt == 2 then return { kept = fs.read(ctx.tempdir .. "/kept") } end
		fs.write(ctx.tempdir .. "/kept", "kept")
		fs.write("marker", "x")
		ctx:fail("UNAVAILABLE", "503")
LUA
	body making '' <<<'return { dir = ctx.tempdir }'
	env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmp" "$RUNNER" waiting >waiting.txt 2>&1 </dev/null 3>&- &
	pid=$!
	until_true test -e marker
	until_true grep -q "503" waiting.txt
	call TMPDIR="$PWD/tmp" making
	call TMPDIR="$PWD/tmp" making
	wait "$pid"
	pid=
	grep -q '"kept":"kept"' waiting.txt
}

@test "a sweep takes some milliseconds, however much there is" {
	make_dead_run
	(cd "$dead" && seq 1 20000 | xargs touch)
	kill_all
	body making '' <<<'local before = os.clock() return { dir = ctx.tempdir, cpu = os.clock() - before }'
	call TMPDIR="$PWD/tmp" making
	[ "$status" -eq 0 ]
	[ -e "$dead" ] # 20,000 files take longer
	expect 'e.data["cpu"] < 0.05'
	for _ in $(seq 1 3000); do # a slow machine removes few in each
		[ -e "$dead" ] || break
		call TMPDIR="$PWD/tmp" making
	done
	[ ! -e "$dead" ]
}

@test "nothing is swept where others may give a directory our names" {
	make_dead_run
	kill_all
	chmod 777 tmp
	body making '' <<<'return { dir = ctx.tempdir }'
	call TMPDIR="$PWD/tmp" making
	[ -e "$dead/secret" ]
	chmod 1777 tmp
	until_true is_swept
}

@test "a directory that is large beyond measure holds the answer for a moment only, and goes later" {
	CLEAN_ENV+=(TMPDIR="$PWD/tmp")
	body filling 'timeout = "10m",' <<'LUA'
		os.execute("here=$PWD && cd " .. ctx.tempdir .. " && seq 1 100000 | xargs touch && touch $here/marker")
		ctx:sleep(300)
LUA
	cancel TERM filling
	[ "$status" -eq 143 ]
	assert_envelope
	[ "$elapsed_ms" -lt 10000 ]
	expect 'e.warnings[0]["code"] == "TEMPDIR_LEFT" and "no time" in e.warnings[0]["context"]["reason"]'
}

# --- another user's files -----------------------------------------------------------------

@test "what another user has put into the run's directory is named and stays" {
	needs_two_users
	chown $OTHER tmp
	body scratch '' <<'LUA'
		require("fs").write("tmp/where", ctx.tempdir)
		for _ = 1, 2000 do
			if require("fs").stat(ctx.tempdir .. "/theirs/file") then break end
			ctx:sleep(0.01)
		end
		require("fs").mkdirs(ctx.tempdir .. "/closed/inner", 320)
		os.execute("chmod 500 " .. ctx.tempdir .. "/closed")
		return { dir = ctx.tempdir }
LUA
	(until_true test -s tmp/where && mkdir "$(<tmp/where)/theirs" && echo x >"$(<tmp/where)/theirs/file") 3>&- &
	call_as_other scratch
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.warnings[0]["code"] == "TEMPDIR_LEFT" and e.warnings[0]["context"]["count"] == 1'
	expect 'e.warnings[0]["context"]["left"] == e.data["dir"] + "/theirs/file"'
	[ "$(ls "$(field 'e.data["dir"]')")" = theirs ]
}

# --- deploys after a failure -----------------------------------------------------------------

make_target() {
	cp -r "$ROOT/commands" shipped # where another user can read it
	cat >runner.lua <<LUA
return { commands = "shipped", config = { source = "site", targets = {
	prod = { path = "www", keep = 2, lock_wait = "100ms" } } } }
LUA
	mkdir -p site
	for name in one two; do
		echo "$name" >site/index.html
		call deploy --target prod --release "$name"
		[ "$status" -eq 0 ]
	done
}

# Three deploys and two rollbacks, each of which succeeds and says what stays. As a script
# for another namespace or user: $RUNNER, and the answers in answers.txt.
SEQUENCE='
	for name in three four five; do
		echo $name >site/index.html
		"$RUNNER" deploy --target prod --release $name
		echo "status $?"
		[ "$(cat www/current/index.html)" = $name ] || echo "not live: $name"
	done >answers.txt 2>err.txt
	for name in four five; do
		"$RUNNER" rollback --target prod --to $name
		echo "status $?"
		[ "$(cat www/current/index.html)" = $name ] || echo "not live: $name"
	done >>answers.txt 2>>err.txt'

sequence_succeeded() {
	cat answers.txt
	[ "$(grep -c '^status 0$' answers.txt)" -eq 5 ]
	! grep "not live" answers.txt || return 1
	[ "$(grep -c '"ok":true' answers.txt)" -eq 5 ]
	[ "$(grep -c 'LEFT_BEHIND' answers.txt)" -ge 3 ]
}

@test "a mount in an old release is not emptied, and stops neither deploy nor rollback" {
	needs_mounts
	make_target
	mkdir www/releases/one/m
	apart "mount --bind victim www/releases/one/m; $SEQUENCE"
	victim_is_whole
	sequence_succeeded
	[ -z "$(find www -name index.html -path '*one*')" ]
	call deploy --target prod --release five
	[ "$status" -eq 0 ] # the mount is gone
	[ -z "$(find www -name '.trash*')" ]
}

@test "an old release that is itself a mount stops neither deploy nor rollback" {
	needs_mounts
	make_target
	apart "mount --bind victim www/releases/one; $SEQUENCE"
	victim_is_whole
	sequence_succeeded
}

@test "another user's files in an old release stop neither deploy nor rollback" {
	needs_two_users
	make_target
	mkdir www/releases/one/theirs www/.current.0123.tmp www/releases/.incoming-old
	echo x >www/releases/one/theirs/file
	echo x >www/releases/.incoming-old/file
	chown -R $OTHER www site .
	chown -R 0 www/releases/one/theirs www/releases/.incoming-old
	as_other env -i "${CLEAN_ENV[@]}" RUNNER="$PWD/runner-copy" bash -c "$SEQUENCE"
	sequence_succeeded
	[ -e www/releases/.incoming-old/file ]
	grep -q "PERMISSION\|Permission denied" answers.txt
	chown -R $OTHER www
	rmdir www/.current.0123.tmp
	call_as_other deploy --target prod --release five
	[ "$status" -eq 0 ]
	[ -z "$(find www -name '.trash*' -o -name '.incoming*')" ]
}

@test "a lock that leads elsewhere is refused, and what it leads to is not written" {
	make_target
	rm www/.deploy/lock
	ln -s ../../victim/file www/.deploy/lock
	for verb in deploy rollback; do
		call "$verb" --target prod
		assert_envelope
		[ "$status" -ne 0 ]
		expect 'e.error.code == "PRECONDITION" and "symbolic link" in e.error.message'
		victim_is_whole
	done
	rm www/.deploy/lock
	call deploy --target prod
	[ "$status" -eq 0 ]
}

@test "another user's lock in a directory that is not that user's is refused" {
	needs_two_users
	make_target
	rm www/.deploy/lock
	echo precious >www/.deploy/lock
	chmod 666 www/.deploy/lock
	chown $OTHER www/.deploy/lock
	call deploy --target prod
	assert_envelope
	[ "$status" -ne 0 ]
	expect 'e.error.code == "PERMISSION_DENIED" and "another user" in e.error.message'
	[ "$(cat www/.deploy/lock)" = precious ]
}
