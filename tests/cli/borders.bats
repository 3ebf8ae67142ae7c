#!/usr/bin/env bats
# The borders of the house as the built program shows them: no Lua in the supervisor,
# what the top level holds, how much Lua a plain run loads. Which room may use which is
# tested in tests/lua/borders_spec.lua.

load lib/helper

prepare() {
	cd "$ROOT" || return 1
}

# compiled ROOM: the paths of its object files, made for this test.
compiled() {
	local source object
	for source in src/"$1"/*.c; do
		object=$BATS_TEST_TMPDIR/$(basename "$source" .c).o
		"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -DRUNNER_VERSION='"0"' -c -o "$object" "$source"
		echo "$object"
	done
}

@test "objects of common, engine and supervisor hold no lua_ symbol" {
	local room objects
	for room in common engine supervisor; do
		mapfile -t objects < <(compiled $room)
		[ "${#objects[@]}" -gt 3 ]
		[ -z "$(nm "${objects[@]}" | grep -E '\b(lua|luaL|luaopen|luai)_' || true)" ]
	done
}

@test "neither common nor engine prints, exits or forks on its own account" {
	[ -z "$(grep -nE '\b(printf|puts|perror|exit)\(' src/common/*.c src/engine/*.c | grep -vE '\b(_exit|snprintf|vsnprintf)\(' || true)" ]
}

@test "the top level holds what it may hold" {
	git -C "$ROOT" rev-parse >/dev/null 2>&1 || skip "no repository"
	local strangers
	strangers=$(git -C "$ROOT" ls-files | cut -d/ -f1 | sort -u |
		grep -vxE 'src|lua|commands|examples|tests|docs|Makefile|README\.md|AGENTS\.md|LICENSE|\..*' || true)
	[ -z "$strangers" ] || { echo "$strangers" >&2 && false; }
}

# lines_below LIMIT FILES…
lines_below() {
	local limit=$1 file n
	shift
	for file; do
		n=$(wc -l <"$file")
		[ "$n" -le "$limit" ] || { echo "$file has $n lines, more than $limit" >&2 && return 1; }
	done
}

@test "main.c, Makefile and README are short" {
	lines_below 49 src/main.c
	lines_below 149 Makefile
	[ ! -e README.md ] || lines_below 149 README.md
}

# In the middle of a test, bash goes on behind a failed `a && b` and a failed `! a`.
@test "every assertion of a test can fail: none stands before && or behind !" {
	local hidden
	hidden=$(awk '/^@test / { inside = 1 } /^}/ { inside = 0 }
		!inside || / \|\| |return|continue|break|skip|eval/ { next }
		{ line = $0; gsub(/\[\[.*\]\]$/, "[[ ]]", line) }
		line ~ /^\t+! / || line ~ /^\t+(\[|grep |expect |envelope |assert_|until_true ).* && / ||
		$0 ~ /\]\] && \[/ { print FILENAME ":" FNR ": " $0 }' tests/*/*.bats)
	[ -z "$hidden" ] || { echo "$hidden" >&2 && false; }
}

@test "no test gives its processes another TOKEN: by it those that are left are found" {
	[ -z "$(grep -n 'CLEAN_ENV+=(.*\bTOKEN=' tests/*/*.bats | tee /dev/stderr)" ]
}

# The modules that a run of ARGS loads, by the files that it opens under RUNNER_LUA.
# (LeakSanitizer can't work below a tracer)
loaded_by() {
	(cd "$BATS_TEST_TMPDIR" &&
		env -i "${CLEAN_ENV[@]}" RUNNER_LOAD_TIMEOUT= ASAN_OPTIONS=detect_leaks=0 RUNNER_LUA="$ROOT/lua" strace -f -qq -e "trace=?open,openat" -o trace.txt "$RUNNER" "$@" >out.txt 2>err.txt </dev/null &&
		sed -n "s|.*open[at]*(.*\"$ROOT/lua/\([^\"]*\.lua\)\".* = [0-9].*|\1|p" trace.txt | sort -u)
}

# The command `hello` is what comes on stdin, for loaded_by.
hello_for_strace() {
	command -v strace >/dev/null || skip "no strace here"
	mkdir -p "$BATS_TEST_TMPDIR/commands"
	cat >"$BATS_TEST_TMPDIR/commands/hello.lua"
}

# skipped FILE TEST: why helper.bash leaves it out, by the list in `skips`
# shellcheck disable=SC2317,SC2034 # for skip_named
skipped() (
	skip() { echo "$1"; }
	BATS_TEST_FILENAME=$PWD/$1 BATS_TEST_DESCRIPTION=$2
	TEST_SKIPS=$BATS_TEST_TMPDIR/skips skip_named
)

