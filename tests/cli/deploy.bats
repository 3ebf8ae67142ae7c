#!/usr/bin/env bats
# deploy, rollback, releases and health, as commands/ ships them, on plain directories.
# A real web server stands behind them in nginx.bats; kills are in tests/fault.

load lib/deploy

@test "a first deploy makes the source live and reports what it did" {
	deploy
	[ "$status" -eq 0 ]
	live one
	expect 'e.data["effect"] == "created" and e.data["target"] == "prod" and e.data["removed"] == []'
	[ "$(readlink www/prod/current)" = "releases/$(field 'e.data["release"]')" ]
	diff -r site www/prod/current/
}

@test "a second release replaces the first one and names it" {
	deploy
	local first
	first=$(field 'e.data["release"]')
	site two
	deploy
	live two
	expect "e.data['effect'] == 'updated' and e.data['previous'] == '$first'"
}

@test "deploying what is live is a no-op, whenever the files were made" {
	deploy
	local link
	link=$(stat -c %i www/prod/current)
	touch -d '2001-01-01' site/index.html
	deploy
	[ "$status" -eq 0 ]
	expect 'e.data["effect"] == "noop"'
	[ "$(stat -c %i www/prod/current)" = "$link" ]
	[ "$(find www/prod/releases -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

@test "an archive becomes the same release as the directory that it was made of" {
	deploy
	tar -czf site.tar.gz -C site .
	deploy site.tar.gz
	[ "$status" -eq 0 ]
	expect 'e.data["effect"] == "noop"'
	site two
	tar -czf site.tar.gz -C site .
	deploy site.tar.gz
	live two
}

@test "only the newest releases are kept, the live one and the one before it always" {
	local n
	for n in one two three four; do
		site "$n"
		deploy --release "$n"
	done
	expect 'e.data["removed"] == ["two"]'
	[ "$(ls www/prod/releases)" = "$(printf 'four\nthree')" ]
	[ "$(ls www/prod/.deploy)" = "$(printf 'four.json\nlock\nthree.json')" ]
	call rollback --target prod
	site five
	deploy --release five
	# three is live no longer, but it is what a rollback returns to
	[ "$(readlink www/prod/current)" = releases/five ]
	[ -d www/prod/releases/three ]
}

@test "a release name that stands for other content is a CONFLICT and changes nothing" {
	deploy --release 1.0.0
	site two
	deploy --release 1.0.0
	[ "$status" -eq 6 ]
	expect 'e.error.code == "CONFLICT" and e.error.side_effects == "none" and e.error.fix_required'
	live one
}

@test "REQ-C-014: an unknown target is answered as the document says, and nothing is touched" {
	call deploy --target prodution
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error.code == "INVALID_ENVIRONMENT" and e.error.message == "Unknown target '"'prodution'"'"'
	expect 'e.error.suggestion == "Valid values: dev, prod, staging"'
	expect 'e.error.retryable is False and e.error.phase == "validation"'
	[ ! -e www ]
}

@test "REQ-C-014: deploy declares RATE_LIMITED and TIMEOUT as the document does" {
	mkdir more
	cat >more/declared.lua <<LUA
return { description = "x", danger_level = "safe", run = function()
	local codes = dofile("$ROOT/commands/deploy.lua").exit_codes
	return { codes.RATE_LIMITED, codes.TIMEOUT }
end }
LUA
	call RUNNER_PATH="$PWD/more" declared
	[ "$status" -eq 0 ]
	expect 'e.data[0] == {"retryable": True, "side_effects": "none", "retry_after_ms": 30000,
		"retry_strategy": "exponential_backoff"}'
	expect 'e.data[1] == {"retryable": True, "side_effects": "partial", "retry_after_ms": 0,
		"retry_strategy": "immediate"}'
}

@test "a busy target is LOCKED: 79, retryable after 5 s, linear, nothing touched" {
	deploy
	site two
	hold_lock exec sleep 60
	call deploy --target prod --retries 0
	assert_envelope
	[ "$status" -eq 79 ]
	expect 'e.error.code == "LOCKED" and e.error.retryable is True and e.error.retry_after_ms == 5000'
	expect 'e.error.retry_strategy == "linear_backoff" and e.error.side_effects == "none"'
	expect 'e.error.max_retries == 3 and "retries" not in e.meta'
	live one
}

@test "a busy lock is waited for and tried again until it is free" {
	deploy
	site two
	hold_lock until_true grep -q LOCKED err.txt # once an attempt was refused
	call deploy --target prod
	assert_envelope
	[ "$status" -eq 0 ]
	live two
	expect 'e.meta.retries >= 1 and e.meta.attempt >= 2'
	expect 'e.meta.retry_history[0]["code"] == "LOCKED"'
}

@test "a lock that stays busy ends final, with LOCKED and the retries counted" {
	deploy
	hold_lock exec sleep 60
	call deploy --target prod --retries 2 --retry-delay 10ms
	assert_envelope
	[ "$status" -eq 79 ]
	expect 'e.error.retryable is False and e.error.retries_exhausted == 2'
}

