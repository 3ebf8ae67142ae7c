#!/usr/bin/env bats
# Rate and breaker of a host that ctx:http asks, for all processes.

load lib/helper

prepare() {
	export STATE=$BATS_TEST_TMPDIR/state
	CLEAN_ENV+=(XDG_STATE_HOME="$STATE")
	command_file get <<-'LUA'
		return { description = "x", danger_level = "safe", timeout = "60s",
			args = { { "url", "string", positional = true, required = true }, { "method", "string", default = "GET" },
				{ "tries", "integer", default = 0 }, { "to", "string" }, { "limit", "string", default = "30s" } },
			run = function(args, ctx)
				return { status = ctx:http({ url = args.url, method = args.method, to = args.to, timeout = args.limit,
					retry = args.tries > 0 and { retries = args.tries, delay = 0 } or nil }).status }
			end }
	LUA
	exec {server}< <(exec python3 "$ROOT/tests/lua/lib/http_server.py" 2>/dev/null 3>&-)
	local name port
	while read -r -u "$server" name port; do
		case $name in
		http) at=127.0.0.1:$port base=http://$at ;;
		other) other=http://127.0.0.1:$port ;;
		ready) return 0 ;;
		esac
	done
	return 1
}

clean_up() {
	exec {server}<&-
}

# hosts RULES: as runner.lua has them
hosts() {
	echo "return { hosts = { $1 } }" >runner.lua
}

refused_by() {
	[ "$status" -eq 12 ]
	expect "e.error.code == 'UNAVAILABLE' and e.error.context['throttled_by'] == '$1' and e.error.retryable is True"
	expect 'e.error.side_effects == "none" and e.error.retry_after_ms == e.error.context["left_ms"] > 3500000'
}

