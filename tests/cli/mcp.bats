#!/usr/bin/env bats
# runner mcp serve, as a client sees it.

load lib/helper
load lib/mcp

prepare() {
	command_file hello <<'LUA'
return { description = "Greet", danger_level = "safe", args = { { "name", "string", default = "world", description = "Whom" } },
	output_schema = { type = "object", properties = { greeting = { type = "string" } }, required = { "greeting" } },
	run = function(args) return { greeting = "Hello, " .. args.name } end }
LUA
	command_file db/drop <<'LUA'
return { description = "Drop", danger_level = "destructive", dry_run = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, args = { { "name", "string", required = true } },
	run = function(args, ctx)
		if ctx.dry_run then return { effect = "would_run", tables = 3 } end
		io.open("dropped", "a"):write(args.name, "\n"):close()
		return { effect = "deleted" }
	end }
LUA
	body slow <<'LUA'
		ctx:run { "sh", "-c", "echo >began; exec sleep 600" }
LUA
}

@test "a client of 2026-07-28 finds the tools in a fixed order, and calls one" {
	session <<'PY'
with Server() as s:
    found = s.ask("server/discover")["result"]
    assert found["supportedVersions"] == ["2026-07-28"], found
    tools = s.ask("tools/list")["result"]["tools"]
    names = [t["name"] for t in tools]
    assert names == sorted(names) and {"hello", "slow", "job_wait"} <= set(names) and "workflow_list" not in names, names
    assert "db_drop" not in names and "mcp_serve" not in names and "workflow_run" not in names
    hello = tools[names.index("hello")]
    assert hello["inputSchema"] == {"type": "object", "properties": {"name": {"type": "string", "description": "Whom", "default": "world"}},
                                    "additionalProperties": False}, hello
    assert hello["annotations"]["readOnlyHint"] is True
    result = s.call("hello", {"name": "Ada"})
    assert result["structuredContent"]["data"] == {"greeting": "Hello, Ada"} and not result["isError"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    status, took = s.close()
    assert status == 0 and s.read() is None
PY
	[ ! -s err.txt ]
}

@test "a client of 2025-11-25 and one of 2025-06-18 begin a session" {
	session <<'PY'
for version in ("2025-11-25", "2025-06-18"):
    with Server() as s:
        assert s.initialize(version)["protocolVersion"] == version
        assert s.ask("ping", modern=False)["result"] == {}
        assert "hello" in [t["name"] for t in s.ask("tools/list", modern=False)["result"]["tools"]]
        result = s.ask("tools/call", {"name": "hello", "arguments": {}}, modern=False)["result"]
        assert result["structuredContent"]["data"]["greeting"] == "Hello, world"
        assert s.close()[0] == 0
PY
}

@test "a failure is a result with the code, and whether to try again" {
	body fails <<'LUA'
		ctx:fail("UNAVAILABLE", "503", { retryable = true, retry_after_ms = 700 })
LUA
	session <<'PY'
with Server() as s:
    result = s.call("fails")
    e = result["structuredContent"]["error"]
    assert result["isError"] and (e["code"], e["retryable"], e["retry_after_ms"]) == ("UNAVAILABLE", True, 700), e
    result = s.call("hello", {"nam": "Ada"})
    assert result["isError"] and result["structuredContent"]["error"]["code"] == "VALIDATION_ERROR"
PY
}

@test "bad lines get one error each, and the server goes on" {
	session <<'PY'
with Server() as s:
    for text in (b"{", b"\xff\n".strip(), b"[]", b"{}", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b"x" * (4 << 20) + b"y",
                 b"\x00", b'{"jsonrpc":"2.0","id":"q","method":"no/such"}'):
        s.write(text + b"\n")
        assert "error" in s.read(), text[:80]
    s.write(b"\n\n" + b'{"jsonrpc":"2.0","method":"notifications/whatever"}\n')
    assert s.ask("ping", modern=False)["result"] == {}
    s.write(b'{"jsonrpc":"2.0","id":9,"method":"pi')
    time.sleep(0.05)
    s.write(b'ng"}\n')
    assert s.answer(9)["result"] == {}
    assert s.close()[0] == 0
PY
}

@test "a form that comes back without an answer leaves the call to a person elsewhere, a declined one doesn't" {
	session XDG_STATE_HOME="$PWD/state" <<'PY'
for action, modern in (("cancel", True), ("cancel", False), ("decline", True), ("decline", False)):
    with Server("--allow", "db drop", elicits=True) as s:
        call = {"name": "db_drop", "arguments": {"name": f"{action}{modern}"}}
        if modern:
            asked = s.ask("tools/call", call)["result"]
            call.update(requestState=asked["requestState"], inputResponses={"confirm": {"action": action}})
            result = s.ask("tools/call", call)["result"]
        else:
            s.initialize()
            request = s.request("tools/call", call, modern=False)
            s.line({"jsonrpc": "2.0", "id": s.read()["id"], "result": {"action": action}})
            result = s.answer(request)["result"]
        e = result["structuredContent"]["error"]
        assert e["code"] == "CONFIRMATION_REQUIRED" and ("runner approve apr_" in json.dumps(e)) == (action == "cancel"), (action, modern, e)
assert not os.path.exists("dropped")
PY
}

@test "a message that is too large is answered with its id, if that is certain, and no value passes for one" {
	session <<'PY'
x = b"x" * (5 << 20)
with Server() as s:
    for text, id in ((b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + x + b'"}}', 1),
                     (b'{"jsonrpc":"2.0","method":"ping","params":{"a":"' + x + b'","id":8,"b":[{"id":9}]},"id":"q"}', "q"),
                     (b'{"params":{"a":"\\\",\\\"id\\\":8,\\\"' + x + b'","b":"}],\\"id\\":8"},"id":2,"method":"ping"}', 2),
                     (b'{"id":3,"method":"ping","params":{"a":"' + x + b'"},"id":4}', None),
                     (b'{"id":3,"method":"ping","params":{"a":"' + x + b'"},"\\u0069d":4}', None),
                     (b'{"id":3,"method":"ping","params":{"a":["' + x + b'"}]}', None),
                     (b'{"id":3,"method":"ping","params":{"a":"' + x, None),
                     (b'{"id":3.5,"method":"ping","params":{"a":"' + x + b'"}}', None),
                     (b'{"id":"' + x + b'","method":"ping"}', None),
                     (b'[{"id":3,"method":"ping","params":{"a":"' + x + b'"}}]', None),
                     (b'[' * (5 << 20), None), (x, None)):
        s.write(text + b"\n")
        answer = s.read()
        assert answer.get("id") == id and answer["error"]["code"] == -32600, (text[:60], answer)
    s.write(b'{"jsonrpc":"2.0","id":7,"result":{"a":"' + x + b'"}}\n')
    assert s.ask("ping", modern=False)["result"] == {}
    assert s.close()[0] == 0
PY
}

@test "a message of many small values is refused before it takes the memory that it would become" {
	session <<'PY'
with Server() as s:
    s.call("hello")
    for value in b"[],", b"{},", b"1,":
        s.write(b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":[' + value * ((4 << 20) // len(value) - 100) + b"0]}}\n")
        answer = s.answer("a")
        assert answer.get("error", {}).get("code") == -32600, (value, answer)
    peak = max(kib(pid, "VmHWM") for pid in processes())
    assert 0 < peak < 150000 or "ASAN_OPTIONS" in os.environ, peak # KiB; decoded, one of them takes 600 MiB
