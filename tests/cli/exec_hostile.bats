#!/usr/bin/env bats
# Commands, requests and callers at their worst, through runner exec: one answer each, and nothing left.

load lib/helper
load lib/exec
load lib/hostile

prepare() {
	hostile_commands
}

@test "a command that hangs, floods, forks, is killed or exits has one answer, and the next call is none the worse" {
	MEMORY=MEMORY_LIMIT
	[ -z "${ASAN_OPTIONS:-}" ] || MEMORY=COMMAND_CRASHED # ASan itself can't get the memory
	for name in hang flood fork killed stopped three zero garbage orphan huge large memory bad; do
		printf '{"_cmd":"%s","_id":"%s"}\n{"_cmd":"ok"}\n' $name $name
	done >requests
	for arguments in '' '--parallel 3'; do
		# shellcheck disable=SC2086
		batch $arguments --ignore-errors <requests
		each 'len(a) == 26 and [e["meta"]["_line"] for e in a] == list(range(1, 27))'
		each 'all(e["data"] == {"fine": True} for e in a[1::2])'
		each '{e["meta"]["_id"]: e["error"] and e["error"]["code"] for e in a[::2]} == {
			"hang": "TIMEOUT", "flood": None, "fork": "TIMEOUT", "killed": "COMMAND_CRASHED", "stopped": "TIMEOUT", "three": "COMMAND_CRASHED",
			"zero": "COMMAND_CRASHED", "garbage": None, "orphan": "SUBPROCESS_FAILED", "huge": "OUTPUT_TOO_LARGE", "large": None,
			"memory": "'"$MEMORY"'", "bad": "COMMAND_INVALID"}'
		concluded 1 'e.data["calls"] == 26 and e.data["failed"] == 10'
		valid_lines 26
		until_true none_left
	done
}

@test "a command whose stdout belongs to another can't answer for us, with as many lines as it likes: it is not run" {
	body protocol 'stdout = "protocol", protocol = "fake", args = { { "text", "string" } },' <<<'io.open("ran", "w"):close() io.write(args.text)'
	body passing 'arguments = "passthrough",' <<<'io.open("ran", "w"):close() return ctx:delegate { "echo", "{\"ok\":true}" }'
	batch --ignore-errors <<'JSON'
{"_cmd":"protocol","text":"{\"ok\":true}\n"}
{"_cmd":"protocol","text":"{\"ok\":true,\n\"data\":1}"}
{"_cmd":"passing"}
JSON
	[ ! -e ran ]
	valid_lines 3
	each '[e["error"]["code"] for e in a] == ["VALIDATION_ERROR"] * 3'
}

@test "calls for which there are no descriptors say so: they were not run, and may be made again" {
	# those that have begun hold theirs until one could not
	body slow 'timeout = "10m",' <<<'repeat ctx:sleep(0.02) until os.rename("go", "go") io.open("ran", "a"):write("x\n"):close() return {}'
	for i in {1..30}; do echo '{"_cmd":"slow"}'; done >requests
	ulimit -S -n 28
	: >ran
	: >out.txt
	{ until_true grep -q '"ok":false' out.txt && : >go; } 3>&- &
	batch --parallel 30 --ignore-errors --unordered <requests
	ulimit -S -n "$(ulimit -Hn)"
	valid_lines 30
	each '0 < sum(not e["ok"] for e in a) and sum(e["ok"] for e in a) == len(open("ran").readlines())'
	each 'all(e["ok"] or (e["error"]["code"], e["error"]["side_effects"], e["error"]["retryable"]) == ("RESOURCE_EXHAUSTED", "none", True)
		for e in a)'
}

@test "an upgrade while exec runs takes no call with it: jobs and calls of calls start, too" {
	cp "$RUNNER" copy
	body ok '' <<<'return { fine = true }'
	body outer '' <<<'return ctx:call("ok")'
	status=0
	body gone '' <<<'return { gone = os.remove "copy" }'
	{
		echo '{"_cmd":"gone"}'
		echo '{"_cmd":"ok"}'
		echo '{"_cmd":"outer"}'
		echo '{"_cmd":"ok","_opts":{"detach":true}}'
	} | env -i "${CLEAN_ENV[@]}" ./copy exec >out.txt 2>err.txt || status=$?
	[ "$status" -eq 0 ]
	each '[e["ok"] for e in a] == [True] * 4 and a[0]["data"]["gone"] and a[2]["data"] == {"fine": True}'
}

