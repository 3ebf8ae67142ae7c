#!/usr/bin/env bats
# The page of benchmarks: every section measures something, of both builds, on every machine; what is missing is
# named. The figures are not looked at: `run --quick` does little of everything.

load ../cli/lib/helper

BENCH=$ROOT/tests/bench/run

prepare() {
	case $RUNNER in */sanitize/*) skip "a sanitizer's cost is not ours" ;; esac
	command -v lua5.4 >/dev/null || skip "lua5.4 is not here"
	export RUNNER
}

@test "every section of the benchmarks has its rows, for both builds" {
	# where there is no static build, another name of the same program has its columns
	[ -x "$ROOT/build/static/runner" ] || export STATIC=$RUNNER
	"$BENCH" --quick --write page.md >/dev/null
	"$BENCH" --check page.md
}

@test "a build that is missing is named, and its columns are empty" {
	export STATIC=$PWD/nowhere
	"$BENCH" --quick --only Scaling --write page.md >/dev/null
	grep -F 'Not measured: the static build (`make static` makes it).' page.md
	grep -E '^\| one command .* \| – \| .* \| – \|$' page.md
	"$BENCH" --only Scaling --check page.md
}

@test "a build of another commit is not measured" {
	cat >other <<-'SH'
		#!/bin/sh
		echo "commit: 0000000000000000000000000000000000000000"
	SH
	chmod +x other
	STATIC=$PWD/other "$BENCH" --quick --only Scaling >page.md
	grep -F 'Not measured: the static build (it is of another commit' page.md
}

@test "a page that misses a section, a row or a figure, or names a folder, is not whole" {
	STATIC=$RUNNER "$BENCH" --quick --only Scaling --write page.md >/dev/null
	"$BENCH" --only Scaling --check page.md
	# is_broken TEXT SCRIPT: after that change of sed, the check says so
	is_broken() {
		sed -E "$2" page.md >broken.md
		[ "$(cmp -s page.md broken.md; echo $?)" -eq 1 ]
		run "$BENCH" --only Scaling --check broken.md
		[ "$status" -eq 1 ]
		[[ $output == *"$1"* ]]
	}
	is_broken "its sections are none; they should be Scaling" '/^## /d'
	is_broken "it has no table" '/^\|/d'
	is_broken "a table has no rows" '/^\| one /d'
	is_broken "static is –, and the build is there" '/^\| one more/ s/^(\|[^|]*\|[^|]*\|)[^|]*/\1 – /'
	is_broken "doesn't fill its 7 cells" '/^\| one more/ s/[^|]*\|$//'
	is_broken "nothing of the static build" '/^\| what/ s/static/other/g'
	is_broken "odd: " 's,^\| one more,| /tmp/x one more,'
}

@test "the page of benchmarks in docs has the sections that are measured now, whole" {
	"$BENCH" --check "$ROOT/docs/benchmarks.md"
}