PY
}

@test "what is asked before the end of stdin is answered, if that takes no longer than a moment" {
	session <<'PY'
def answered():
    with Server() as s:
        s.call("hello")
        request = s.request("tools/call", {"name": "hello"})
        s.process.stdin.close()
        message = s.read()
        assert s.process.wait(150) == 0
        return message and message["id"] == request and message["result"]["isError"] is False and s.read() is None
# the moment is half a second of a machine that may stand still for as long
until(answered)
PY
}

@test "a last line without its newline is a line" {
	session <<'PY'
with Server() as s:
    s.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    s.process.stdin.close()
    assert s.answer(1)["result"] == {}
PY
}

@test "a cancelled call ends with its whole tree, and is not answered" {
	session <<'PY'
with Server() as s:
    request = s.request("tools/call", {"name": "slow"})
    until(lambda: os.path.exists("began"))
    before = len(processes())
    s.tell("notifications/cancelled", {"requestId": request})
    until(lambda: len(processes()) <= before - 3)
    assert s.ask("tools/list")["result"]["tools"]
    assert not s.others, s.others
PY
}

@test "the end of stdin ends the server and every call at once" {
	session <<'PY'
with Server() as s:
    for _ in range(3):
        s.request("tools/call", {"name": "slow"})
    until(lambda: os.path.exists("began"))
    status, took = s.close()
    assert status == 0 and took < 20, (status, took)
    assert s.read() is None
    until(lambda: not processes())
PY
}

@test "the end of stdin ends the server although nobody takes its answers" {
	session <<'PY'
import socket
def end_unread(fd, end):
    os.set_blocking(fd, False)
    sent, stuck = 0, 0
    while stuck < 20 and sent < 100000:
        try:
            os.write(fd, b'{"jsonrpc":"2.0","id":1,"method":"no/such%s"}\n' % (b"x" * 900))
            sent, stuck = sent + 1, 0
        except BlockingIOError:
            stuck += 1
            time.sleep(0.05)
    assert sent < 100000
    end()
with Server() as s:
    s.request("tools/call", {"name": "slow"})
    until(lambda: os.path.exists("began"))
    end_unread(s.process.stdin.fileno(), s.process.stdin.close)
    assert s.process.wait(150) == 0
    until(lambda: not processes())
ours, theirs = socket.socketpair()
with Server(stdin=theirs) as s:
    theirs.close()
    end_unread(ours.fileno(), lambda: ours.shutdown(socket.SHUT_WR))
    assert s.process.wait(150) == 0
    until(lambda: not processes())
PY
}

@test "TERM ends the server and every call, with an envelope on stderr" {
	session <<'PY'
with Server() as s:
    s.request("tools/call", {"name": "slow"})
    until(lambda: os.path.exists("began"))
    s.process.terminate()
    assert s.process.wait(150) == 143
    until(lambda: not processes())
    last = json.loads(open("err.txt").read().splitlines()[-1])
    assert last["error"]["code"] == "CANCELLED", last
PY
}

