#!/usr/bin/env bats
# Jobs, runs, tasks and rows of the audit ledger belong to a project: what another one sees of them.

load lib/helper
load lib/mcp

prepare() {
	needs_library libsqlite3.so.0
}

# Two projects, each with a job, a run, a task and rows in the ledger that both share; whatever is of one of them has its
# mark: names, arguments, results, logs, paths.
SETTING='
import itertools
MARKS = {"a": "qqamarkqq", "b": "qqbmarkqq"}
RUNNER, HERE = os.environ["RUNNER"], os.getcwd()
FOLDERS = {key: f"{HERE}/{mark}" for key, mark in MARKS.items()}
POLICIES = {key: f"{HERE}/policy-{key}.json" for key in MARKS}
FILE = """return { description = "%s", danger_level = "safe", timeout = "5m", args = { { "text", "string" } },
    run = function(args, ctx) ctx:log("log " .. args.text) ctx:progress(args.text) return { text = args.text } end }"""
FLOW = """name: %s
steps:
  - id: %s
    shell: echo %s; echo %s >&2
"""
def of(key, *words, policy=False, stdin=None, env=None, cwd=None):
    """Everything that a call prints in that project."""
    env = {**os.environ, **({"RUNNER_POLICY": POLICIES[key]} if policy else {}), **(env or {})}
    out = subprocess.run([RUNNER, *words], cwd=cwd or FOLDERS[key], env=env, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return out.stdout + out.stderr
def data(text):
    envelope = json.loads(text.strip().splitlines()[0])
    assert envelope["ok"], envelope
    return envelope["data"]
def error(text):
    return json.loads(text.strip().splitlines()[0])["error"]
IDS = {}
for key, mark in MARKS.items():
    folder = FOLDERS[key]
    os.makedirs(folder + "/commands")
    os.makedirs(folder + "/below")
    open(folder + "/runner.lua", "w").write("return { audit = true }")
    for name in (mark, "both"): # a tool of the other project, too
        open(f"{folder}/commands/{name}.lua", "w").write(FILE % mark)
    open(f"{folder}/{mark}.yaml", "w").write(FLOW % (mark, mark, mark, mark))
    open(POLICIES[key], "w").write(json.dumps({"folders": [folder + "/commands"]}))
    job = data(of(key, mark, "--text", mark, "--detach", "--format", "json"))["job_id"]
    of(key, "job", "wait", job)
    run = data(of(key, "workflow", "run", mark + ".yaml", "--format", "json"))["id"]
    with Server(tasks=True, cwd=folder) as s:
        s.initialize()
        created = s.ask("tools/call", {"name": "both", "arguments": {"text": mark}, "task": {}}, modern=False)["result"]
        task = created["task"]["taskId"]
        s.ask("tasks/result", {"taskId": task}, modern=False)
    IDS[key] = {"job": job, "run": run, "task": task}
OTHER = {"a": "b", "b": "a"}
def clean(text, key, where):
    """Nothing of the other project."""
    other = OTHER[key]
    for foreign in (MARKS[other], *IDS[other].values()):
        assert foreign not in text.lower() and foreign not in text, (where, foreign, text[:2000])
    return text
'

@test "each list, short ID and @last on the command line, and in exec, is that of the project alone" {
	session <<PY
$SETTING
LISTS = [["audit", "list"], ["job", "list"], ["workflow", "list"], ["workflow", "stats"], ["workflow", "prune", "--keep", "0", "--dry-run"],
    ["status"], ["doctor"], ["manifest"], ["help"], ["completion", "bash", "--", "job", "status", ""], ["completion", "bash", "--", "job", "wait", "job_"],
    ["completion", "bash", "--", "workflow", "show", ""], ["completion", "bash", "--", "workflow", "logs", "run_"]]
NAMED = [["job", "status"], ["job", "wait"], ["job", "logs"], ["job", "cancel"], ["workflow", "show"], ["workflow", "logs"], ["workflow", "wait"],
    ["workflow", "cancel"], ["workflow", "resume"], ["workflow", "rm", "--dry-run"], ["completion", "bash", "--", "workflow", "logs"]]
def names(key, words):
    foreign = IDS[OTHER[key]]
    ids = [foreign["job"], foreign["task"]] if words[0] == "job" else [foreign["run"]]
    return ["@last", "job_", "run_", "01"], [i[-8:] for i in ids] + [i[-4:] for i in ids] + [i[:-1] for i in ids]
for key, policy in itertools.product(MARKS, (False, True)):
    for words in LISTS:
        text = clean(of(key, *words, "--format", "json", policy=policy), key, (words, policy))
        assert words[:2] not in (["job", "list"], ["workflow", "list"], ["audit", "list"]) or MARKS[key] in text, text
LISTS = LISTS[1:] # from here on, a ledger has the names that its own project asks for
for key, policy in itertools.product(MARKS, (False, True)):
    for words in NAMED:
        own, theirs = names(key, words)
        for name in own + theirs:
            text = of(key, *words, name, "--format", "json", policy=policy)
            clean(text.replace(name, "") if name in theirs else text, key, (words, name))
        assert words[0] == "completion" or error(of(key, *words, theirs[0], "--format", "json"))["code"] == "NOT_FOUND", words
        of(key, *words, MARKS[OTHER[key]], "--format", "json")
    lines = [{"_cmd": "job.list"}, {"_cmd": "workflow.list"}, {"_cmd": "workflow.stats"}, {"_cmd": "status"}, {"_cmd": "doctor"},
        {"_cmd": "manifest"}, {"_cmd": "help"}, {"_cmd": "workflow.show", "id": "@last"}, {"_cmd": "workflow.logs", "id": "@last"},
        {"_cmd": "job.wait", "id": "@last"}, {"_cmd": "job.logs", "id": "@last"}, {"_cmd": "completion", "shell": "bash", "words": ["job", "wait", ""]}]
    text = clean(of(key, "exec", "--ignore-errors", policy=policy, stdin="\n".join(map(json.dumps, lines))), key, ("exec", policy))
    assert len(text.splitlines()) >= len(lines) and MARKS[key] in text
PY
}

@test "a server of MCP has nothing of another project by any method, tool or resource, as if it were not there" {
	session <<PY
$SETTING
ALLOWED = ["job cancel", "workflow cancel", "workflow resume", "workflow rm", "workflow prune", "audit list", "audit verify", "status", "doctor"]
WORDS = ["--builtin"] + [w for name in ALLOWED for w in ("--allow", name)]
BY_ID = [("job_status", "job"), ("job_wait", "job"), ("job_logs", "job"), ("job_cancel", "job"), ("workflow_show", "run"), ("workflow_logs", "run"),
    ("workflow_wait", "run"), ("workflow_cancel", "run"), ("workflow_resume", "run")]
MISSING = {"job": "job_01M8FVZZZZZZZZZZZZZZZZZZZZ", "run": "run_01M8FVZZZZZZZZZZZZZZZZZZZZ", "task": "job_01M8FVZZZZZZZZZZZZZZZZZZZZ"}
def plain(answer, *ids):
    """An answer without what differs from call to call."""
    text = json.dumps(answer, sort_keys=True)
    for i, one in enumerate(ids):
        text = text.replace(one, "ID")
    return __import__("re").sub(r'req_\w+|"duration_ms[^,]*,|\\\\"duration_ms[^,]*,|"id": \d+', "", text)
for key, policy in itertools.product(MARKS, (False, True)): # before its own calls name anything of the other
    with Server(*WORDS, cwd=FOLDERS[key], env={"RUNNER_POLICY": POLICIES[key]} if policy else {}) as s:
        assert MARKS[key] in clean(json.dumps(s.call("audit_list")), key, "audit_list")
        assert s.call("audit_list", {"all": True})["isError"]
        for name in ("status", "doctor", "audit_verify"):
            assert not json.loads(clean(json.dumps(s.call(name)), key, name))["isError"], name
for key, policy in itertools.product(MARKS, (False, True)):
    env, other = {"RUNNER_POLICY": POLICIES[key]} if policy else {}, IDS[OTHER[key]]
    with Server(*WORDS, cwd=FOLDERS[key], env=env, elicits=True) as s:
        for modern in (True, False):
            if not modern:
                s.initialize()
            def ask(method, params=None):
                return s.ask(method, params, modern=modern)
            tools = ask("tools/list")["result"]["tools"]
            assert not [t["name"] for t in tools if t["name"].startswith(("job_", "workflow_")) and "all" in t["inputSchema"].get("properties", {})]
            for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", *(() if modern else ("tasks/list",))):
                text = clean(json.dumps(ask(method)), key, (method, modern))
                assert method != "resources/list" or IDS[key]["run"] in text
                assert method != "tasks/list" or IDS[key]["task"] in text
            for name in ("job_list", "workflow_list", "workflow_stats"):
                text = clean(json.dumps(ask("tools/call", {"name": name, "arguments": {}})), key, (name, modern))
                assert '"isError": false' in text, text
                if name in ("job_list", "workflow_list", "workflow_stats"):
                    answer = ask("tools/call", {"name": name, "arguments": {"all": True}})
                    assert answer["result"]["isError"], answer
                    clean(json.dumps(answer), key, (name, "all"))
            for name, kind in BY_ID:
                ids = [other[kind]] + ([other["task"]] if kind == "job" else [])
                for foreign in ids:
                    arguments = {"follow": True} if name.endswith("logs") else {}
                    answer = ask("tools/call", {"name": name, "arguments": {"id": foreign, **arguments}})
                    missing = ask("tools/call", {"name": name, "arguments": {"id": MISSING[kind], **arguments}})
                    assert answer["result"]["structuredContent"]["error"]["code"] == "NOT_FOUND", (name, answer)
                    assert plain(answer, foreign) == plain(missing, MISSING[kind]), (name, answer, missing)
                for short in ("@last", other[kind][-8:], other[kind][:-2], MARKS[OTHER[key]]):
                    text = json.dumps(ask("tools/call", {"name": name, "arguments": {"id": short, "dry_run": True} if name.endswith(("cancel", "resume")) else {"id": short}}))
                    clean(text.replace(short, ""), key, (name, short))
            uri = lambda i: {"uri": "runner://runs/" + i}
            assert plain(ask("resources/read", uri(other["run"])), other["run"]) == plain(ask("resources/read", uri(MISSING["run"])), MISSING["run"])
            assert MARKS[key] in json.dumps(ask("resources/read", uri(IDS[key]["run"])))
            answer = ask("tools/call", {"name": "workflow_rm", "arguments": {"id": [other["run"]], "dry_run": True}})
            assert answer["result"]["structuredContent"]["error"]["code"] == "NOT_FOUND", answer
            answer = ask("tools/call", {"name": "workflow_prune", "arguments": {"keep": 0, "failed": True, "dry_run": True}})
            assert "others" not in clean(json.dumps(answer), key, "prune") and IDS[key]["run"] in json.dumps(answer), answer
            s.capabilities["extensions"] = {"io.modelcontextprotocol/tasks": {}}
            for method in ("tasks/get", "tasks/cancel", *(("tasks/update",) if modern else ("tasks/result",))):
                more = {"inputResponses": {}} if method == "tasks/update" else {}
                for foreign in (other["task"], other["job"]):
                    answer = ask(method, {"taskId": foreign, **more})
                    assert "error" in answer and plain(answer, foreign) == plain(ask(method, {"taskId": MISSING["task"], **more}), MISSING["task"]), answer
            if modern:
                listen = s.request("subscriptions/listen", {"notifications": {"taskIds": [other["task"]]}})
                s.tell("notifications/cancelled", {"requestId": listen})
            del s.capabilities["extensions"]
        clean(json.dumps(s.others), key, "what came meanwhile")
    assert data(of(OTHER[key], "workflow", "show", other["run"], "--format", "json"))["state"] == "completed"
PY
}

@test "a whole ID works from anywhere on the command line, and --all names the project of each" {
	session <<PY
$SETTING
j = ("--format", "json")
b = IDS["b"]
assert data(of("a", "job", "wait", b["job"], *j)) == {"text": MARKS["b"]}
assert data(of("a", "job", "status", b["job"], *j))["status"] == "complete"
assert MARKS["b"] in of("a", "job", "logs", b["job"], *j)
assert data(of("a", "workflow", "show", b["run"], *j))["workflow"] == MARKS["b"]
assert MARKS["b"] in of("a", "workflow", "logs", b["run"], *j)
assert data(of("a", "workflow", "wait", b["run"], *j))["state"] == "completed"
rows = {r["job_id"]: r for r in data(of("a", "job", "list", "--all", *j))}
assert {rows[i[k]]["project"] for i in IDS.values() for k in ("job", "task")} == set(FOLDERS.values()), rows
assert "project" not in data(of("a", "job", "list", *j))[0]
rows = {r["id"]: r for r in data(of("a", "workflow", "list", "--all", *j))}
assert rows[b["run"]]["project"] == FOLDERS["b"] and rows[b["run"]]["short"] == b["run"], rows
assert rows[IDS["a"]["run"]]["short"] == IDS["a"]["run"][-8:]
assert data(of("a", "workflow", "stats", *j))["runs"] == 1 and data(of("a", "workflow", "stats", "--all", *j))["runs"] == 2
assert error(of("a", "job", "wait", b["job"][-8:], *j))["suggestion"].endswith("runner job list --all")
assert error(of("a", "workflow", "show", b["run"][-8:], *j))["suggestion"].endswith("runner workflow list --all")
# under a policy with folders, and in what a server runs, there is no other project
for how in ({"policy": True}, {"env": {"RUNNER_SERVED": FOLDERS["a"]}}):
    for words in (["job", "status"], ["job", "wait"], ["job", "logs"], ["job", "cancel"]):
        assert error(of("a", *words, b["job"], *j, **how))["code"] == "NOT_FOUND", words
    for words in (["workflow", "show"], ["workflow", "logs"], ["workflow", "wait"], ["workflow", "cancel"], ["workflow", "resume"]):
        assert error(of("a", *words, b["run"], *j, **how))["code"] == "NOT_FOUND", words
    for words in (["job", "list"], ["workflow", "list"], ["workflow", "stats"], ["workflow", "prune", "--keep", "0", "--dry-run"]):
        assert error(clean(of("a", *words, "--all", *j, **how), "a", words))["code"] == ("POLICY_DENIED" if "policy" in how else "VALIDATION_ERROR"), words
# a policy whose folders have nothing of the project shows nothing of it
text = of("b", "job", "list", *j, env={"RUNNER_POLICY": POLICIES["a"]})
assert error(text)["code"] == "POLICY_DENIED" and error(text)["context"]["rule"] == "folders", text
assert error(of("b", "workflow", "show", b["run"], *j, env={"RUNNER_POLICY": POLICIES["a"]}))["code"] == "POLICY_DENIED"
PY
}

@test "a project is its folder: through a link and below it, it is the same one; without one, and from before, is said" {
	session <<PY
$SETTING
j = ("--format", "json")
os.symlink(FOLDERS["a"], "link")
NONE = os.environ["HOME"]
for cwd in ("link", "link/below", FOLDERS["a"] + "/below"):
    ids = {r["job_id"] for r in data(of("a", "job", "list", *j, cwd=cwd))}
    assert ids == {IDS["a"]["job"], IDS["a"]["task"]}, (cwd, ids)
    assert [r["id"] for r in data(of("a", "workflow", "list", *j, cwd=cwd))] == [IDS["a"]["run"]], cwd
assert data(of("a", "--cwd", HERE + "/link", "job", "list", *j, cwd=NONE)) != []
# a call in no project sees what calls in no project have made
assert data(of("a", "job", "list", *j, cwd=NONE)) == [] and data(of("a", "workflow", "list", *j, cwd=NONE)) == []
open(NONE + "/x.yaml", "w").write("name: x\nsteps:\n  - id: x\n    shell: 'true'\n")
run = data(of("a", "workflow", "run", "x.yaml", *j, cwd=NONE))["id"]
assert [r["id"] for r in data(of("a", "workflow", "list", *j, cwd=NONE))] == [run]
assert run not in of("a", "workflow", "list", *j)
# what an older runner made: by its ID, and with --all
import sqlite3
base = NONE + "/.local/state/runner"
with sqlite3.connect(base + "/runs.db") as db:
    db.execute("UPDATE runs SET project = NULL WHERE id = ?", (IDS["a"]["run"],))
for kind in ("job", "task"):
    record = f"{base}/jobs/{IDS['a'][kind]}/record.json"
    old = json.load(open(record))
    old.pop("project")
    json.dump(old, open(record, "w"))
for cwd, found in ((FOLDERS["a"], True), (FOLDERS["a"] + "/below", False), (FOLDERS["b"], False)): # as that one looked for tasks
    with Server(tasks=True, cwd=cwd) as s:
        assert ("result" in s.ask("tasks/get", {"taskId": IDS["a"]["task"]})) == found, cwd
        assert s.call("job_status", {"id": IDS["a"]["task"]})["structuredContent"]["error"]["code"] == "NOT_FOUND"
projects = {r["id"]: r["project"] for r in data(of("a", "workflow", "list", "--all", *j))}
assert projects == {IDS["a"]["run"]: "unknown", IDS["b"]["run"]: FOLDERS["b"], run: "none"}, projects
assert {r["job_id"]: r["project"] for r in data(of("a", "job", "list", "--all", *j))}[IDS["a"]["job"]] == "unknown"
assert data(of("a", "workflow", "list", *j)) == [] and IDS["a"]["job"] not in of("a", "job", "list", *j)
assert data(of("a", "workflow", "show", IDS["a"]["run"], *j))["state"] == "completed"
assert data(of("a", "job", "wait", IDS["a"]["job"], *j)) == {"text": MARKS["a"]}
# a project that is moved is another one
os.rename(FOLDERS["b"], FOLDERS["b"] + "moved")
assert data(of("b", "workflow", "list", *j, cwd=FOLDERS["b"] + "moved")) == []
assert data(of("b", "workflow", "show", IDS["b"]["run"], *j, cwd=FOLDERS["b"] + "moved"))["state"] == "completed"
PY
}

@test "prune removes runs of the project alone, says how many others stay, and with --all removes them" {
	session <<PY
$SETTING
j = ("--format", "json", "--yes", "--confirm-destructive")
def prune(key, *words, **more):
    text = of(key, "workflow", "prune", *words, *j, **more)
    return json.loads(text.strip().splitlines()[0])
NONE = os.environ["HOME"]
answer = prune("a", "--keep", "0", cwd=NONE)
assert answer["data"]["total"] == 0 and answer["data"]["others"] == 2, answer
assert [w["code"] for w in answer["warnings"]] == ["OTHERS_STAY"] and answer["warnings"][0]["context"] == {"runs": 2}, answer
answer = prune("a", "--keep", "0")
assert [r["id"] for r in answer["data"]["runs"]] == [IDS["a"]["run"]] and answer["data"]["others"] == 1 and answer["warnings"] == [], answer
assert [r["id"] for r in data(of("b", "workflow", "list", "--format", "json"))] == [IDS["b"]["run"]]
answer = prune("a", "--all")
assert answer["error"]["code"] == "VALIDATION_ERROR", answer
answer = prune("a", "--keep", "0", "--all", cwd=NONE)
assert [r["id"] for r in answer["data"]["runs"]] == [IDS["b"]["run"]] and "others" not in answer["data"] and answer["warnings"] == [], answer
PY
}
