"""Runs of a workflow with nested loops, parallel steps and hooks that are ended in every way,
again and again: whatever happens, resume leads to the same end, no effect is lost, and none
comes twice unless the file or the user allowed it.

workflow_torture.py    RUNNER names the binary; CRASH=full: 1,000 cases; CRASH_SEED

A step appends its name to `audit` when it begins and to `effects`, which is its work. What
the file declares is its class: "idem" (idempotent: true), "verify", "plain" (nothing: it may
run again after it was cut off, never after a death) or "never" (idempotent: false).
"""
import collections
import os
import random
import signal
import time

import harness
from workflow_stage import IN_DOUBT, SECONDS, VICTIMS, Stage, in_threads, kill

FULL = os.environ.get("CRASH") == "full"
SEED = os.environ.get("CRASH_SEED", "1")
CASES = 1000 if FULL else 60
MOST_RESUMES = 40
AGAIN = 0.4  # how many of the resumed runs are disturbed too
FAILED = 1

DECLARED = {"idem": "idempotent: true", "verify": 'verify: "grep -qx %s effects"', "plain": "grace: 1s",
            "never": "idempotent: false"}


def step(name, kind, ident, more="", end=""):
    """A step in one line of YAML: what it does, and what the file declares."""
    declared = DECLARED[kind].replace("%s", name)
    return (f'{{ id: {ident}, shell: "echo {name} >>audit; sleep 0.004; echo {name} >>effects; sleep 0.004{end}", '
            f'{declared}{more} }}')


RETRY = ", retry: { delays: [5ms, 5ms] }"
SUCCESS = ", on_success: " + step("${item}.after", "never", "after")
WORKFLOW = f"""\
name: torture
commands:
  - {step("first", "plain", "first", RETRY)}
  - id: grid
    foreach: [x, y]
    parallel: 2
    continue_on_error: true
    on_failure: continue
    do:
      - id: row
        foreach: ["${{item}}1", "${{item}}2"]
        continue_on_error: true
        on_failure: {{ steps: [{{ shell: echo swallowed >>effects }}], then: continue }}
        do:
          - id: pair
            continue_on_error: true
            parallel:
              - {step("${item}.checked", "verify", "checked", RETRY)}
              - {step("${item}.never", "never", "never", SUCCESS)}
          - {step("${item}.idem", "idem", "idem", RETRY)}
  - id: fails
    idempotent: true
    shell: echo fails >>audit; exit 7
    on_failure:
      steps:
        - {step("told", "never", "told")}
        - {{ id: each, foreach: [p, q], continue_on_error: true, do: [{step("${item}.hook", "verify", "hook")}] }}
      then: continue
  - id: rolled
    idempotent: true
    shell: echo rolled >>audit; [ -e repaired ] || exit 7; grep -qx rolled effects || echo rolled >>effects
    on_failure:
      - {step("rollback", "never", "rollback")}
      - {{ idempotent: true, shell: touch repaired }}
  - {step("last", "plain", "last")}
"""


def classes():
    """Key of each step with an effect → (its name in effects, its class)."""
    out = {"first": ("first", "plain"), "fails.on_failure.told": ("told", "never"),
           "rolled.on_failure.rollback": ("rollback", "never"), "rolled": ("rolled", "idem"), "last": ("last", "plain")}
    for i, x in enumerate("xy", 1):
        for j in (1, 2):
            at, item = f"grid[{i}].row[{j}]", f"{x}{j}"
            out[f"{at}.pair.checked"] = (f"{item}.checked", "verify")
            out[f"{at}.pair.never"] = (f"{item}.never", "never")
            out[f"{at}.pair.never.on_success.after"] = (f"{item}.after", "never")
            out[f"{at}.idem"] = (f"{item}.idem", "idem")
    for i, item in enumerate("pq", 1):
        out[f"fails.on_failure.each[{i}].hook"] = (f"{item}.hook", "verify")
    return out


STEPS = classes()
figures = collections.Counter()


def shepherds(_, pid):
    """One shepherd, any; the forker where there is none."""
    beside = [child for worker in harness.children_of(pid) for child in harness.children_of(worker)]
    found = [child for child in beside if harness.children_of(child)] or beside
    for child in random.sample(found, min(1, len(found))):
        kill(child)


def signalled(number):
    def send(_, pid):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
    return send


EVENTS = {**VICTIMS, "shepherd": shepherds, "TERM": signalled(signal.SIGTERM), "INT": signalled(signal.SIGINT),
          "timeout": None}


