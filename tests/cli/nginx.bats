#!/usr/bin/env bats
# The main job on a real web server: nginx on a random loopback port serves the
# target's `current`; its /health is sick while a file of the release or of the
# test says so.

load lib/helper

prepare() {
	command -v nginx >/dev/null || skip "nginx is not installed"
	site one
	mkdir -p www/releases
	# a port that was free may be somebody's by the time that nginx takes it: then another
	local try
	for try in {1..10}; do
		start_nginx && break
		[ "$try" -lt 10 ] || { cat error.log >&2 && return 1; }
	done
	cat >runner.lua <<LUA
return {
	commands = "$ROOT/commands",
	config = {
		source = "site",
		targets = {
			prod = { path = "www", keep = 3, lock_wait = "100ms",
				health = { url = "$url/health", retry = { retries = 3, delay = "100ms", jitter = "none" } } },
		},
	},
}
LUA
}

# On a random port, until it answers there; false when it can't.
start_nginx() {
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	url=http://127.0.0.1:$port
	write_nginx_conf
	nginx -p "$PWD" -c nginx.conf -e error.log >/dev/null 2>&1 3>&- &
	nginx=$!
	until [ "$(ask /mine)" = "$TOKEN" ]; do
		kill -0 "$nginx" 2>/dev/null || return 1
		sleep 0.02
	done
}

# ask PATH: what is served there
ask() {
	python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode().strip())' \
		"$url$1" 2>/dev/null
}

write_nginx_conf() {
	cat >nginx.conf <<CONF
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path tmp;
	proxy_temp_path tmp;
	fastcgi_temp_path tmp;
	uwsgi_temp_path tmp;
	scgi_temp_path tmp;
	server {
		listen 127.0.0.1:$port;
		root $PWD/www/current;
		location = /mine { return 200 "$TOKEN"; }
		location = /health {
			if (-f $PWD/sick) { return 503; }
			if (-f \$document_root/sick) { return 503; }
			return 200 "well";
		}
		location = /limited {
			add_header Retry-After 1 always;
			if (-f $PWD/sick) { return 429; }
			return 200 "well";
		}
	}
}
CONF
}

clean_up() {
	local pid
	for pid in ${nginx:-} ${holder:-} ${healer:-}; do
		kill "$pid" 2>/dev/null || true
	done
}

site() {
	mkdir -p site
	echo "$1" >site/index.html
}

fetch() {
	ask /
}

# well_after WORD: the server is sick no longer once a notice on stderr has that word
well_after() {
	: >err.txt
	(until_true grep -q "$1" err.txt && rm sick) >/dev/null 2>&1 3>&- &
	healer=$!
}

deploy() {
	call deploy --target prod "$@"
	assert_envelope
}

@test "deploy puts a real web root live and one envelope reports everything" {
	deploy
	[ "$status" -eq 0 ]
	[ "$(fetch)" = one ]
	[ -z "$stderr" ]
	expect 'e.data["effect"] == "created" and e.data["target"] == "prod"'
	expect 'e.meta.command == "deploy" and e.meta.attempt == 1 and e.meta.max_attempts == 4'
	expect 'e.meta.timeout_ms == 300000 and "retries" not in e.meta and e.warnings == []'
}

@test "visitors see the old release or the new one, never an error, while ten deploys go by" {
	deploy
	python3 "$ROOT/tests/cli/lib/watch_site.py" "$url/" "$PWD/enough" >seen.txt 3>&- &
	local watcher=$! round
	until_true [ -e enough.begun ]
	for round in first second third fourth fifth; do
		site two
		deploy --release "$round-two"
		[ "$status" -eq 0 ]
		site one
		deploy --release "$round-one"
		[ "$status" -eq 0 ]
	done
	site two
	deploy
	[ "$(fetch)" = two ]
	touch enough
	wait "$watcher"
	diff seen.txt <(printf "200 one\n200 two\n")
}