@test "KILL of the server leaves no process" {
	session <<'PY'
with Server() as s:
    s.request("tools/call", {"name": "slow"})
    until(lambda: os.path.exists("began"))
    s.process.kill()
    s.process.wait(150)
    until(lambda: not processes())
PY
}

@test "a client that goes away ends the server and every call" {
	session <<'PY'
with Server() as s:
    s.request("tools/call", {"name": "slow"})
    until(lambda: os.path.exists("began"))
    s.process.stdout.close()
    assert s.process.wait(150) == 0
    until(lambda: not processes())
PY
}

@test "a client that doesn't read costs no memory, and finds its answers later" {
	session <<'PY'
def memory():
    return sum(kib(pid, "VmRSS") for pid in processes())
with Server() as s:
    s.ask("tools/list")
    os.set_blocking(s.process.stdin.fileno(), False)
    line, sent, stuck = b"", 0, 0
    before = memory()
    while stuck < 20 and sent < 100000:
        if not line:
            line = b'{"jsonrpc":"2.0","id":%d,"method":"no/such%s"}\n' % (sent, b"x" * 900)
        try:
            line = line[os.write(s.process.stdin.fileno(), line):]
            stuck, sent = 0, sent + (not line)
        except BlockingIOError:
            stuck += 1
            time.sleep(0.05)
    assert sent < 100000, "it reads on although nobody takes its answers"
    if "ASAN_OPTIONS" not in os.environ:  # which keeps what is freed
        assert memory() - before < 32 << 10, (before, memory())
    for i in range(sent):
        assert s.answer(i)["error"]["code"] == -32601
PY
}

@test "a full disk as stdout is a failure, never with exit 2" {
	session <<'PY'
with open("/dev/full", "wb") as full, Server(stdout=full) as s:
    s.line({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert s.process.wait(150) not in (0, 2), s.process.returncode
PY
	tail -n 1 err.txt | grep -q '"ok":false'
}

@test "wrong names at the start are an envelope on stderr, exit 2, and nothing on stdout" {
	for words in "--allow no-such" "--only no-such" "--group hello" "--parallel 0" "--no-such"; do
		# shellcheck disable=SC2086 # two words
		call mcp serve $words
		[ "$status" -eq 2 ]
		[ -z "$stdout" ]
		tail -n 1 err.txt | grep -q '"code":"VALIDATION_ERROR"'
	done
}

@test "a destructive command is no tool without --allow, and asks the person with it" {
	session <<'PY'
with Server(elicits=True) as s:
    assert s.call("db_drop", {"name": "x"})["code"] == -32602
with Server("--allow", "db drop", elicits=True) as s:
    tool = [t for t in s.ask("tools/list")["result"]["tools"] if t["name"] == "db_drop"][0]
    assert tool["annotations"]["destructiveHint"] is True
    asked = s.call("db_drop", {"name": "prod"})
    assert asked["resultType"] == "input_required" and not os.path.exists("dropped")
    assert '"tables":3' in asked["inputRequests"]["confirm"]["params"]["message"]
    result = s.call("db_drop", {"name": "dev"}, requestState=asked["requestState"], inputResponses=YES)
    assert result["code"] == -32602 and not os.path.exists("dropped")
    asked = s.call("db_drop", {"name": "prod"})
    result = s.call("db_drop", {"name": "prod"}, requestState=asked["requestState"], inputResponses=YES)
    assert result["structuredContent"]["data"] == {"effect": "deleted"}, result
    assert open("dropped").read() == "prod\n"
    again = s.call("db_drop", {"name": "prod"}, requestState=asked["requestState"], inputResponses=YES)
    assert again["code"] == -32602 and open("dropped").read() == "prod\n"
with Server("--allow", "db drop") as s:
    assert s.call("db_drop", {"name": "prod"})["code"] == -32021
    s.initialize()
    result = s.ask("tools/call", {"name": "db_drop", "arguments": {"name": "prod"}}, modern=False)["result"]
    assert result["structuredContent"]["error"]["code"] == "CONFIRMATION_REQUIRED"
assert open("dropped").read() == "prod\n"
PY
}

@test "no argument confirms a destructive command" {
	session <<'PY'
with Server("--allow", "db drop", elicits=True) as s:
    for more in ({"confirm_destructive": True}, {"confirm-destructive": True}, {"yes": True}, {"live": True}, {"--": "--confirm-destructive"},
                 {"idempotency_key": "k"}, {"dry_run": False}, {"inputResponses": YES}, {"requestState": "x"}):
        result = s.call("db_drop", {"name": "prod", **more})
        assert result.get("resultType") == "input_required" or result["isError"], (more, result)
    for name in ("--confirm-destructive", "x\0--confirm-destructive", "$(touch dropped)", "a\n--confirm-destructive"):
        result = s.call("db_drop", {"name": name})
        assert result.get("resultType") == "input_required" or result.get("isError") or result.get("code"), (name, result)
    for name in ("db drop", "db.drop", "self.db.drop", "db_drop --confirm-destructive", "DB_DROP", "db_drop ", "exec", "workflow_run",
                 "mcp_serve", "mcp_tools", "lint", "new", "doctor"):
        assert s.call(name, {"name": "prod"})["code"] == -32602, name
    assert not os.path.exists("dropped")
PY
}

@test "a command that became destructive after it was listed is not run" {
	body turns <<'LUA'
		io.open("ran", "a"):write("x"):close()
LUA
	session <<'PY'
with Server() as s:
    s.call("turns")
    os.rename("commands/turns.lua", "old")
    with open("commands/turns.lua", "w") as file:
        file.write(open("commands/db/drop.lua").read().replace("dropped", "ran"))
    for _ in range(3):
        result = s.call("turns", {"name": "x"})
        assert result.get("isError") or result.get("code"), result
    assert open("ran").read() == "x"
PY
}

@test "an earlier era asks through elicitation/create" {
	session <<'PY'
with Server("--allow", "db drop", elicits=True) as s:
    s.initialize()
    request = s.request("tools/call", {"name": "db_drop", "arguments": {"name": "prod"}}, modern=False)
    question = s.read()
    assert question["method"] == "elicitation/create" and "prod" in question["params"]["message"]
    assert not os.path.exists("dropped")
    s.line({"jsonrpc": "2.0", "id": question["id"], "result": YES["confirm"]})
    assert s.answer(request)["result"]["structuredContent"]["data"] == {"effect": "deleted"}
PY
}

@test "a new command is told to those that listen, and an edited one is read again" {
	session <<'PY'
with Server() as s:
    first = s.ask("tools/list")["result"]["tools"]
    s.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, request_id="sub")
    assert s.read()["method"] == "notifications/subscriptions/acknowledged"
    with open("commands/hello.lua") as old, open("commands/hallo.lua", "w") as new:
        new.write(old.read().replace("Greet", "Grüßen"))
    message = s.read()
    assert message["method"] == "notifications/tools/list_changed", message
    assert message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "sub"
    tools = {t["name"]: t for t in s.ask("tools/list")["result"]["tools"]}
    assert tools["hallo"]["description"] == "Grüßen" and len(tools) == len(first) + 1
    s.process.stdin.close()
    assert s.answer("sub")["result"]["resultType"] == "complete"
PY
}

@test "a client that listens before it has listed anything is told of changes" {
	session <<'PY'
with Server() as s:
    s.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, request_id="sub")
    assert s.read()["method"] == "notifications/subscriptions/acknowledged"
    # the files are being read for the first time: after this answer they have been
    s.call("hello")
    open("commands/hallo.lua", "w").write('return { description = "x", danger_level = "safe", run = function() end }')
    assert s.read()["method"] == "notifications/tools/list_changed"
PY
}

