#!/usr/bin/env bats
# The claim of docs/compliance.md: runner itself passes its conformance checks at all levels,
# for a project that has every kind of command and for the commands that ship.

load lib/helper

prepare() {
	mkdir bin
	ln -s "$RUNNER" bin/runner
	cp -r "$ROOT/tests/conformance/project" project
}

# conformance FOLDER PROFILE: check the runner of this build in that folder.
conformance() {
	cd "$1" || return 1
	call PATH="$BATS_TEST_TMPDIR/bin:$PATH" XDG_STATE_HOME="$BATS_TEST_TMPDIR/state" conformance "$ROOT/tests/conformance/$2.json"
	assert_envelope
	field '"\n".join("%s %s %s" % (c["status"], c["id"], [f["detail"] for f in c["failures"]]) for c in e.data["checks"])'
}

@test "a project with every kind of command passes all checks at levels 1, 2 and 3" {
	touch project/marker
	conformance project project
	expect 'e.data["levels"] == {"level_1": "pass", "level_2": "pass", "level_3": "pass"}'
	expect 'e.data["summary"] == {"passed": 14, "failed": 0, "skipped": 0}'
	[ "$status" -eq 0 ]
	[ -e marker ]
}

# What deploy declares against the spec, by the document that specifies it.
DEPARTURE='data is no valid manifest: commands/deploy/exit_codes/10/side_effects: must be "none", is "partial"; commands/deploy/exit_codes/80/retryable: must be boolean, is string'

@test "the commands that ship fail no check but for what deploy is to declare" {
	mkdir -p repo/docs
	cp -r "$ROOT/commands" repo/
	cp -r "$ROOT/docs/demo" repo/docs/
	conformance repo/docs/demo shipped
	expect '[(c["id"], f["detail"]) for c in e.data["checks"] for f in c["failures"]] == [("manifest_valid", "'"${DEPARTURE//\"/\\\"}"'")]'
	# none of them is destructive, none streams
	expect 'sorted(c["id"] for c in e.data["checks"] if c["status"] == "skip") == ["destructive_refuses_unconfirmed", "dry_run_preview", "stream_contract", "stream_sigint"]'
}
