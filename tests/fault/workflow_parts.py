"""Workflows within workflows and last steps, whose runners are killed, or asked to end, at random instants: each step inside
has its effect once, what the inner file gives is there, and each end of a workflow has its last steps: all of them, none twice
but where it was cut off.

workflow_parts.py    RUNNER names the binary; CRASH=full: 500 kills; CRASH_SEED is of the instants
"""
import collections
import json
import os
import random
import signal
import time

from workflow_stage import IN_DOUBT, VICTIMS, Stage, in_threads

CASES = 250 if os.environ.get("CRASH") == "full" else 24
SEED = os.environ.get("CRASH_SEED", "1")
MOST_RESUMES = 30
AGAIN = 0.6  # how many of the resumed runs are killed, too

OUTER = """\
name: parts
vars: { word: { type: enum, values: [one, two], default: one } }
commands:
  - { id: in, workflow: inner.yaml, vars: { word: "${word}", count: 2 } }
  - idempotent: true
    shell: 'e="after ${steps.in.outputs.said} ${steps.in.data.count}"; grep -qx "$e" effects || echo "$e" >>effects'
  - { id: gate, idempotent: true, shell: "[ -e tried ] || { touch tried; exit 7; }" }
  - idempotent: true
    shell: grep -qx end effects || echo end >>effects
finally:
  - { idempotent: true, shell: 'echo "last ${run.state}" >>last' }
  - { idempotent: true, shell: 'echo "${steps.in.outputs.said}" >>last' , when: 'run.state == "completed"' }
"""
INNER = """\
vars: { word: , count: { type: integer, min: 1 } }
env: { WORD: "${word}" }
outputs: { said: "${steps.say.output}", count: "${count}" }
commands:
  - { id: say, idempotent: true, shell: 'echo "said $WORD"; grep -qx say effects || echo say >>effects' }
  - { verify: grep -qx once effects, shell: echo once >>effects }
finally:
  - { idempotent: true, shell: 'echo "inner ${run.state}" >>last' }
"""
EFFECTS = ["say", "once", "after said one 2", "end"]

figures = collections.Counter()


def fresh(stage):
    stage.fresh()
    stage.write("parts.yaml", OUTER)
    stage.write("inner.yaml", INNER)
    stage.write("last", "")
    if os.path.exists(stage.path("tried")):
        os.unlink(stage.path("tried"))


def asked_to_end(_, pid):
    os.kill(pid, signal.SIGTERM)
    figures["asked"] += 1


def killed(stage, source, usual, *args):
    process = stage.start(*args)
    time.sleep(source.uniform(0, usual * 1.05))
    victim = VICTIMS[source.choice(list(VICTIMS))] if source.random() < 0.75 else asked_to_end
    victim(stage, process.pid)
    process.communicate(timeout=200)
    stage.await_gone()
    figures["ended"] += process.returncode != 0


# How each end was told to its last steps, by key.
def ends_of(stage, inner):
    return {key: (state, json.loads(data)["ended"]["state"]) for key, state, data in stage.rows(
        "SELECT key, state, data FROM steps WHERE kind = 'steps'") if key.split("@")[0] == inner and data and "ended" in json.loads(data)}


def check_last(stage, key, word):
    said = collections.Counter(line.split()[1] for line in stage.lines("last") if line.startswith(word + " "))
    ends = ends_of(stage, key)
    assert ends and all(state == "completed" for state, _ in ends.values()), ends
    assert [told for _, told in ends.values()].count("completed") == 1, ends
    begun = stage.rows("SELECT count(*) FROM attempts WHERE key = ? OR key GLOB ?", key + ".1", key + ".1@*")[0][0]
    assert len(ends) <= sum(said.values()) <= begun, (ends, said, begun)
    for told, lines in said.items():
        assert lines >= [of for _, of in ends.values()].count(told) >= 1, (ends, said)
    figures["ends of " + key] += len(ends)


def check_end(stage):
    assert stage.lines("effects") == EFFECTS, stage.lines("effects")
    assert stage.rows("SELECT state FROM runs") == [("completed",)]
    check_last(stage, "finally", "last")
    check_last(stage, "in.finally", "inner")
    assert "said one" in stage.lines("last")
    stage.await_gone(20)


def main():
    with Stage() as stage:
        fresh(stage)
        began = time.monotonic()
        envelope = stage.call("run", "parts.yaml")
        assert envelope["error"]["context"]["step_key"] == "gate", envelope
        usual = time.monotonic() - began
        assert stage.call("resume", stage.run_id())["ok"]
        check_end(stage)
        assert [line for line in stage.lines("last") if line.startswith("last")] == ["last failed", "last completed"]
        figures.clear()

    def one(stage, i):
        fresh(stage)
        source = random.Random(f"{SEED} {i}")
        killed(stage, source, usual, "run", "parts.yaml")
        if not stage.run_id():
            assert stage.lines("effects") == [], "a step ran before its run was committed"
            stage.call("run", "parts.yaml")
        for _ in range(MOST_RESUMES):
            if stage.rows("SELECT 1 FROM runs WHERE state = 'completed'"):
                break
            figures["resumed"] += 1
            if source.random() < AGAIN:
                killed(stage, source, usual, "resume", stage.run_id())
            else:
                envelope = stage.call("resume", stage.run_id())
                code = envelope["meta"]["exit_code"]
                assert envelope["ok"] or code == IN_DOUBT or envelope["error"]["context"]["step_key"] == "gate", envelope
        check_end(stage)

    in_threads(one, range(CASES))
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))
    assert figures["ended"] >= CASES // 4, "too few kills hit a run at work"


if __name__ == "__main__":
    main()
