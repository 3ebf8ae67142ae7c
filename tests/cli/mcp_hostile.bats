#!/usr/bin/env bats
# Commands, clients and callers at their worst, through runner mcp serve: what exec_hostile.bats has for exec
# and is not in mcp.bats already (malformed lines, a client that goes away or does not read, a full disk).

load lib/helper
load lib/mcp
load lib/hostile

prepare() {
	hostile_commands
}

@test "a command that hangs, floods, forks, is killed or exits has one answer, and the next call is none the worse" {
	session MEMORY="$([ -n "${ASAN_OPTIONS:-}" ] && echo COMMAND_CRASHED || echo MEMORY_LIMIT)" <<'PY'
CODES = {"hang": "TIMEOUT", "flood": None, "fork": "TIMEOUT", "killed": "COMMAND_CRASHED", "stopped": "TIMEOUT", "three": "COMMAND_CRASHED",
         "zero": "COMMAND_CRASHED", "garbage": None, "orphan": "SUBPROCESS_FAILED", "huge": "OUTPUT_TOO_LARGE", "large": None,
         "memory": os.environ["MEMORY"]}
for parallel in "1", "3":
    with Server("--parallel", parallel) as s:
        requests = []
        for name in CODES:
            requests += [s.request("tools/call", {"name": n, "arguments": {}}) for n in (name, "ok")]
        answers = [s.answer(r)["result"] for r in requests]
        found = {n: (json.loads(a["content"][0]["text"])["error"] or {}).get("code") for n, a in zip(CODES, answers[::2])}
        assert found == CODES, found
        assert all(a["isError"] == (found[n] is not None) for n, a in zip(CODES, answers[::2]))
        assert all(a["structuredContent"]["data"] == {"fine": True} for a in answers[1::2])
        assert s.call("bad")["code"] == -32602, "it is left out"
        assert s.close()[0] == 0
    until(lambda: not processes())
PY
}

@test "as tasks they have the same answers" {
	local name
	for name in hang flood killed orphan huge; do
		sed -i "s/danger_level = \"safe\"/async = true, &/" commands/$name.lua
	done
	session XDG_STATE_HOME="$PWD/state" <<'PY'
CODES = {"hang": "TIMEOUT", "flood": None, "killed": "COMMAND_CRASHED", "orphan": "JOB_LOST", "huge": "OUTPUT_TOO_LARGE"}
with Server(tasks=True) as s:
    tasks = {n: s.call(n)["taskId"] for n in CODES}
    get = lambda n: s.ask("tasks/get", {"taskId": tasks[n]})["result"]
    until(lambda: all(get(n)["status"] in ("completed", "failed") for n in CODES))
    assert sorted(n for n in CODES if get(n)["status"] == "failed") == ["killed", "orphan"]  # without an answer of their own
    def code(task):
        if task["status"] == "failed":
            return task["error"]["data"]["code"]
        return (json.loads(task["result"]["content"][0]["text"])["error"] or {}).get("code")
    found = {n: code(get(n)) for n in CODES}
    assert found == CODES, found
    assert s.close()[0] == 0
until(lambda: not processes())
PY
}

@test "a command whose stdout belongs to another is no tool, whatever is allowed" {
	body protocol 'stdout = "protocol", protocol = "fake",' <<<'io.open("ran", "w"):close() io.write("{}")'
	body passing 'arguments = "passthrough",' <<<'io.open("ran", "w"):close() return ctx:delegate { "echo", "{}" }'
	session <<'PY'
with Server("--allow", "protocol", "--allow", "passing") as s:
    names = {t["name"] for t in s.ask("tools/list")["result"]["tools"]}
    assert "ok" in names and not names & {"protocol", "passing"}
    for name in "protocol", "passing":
        assert s.call(name)["code"] == -32602
    assert not os.path.exists("ran")
PY
}

