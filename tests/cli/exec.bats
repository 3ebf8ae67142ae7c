#!/usr/bin/env bats
# runner exec: many calls, a JSON request a line, an envelope a line.

load lib/helper
load lib/exec

prepare() {
	body echo 'args = { { "n", "integer" }, { "words", "array", items = "string" }, { "format", "string" }, { "wait", "duration" } },' <<'LUA'
		if args.n == 3 then ctx:fail("NOT_FOUND", "no three") end
		if args.wait then ctx:sleep(args.wait) end
		return { n = args.n, words = args.words, format = args.format }
LUA
	sed -i 's/danger_level = "safe",/danger_level = "safe", exit_codes = { NOT_FOUND = { description = "x" } },/' commands/echo.lua
	command_file wipe <<'LUA'
return { description = "x", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, args = { { "what", "string", default = "all" } },
	run = function(args) io.open("wiped", "a"):write(args.what, "\n") return { effect = "deleted" } end }
LUA
	command_file set <<'LUA'
return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() io.open("set", "a"):write "x" return { effect = "updated" } end }
LUA
}

@test "REQ-O-050 every request has one answer, in order, and each says its line, its command and its id" {
	batch --ignore-errors <<'JSON'
{"_cmd":"echo","n":1,"_id":"a"}

{"_cmd":"echo","n":9007199254740993,"words":["-x","a b",""],"format":"mine"}
{"_cmd":"echo","n":3,"_id":4}
{"_cmd":"no.such","_id":5}
not json
{"_cmd":"echo","n":"x"}
JSON
	each '[e["meta"]["_line"] for e in a] == [1, 3, 4, 5, 6, 7]'
	each '[e["meta"]["exit_code"] for e in a] == [0, 0, 5, 2, 2, 2]'
	each '[e["meta"].get("_id") for e in a] == ["a", None, 4, 5, None, None]'
	each '[e["meta"].get("_cmd") for e in a] == ["echo", "echo", "echo", "no.such", None, "echo"]'
	each 'a[1]["data"] == {"n": 9007199254740993, "words": ["-x", "a b", ""], "format": "mine"}'
	each 'a[4]["error"]["code"] == "DISPATCH_PARSE_ERROR" and a[4]["error"]["phase"] == "validation" and a[5]["error"]["code"] == "VALIDATION_ERROR"'
	concluded 1 'e.error.code == "CALLS_FAILED" and e.data == {"calls": 6, "succeeded": 2, "failed": 4}'
	valid_lines 6
}

@test "REQ-O-050 exec stops at the first failure, and says where" {
	batch <<<'{"_cmd":"echo","n":1}
{"_cmd":"echo","n":3}
{"_cmd":"set"}'
	[ ! -e set ]
	each '[e["ok"] for e in a] == [True, False]'
	concluded 1 'e.data == {"calls": 2, "succeeded": 1, "failed": 1, "stopped_at_line": 2} and "line 2" in e.error.message'
	batch <<<'nonsense
{"_cmd":"set"}'
	[ ! -e set ]
	concluded 2 'e.error.code == "DISPATCH_PARSE_ERROR" and e.error.side_effects == "none"'
}

@test "REQ-O-050 the exit code is 0 when all went well, and 2 where nothing could be parsed" {
	batch <<<'{"_cmd":"echo"}'
	[ "$status" -eq 0 ]
	batch --ignore-errors <<<'x
[]
{}
{"_cmd":7}
{"_cmd":"--yes"}
{"_cmd":""}
{"_cmd":"echo","_nope":1}
{"_cmd":"echo","_cmd":"echo"}
{"_cmd":"echo","_opts":[]}
{"_cmd":"echo","_opts":{"retries":[]}}
{"_cmd":"echo","_id":{}}
{"_cmd":"echo","_stdin":1}
"echo"
null'
	each 'len(a) == 14 and all(e["error"]["code"] == "DISPATCH_PARSE_ERROR" and e["error"]["fix_required"] for e in a)'
	concluded 2 'e.data["calls"] == 14 and "line 1: " in e.error.message'
	valid_lines 14
	batch <<<'{"_cmd":"echo","_opts":{"bogus":1}}'
	concluded 2 'e.error.message.startswith("No request can be made; line 1: _opts.bogus can")'
	batch </dev/null
	concluded 2 'e.data["calls"] == 0 and "stdin" in e.error.message'
}

@test "REQ-O-050 requests of a file come from --input-file" {
	echo '{"_cmd":"echo","n":7}' >requests
	batch --input-file requests </dev/null
	[ "$status" -eq 0 ]
	each 'a[0]["data"]["n"] == 7'
	batch --input-file none </dev/null
	[ "$status" -eq 2 ]
}