@test "a release that stays sick goes away and the one before it is live again" {
	deploy
	local good
	good=$(field 'e.data["release"]')
	site two
	touch site/sick
	deploy
	[ "$status" -eq 80 ]
	expect 'e.error.code == "UNHEALTHY" and e.error.side_effects == "none" and e.error.retryable == "maybe"'
	expect '"503 Service Unavailable" in e.error.message and e.data["failed_step"] == "verify"'
	expect "e.error.context['live'] == '$good' and e.error.context['health']['status'] == 503"
	expect 'e.error.context["cause"] == "UNAVAILABLE"'
	# three questions again by ctx:http, and no second deploy of a sick release
	expect 'e.meta.retries == 3 and e.meta.attempt == 1'
	[ "$(fetch)" = one ]
	[ "$(ls www/releases)" = "$good" ]
	[ "$(readlink www/current)" = "releases/$good" ]
}

@test "a first release that stays sick leaves nothing live, as before" {
	touch site/sick
	deploy
	[ "$status" -eq 80 ]
	expect 'e.error.side_effects == "none"'
	[ ! -e www/current ]
	[ ! -L www/current ]
	[ -z "$(ls www/releases)" ]
}

@test "a release that is sick at first is waited for" {
	deploy
	site two
	touch sick
	well_after retry.wait
	sed -i 's/delay = "100ms"/delay = "500ms"/' runner.lua
	deploy
	[ "$status" -eq 0 ]
	[ "$(fetch)" = two ]
	expect '1 <= e.meta.retries <= 3 and e.meta.attempt == 1'
	[[ "$stderr" == *'"event":"retry.wait"'* ]]
}

@test "--retries 0 asks the health URL once" {
	deploy
	site two
	touch site/sick
	deploy --retries 0
	[ "$status" -eq 80 ]
	expect '"retries" not in e.meta'
	[ "$(fetch)" = one ]
}

@test "a busy lock and a sick health check are survived in one call" {
	deploy
	site two
	touch sick
	(flock 9 && until_true grep -q LOCKED err.txt) 9>www/.deploy/lock >/dev/null 2>&1 3>&- &
	holder=$!
	until ! flock -n www/.deploy/lock true; do sleep 0.01; done
	well_after UNAVAILABLE
	sed -i 's/delay = "100ms"/delay = "1s"/' runner.lua
	deploy
	[ "$status" -eq 0 ]
	[ "$(fetch)" = two ]
	expect 'e.meta.attempt >= 2 and e.meta.retry_history[0]["code"] == "LOCKED"'
	expect 'e.meta.retries > e.meta.attempt - 1'
}

@test "SIGTERM while the health is asked returns to the release before" {
	deploy
	site two
	touch site/sick
	sed -i 's/delay = "100ms"/delay = "20s"/' runner.lua
	env -i "${CLEAN_ENV[@]}" "$RUNNER" deploy --target prod >out.txt 2>err.txt 3>&- &
	local pid=$!
	until_true grep -q retry.wait err.txt
	[ "$(fetch)" = two ]
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	assert_envelope
	[ "$status" -eq 143 ]
	expect 'e.error.code == "CANCELLED" and e.error.signal == "SIGTERM" and e.data["failed_step"] == "verify"'
	[ "$(fetch)" = one ]
}

@test "rollback asks the health URL too and stays where it went" {
	deploy --release one
	site two
	deploy --release two
	call rollback --target prod
	assert_envelope
	[ "$status" -eq 0 ]
	[ "$(fetch)" = one ]
	touch sick
	call rollback --target prod --to two
	assert_envelope
	[ "$status" -eq 80 ]
	expect 'e.error.side_effects == "complete" and e.error.retryable is False'
	[ "$(fetch)" = two ]
}

@test "health reports that a URL is healthy" {
	call health "$url/health"
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["status"] == 200 and e.data["url"].endswith("/health")'
}

@test "§19: health waits as long as Retry-After says and then succeeds" {
	touch sick
	well_after retry.wait
	call health "$url/limited" --retry-delay 10ms --retries 20 # as often as it takes this machine
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.meta.retries >= 1 and {r["delay_ms"] for r in e.meta.retry_history[:e.meta.retries]} == {1000}'
	[ "$elapsed_ms" -ge 1000 ]
}

@test "§19: a rate limit that lasts carries the server's own Retry-After" {
	touch sick
	call health "$url/limited" --retries 0
	assert_envelope
	[ "$status" -eq 11 ]
	expect 'e.error.code == "RATE_LIMITED" and e.error.retryable is True and e.error.retry_after_ms == 1000'
	call health "$url/limited" --retries 1 --retry-delay 10ms
	assert_envelope
	expect 'e.error.retryable is False and e.error.retries_exhausted == 1'
}
