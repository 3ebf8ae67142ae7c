"""Runs that ask, whose runners are killed at random instants, as are those of the person who decides: each gate asks once, is decided
once, and what comes behind it has its effect once, and not before.

workflow_approvals.py    RUNNER names the binary; CRASH=full: 500 kills; CRASH_SEED is of the instants
"""
import collections
import os
import random
import time

from workflow_stage import Person, Stage, disturbed, in_threads

CASES = 200 if os.environ.get("CRASH") == "full" else 24
SEED = os.environ.get("CRASH_SEED", "1")
MOST = 60  # resumes and decisions of a run
AGAIN = 0.6  # how many of them are killed
PENDING = 14

WORKFLOW = """\
name: approvals
commands:
  - { idempotent: true, shell: grep -qx before effects || echo before >>effects }
  - parallel:
      - id: one
        approve: { message: One?, show: [approvals.yaml], notify: { shell: echo "$RUNNER_APPROVAL" >>notified } }
        on_success: { idempotent: true, shell: grep -qx one effects || echo one >>effects }
      - foreach: [x, y]
        do:
          - { id: each, approve: "${item}?" }
          - { idempotent: true, shell: "grep -qx ${item} effects || echo ${item} >>effects" }
  - { idempotent: true, shell: grep -qx after effects || echo after >>effects }
"""
ALLOWS = {"one": "2.one", "x": "2.2[1].each", "y": "2.2[2].each"}  # effect → the gate in front of it

figures = collections.Counter()


def fresh(stage):
    stage.fresh()
    stage.write("approvals.yaml", WORKFLOW)
    stage.write("notified", "")


def check(stage):
    """At any time: nothing is behind a gate that isn't approved, and no gate asks or is decided twice."""
    effects = stage.lines("effects")
    gates = stage.rows("SELECT key, state FROM approvals")
    assert len(effects) == len(set(effects)) and len(gates) == len(dict(gates)), (effects, gates)
    for effect, key in ALLOWS.items():
        assert effect not in effects or dict(gates)[key] == "approved", (effects, gates)
    assert "after" not in effects or all(state == "approved" for _, state in gates), (effects, gates)


def step(stage, source, usual, person):
    pending = [row[0] for row in stage.rows("SELECT id FROM approvals WHERE state = 'pending'")]
    if pending and source.random() < 0.6:
        figures["decisions"] += 1
        disturbed(stage, source, usual, person.agree(stage, source.choice(pending)), figures, AGAIN)
    else:
        figures["resumed"] += 1
        process = stage.start("resume", stage.run_id())
        disturbed(stage, source, usual, process.pid, figures, AGAIN)
        process.communicate(timeout=200)
        assert process.returncode in (0, PENDING, 137, -9, 1) or process.returncode > 128, process.returncode
    check(stage)


def one(stage, i, usual, person):
    fresh(stage)
    source = random.Random(f"{SEED} {i}")
    process = stage.start("run", "approvals.yaml")
    disturbed(stage, source, usual, process.pid, figures, AGAIN)
    process.communicate(timeout=200)
    if not stage.run_id():
        assert stage.call("run", "approvals.yaml")["meta"]["exit_code"] == PENDING
    for _ in range(MOST):
        if stage.rows("SELECT 1 FROM runs WHERE state = 'completed'"):
            break
        step(stage, source, usual, person)
    assert stage.rows("SELECT state FROM runs") == [("completed",)], stage.rows("SELECT state, code, message FROM runs")
    effects = stage.lines("effects")
    assert sorted(effects) == ["after", "before", "one", "x", "y"] and effects[0] == "before" and effects[-1] == "after", effects
    asked = [row[0] for row in stage.rows("SELECT id FROM approvals WHERE key = '2.one'")]
    assert set(stage.lines("notified")) <= set(asked), "notify has run for another question"


def main():
    with Person() as person:
        with Stage() as stage:
            fresh(stage)
            began = time.monotonic()
            assert stage.call("run", "approvals.yaml")["meta"]["exit_code"] == PENDING
            usual = time.monotonic() - began
        in_threads(lambda stage, i: one(stage, i, usual, person), range(CASES))
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))
    assert figures["killed"] >= CASES, "too few kills"


if __name__ == "__main__":
    main()
