"""Runs that are put back (resume --failed, retry --from), with their processes killed at random instants: what succeeded
before runs no more, what was put back has its effect once more, and not a second time.

workflow_again.py    RUNNER names the binary; CRASH=full: 500 kills; CRASH_SEED is of the instants
"""
import collections
import os
import random
import time

from workflow_stage import IN_DOUBT, VICTIMS, Stage, in_threads

CASES = 200 if os.environ.get("CRASH") == "full" else 24
SEED = os.environ.get("CRASH_SEED", "1")
MOST_RESUMES = 30
AGAIN = 0.6  # how many of the calls that go on are killed, too

# The effect of a step in a pass, which `pass` counts: once, however often the step runs.
ONCE = """grep -qx "{0} $(cat pass)" effects || echo "{0} $(cat pass)" >>effects"""
WORKFLOW = f"""\
name: again
commands:
  - {{ id: before, idempotent: true, shell: '{ONCE.format("before")}' }}
  - id: each
    foreach: [a, b, c, d]
    parallel: 2
    max_failures: 2
    do:
      - {{ idempotent: true, shell: '{ONCE.format("${item}")}; [ "${{item}}" = a ] || [ "${{item}}" = c ] || [ -e go ]' }}
  - id: block
    steps:
      - id: inner
        foreach: [x, y]
        continue_on_error: true
        do: [{{ idempotent: true, shell: '{ONCE.format("${item}")}; [ "${{item}}" = x ] || [ -e go ]' }}]
    check: {{ shell: 'true' }}
  - {{ id: soft, idempotent: true, shell: '{ONCE.format("soft")}; [ -e go ]', on_failure: continue }}
  - {{ id: end, idempotent: true, shell: '{ONCE.format("end")}' }}
"""
PASSES = {  # which call, and what has its effect then
    1: (("run", "again.yaml"), ["a", "b", "before", "c", "d", "end", "soft", "x", "y"]),
    2: (("resume", "again", "--failed"), ["b", "d", "soft", "y"]),
    3: (("retry", "again", "--from", "block"), ["end", "soft", "x", "y"]),
}

figures = collections.Counter()


def fresh(stage):
    stage.fresh()
    stage.write("again.yaml", WORKFLOW)
    if os.path.exists(stage.path("go")):
        os.unlink(stage.path("go"))


def begin(stage, number):
    stage.write("pass", f"{number}\n")
    if number == 2:
        stage.write("go", "")


def had_effect(stage, number):
    end = f" {number}"
    return sorted(line[:-len(end)] for line in stage.lines("effects") if line.endswith(end))


def check_end(stage, number):
    assert stage.rows("SELECT state FROM runs") == [("completed",)]
    for each in range(1, number + 1):
        assert had_effect(stage, each) == PASSES[each][1], (number, each, stage.lines("effects"))
    passed_over = stage.rows("SELECT key FROM warnings WHERE code = 'PASSED_OVER' ORDER BY key")
    assert passed_over == ([("block.inner",), ("each",), ("soft",)] if number == 1 else []), passed_over
    over = {state for (state,) in stage.rows("SELECT state FROM steps WHERE key NOT LIKE 'block.check%'")}
    assert over == ({"completed", "failed"} if number == 1 else {"completed"}), over
    stage.await_gone(20)


def killed(stage, source, usual, *args):
    process = stage.start(*args)
    time.sleep(source.uniform(0, usual * 1.05))
    VICTIMS[source.choice(list(VICTIMS))](stage, process.pid)
    process.communicate(timeout=200)
    stage.await_gone()
    figures["killed"] += process.returncode != 0


# A call that has been committed is gone on with by a plain resume; else it is made again.
def one_pass(stage, source, usual, number):
    begin(stage, number)
    before = stage.rows("SELECT resumes FROM runs")
    for _ in range(MOST_RESUMES):
        now = stage.rows("SELECT resumes, state FROM runs")
        begun = now and (number == 1 or now[0][0] > before[0][0])
        if begun and now[0][1] == "completed":
            break
        call = ("resume", stage.run_id()) if begun else PASSES[number][0]
        figures[call[0]] += 1
        if source.random() < AGAIN:
            killed(stage, source, usual[number], *call)
        else:
            envelope = stage.call(*call)
            assert envelope["ok"] or envelope["meta"]["exit_code"] == IN_DOUBT, envelope
    check_end(stage, number)


def main():
    usual = {}
    with Stage() as stage:
        fresh(stage)
        for number, (call, _) in PASSES.items():
            begin(stage, number)
            began = time.monotonic()
            envelope = stage.call(*call)
            assert envelope["ok"], envelope
            usual[number] = time.monotonic() - began
            check_end(stage, number)

    def one(stage, i):
        fresh(stage)
        source = random.Random(f"{SEED} {i}")
        for number in PASSES:
            one_pass(stage, source, usual, number)

    in_threads(one, range(CASES))
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))
    assert figures["killed"] >= CASES // 4, "too few kills hit a run at work"


if __name__ == "__main__":
    main()
