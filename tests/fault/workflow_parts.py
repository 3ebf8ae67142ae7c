"""Workflows within workflows and last steps, whose runners are killed, or asked to end, at random instants: each step inside
has its effect once, what the inner file gives is there, and each end of a workflow has its last steps: all of them, none twice
but where it was cut off.

workflow_parts.py    RUNNER names the binary; CRASH=full: 500 kills; CRASH_SEED is of the instants
"""
import collections
import json
import os
import signal

from workflow_stage import VICTIMS, in_threads, killed_case, report, usual_time

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


WAYS = {**VICTIMS, "asked": asked_to_end}


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


def first_end(stage, envelope):
    assert envelope["error"]["context"]["step_key"] == "gate", envelope
    assert stage.call("resume", stage.run_id())["ok"]
    check_end(stage)
    assert [line for line in stage.lines("last") if line.startswith("last")] == ["last failed", "last completed"]
    figures.clear()


def is_fine(envelope):
    return envelope["ok"] or envelope["error"]["context"].get("step_key") == "gate"


def main():
    usual = usual_time("parts.yaml", fresh, first_end)
    case = killed_case("parts.yaml", fresh, check_end, usual, figures, again=AGAIN, resumes=MOST_RESUMES, ways=WAYS, fine=is_fine)
    in_threads(case, [f"{SEED} {i}" for i in range(CASES)])
    report(figures, CASES)


if __name__ == "__main__":
    main()
