"""Runs of workflows that share one store: with each other, with readers, with a second
`resume` of the same run, and with a migration that is killed.

workflow_shared.py MODE    one of the functions below whose names begin with "mode_"

RUNNER names the binary.
"""
import json
import os
import random
import shutil
import sqlite3
import sys
import threading
import time

import harness
from workflow_stage import Stage

AT_ONCE = 20
READERS = 3
RESUMES = 3
MOST_RESUMES = 12  # where a loaded machine starts them so late that they miss each other
TOGETHER = 4
MIGRATIONS = 40
HELD = "LOCK_HELD"


def answer(process):
    """The envelope of a command that was started."""
    text = process.communicate(timeout=120)[0]
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
        except BaseException as e:  # told by the main thread
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
    shell: echo began >>audit; sleep 1
  - shell: echo last >>effects
"""


def everybody(processes):
    """These and their children, looked at until all have ended."""
    pids = {process.pid for process in processes}
    until = time.monotonic() + 120
    while any(process.poll() is None for process in processes) and time.monotonic() < until:
        for process in processes:
            pids.update(harness.children_of(process.pid))
        time.sleep(0.005)
    return pids


def mode_resumes():
    """Of several resumes at one moment one goes on with the run, the others are told who does."""
    met = 0
    with Stage("resumes") as stage:
        for turn in range(MOST_RESUMES):
            if turn >= RESUMES and met:
                break
            stage.fresh()
            stage.write("long.yaml", LONG)
            process = stage.start("run", "long.yaml")
            until = time.monotonic() + 60
            while not stage.lines("audit"):
                assert time.monotonic() < until, "the step never began"
                time.sleep(0.01)
            stage.kill_all()
            process.communicate(timeout=60)
            resumes = [stage.start("resume", stage.run_id()) for _ in range(TOGETHER)]
            pids = everybody(resumes)
            envelopes = [answer(process) for process in resumes]
            errors = [e["error"] for e in envelopes if not e["ok"]]
            assert len(errors) == TOGETHER - 1, errors
            # one that came when all was over has nothing left to do
            assert {error["code"] for error in errors} <= {HELD, "CONFLICT"}, errors
            held = [error for error in errors if error["code"] == HELD]
            assert all(error["context"]["owner_pid"] in pids for error in held), (pids, held)
            met += len(held)
            assert (stage.lines("effects"), len(stage.lines("audit"))) == (["first", "last"], 2)
            assert stage.rows("SELECT state, resumes FROM runs") == [("completed", 1)]
            stage.await_gone()
    print(f"{TOGETHER} resumes at once, again and again: {met} were told of the owner")
    assert met, "no two of them ever met"


# --- migrations -----------------------------------------------------------------------------

def schema_of(path):
    db = sqlite3.connect(path)
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return (db.execute("PRAGMA user_version").fetchone(), db.execute("PRAGMA application_id").fetchone(),
                db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall())
    finally:
        db.close()


def mode_migration():
    """A kill -9 of whoever makes the schema, at any instant: the next one makes it whole."""
    source = random.Random(1)
    with Stage("migration") as stage:
        stage.fresh()
        stage.write("no.yaml", "name: no\ncommands:\n  - shell: 'true'\n")
        path = stage.path("state", "runner", "runs.db")
        times = []
        for _ in range(3):
            shutil.rmtree(stage.path("state"), ignore_errors=True)
            began = time.monotonic()
            assert stage.call("run", "no.yaml")["ok"]
            times.append(time.monotonic() - began)
        usual, whole, half = min(times), schema_of(path), 0
        for _ in range(MIGRATIONS):
            shutil.rmtree(stage.path("state"))
            process = stage.start("run", "no.yaml")
            wait_for_file(path, usual)
            time.sleep(source.uniform(0, usual / 4))
            stage.kill_all()
            process.communicate(timeout=60)
            half += not stage.rows("SELECT 1 FROM runs")
            assert stage.call("list")["ok"]
            assert stage.call("run", "no.yaml")["ok"]
            assert schema_of(path) == whole
        print(f"{MIGRATIONS} kills, {half} before the first run was committed")
        assert half, "no kill hit a migration"


def wait_for_file(path, seconds):
    until = time.monotonic() + seconds
    while not os.path.exists(path) and time.monotonic() < until:
        pass


if __name__ == "__main__":
    globals()["mode_" + sys.argv[1]]()