@test "a signal ends exec, every call and all that they started, at once" {
	body tree 'args = { { "n", "integer" } },' <<'LUA'
		os.execute("setsid sleep 1000 & sh -c 'trap : TERM; sleep 1000' &")
		io.open("up" .. args.n, "w"):close()
		ctx:sleep "1h"
LUA
	for signal in INT TERM HUP; do
		rm -f up?
		mkfifo in
		env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" exec --parallel 3 <in >out.txt 2>err.txt 3>&- &
		pid=$!
		exec 5>in
		printf '{"_cmd":"tree","n":%d}\n' 1 2 3 >&5
		for n in 1 2 3; do until_true [ -e up$n ]; done
		kill -$signal $pid
		status=0
		wait $pid || status=$?
		exec 5>&-
		rm in
		until_true none_left
		if [ $signal = INT ]; then [ "$status" -eq 130 ]; else [ "$status" -eq 143 ]; fi
	done
}

@test "kill -9 of exec, of its worker or of a call's supervisor leaves nothing" {
	body tree '' <<<'os.execute "setsid sleep 1000 &" io.open("up", "w"):close() ctx:sleep "1h"'
	for victim in exec worker; do
		rm -f up
		mkfifo in
		env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <in >out.txt 2>err.txt 3>&- &
		pid=$!
		exec 5>in
		echo '{"_cmd":"tree"}' >&5
		until_true [ -e up ]
		[ $victim = exec ] || pid=$(worker_of "$pid")
		kill -KILL "$pid"
		wait $! || true
		exec 5>&-
		rm in
		until_true none_left
	done
}

@test "a limit of exec itself ends its calls, and they inherit it" {
	body long 'timeout = "1h",' <<<'ctx:sleep "1h"'
	mkfifo in
	exec 5<>in # whose end never comes: the call may be over a moment before exec's own limit
	echo '{"_cmd":"long","_opts":{"timeout":"1h"}}' >&5
	batch --timeout 500ms --ignore-errors <&5
	exec 5>&-
	[ "$status" -eq 10 ]
	until_true none_left
	batch --timeout 20s --ignore-errors <<<'{"_cmd":"ok","_opts":{"timeout":"1h"}}'
	each 'a[0]["meta"]["timeout_ms"] <= 20000'
}

@test "a reader that leaves ends the calls that run, and exec with OUTPUT_FAILED" {
	body slow '' <<<'io.open("up", "w"):close() ctx:sleep "1h"'
	mkfifo in out
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec --parallel 2 <in >out 2>err.txt &
	pid=$!
	exec 5>in 6<out
	echo '{"_cmd":"slow"}' >&5
	until_true [ -e up ]
	exec 6<&-
	status=0
	wait $pid || status=$?
	exec 5>&-
	: >out.txt
	concluded 1 'e.error.code == "OUTPUT_FAILED" and "left" in e.error.message'
	until_true none_left
	# … and at a write
	for i in $(seq 300); do echo '{"_cmd":"large"}'; done | { env -i "${CLEAN_ENV[@]}" "$RUNNER" exec --parallel 2 2>err.txt || echo $? >status; } | head -c 100 >out.txt
	[ "$(<status)" -eq 1 ]
	until_true none_left
}

@test "a full disk is OUTPUT_FAILED, and a client that reads nothing makes exec wait, not grow" {
	status=0
	printf '{"_cmd":"large"}\n{"_cmd":"ok"}\n' | env -i "${CLEAN_ENV[@]}" "$RUNNER" exec --ignore-errors >/dev/full 2>err.txt || status=$?
	: >out.txt
	concluded 1 'e.error.code == "OUTPUT_FAILED" and "No space" in e.error.message'
	body count '' <<<'io.open("count", "a"):write "x" return { text = ("x"):rep(1 << 16) }'
	mkfifo out
	for i in $(seq 40); do echo '{"_cmd":"count"}'; done >requests
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec --parallel 2 <requests >out 2>err.txt &
	exec 6<out
	until_true test -s count
	for _ in $(seq 50); do
		before=$(wc -c <count)
		sleep 0.1
		[ "$(wc -c <count)" -gt "$before" ] || break
	done
	[ "$(wc -c <count)" -lt 20 ]
	[ "$(wc -l <&6)" -eq 40 ]
	exec 6<&-
	wait $!
}