class Case:
    """One run, from its first disturbance to its end."""

    def __init__(self, stage, source, usual):
        self.stage, self.source, self.usual = stage, source, usual
        self.allowed = collections.Counter()  # repetitions that the file allows

    def disturbed(self, event, *args):
        after = self.source.uniform(0, self.usual * 1.05)
        if event == "timeout":
            process = self.stage.start(*args, "--timeout", f"{max(int(after * 1000), 1)}ms")
        else:
            process = self.stage.start(*args)
            time.sleep(after)
            EVENTS[event](self.stage, process.pid)
        process.communicate(timeout=SECONDS)
        self.stage.await_gone()
        figures[event] += process.returncode != 0
        self.check_rows(process.returncode)

    def check_rows(self, status):
        """A run that has ended has nothing running, whatever ended it."""
        wrong = self.stage.rows(
            "SELECT s.key FROM steps s JOIN runs r ON r.id = s.run WHERE r.state <> 'running' AND s.state = 'running' "
            "UNION SELECT a.key FROM attempts a JOIN steps s ON s.run = a.run AND s.key = a.key "
            "WHERE a.ended_ms IS NULL AND a.code IS NULL AND s.state <> 'running'")
        assert not wrong, (status, wrong)

    def open_questions(self):
        """Keys that only the user can decide on, and whether their work is done."""
        doubt, cut = self.stage.in_doubt(), self.stage.cut_off()
        effects = self.stage.lines("effects")
        keys = {key for key in doubt if STEPS.get(key, ("", "idem"))[1] in ("plain", "never")}
        keys |= {key for key in cut if STEPS.get(key, ("", "idem"))[1] == "never"}
        for key in cut - keys:
            if STEPS.get(key, ("", ""))[1] == "plain":
                self.allowed[STEPS[key][0]] += 1
        return {key: STEPS[key][0] in effects for key in keys}

    def resume(self):
        questions = self.open_questions()
        args = ["resume", self.stage.run_id()]
        decided = self.source.random() > 0.3
        if decided:
            for key, done in sorted(questions.items()):
                args += ["--mark-done", key] if done else ["--retry-in-doubt"]
        figures["resumed"] += 1
        figures["decided by the user"] += len(questions) if decided else 0
        if self.source.random() < AGAIN:
            self.disturbed(self.source.choice(list(EVENTS)), *args)
            return
        before = len(self.stage.lines("audit"))
        envelope = self.stage.call(*args)
        status = envelope["meta"]["exit_code"]
        assert envelope["ok"] or status in (IN_DOUBT, FAILED), envelope
        if status == FAILED:
            assert envelope["data"]["failed_step"] == "rolled", envelope
        if status == IN_DOUBT:
            self.check_named(envelope, questions, before)
        elif questions and not decided:
            raise AssertionError(f"nobody was asked about {questions}: {envelope}")
        self.check_rows(status)

    def check_named(self, envelope, questions, before):
        figures["stopped in doubt"] += 1
        key = envelope["error"]["context"]["step_key"]
        assert key in questions and key in self.stage.in_doubt() | self.stage.cut_off(), (key, questions)
        assert STEPS[key][0] not in self.stage.lines("audit")[before:], f"{key} ran unasked"

    def to_its_end(self):
        if not self.stage.run_id():
            assert self.stage.lines("audit") == [], "a step ran before its run was committed"
            self.stage.call("run", "torture.yaml")
        for _ in range(MOST_RESUMES):
            if self.stage.rows("SELECT 1 FROM runs WHERE state = 'completed'"):
                break
            self.resume()
        self.check_end()
        figures["cases"] += 1

    def check_end(self):
        assert self.stage.rows("SELECT state FROM runs") == [("completed",)], self.stage.rows("SELECT * FROM runs")
        effects = collections.Counter(self.stage.lines("effects"))
        assert not effects["swallowed"], "a hook ran for a doubt"
        for key, (name, kind) in STEPS.items():
            most = float("inf") if kind == "idem" else 1 + self.allowed[name]
            assert effects[name] >= 1, f"{key} is lost, and the run says completed: {effects}"
            assert effects[name] <= most, f"{key} ({kind}) came {effects[name]} times: {effects}"
            figures["repeated, as declared"] += effects[name] - 1
        # no condition skips a step here, and nobody marks a loop
        left = {key: state for key, state in self.stage.states().items() if state not in ("completed", "failed")}
        assert not left, left
        self.check_rows(0)
        # one that was killed when all was over leaves its lock to the next run
        assert self.stage.call("run", "no.yaml")["ok"]
        assert not self.stage.lock_files(), self.stage.lock_files()


def fresh(stage):
    stage.fresh()
    stage.write("torture.yaml", WORKFLOW)
    stage.write("no.yaml", "commands: [ { shell: 'true' } ]\n")
    if os.path.exists(stage.path("repaired")):
        os.unlink(stage.path("repaired"))


def usual_time(stage):
    """Seconds of a run that nobody disturbs: to the failure of `rolled`, and on from there."""
    fresh(stage)
    began = time.monotonic()
    assert stage.call("run", "torture.yaml")["data"]["failed_step"] == "rolled"
    took = time.monotonic() - began
    assert stage.call("resume", stage.run_id())["ok"]
    Case(stage, random.Random(0), 0).check_end()
    return took


def main():
    with Stage("torture") as stage:
        usual = usual_time(stage)
    cases = [(event, i) for i in range(CASES // len(EVENTS) + 1) for event in EVENTS][:CASES]
    random.Random(SEED).shuffle(cases)

    def one(stage, case):
        event, i = case
        fresh(stage)
        turn = Case(stage, random.Random(f"{SEED} {event} {i}"), usual)
        turn.disturbed(event, "run", "torture.yaml")
        turn.to_its_end()

    try:
        in_threads(one, cases)
    finally:
        print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())), flush=True)
    for event in EVENTS:
        assert figures[event] >= CASES // 20 // len(EVENTS), f"too few of {event} hit a run at work"


if __name__ == "__main__":
    main()
