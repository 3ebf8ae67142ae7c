"""Runs of workflows that share one store: with each other, with readers, with a second
`resume` of the same run, and with a migration that is killed.

workflow_shared.py MODE    one of the functions below whose names begin with "mode_"

RUNNER names the binary.
"""
import collections
import contextlib
import json
import pathlib
import sqlite3
import sys
import threading
import time

import harness
from workflow_stage import SECONDS, Stage, in_threads, skip_without_strace

AT_ONCE = 20
READERS = 3
RESUMES = 3
TOGETHER = 4
HELD = "LOCK_HELD"

NOTHING = "name: no\ncommands:\n  - shell: 'true'\n"
DATABASE_FILES = ("", "-journal", "-wal", "-shm")
UPGRADE_CHANGES = ["write", "open", "fdatasync"] if harness.is_static() else ["pwrite64", "openat", "fdatasync"]
SCHEMA_CHANGES = [*UPGRADE_CHANGES, "unlink", "ftruncate"]  # an upgrade has its log already
MOST_CHANGES = 500  # an endless loop otherwise, were no kill ever the last


def answer(process):
    """The envelope of a command that was started."""
    text = process.communicate(timeout=SECONDS)[0]
    envelope = json.loads(text)
    assert process.returncode == envelope["meta"]["exit_code"], text
    return envelope


# --- many at once --------------------------------------------------------------------------

SHORT = """\
name: short
commands:
  - shell: "true"
  - shell: test -e {n}.tried || {{ touch {n}.tried; exit 7; }}
    retry: {{ strategy: constant, initial_delay: 5ms, max_attempts: 2 }}
  - foreach: [a, b]
    parallel: 2
    do: [ {{ shell: "echo {n}.${{item}} >>effects" }} ]
"""


def read_on(stage, over, seen):
    """list and show, again and again: each gives a whole answer, and no run goes back."""
    while not over.is_set():
        rows = stage.call("list", "--limit", "100")
        assert rows["ok"], rows
        for row in rows["data"][:2]:
            shown = stage.call("show", row["id"])
            assert shown["ok"] and shown["data"]["id"] == row["id"], shown
            before = seen.setdefault(row["id"], [0, False])
            done = sum(step["state"] == "completed" for step in shown["data"]["steps"])
            assert done >= before[0] and (shown["data"]["state"] == "completed" or not before[1]), shown
            seen[row["id"]] = [done, shown["data"]["state"] == "completed"]
        seen[None] = seen.get(None, 0) + 1


def mode_at_once():
    """20 runs on one store, from its first moment on, with readers beside them."""
    problems = []

    def reader(*args):
        try:
            read_on(*args)
        except BaseException as e:  # reported by the main thread
            problems.append(e)

    with Stage("shared") as stage:
        stage.fresh()
        over, looks = threading.Event(), [{} for _ in range(READERS)]
        readers = [threading.Thread(target=reader, args=(stage, over, seen)) for seen in looks]
        for n in range(AT_ONCE):
            stage.write(f"{n}.yaml", SHORT.format(n=n))
        began = time.monotonic()
        runs = [stage.start("run", f"{n}.yaml") for n in range(AT_ONCE)]
        for thread in readers:
            thread.start()
        envelopes = [answer(run) for run in runs]
        took = time.monotonic() - began
        over.set()
        for thread in readers:
            thread.join()
        assert not problems, problems[0]
        assert all(e["ok"] for e in envelopes), [e["error"] for e in envelopes if not e["ok"]]
        assert sorted(stage.lines("effects")) == sorted(f"{n}.{item}" for n in range(AT_ONCE) for item in "ab")
        assert stage.rows("SELECT count(*), min(state), max(state) FROM runs") == [(AT_ONCE, "completed", "completed")]
        assert stage.rows("SELECT count(*), sum(nth > 1) FROM attempts") == [(AT_ONCE * 5, AT_ONCE)]
        print(f"{AT_ONCE} runs at once in {took:.1f} s, looked at {sum(seen.get(None, 0) for seen in looks)} times")


# --- one run, many hands ------------------------------------------------------------------------

LONG = """\
name: long
commands:
  - shell: echo first >>effects
  - idempotent: true
    shell: echo began >>audit; until [ -e go ]; do sleep 0.02; done
  - shell: echo last >>effects
"""


def all_but_one(processes):
    """Wait until only one of them has not ended; it and its children."""
    until = time.monotonic() + 120
    while len(left := [process.pid for process in processes if process.poll() is None]) > 1:
        assert time.monotonic() < until, "more than one goes on"
        time.sleep(0.005)
    return {pid for one in left for pid in (one, *harness.children_of(one))}


