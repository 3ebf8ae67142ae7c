#!/usr/bin/env bats
# What stands around a command: needs, sources, hooks, rate and breaker.

load lib/helper

prepare() {
	export STATE=$BATS_TEST_TMPDIR/state
	CLEAN_ENV+=(XDG_STATE_HOME="$STATE")
	echo 'return {}' >runner.lua
}

# noting NAME KEYS: a command that notes its name in `log`, and the arguments it got
noting() {
	command_file "$1" <<-LUA
		return { description = "x", danger_level = "safe", args = { { "only", "string", default = "" } }, $2
			run = function(args, ctx)
				local f = io.open("log", "a") f:write("$1", args.only, "\n") f:close()
				return { ran = "$1" }
			end }
	LUA
}

@test "needs run first, each once however many need it, with their arguments" {
	noting d ''
	noting b 'needs = { "d" },'
	noting c 'needs = { "d", { "d", only = "x" } },'
	noting a 'needs = { "b", "c" },'
	call a
	expect 'e.ok and e.data == {"ran": "a"}'
	[ "$(sort log | tr '\n' ' ')" = "a b c d dx " ]
	[ "$(tail -n 1 log)" = a ]
	call a
	[ "$(grep -c '^d$' log)" -eq 2 ]
}

@test "needs that don't wait for each other run at once" {
	mkfifo one two
	body left <<<'ctx:run { "sh", "-c", "echo x >one; cat two" } return {}'
	body right <<<'ctx:run { "sh", "-c", "cat one; echo x >two" } return {}'
	body both 'needs = { "left", "right" },' <<<'return {}'
	call both --timeout 60s
	expect 'e.ok'
}

@test "a need that fails is the call's error, and nothing else runs" {
	body bad <<<'ctx:fail("CONFLICT", "no") '
	noting a 'needs = { "bad" },'
	call a
	expect 'e.error.code == "CONFLICT" and e.error.message == "bad, which this command needs: no"'
	[ ! -e log ]
}

@test "a circle of needs is refused with its way, and an unknown one by its name" {
	noting a 'needs = { "b" },'
	noting b 'needs = { "a" },'
	noting c 'needs = { "nope" },'
	call a
	expect 'e.error.code == "COMMAND_INVALID" and "a → b → a" in e.error.message'
	call c
	expect '"nope" in e.error.message and not e.ok'
	[ ! -e log ]
}

@test "needs are met once for all attempts" {
	noting d ''
	body flaky 'needs = { "d" }, retry = { retries = 2, delay = 0 },' <<<'if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "x") end return {}'
	call flaky
	expect 'e.ok and e.meta.attempt == 3'
	[ "$(cat log)" = d ]
}

@test "who confirms a destructive command confirms the destructive ones that it needs, and sees them" {
	local destroying='danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial" } },'
	noting first ''
	noting wipe 'needs = { "first" },'
	noting all 'needs = { "wipe", { "first", only = "x" } },'
	noting mild 'needs = { "wipe" },'
	sed -i "s/danger_level = \"safe\",/$destroying/" commands/wipe.lua commands/all.lua
	sed -i 's/return { ran/return { effect = "deleted", ran/' commands/*.lua
	call all
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and [w["command"] for w in e.error.context["would_affect"]] == ["all", "wipe", "first"]'
	[ ! -e log ]
	call all --confirm-destructive
	expect 'e.ok'
	[ "$(sort log | tr '\n' ' ')" = "all first firstx wipe " ]
	rm log
	call mild
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and "danger_level" in e.error.fix_required and "mild" in e.error.fix_required'
	expect '"pass --confirm-destructive" not in e.error.suggestion'
	run grep -c 'mild\|wipe' log
	[ "$output" = 0 ] || [ ! -e log ]
	noting middle 'needs = { "wipe" },'
	noting outer 'needs = { "middle" },'
	sed -i "s/danger_level = \"safe\",/$destroying/" commands/outer.lua
	call outer --confirm-destructive
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and "middle" in e.error.fix_required'
}

@test "--plan shows the needs and runs none" {
	noting d ''
	noting a 'needs = { "d", { "d", only = "x" } },'
	call a --plan
	expect '[n["name"] for n in e.data["needs"]] == ["d", "d"]'
	[ ! -e log ]
}

@test "a command whose files have not changed does nothing, by content, until one has" {
	mkdir src
	echo 1 >src/a.c
	command_file make <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "mode", "string", default = "fast" } },
			sources = { "src/**/*.c" }, generates = { "out" },
			run = function(args, ctx) ctx.fs.write("out", ctx.fs.read "src/a.c") return { effect = "created" } end }
	LUA
	created() { call make "$@"; expect 'e.ok and e.data["effect"] == "created"'; }
	same() { call make "$@"; expect 'e.ok and e.data == {"effect": "noop", "unchanged": True}'; }
	created
	same
	touch -d @1000000000 src/a.c
	same
	call --cwd src make
	expect 'e.data == {"effect": "noop", "unchanged": True}'
	echo 2 >src/a.c
	created
	same
	echo new >src/b.c
	created
	rm src/b.c
	created
	same
	echo changed >out
	created
	rm out
	created
	same
	created --mode slow
	same --mode slow
	same
	created --rebuild
	echo '-- a comment' >>commands/make.lua
	created
	chmod 755 src/a.c
	created
	same
}

