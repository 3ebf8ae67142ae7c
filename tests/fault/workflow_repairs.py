"""Repair loops whose runners are killed at random instants: each check and each repair has its effect once, and there are
never more repairs than the file allows.

workflow_repairs.py    RUNNER names the binary; CRASH=full: 500 kills; CRASH_SEED is of the instants
"""
import collections
import os

from workflow_stage import in_threads, killed_case, report, usual_time

CASES = 200 if os.environ.get("CRASH") == "full" else 24
SEED = os.environ.get("CRASH_SEED", "1")
MOST_RESUMES = 30
AGAIN = 0.6  # how many of the resumed runs are killed, too

# `work` passes after two repairs, `again` after one, for which it works once more; `never` is repaired twice in vain.
WORKFLOW = """\
name: repairs
commands:
  - id: work
    idempotent: true
    shell: grep -qx work effects || echo work >>effects
    check: { shell: '[ "$(grep -c "^repair" effects)" -ge 2 ]' }
    repair:
      max: 2
      steps:
        - verify: 'grep -qx "repair ${attempt.repair}" effects'
          shell: echo "repair ${attempt.repair}" >>effects
  - id: again
    idempotent: true
    shell: echo again >>audit; [ -e fixed ] || exit 7; grep -qx again effects || echo again >>effects
    repair:
      max: 1
      steps: [{ idempotent: true, shell: "grep -qx fix effects || echo fix >>effects; touch fixed" }]
  - id: never
    steps:
      - { idempotent: true, shell: "grep -qx block effects || echo block >>effects" }
    check: { shell: exit 1 }
    repair:
      max: 2
      steps: [{ verify: 'grep -qx "vain ${attempt.repair}" effects', shell: 'echo "vain ${attempt.repair}" >>effects' }]
    on_failure: continue
  - idempotent: true
    shell: grep -qx end effects || echo end >>effects
"""
EFFECTS = ["work", "repair 1", "repair 2", "fix", "again", "block", "vain 1", "vain 2", "end"]
STATES = {
    "work": "completed", "work.do": "completed", "work.repair.1": "completed", "work.repair.1@2": "completed",
    "again": "completed", "again.do": "failed", "again.repair.1": "completed", "again.do@2": "completed",
    "never": "failed", "never.1": "completed", "never.check.1": "failed", "never.check.1@2": "failed", "never.check.1@3": "failed",
    "never.repair.1": "completed", "never.repair.1@2": "completed", "4": "completed",
}

figures = collections.Counter()


def fresh(stage):
    stage.fresh()
    stage.write("repairs.yaml", WORKFLOW)
    if os.path.exists(stage.path("fixed")):
        os.unlink(stage.path("fixed"))


def check_end(stage):
    effects = stage.lines("effects")
    assert effects == EFFECTS, effects
    assert stage.rows("SELECT state FROM runs") == [("completed",)]
    states = {key: state for key, state in stage.states().items() if not key.startswith("work.check")}  # asked after a kill, too
    assert states == STATES, {key: state for key, state in states.items() if STATES.get(key) != state}
    stage.await_gone(20)


def first_end(stage, envelope):
    assert envelope["ok"], envelope
    check_end(stage)


def main():
    usual = usual_time("repairs.yaml", fresh, first_end)
    case = killed_case("repairs.yaml", fresh, check_end, usual, figures, again=AGAIN, resumes=MOST_RESUMES)
    in_threads(case, [f"{SEED} {i}" for i in range(CASES)])
    report(figures, CASES)


if __name__ == "__main__":
    main()
