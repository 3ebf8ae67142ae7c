#!/usr/bin/env bats
# Whose runs of workflows are: who started and resumed them is written down, and those of another subject are not there.

load lib/workflow
load lib/mcp

prepare() {
	needs_library libsqlite3.so.0
}

SETTING='
RUNNER, HERE = os.environ["RUNNER"], os.getcwd()
STATE = os.environ["HOME"] + "/.local/state/runner"
def of(subject, *words, env=None, stdin=None):
    given = {**os.environ, **(env or {})}
    if subject:
        given["RUNNER_POLICY"] = f"{HERE}/{subject}.json"
    out = subprocess.run([RUNNER, *words], env=given, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return out.stdout + out.stderr
def envelope(text):
    return json.loads(text.split("\n")[0])
def data(text):
    assert envelope(text)["ok"], text
    return envelope(text)["data"]
def error(text):
    return envelope(text)["error"]
j = ("--format", "json")
NAMES = {"a": "agent-a", "b": "agent-b", "odd": "o\u0027brien SUBJECT %1 \u0027 OR 1=1 --"}
for key, name in NAMES.items():
    open(key + ".json", "w").write(json.dumps({"subject": name}))
open("runner.lua", "w").write("return { audit = { path = \"audit.jsonl\" } }")
def flow(name, body, more=""):
    open(name + ".yaml", "w").write(f"name: {name}\n{more}steps:\n{body}")
    return name + ".yaml"
'

@test "whatever takes the ID of a run or an approval, or lists them, has nothing of another subject's" {
	session <<PY
$SETTING
MARK = "qqmarkqq"
flow(MARK, f"  - id: {MARK}\n    shell: echo {MARK}; echo {MARK} >&2\n")
flow("failing" + MARK, f"  - id: {MARK}\n    shell: 'echo {MARK}; exit 3'\n", "recover: true\n")
flow("asking" + MARK, f"  - id: {MARK}\n    approve: {{ message: '{MARK}', timeout: 1h }}\n")
IDS = {}
for name in (MARK, "failing" + MARK, "asking" + MARK):
    answer = envelope(of("a", "workflow", "run", name + ".yaml", *j))
    IDS[name] = (answer["data"] or {}).get("id") or answer["error"]["context"]["run"]
GATE = data(of("a", "approvals", *j))[0]["id"]
os.makedirs(f"{STATE}/worktrees/{IDS[MARK]}")
import sqlite3
def rows():
    with sqlite3.connect(STATE + "/runs.db") as db:
        return [db.execute(f"SELECT * FROM {t} ORDER BY 1, 2").fetchall() for t in ("runs", "steps", "attempts", "approvals")]
def files():
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(STATE) for f in fs if "/logs/" in d or "/outputs/" in d)
before, left = rows(), files()
def clean(text, given=()):
    for word in sorted(given, key=len, reverse=True):
        text = text.replace(word, "")
    for mark in (MARK, GATE, *IDS.values(), *(i[-8:] for i in IDS.values())):
        assert mark not in text, (mark, given, text[:3000])
    return text

# each built-in command of workflows and approvals is one of these; a new one has to be looked at
BY_ID = {"workflow.cancel": (), "workflow.logs": (), "workflow.resume": (), "workflow.retry": ("--from", "x"), "workflow.rm": ("--force", "--confirm-destructive", "--confirm-destructive"),
    "workflow.show": (), "workflow.wait": (), "workflow.worktrees": ()}
GATES = {"approve": (), "reject": ("--why", "x")}
LISTS = {"workflow.list": (), "workflow.stats": (), "workflow.recover": (), "workflow.worktrees": ("--clean", "--force"), "approvals": ("--decided",),
    "workflow.prune": ("--keep", "0", "--failed", "--interrupted", "--confirm-destructive", "--confirm-destructive")}
NONE = {"workflow.check", "workflow.import", "workflow.new", "workflow.plan", "workflow.run", "workflow.unit", "workflow.chunk"}
all_of = set(data(of(None, "manifest", *j))["commands"])
ours = {name for name in all_of if name.startswith("workflow.") or name in ("approvals", "approve", "reject")}
assert ours == (set(BY_ID) | set(GATES) | set(LISTS) | NONE) & all_of, ours
TAKES = lambda name: "Run: " in json.dumps(data(of(None, *name.split("."), "--schema", *j))) or "this run" in json.dumps(data(of(None, *name.split("."), "--schema", *j)))
assert {name for name in all_of if name not in GATES and TAKES(name)} == set(BY_ID), [n for n in all_of if TAKES(n)]

for other in ("b", "odd"):
    clean(of(other, "audit", "list", *j)) # before its own calls name anything
    for name, more in BY_ID.items():
        for run, id in IDS.items():
            for given in (id, id[-8:], id[-6:], id[:-1], id.lower(), run, "@last", "run_"):
                text = of(other, *name.split("."), given, *more, *j)
                assert error(text)["code"] == "NOT_FOUND", (name, given, text)
                clean(text, [given])
                assert "another project" not in text and "Did you mean" not in text, text
    for name, more in GATES.items():
        for given in (GATE, GATE[:-1], GATE[-6:]):
            text = of(other, name, given, *more, *j)
            assert error(text)["code"] == "NOT_FOUND", text
            clean(text, [given])
    for name, more in LISTS.items():
        for words in (more, (*more, "--all")):
            text = clean(of(other, *name.split("."), *words, *j))
            if "--all" not in words:
                got = data(text)
                assert got == [] or isinstance(got, dict) and not (got.get("runs") or got.get("worktrees")), (name, got)
    html = of(other, "workflow", "stats", "--html", "x.html", *j)
    clean(html + open("x.html").read())
    for words in (["status"], ["doctor"], ["job", "list"], ["manifest"], ["completion", "bash", "--", "workflow", "show", ""],
            ["completion", "bash", "--", "workflow", "logs", IDS[MARK], ""], ["completion", "bash", "--", "approve", ""]):
        clean(of(other, *words, *j), [IDS[MARK]])
    lines = [{"_cmd": "workflow.list"}, {"_cmd": "workflow.show", "id": IDS[MARK]}, {"_cmd": "workflow.logs", "id": "@last"}, {"_cmd": "approvals"}]
    clean(of(other, "exec", "--ignore-errors", stdin="\n".join(map(json.dumps, lines))), [IDS[MARK]])
    clean(of(other, "+", "workflow", "list", "+", "workflow", "stats", *j))
    with Server("--builtin", env={"RUNNER_POLICY": f"{HERE}/{other}.json"}) as s:
        s.initialize()
        resources = json.dumps(s.ask("resources/list", modern=False))
        assert "runner://runs/" not in resources, resources
        for method, params in (("resources/read", {"uri": "runner://runs/" + IDS[MARK]}), ("tools/call", {"name": "workflow_list", "arguments": {}}),
                ("tools/call", {"name": "workflow_show", "arguments": {"id": IDS[MARK]}}), ("tools/call", {"name": "workflow_logs", "arguments": {"id": IDS[MARK]}}),
                ("tools/call", {"name": "workflow_stats", "arguments": {}}), ("tools/call", {"name": "workflow_wait", "arguments": {"id": "@last"}})):
            clean(json.dumps(s.ask(method, params, modern=False)), [IDS[MARK]])
assert rows() == before, "a row of another subject was changed"
assert files() == left
# whose they are sees them, and so does whoever is nobody's
for who in ("a", None):
    assert {r["id"] for r in data(of(who, "workflow", "list", *j))} == set(IDS.values())
    assert data(of(who, "workflow", "show", IDS[MARK], *j))["subject"] == "agent-a"
    listed = data(of(who, "approvals", *j))
    assert [g["subject"] for g in listed] == ["agent-a"]
    assert data(of(who, "approvals", listed[0]["id"], *j)) == listed
    assert data(of(who, "workflow", "stats", *j))["runs"] == 3
assert error(of("b", "workflow", "show", IDS[MARK], *j, env={"RUNNER_POLICY": f"{HERE}/b.json:{HERE}/a.json"}))["code"] == "NOT_FOUND"
# what a person has run is not there either; nor is what an older runner has
person = data(of(None, "workflow", "run", MARK + ".yaml", *j))
assert "subject" not in person and error(of("a", "workflow", "show", person["id"], *j))["code"] == "NOT_FOUND"
# the odd name has runs of its own, which it sees alone
mine = data(of("odd", "workflow", "run", MARK + ".yaml", *j))
assert [r["id"] for r in data(of("odd", "workflow", "list", *j))] == [mine["id"]] and mine["subject"] == NAMES["odd"]
PY
}

