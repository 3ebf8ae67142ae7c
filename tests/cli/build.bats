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
	not_sanitized "built"
	make -s -C "$ROOT" install DESTDIR="$PWD/root" PREFIX=/opt/r >/dev/null
	[ -x root/opt/r/bin/runner ]
	[ -s root/opt/r/share/man/man1/runner.1 ]
	bash -n root/opt/r/share/bash-completion/completions/runner
	zsh -n root/opt/r/share/zsh/site-functions/_runner
	fish -n root/opt/r/share/fish/vendor_completions.d/runner.fish
	RUNNER=$PWD/root/opt/r/bin/runner call hello
	assert_envelope
	[ "$status" -eq 0 ]
	echo 'return {}' >root/opt/r/share/runner/commands/ours.lua
	make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/opt/r >/dev/null
	[ "$(find root -type f)" = root/opt/r/share/runner/commands/ours.lua ]
	rm root/opt/r/share/runner/commands/ours.lua
	make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/opt/r >/dev/null
	[ ! -e root/opt/r/share/runner ]
}

@test "what is installed is for everybody, whatever the umask, also below a folder with a space" {
	not_sanitized "built"
	(umask 077 && mkdir "a root" && make -s -C "$ROOT" install DESTDIR="$PWD/a root" PREFIX=/opt/r >/dev/null)
	find "a root/opt" ! -perm -a+r -o -type d ! -perm -a+x >closed.txt
	cat closed.txt
	[ ! -s closed.txt ]
	[ -s "a root/opt/r/share/man/man1/runner-workflow.1" ]
	[ -s "a root/opt/r/share/bash-completion/completions/runner" ]
	make -s -C "$ROOT" uninstall DESTDIR="$PWD/a root" PREFIX=/opt/r >/dev/null
	[ -z "$(find "a root" -type f)" ]
}

