#!/usr/bin/env bats
# What tests/run concludes from the logs of its suites: a result that was planned is counted, whatever became of its file.

load lib/helper

prepare() {
	LOGS=$PWD/logs JOBS=2 FILE_SECONDS=60
	mkdir "$LOGS" one two
	# shellcheck source=tests/results.bash
	. "$ROOT/tests/results.bash"
}

# suite FILE… -- COMMAND…: the files as a suite of tests/run, which knows no errexit; its lines come into out.txt.
suite() {
	part suite pool suite "$@" >out.txt || true
	cat out.txt
}

# another bats, which knows nothing of the one that runs this file
BATS=(env -i PATH="${PATH//$BATS_LIBEXEC:/}" HOME=/ bats --tap)

# counted "N passed M failed K skipped"
counted() {
	tail -n 1 out.txt | tr -s ' ' | grep -q "^suite $1 "
}

@test "two files of one name in two folders: the results of both are counted" {
	printf '@test "%s" { true; }\n' a b c >one/deploy.bats
	printf '@test "%s" { true; }\n' d e >two/deploy.bats
	suite one/deploy.bats two/deploy.bats -- "${BATS[@]}"
	counted "5 passed 0 failed 0 skipped"
}

@test "a setup_file that fails, a file that ends early and one that says nothing: each lost result has failed" {
	printf '@test "%s" { true; }\n' a b c >one/good.bats
	{ echo 'setup_file() { false; }' && printf '@test "%s" { true; }\n' a b c d; } >one/setup.bats
	suite one/good.bats one/setup.bats -- "${BATS[@]}"
	counted "3 passed 4 failed 0 skipped"
	grep -qx '# one/setup.bats planned 4 results and reported 1' out.txt
	# what stands in for a program of tests: the last plans three and dies after one, the other is silent
	printf '#!/bin/sh\necho 1..3; echo "ok 1 - a"; kill -9 $$\n' >one/dies
	printf '#!/bin/sh\nexit 0\n' >one/silent
	chmod +x one/dies one/silent
	rm one/*.bats
	suite one/dies -- env
	counted "1 passed 2 failed 0 skipped"
	suite one/silent -- env
	counted "0 passed 1 failed 0 skipped"
}

@test "a suite that passes passes, and its skipped tests are counted as such" {
	printf '@test "%s" { true; }\n@test "later" { skip "needs time"; }\n' a >one/some.bats
	suite one/some.bats -- "${BATS[@]}"
	counted "1 passed 0 failed 1 skipped"
}

@test "a skip has one of the reasons of tests/skips, and is counted by its kind; any other reason is a failure" {
	printf '@test "%s" { skip "%s"; }\n' a "needs root" b "no strace here" c "no mounts here" d "it is Friday" >one/some.bats
	suite one/some.bats -- "${BATS[@]}"
	counted "0 passed 1 failed 3 skipped"
	grep -q "1 tests were skipped for reasons that tests/skips doesn't have" out.txt
	# shellcheck disable=SC2016 # for cut
	[ "$(cut -f1-3 logs/suite.skips | tr '\t' ' ')" = 'user one/some a
program one/some b
mounts one/some c
unknown one/some d' ]
}

@test "every reason that a test of ours is skipped for is one of tests/skips" {
	{
		grep -rhoE '[|&{] skip "[^"$]+"' "$ROOT"/tests/{cli,fault,bench,static} --include=*.bats --exclude=results.bats | sed 's/^. skip "/ok 1 x # skip /; s/"$//'
		sed -n 's/^[^#][^\t]*\t[^\t]*\t/ok 1 x # skip /p' "$ROOT/tests/arm64/skips"
		grep -rhoE 'pending "[^"]+"' "$ROOT/tests/lua" | sed 's/^pending "/ok 1 - # SKIP x_spec.lua:1: /; s/"$//'
	} >skips.tap
	[ "$(wc -l <skips.tap)" -gt 80 ]
	skips skips.tap >kinds.txt
	if grep '^unknown' kinds.txt; then return 1; fi
}

@test "files are chosen among those of a suite" {
	printf '@test "%s" { true; }\n' a b >one/some.bats
	printf '@test "%s" { true; }\n' c >one/other.bats
	FILES="one/other.bats tests/lua/x_spec.lua" suite one/some.bats one/other.bats -- "${BATS[@]}"
	counted "1 passed 0 failed 0 skipped"
	FILES="tests/lua/x_spec.lua" suite one/some.bats one/other.bats -- "${BATS[@]}"
	counted "3 passed 0 failed 0 skipped"
}
