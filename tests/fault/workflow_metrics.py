"""The success metrics of seed 004, with a stand-in for claude that fails in one of five calls.

workflow_metrics.py MODE    one of the functions below whose names begin with "mode_"

RUNNER names the binary; METRICS=full makes 1,000 runs instead of 80, METRICS_SEED other failures.
The delays are a thousandth of the usual ones.
"""
import json
import os
import random
import shutil
import statistics
import sys
import time

import harness
from workflow_stage import Stage, in_threads

FULL = os.environ.get("METRICS") == "full"
SEED = os.environ.get("METRICS_SEED", "1")
RUNS = 1000 if FULL else 80
FAILING = 0.2
MOST_CALLS = 6  # by default: five retries
PAIRS = 40 if FULL else 12
WORK_SECONDS = 0.25  # of a call; a real one takes longer
TRIES = 6      # at least once in so many, …
MORE_S = 120   # … or in as long as this: a loaded machine has more of them
PLANNED = 1000
FIVE_MINUTES_MS = 5 * 60 * 1000

RETRIED = "{ initial_delay: 5ms, max_delay: 120ms }"  # all the rest as it is by default
TRANSIENT = ["500 Internal Server Error", "503 Service Unavailable", "API Error: 529 overloaded_error",
             "429 Too Many Requests: rate limit exceeded", "connect ECONNREFUSED 10.0.0.1:443", "Connection timed out"]


def one_step(retry):
    return f"name: metrics\ncommands:\n  - claude: /review\n    retry: {retry}\n"


class Standin(Stage):
    """A stage with claude on its PATH."""

    def __init__(self):
        super().__init__("metrics")
        os.makedirs(self.path("bin"))
        os.symlink(harness.ROOT / "tests" / "cli" / "lib" / "claude_standin", self.path("bin", "claude"))
        os.makedirs(self.path("claude", "turns"))
        self.env["PATH"] = self.path("bin") + ":" + self.env["PATH"]

    def turns(self, lines):
        """What the calls from now on do."""
        shutil.rmtree(self.path("claude"))
        for name in ("turns", "calls"):
            os.makedirs(self.path("claude", name))
        self.write("claude/turns/default", "".join(line + "\n" for line in lines))


def fates():
    """For each run, how its calls go: all that fail before the first that does not."""
    source = random.Random(SEED)
    for _ in range(RUNS):
        lines = []
        while source.random() < FAILING and len(lines) < MOST_CALLS:
            lines.append(f"complain '{source.choice(TRANSIENT)}'; exit 1")
        yield lines + ["echo reviewed"]


def outcomes(retry):
    """(ok, attempts, calls that were to fail) of every run."""
    found = []

    def one(stage, lines):
        stage.write("one.yaml", one_step(retry))
        stage.turns(lines)
        envelope = stage.call("run", "one.yaml")
        found.append((envelope["ok"], envelope["data"]["steps"][0]["attempts"], len(lines) - 1))

    in_threads(one, fates(), Standin)
    return found


def mode_failures():
    """At least 90 % fewer failed runs than without retries, success within 3 attempts on average."""
    plain, retried = outcomes("false"), outcomes(RETRIED)
    assert all(ok == (failing == 0) and attempts == 1 for ok, attempts, failing in plain)
    assert all(ok == (failing < MOST_CALLS) and attempts == min(failing + 1, MOST_CALLS)
               for ok, attempts, failing in retried)
    failed_plain, failed = (sum(not ok for ok, _, _ in rows) for rows in (plain, retried))
    mean = statistics.mean(attempts for ok, attempts, _ in retried if ok)
    print(f"{RUNS} runs: {failed_plain} failed without retries, {failed} with; {mean:.2f} attempts until success")
    assert failed_plain > RUNS * FAILING / 2, "too few failures to tell anything"
    assert failed <= failed_plain * 0.1 and mean <= 3


def overhead(stage):
    """How much longer a step with the default retries takes than one without, side by side in
    one run: the fastest of each kind, which a busy machine has not disturbed."""
    steps = "  - claude: /review\n  - claude: /review\n    retry: false\n" * PAIRS
    stage.write("pairs.yaml", "name: pairs\ncommands:\n" + steps)
    stage.turns([f"sleep {WORK_SECONDS}"])
    envelope = stage.call("run", "pairs.yaml")
    assert envelope["ok"], envelope
    ends = [row[0] for row in stage.rows("SELECT ended_ms FROM steps WHERE run = ? ORDER BY position", stage.run_id())]
    took = [b - a for a, b in zip(ends, ends[1:])]  # from the second step on: without, with, without …
    retried, plain = took[1::2], took[0::2]
    return min(retried) / min(plain) - 1


def mode_overhead():
    """Less than 1 % more time where nothing fails."""
    found, began = [], time.monotonic()
    with Standin() as stage:
        while (len(found) < TRIES or time.monotonic() < began + MORE_S) and (not found or found[-1] >= 0.01):
            found.append(overhead(stage))
            print(f"{found[-1] * 100:+.2f} % with retries, of {WORK_SECONDS} s")
    assert found[-1] < 0.01, "retries cost more than 1 % in each try"


def mode_waits():
    """Default waits stay below five minutes, whatever the jitter: each step has a seed of its own."""
    with Standin() as stage:
        stage.write("many.yaml", "name: many\ncommands:\n" + "  - claude: /review\n" * PLANNED)
        envelope = stage.call("plan", "many.yaml", "--seed", SEED)
        waits = [step["retry"]["total_wait_ms"] for step in envelope["data"]["steps"]]
        full = [step["retry"]["delays_ms"] for step in envelope["data"]["steps"]]
    assert len(waits) == PLANNED and len({json.dumps(delays) for delays in full}) > PLANNED // 2
    upward = sum(max(delays[n] for delays in full) for n in range(5))  # each wait at its worst
    print(f"{PLANNED} seeds: {min(waits) / 1000:.1f} to {max(waits) / 1000:.1f} s, "
          f"every wait at its longest {upward / 1000:.1f} s")
    assert max(waits) <= upward < FIVE_MINUTES_MS


if __name__ == "__main__":
    globals()["mode_" + sys.argv[1]]()