@test "code of the project never runs in the server" {
	body traps '' <<'LUA'
LUA
	cat >>commands/traps.lua <<'LUA'
LUA
	sed -i '1i local f = io.open("loaded-by", "a") f:write(io.open("/proc/self/stat"):read(1000):match("^%d+"), "\\n") f:close()' commands/traps.lua
	session <<'PY'
with Server() as s:
    s.ask("tools/list")
    s.call("traps")
    workers = open("loaded-by").read().split()
    assert len(workers) >= 2 and len(set(workers)) == len(workers), workers
    assert str(s.process.pid) not in workers
    for pid in workers:  # each was a process that goes
        until(lambda: not os.path.exists(f"/proc/{pid}"))
PY
}

@test "a broken command is left out, and the others are served" {
	echo 'return {' >commands/broken.lua
	session <<'PY'
with Server() as s:
    names = [t["name"] for t in s.ask("tools/list")["result"]["tools"]]
    assert "hello" in names and "broken" not in names
    s.close()
PY
	grep -q "'broken' is left out" err.txt
}

@test "a file that hangs its reader, or kills it, hides no other tool, and is named" {
	local i
	for i in {1..30}; do
		body "many/c$i" <<<'return {}'
	done
	mkfifo never
	echo 'io.open("never"):read()' >commands/hangs.lua
	echo 'os.execute("kill -9 $PPID")' >commands/many/kills.lua
	echo 'local f = io.open("/proc/self/stat"):read("a"); os.execute("kill -9 " .. f:match("%) %u (%d+)"))' >commands/zealous.lua
	echo 'while true do pcall(function() while true do end end) end' >commands/many/loops.lua
	session <<'PY'
LOG = {"io.modelcontextprotocol/logLevel": "warning"}
BAD = {"hangs", "many.kills", "many.loops", "zealous"}
with Server() as s:
    answer = s.answer(s.request("tools/list", meta=LOG))
    names = {t["name"] for t in answer["result"]["tools"]}
    assert {"hello", "slow", "job_logs"} <= names and {f"many_c{i}" for i in range(1, 31)} <= names, names
    assert not names & {"hangs", "many_kills", "many_loops", "zealous"}
    told = [m["params"] for m in s.others if m["method"] == "notifications/message"]
    assert {m["data"]["command"] for m in told} == BAD and {m["level"] for m in told} == {"warning"}, told
    s.others.clear()
    assert s.call("hello")["isError"] is False
    assert s.ask("tools/list", meta={"io.modelcontextprotocol/logLevel": "error"})["result"]["tools"] and not s.others, "read once"
    s.initialize()
    s.ask("tools/list", modern=False)
    assert {m["params"]["data"]["command"] for m in s.others} == BAD, s.others
    for name in "hangs", "many/kills", "many/loops", "zealous":
        os.unlink(f"commands/{name}.lua")
    s.others.clear()
    until(lambda: s.ask("tools/list", modern=False)["result"]["tools"])
    assert not [m for m in s.others if m["method"] == "notifications/message"], s.others
    assert s.close()[0] == 0
    until(lambda: not processes())
PY
	local name
	for name in hangs "many kills" "many loops" zealous; do
		grep -q "'$name' is left out" err.txt
	done
}