@test "a run says who started, resumed and decided it: subject, client, transport, trace; and so do its rows, page and ledger" {
	session <<PY
$SETTING
flow("w", "  - id: a\n    shell: test -e go\n")
flow("ask", "  - { id: a, approve: 'a?' }\n")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
with Server("--builtin", "--allow", "workflow run", env={"RUNNER_POLICY": f"{HERE}/a.json"}) as s:
    s.initialize()
    answer = s.ask("tools/call", {"name": "workflow_run", "arguments": {"file": "w.yaml"}, "_meta": {"traceparent": TRACE}}, modern=False)
    s.ask("tools/call", {"name": "workflow_run", "arguments": {"file": "ask.yaml"}}, modern=False)
    client = s.ask  # the name that it gave is in the record
[row] = [r for r in data(of(None, "workflow", "list", *j)) if r["workflow"] == "w"]
[gate] = data(of(None, "approvals", *j))
assert gate["client"] == row["client"] and data(of(None, "approvals", gate["id"], *j)) == [gate], gate
assert row["subject"] == "agent-a" and row["client"]["transport"] == "mcp-stdio" and row["client"]["name"], row
assert row["trace_id"] == TRACE.split("-")[1], row
open("go", "w").close()
data(of(None, "workflow", "resume", row["id"], *j))
run = data(of(None, "workflow", "show", row["id"], *j))
first, second = run["actors"]
assert first["did"] == "started" and first["subject"] == "agent-a" and first["client"] == row["client"] and first["trace_id"] == row["trace_id"], run
assert second["did"] == "resumed" and "subject" not in second and "client" not in second and second["uid"] == os.getuid(), run
assert run["subject"] == "agent-a" and first["request_id"] != second["request_id"]
data(of("a", "workflow", "show", row["id"], "--html", "run.html", *j))
assert "agent-a, through mcp-stdio by " + row["client"]["name"] in open("run.html").read()
# the ledger: each row of a call, its end too, has the subject and the client
ledger = [json.loads(line) for line in open("audit.jsonl")]
own = [r for r in ledger if r["command"] == "workflow.run"]
assert {r["event"] for r in own} == {"begin", "end"}, own
for r in own:
    assert r["subject"] == "agent-a" and r["client"] == row["client"], r
assert not [r for r in ledger if r["command"] == "workflow.resume" and "client" in r]
assert data(of(None, "audit", "verify", *j))["rows"] >= len(ledger)
# a client may say anything of itself: what is kept of it is short, and JSON
def through(client):
    flow("x", "  - id: a\n    shell: echo x\n")
    return data(of(None, "workflow", "run", "x.yaml", *j, env={"RUNNER_CLIENT": client}))
long = through(json.dumps({"transport": "mcp-stdio", "name": "\u0001\"\u2028" + "\U0001F600" * 5000, "version": 7}))
assert long["client"]["transport"] == "mcp-stdio" and len(long["client"]["name"]) <= 100 and "version" not in long["client"], long["client"]
for bad in ("", "{", "[]", "7", "null", "\"x\"", "{}"):
    assert "client" not in through(bad), bad
for line in open("audit.jsonl"):
    json.loads(line)
data(of(None, "audit", "verify", *j))
# a run remembers who started it, and the last of those who resumed it
flow("again", "  - id: a\n    shell: exit 3\n")
id = error(of("b", "workflow", "run", "again.yaml", *j))["context"]["run"]
import sqlite3
with sqlite3.connect(STATE + "/runs.db") as db:
    [[text]] = db.execute("SELECT actors FROM runs WHERE id = ?", (id,)).fetchall()
    db.execute("UPDATE runs SET actors = ? WHERE id = ?", (json.dumps(json.loads(text) + [{"did": "resumed"}] * 49), id))
of(None, "workflow", "retry", id, "--from", "a", *j)
actors = data(of(None, "workflow", "show", id, *j))["actors"]
assert len(actors) == 50 and actors[0]["did"] == "started" and actors[0]["subject"] == "agent-b" and actors[-1]["did"] == "retried", actors
PY
}