@test "each built-in command has a manual page, with its flags, exit codes and examples" {
	not_sanitized "built"
	command -v mandoc >/dev/null || skip "no mandoc"
	local page
	# what a project and a user have is in none of them
	command_file lint <<<'return { description = "OURS", danger_level = "safe", run = function() return {} end }'
	RUNNER_PATH=$PWD/commands make -s -C "$ROOT" install PREFIX="$PWD/one" >/dev/null
	for page in "$ROOT"/lua/commands/*; do
		page=${page##*/}
		[ "$page" != several.lua ] || continue # hidden: it is called as runner + NAME
		[ -s "one/share/man/man1/runner-${page%.lua}.1" ]
	done
	mandoc -T lint -W warning one/share/man/man1/*.1
	mandoc -T ascii one/share/man/man1/runner-lint.1 | sed 's/.\x08//g' >lint.txt
	grep -q 'runner lint \[files \.\.\.\] \[flags\]' lint.txt
	grep -q -- '--against string' lint.txt
	grep -q '  runner lint --run-examples$' lint.txt
	[ -z "$(grep OURS lint.txt || true)" ]
	mandoc -T ascii one/share/man/man1/runner-workflow.1 | sed 's/.\x08//g' >workflow.txt
	grep -q '^   runner workflow resume$' workflow.txt
	grep -qE '^     81 +STEP_IN_DOUBT' workflow.txt
}

# knows_health PROGRAM: it has what is installed beside it, once.
knows_health() {
	RUNNER=$1 call help health --format json
	[ "$status" -eq 0 ]
	expect 'e.data["usage"] == "runner health <url>"'
	RUNNER=$1 call help --format json
	[ "$(grep -o '"health"' out.txt | wc -l)" -eq 1 ]
}

@test "an installed program finds the commands that came with it, also when the tree has moved" {
	not_sanitized "built"
	rm -r commands
	make -s -C "$ROOT" install PREFIX="$PWD/one" >/dev/null
	knows_health "$PWD/one/bin/runner"
	mkdir -p new/place
	mv one new/place/two
	knows_health "$PWD/new/place/two/bin/runner"
	# … and through a link, and by another name
	mkdir bin
	ln -s ../new/place/two/bin/runner bin/runner
	mv new/place/two/bin/runner new/place/two/bin/tool
	ln -sf ../new/place/two/bin/tool bin/runner
	knows_health "$PWD/bin/runner"
	# a project goes before it, and a program that is in no bin has no such folder
	command_file health <<<'return { description = "Ours", danger_level = "safe", run = function() return { ours = true } end }'
	RUNNER=$PWD/bin/runner call health
	expect 'e.data == {"ours": True}'
	rm -r commands
	mv new/place/two/bin new/place/two/sbin
	RUNNER=$PWD/new/place/two/sbin/tool call health
	expect 'e.error.code == "COMMAND_NOT_FOUND"'
}

@test "a command that came with the program is trusted like any other: not where everybody may write" {
	not_sanitized "built"
	rm -r commands
	make -s -C "$ROOT" install PREFIX="$PWD/one" >/dev/null
	chmod o+w one/share/runner/commands
	RUNNER=$PWD/one/bin/runner call health
	expect 'e.error.code == "COMMAND_INVALID" and "share/runner/commands" in e.error.message'
}

# tree_in FOLDER: what a build is made from, and the commit of the checkout's own build.
tree_in() {
	mkdir -p "$1"
	cp -r "$ROOT/src" "$ROOT/lua" "$ROOT/Makefile" "$1/"
	mkdir "$1/.ci"
	cp "$ROOT/.ci/commit" "$ROOT/.ci/first.list" "$ROOT"/.ci/*.mk "$1/.ci/"
	[ ! -e "$ROOT/config.mak" ] || cp "$ROOT/config.mak" "$1/"
	sed -E 's/.* "(.*)"/\1/' "$ROOT/build/commit.h" >"$1/.commit"
}

@test "two folders and two days give the same bytes; a file that came or went is noticed" {
	[ "$RUNNER" -ef "$ROOT/build/runner" ] || skip "another build is tested"
	local folder="a/deeper folder"
	tree_in "$PWD/$folder"
	find a -name '*.lua' -exec touch -d 2001-02-03 {} +
	again() { SOURCE_DATE_EPOCH=1 TZ=Asia/Tokyo make -s -C "$folder" -j2 BUILD=elsewhere all >/dev/null; }
	again
	cmp "$folder/elsewhere/runner" "$ROOT/build/runner"
	[ -z "$(strings -n 8 "$ROOT/build/runner" | grep -F "$ROOT" || true)" ]
	# a module, then a C file, each older than all that is built
	echo 'return "a module that goes again"' >"$folder/lua/core/passing.lua"
	echo 'extern const char passing_text[]; const char passing_text[] = "a C file that goes again";' >"$folder/src/common/passing.c"
	touch -d 2001-02-03 "$folder/lua/core/passing.lua" "$folder/src/common/passing.c"
	again
	grep -q 'a module that goes again' "$folder/elsewhere/runner"
	grep -q 'a C file that goes again' "$folder/elsewhere/runner"
	rm "$folder/lua/core/passing.lua" "$folder/src/common/passing.c"
	again
	cmp "$folder/elsewhere/runner" "$ROOT/build/runner"
}

@test "the commit of a build: a tarball's file, else git's, with -dirty where it was changed, else unknown" {
	not_sanitized "built"
	command -v git >/dev/null || skip "no git"
	tree_in tree
	named() { (cd tree && .ci/commit commit.h && sed -E 's/.* "(.*)"/\1/' commit.h); }
	echo 0123abc >tree/.commit
	[ "$(named)" = 0123abc ]
	# shellcheck disable=SC2016 # as it is in a checkout
	echo '$Format:%H$' >tree/.commit
	[ "$(named)" = unknown ]
	git init -q . # a repository that the tree only lies in
	[ "$(named)" = unknown ]
	git -C tree init -q
	[ "$(named)" = unknown ]
	echo commit.h >tree/.gitignore
	git -C tree add .
	git -C tree -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm 'A whole tree'
	[ "$(named)" = "$(git -C tree rev-parse HEAD)" ]
	# asking changes nothing in the repository
	touch -d 2001-02-03 tree/lua/boot.lua
	sha256sum tree/.git/index >index.txt
	[ "$(named)" = "$(git -C tree rev-parse HEAD)" ]
	sha256sum --quiet -c index.txt
	echo >>tree/lua/boot.lua
	[ "$(named)" = "$(git -C tree rev-parse HEAD)-dirty" ]
	# what git archive writes
	grep -qx '/\.commit export-subst' "$ROOT/.gitattributes"
}

@test "--version --verbose names commit, build and libraries; --version alone only the version" {
	call --version --verbose
	[ "$status" -eq 0 ]
	[ "$(head -n 1 <<<"$stdout")" = "$("$RUNNER" --version)" ]
	grep -qE '^commit: ([0-9a-f]{40}(-dirty)?|unknown)$' <<<"$stdout"
	grep -qE '^build: (dynamic|static), [a-z0-9_]+-linux, (glibc|musl)[^,]*, (gcc|clang|Clang|Debian)' <<<"$stdout" || { echo "$stdout" >&2 && false; }
	grep -qE '^Lua: 5\.4\.[0-9]+ \(built-in\)$' <<<"$stdout"
	call --version --verbose --format json
	expect 'e.data["version"] == e.meta.tool_version == e.data["build"]["version"]'
	expect '{l["name"] for l in e.data["libraries"]} == {"Lua", "lua-cjson", "PCRE2", "libcurl", "SQLite", "lua-yaml", "libmd", "libarchive"}'
	expect 'all(l["version"][0] in "0123456789" if "version" in l else l["missing"] for l in e.data["libraries"])'
	call RUNNER_VERBOSE=1 --version
	[ "$stdout" = "$("$RUNNER" --version)" ]
}

@test "--version --verbose says which libraries can't be opened, and why" {
	dynamic_only "has them inside"
	mkdir none
	touch none/libcurl.so.4 none/libcurl-gnutls.so.4 none/libsqlite3.so.0 none/libmd.so.0
	call LD_LIBRARY_PATH="$PWD/none" --version --verbose
	[ "$status" -eq 0 ]
	[ "$(grep -cE '^(libcurl|SQLite|libmd): none \((not here|/.*\.so\.[0-9]: .+)\)$' <<<"$stdout")" -eq 3 ]
	call LD_LIBRARY_PATH="$PWD/none" --version --verbose --format json
	assert_envelope
	expect '[l["name"] for l in e.data["libraries"] if "missing" in l] == ["libcurl", "SQLite", "libmd"]'
}

@test "the README's commands name what is missing where nothing can be installed" {
	not_sanitized "built"
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
	not_sanitized "built"
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
	not_sanitized "built"
	make -s -C "$ROOT" BUILD="$BATS_FILE_TMPDIR/posix" CFLAGS=-DRUNNER_POSIX_ONLY all >/dev/null
	RUNNER=$BATS_FILE_TMPDIR/posix/runner
	call hello
	assert_envelope
	[ "$status" -eq 0 ]
	call hello --seconds 9 --timeout 200ms
	assert_envelope
	[ "$status" -eq 10 ]
	command_file tree <<'LUA'
return { description = "x", danger_level = "safe", run = function() os.execute("sleep 650 & sleep 660") end }
LUA
	call tree --timeout 200ms
	assert_envelope
	until_true assert_no_process_left # it knows of no process whose end it could wait for, but of the worker's
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
end = time.monotonic() + 150
while time.monotonic() < end:
    startup, working = min(startup, difference("0")), min(working, difference("0.3"))
    if abs(working - startup) < 20:
        break
assert abs(working - startup) < 20, (startup, working)
PY
}