@test "--only and --group leave the rest out, also for calls" {
	session <<'PY'
with Server("--only", "hello", "--group", "db", "--allow", "db drop", elicits=True) as s:
    assert [t["name"] for t in s.ask("tools/list")["result"]["tools"]] == ["db_drop", "hello"]
    assert s.call("slow")["code"] == -32602 and s.call("workflow_list")["code"] == -32602
with Server("--only", "db drop") as s:
    assert s.ask("tools/list")["result"]["tools"] == []
PY
}

@test "a command that declares mcp = false, or needs a person, is no tool, and --allow makes it none" {
	body hushed 'mcp = false,' <<<''
	body person 'requires_person = true, interactive = true,' <<<''
	body raw 'arguments = "passthrough",' <<<''
	session <<'PY'
with Server("--allow", "hushed", "--allow", "person", "--allow", "raw", "--allow", "mcp serve", elicits=True) as s:
    names = [t["name"] for t in s.ask("tools/list")["result"]["tools"]]
    for name in ("hushed", "person", "raw", "mcp_serve"):
        assert name not in names and s.call(name)["code"] == -32602, name
PY
}

@test "commands that hang, flood, fork, crash or are killed are one answer each" {
	body floods 'timeout = "5m",' <<<'for i = 1, 30000 do io.write(("x"):rep(100), "\n") io.stderr:write(("y"):rep(100), "\n") end'
	body forks <<<'for i = 1, 20 do os.execute("sleep 600 & ") end'
	body crashes <<<'require "host_that_is_not_there"'
	body huge <<<'return { text = ("x"):rep(17 << 20) }'
	body dies <<<'os.execute("kill -9 $PPID")'
	body exits <<<'os.exit(3)'
	body hangs 'timeout = "300ms",' <<<'while true do end'
	body rich <<<'local t, none = {}, {} for i = 1, 3000000 do t[i] = none end return t'
	body odd <<<'return { text = "a\0b\u{202E}", [1.5] = nil }'
	session <<'PY'
with Server("--parallel", "8") as s:
    names = ["floods", "forks", "crashes", "huge", "dies", "exits", "hangs", "odd", "rich", "hello"]
    requests = {s.request("tools/call", {"name": n}): n for n in names}
    results = {}
    for request, name in requests.items():
        results[name] = s.answer(request)["result"]
    assert not results["hello"]["isError"] and not results["floods"]["isError"], [str(results[n])[:1500] for n in ("hello", "floods")]
    codes = {n: (r["structuredContent"]["error"] or {}).get("code") for n, r in results.items()}
    assert codes["hangs"] == "TIMEOUT" and codes["huge"] == "OUTPUT_TOO_LARGE", codes
    assert codes["rich"] == "OUTPUT_TOO_LARGE", codes
    assert codes["crashes"] and codes["dies"] and codes["exits"], codes
    status, took = s.close()
    assert status == 0
    until(lambda: not processes())
PY
}

@test "hundreds of small requests leave nothing behind" {
	session <<'PY'
with Server() as s:
    s.ask("tools/list")
    for i in range(20):
        s.call("hello")
    # a call that has been answered may still be on its way out
    def size():
        try:
            return sum(len(os.listdir(f"/proc/{p}/fd")) for p in processes()), len(processes())
        except OSError:
            return (1 << 30, 1 << 30)
    small = min(size() for _ in range(50))
    for i in range(80):
        assert not s.call("hello", {"name": str(i)})["isError"]
    for i in range(1000):
        s.ask("server/discover")
    until(lambda: all(now <= then for now, then in zip(size(), small)))
PY
}

@test "the environment, the working directory and a dry run of the server are those of its calls" {
	body where <<<'return { here = os.getenv "HERE", cwd = ctx:run { "pwd" }.stdout }'
	command_file put <<'LUA'
return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() io.open("put", "w"):close() return { effect = "created" } end }
LUA
	session HERE=there <<'PY'
with Server() as s:
    data = s.call("where")["structuredContent"]["data"]
    assert data["here"] == "there" and data["cwd"].strip() == os.getcwd(), data
    assert s.call("put", {"dry_run": True})["structuredContent"]["data"]["effect"] == "would_run"
    assert not os.path.exists("put")
with Server(env={"RUNNER_DRY_RUN": "1"}) as s:
    s.call("put", {"dry_run": False})
    assert not os.path.exists("put")
with Server() as s:
    s.call("put")
    assert os.path.exists("put")
PY
}