pause_is_over() {
	sed -i -E 's/"until_ms":[0-9]+/"until_ms":1/' "$STATE"/runner/throttle/*/*.json
}

@test "a rate of a host holds for all commands and processes, and one request too many isn't sent" {
	hosts '["127.0.0.1"] = { rate = "3/h" }'
	cp commands/get.lua commands/too.lua
	call get "$base/count/rate"
	expect 'e.ok'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" too "$base/count/rate" >/dev/null &
	local first=$!
	env -i "${CLEAN_ENV[@]}" "$RUNNER" get "$base/count/rate" >/dev/null &
	wait "$!"
	wait "$first"
	call too "$base/count/rate"
	refused_by rate
	expect 'e.error.message.startswith("127.0.0.1 may be asked 3 times in 1h") and e.error.context["declared_by"] == "project"'
	call get --plan x
	expect '[(h["host"], h["declared_by"], h["rate"]["made"]) for h in e.data["hosts"]] == [("127.0.0.1", "project", 3)]'
	expect 'e.data["hosts"][0]["left_ms"] > 3500000'
	echo 'return {}' >runner.lua
	call get "$base/count/rate"
	expect 'e.ok'
}

@test "however a host is written, it is the same one, and a port can have rules of its own" {
	hosts '["127.0.0.1"] = { rate = "1/h" }'
	call get "http://127.1:${at#*:}/status/200"
	expect 'e.ok'
	for url in "http://u:secret@127.0.0.1:${at#*:}/" "http://0x7F.0.0.1:${at#*:}/" "$other/status/200" "https://127.0.0.1/"; do
		call get "$url"
		refused_by rate
		refute_secret
	done
	hosts "['127.0.0.1:${at#*:}'] = { rate = '1/h' }, ['LOCALHOST.'] = { rate = '1/h' }, ['[0:0::1]:1'] = { rate = '1/h' }"
	call get "$base/status/200"
	expect 'e.ok'
	call get "$base/status/200"
	refused_by rate
	call get "$other/status/200"
	expect 'e.ok'
	call get "http://localhost:1/"
	call get "http://LocalHost.:1/"
	refused_by rate
	call get "http://[::1]:1/"
	expect 'e.error.code == "NETWORK_ERROR"'
	call get "http://[::0001]:1/"
	refused_by rate
}

refute_secret() {
	run grep -q secret out.txt
	[ "$status" -eq 1 ]
}

@test "a redirect to another host counts there, and what was sent before it is told" {
	hosts "['127.0.0.1:${other##*:}'] = { rate = '1/h' }"
	call get "$base/to?status=302&url=$other/status/200"
	expect 'e.ok and e.data["status"] == 200'
	call get "$base/to?status=302&url=$other/status/200"
	refused_by rate
	call get "$base/to?status=303&url=$other/status/200" --method POST
	[ "$status" -eq 12 ]
	expect 'e.error.side_effects == "partial" and e.error.retryable == "maybe"'
	call get "$base/to?status=302&url=$other/status/200" --method PUT
	expect 'e.error.side_effects == "partial" and e.error.retryable is True'
}

@test "a host that fails is not asked for a while; then one request tries" {
	hosts '["127.0.0.1"] = { breaker = { failures = 2, window = "1h", pause = "1h" } }'
	call get "$base/status/503"
	call get "$base/status/404" # it answers: that is no failure of the host
	call get "$base/status/500"
	call get "$base/status/429"
	expect 'e.error.code == "RATE_LIMITED"'
	call get "$base/status/200"
	refused_by breaker
	expect '"127.0.0.1 has failed 2 times within 1h" in e.error.message'
	pause_is_over
	call get "http://127.0.0.1:1/"
	expect 'e.error.code == "NETWORK_ERROR"'
	call get "$base/status/200"
	refused_by breaker
	pause_is_over
	call get "$base/status/200"
	expect 'e.ok'
	call get "$base/status/500"
	call get "$base/status/200"
	expect 'e.ok'
}

@test "a time limit and a lost connection are failures of the host, a wrong place for the body is none" {
	hosts '["127.0.0.1"] = { breaker = { failures = 3, window = "1h", pause = "1h" } }'
	call get "$base/status/200" --to /dev/full/x
	call get "$base/big/1" --to /dev/full
	call get "$base/hang" --limit 100ms
	expect 'e.error.code == "TIMEOUT"'
	call get "$base/midbody"
	call get x --plan
	expect 'e.data["hosts"][0]["breaker"]["failed"] == 2 and not e.data["hosts"][0]["breaker"]["open"]'
	call get "$base/reset"
	call get "$base/status/200"
	refused_by breaker
}

@test "Retry-After makes a pause longer" {
	hosts '["127.0.0.1"] = { breaker = { failures = 1, pause = "1ms" } }'
	call get "$base/answer?status=429&Retry-After=7200"
	call get "$base/status/200"
	refused_by breaker
	expect '7000000 < e.error.retry_after_ms <= 7200000'
	pause_is_over
	call get "$base/status/200"
	expect 'e.ok'
}

@test "a retry waits until the host may be asked" {
	hosts '["127.0.0.1"] = { rate = "1/300ms" }'
	call get "$base/count/wait" --tries 9
	call get "$base/count/wait" --tries 9
	expect 'e.ok'
	call get "$base/count/wait" --retries 9
	expect 'e.ok'
}

@test "a command's rule and the project's both hold, and what one refuses does not count with the other" {
	hosts '["127.0.0.1"] = { rate = "2/h" }'
	sed 's/timeout = "60s",/timeout = "60s", hosts = { ["127.0.0.1"] = { rate = "5\/h" } },/' commands/get.lua >commands/own.lua
	call own "$base/status/200"
	call get "$base/status/200"
	call own "$base/status/200"
	refused_by rate
	expect 'e.error.context["declared_by"] == "project"'
	call own --plan x
	expect '[(h["declared_by"], h["rate"]["made"]) for h in e.data["hosts"]] == [("command", 1), ("project", 2)]'
	call own --schema
	expect '"hosts" in str(e.data)'
}

@test "requests at once count one by one, and those that a failure ends say nothing of their host" {
	needs_library libcurl.so.4
	hosts '["127.0.0.1"] = { rate = "3/h", breaker = { failures = 3, window = "1h" } }'
	command_file all <<-'LUA'
		return { description = "x", danger_level = "safe", timeout = "60s", args = { { "base", "string", positional = true }, { "path", "string", default = "/status/200" } },
			run = function(args, ctx)
				local items = {}
				for i = 1, 5 do items[i] = { http = { url = args.base .. args.path } } end
				local rows, ok = ctx:parallel(items, { collect = true }), 0
				for _, row in ipairs(rows) do ok = ok + (row.ok and 1 or 0) end
				return { ok = ok }
			end }
	LUA
	call all "$base"
	expect 'e.data == {"ok": 3}'
	rm -r "$STATE"
	body ended <<-LUA
		ctx:parallel { { http = { url = "$base/hang" } }, { http = { url = "$base/hang" } },
			function() ctx:sleep(0.05) ctx:fail("CONFLICT", "no") end }
	LUA
	call ended
	expect 'e.error.code == "CONFLICT"'
	call get --plan x
	expect 'e.data["hosts"][0]["rate"]["made"] == 2 and e.data["hosts"][0]["breaker"]["failed"] == 0'
	run grep -q '"open":{"' "$STATE"/runner/throttle/*/*.json
	[ "$status" -eq 1 ]
}

