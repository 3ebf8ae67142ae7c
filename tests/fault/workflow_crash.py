"""Runs of workflows that are killed: whatever the instant, `resume` goes on to the same end.

workflow_crash.py MODE    one of the functions below whose names begin with "mode_"

RUNNER names the binary; CRASH=full kills at every one of the system calls, and at 300
random instants; CRASH_SEED is of the choice that is made otherwise.
"""
import collections
import os
import random
import subprocess
import sys
import time

import harness
from workflow_stage import IN_DOUBT, SAID, SECONDS, VICTIMS, Stage, check_end, in_threads, kill, skip_without_strace

FULL = os.environ.get("CRASH") == "full"
SEED = os.environ.get("CRASH_SEED", "1")
INSTANTS = {"worker": 100, "supervisor": 100, "everything": 100} if FULL else \
    {"worker": 24, "supervisor": 12, "everything": 24}
CHOSEN = 4  # of each kind of system call, besides the first and the last
MOST_RESUMES = 12
AGAIN = 0.3  # how many of the resumed runs are killed too

# what a transition is made of; a kill before one is a kill behind the one before it
COMMITS = "pwrite64 fdatasync fsync ftruncate rename unlink".split()
OTHERS = "clone waitid write mkdir fcntl ppoll".split()

figures = collections.Counter()


class Case:
    """One run, from its first kill to its end."""

    def __init__(self, stage, source, usual):
        self.stage, self.source, self.usual = stage, source, usual

    def killed(self, victim, *args):
        """Start a command and kill it somewhere before its usual end, which is earlier when the machine is less busy than it was."""
        began = time.monotonic()
        process = self.stage.start(*args)
        try:
            process.wait(self.source.uniform(0, self.usual * 1.05))
            self.usual = min(self.usual, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            VICTIMS[victim](self.stage, process.pid)
        process.communicate(timeout=SECONDS)
        self.stage.await_gone()
        figures["killed"] += process.returncode != 0

    def words(self):
        """What a user would say of the step that nothing else decides on."""
        if "fifth" not in self.stage.in_doubt():
            return []
        figures["in doubt, decided by the user"] += 1
        return ["--mark-done", "fifth"] if "fifth" in self.stage.lines("effects") else ["--retry-in-doubt"]

    def resume(self, words):
        before = self.stage.states()
        audit = self.stage.lines("audit")
        figures["resumed"] += 1
        figures["in doubt"] += bool(self.stage.in_doubt())
        args = ("resume", self.stage.run_id(), *words)
        if self.source.random() < AGAIN:
            self.killed(self.source.choice(list(VICTIMS)), *args)
        else:
            envelope = self.stage.call(*args)
            assert envelope["ok"] or envelope["meta"]["exit_code"] == IN_DOUBT, envelope
        self.check_progress(before, audit)

    def check_progress(self, before, audit):
        """What was completed stays so, and did not run again."""
        after, now = self.stage.states(), self.stage.lines("audit")
        for key, name in SAID.items():
            if before.get(key) == "completed":
                assert after[key] == "completed", (key, before, after)
                assert now.count(name) == audit.count(name), f"{key} was completed, and ran again"

    def to_its_end(self):
        """Resume, be killed again, resume … until it is completed."""
        stage = self.stage
        if not stage.run_id():
            assert stage.lines("audit") == [], "a step ran before its run was committed"
            assert stage.call("run", "crash.yaml")["ok"]
        for _ in range(MOST_RESUMES):
            if stage.rows("SELECT 1 FROM runs WHERE state = 'completed'"):
                break
            self.resume(self.words())
        check_end(stage)
        figures["cases"] += 1


def usual_time(stage):
    """Seconds of a run that nobody disturbs; it must end as all the others do."""
    times = []
    for _ in range(3):
        stage.fresh()
        began = time.monotonic()
        assert stage.call("run", "crash.yaml")["ok"]
        times.append(time.monotonic() - began)
        check_end(stage)
    return min(times)


def report():
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))


# --- at random instants -----------------------------------------------------------------------

def mode_instants():
    with Stage() as stage:
        usual = usual_time(stage)
    cases = [(victim, i) for victim, count in INSTANTS.items() for i in range(count)]
    random.Random(SEED).shuffle(cases)

    def one(stage, case):
        nonlocal usual
        victim, i = case
        stage.fresh()
        turn = Case(stage, random.Random(f"{SEED} {victim} {i}"), usual)
        turn.killed(victim, "run", "crash.yaml")
        usual = turn.usual
        turn.to_its_end()

    in_threads(one, cases)
    report()
    assert figures["killed"] >= len(cases) // 4, "too few kills hit a run at work"