@test "a list goes on where its cursor says" {
	body items 'list = true,' <<<'return { { n = 1 }, { n = 2 }, { n = 3 } }'
	session <<'PY'
with Server() as s:
    first = s.call("items", {"limit": 2})["structuredContent"]
    assert [i["n"] for i in first["data"]] == [1, 2] and first["meta"]["pagination"]["has_more"], first
    rest = s.call("items", {"limit": 2, "cursor": first["meta"]["pagination"]["next_cursor"]})["structuredContent"]
    assert [i["n"] for i in rest["data"]] == [3], rest
    assert s.call("items", {"cursor": "nonsense"})["isError"]
    tool = [t for t in s.ask("tools/list")["result"]["tools"] if t["name"] == "items"][0]
    assert set(tool["inputSchema"]["properties"]) == {"limit", "cursor"}
PY
}

@test "steps, progress and logs are progress of the request, for who sent a token" {
	command_file works <<'LUA'
return { description = "x", danger_level = "safe", steps = { "unpack", "verify" }, run = function(args, ctx)
	ctx:step "unpack"
	ctx:progress { done = 1, total = 3, unit = "files" }
	ctx:step "verify"
	ctx:log("info", "nearly")
	io.stderr:write("of a program\n")
	return {} end }
LUA
	session <<'PY'
with Server() as s:
    s.answer(s.request("tools/call", {"name": "works"}, meta={"progressToken": "p"}))
    said = [m["params"] for m in s.others if m["method"] == "notifications/progress"]
    assert [m["message"] for m in said] == ["unpack", "1/3 files", "verify", "nearly", "of a program"], said
    assert [(m["progress"], m.get("total")) for m in said] == [(0.001, None), (1, 3), (1.001, 3), (1.002, 3), (1.003, 3)]
    assert {m["progressToken"] for m in said} == {"p"}
    s.others.clear()
    s.call("works")
    assert not s.others, s.others
PY
}

@test "50,000 reports of progress are a few messages, whole ones, and the last value is among them" {
	command_file works <<<'return { description = "x", danger_level = "safe", run = function(_, ctx) for i = 1, 50000 do ctx:progress { done = i, total = 50000 } end return {} end }'
	session <<'PY'
with Server() as s:
    begun = time.monotonic()
    s.answer(s.request("tools/call", {"name": "works"}, meta={"progressToken": "p"}))
    said = [m["params"] for m in s.others if m["method"] == "notifications/progress"]
    assert 1 <= len(said) <= (time.monotonic() - begun + 1) * 10 + 1, len(said)
    assert all(m["message"] == f"{m['progress']}/{m['total']}" for m in said), said
    assert said[0]["progress"] == 1 and said[-1]["progress"] == 50000 and all(a["progress"] < b["progress"] for a, b in zip(said, said[1:]))
PY
}

@test "of runner's own commands three are tools, the others where they are asked for, and so are their prompts" {
	local jobs='["job.logs", "job.status", "job.wait"]' all='["job.list", "job.logs", "job.status", "job.wait", "workflow.list", "workflow.logs", "workflow.show", "workflow.stats", "workflow.wait"]'
	own() {
		call mcp tools "$@" --format json
		expect "[t['command'] for t in e.data if t['command'].startswith(('job.', 'workflow.'))] == $want"
	}
	want=$jobs own
	want=$all own --builtin
	want='["job.list"]' own --only "job list"
	want='["job.list", "job.logs", "job.status", "job.wait"]' own --group job
	want='["job.logs", "job.status", "job.wait", "workflow.show"]' own --allow "workflow show"
	call mcp tools --all --format json
	expect '[t["reason"] for t in e.data if t["command"] == "job.list"] == ["it is runner\x27s own: --builtin lists it"]'
	session <<'PY'
def prompts(*flags):
    with Server(*flags) as s:
        return {p["name"].split("-")[0] for p in s.ask("prompts/list")["result"]["prompts"]}, s.call("workflow_list").get("code")
assert prompts() == (set(), -32602), prompts()
assert {"job_wait", "job_list", "workflow_show"} <= prompts("--builtin")[0] and prompts("--builtin")[1] is None
assert prompts("--only", "job wait")[0] == {"job_wait"}
PY
	call mcp install cursor --builtin
	expect 'e.data["config"]["mcpServers"].popitem()[1]["args"] == ["mcp", "serve", "--builtin"]'
}