@test "a run of another subject holds a key too, and is neither named nor cancelled" {
	session <<PY
$SETTING
import time
def keyed(name, when):
    flow(name, "  - id: a\n    idempotent: true\n    shell: 'touch began; until [ -e go ]; do sleep 0.02; done'\n", f"concurrency: {{ key: one, when_taken: {when} }}\n")
for when in ("queue", "cancel", "refuse"):
    keyed(when, when)
env = {**os.environ, "RUNNER_POLICY": f"{HERE}/a.json"}
first = subprocess.Popen([RUNNER, "workflow", "run", "queue.yaml"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
for _ in range(3000):
    if os.path.exists("began"):
        break
    time.sleep(0.02)
[mine] = data(of("a", "workflow", "list", *j))
assert mine["state"] == "running", mine
for when in ("cancel", "refuse"):
    text = of("b", "workflow", "run", when + ".yaml", *j)
    e = error(text)
    assert e["code"] == "GROUP_TAKEN" and e["retryable"] and "holder" not in e["context"] and mine["id"] not in text and "agent-a" not in text, text
    assert "another subject" in e["message"]
assert error(of(None, "workflow", "run", "refuse.yaml", *j))["context"]["holder"] == mine["id"]
assert data(of("b", "workflow", "list", *j)) == []
other = {**os.environ, "RUNNER_POLICY": f"{HERE}/b.json"}
second = subprocess.Popen([RUNNER, "workflow", "run", "queue.yaml", *j], env=other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
said = ""
while "another subject" not in said:
    line = second.stderr.readline()
    assert line, said
    said += line
assert mine["id"] not in said and data(of("a", "workflow", "list", *j))[0]["state"] == "running"
open("go", "w").close()
assert first.wait() == 0
out, err = second.communicate()
assert second.returncode == 0 and mine["id"] not in out + err, err
PY
}

@test "what a subject keeps, forgets and lets pass is its own: retention, expiry, and runs from before" {
	session <<PY
$SETTING
import sqlite3
def sql(text, *values):
    with sqlite3.connect(STATE + "/runs.db") as db:
        return db.execute(text, values).fetchall()
flow("w", "  - id: a\n    shell: echo x\n")
theirs = [data(of("a", "workflow", "run", "w.yaml", *j))["id"] for _ in range(3)]
open("runner.lua", "w").write("return { audit = { path = \"audit.jsonl\" }, retention = { keep = 1 } }")
mine = [data(of("b", "workflow", "run", "w.yaml", *j))["id"] for _ in range(3)]
assert {r["id"] for r in data(of(None, "workflow", "list", *j))} == {*theirs, mine[-1]}
open("runner.lua", "w").write("return { audit = { path = \"audit.jsonl\" } }")
flow("ask", "  - id: a\n    approve: { message: agree, timeout: 1h }\n")
id = error(of("a", "workflow", "run", "ask.yaml", *j))["context"]["run"]
sql("UPDATE approvals SET deadline_ms = 1")
data(of("b", "approvals", *j))
assert sql("SELECT state FROM approvals") == [("pending",)]
data(of("a", "approvals", *j))
assert sql("SELECT state FROM approvals") == [("rejected",)]
[decision] = [json.loads(l) for l in open("audit.jsonl") if '"event":"decision"' in l.replace(" ", "")]
assert decision["subject"] == "agent-a" and decision["by"] == "default", decision
# of a run of an older runner nobody knows whose it is: it is nobody's
sql("UPDATE runs SET subject = NULL, actors = NULL WHERE id = ?", theirs[0])
assert error(of("a", "workflow", "show", theirs[0], *j))["code"] == "NOT_FOUND"
run = data(of(None, "workflow", "show", theirs[0], *j))
assert "subject" not in run and "actors" not in run and "client" not in run
PY
}

@test "what subjects share stays, and hinders none of them: a run of the same file goes with rm, prune and retention" {
	session <<PY
$SETTING
import sqlite3
def sql(text, *values):
    with sqlite3.connect(STATE + "/runs.db") as db:
        return db.execute(text, values).fetchall()
def run(who):
    return data(of(who, "workflow", "run", "w.yaml", *j))["id"]
def ids(who):
    return {r["id"] for r in data(of(who, "workflow", "list", *j))}
flow("w", "  - id: a\n    shell: echo x\n")
theirs = run("a")
for words in (("rm", "ID", "--confirm-destructive"), ("prune", "--keep", "0", "--confirm-destructive")):
    mine = run("b")
    assert sql("SELECT count(*) FROM sources") == [(1,)], "the two share nothing"
    out = of("b", "workflow", *(mine if w == "ID" else w for w in words), *j)
    assert [r["id"] for r in data(out)["runs"]] == [mine], out
    assert theirs not in out and ids("b") == set() and ids(None) == {theirs}
open("runner.lua", "w").write("return { retention = { keep = 1 } }")
mine = [run("b") for _ in range(3)]
assert ids("b") == {mine[-1]} and ids(None) == {theirs, mine[-1]}, ids(None)
assert data(of("a", "workflow", "show", theirs, *j))["id"] == theirs
open("runner.lua", "w").write("return {}")
# what a killed removal has left is finished by whoever comes next: but not what is another subject's run again
sql("INSERT INTO removed (run) VALUES (?), ('gone')", theirs)
logs = f"{STATE}/logs/{theirs}"
data(of("b", "workflow", "prune", "--keep", "9", "--confirm-destructive", *j))
assert os.path.isdir(logs), os.listdir(STATE)
assert sql("SELECT run FROM removed") == [(theirs,)]
# the last one takes the file's text with it
data(of("a", "workflow", "rm", theirs, "--confirm-destructive", *j))
data(of("b", "workflow", "rm", mine[-1], "--confirm-destructive", *j))
assert sql("SELECT count(*) FROM sources") == [(0,)]
PY
}