@test "two deploys at once both succeed, one after the other" {
	sed -i 's/100ms/10s/' runner.lua
	cp -r site other
	echo other >other/index.html
	env -i "${CLEAN_ENV[@]}" "$RUNNER" deploy --target prod other >other.txt 2>/dev/null 3>&- &
	local first=$!
	call deploy --target prod # the other one may still be at work afterwards
	assert_envelope
	[ "$status" -eq 0 ]
	wait "$first"
	no_leftovers
	[ "$(find www/prod/releases -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
}

@test "targets have locks of their own" {
	hold_lock exec sleep 60
	call deploy --target staging
	[ "$status" -eq 0 ]
}

@test "what a killed run left is cleaned by the next one" {
	deploy
	mkdir -p www/prod/releases/.incoming-x/css www/prod/releases/.trash-y
	ln -s releases/none www/prod/.current.0badf00d.tmp
	echo '{}' >www/prod/.deploy/gone.json
	touch www/prod/.deploy/.x.json.12345678.tmp
	deploy
	[ "$status" -eq 0 ]
	[ ! -e www/prod/.deploy/gone.json ]
}

@test "a current that is not our link is left alone" {
	mkdir -p www/prod/current
	echo mine >www/prod/current/index.html
	deploy
	[ "$status" -eq 4 ]
	expect 'e.error.code == "PRECONDITION" and e.error.fix_required'
	live mine
}

@test "paths of runner.lua start at runner.lua, those of the command line where it runs" {
	mkdir -p below/other
	echo other >below/other/index.html
	cd below
	call deploy --target prod other
	[ "$status" -eq 0 ]
	[ "$(cat ../www/prod/current/index.html)" = other ]
	call deploy --target prod
	[ "$(cat ../www/prod/current/index.html)" = one ]
}

@test "a wrong target in runner.lua is named with the line to write" {
	local row
	for row in '{ }:path in runner.lua is missing' '{ path = 1 }:path in runner.lua is invalid' '{ path = "w", keep = 0 }:keep in runner.lua is invalid' \
		'{ path = "w", heath = {} }:heath in runner.lua is unknown' '{ path = "w", health = {} }:health in runner.lua is invalid' '7:prod in runner.lua is not a table' \
		'{ path = "w", lock_wait = "soon" }:lock_wait in runner.lua is invalid' '{ path = "w", lock_wait = -1 }:lock_wait in runner.lua is invalid' \
		'{ path = "w", health = { url = "ftp://x" } }:health.url in runner.lua is invalid' \
		'{ path = "w", health = { url = "http://x", timout = 5 } }:health.timout in runner.lua is invalid'; do
		echo "return { commands = '$ROOT/commands', config = { source = 'site', targets = { prod = ${row%:*} } } }" >runner.lua
		call deploy --target prod
		assert_envelope
		[ "$status" -eq 4 ]
		expect "'${row##*:}' in e.error.message and e.error.fix_required"
	done
	[ ! -e w ]
}

@test "a live release that somebody removed is deployed again by the same call" {
	deploy
	rm -r www/prod/releases
	deploy
	[ "$status" -eq 0 ]
	expect 'e.data["effect"] == "created" and "previous" not in e.data'
	live one
}

@test "a health check that can't be sent is the file's fault, and the release before stays" {
	deploy --release one
	sed -i 's|prod = {|prod = { health = { url = "http://127.0.0.1:1/", retry = { retries = "x" } },|' runner.lua
	deploy --release two
	assert_envelope
	[ "$status" -eq 4 ]
	expect '"prod.health in runner.lua is invalid" in e.error.message and "retry.retries" in e.error.message'
	live one
}

@test "rollback goes to the release before, further with each call, or to any by name" {
	sed -i 's/keep = 2/keep = 9/' runner.lua
	local n
	for n in one two three; do
		site "$n"
		deploy --release "$n"
	done
	call rollback --target prod
	assert_envelope
	expect 'e.data["release"] == "two" and e.data["replaced"] == "three" and e.data["effect"] == "updated"'
	live two
	call rollback --target prod
	live one
	call rollback --target prod
	assert_envelope
	[ "$status" -eq 5 ]
	expect 'e.error.suggestion == "Name one with --to: three, two, one"'
	call rollback --target prod --to three
	live three
	call rollback --target prod --to three
	expect 'e.data["effect"] == "noop"'
	call rollback --target prod --to four
	[ "$status" -eq 5 ]
	live three
}

@test "rollback of a target without a release is NOT_FOUND and makes nothing" {
	call rollback --target prod
	assert_envelope
	[ "$status" -eq 5 ]
	[ ! -e www ]
}

@test "rollback waits for the same lock as deploy" {
	deploy
	hold_lock exec sleep 60
	call rollback --target prod --retries 0
	assert_envelope
	[ "$status" -eq 79 ]
}

@test "releases lists what is there, newest first, and knows the live one" {
	call releases --target prod
	assert_envelope
	expect 'e.data == []'
	deploy --release one
	site two
	deploy --release two
	call releases --target prod
	assert_envelope
	expect '[r["name"] for r in e.data] == ["two", "one"]'
	expect '[r["live"] for r in e.data] == [True, False]'
	expect '[r["previous"] for r in e.data] == [False, True]'
	expect 'e.meta.pagination.total == 2 and not e.meta.pagination.has_more'
	call releases --target prod --format plain
	[ "$(wc -l <out.txt)" -eq 2 ]
	call releases --target prod --limit 1 --fields name
	expect 'e.data == [{"name": "two"}] and e.meta.pagination.has_more'
}

@test "releases changes nothing" {
	call releases --target prod
	[ ! -e www ]
	deploy
	local before
	before=$(find www -printf '%p %T@\n' | sort)
	call releases --target prod
	[ "$(find www -printf '%p %T@\n' | sort)" = "$before" ]
}

@test "health without a server is NETWORK_ERROR, tried again, then final" {
	call health http://127.0.0.1:1/ --retry-delay 1ms
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error.code == "NETWORK_ERROR" and e.error.retries_exhausted == 3 and e.meta.retries == 3'
	call health ftp://example.org/
	[ "$status" -eq 2 ]
}