@test "malformed lines of every kind have one clear answer each" {
	{
		printf '\0\n\xff\xfe\n{"_cmd":"ok","a":"\xff"}\n{"_cmd":"ok"\n{"_cmd":"ok"}}\n\xef\xbb\xbf{"_cmd":"ok"}\n{"_cmd":"o\\u0000k"}\n'
		printf '%0100000d\n' 0
		printf '{"_cmd":"ok","a":"'
		head -c 2000000 /dev/zero | tr '\0' x
		printf '"}\n'
		python3 -c 'print("[" * 100000); print("{\"_cmd\":\"ok\",\"a\":" + "[" * 1000 + "]" * 1000 + "}"); print("{\"_cmd\":\"ok\",\"a\":1e999}")
print("{\"_cmd\":\"ok\",\"a\":123456789012345678901234567890}"); print("{\"_cmd\":\"" + "a." * 1000 + "b\"}")'
		printf '{"_cmd":"ok"}\r\n{"_cmd":"ok"}'
	} >requests
	batch --ignore-errors <requests
	each 'len(a) == 16 and [e["ok"] for e in a] == [False] * 14 + [True] * 2'
	each 'all(e["meta"]["exit_code"] == 2 and len(e["error"]["message"]) < 2000 for e in a[:14])'
	each '"1048576" in a[8]["error"]["message"]'
	valid_lines 16
}

@test "descriptors, memory and processes stay as they are over some hundred calls" {
	mkfifo in out
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec --parallel 2 --ignore-errors <in >out 2>/dev/null &
	pid=$!
	exec 5>in 6<out
	some() {
		for ((i = 0; i < 100; i++)); do echo '{"_cmd":"ok","x":1}' >&5; read -r _ <&6; done
		worker=$(worker_of "$pid")
		find "/proc/$worker/fd" -maxdepth 1 | wc -l
		awk '/VmRSS/ { print $2 }' "/proc/$worker/status"
	}
	no_more_than() {
		[ "$(others)" -le "$1" ]
	}
	no_more_descriptors() {
		[ "$(find "/proc/$(worker_of "$pid")/fd" -maxdepth 1 | wc -l)" -le "$1" ]
	}
	mapfile -t first < <(some)
	mapfile -t second < <(some)
	at_rest=$(others)
	mapfile -t third < <(some)
	echo "${first[*]} ${second[*]} ${third[*]}"
	until_true no_more_descriptors "${second[0]}"
	[ "${third[1]}" -le $((second[1] + 2000)) ] || [ -n "${ASAN_OPTIONS:-}" ]
	until_true no_more_than "$at_rest" # a call that has been answered may still be on its way out
	exec 5>&- 6<&-
	wait $pid || true
}

@test "ten thousand broken lines have one answer each, and exec ends as it should" {
	python3 - >requests <<'PY'
import random, sys
r = random.Random(4711)
seeds = [b'{"_cmd":"ok"}', b'{"_cmd":"ok","_opts":{"timeout":"5s","retries":0},"_id":"a","x":[1,2.5,null]}', b'{"_cmd":"no.such","_stdin":"text"}']
words = [b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\\u0000", b"\\ud800", b"_cmd", b"_opts", b"_id", b"null", b"true", b"1e999", b"-", b"--yes",
         b"\x00", b"\xff", b"\xe2\x80\xa8", b"\t", b"ok", b"x" * 300, b"[" * 300]
for i in range(10000):
    line = bytearray(r.choice(seeds))
    for _ in range(r.randint(1, 8)):
        at = r.randrange(len(line) + 1)
        line[at:at + r.choice((0, 0, 1, 3))] = r.choice(words)
    sys.stdout.buffer.write(bytes(line).replace(b"\n", b" ") + b"\n")
PY
	batch --ignore-errors --parallel 2 --quiet <requests
	[ "$status" -eq 1 ]
	python3 - <<'PY'
import json
lines = [line for line in open("requests", "rb").read().split(b"\n")[:-1]]
answers = [json.loads(line) for line in open("out.txt", "rb")]
assert [a["meta"]["_line"] for a in answers] == [i + 1 for i, line in enumerate(lines) if line.strip()], len(answers)
for a in answers:
    assert a["ok"] == (a["meta"]["exit_code"] == 0) == (a["error"] is None)
    assert a["ok"] or a["error"]["code"] and a["error"]["message"]
    assert a["ok"] or a["error"]["side_effects"] == "none", a
assert 100 < sum(a["ok"] or a["error"]["code"] != "DISPATCH_PARSE_ERROR" for a in answers) < 5000
PY
	until_true none_left
}
