"""What a secret that is a common word, or a single letter, may not do: change a member of runner's own, or break what it writes.
For each value the doors' documents have the members, types and codes that they have where the secret is found nowhere.

  secret_words.py            the values that are written here, through every door
  secret_words.py members    each member that a run of a workflow shows is a value
"""
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

from mcp import Server

RUNNER = os.environ["RUNNER"]
NOWHERE = "zq7-found-nowhere"
VALUES = ["e", "ok", "run", "1", "2", "E", "_", "code", "true", "null", "false", "failed", "completed", "shell", "message", "data",
          "jsonrpc", "stringValue", "SUBPROCESS_FAILED", "UNAVAILABLE", "items", "step_key", '"', "{", ":", ",", "\\", "t\":"]
HIDDEN = "***"
HOME = os.environ["HOME"]


def run(value, *words):
    done = subprocess.run([RUNNER, *words], env={**os.environ, "TOKEN_OF_MINE": value}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def shape(x, name=""):
    """What may not differ: members, types, codes; of a text in which a secret was found only that it is one, of a number not even that."""
    if isinstance(x, dict):
        return {key: shape(item, key) for key, item in sorted(x.items())}
    if isinstance(x, list):
        return [shape(item) for item in x]
    if x is None or isinstance(x, bool):
        return x
    if name == "code" and isinstance(x, str) and re.fullmatch("[A-Z][A-Z0-9_]+", x) and x != "ODD":
        return x
    return HIDDEN if x == "***" else "" if isinstance(x, str) else 0


def difference(a, b, path=""):
    """Where they differ; what is hidden as a whole may have been a number."""
    if isinstance(a, dict) and isinstance(b, dict):
        if set(a) != set(b):
            return "%s: %s" % (path, sorted(set(a) ^ set(b)))
        return next(filter(None, (difference(a[key], b[key], path + "." + key) for key in a)), None)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return "%s: %d and %d" % (path, len(a), len(b))
        return next(filter(None, (difference(x, y, "%s[%d]" % (path, i)) for i, (x, y) in enumerate(zip(a, b)))), None)
    same = a == b or HIDDEN in (a, b) and {type(a), type(b)} <= {int, str}
    return None if same else "%s: %r and %r" % (path, a, b)


def documents(text):
    return [shape(json.loads(line)) for line in text.splitlines()]


def of_run(value, *words):
    status, out, err = run(value, *words)
    return status, documents(out), documents(err)


def of_text(value, *words):
    """Its first line has the names of columns; the others as many cells as ever."""
    status, out, _ = run(value, *words)
    lines = out.splitlines()
    return status, lines[0].split("\t"), [line.count("\t") for line in lines]


def of_table(value, *words):
    status, out, _ = run(value, *words)
    return status, out.splitlines()[0].split(), len(out.splitlines())


def of_mcp(value):
    os.environ["TOKEN_OF_MINE"] = value
    meta = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
    with Server() as server:
        answers = [server.answer(server.request("tools/call", {"name": name, "arguments": {}}, meta=meta)) for name in ("does", "emits", "fails")]
        # how often progress is said depends on the time
        others = [shape(other) for other in server.others if other["method"] != "notifications/progress"]
        progress = [other for other in server.others if other["method"] == "notifications/progress"]
        server.close()
    for note in progress:
        assert isinstance(note["params"]["progress"], (int, float)), note
    return [shape(answer) for answer in answers], others


def of_job(value):
    id = json.loads(run(value, "does", "--detach")[1])["meta"]["job_id"]
    waited = of_run(value, "job", "wait", id)
    status = shape(json.loads(run(value, "job", "status", id)[1])["data"])
    records = [documents(open(path).read()) for path in sorted(glob.glob(HOME + "/.local/state/runner/jobs/**/*.json", recursive=True))]
    return waited, status, records


def database():
    with sqlite3.connect(glob.glob(HOME + "/.local/state/runner/*.db")[0]) as db:
        tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table' order by 1")]
        states = db.execute("select state, code from runs").fetchall(), db.execute("select state from steps order by 1").fetchall()
        return states, {table: db.execute('select count(*) from "%s"' % table).fetchone()[0] for table in tables}


def of_workflow(value):
    if os.path.exists("go"):
        os.remove("go")
    said = [of_run(value, "workflow", "run", "w.yaml", "--verbose")]
    id = json.loads(run(NOWHERE, "workflow", "list")[1])["data"][0]["id"]
    open("go", "w").close()
    said += [of_run(value, "workflow", "show", id), of_run(value, "workflow", "logs", id), of_run(value, "workflow", "resume", id, "--verbose"),
             of_text(value, "workflow", "list", "--format", "tsv"), database()]
    assert run(value, "workflow", "show", id, "--html", "page.html")[0] == 0
    assert "<html" in open("page.html").read()
    return said


def of_parts(value):
    """Loops, inner files, worktrees, and what waits for a person."""
    said = [of_run(value, "workflow", "run", "parts.yaml", "--verbose"), of_run(value, "approvals"), of_run(value, "workflow", "worktrees")]
    shutil.rmtree(".git/worktrees", ignore_errors=True)  # the folders of state are new for each value
    for branch in subprocess.run(["git", "branch", "--list", "runner/*", "--format=%(refname:short)"], check=True, stdout=subprocess.PIPE).stdout.split():
        subprocess.run(["git", "branch", "-qD", branch], check=True)
    return said


def of_files(value):
    """Sorted: a job goes on beside its callers."""
    return [sorted(documents(open(path).read()), key=json.dumps) for path in ("ledger.jsonl", "traces.jsonl")]


DOORS = {
    "json": lambda value: [of_run(value, name, "--verbose") for name in ("does", "emits", "fails")],
    "jsonl": lambda value: [of_run(value, name, "--format", "jsonl") for name in ("does", "emits", "fails")],
    "tsv": lambda value: [of_text(value, name, "--format", "tsv") for name in ("does", "emits")],
    "plain": lambda value: [of_text(value, name, "--format", "plain")[2] for name in ("does", "emits")],
    "table": lambda value: [of_table(value, name, "--format", "table") for name in ("does", "emits")],
    "id": lambda value: of_text(value, "emits", "--format", "id")[0],
    "file": lambda value: (of_run(value, "does", "--output", "result.json"), documents(open("result.json").read())),
    "mcp": of_mcp,
    "job": of_job,
    "workflow": of_workflow,
    "parts": of_parts,
    "ledger and traces": of_files,
}


def through(value, doors):
    shutil.rmtree(HOME, ignore_errors=True)
    os.mkdir(HOME)
    for path in ("ledger.jsonl", "traces.jsonl"):
        if os.path.exists(path):
            os.remove(path)
    return {name: DOORS[name](value) for name in doors}


def members(x):
    if isinstance(x, dict):
        return set(x).union(*map(members, x.values()))
    return set().union(*map(members, x)) if isinstance(x, (list, tuple)) else set()


def main():
    doors, values = DOORS, VALUES
    expected = through(NOWHERE, doors)
    if sys.argv[1:]:
        doors = ["workflow", "parts"]
        values = sorted(name for name in set().union(*(members(expected[door]) for door in doors)) if len(name) > 3)
        assert len(values) > 80, values
    wrong = []
    for value in values:
        found = through(value, doors)
        for name in doors:
            where = difference(expected[name], found[name])
            if where:
                wrong.append("the secret %r, %s%s" % (value, name, where))
    assert not wrong, "\n".join(wrong)


main()
