"""Calls that wait for a person, where everything is killed at random instants: who asks, who decides, the call that then runs. Each has its
effect once or not at all, for each time that a person agreed, and what nobody knows is said to be in doubt.

pending_calls.py    RUNNER names the binary; CRASH=full: 150 rounds; CRASH_SEED is of the instants
"""
import collections
import json
import os
import random
import subprocess
import time

import harness
from workflow_stage import Person, Stage, disturbed, in_threads, over

CASES = 150 if os.environ.get("CRASH") == "full" else 24
SEED = os.environ.get("CRASH_SEED", "1")
MOST = 40  # asks and decisions of a case
AGAIN = 0.6  # how many of them are killed
figures = collections.Counter()

# An effect is one line, in one write; `approval` says for which decision it is.
DROP = """return { description = "Drop", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
    run = function(args, ctx)
        local f = assert(io.open("effects", "a"))
        f:write(os.getenv "ROUND", "\\n")
        f:close()
        return { effect = "deleted" }
    end }
"""
SETTINGS = """return { audit = { path = "audit.jsonl" }, notify = "echo $RUNNER_APPROVAL >>notified" }"""
WAITS = ('"confirm": ["drop"]', '"allow": { "drop": { "max_calls": 0 } }, "above": "ask"')  # why a call does


def fresh(stage, i=0):
    stage.fresh()
    os.makedirs(stage.path("commands"), exist_ok=True)
    stage.write("commands/drop.lua", DROP.replace('os.getenv "ROUND"', '"once"'))
    stage.write("runner.lua", SETTINGS)
    stage.write("p.json", f'{{ "subject": "agent-7", {WAITS[i % 2]} }}')
    for name in ("effects", "notified", "audit.jsonl"):
        stage.write(name, "")


def ask(stage):
    return subprocess.Popen([harness.RUNNER, "--policy", "p.json", "drop", "--format", "json"], cwd=stage.dir, env=stage.env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def rows(stage):
    if not stage.rows("SELECT 1 FROM sqlite_master WHERE name = 'approvals'"):
        return []
    found = stage.rows("SELECT id, state, outcome FROM approvals WHERE kind = 'call' ORDER BY asked_ms")
    return [(name, state, json.loads(outcome) if outcome else None) for name, state, outcome in found]


def check(stage):
    """At any time: never more effects than decisions, one of what is known to have ended well, and none of what says so."""
    effects, found = len(stage.lines("effects")), rows(stage)
    approved = [outcome for _, state, outcome in found if state == "approved"]
    well = [outcome for outcome in approved if outcome and outcome["ok"]]
    nothing = [outcome for outcome in approved if outcome and not outcome["ok"] and outcome["error"]["side_effects"] == "none"]
    assert len(well) <= effects <= len(approved) - len(nothing), (effects, found)
    assert sum(state == "pending" for _, state, _ in found) <= 1, found
    assert set(stage.lines("notified")) <= {row[0] for row in found}, (stage.lines("notified"), found)


def told(stage, answer, code):
    """What an undisturbed ask says is true."""
    error = answer["error"] or {}
    figures[error.get("code", "told")] += 1
    assert answer["ok"] or error["code"] in ("CONFIRMATION_REQUIRED", "IN_DOUBT", "CONFLICT", "COMMAND_CRASHED"), answer
    assert code == answer["meta"]["exit_code"], (code, answer)
    if answer["ok"]:
        assert any(w["code"] == "APPROVED_CALL" for w in answer["warnings"]) and stage.lines("effects"), answer
    return answer


def one(stage, i, usual, person):
    fresh(stage, i)
    source = random.Random(f"{SEED} {i}")
    for _ in range(MOST):
        pending = [row[0] for row in rows(stage) if row[1] == "pending"]
        if pending and source.random() < 0.6:
            figures["decisions"] += 1
            disturbed(stage, source, usual["decide"], person.agree(stage, pending[0]), figures, AGAIN)
        else:
            figures["asked"] += 1
            process = ask(stage)
            disturbed(stage, source, usual["ask"], process.pid, figures, AGAIN)
            text = process.communicate(timeout=200)[0]
            if process.returncode >= 0 and text:
                told(stage, json.loads(text), process.returncode)
        check(stage)
        if len([row for row in rows(stage) if row[2]]) >= 2:
            break
    figures["effects"] += len(stage.lines("effects"))
    figures["doubt"] += sum(row[1] == "approved" and not row[2] for row in rows(stage))


def main():
    with Person() as person:
        with Stage() as stage:
            fresh(stage)
            began = time.monotonic()
            told(stage, json.loads(ask(stage).communicate(timeout=200)[0]), 2)
            usual = {"ask": time.monotonic() - began}
            stage.await_gone()
            began = time.monotonic()
            over(stage, person.agree(stage, rows(stage)[0][0]))
            usual["decide"] = time.monotonic() - began
            assert stage.lines("effects") == ["once"] and rows(stage)[0][2]["ok"], (stage.lines("effects"), rows(stage))
        in_threads(lambda stage, i: one(stage, i, usual, person), range(CASES))
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))
    assert figures["killed"] >= CASES and figures["effects"] >= CASES // 2, "too little has happened"


if __name__ == "__main__":
    main()