@test "a server is what its project is called, and without one it says so" {
	echo 'return { name = "shop", version = "3.1.4" }' >runner.lua
	session <<'PY'
with Server() as s:
    about = s.ask("server/discover")["result"]
    assert about["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "shop", "title": "shop", "version": "3.1.4"}, about
    assert about["instructions"].startswith("Commands of shop.\n"), about
PY
	rm runner.lua
	local none
	none=$(mktemp -d /tmp/mcp-none.XXXXXX)
	session <<PY
with Server() as s:
    assert s.ask("server/discover")["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["title"] == os.path.basename(os.getcwd())
with Server("--parallel", "1", cwd="$none") as s:
    about = s.ask("server/discover")["result"]
    assert about["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "runner" and "title" not in about["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert about["instructions"].startswith("There is no project in $none, nor in a folder above it"), about
    s.answer(s.request("tools/list", {}, meta={"io.modelcontextprotocol/logLevel": "warning"}))
    assert ["There is no project" in m["params"]["data"]["message"] for m in s.others] == [True], s.others
PY
	rmdir "$none"
	[ "$(grep -c '"code":"NO_PROJECT"' err.txt)" -eq 1 ]
}

@test "a tool says what it changes, what its arguments are by default, and the form of a duration" {
	body look 'has_network_io = true, args = { { "for_long", "duration", default = "90s", min = 1, max = 600 }, { "kind", "enum", values = { "a", "b" }, default = "a" }, { "pin", "string", secret = true, default = "hunter2" }, { "made", "string", default = function() return "x" end }, { "tags", "array", items = "string", default = { "x" } }, { "data", "json", default = { a = 1 } } },' <<<'return args.for_long'
	body change <<<'return { effect = "noop" }'
	sed -i 's/danger_level = "safe",/danger_level = "mutating", has_network_io = false, exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial" } },/' commands/change.lua
	session <<'PY'
import re
with Server() as s:
    tools = {t["name"]: t for t in s.ask("tools/list")["result"]["tools"]}
    assert tools["change"]["annotations"] == {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert tools["look"]["annotations"] == {"readOnlyHint": True, "openWorldHint": True}
    p = tools["look"]["inputSchema"]["properties"]
    assert {k: v.get("default") for k, v in p.items()} == {"for_long": "90s", "kind": "a", "pin": None, "made": None, "tags": ["x"], "data": {"a": 1}}, p
    assert (p["for_long"]["minimum"], p["for_long"]["maximum"]) == (1, 600)
    for text, fits in (("90s", True), ("1.5m", True), ("7", True), ("2 h", False), ("1h30m", False), ("-1s", False), (".5s", False), ("", False)):
        assert bool(re.search(p["for_long"]["pattern"], text)) == fits, text
        assert s.call("look", {"for_long": text})["isError"] != fits, text
    assert s.call("look", {"for_long": 601})["isError"] and s.call("look", {"for_long": 600})["structuredContent"]["data"] == {"value": 600}
PY
}

@test "what a command logs is a message to a client that wants such" {
	body says <<'LUA'
		ctx:log("debug", "d")
		ctx:log("info", "i")
		ctx:log("warn", "w")
		ctx:log("error", "e")
LUA
	session <<'PY'
def told(s, **more):
    s.others.clear()
    s.answer(s.request("tools/call", {"name": "says"}, **more))
    return [(m["params"]["level"], m["params"]["data"]["message"]) for m in s.others if m["method"] == "notifications/message"]
LEVEL = "io.modelcontextprotocol/logLevel"
with Server() as s:
    assert told(s) == []
    assert told(s, meta={LEVEL: "info"}) == [("info", "i"), ("warning", "w"), ("error", "e")]
    assert told(s, meta={LEVEL: "error"}) == [("error", "e")]
    assert told(s, meta={LEVEL: "emergency"}) == []
    s.initialize()
    assert told(s, modern=False) == [("warning", "w"), ("error", "e")]
    s.ask("logging/setLevel", {"level": "debug"}, modern=False)
    assert told(s, modern=False)[-3:] == [("info", "i"), ("warning", "w"), ("error", "e")]
PY
}

@test "progressive mode has three tools, which find, describe and call commands" {
	session <<'PY'
with Server("--progressive", "--allow", "db drop", elicits=True) as s:
    assert [t["name"] for t in s.ask("tools/list")["result"]["tools"]] == ["call", "describe", "search"]
    found = json.loads(s.call("search", {"query": "drop"})["content"][0]["text"])["data"]
    assert [t["name"] for t in found["tools"]] == ["db_drop"], found
    assert "name" in json.loads(s.call("describe", {"name": "db_drop"})["content"][0]["text"])["data"]["inputSchema"]["properties"]
    data = s.call("call", {"name": "hello", "arguments": {"name": "Ada"}})["structuredContent"]["data"]
    assert data == {"greeting": "Hello, Ada"}
    call = {"name": "db_drop", "arguments": {"name": "prod"}}
    asked = s.call("call", call)
    assert not os.path.exists("dropped")
    s.call("call", call, requestState=asked["requestState"], inputResponses=YES)
    assert open("dropped").read() == "prod\n"
PY
}

@test "pages, tools and runs are resources, and nothing else can be read" {
	mkdir -p docs/deep docs/.hidden outside
	echo '# Readme' >README.md
	echo '# Page' >docs/deep/page.md
	echo 'secret' >outside/secret.md
	echo 'secret' >docs/.hidden/page.md
	ln -s "$PWD/outside/secret.md" docs/link.md
	ln -s "$PWD/outside" docs/folder
	printf '\xff' >docs/bytes.md
	cat >w.yaml <<'YAML'
name: w
steps:
  - shell: echo hi
YAML
	call XDG_STATE_HOME="$PWD/state" workflow run w.yaml
	[ "$status" -eq 0 ]
	session XDG_STATE_HOME="$PWD/state" <<'PY'
with Server("--builtin") as s:
    found = {r["uri"]: r for r in s.ask("resources/list")["result"]["resources"]}
    docs = [u for u in found if u.startswith("runner://docs/")]
    assert docs == ["runner://docs/README.md", "runner://docs/docs/bytes.md", "runner://docs/docs/deep/page.md"], docs
    read = lambda uri: s.ask("resources/read", {"uri": uri})
    assert read("runner://docs/docs/deep/page.md")["result"]["contents"][0]["text"] == "# Page\n"
    assert "name" in json.loads(read("runner://commands/hello")["result"]["contents"][0]["text"])["tool"]["inputSchema"]["properties"]
    runs = [u for u in found if u.startswith("runner://runs/")]
    assert len(runs) == 1 and json.loads(read(runs[0])["result"]["contents"][0]["text"])["state"] == "completed"
    for uri in ("runner://docs/docs/link.md", "runner://docs/docs/folder/secret.md", "runner://docs/docs/.hidden/page.md",
                "runner://docs/docs/bytes.md", "runner://docs/../outside/secret.md", "runner://docs/outside/secret.md",
                "file://" + os.path.abspath("outside/secret.md"), "runner://commands/db_drop", "runner://runs/run_x"):
        assert read(uri)["error"]["code"] == -32602, uri
PY
}

@test "nothing that a client is sent hides or turns around what a person or a model reads, and no page has a second name" {
	printf 'return { description = "Say \u202edelete\u200b", danger_level = "safe", args = { { "text", "string", description = "A \u2066text" } },\n%s' \
		'run = function(args, ctx) ctx:log("warn", "l\u{200B}") return { ["k\u{FEFF}"] = args.text, e = "👩\u{200D}🚀" } end }' >commands/sly.lua
	printf 'return { description = "Wipe", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },\n%s' \
		'args = { { "note", "string" }, { "path", "string" } }, run = function() return { effect = "deleted" } end }' >commands/wipe.lua
	mkdir docs elsewhere
	echo "seen" >docs/guide.md
	printf 'a\u200bb\n' >docs/sly.md
	echo "secret" >elsewhere/secret.md
	ln elsewhere/secret.md docs/hard.md
	session <<'PY'
import re
HIDDEN = re.compile("[\u0080-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
with Server("--allow", "wipe") as s:
    seen = []
    def look(answer):
        seen.append(json.dumps(answer, ensure_ascii=False))
        return answer["result"]
    look(s.ask("tools/list"))
    look(s.ask("prompts/list"))
    uris = [r["uri"] for r in look(s.ask("resources/list"))["resources"]]
    assert "runner://docs/docs/guide.md" in uris and "runner://docs/docs/hard.md" not in uris, uris
    assert "error" in s.ask("resources/read", {"uri": "runner://docs/docs/hard.md"})
    assert "a[U+200B]b" in json.dumps(look(s.ask("resources/read", {"uri": "runner://docs/docs/sly.md"})))
    result = look(s.ask("tools/call", {"name": "sly", "arguments": {"text": "x\u202ey\u200bz"}}))
    assert result["structuredContent"]["data"] == {"k[U+FEFF]": "x[U+202E]y[U+200B]z", "e": "👩\u200d🚀"}, result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert "_" in look(s.ask("tools/call", {"name": "hello", "arguments": {"name": "_"}}))["structuredContent"]["data"]["greeting"]
    refused = s.ask("tools/call", {"name": "no\u202etool", "arguments": {}})
    assert "no[U+202E]tool" in refused["error"]["message"], refused
    seen.append(json.dumps(refused, ensure_ascii=False))
with Server("--allow", "wipe", elicits=True) as s:
    asked = look(s.ask("tools/call", {"name": "wipe", "arguments": {"note": "a" * 5000 + "\u202e", "path": "/etc/\u200bshadow"}}))
    lines = asked["inputRequests"]["confirm"]["params"]["message"].split("\n")
    assert lines[1:3] == ["Arguments:", '  path: "/etc/[U+200B]shadow"'] and "more bytes are not shown" in lines[3] and "note" in lines[3], lines
for text in seen:
    found = HIDDEN.search(text.replace("👩\u200d🚀", "")) or re.search(r"\\\\u(202[a-e]|200[b-f])", text)
    assert not found, (found, text[:3000])
PY
}

@test "the traceparent of a request is continued by its call, and what is none is as if there were none" {
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	body told <<<'return { parent = os.getenv "TRACEPARENT" or "none" }'
	session <<'PY'
trace = "0af7651916cd43dd8448eb211c80319c"
parent = f"00-{trace}-b7ad6b7169203331-01"
with Server() as s:
    said = s.answer(s.request("tools/call", {"name": "told"}, meta={"traceparent": parent}))["result"]["structuredContent"]
    assert said["data"] == {"parent": parent}, said
    for wrong in (7, "", trace, parent.upper(), parent.replace(trace, "0" * 32), parent.replace("b7ad6b7169203331", "0" * 16), "ff" + parent[2:],
                  parent + "-x", parent + "\n", "00-" + trace + "b7-ad6b7169203331-01", None, [parent]):
        said = s.answer(s.request("tools/call", {"name": "told"}, meta={"traceparent": wrong}))["result"]["structuredContent"]
        assert said["data"] == {"parent": "none"}, (wrong, said)
rows = [json.loads(line) for line in open("audit.jsonl")]
begun = [row for row in rows if row["event"] == "begin" and row["command"] == "told"]
assert [row.get("trace_id") for row in begun] == [trace] + [None] * 12, begun
assert {row["client"]["transport"] for row in begun} == {"mcp-stdio"}, begun
with Server() as s:
    s.initialize("2025-11-25")
    said = s.ask("tools/call", {"name": "told", "_meta": {"traceparent": parent}}, modern=False)["result"]["structuredContent"]
    assert said["data"] == {"parent": parent}, said
PY
}
