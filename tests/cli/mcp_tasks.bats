#!/usr/bin/env bats
# Tasks of MCP, which are jobs, as a client sees them. tests/lua/mcp/tasks_spec.lua has the rules.

load lib/helper
load lib/mcp

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME")
	echo 'return {}' >runner.lua
	mkfifo gate
	body build 'timeout = "5m",' 'args = { { "name", "string", default = "x" } },' <<'LUA'
		ctx:progress{ done = 1, total = 2 }
		io.open("began", "w"):close()
		io.open("gate"):close()
		return { built = args.name }
LUA
	body quick 'args = { { "n", "integer", default = 1 } },' <<'LUA'
		return { n = args.n }
LUA
	command_file wipe <<'LUA'
return { description = "Wipe", danger_level = "destructive", dry_run = true, timeout = "5m",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, args = { { "name", "string", required = true } },
	run = function(args, ctx)
		if ctx.dry_run then return { effect = "would_run" } end
		io.open("wiped", "a"):write(args.name, "\n"):close()
		return { effect = "deleted" }
	end }
LUA
}

# What a failed test left running waits at the gate.
clean_up() {
	rm -f gate
	local control
	for control in "$XDG_STATE_HOME"/runner/jobs/*/control; do
		[ ! -p "$control" ] || printf T 1<>"$control"
	done
	until_true no_process_left
}

no_process_left() {
	[ -z "$(processes_left)" ]
}

@test "a long call is a task at once, says how far it is, and has its result in tasks/get" {
	session <<'PY'
with Server(tasks=True) as s:
    assert s.ask("server/discover")["result"]["capabilities"]["extensions"] == {"io.modelcontextprotocol/tasks": {}}
    task = s.call("build", {"name": "a"})
    assert (task["resultType"], task["status"]) == ("task", "working"), task
    until(lambda: os.path.exists("began"))
    get = lambda: s.ask("tasks/get", {"taskId": task["taskId"]})["result"]
    until(lambda: get().get("statusMessage") == '{"done":1,"total":2}')
    assert s.call("quick")["structuredContent"]["data"] == {"n": 1}
    open("gate", "w").close()
    until(lambda: get()["status"] == "completed")
    result = get()["result"]
    assert result["structuredContent"]["data"] == {"built": "a"} and result["isError"] is False, result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert s.close()[0] == 0
PY
}

@test "a client that knows no tasks waits for the same call" {
	session <<'PY'
with Server() as s:
    request = s.request("tools/call", {"name": "build", "arguments": {}})
    until(lambda: os.path.exists("began"))
    open("gate", "w").close()
    assert s.answer(request)["result"]["structuredContent"]["data"] == {"built": "x"}
PY
}

@test "a client of 2025-11-25 asks for a task, lists it, waits for its result" {
	session <<'PY'
with Server() as s:
    assert s.initialize()["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    ask = lambda method, **params: s.ask(method, params, modern=False)
    task = ask("tools/call", name="quick", arguments={"n": 7}, task={"ttl": 3600000})["result"]["task"]
    assert task["ttl"] == 3600000, task
    result = ask("tasks/result", taskId=task["taskId"])["result"]
    assert result["structuredContent"]["data"] == {"n": 7}
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task["taskId"]}
    assert ask("tasks/get", taskId=task["taskId"])["result"]["status"] == "completed"
    assert [t["taskId"] for t in ask("tasks/list")["result"]["tasks"]] == [task["taskId"]]
    wrong = ask("tools/call", name="quick", arguments={"n": "x"}, task={})["result"]["task"]
    assert wrong["status"] == "failed", wrong
    assert ask("tasks/result", taskId=wrong["taskId"])["result"]["structuredContent"]["error"]["code"] == "VALIDATION_ERROR"
PY
}

@test "a cancelled task ends with its whole tree" {
	body tree 'timeout = "5m",' <<'LUA'
		ctx:run { "sh", "-c", "sleep 600 & echo >began; exec sleep 600" }
LUA
	session <<'PY'
with Server(tasks=True) as s:
    s.call("quick")
    for legacy in False, True:
        if legacy:
            s.initialize()
        before = set(processes())
        answer = s.ask("tools/call", {"name": "tree", "task": {}}, modern=not legacy)["result"]
        task = answer["task"] if legacy else answer
        until(lambda: os.path.exists("began"))
        os.unlink("began")
        done = s.ask("tasks/cancel", {"taskId": task["taskId"]}, modern=not legacy)["result"]
        assert not legacy or done["status"] == "cancelled"
        until(lambda: s.ask("tasks/get", {"taskId": task["taskId"]})["result"]["status"] == "cancelled")
        until(lambda: not set(processes()) - before)  # (some of these may have been on their way out)
PY
}

@test "a client that was told of a cancellation hears so from every server, also while the task still cleans up" {
	body slow 'timeout = "5m", grace = "2m",' 'cleanup = function() io.open("cleaning", "w"):close() io.open("gate"):close() end,' <<'LUA'
		io.open("began", "w"):close()
		ctx:sleep(600)
LUA
	session <<'PY'
def ask(s, method, **params):
    return s.ask(method, params, modern=False)["result"]
with Server() as s:
    s.initialize()
    task = ask(s, "tools/call", name="slow", arguments={}, task={})["task"]["taskId"]
    until(lambda: os.path.exists("began"))
    assert ask(s, "tasks/cancel", taskId=task)["status"] == "cancelled"
    until(lambda: os.path.exists("cleaning"))
with Server(tasks=True) as s:
    s.initialize()
    assert ask(s, "tasks/get", taskId=task)["status"] == "cancelled"
    open("gate", "w").close()
    until(lambda: s.ask("tasks/get", {"taskId": task})["result"]["status"] == "cancelled")
    assert ask(s, "tasks/get", taskId=task)["status"] == "cancelled"
PY
}

@test "a task outlives its server, and another server of the same project finds it" {
	mkdir -p below elsewhere/commands
	cp commands/build.lua elsewhere/commands
	echo 'return {}' >elsewhere/runner.lua
	session <<'PY'
with Server(tasks=True) as s:
    task = s.call("build")["taskId"]
    until(lambda: os.path.exists("began"))
    assert s.close()[0] == 0
get = lambda s: s.ask("tasks/get", {"taskId": task})
with Server(tasks=True) as s:
    assert get(s)["result"]["status"] == "working"
    open("gate", "w").close()
    until(lambda: get(s)["result"]["status"] == "completed")
with Server("--only", "quick", tasks=True) as s:
    assert get(s)["error"]["code"] == -32602, "of no tool of this server"
with Server(tasks=True, cwd="below") as s:
    assert get(s)["result"]["status"] == "completed"
with Server(tasks=True, cwd="elsewhere") as s:
    assert get(s)["error"]["code"] == -32602, "of another project"
    assert s.ask("tasks/cancel", {"taskId": task})["error"]["code"] == -32602
PY
}

@test "a job that is no task is none, and a task whose supervisor was killed has failed" {
	call build --detach
	[ "$status" -eq 0 ]
	session JOB="$(field e.data.job_id)" <<'PY'
with Server(tasks=True) as s:
    for method in "tasks/get", "tasks/cancel":
        assert s.ask(method, {"taskId": os.environ["JOB"]})["error"]["code"] == -32602
    s.initialize()
    assert s.ask("tasks/list", modern=False)["result"]["tasks"] == []
    until(lambda: os.path.exists("began"))
    open("gate", "w").close()
    os.unlink("began")
    task = s.call("build")["taskId"]
    until(lambda: os.path.exists("began"))
    # its supervisor alone has the FIFO open
    def holds(pid):
        try:
            return any(os.readlink(f"/proc/{pid}/fd/{fd}").endswith(f"{task}/control") for fd in os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            return False
    os.kill(next(filter(holds, processes())), signal.SIGKILL)
    until(lambda: s.ask("tasks/get", {"taskId": task})["result"]["status"] == "failed")
    result = s.ask("tasks/get", {"taskId": task})["result"]
    assert "result" not in result and (result["error"]["code"], result["error"]["data"]["code"]) == (-32603, "JOB_LOST"), result
    assert s.ask("tasks/get", {"taskId": task}, modern=False)["result"]["status"] == "failed"
PY
}

@test "a destructive command becomes a task after the person's yes and not before" {
	session <<'PY'
with Server("--allow", "wipe", elicits=True, tasks=True) as s:
    call = {"name": "wipe", "arguments": {"name": "prod"}}
    asked = s.ask("tools/call", call)["result"]
    assert asked["resultType"] == "input_required"
    assert "dry run" in asked["inputRequests"]["confirm"]["params"]["message"]
    assert not os.path.exists("state/runner/jobs") and not os.path.exists("wiped")
    no = {"confirm": {"action": "decline"}}
    refused = s.ask("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": no})["result"]
    assert refused["structuredContent"]["error"]["code"] == "CONFIRMATION_REQUIRED"
    asked = s.ask("tools/call", call)["result"]
    task = s.ask("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": YES})["result"]
    assert task["resultType"] == "task"
    until(lambda: s.ask("tasks/get", {"taskId": task["taskId"]})["result"]["status"] == "completed")
    assert open("wiped").read() == "prod\n"
    assert s.ask("tasks/update", {"taskId": task["taskId"], "inputResponses": YES})["result"]["resultType"] == "complete"
    assert open("wiped").read() == "prod\n"
PY
}

@test "a policy holds for tasks, and a refused call is none" {
	printf '{ "deny": ["build"], "max_timeout": "1s" }\n' >policy.json
	body slow 'timeout = "5m",' <<'LUA'
		ctx:sleep("5m")
LUA
	session <<'PY'
with Server(tasks=True, env={"RUNNER_POLICY": os.path.abspath("policy.json")}) as s:
    error = s.ask("tools/call", {"name": "build", "arguments": {}})
    assert "POLICY_DENIED" in json.dumps(error) or error["error"]["code"] == -32602, error
    assert not os.path.exists("began")
    task = s.call("slow")["taskId"]
    until(lambda: s.ask("tasks/get", {"taskId": task})["result"]["status"] == "completed")
    result = s.ask("tasks/get", {"taskId": task})["result"]["result"]
    assert result["structuredContent"]["error"]["code"] == "TIMEOUT", result
PY
}

@test "a server without a state directory has no tasks, and says why" {
	session XDG_STATE_HOME= HOME= <<'PY'
with Server(tasks=True) as s:
    assert s.call("build")["structuredContent"]["error"]["code"] == "PRECONDITION"
    assert s.ask("tasks/get", {"taskId": "job_01M826XAR52QS9AERDYHCJPTRH"})["error"]["code"] in (-32602, -32603)
    assert s.call("quick")["structuredContent"]["data"] == {"n": 1}
PY
}