@test "REQ-O-050 --dry-run reaches commands that change something, and _opts.dry_run goes before it" {
	batch --dry-run <<<'{"_cmd":"set"}
{"_cmd":"echo"}
{"_cmd":"wipe"}'
	[ "$status" -eq 0 ]
	[ ! -e set ]
	each 'a[0]["meta"]["dry_run"] and "dry_run" not in a[1]["meta"] and a[2]["meta"]["dry_run"]'
	batch --dry-run <<<'{"_cmd":"set","_opts":{"dry_run":false}}'
	[ "$(<./set)" = x ]
	batch <<<'{"_cmd":"set","_opts":{"dry_run":true}}
{"_cmd":"echo","_opts":{"dry_run":true}}'
	[ "$status" -eq 0 ]
	[ "$(<./set)" = x ]
	status=0 # what the caller of exec says holds
	echo '{"_cmd":"set","_opts":{"dry_run":false}}' | env -i "${CLEAN_ENV[@]}" RUNNER_DRY_RUN=1 "$RUNNER" exec >out.txt 2>err.txt
	[ "$(<./set)" = x ]
	each 'a[0]["meta"]["dry_run"]'
}

@test "REQ-O-050 nothing that one call does to its Lua state, its environment or its directory reaches the next" {
	# locks: the mark of a run, by which its guard finds what is left of it (src/supervisor/guard.c)
	body leak <<'LUA'
		collectgarbage()
		collectgarbage()
		local seen = { fds = #require("fs").list "/proc/self/fd", global = LEAKED, name = string.leaked, loaded = package.loaded.leaked, env = os.getenv "TMPDIR", cwd = io.open "leak.d" ~= nil,
			random = math.random(1 << 53), umask = ctx:run({ "sh", "-c", "umask" }).stdout, signals = ctx:run({ "sh", "-c", "grep -E 'Sig(Blk|Ign|Cgt)' /proc/$PPID/status" }).stdout, nice = ctx:run({ "nice" }).stdout,
			limits = ctx:run({ "sh", "-c", "ulimit -a | grep -v '^locks'" }).stdout, hash = tostring({}) }
		LEAKED, string.leaked, package.loaded.leaked = 1, 1, 1
		math.randomseed(1)
		for i = 1, 20 do KEPT = KEPT or {} KEPT[i] = io.open("/dev/null") end
		return seen
LUA
	batch <<<'{"_cmd":"leak"}
{"_cmd":"leak"}
{"_cmd":"leak"}'
	[ "$status" -eq 0 ]
	each 'all(not {"global", "name", "loaded", "env"} & set(e["data"]) and e["data"]["cwd"] is False for e in a)'
	each 'len({e["data"]["random"] for e in a}) == 3'
	each 'len({(e["data"]["umask"], e["data"]["fds"], e["data"]["signals"], e["data"]["nice"], e["data"]["limits"]) for e in a}) == 1'
	each 'len({e["meta"]["request_id"] for e in a}) == 3'
	# as in a run that nobody dispatched
	call leak
	python3 -c 'import json
d = json.load(open("out.txt"))["data"]
print(json.dumps({k: d[k] for k in ("umask", "nice", "limits")}))' >plain
	batch <<<'{"_cmd":"leak"}'
	python3 -c 'import json
d = json.loads(open("out.txt").readline())["data"]
print(json.dumps({k: d[k] for k in ("umask", "nice", "limits")}))' | cmp - plain
}

@test "several calls run at once, and their answers keep the order of the requests" {
	body meet 'args = { { "me", "string" }, { "other", "string" } },' <<'LUA'
		io.open(args.me, "w"):close()
		while not io.open(args.other) do ctx:sleep(0.01) end
LUA
	batch --parallel 2 <<<'{"_cmd":"meet","me":"one","other":"two"}
{"_cmd":"meet","me":"two","other":"one"}
{"_cmd":"meet","me":"three","other":"four"}
{"_cmd":"meet","me":"four","other":"three"}'
	[ "$status" -eq 0 ]
	each '[e["meta"]["_line"] for e in a] == [1, 2, 3, 4]'
	rm -f one two
	batch --parallel 2 --unordered <<<'{"_cmd":"meet","me":"one","other":"two","_id":"slow"}
{"_cmd":"echo","_id":"quick"}
{"_cmd":"meet","me":"two","other":"one","_id":"last"}'
	[ "$status" -eq 0 ]
	each '[e["meta"]["_id"] for e in a][0] == "quick" and len(a) == 3'
}

