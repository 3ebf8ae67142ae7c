#!/usr/bin/env bats
# A person's first ten minutes (docs/first-ten-minutes.md), with the program as `make install` leaves it.

load lib/helper

@test "the first ten minutes: install, a command, an error, its mending, tests, completion, a bundle" {
	[ "$RUNNER" -ef "$ROOT/build/runner" ] || skip "another build than the one that is installed is tested"
	make -s -C "$ROOT" install DESTDIR="$PWD/root" PREFIX=/opt/r >/dev/null
	RUNNER=$PWD/root/opt/r/bin/runner tries 3 python3 "$ROOT/tests/cli/lib/docs_run.py" docs/first-ten-minutes.md
}
