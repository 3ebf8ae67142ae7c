#!/usr/bin/env bats
# What a client of runner mcp serve waits for takes no place of its calls.

load lib/helper
load lib/mcp

prepare() {
	body hello <<<'return { greeting = "Hello" }'
	body long 'timeout = "10m",' <<'LUA'
		ctx:progress{ done = 1, total = 2 }
		ctx:run { "sh", "-c", ">job; until [ -e go ]; do sleep 0.1; done" }
		return { done = true }
LUA
	cat >long.yaml <<'YAML'
name: long
steps:
  - id: wait
    shell: '>run; until [ -e go ]; do sleep 0.1; done'
YAML
}

# A job and a run that go on until the file `go` is there, and each call that waits for one of them.
SETTING='
def started(*words):
    out = subprocess.run([os.environ["RUNNER"], *words, "--detach", "--format", "json"], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)["data"]
job, run = started("long")["job_id"], started("workflow", "run", "long.yaml")["run"]
until(lambda: os.path.exists("job") and os.path.exists("run")) # all of their processes are there
WAYS = [("job_wait", {"id": job}), ("job_logs", {"id": job, "follow": True}), ("workflow_wait", {"id": run}),
        ("workflow_logs", {"id": run, "follow": True}), ("workflow_show", {"id": run, "watch": True})]
def wait(s, i):
    name, arguments = WAYS[i % len(WAYS)]
    return s.request("tools/call", {"name": name, "arguments": arguments})
def ours():
    """The processes of runner; those of the job and of the run come and go."""
    return {pid for pid in processes() if comm(pid) == "runner"}
def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""
def refused(message):
    e = message["result"]["structuredContent"]["error"]
    return e is not None and (e["code"], e["retryable"], e["side_effects"]) == ("RATE_LIMITED", True, "none") and e["retry_after_ms"] > 0
'

@test "four calls of each kind that wait, and 40 of them, leave room for a call that answers" {
	session <<PY
$SETTING
for way in range(len(WAYS)):
    with Server("--builtin") as s:
        waits = [s.request("tools/call", {"name": WAYS[way][0], "arguments": WAYS[way][1]}) for _ in range(4)]
        assert s.call("hello")["structuredContent"]["data"] == {"greeting": "Hello"}, WAYS[way]
        assert not [m for m in s.others if m.get("id") in waits], s.others
with Server("--builtin") as s:
    waits = [wait(s, i) for i in range(40)]
    assert s.call("hello")["structuredContent"]["ok"]
    assert all(refused(s.answer(i)) for i in waits[32:])
    assert not [m for m in s.others if m.get("id") in waits], s.others
    assert refused(s.answer(wait(s, 0)))
    open("go", "w").close()
    for i, one in enumerate(waits[:32]):
        answer = s.answer(one)["result"]["structuredContent"]
        assert answer["ok"] and answer["error"] is None, (WAYS[i % len(WAYS)], answer)
    assert s.call("job_wait", {"id": job})["structuredContent"]["data"] == {"done": True}
PY
}

@test "a wait that is cancelled makes room for another one, and what it waits for goes on" {
	session <<PY
$SETTING
with Server("--builtin") as s:
    s.call("hello")
    before = len(ours())
    waits = [wait(s, i) for i in range(32)]
    until(lambda: len(ours()) >= before + 32)
    assert refused(s.answer(wait(s, 0)))
    for one in waits:
        s.tell("notifications/cancelled", {"requestId": one})
    until(lambda: len(ours()) <= before)
    assert not s.others, s.others
    again = wait(s, 0)
    assert s.call("job_status", {"id": job})["structuredContent"]["error"]["code"] == "INCOMPLETE"
    open("go", "w").close()
    assert s.answer(again)["result"]["structuredContent"]["data"] == {"done": True}
PY
}

@test "the end of a server with waits leaves none of their processes" {
	session <<PY
$SETTING
jobs = ours()
for end in (lambda s: s.process.stdin.close(), lambda s: s.process.terminate(), lambda s: s.process.kill()):
    with Server("--builtin") as s:
        s.call("hello")
        before = len(ours())
        for i in range(8):
            wait(s, i)
        until(lambda: len(ours()) >= before + 8)
        end(s)
        s.process.wait(150)
        until(lambda: ours() == jobs)
open("go", "w").close()
subprocess.run([os.environ["RUNNER"], "job", "wait", job], check=True, stdout=subprocess.DEVNULL)
subprocess.run([os.environ["RUNNER"], "workflow", "wait", run], check=True, stdout=subprocess.DEVNULL)
PY
}