def mode_resumes():
    """Of several resumes at one moment one continues the run, the others report its owner."""
    with Stage("resumes") as stage:
        for _ in range(RESUMES):
            stage.fresh()
            stage.write("long.yaml", LONG)
            pathlib.Path(stage.path("go")).unlink(missing_ok=True)
            process = stage.start("run", "long.yaml")
            until = time.monotonic() + SECONDS
            while not stage.lines("audit"):
                assert time.monotonic() < until, "the step never began"
                time.sleep(0.01)
            stage.kill_all()
            process.communicate(timeout=SECONDS)
            resumes = [stage.start("resume", stage.run_id()) for _ in range(TOGETHER)]
            pids = all_but_one(resumes)
            stage.write("go", "")  # the one has the run until all others have been refused
            envelopes = [answer(process) for process in resumes]
            errors = [e["error"] for e in envelopes if not e["ok"]]
            assert len(errors) == TOGETHER - 1 and {error["code"] for error in errors} == {HELD}, errors
            assert all(error["context"]["owner_pid"] in pids for error in errors), (pids, errors)
            assert (stage.lines("effects"), len(stage.lines("audit"))) == (["first", "last"], 2)
            assert stage.rows("SELECT state, resumes FROM runs") == [("completed", 1)]
            stage.await_gone()
    print(f"{TOGETHER} resumes at once, {RESUMES} times: all but one reported the owner")


# --- migrations -----------------------------------------------------------------------------

def schema_of(path):
    db = sqlite3.connect(path)
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return (db.execute("PRAGMA user_version").fetchone(), db.execute("PRAGMA application_id").fetchone(),
                db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall())
    finally:
        db.close()


def undisturbed_schema(stage):
    """The schema that a run makes when nobody kills it."""
    stage.write("no.yaml", NOTHING)
    assert stage.call("run", "no.yaml")["ok"]
    return schema_of(stage.path("state", "runner", "runs.db"))


def killed_at(stage, call, n):
    """A run whose n-th `call` on the database's files is answered by a kill -9.

    True when the kill came before the run was committed: while the schema was made.
    """
    database = stage.path("state", "runner", "runs.db")
    paths = [word for end in DATABASE_FILES for word in ("-P", database + end)]
    stage.write("no.yaml", NOTHING)
    process = stage.start("run", "no.yaml", before=(
        "strace", "-f", "-qq", "-o", "/dev/null", *paths, "-e", f"trace=?{call}",
        "-e", f"inject=?{call}:signal=SIGKILL:when={n}"))
    killed = not answer(process)["ok"]
    return killed and not stage.rows("SELECT 1 FROM runs WHERE workflow = 'no'")


def kill_at_each(calls, prepare, check):
    """A kill -9 of whoever makes the schema, at each change to its files: the next one makes it whole."""
    kills = collections.Counter()

    def every(stage, call):
        prepare(stage)
        whole = undisturbed_schema(stage)
        prepare(stage)
        while killed_at(stage, call, kills[call] + 1):
            kills[call] += 1
            assert kills[call] < MOST_CHANGES, call
            assert stage.call("list")["ok"]
            assert stage.call("run", "no.yaml")["ok"]
            assert schema_of(stage.path("state", "runner", "runs.db")) == whole
            check(stage)
            prepare(stage)

    in_threads(every, calls)
    print("kills before the run was committed:", dict(kills))
    assert all(kills[call] for call in calls), f"a migration makes no such call: {kills}"


def mode_migration():
    """The schema of a new database."""
    kill_at_each(SCHEMA_CHANGES, Stage.fresh, lambda stage: None)


# Its second step fails for a run of ours, and goes on for one of 0.1.
OLD = "name: old\ncommands:\n  - shell: test -e go\n  - shell: false; echo on >>effects\n"


def left_by_0_1(stage):
    """A database as runner 0.1 left it, with a run that failed."""
    stage.fresh()
    stage.write("old.yaml", OLD)
    pathlib.Path(stage.path("go")).unlink(missing_ok=True)
    assert not stage.call("run", "old.yaml")["ok"]
    with contextlib.closing(sqlite3.connect(stage.path("state", "runner", "runs.db"))) as db:
        db.executescript(pathlib.Path(__file__).with_name("as_left_by_0_1.sql").read_text(encoding="utf-8"))


def goes_on_as_in_0_1(stage):
    stage.write("go", "")
    (old,), = stage.rows("SELECT id FROM runs WHERE workflow = 'old'")
    assert stage.call("resume", old)["ok"]
    assert stage.lines("effects") == ["on"]


def mode_upgrade():
    """The schema of a database that runner 0.1 made: its run is still one of 0.1."""
    kill_at_each(UPGRADE_CHANGES, left_by_0_1, goes_on_as_in_0_1)


if __name__ == "__main__":
    if sys.argv[1] in ("migration", "upgrade"):
        skip_without_strace()
    globals()["mode_" + sys.argv[1]]()