@test "a failure keeps nothing, and what generates nothing is told and made again" {
	echo 1 >a
	body fails 'sources = { "a" },' <<<'ctx:fail("CONFLICT", "no")'
	call fails
	call fails
	expect 'e.error.code == "CONFLICT"'
	body empty 'sources = { "a" }, generates = { "never" },' <<<'return { ran = true }'
	call empty
	expect 'e.data["ran"] and e.warnings[0]["code"] == "NOTHING_GENERATED"'
	call empty
	expect 'e.data["ran"]'
	CLEAN_ENV+=(XDG_STATE_HOME=relative HOME=relative)
	body plain 'sources = { "a" },' <<<'return { ran = true }'
	call plain
	call plain
	expect 'e.data["ran"]'
}

@test "hooks stand around the project's commands, the group's inside the project's" {
	cat >runner.lua <<-'LUA'
		local function note(...) local f = io.open("log", "a") f:write(table.concat({ ... }, " "), "\n") f:close() end
		return {
			before = function(ctx, call) note("before", call.command, call.args.only) end,
			after = function(ctx, call) note("after", tostring(call.ok), call.error and call.error.code or call.data.ran) end,
			groups = { db = { before = function() note "group before" end, after = function() note "group after" end } },
		}
	LUA
	mkdir -p commands/db
	noting db/up ''
	call db up --only x
	expect 'e.ok'
	[ "$(cat log)" = "$(printf '%s\n' 'before db.up x' 'group before' db/upx 'group after' 'after true db/up')" ]
	rm log
	body bad <<<'ctx:fail("CONFLICT", "no")'
	call bad
	expect 'e.error.code == "CONFLICT"'
	[ "$(tail -n 1 log)" = 'after false CONFLICT' ]
	rm log
	call status
	[ ! -e log ]
}

@test "what before raises is the failure, and what after raises a warning" {
	cat >runner.lua <<-'LUA'
		return { before = function(ctx, call) if call.args.only == "x" then ctx:fail("PRECONDITION", "not x") end end,
			after = function() error "late" end }
	LUA
	noting a ''
	call a --only x
	expect 'e.error.code == "PRECONDITION" and e.error.message == "not x"'
	[ ! -e log ]
	call a
	expect 'e.ok and e.warnings[0]["code"] == "HOOK_FAILED" and "late" in e.warnings[0]["message"]'
	echo 'return { before = 7 }' >runner.lua
	call a
	expect 'e.error.code == "COMMAND_INVALID" and "before" in e.error.message'
	echo 'return { groups = { db = { befor = print } } }' >runner.lua
	call a
	expect 'e.error.code == "COMMAND_INVALID" and "groups" in e.error.message'
}

@test "a rate holds for all processes, and says when the next call is possible" {
	noting a 'rate = "3/h",'
	noting b ''
	call a
	expect 'e.meta.throttle["rate"] == {"calls": 3, "window_ms": 3600000, "made": 1}'
	"$RUNNER" b >/dev/null
	env -i "${CLEAN_ENV[@]}" "$RUNNER" a >/dev/null &
	local first=$!
	env -i "${CLEAN_ENV[@]}" "$RUNNER" a >/dev/null &
	wait "$!"
	wait "$first"
	call a
	[ "$status" -eq 12 ]
	expect 'e.error.code == "UNAVAILABLE" and e.error.retryable is True'
	expect '3500000 < e.error.retry_after_ms <= 3600000 and e.error.context["throttled_by"] == "rate"'
	[ "$(grep -c '^a$' log)" -eq 3 ]
	call a --plan
	expect 'e.data["throttle"]["rate"]["made"] == 3 and e.data["throttle"]["left_ms"] > 3500000'
}

@test "a retry waits for the rate" {
	noting a 'rate = "1/500ms", retry = { retries = 5, delay = 0 },'
	call a
	call a
	expect 'e.ok and e.meta.attempt >= 1'
	[ "$(grep -c . log)" -eq 2 ]
}