@test "TEST_SKIPS leaves out tests by their names, and all of a file by a *" {
	printf '%s\t%s\t%s\n' a.bats 'the first' 'slow here' b.bats '*' 'looks at sources' >"$BATS_TEST_TMPDIR/skips"
	[ "$(skipped a.bats 'the first')" = 'slow here' ]
	[ -z "$(skipped a.bats 'the second')" ]
	[ "$(skipped b.bats 'the first')" = 'looks at sources' ]
	[ -z "$(skipped c.bats 'the first')" ]
}

@test "each test that tests/arm64/skips names is there, once, and has a reason; a file that is left out has no test there" {
	local program test reason
	[ -z "$(cut -f1,2 tests/arm64/skips | sort | uniq -d)" ]
	while IFS=$'\t' read -r program test reason; do
		[ -n "$reason" ] || { echo "no reason: $program $test" >&2 && return 1; }
		if [ "$test" = '*' ]; then
			if [[ $program == *.bats ]]; then [ -e "tests/cli/$program" ]; else [ -e "tests/unit/$program.c" ]; fi
			[ "$(cut -f1 tests/arm64/skips | grep -cFx "$program")" -eq 1 ] || { echo "left out, and more: $program" >&2 && return 1; }
		elif [[ $program == *.bats ]]; then
			grep -qFx "@test \"$test\" {" "tests/cli/$program" || { echo "no test: $program $test" >&2 && return 1; }
		else
			grep -qE "[(]${test}[,)]" "tests/unit/$program.c" || { echo "no test: $program $test" >&2 && return 1; }
		fi
	done < <(grep -v '^#' tests/arm64/skips)
}

@test "a plain run loads at most 64 KB of bytecode" {
	hello_for_strace <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "name", "string", default = "you" } },
			run = function(args) return { greeting = args.name } end }
	LUA
	local modules
	modules=$(loaded_by hello --name me)
	[ -n "$modules" ]
	echo "$modules"
	# shellcheck disable=SC2086
	(cd lua && lua5.4 - $modules) <<-'LUA'
		local total = 0
		for _, name in ipairs(arg) do
			local n = #string.dump(assert(loadfile(name)), false)
			total = total + n
			print(("%6d %s"):format(n, name))
		end
		print(("%6d of 65536 bytes"):format(total))
		os.exit(total <= 64 * 1024)
	LUA
}

@test "a plain run loads no module that only failures, help or other commands need" {
	hello_for_strace <<<'return { description = "x", danger_level = "safe", run = function() return {} end }'
	local modules
	modules=$(loaded_by hello)
	echo "$modules"
	[ "$(tr '\n' ' ' <<<"${modules//.lua/}")" = "boot core/attempt core/rules ctx/context declare/command \
declare/values project/args project/loader project/locate project/plan project/settings " ]
	# what a zygote loads ahead (worker_warm_for_calls)
	[ "$(sed -n '/modules\[\] = {/,/};/p' "$ROOT/src/worker/worker.c" | grep -o '"[^"]*"' | tr -d '"')" = "$(grep -vx boot <<<"${modules//.lua/}")" ]
	# what is side by side in the binary, which is what a command with arguments loads
	[ "$(sed -n '/first\[\] = {/,/};/p' "$ROOT/src/embed.c" | grep -o '"[^"]*"' | tr -d '"')" = "$(printf '%s\n' "${modules//.lua/}" declare/arguments | sort)" ]
}

@test "a first help loads none of the built-in commands that it lists: at most 60 modules" {
	hello_for_strace <<<'return { description = "x", danger_level = "safe", run = function() return {} end }'
	local modules
	modules=$(loaded_by help)
	echo "$modules"
	[ "$(wc -l <<<"$modules")" -le 60 ]
	[ "$(grep '^commands/' <<<"$modules")" = commands/help.lua ]
}

@test "a run with arguments, and one with a variable of a flag, load runner's own flags" {
	hello_for_strace <<<'return { description = "x", danger_level = "safe", run = function() return {} end }'
	local few
	few=$(loaded_by hello)
	[ "$(printf '%s\n' "$few" declare/flags.lua project/argv_parser.lua | sort)" = "$(loaded_by hello --quiet)" ]
	CLEAN_ENV+=(RUNNER_RETRIES=1)
	loaded_by hello | grep -qx declare/flags.lua
}

@test "C modules see Lua's interface in the executable, and no name of ours or of a library inside" {
	dynamic_only "loads no C module"
	[ -z "${ASAN_OPTIONS:-}" ] || skip "a sanitizer exports its own"
	local names
	names=$(nm -D --defined-only "$RUNNER" | awk '{ print $3 }')
	grep -qx lua_callk <<<"$names"
	# connect: libcurl takes ours (src/bindings/http_transfer.c)
	[ -z "$(grep -vE '^lua|^(__environ|environ|stdin|stdout|stderr|connect)(@|$)' <<<"$names" || true)" ]
}