@test "it holds in a confined command, in requests of exec and in steps of a workflow" {
	hosts '["127.0.0.1"] = { rate = "2/h" }'
	sed 's/timeout = "60s",/timeout = "60s", confine = { write = { "out" }, required = false },/' commands/get.lua >commands/own.lua
	mkdir out
	call own "$base/status/200"
	expect 'e.ok and not [w for w in e.warnings if w["code"] == "THROTTLE_LOST"]'
	printf '{"_cmd":"get","url":"%s"}\n' "$base/status/200" "$base/status/200" >requests
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <requests >answers 2>err.txt || true
	[ "$(grep -c '"ok":true' answers)" -ge 1 ]
	[ "$(grep -c throttled_by answers)" -eq 1 ]
	cat >w.yaml <<-YAML
		name: w
		steps:
		  - id: ask
		    runner: get
		    args: { url: "$base/status/200" }
	YAML
	call workflow run w.yaml
	expect 'not e.ok and "may be asked 2 times" in e.error.message'
}

@test "in a test of the project an hour until the next request takes no time" {
	hosts '["127.0.0.1"] = { rate = "1/h" }'
	mkdir tests
	sed 's/timeout = "60s",/timeout = "3h", retry = { retries = 1, max_delay = "2h" },/' commands/get.lua >commands/patient.lua
	cat >tests/get_test.lua <<-'LUA'
		local test = require "test"
		test("the second request waits", function(t)
			local server = t.fake.http { { status = 200 } }
			t:succeeds(t:call("get", { url = server.url .. "/" }))
			local answer = t:call("get", { url = server.url .. "/", tries = 1 })
			t:equal(t:fails(answer, "UNAVAILABLE").context.throttled_by, "rate")
			answer = t:call("patient", { url = server.url .. "/" })
			t:succeeds(answer)
			t:check(answer.waited_ms > 3500000)
		end)
	LUA
	call test
	expect 'e.ok'
}

@test "wrong rules are told with what to write, from runner.lua and from a command" {
	local rules
	for rules in '' '["a"] = {}' '["a"] = { rate = "often" }' '["a"] = { rat = "1/s" }' '["http://a"] = { rate = "1/s" }' '["a/b"] = { rate = "1/s" }' \
		'["u@a"] = { rate = "1/s" }' '["a:0"] = { rate = "1/s" }' '["a:99999"] = { rate = "1/s" }' '["*.a"] = { rate = "1/s" }' '{ rate = "1/s" }' '[""] = { rate = "1/s" }' \
		'["bücher.example"] = { rate = "1/s" }' '["A"] = { rate = "1/s" }, a = { rate = "1/s" }' 'a = { breaker = { failures = 0 } }' '["a\0b"] = { rate = "1/s" }' 'a = 7'; do
		hosts "$rules"
		call get x --plan
		expect 'e.error.code == "COMMAND_INVALID" and "hosts" in e.error.message and "api.example.org" in str(e.error)'
	done
	rm runner.lua
	body bad 'hosts = { a = 7 },' <<<'return {}'
	call bad
	expect 'e.error.code == "COMMAND_INVALID" and "hosts" in e.error.message'
}

@test "without a place for the numbers every request is sent, and a warning says so" {
	hosts '["127.0.0.1"] = { rate = "1/h" }'
	mkdir -p "$STATE/runner"
	echo x >"$STATE/runner/throttle"
	call get "$base/status/200"
	call get "$base/status/200"
	expect 'e.ok and e.warnings[0]["code"] == "THROTTLE_LOST"'
}