# --- what a killed runner leaves behind ------------------------------------------------------------

ORPHAN = """\
name: orphan
commands:
  - shell: trap '' TERM; echo began >>audit; until [ -e go ]; do sleep 0.02; done; echo landed >>effects
    verify: grep -qx landed effects
"""


def orphan(stage, whom):
    """Kill some processes of a run in its step, and resume it at once; then the step may land: what was done."""
    stage.fresh()
    stage.write("orphan.yaml", ORPHAN)
    if os.path.exists(stage.path("go")):
        os.unlink(stage.path("go"))
    process = stage.start("run", "orphan.yaml")
    until = time.monotonic() + SECONDS
    while not stage.lines("audit"):
        assert time.monotonic() < until, "the step never began"
        time.sleep(0.005)
    beside = [child for worker in harness.children_of(process.pid) for child in harness.children_of(worker)]
    shepherds = [pid for pid in beside if harness.children_of(pid)]  # the other one is the forker
    assert len(shepherds) == 1 and len(beside) == 2, [harness.name_of(pid) for pid in beside]
    for pid in whom(process.pid):
        kill(pid)
    process.communicate(timeout=SECONDS)
    assert not stage.lines("effects"), "it landed before it might"
    resumed = stage.start("resume", stage.run_id())
    time.sleep(0.5)  # it waits for the step, or begins it again
    assert resumed.poll() is None, "it did not wait"
    stage.write("go", "")
    text = resumed.communicate(timeout=SECONDS)[0]
    assert resumed.returncode == 0, text
    stage.await_gone()
    return stage.lines("audit"), stage.lines("effects")


def runner_itself(pid):
    """The worker and its supervisor: in this order, or the worker would hear of the other's
    death and end the step at once."""
    return [*harness.children_of(pid), pid]


def all_runners(pid):
    """… and what answers for the step: all but the step's own processes."""
    below = runner_itself(pid)
    return below + [child for worker in below[:-1] for child in harness.children_of(worker)]


def mode_orphan():
    """A step that outlives its killed runner: while its shepherd lives, `resume` waits for it;
    where that is killed too, it ends with it."""
    with Stage() as stage:
        for whom, expected in ((runner_itself, (["began"], ["landed"])), (all_runners, (["began", "began"], ["landed"]))):
            told = orphan(stage, whom)
            assert told == expected, told


# --- at system calls ----------------------------------------------------------------------------

def traced(stage, calls, *options):
    names = ",".join("?" + call for call in calls)
    return stage.start("run", "crash.yaml", before=(
        "strace", "-f", "-qq", "-o", stage.path("trace"), "-e", f"trace={names}", *options))


def count_calls(calls):
    """How often the process that makes most of them does, in an undisturbed run: the worker."""
    with Stage() as stage:
        stage.fresh()
        assert traced(stage, calls).wait(SECONDS) == 0
        made = collections.defaultdict(collections.Counter)
        for line in stage.lines("trace"):
            pid, what = line.split(None, 1)
            name = what.split("(", 1)[0].removeprefix("<... ").split()[0]
            if name in calls and "resumed" not in what:
                made[pid][name] += 1
    most = max(made.values(), key=lambda counts: counts.total())
    return {call: most[call] for call in calls if most[call]}


def places(counts):
    """(call, n) to be killed at: all, or the first, the last and some between."""
    source = random.Random(SEED)
    for call, count in counts.items():
        every = range(1, count + 1)
        some = sorted({1, count, *source.sample(every, min(CHOSEN, count))})
        yield from ((call, n) for n in (every if FULL else some))


def at_calls(calls):
    counts = count_calls(calls)
    cases = list(places(counts))

    def one(stage, case):
        call, n = case
        stage.fresh()
        process = traced(stage, [call], "-e", f"inject=?{call}:signal=SIGKILL:when={n}")
        process.communicate(timeout=SECONDS)
        stage.await_gone()
        figures["killed"] += process.returncode != 0
        Case(stage, random.Random(f"{SEED} {call} {n}"), 0.3).to_its_end()

    in_threads(one, cases)
    print("calls:", ", ".join(f"{call} {count}" for call, count in counts.items()))
    report()
    assert figures["killed"] >= len(cases) // 2, "strace killed too few"


def mode_commits():
    at_calls(COMMITS)


def mode_others():
    at_calls(OTHERS)


def mode_supervisor():
    """It alone makes this one, for each line that it prints: the worker learns of its death."""
    at_calls(["pwritev2"])


if __name__ == "__main__":
    if sys.argv[1] != "instants":
        skip_without_strace()
    globals()["mode_" + sys.argv[1]]()
