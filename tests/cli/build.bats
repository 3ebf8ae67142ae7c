#!/usr/bin/env bats
# The build's products: one self-contained executable, an install, a library that
# can be read from disk, and a build that keeps to POSIX.

load lib/helper

prepare() {
	command_file hello <<'LUA'
return { description = "Say hello", danger_level = "safe",
	args = { { "seconds", "number", default = 0 } },
	run = function(args, ctx) ctx:sleep(args.seconds) return { greeting = "Hello" } end }
LUA
}

@test "the executable needs libc and libm, and nothing else" {
	ldd "$RUNNER" | grep -vE 'linux-vdso|libm\.so|libc\.so|ld-linux|asan|ubsan|libstdc|libgcc|libpthread|libdl|librt' >other.txt || true
	[ ! -s other.txt ]
}

@test "install puts an executable and its manual where PREFIX and DESTDIR say" {
	make -s -C "$ROOT" install DESTDIR="$PWD/root" PREFIX=/opt/r >/dev/null
	[ -x root/opt/r/bin/runner ]
	[ -s root/opt/r/share/man/man1/runner.1 ]
	bash -n root/opt/r/share/bash-completion/completions/runner
	zsh -n root/opt/r/share/zsh/site-functions/_runner
	fish -n root/opt/r/share/fish/vendor_completions.d/runner.fish
	RUNNER=$PWD/root/opt/r/bin/runner call hello
	assert_envelope
	[ "$status" -eq 0 ]
	make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/opt/r >/dev/null
	[ -z "$(find root -type f)" ]
}

@test "the README's commands name what is missing where nothing can be installed" {
	local name verb
	mkdir bin
	for name in bash dirname grep id; do
		ln -s "$(command -v $name)" bin/
	done
	for verb in demo check; do
		status=0
		env -i PATH="$PWD/bin" /usr/bin/env bash "$ROOT/.ci/make" $verb >out.txt 2>err.txt || status=$?
		[ "$status" -eq 1 ]
		grep -q '^These packages are missing (named as in Debian 12): gcc .*make' err.txt
	done
}

@test "the manual page has no fault that mandoc knows" {
	command -v mandoc >/dev/null || skip "no mandoc"
	mandoc -T lint -W warning "$ROOT/docs/runner.1"
}

@test "RUNNER_LUA loads the library from disk, and only then" {
	cp -r "$ROOT/lua" library
	sed -i '1i io.stderr:write("from disk\\n")' library/boot.lua
	call RUNNER_LUA="$PWD/library" hello
	assert_envelope
	[[ $stderr == *"from disk"* ]]
	call hello
	[ -z "$stderr" ]
}

@test "tracebacks of the embedded library name files and lines" {
	command_file bad <<'LUA'
return { description = "x", danger_level = "safe", run = function(_, ctx) ctx:retry(function() error("deep") end, { retries = 0 }) end }
LUA
	call bad
	expect '"bad.lua:1" in e.error.message'
	[[ $stderr == *"lua/boot.lua:"* ]]
}

@test "a build that knows no more than POSIX still enforces limits and ends what it can see" {
	make -s -C "$ROOT" BUILD="$BATS_FILE_TMPDIR/posix" CFLAGS=-DRUNNER_POSIX_ONLY all >/dev/null
	RUNNER=$BATS_FILE_TMPDIR/posix/runner
	call hello
	assert_envelope
	[ "$status" -eq 0 ]
	call hello --seconds 9 --timeout 200ms
	assert_envelope
	[ "$status" -eq 10 ]
	command_file tree <<'LUA'
return { description = "x", danger_level = "safe", run = function() os.execute("sleep 65 & sleep 66") end }
LUA
	call tree --timeout 200ms
	assert_envelope
	assert_no_process_left
}

@test "duration_ms is within 20 ms of the caller's wall time, start-up apart" {
	# the best of as many as it takes: a loaded machine may delay any one of them
	RUNNER=$RUNNER python3 - <<'PY'
import json, os, subprocess, time

def difference(seconds):
    before = time.perf_counter()
    done = subprocess.run([os.environ["RUNNER"], "hello", "--seconds", seconds], capture_output=True, check=True)
    wall = (time.perf_counter() - before) * 1000
    return wall - json.loads(done.stdout)["meta"]["duration_ms"]

startup = working = 1e9
for _ in range(40):
    startup, working = min(startup, difference("0")), min(working, difference("0.3"))
    if abs(working - startup) < 20:
        break
assert abs(working - startup) < 20, (startup, working)
PY
}