@test "calls for which there are no descriptors say so: they were not run, and may be made again" {
	body slow 'timeout = "10m",' <<<'repeat ctx:sleep(0.02) until os.rename("go", "go") io.open("ran", "a"):write("x\n"):close() return {}'
	session <<'PY'
import resource
open("ran", "w").close()
with Server("--parallel", "40") as s:
    s.ask("tools/list")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for pid in processes():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (30, hard))
    requests = [s.request("tools/call", {"name": "slow", "arguments": {}}) for _ in range(40)]
    first = s.read()
    open("go", "w").close()
    answers = [first["result"]["structuredContent"]]
    answers += [s.answer(r)["result"]["structuredContent"] for r in requests if r != first["id"]]
    failed = [a["error"] for a in answers if not a["ok"]]
    assert failed and len(answers) - len(failed) == len(open("ran").readlines()), (len(failed), len(answers))
    assert all((e["code"], e["side_effects"], e["retryable"]) == ("RESOURCE_EXHAUSTED", "none", True) for e in failed), failed[0]
    assert s.call("ok")["structuredContent"]["data"] == {"fine": True}
PY
}

@test "an upgrade while the server runs takes no call with it: tasks and calls of calls start, too" {
	cp "$RUNNER" copy
	body outer '' <<<'return ctx:call("ok")'
	body gone '' <<<'return { gone = os.remove "copy" }'
	body later 'async = true,' <<<'return { fine = true }'
	session RUNNER=./copy XDG_STATE_HOME="$PWD/state" <<'PY'
with Server(tasks=True) as s:
    assert s.call("gone")["structuredContent"]["data"]["gone"]
    assert s.call("ok")["structuredContent"]["data"] == {"fine": True}
    assert s.call("outer")["structuredContent"]["data"] == {"fine": True}
    task = s.call("later")["taskId"]
    until(lambda: s.ask("tasks/get", {"taskId": task})["result"]["status"] == "completed")
    open("commands/fresh.lua", "w").write('return { description = "x", danger_level = "safe", run = function() end }')
    assert "fresh" in [t["name"] for t in s.ask("tools/list")["result"]["tools"]]
PY
}

@test "kill -9 of the server or of its worker leaves nothing" {
	body tree '' <<<'os.execute "setsid sleep 1000 &" io.open("up", "w"):close() ctx:sleep "1h"'
	session <<'PY'
for victim in "server", "worker":
    with Server() as s:
        s.request("tools/call", {"name": "tree"})
        until(lambda: os.path.exists("up"))
        os.unlink("up")
        worker = children(s.process.pid)[0]  # its guard came later
        os.kill(s.process.pid if victim == "server" else worker, signal.SIGKILL)
        s.process.wait(150)
    until(lambda: not processes())
PY
}

@test "a limit of the server itself ends its calls, and they inherit it" {
	body long 'timeout = "1h",' <<<'ctx:sleep "1h"'
	session <<'PY'
with Server("--timeout", "700ms") as s:
    try:
        s.request("tools/call", {"name": "long"})
    except BrokenPipeError:
        pass  # the limit was over before the server had begun
    assert s.process.wait(150) == 10
until(lambda: not processes())
PY
}

@test "ten thousand broken lines have at most one answer each, and the server serves on" {
	session <<'PY'
import random, threading
r = random.Random(4711)
META = {VERSION: "2026-07-28", CAPABILITIES: {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
def request(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}).encode()
seeds = [request("tools/list"), request("tasks/get", taskId="job_1"), request("server/discover"), request("prompts/list"),
         request("tools/call", name="no_such", arguments={}), b'{"jsonrpc":"2.0","id":1,"method":"ping"}']
words = [b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\\u0000", b"\\ud800", b"id", b"method", b"tools/call", b"null", b"true", b"1e999", b"-",
         b"\x00", b"\xff", b"\xe2\x80\xa8", b"\t", b"ok", b"x" * 300, b"[" * 300, b"task", b"params"]
lines = []
for _ in range(10000):
    line = bytearray(r.choice(seeds))
    for _ in range(r.randint(1, 6)):
        at = r.randrange(len(line) + 1)
        line[at:at + r.choice((0, 0, 1, 3))] = r.choice(words)
    lines.append(bytes(line).replace(b"\n", b" ") + b"\n")
with Server() as s:
    s.call("ok")
    writer = threading.Thread(target=lambda: (s.write(b"".join(lines)), s.line({"jsonrpc": "2.0", "id": "end", "method": "ping"})))
    writer.start()
    s.answer("end")
    writer.join()
    assert len(s.others) <= len(lines), len(s.others)
    assert all("error" in m or "result" in m or "method" in m for m in s.others)
    assert sum("error" in m for m in s.others) > 5000, len(s.others)
    assert s.call("ok")["structuredContent"]["data"] == {"fine": True}
    assert s.close()[0] == 0
until(lambda: not processes())
PY
}
