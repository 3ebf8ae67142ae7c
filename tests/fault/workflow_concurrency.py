"""Runs with one key, some of which are killed at random instants: never do the steps of two of them run at the same time, and
whoever is killed, those that wait go on.

workflow_concurrency.py    RUNNER names the binary; CRASH=full: 500 kills; CRASH_SEED is of the instants
"""
import collections
import os
import random
import threading
import time

from workflow_stage import VICTIMS, in_threads

CASES = 130 if os.environ.get("CRASH") == "full" else 12
SEED = os.environ.get("CRASH_SEED", "1")
RUNS = 4  # of each case, at once

# A step is the holder while its shell lives: another one that finds it alive has run beside it. A number alone may be used again.
WORKFLOW = """\
name: w{0}
concurrency: {{ key: one }}
commands:
  - id: only
    idempotent: true
    shell: |
      born() {{ awk '$3 != "Z" {{ print $1, $22 }}' "/proc/$(echo "$1" | cut -d " " -f 1)/stat" 2>/dev/null || true; }}
      other=$(cat holder 2>/dev/null || true)
      if [ -n "$other" ] && [ "$(born "$other")" = "$other" ]; then echo "{0} beside $other" >>overlaps; fi
      born $$ >holder
      sleep 0.0{0}
      grep -qx {0} effects || echo {0} >>effects
      rm -f holder
"""

figures = collections.Counter()

WHOM = ("worker", "supervisor")


def one(stage, i):
    source = random.Random(f"{SEED} {i}")
    stage.fresh()
    stage.write("overlaps", "")
    for name in range(RUNS):
        stage.write(f"w{name}.yaml", WORKFLOW.format(name))
    began = [stage.start("run", f"w{name}.yaml") for name in range(RUNS)]
    threads = [threading.Thread(target=process.communicate) for process in began]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 0.6
    while time.monotonic() < until and any(process.poll() is None for process in began):
        time.sleep(source.uniform(0, 0.2))
        process = source.choice(began)
        if process.poll() is None:
            VICTIMS[source.choice(WHOM)](stage, process.pid)
            figures["killed"] += 1
    for thread in threads:
        thread.join(timeout=200)
        assert not thread.is_alive(), "a run waits for one that is dead"
    for name in range(RUNS):
        known = stage.rows("SELECT id, state FROM runs WHERE workflow = ?", f"w{name}")
        figures["again"] += not known or known[0][1] != "completed"
        envelope = stage.call("resume", known[0][0]) if known else stage.call("run", f"w{name}.yaml")
        assert envelope["ok"], envelope
    assert stage.lines("overlaps") == [], stage.lines("overlaps")
    assert sorted(stage.lines("effects")) == [str(name) for name in range(RUNS)], stage.lines("effects")
    stage.await_gone(20)


def main():
    in_threads(one, range(CASES))
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))
    assert figures["killed"] >= CASES, "too few kills"


if __name__ == "__main__":
    main()