@test "after a failure the calls that run come to their end, and no line is begun" {
	# the first ends when the second is gone, and exec has seen that
	body second '' <<<'io.open("second", "w"):write((io.open("/proc/self/stat"):read("a"):match "^%d+ %b() %S (%d+)")):close() ctx:fail("GENERAL_ERROR", "no")'
	body first '' <<-'LUA'
		local file
		repeat ctx:sleep(0.01) file = io.open "second" until file and file:seek "end" > 0
		file:seek "set"
		local status = "/proc/" .. file:read "a"
		while io.open(status .. "/stat") do ctx:sleep(0.01) end
	LUA
	batch --parallel 2 <<<'{"_cmd":"first"}
{"_cmd":"second"}
{"_cmd":"set"}
{"_cmd":"set"}'
	[ ! -e set ]
	each '[e["ok"] for e in a] == [True, False]'
	concluded 1 'e.data["stopped_at_line"] == 2'
}

# rests PID: for half a second it has next to nothing of a processor; who looks again and again has half of it
rests() {
	local before
	before=$(awk '{ print $14 + $15 }' "/proc/$1/stat")
	sleep 0.5
	[ $(($(awk '{ print $14 + $15 }' "/proc/$1/stat") - before)) -le 2 ]
}

@test "an answer is out before the next request comes, and exec waits for it without using the processor" {
	mkfifo in out
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <in >out 2>err.txt &
	pid=$!
	exec 5>in 6<out
	echo '{"_cmd":"echo","n":1}' >&5
	read -r line <&6
	[[ $line == *'"n":1'* ]]
	worker=$(worker_of "$pid")
	until_true rests "$worker" # what it does behind its answer comes to an end
	echo '{"_cmd":"echo","n":2}' >&5
	read -r line <&6
	[[ $line == *'"n":2'* ]]
	exec 5>&-
	wait $pid
	exec 6<&-
}

@test "each call has its limit: the command's, --call-timeout, or a shorter one of the request" {
	body hang 'timeout = "1h",' <<<'ctx:sleep "1h"'
	batch --call-timeout 300ms --ignore-errors <<<'{"_cmd":"hang"}
{"_cmd":"hang","_opts":{"timeout":"200ms"}}
{"_cmd":"hang","_opts":{"timeout":"1h"}}
{"_cmd":"hang","_opts":{"timeout":"none"}}
{"_cmd":"echo"}'
	each '[e["meta"]["exit_code"] for e in a] == [10, 10, 10, 2, 0]'
	each '[e["meta"]["timeout_ms"] for e in a[:3]] == [300, 200, 300]'
}

@test "what is secret in a request is in nobody's argv or environment, and masked in its answer" {
	secret_of_its_own
	body inner 'args = { { "token", "string", secret = true } },' <<'LUA'
		local seen = ctx:run { "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c \"$LOOKED_FOR\"",
			ok_statuses = { 0, 1 } }.stdout
		return { seen = seen, token = args.token, length = #args.token }
LUA
	batch <<<"{\"_cmd\":\"inner\",\"token\":\"$secret\"}"
	each "a[0]['data']['seen'] == '0\n' and a[0]['data']['length'] == ${#secret}"
	[ "$(grep -c "$secret" out.txt err.txt | tr '\n' ' ')" = 'out.txt:0 err.txt:0 ' ]
}

@test "a command reads _stdin, in every attempt, and never the requests" {
	body read 'stdin = true, retry = { retries = 1, delay = 0 },' <<'LUA'
		local text = io.read "a"
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "again", { retryable = true }) end
		return { text = text }
LUA
	body json 'stdin = { type = "json" },' <<<'return ctx.input'
	batch <<<'{"_cmd":"read","_stdin":"a\nb"}
{"_cmd":"read"}
{"_cmd":"json","_stdin":"{\"a\":[1]}"}'
	each '[e["data"] for e in a[:2]] == [{"text": "a\nb"}, {"text": ""}]'
	each 'a[2]["data"] == {"a": [1]}'
}

@test "_stdin for a command that reads none is refused, before it runs" {
	body deaf 'args = { { "text", "string" } },' <<'LUA'
		io.open("ran", "w"):close()
		return { text = args.text }
LUA
	batch --ignore-errors <<<'{"_cmd":"deaf","_stdin":"x"}
{"_cmd":"deaf","_stdin":"x","_opts":{"retries":1}}
{"_cmd":"deaf","_stdin":"x","_opts":{"detach":true}}
{"_cmd":"deaf","_stdin":"x","text":"y"}'
	each 'all(e["error"]["code"] == "VALIDATION_ERROR" and "reads no stdin" in json.dumps(e["error"]) for e in a)'
	[ ! -e ran ]
	batch <<<'{"_cmd":"deaf","_stdin":""}'
	each 'a[0]["ok"]'
}
