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

@test "a need said with its default is the same as one said without, in one call and in several" {
	noting b ''
	noting c 'needs = { { "b", only = "" } },'
	noting d 'needs = { "b", { "b", only = "y" } },'
	noting a 'needs = { "c", "d", { "b", only = "" } },'
	call a
	expect 'e.ok'
	[ "$(sort log | tr '\n' ' ')" = "a b by c d " ]
	rm log
	call + b + c + d
	expect 'e.ok'
	[ "$(tr '\n' ' ' <log)" = "b c by d " ]
	body e 'args = { { "n", "integer", default = 1 }, { "on", "boolean" }, { "v", "string", default = "q", env = "V_OF_E" } },' \
		<<<'io.open("log", "a"):write("e", args.n, args.v, "\n") return {}'
	body f 'args = { { "m", "integer" } }, needs = { "e", { "e", n = 1 }, { "e", n = { arg = "m" } }, { "e", on = false }, { "e", v = "q" } },' <<<'return {}'
	rm log
	call V_OF_E=other f --m 1
	expect 'e.ok'
	[ "$(sort log | tr '\n' ' ')" = "e1other e1q " ]
	command_file g <<<'return { description = "x", danger_level = "safe", needs = { { "nothere", a = 1 } }, run = function() end }'
	call g
	expect 'e.error.code == "COMMAND_NOT_FOUND" and "nothere" in e.error.message'
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
	answers 2 mild
	expect 'e.error.phase == "validation" and e.error.side_effects == "none"'
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and "danger_level" in e.error.fix_required and "mild" in e.error.fix_required'
	expect '"pass --confirm-destructive" not in e.error.suggestion + e.error.message'
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

@test "files that can't be digested are not unchanged: the work is done, and that is said" {
	dynamic_only "has libmd inside"
	mkdir src none
	touch src/a none/libmd.so.0
	command_file make <<-'LUA'
		return { description = "x", danger_level = "safe", sources = { "src/*" }, generates = { "out" },
			run = function() require("fs").write("out", "x") return { effect = "created" } end }
	LUA
	for _ in 1 2; do
		call LD_LIBRARY_PATH="$PWD/none" make
		expect 'e.ok and e.data == {"effect": "created"} and [w.code for w in e.warnings] == ["UNCHANGED_NOT_KEPT"]'
	done
}

@test "a command whose files have not changed does nothing, by content, until one has" {
	needs_library libmd.so.0
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
	local began=$SECONDS
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
	expect "$((3598000 - (SECONDS - began) * 1000))"' < e.error.retry_after_ms <= 3600000 and e.error.context["throttled_by"] == "rate"'
	[ "$(grep -c '^a$' log)" -eq 3 ]
	call a --plan
	expect 'e.data["throttle"]["rate"]["made"] == 3 and e.data["throttle"]["left_ms"] > '"$((3598000 - (SECONDS - began) * 1000))"
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
	sed -i -E 's/"until_ms":[0-9]+/"until_ms":1/' "$STATE"/runner/throttle/*/*.json
	call svc --code NETWORK_ERROR
	expect 'e.error.code == "NETWORK_ERROR"'
	call svc
	expect 'e.error.code == "UNAVAILABLE"'
	sed -i -E 's/"until_ms":[0-9]+/"until_ms":1/' "$STATE"/runner/throttle/*/*.json
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
	echo '{"calls":7,"open":[1],"until_ms":"x"' >"$(ls "$STATE"/runner/throttle/*/*.json)"
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
	echo '{"until_ms":1,"trial_ms":9223372036854775807,"trial_from_ms":9223372036854775000}' >"$(ls "$STATE"/runner/throttle/*/*.json)"
	call svc
	expect 'e.ok'
	echo '{"until_ms":1,"trial_ms":9223372036854775807}' >"$(ls "$STATE"/runner/throttle/*/*.json)"
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

@test "however many servers a command needs, all of them run" {
	local i names=
	for i in 1 2 3 4 5 6 7 8 9; do
		body "server$i" 'timeout = "none",' <<-LUA
			io.open("up$i", "w"):close()
			while not io.open("down") do ctx:sleep(0.02) end
			return {}
		LUA
		names+="\"server$i\", "
	done
	body dev "timeout = 'none', needs = { $names }," <<<'return { up = true }'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" dev >out.txt 2>err.txt &
	local pid=$!
	for i in 1 2 3 4 5 6 7 8 9; do
		until_true [ -e "up$i" ]
	done
	: >down
	wait "$pid"
	grep -q '"up":true' out.txt
}

# --- the directory of a command --------------------------------------------------------------

# place NAME KEYS: it says where it, its programs and its paths are
place() {
	body "$1" "args = { { \"file\", \"path\", positional = true, default = \"default.txt\" }, { \"many\", \"array\", items = \"path\" } }, $2" <<-'LUA'
		local fs = require "fs"
		ctx.fs.write("made.txt", "x")
		return { program = ctx:run { "pwd" }.stdout, shell = io.popen("pwd"):read "a", file = args.file, many = args.many,
			text = fs.read(args.file) or "none", called = ctx.fs.glob("*.txt") }
	LUA
}

@test "a command has one directory: the project with sources, else where its caller stands, or as cwd says" {
	local name root=$PWD
	mkdir -p src/deep
	echo root >here.txt
	echo deep >src/deep/here.txt
	place plain ''
	place here 'cwd = "caller",'
	place sourced 'sources = { "here.txt" }, generates = { "made.txt" },'
	place project 'cwd = "project",'
	place lonely 'cwd = "caller", sources = { "here.txt" },'
	for name in plain here lonely; do
		cd src/deep
		call "$name" here.txt --many a --many /b
		expect "e.data['program'] == e.data['shell'] == '$root/src/deep\n' and e.meta['cwd'] == '$root/src/deep'"
		expect 'e.data["text"] == "deep\n" and e.data["file"] == "here.txt" and e.data["many"] == ["a", "/b"] and "here.txt" in e.data["called"]'
		[ -e made.txt ]
		rm made.txt
		cd ../..
	done
	for name in sourced project; do
		cd src/deep
		call "$name" here.txt --many a --many /b
		expect "e.data['program'] == e.data['shell'] == '$root\n' and e.meta['cwd'] == '$root'"
		expect "e.data['text'] == 'deep\n' and e.data['file'] == '$root/src/deep/here.txt' and e.data['many'] == ['$root/src/deep/a', '/b']"
		call "$name" --rebuild
		[ "$name" = project ] || expect 'e.data["file"] == "default.txt"'
		call --cwd .. "$name" here.txt --format json
		expect "e.data['file'] == '$root/src/deep/../here.txt' or e.data['file'] == '$root/src/here.txt'"
		expect "e.meta['cwd'] == '$root'"
		call "$name" --raw-payload '{"file": "here.txt", "many": ["a"]}'
		[ "$name" = sourced ] || expect "e.data['text'] == 'deep\n' and e.data['many'] == ['$root/src/deep/a']"
		[ ! -e made.txt ]
		cd ../..
		[ -e made.txt ]
		rm made.txt
	done
	call project here.txt
	expect "e.data['file'] == 'here.txt' and e.data['text'] == 'root\n' and e.meta['cwd'] == '$root'"
}

@test "programs of a command that works in its project, or by --cwd, have that directory as PWD" {
	mkdir -p src/deep
	echo 1 >in.txt
	printf 'show:\n\t@echo "$(PWD)"\n' >Makefile
	body build 'sources = { "in.txt" },' <<<'return { make = ctx:run{ "make", "-s", "show" }.stdout, own = os.getenv "PWD" }'
	body look <<<'return { make = ctx:run{ "make", "-s", "show" }.stdout, own = os.getenv "PWD" }'
	cd src/deep
	call PWD="$PWD" build
	expect "e.data == {'make': '${PWD%/src/deep}\n', 'own': '${PWD%/src/deep}'} and e.meta.cwd == e.data['own']"
	call PWD="$PWD" --cwd ../.. look
	expect "e.data == {'make': '${PWD%/src/deep}\n', 'own': '${PWD%/src/deep}'}"
}

@test "what is generated from below the project is there, and unchanged is true of it" {
	needs_library libmd.so.0
	mkdir -p src/deep
	echo 1 >in.txt
	body codegen 'sources = { "in.txt" }, generates = { "gen.txt" },' <<<'ctx.fs.write("gen.txt", ctx.fs.read "in.txt") return { effect = "created" }'
	body app 'needs = { "codegen" },' <<<'return { cwd = ctx:run { "pwd" }.stdout }'
	cd src/deep
	call codegen
	expect 'e.data["effect"] == "created"'
	[ ! -e gen.txt ]
	cd ../..
	[ "$(<gen.txt)" = 1 ]
	call codegen
	expect 'e.data.get("unchanged") is True'
	echo 2 >in.txt
	cd src/deep
	call app
	expect "e.data['cwd'].endswith('/src/deep\n')"
	cd ../..
	[ "$(<gen.txt)" = 2 ]
}

@test "--output, --input-file, a job and a dry run of a command in its project are where the caller stands" {
	mkdir -p src/deep
	body project 'cwd = "project", args = { { "n", "integer" } },' <<<'return { n = args.n, cwd = ctx:run { "pwd" }.stdout }'
	cd src/deep
	echo '{"n": 3}' >in.json
	call project --input-file in.json --output out.json
	[ -e out.json ]
	call project --input-file in.json
	expect 'e.data["n"] == 3 and not e.data["cwd"].endswith("deep\n")'
	call project --input-file in.json --detach
	call job wait "$(sed 's/.*"job_id":"\([^"]*\)".*/\1/' out.txt)"
	expect 'e.data["n"] == 3 and not e.data["cwd"].endswith("deep\n")'
}

@test "cwd is project, caller or a directory, and --cwd goes before where the caller stands" {
	body lost 'cwd = "elsewhere",' <<<'return {}'
	call lost
	expect 'e.error.code == "PRECONDITION" and "elsewhere" in e.error.message'
	body bad 'cwd = 5,' <<<'return {}'
	call bad
	expect 'e.error.code == "COMMAND_INVALID" and "cwd" in e.error.message'
	mkdir sub
	place here 'cwd = "caller",'
	call --cwd sub here
	expect 'e.meta["cwd"].endswith("/sub") and e.data["program"].endswith("/sub\n")'
	call --cwd sub nothing
	expect 'e.error.code == "COMMAND_NOT_FOUND" and e.meta["cwd"].endswith("/sub")'
}

# --- what can't be noted ---------------------------------------------------------------------

@test "a success that can't be noted is a warning, and the next call does the work" {
	echo 1 >a
	body plain 'sources = { "a" },' <<<'return { ran = true }'
	mkdir -p "$STATE/runner/unchanged"
	printf x >"$STATE/file"
	call XDG_STATE_HOME="$STATE/file" plain
	expect 'e.data["ran"] and e.warnings[0]["code"] == "UNCHANGED_NOT_KEPT"'
	call XDG_STATE_HOME="$STATE/file" plain
	expect 'e.data["ran"]'
}