@test "a breaker opens after failures, lets one call try, and closes after a success" {
	command_file svc <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "code", "string", default = "" } },
			breaker = { failures = 2, window = "1h", pause = "1h" },
			run = function(args, ctx)
				local f = io.open("log", "a") f:write "x\n" f:close()
				if args.code ~= "" then ctx:fail(args.code, "down") end
				return {}
			end }
	LUA
	call svc --code NETWORK_ERROR
	call svc --code CONFLICT
	call svc --code NOT_FOUND
	expect 'e.error.code == "NOT_FOUND" and e.meta.throttle["breaker"]["failed"] == 1'
	call svc --code NETWORK_ERROR
	expect 'e.error.code == "NETWORK_ERROR"'
	call svc
	expect 'e.error.code == "UNAVAILABLE" and e.error.context["throttled_by"] == "breaker" and e.error.retry_after_ms > 3500000'
	[ "$(grep -c . log)" -eq 4 ]
	# the pause is over
	sed -i -E 's/"until_ms":[0-9]+/"until_ms":1/' "$STATE"/runner/throttle/*.json
	call svc --code NETWORK_ERROR
	expect 'e.error.code == "NETWORK_ERROR"'
	call svc
	expect 'e.error.code == "UNAVAILABLE"'
	sed -i -E 's/"until_ms":[0-9]+/"until_ms":1/' "$STATE"/runner/throttle/*.json
	call svc
	expect 'e.ok'
	call svc --code NETWORK_ERROR
	call svc
	expect 'e.ok'
}

@test "a killed call counts as a failure once its time is over, and a damaged state as none" {
	body svc 'breaker = { failures = 1, window = "1h", pause = "1h" }, timeout = "100ms", grace = "50ms",' <<<'io.open("on", "w"):close() ctx:sleep(1000)'
	reaching on svc
	expect 'e.error.code == "TIMEOUT"'
	refused() { call svc && grep -q 'throttled_by' out.txt; }
	until_true refused
	echo '{"calls":7,"open":[1],"until_ms":"x"' >"$(ls "$STATE"/runner/throttle/*.json)"
	call svc --plan
	expect 'e.ok and e.data["throttle"]["breaker"]["failed"] == 0'
}

@test "a call that has no time limit is no failure while it runs" {
	body svc 'breaker = { failures = 1, window = "1h", pause = "1h" }, timeout = "none", grace = "0s", args = { { "long", "boolean" } },' <<-'LUA'
		if args.long then
			io.open("on", "w"):close()
			while not require("fs").stat "go" do ctx:sleep(0.02) end
		end
	LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" svc --long --format json </dev/null >long.txt 2>/dev/null 3>&- &
	until_true [ -e on ]
	sleep 0.01 # of its time at least 1 ms is over
	call svc
	touch go
	wait "$!"
	expect 'e.ok'
	grep -q '"ok":true' long.txt
}

@test "a trial that began in the future, of a clock that was ahead, keeps no call out" {
	body svc 'breaker = { failures = 1, window = "1h", pause = "1s" },' <<<'return {}'
	call svc
	echo '{"until_ms":1,"trial_ms":9223372036854775807,"trial_from_ms":9223372036854775000}' >"$(ls "$STATE"/runner/throttle/*.json)"
	call svc
	expect 'e.ok'
	echo '{"until_ms":1,"trial_ms":9223372036854775807}' >"$(ls "$STATE"/runner/throttle/*.json)"
	call svc
	expect 'e.ok'
}

@test "without a place for its state nothing is limited, and a warning says so" {
	noting a 'rate = "1/h",'
	mkdir -p "$STATE/runner"
	echo x >"$STATE/runner/throttle"
	call a
	call a
	expect 'e.ok and e.warnings[0]["code"] == "THROTTLE_LOST"'
	call XDG_STATE_HOME= HOME="$PWD/none" a
	expect 'e.ok and [w["code"] for w in e.warnings] == ["THROTTLE_LOST"] and "HOME is no directory" in e.warnings[0]["message"]'
	[ ! -e none ]
}

@test "wrong declarations are told with what to write" {
	local key
	for key in 'needs = {}' 'needs = { 7 }' 'needs = { { "a", x = print } }' 'sources = "x"' 'generates = { "x" }' 'rate = "often"' 'rate = "0/s"' \
		'breaker = {}' 'breaker = { failures = 0 }' 'breaker = { failures = 1, windw = "1s" }' 'breaker = { failures = 1, pause = "none" }'; do
		body bad "$key," <<<'return {}'
		call bad
		expect "e.error.code == 'COMMAND_INVALID' and '${key%% *}' in e.error.message"
	done
}

@test "a dry run does none of it" {
	noting d ''
	echo 'return { before = function() io.open("hook", "w"):close() end }' >runner.lua
	command_file change <<-'LUA'
		return { description = "x", danger_level = "mutating", dry_run = true, needs = { "d" }, rate = "1/h", sources = { "runner.lua" },
			exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial" } },
			run = function(args, ctx) return { effect = "created" } end }
	LUA
	call change --dry-run
	expect 'e.ok and e.data["effect"] == "would_create"'
	call change --dry-run
	expect 'e.ok'
	[ ! -e log ]
	[ ! -e hook ]
	call change
	expect 'e.ok and e.data["effect"] == "created"'
	[ -e log ]
	[ -e hook ]
}
